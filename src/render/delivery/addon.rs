//! An addon of a cluster in the form that every delivery needs: the values of its chart, and its manifests.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use super::{
    super::{
        ChartValues, Drawn, Facts, Installs, Object, Target, context,
        file_names::{file_name, tell_apart},
    },
    text::literal,
};
use crate::{
    definition::merge_values,
    model::{hex, is_cluster_wide},
    note::Notes,
    plan::{AddonPlan, ClusterPlan},
    release::{group_of, is_namespaced},
    template::Context,
    tree::TreePath,
    yaml::{Mapping, Node, Origin, Path, emit},
};

/// An addon of a cluster, with the context of its templates.
pub(super) struct Addon<'a> {
    pub(super) cluster: &'a ClusterPlan,
    pub(super) plan: &'a AddonPlan,
    pub(super) context: Context,
}

/// All addons of a cluster.
pub(super) fn all<'a>(cluster: &'a ClusterPlan, drawn: &Drawn) -> Vec<Addon<'a>> {
    let of_cluster = context::of_cluster(cluster, drawn.recorder.as_ref());
    let addon = |plan| Addon { cluster, plan, context: context::of_addon(&of_cluster, plan) };
    cluster.addons.iter().map(addon).collect()
}

impl<'a> Addon<'a> {
    pub(super) fn name(&self) -> &'a str {
        self.plan.frozen.addon.name.as_str()
    }

    /// The values in an object that installs its chart, for the checks, if the values the chart accepts are known.
    pub(super) fn chart_values(&self, values: Option<Node>) -> Option<ChartValues> {
        let helm = self.plan.helm.as_ref()?;
        let addon = &self.plan.frozen.addon;
        let row = self.plan.version.as_ref().and_then(|version| addon.row(version));
        Some(ChartValues {
            listed: row.map_or(Origin::NOWHERE, |row| row.version_origin),
            addon: addon.name.to_string(),
            chart: helm.chart.chart.clone(),
            version: helm.chart.version.to_string(),
            described: helm.described.clone()?,
            values: values.unwrap_or_else(|| Mapping::new().into()),
            is_part: !addon.values_from.is_empty(),
        })
    }

    /// Records values embedded as text in a field of an object, for the checks and for `explain`.
    pub(super) fn inlay(&self, file: &TreePath, at: Path, values: &Node, drawn: &mut Drawn) {
        drawn.values.extend(self.chart_values(Some(values.clone())));
        drawn.inlay(file, at, [values]);
    }

    /// The release's values, merged with the cluster's own.
    pub(super) fn values(&self, notes: &mut Notes) -> Option<Node> {
        let below = match &self.plan.frozen.values {
            Some(template) => self.one_map(&template.template.render(&self.context, notes)?, notes)?,
            None => Mapping::new().into(),
        };
        Some(match &self.plan.values {
            Some(own) => merge_values(&below, own),
            None => below,
        })
    }

    /// Adds a file with its values, which no engine applies. Its name contains the version of the chart, and a hash of the chart's
    /// source and the values, so that whatever names the file gets exactly these.
    pub(super) fn values_file(&self, chart: &Mapping, values: Node, drawn: &mut Drawn) -> TreePath {
        const HASH: usize = 8;
        let version =
            self.plan.version.as_ref().map_or_else(|| "unversioned".to_owned(), ToString::to_string);
        let mut text = String::new();
        emit(&Node::from(chart.clone()), &mut text);
        text.push_str("---\n");
        emit(&values, &mut text);
        let hash = hex(&Sha256::digest(text)[..HASH / 2]);
        let folder = super::super::folders::cluster_folder(self.cluster).join("values").join(self.name());
        let path = folder.join(&format!("{version}-{hash}.yaml"));
        drawn.add_values(path.clone(), &self.cluster.cluster.file, values, self.name());
        path
    }

    /// Requires a single map, as Helm does: a second document or a list would never reach the chart.
    fn one_map(&self, documents: &[Node], notes: &mut Notes) -> Option<Node> {
        let (wrong, what) = match documents {
            [] => return Some(Mapping::new().into()),
            [only] if only.as_mapping().is_some() => return Some(only.clone()),
            [only] => (only, only.kind()),
            [_, second, ..] => (second, "more than one document"),
        };
        let place = wrong.origin;
        let message = format!("the values of `{}` are {what}, but Helm takes one map", self.name());
        notes.error("values", place, message).hint("write `key: value` entries in one document");
        None
    }

    /// Says that an object of its manifests has no namespace.
    pub(super) fn has_no_namespace(&self, object: &Object) -> String {
        let text = |path: &[&str]| object.node.at(path).and_then(Node::as_str).unwrap_or_default();
        let (kind, name) = (text(&["kind"]), text(&["metadata", "name"]));
        format!("{kind} `{name}` of the addon `{}` has no namespace", self.name())
    }

    /// Draws its manifests into a folder of their own, which is never empty.
    pub(super) fn manifests(&self, part: &TreePath, drawn: &mut Drawn, notes: &mut Notes) -> TreePath {
        let folder = part.join("manifests").join(self.name());
        let before = drawn.objects.len();
        for template in &self.plan.frozen.manifests {
            if let Some(objects) = template.template.objects(&self.context, notes) {
                let source = format!("{} of {}", template.path, self.cluster.release.name);
                drawn.add_rendered(&folder, &source, Target::Workload, objects);
            }
        }
        if drawn.objects.len() == before {
            let (file, nothing) = (&self.cluster.cluster.file, nothing(self.name()));
            drawn.add(folder.join(&file_name(&nothing)), file, Target::Workload, nothing);
        }
        for object in &mut drawn.objects[before..] {
            object.of_addon(self.name(), Installs::Manifests);
        }
        folder
    }
}

/// The maximum size of a ConfigMap, in bytes.
const LIMIT: usize = 1024 * 1024;

impl Addon<'_> {
    /// Its manifests as the data of a `ConfigMap`, with one entry per object, for controllers that read them from there. For
    /// the checks, they are recorded as objects in the file of the `ConfigMap`.
    pub(super) fn embedded(&self, file: &TreePath, drawn: &mut Drawn, notes: &mut Notes) -> Option<Mapping> {
        let mut objects = self.objects(file, drawn, notes);
        tell_apart(&mut objects);
        let mut data = Mapping::new();
        let mut size = 0;
        for object in &objects {
            let (_, name) = object.path.as_str().rsplit_once('/').unwrap_or_default();
            let text = literal(&object.node);
            size += name.len() + text.len();
            data.set(name, text);
            drawn.inlay(file, Path::of(&["data", name]), [&object.node]);
        }
        if size > LIMIT {
            let place = self.cluster.cluster.origin;
            let message = format!(
                "the manifests of `{}` have {size} bytes, but a ConfigMap holds at most 1 MiB",
                self.name()
            );
            notes
                .error("delivery", place, message)
                .hint("split them among several addons, or let Flux or Argo CD apply them");
            return None;
        }
        drawn.embedded.extend(objects.into_iter().map(|object| Object { path: file.clone(), ..object }));
        Some(data)
    }

    /// Its manifests as one text of several documents, for controllers that read them from a field of their own object.
    pub(super) fn documents(
        &self,
        file: &TreePath,
        at: Path,
        drawn: &mut Drawn,
        notes: &mut Notes,
    ) -> String {
        let objects = self.objects(file, drawn, notes);
        drawn.inlay(file, at, objects.iter().map(|object| &object.node));
        let texts: Vec<_> = objects.iter().map(|object| literal(&object.node)).collect();
        drawn.embedded.extend(objects.into_iter().map(|object| Object { path: file.clone(), ..object }));
        texts.join("---\n")
    }

    fn objects(&self, file: &TreePath, drawn: &Drawn, notes: &mut Notes) -> Vec<Object> {
        let folder = file.join("manifests");
        let object = |source: &str, node: Node| Object {
            path: folder.join(&file_name(&node)),
            source: source.to_owned(),
            target: Target::Workload,
            node,
            kept: false,
            engines: false,
            facts: Facts::default(),
        };
        debug_assert!(drawn.objects.iter().all(|other| other.path != *file), "{file} is there already");
        let mut objects = Vec::new();
        for template in &self.plan.frozen.manifests {
            let source = format!("{} of {}", template.path, self.cluster.release.name);
            let made = template.template.objects(&self.context, notes).into_iter().flatten();
            objects.extend(made.map(|node| object(&source, node)));
        }
        if objects.is_empty() {
            objects.push(object(&self.cluster.cluster.file, nothing(self.name())));
        }
        objects
    }
}

/// The hint for an object without a namespace.
pub(super) const WRITE_NAMESPACE: &str = "write its namespace, for example `namespace: default`";

/// The objects of an addon that have no namespace and may need one, each with whether its kind does; none if that is not known.
pub(super) fn without_namespace(objects: &[Object]) -> Vec<(&Object, Option<bool>)> {
    let text = |object: &Node, path: &[&str]| object.at(path).and_then(Node::as_str).map(str::to_owned);
    let defined: BTreeMap<(String, String), bool> = objects
        .iter()
        .filter(|object| text(&object.node, &["kind"]).as_deref() == Some("CustomResourceDefinition"))
        .filter_map(|object| {
            let spec = |path: &[&str]| text(&object.node, path);
            let kind = (spec(&["spec", "group"])?, spec(&["spec", "names", "kind"])?);
            Some((kind, spec(&["spec", "scope"])? == "Namespaced"))
        })
        .collect();
    let needs_one = |object: &Node| {
        let (version, kind) = (text(object, &["apiVersion"])?, text(object, &["kind"])?);
        let group = group_of(&version).to_owned();
        Some(match defined.get(&(group.clone(), kind.clone())) {
            Some(namespaced) => Some(*namespaced),
            None if is_namespaced(&group, &kind) => Some(true),
            None => is_cluster_wide(&group, &kind).then_some(false),
        })
    };
    let bare = objects.iter().filter(|one| one.node.at(&["metadata", "namespace"]).is_none());
    let judged = bare.filter_map(|object| Some((object, needs_one(&object.node)?)));
    judged.filter(|(_, needs_one)| *needs_one != Some(false)).collect()
}

/// A placeholder for manifests that render no objects for a cluster. Git drops empty folders, and whatever applies a missing
/// folder fails for good, along with everything that waits for it.
fn nothing(addon: &str) -> Node {
    let mut metadata = Mapping::new();
    metadata.set("name", format!("{addon}.stackloom"));
    metadata.set("namespace", "kube-system");
    let mut data = Mapping::new();
    data.set("objects", "none for this cluster");
    let mut root = Mapping::new();
    root.set("apiVersion", "v1");
    root.set("kind", "ConfigMap");
    root.set("metadata", metadata);
    root.set("data", data);
    root.into()
}
