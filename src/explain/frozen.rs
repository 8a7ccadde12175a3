//! Where the fields of `release.yaml` and `metadata.yaml` of a head release come from.

use super::{
    composed::Field,
    source::{Role, SourcePlace},
};
use crate::yaml::{Node, Path, Segment};

impl Field<'_, '_> {
    /// Where a field of `release.yaml` comes from.
    pub(super) fn release(&self, names: &[&str]) -> Option<Vec<SourcePlace>> {
        let scope = self.resolver.scope;
        let content = || scope.release().and_then(|release| scope.content(release)).into_iter().collect();
        match names {
            ["metadata", "name"] | ["spec", "version"] | ["spec", "content", ..] => Some(content()),
            ["spec", "provider"] => Some(scope.stack_value(&["spec", "provider"], &[])),
            ["spec", "stack"] => Some(scope.stack_value(&["metadata", "name"], &[])),
            ["spec", "kubernetes"] => Some(scope.kubernetes()),
            ["spec", "addons", addon, "version"] => Some(scope.rows(addon)),
            ["spec", "addons", addon, "versions", "", rest @ ..] => self.row(addon, rest),
            ["spec", "addons", addon, ..] => {
                let path = self.path.segments()[3..].iter().cloned();
                let path = path.fold(Path::default(), |path, segment: Segment| path.to(segment));
                scope.addon_path(addon, &path, Role::Stack).map(|source| vec![source])
            }
            ["spec", "images", "", rest @ ..] => match self.path.segments().get(2) {
                Some(Segment::Item(index)) => Some(scope.image(Some(*index), rest)),
                _ => None,
            },
            ["spec", "images"] => Some(scope.image(None, &[])),
            ["spec", "compatibility", "", rest @ ..] => self.rule(rest),
            ["spec", "compatibility"] => Some(scope.stack_value(&["spec", "compatibility"], &[])),
            ["spec", "migrations", "", rest @ ..] => self.migration(rest),
            ["spec", "migrations"] => Some(scope.stack_value(&["spec", "migrations"], &[])),
            ["spec", "requires", "kinds", ""] => Some(self.kinds()),
            ["spec", "requires", "providers" | "featureGates", ..] => {
                Some(scope.stack_value(&["spec", "requires"], &[]))
            }
            ["spec", "channel"] => {
                Some(scope.program("rebuilt by every run, because clusters use `release: head`"))
            }
            ["spec", "format"] => Some(scope.program("the format of releases that this program writes")),
            ["spec", "templateLanguage"] => {
                Some(scope.program("the level of the template language that this program writes"))
            }
            _ => None,
        }
    }

    /// Where a field of `metadata.yaml` comes from.
    pub(super) fn metadata(&self, names: &[&str]) -> Option<Vec<SourcePlace>> {
        let scope = self.resolver.scope;
        match names {
            ["versions", "kubernetes"] => Some(scope.kubernetes()),
            ["versions", "clusterStack"] | ["versions", "components", _] => {
                scope.release().and_then(|release| scope.content(release)).map(|source| vec![source])
            }
            ["apiVersion"] => Some(scope.program("the format that other tools for cluster stacks read")),
            _ => None,
        }
    }

    /// The value at the first `steps` steps of the field's path.
    fn above(&self, steps: usize) -> Option<&Node> {
        let path = self.path.segments().iter().take(steps).cloned();
        path.fold(Path::default(), |path, segment| path.to(segment)).find(self.object)
    }

    /// A row of a matrix. The newest row comes first here, wherever it is written.
    fn row(&self, addon: &str, rest: &[&str]) -> Option<Vec<SourcePlace>> {
        let version = self.above(5)?.get("version")?.as_str()?;
        let fields = self.resolver.scope.matrix(addon).into_iter().filter(|field| field.version == version);
        let is_range = rest == ["kubernetes"];
        let asked = fields.filter(|field| rest.is_empty() || (field.key == "kubernetes") == is_range);
        Some(asked.map(|field| field.source).collect())
    }

    fn rule(&self, rest: &[&str]) -> Option<Vec<SourcePlace>> {
        let name = self.above(3)?.get("name")?.as_str()?;
        let path = [&["spec", "compatibility", name], rest].concat();
        Some(self.resolver.scope.stack_value(&path, &[]))
    }

    fn migration(&self, rest: &[&str]) -> Option<Vec<SourcePlace>> {
        let Some(Segment::Item(index)) = self.path.segments().get(2) else { return None };
        self.resolver.scope.migration(*index, rest)
    }

    /// The objects of a class that have this kind.
    fn kinds(&self) -> Vec<SourcePlace> {
        let Some(release) = self.resolver.scope.release() else { return Vec::new() };
        let wanted = self.node.as_str().unwrap_or_default();
        let mut sources = Vec::new();
        for object in &release.objects {
            let text = |key| object.get(key).and_then(Node::as_str).unwrap_or_default();
            if format!("{}/{}", text("apiVersion"), text("kind")) == wanted {
                let keys = ["apiVersion", "kind"].into_iter().filter_map(|key| object.get(key));
                sources.extend(keys.flat_map(|node| self.resolver.node(node, None)));
            }
        }
        sources
    }
}
