//! Resolves origins and reads to places in sources.

use super::{
    layers::shown,
    scope::Scope,
    source::{Role, SourcePlace, Words, deepest, locate},
};
use crate::{
    template::{EnclosingStatement, Read, Recorder},
    yaml::{Node, Origin, Path, Segment},
};

/// The context for resolving origins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resolver<'r, 'a> {
    pub(super) scope: &'r Scope<'a>,
    pub(super) recorder: &'r Recorder,
    /// The addon whose templates rendered the file.
    pub(super) addon: Option<&'r str>,
}

impl Resolver<'_, '_> {
    /// The sources of a node, or of one line of its text.
    pub(super) fn node(&self, node: &Node, line: Option<usize>) -> Vec<SourcePlace> {
        let collection =
            matches!(node.value, crate::yaml::Value::Sequence(_) | crate::yaml::Value::Mapping(_));
        self.origin(node.origin, collection, line)
    }

    /// The sources of an origin.
    pub(super) fn origin(&self, origin: Origin, collection: bool, line: Option<usize>) -> Vec<SourcePlace> {
        let Some(trace) = self.recorder.trace(origin) else { return self.place(origin, collection, line) };
        let mut sources = Vec::new();
        match trace.lines.get(line.unwrap_or_default()) {
            Some(text) if !trace.lines.is_empty() => {
                sources.extend(self.exact(text.site, trace.site));
                sources.extend(self.reads(&text.reads));
                sources.extend(self.given(&text.given));
            }
            _ => {
                let line = line.filter(|_| trace.reads.is_empty());
                sources.extend(trace.site.into_iter().flat_map(|site| self.origin(site, collection, line)));
            }
        }
        if trace.lines.len() > 1 && line.is_none() {
            for text in &trace.lines {
                sources.extend(self.exact(text.site, trace.site));
                sources.extend(self.reads(&text.reads));
                sources.extend(self.given(&text.given));
            }
        }
        sources.extend(self.reads(&trace.reads));
        if line.is_none() {
            sources.extend(self.given(&trace.shape));
        }
        sources
    }

    /// The sources of the line that opens a multi-line text, whose lines have their own.
    pub(super) fn header(&self, origin: Origin) -> Vec<SourcePlace> {
        let Some(trace) = self.recorder.trace(origin) else {
            let sources = self.place(origin, false, None).into_iter();
            return sources.map(|source| SourcePlace { end: source.line, ..source }).collect();
        };
        let mut sources = trace.site.map(|site| self.header(site)).unwrap_or_default();
        sources.extend(self.reads(&trace.reads));
        sources.extend(self.given(&trace.shape));
        sources
    }

    /// The source of a line of text: that line alone, unless only the whole text is known.
    fn exact(&self, site: Origin, whole: Option<Origin>) -> Vec<SourcePlace> {
        let Some(file) = self.scope.fleet.input.sources.get(site.file) else { return Vec::new() };
        if Some(site) == whole && file.block_line(site.offset as usize, 0).is_none() {
            return self.origin(site, false, None);
        }
        let line = file.line_of(site.offset as usize);
        vec![SourcePlace::lines(Role::Template, "", file, line, line)]
    }

    /// The statements that let something through, including those of its own sources.
    pub(super) fn statements(&self, origin: Origin) -> Vec<SourcePlace> {
        let Some(trace) = self.recorder.trace(origin) else { return Vec::new() };
        let mut sources = trace.site.map(|site| self.statements(site)).unwrap_or_default();
        sources.extend(self.given(&trace.given));
        sources
    }

    fn given(&self, given: &[EnclosingStatement]) -> Vec<SourcePlace> {
        let mut sources = Vec::new();
        for given in given {
            sources.extend(self.statement(given.statement));
            sources.extend(self.reads(&given.reads));
        }
        sources
    }

    fn statement(&self, origin: Origin) -> Vec<SourcePlace> {
        let Some(file) = self.scope.fleet.input.sources.get(origin.file) else { return Vec::new() };
        let line = file.line_of(origin.offset as usize);
        vec![SourcePlace::lines(Role::Statement, "", file, line, line)]
    }

    fn reads(&self, reads: &[Read]) -> Vec<SourcePlace> {
        let read = |read: &Read| match read {
            Read::Value(path) | Read::Shape(path) | Read::Passed(path) => self.read(path),
            Read::Statement(origin) => self.statement(*origin),
        };
        reads.iter().flat_map(read).collect()
    }

    /// The sources of a place in a file.
    fn place(&self, origin: Origin, collection: bool, line: Option<usize>) -> Vec<SourcePlace> {
        let Some(file) = self.scope.fleet.input.sources.get(origin.file) else { return Vec::new() };
        let offset = origin.offset as usize;
        let exact = line.and_then(|line| file.block_line(offset, line));
        let mut sources = match self.scope.layer(origin) {
            Some(layer) => match locate(&layer.node, origin.offset, collection) {
                Some(path) => self.of_layer(&path),
                None => vec![SourcePlace::at(Role::Set, "", file, offset)],
            },
            None if collection => {
                let line = file.line_of(offset);
                vec![SourcePlace::lines(Role::Template, "", file, line, line)]
            }
            None => vec![SourcePlace::at(Role::Template, "", file, offset)],
        };
        if let Some(at) = exact {
            let line = file.line_of(at);
            for source in
                sources.iter_mut().filter(|source| source.decides && source.covers(&file.path, line))
            {
                *source = SourcePlace::lines(source.role, source.what.clone(), file, line, line);
            }
        }
        sources
    }

    fn of_layer(&self, path: &Path) -> Vec<SourcePlace> {
        match path.names().as_slice() {
            ["spec", "variables", name, ..] => {
                let rest = path.segments()[3..].to_vec();
                self.variable(name, &rest)
            }
            _ => self.scope.field(path),
        }
    }

    /// A variable of the cluster: the settings in its layers, and the default of its class.
    pub(super) fn variable(&self, name: &str, rest: &[Segment]) -> Vec<SourcePlace> {
        let base = Path::of(&["spec", "variables", name]);
        let path = rest.iter().fold(base, |path, segment| path.to(segment.clone()));
        let settings = self.scope.set(&path);
        let default = self.default(name, rest);
        if settings.is_empty() {
            return if default.is_empty() { self.declared(name, &path) } else { default };
        }
        let aside = |source: SourcePlace| match source.role {
            Role::Default => source.aside(Role::Overridden),
            _ => SourcePlace { decides: false, ..source },
        };
        let defaults = default.into_iter().filter(|source| source.role == Role::Default).map(aside);
        defaults.chain(settings).collect()
    }

    /// The class's default for a variable, or for a value inside it.
    fn default(&self, name: &str, rest: &[Segment]) -> Vec<SourcePlace> {
        let Some(release) = self.scope.release() else { return Vec::new() };
        let variable = release.class.variables.iter().find(|variable| variable.name == name);
        let Some((key, node)) = variable.and_then(|variable| default_at(&variable.schema, rest)) else {
            return Vec::new();
        };
        let what = format!("default of release {}", release.name);
        let mut sources = self.node(&node, None);
        if let Some(first) = sources.first_mut().filter(|source| source.role == Role::Template) {
            first.role = Role::Default;
            first.what = what.into();
            let key = key.and_then(|key| self.origin(key, false, None).into_iter().next());
            if let Some(key) = key.filter(|key| key.file == first.file && key.line < first.line) {
                first.line = key.line;
                first.text = key.text;
            }
        }
        sources.extend(self.scope.chosen());
        sources
    }

    /// The declaration of an unset variable in the class.
    pub(super) fn declared(&self, name: &str, path: &Path) -> Vec<SourcePlace> {
        let Some(release) = self.scope.release() else { return Vec::new() };
        let Some(variable) = release.class.variables.iter().find(|variable| variable.name == name) else {
            return Vec::new();
        };
        let mut sources = self.node(&variable.schema, None);
        for source in &mut sources {
            source.role = Role::Default;
            source.what = format!("{} is not set, and the class has no default", shown(path)).into();
        }
        sources.extend(self.scope.chosen());
        sources
    }

    /// The sources of a path in a template's context.
    fn read(&self, path: &Path) -> Vec<SourcePlace> {
        let scope = self.scope;
        let names = path.names();
        let segments = path.segments();
        let shown = Words::from(path.to_string());
        let sources = match names.as_slice() {
            ["cluster", "variables"] => scope.keys(&["spec", "variables"]),
            ["cluster", "variables", name, ..] => self.value_of_variable(name, &segments[3..]),
            ["cluster", "addons", addon, "version"] => scope.addon_version(addon),
            ["cluster", "addons"] => self.all_enabled(),
            ["cluster", "addons", addon] => scope.addon_enabled(addon),
            ["cluster", "name" | "namespace" | "labels" | "annotations", ..] => {
                scope.field(&under("metadata", &segments[1..]))
            }
            ["cluster", "nodePools", "", "name" | "class" | "replicas" | "autoscale", ..]
            | ["cluster", _, ..] => scope.field(&under("spec", &segments[1..])),
            ["cluster"] => scope.keys(&["metadata", "name"]),
            ["addon", "version"] => self.addon.map(|addon| scope.addon_version(addon)).unwrap_or_default(),
            ["addon", ..] => self.addon.map(|addon| scope.addon(addon, &[])).unwrap_or_default(),
            ["release", ..] => scope.release_name(),
            ["kubernetes", ..] => scope.kubernetes(),
            ["stack", "name"] => scope.stack_value(&["metadata", "name"], &["spec", "stack"]),
            ["stack", ..] => scope.stack_value(&["spec", "provider"], &["spec", "provider"]),
            ["images", rest @ ..] => {
                let index = match segments.get(1) {
                    Some(Segment::Item(index)) => Some(*index),
                    _ => None,
                };
                scope.image(index, rest.get(1..).unwrap_or_default())
            }
            ["fleet", ..] => scope.fleet_name(),
            ["namespace", ..] => scope.namespace_name(),
            _ => Vec::new(),
        };
        sources
            .into_iter()
            .map(|source| match source.role {
                Role::Set | Role::Stack | Role::Fleet if !source.is_unset => {
                    SourcePlace { what: shown.clone(), ..source }
                }
                _ => source,
            })
            .collect()
    }

    fn all_enabled(&self) -> Vec<SourcePlace> {
        let addons = self.scope.release().map(|release| release.addons.as_slice()).unwrap_or_default();
        addons.iter().flat_map(|addon| self.scope.addon_enabled(addon.addon.name.as_str())).collect()
    }

    /// The value of a variable in the plan. Its parts may come from the definition and from the class.
    fn value_of_variable(&self, name: &str, rest: &[Segment]) -> Vec<SourcePlace> {
        let Some(plan) = self.scope.cluster() else { return Vec::new() };
        let value =
            plan.variables.iter().find(|(known, _)| known == name).and_then(|(_, value)| value.as_ref());
        let path = rest
            .iter()
            .fold(Path::of(&["spec", "variables", name]), |path, segment| path.to(segment.clone()));
        let Some(value) = value else { return self.declared(name, &path) };
        let rest = rest.iter().fold(Path::default(), |path, segment| path.to(segment.clone()));
        if rest.find(value).is_none() {
            let above = deepest(value, &rest);
            return self.node(above.node, None);
        }
        self.variable(name, rest.segments())
    }
}

fn under(first: &str, rest: &[Segment]) -> Path {
    rest.iter().fold(Path::of(&[first]), |path, segment| path.to(segment.clone()))
}

/// The default at a path of a schema, with the origin of the key `default`.
fn default_at(schema: &Node, rest: &[Segment]) -> Option<(Option<Origin>, Node)> {
    let entry = schema.as_mapping().and_then(|mapping| mapping.entry("default"));
    if let Some(entry) = entry {
        let inside = rest.iter().fold(Path::default(), |path, segment| path.to(segment.clone()));
        if let Some(found) = inside.find(&entry.value) {
            let key = rest.is_empty().then_some(entry.key.origin);
            return Some((key, found.clone()));
        }
    }
    let (first, rest) = rest.split_first()?;
    let below = match first {
        Segment::Key(name) => {
            schema.at(&["properties", name]).or_else(|| schema.get("additionalProperties"))?
        }
        Segment::Item(_) => schema.get("items")?,
    };
    default_at(below, rest)
}
