//! Explains the values of a cluster, with the settings in each layer.

use super::{
    RecordedFleet,
    layers::shown,
    part::Part,
    resolve::Resolver,
    scope::Scope,
    source::{Role, SourcePlace},
};
use crate::{
    note::Notes,
    plan::ClusterPlan,
    render::PartSubject,
    template::Recorder,
    yaml::{Mapping, Node, Path, Segment, Value, emit},
};

/// An explained value of a cluster.
#[derive(Clone, Debug)]
pub struct ExplainedValue {
    /// Its path in the definition.
    pub path: String,
    pub value: Node,
    /// Its sources, including overridden ones, in the order of the layers.
    pub sources: Vec<SourcePlace>,
}

/// The context for explaining values.
struct Values<'a> {
    scope: Scope<'a>,
    recorder: Recorder,
    /// The effective values of the cluster, in the form of a definition.
    whole: Node,
}

impl RecordedFleet {
    /// Explains all values of a cluster, ordered by path.
    pub fn values(&self, plan: &ClusterPlan, notes: &mut Notes) -> Vec<ExplainedValue> {
        let Some(values) = self.values_of(plan, notes) else { return Vec::new() };
        let mut leaves = Vec::new();
        collect(&values.whole, &Path::default(), &mut leaves);
        leaves.into_iter().map(|(path, node)| values.explained(&path, &node)).collect()
    }

    /// Explains a value of a cluster, or everything below a path; empty if there is none.
    pub fn value(&self, plan: &ClusterPlan, path: &str, notes: &mut Notes) -> Vec<ExplainedValue> {
        let Some(values) = self.values_of(plan, notes) else { return Vec::new() };
        let wanted = parse(path);
        let candidates = [Path::default(), Path::of(&["spec"]), Path::of(&["metadata"])];
        for base in candidates {
            let path = wanted.segments().iter().fold(base, |path, segment| path.to(segment.clone()));
            let Some(path) = values.numbered(&path) else { continue };
            let Some(node) = path.find(&values.whole) else { continue };
            let mut leaves = Vec::new();
            collect(node, &path, &mut leaves);
            return leaves.into_iter().map(|(path, node)| values.explained(&path, &node)).collect();
        }
        Vec::new()
    }

    /// The declaration of a variable in the class, if the cluster does not set the variable and it has no default.
    pub fn unset_variable(&self, plan: &ClusterPlan, path: &str, notes: &mut Notes) -> Vec<SourcePlace> {
        let Some(values) = self.values_of(plan, notes) else { return Vec::new() };
        let path = parse(path.strip_prefix("spec.").unwrap_or(path));
        let names = path.names();
        let ["variables", name, ..] = names.as_slice() else { return Vec::new() };
        if !plan.variables.iter().any(|(declared, value)| declared == name && value.is_none()) {
            return Vec::new();
        }
        let resolver = Resolver { scope: &values.scope, recorder: &values.recorder, addon: None };
        resolver.declared(name, &Path::of(&["spec", "variables", name]))
    }

    fn values_of<'a>(&'a self, plan: &ClusterPlan, notes: &mut Notes) -> Option<Values<'a>> {
        // Look up the fleet's own plan, which lives long enough.
        let same = |other: &&ClusterPlan| other.cluster.file == plan.cluster.file;
        let plan = self.plan.clusters.iter().find(same)?;
        let scope = Scope::of_cluster(self, plan);
        let part = Part::of(self, PartSubject::Cluster(plan), notes);
        let whole = whole(&scope, plan, &part)?;
        Some(Values { scope, recorder: part.recorder(), whole })
    }
}

/// The definition with everything that the release adds: defaults of variables, addons, their versions and values.
fn whole(scope: &Scope<'_>, plan: &ClusterPlan, part: &Part<'_>) -> Option<Node> {
    let merged = scope.layers.as_ref()?.merged();
    let mut root = Mapping::new();
    root.set("metadata", merged.get("metadata")?.clone());
    let mut spec = merged.get("spec").and_then(Node::as_mapping).cloned().unwrap_or_default();
    let mut variables = Mapping::new();
    for (name, value) in &plan.variables {
        variables.set_some(name, value.clone());
    }
    spec.set_filled("variables", variables);
    let mut addons = Mapping::new();
    for frozen in &plan.release.addons {
        let name = frozen.addon.name.as_str();
        let choice = spec.get("addons").and_then(|addons| addons.get(name)).and_then(Node::as_mapping);
        let mut addon = choice.cloned().unwrap_or_default();
        let planned = scope.addon_plan(name);
        addon.set("enabled", planned.is_some());
        if let Some(planned) = planned {
            addon.set_some("version", planned.version.as_ref().map(ToString::to_string));
            addon.set_some("values", part.values(name).cloned());
        }
        addons.set(name, addon);
    }
    spec.set_filled("addons", addons);
    root.set("spec", spec);
    Some(root.into())
}

fn collect(node: &Node, path: &Path, leaves: &mut Vec<(Path, Node)>) {
    match &node.value {
        Value::Mapping(mapping) if !mapping.is_empty() => {
            let mut entries: Vec<_> = mapping.iter().collect();
            entries.sort_by(|a, b| a.key.name.cmp(&b.key.name));
            for entry in entries {
                collect(&entry.value, &path.key(&entry.key.name), leaves);
            }
        }
        Value::Sequence(items) if !items.is_empty() => {
            for (at, item) in items.iter().enumerate() {
                collect(item, &path.item(at), leaves);
            }
        }
        _ => leaves.push((path.clone(), node.clone())),
    }
}

/// Parses a path such as `spec.nodePools[md-0].replicas`.
fn parse(text: &str) -> Path {
    let mut path = Path::default();
    let mut rest = text;
    while !rest.is_empty() {
        rest = rest.strip_prefix('.').unwrap_or(rest);
        if let Some((inside, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            path = path.to(inside.parse().map_or_else(|_| Segment::Key(inside.into()), Segment::Item));
            rest = after;
            continue;
        }
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        if end == 0 {
            rest = &rest[rest.len().min(1)..];
            continue;
        }
        path = path.key(&rest[..end]);
        rest = &rest[end..];
    }
    path
}

impl Values<'_> {
    /// The path with item names replaced by indexes; none if it does not exist.
    fn numbered(&self, path: &Path) -> Option<Path> {
        let (mut node, mut numbered) = (&self.whole, Path::default());
        for segment in path.segments() {
            let segment = match (segment, &node.value) {
                (Segment::Key(name), Value::Sequence(items)) => {
                    let named = |item: &Node| item.get("name").and_then(Node::as_str) == Some(name);
                    let by_name = items.iter().position(named);
                    Segment::Item(by_name.or_else(|| name.parse().ok())?)
                }
                (segment, _) => segment.clone(),
            };
            numbered = numbered.to(segment.clone());
            node = Path::default().to(segment).find(node)?;
        }
        Some(numbered)
    }

    fn explained(&self, path: &Path, node: &Node) -> ExplainedValue {
        let scope = &self.scope;
        let named = scope.layers.as_ref().map_or_else(|| path.clone(), |layers| layers.named(path));
        let names = path.names();
        let addon = match names.as_slice() {
            ["spec", "addons", addon, ..] => Some(*addon),
            _ => None,
        };
        let resolver = Resolver { scope, recorder: &self.recorder, addon };
        let sources = match names.as_slice() {
            ["spec", "variables", name, ..] => resolver.variable(name, &path.segments()[3..]),
            ["spec", "addons", addon, "enabled"] => scope.addon_enabled(addon),
            ["spec", "addons", addon, "version"] => scope.addon_version(addon),
            ["spec", "addons", addon, "values", ..] => self.addon_value(&resolver, addon, path, node),
            _ => scope.field(path),
        };
        let mut sources: Vec<SourcePlace> =
            sources.into_iter().filter(|source| source.role != Role::User).collect();
        sources.dedup();
        ExplainedValue { path: shown(&named), value: node.clone(), sources }
    }

    /// A Helm value: the result of the release's template, and the layers that override it.
    fn addon_value(
        &self,
        resolver: &Resolver<'_, '_>,
        addon: &str,
        path: &Path,
        node: &Node,
    ) -> Vec<SourcePlace> {
        let settings = self.scope.set(path);
        if settings.is_empty() {
            let mut sources = resolver.node(node, None);
            for source in sources.iter_mut().filter(|source| source.role == Role::Template) {
                source.role = Role::Default;
                let release = self.scope.supplier(addon).map_or("", |release| &release.name);
                source.what = format!("default of release {release}").into();
            }
            return sources;
        }
        let rest = path.segments()[4..].iter().cloned();
        let rest = rest.fold(Path::default(), |path, segment| path.to(segment));
        let below = self.template_value(addon, &rest).map(|below| resolver.node(&below, None));
        let aside = |source: SourcePlace| source.aside(Role::Overridden);
        let below = below.unwrap_or_default().into_iter().filter(|source| source.role == Role::Template);
        below.map(aside).chain(settings).collect()
    }

    /// The value rendered by the release's template alone.
    fn template_value(&self, addon: &str, path: &Path) -> Option<Node> {
        use crate::render::context::{of_addon, of_cluster};
        let plan = self.scope.cluster()?;
        let addon = self.scope.addon_plan(addon)?;
        let context = of_addon(&of_cluster(plan, Some(&self.recorder)), addon);
        let template = addon.frozen.values.as_ref()?;
        let documents = template.template.render(&context, &mut Notes::new())?;
        path.find(documents.first()?).cloned()
    }
}

impl ExplainedValue {
    /// The effective layer, or else another deciding source.
    pub fn decided_by(&self) -> Option<&SourcePlace> {
        let mut decides = self.sources.iter().filter(|source| source.decides);
        let has = |role: Role| self.sources.iter().any(|source| source.decides && source.role == role);
        if has(Role::Version) && !has(Role::Set) {
            return decides.find(|source| source.role == Role::Version);
        }
        let is_layer =
            |source: &&SourcePlace| !matches!(source.role, Role::Release | Role::Content | Role::Statement);
        decides.clone().rfind(is_layer).or_else(|| decides.next())
    }

    /// The value on one line.
    pub fn text(&self) -> String {
        let mut text = String::new();
        match &self.value.value {
            Value::String(inside) if inside.contains('\n') => {
                let first = inside.lines().next().unwrap_or_default();
                return format!("{first} … ({} lines)", inside.lines().count());
            }
            _ => emit(&self.value, &mut text),
        }
        text.trim_end().to_owned()
    }
}
