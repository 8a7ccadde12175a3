//! The rows of an addon's matrix, as sources of its version and of what a release freezes of them.

use super::{
    scope::Scope,
    source::{Role, SourcePlace, Spot, spot},
};
use crate::{
    release::Release,
    yaml::{Mapping, Node, Path},
};

/// The sources of an addon's version.
#[derive(Clone, Debug, Default)]
pub(super) struct AddonRows {
    /// The fields of the matrix, those of the selected row first.
    matrix: Vec<MatrixField>,
    /// The inputs of the selection.
    inputs: Vec<SourcePlace>,
}

/// A field of a row of an addon's matrix.
#[derive(Clone, Debug)]
pub(super) struct MatrixField {
    /// The version of its row.
    pub(super) version: String,
    pub(super) key: &'static str,
    pub(super) source: SourcePlace,
}

impl Scope<'_> {
    /// The sources of a cluster's addon version: those of the version that it asks for, or else of the one that the release picked.
    pub(super) fn addon_version(&self, addon: &str) -> Vec<SourcePlace> {
        let set = |key| self.set(&Path::of(&["spec", "addons", addon, key]));
        let choice = self.cluster().and_then(|plan| plan.cluster.addons.get(addon));
        let is_asked = choice.is_some_and(|choice| choice.version.is_some());
        let mut rows = self.rows(addon);
        if is_asked {
            rows.retain(|row| row.role == Role::Version);
            rows = rows.into_iter().map(|row| row.aside(Role::Overridden)).collect();
            let is_interim = choice.is_some_and(|choice| choice.interim);
            rows.extend(set(if is_interim { "interimVersion" } else { "version" }));
        }
        rows.extend(set("release"));
        rows
    }

    /// The rows of an addon's matrix, the selected one first, and the inputs of the selection.
    pub(super) fn rows(&self, addon: &str) -> Vec<SourcePlace> {
        let AddonRows { matrix, inputs } = self.known_rows(addon);
        matrix.into_iter().map(|field| field.source).chain(inputs).collect()
    }

    /// The fields of an addon's matrix, those of the selected row first.
    pub(super) fn matrix(&self, addon: &str) -> Vec<MatrixField> {
        self.known_rows(addon).matrix
    }

    fn known_rows(&self, addon: &str) -> AddonRows {
        if let Some(known) = self.known.rows.borrow().get(addon) {
            return known.clone();
        }
        let rows = self.find_rows(addon);
        self.known.rows.borrow_mut().insert(addon.to_owned(), rows.clone());
        rows
    }

    fn find_rows(&self, addon: &str) -> AddonRows {
        let Some(release) = self.supplier(addon) else { return AddonRows::default() };
        let picked = release.addon(addon).and_then(|addon| addon.version.as_ref()).map(ToString::to_string);
        let name = &release.name;
        let matrix = self.in_addon(addon, |spec, file| {
            let mut fields = Vec::new();
            for row in spec.get("versions").and_then(Node::as_sequence).unwrap_or_default() {
                let version = row.get("version").and_then(Node::as_str).unwrap_or_default();
                let is_picked = picked.as_deref() == Some(version.trim_start_matches('v'));
                let what = if is_picked {
                    format!("{addon} {version}: the newest that {name} may have")
                } else {
                    format!("{addon} {version}: not picked")
                };
                for key in ["version", "kubernetes"] {
                    let found = spot(row, &Path::of(&[key]));
                    let source = found.map(|found| found.source(Role::Version, what.as_str(), file));
                    let field = |source| MatrixField { version: version.to_owned(), key, source };
                    fields.extend(source.map(|source| (!is_picked, field(source))));
                }
            }
            fields.sort_by_key(|(other, _)| *other);
            Some(fields.into_iter().map(|(_, field)| field).collect::<Vec<_>>())
        });
        let mut inputs = Vec::new();
        if release.is_head() {
            let minor = self.kubernetes().into_iter().find(|source| source.role == Role::Stack);
            inputs.extend(minor.into_iter().filter(|_| picked.is_some()));
            inputs.extend(self.rules(release, addon));
        }
        AddonRows { matrix: matrix.unwrap_or_default(), inputs }
    }

    /// The compatibility rules about an addon.
    fn rules(&self, release: &Release, addon: &str) -> Vec<SourcePlace> {
        let Some(folder) = self.stack(release) else { return Vec::new() };
        let rules = folder.stack.node.at(&["spec", "compatibility"]).and_then(Node::as_sequence);
        let mut sources = Vec::new();
        for rule in rules.unwrap_or_default() {
            if rule.at(&["when", "addon"]).and_then(Node::as_str) != Some(addon) {
                continue;
            }
            for key in rule.get("when").and_then(Node::as_mapping).into_iter().flat_map(Mapping::iter) {
                let spot = Spot { key: Some(key.key.origin.offset as usize), node: &key.value };
                sources.push(spot.source(Role::Stack, "a compatibility rule", &folder.stack.source));
            }
        }
        sources
    }
}
