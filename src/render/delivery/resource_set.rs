//! A `ClusterResourceSet` of Cluster API for the manifests of an addon, which are in a `ConfigMap` next to it. Cluster API applies
//! them again when they change, and deletes nothing.

use std::collections::BTreeMap;

use super::{
    super::{ComposedField, Drawn, Installs, Provenance, Target},
    addon::Addon,
    manifests_name, provenance,
};
use crate::{
    model::{Cluster, is_cluster_wide},
    note::Notes,
    plan::ClusterPlan,
    release::{group_of, is_namespaced},
    tree::TreePath,
    yaml::{Mapping, Node},
};

/// The annotation on objects that Cluster API and its addon providers leave alone.
const PAUSED: &str = "cluster.x-k8s.io/paused";
/// The label on every Cluster whose value is the Cluster's name.
const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";

/// The name for `kubectl` of the object that applies the manifests of an addon.
pub(super) fn of_manifests(plan: &ClusterPlan, addon: &str) -> String {
    format!("clusterresourcesets.addons.cluster.x-k8s.io/{}", manifests_name(&plan.cluster, addon))
}

/// Draws the objects that apply the manifests of an addon, if it has any.
pub(super) fn manifests(addon: &Addon<'_>, part: &TreePath, drawn: &mut Drawn, notes: &mut Notes) {
    let Some(manifests) = &addon.plan.manifests else { return };
    let plan = addon.cluster;
    let cluster = &plan.cluster;
    let file = |what: &str| part.join("addons").join(&format!("{}.{what}.yaml", addon.name()));
    let data_file = file("manifests-data");
    let before = drawn.embedded.len();
    let Some(data) = addon.embedded(&data_file, drawn, notes) else { return };
    check_namespaces(addon, &drawn.embedded[before..], notes);
    let name = manifests_name(cluster, addon.name());
    let mut config_map = Mapping::new();
    config_map.set("apiVersion", "v1");
    config_map.set("kind", "ConfigMap");
    config_map.set("metadata", metadata(cluster, &name, false));
    config_map.set("data", data);
    let mut resource = Mapping::new();
    resource.set("kind", "ConfigMap");
    resource.set("name", name.as_str());
    let mut spec = Mapping::new();
    spec.set("clusterSelector", selector(cluster));
    spec.set("resources", vec![Node::from(resource)]);
    // By default, changes would never be applied.
    spec.set("strategy", "Reconcile");
    let mut root = Mapping::new();
    root.set("apiVersion", "addons.cluster.x-k8s.io/v1beta2");
    root.set("kind", "ClusterResourceSet");
    let paused = manifests.suspended || cluster.management.standby;
    root.set("metadata", metadata(cluster, &name, paused));
    root.set("spec", spec);
    for (file, object) in [(data_file, config_map), (file("manifests"), root)] {
        let object = drawn.add(file, &cluster.file, Target::Management, object);
        object.of_addon(addon.name(), Installs::Manifests).kept = manifests.protected;
    }
}

/// The metadata of an object that installs something in a cluster.
pub(super) fn metadata(cluster: &Cluster, name: &str, paused: bool) -> Mapping {
    let mut labels = Mapping::new();
    labels.set(CLUSTER_NAME, cluster.name.as_str());
    let mut metadata = Mapping::new();
    metadata.set("name", name);
    metadata.set("namespace", cluster.namespace.as_str());
    metadata.set("labels", labels);
    if paused {
        let mut annotations = Mapping::new();
        annotations.set(PAUSED, "true");
        metadata.set("annotations", annotations);
    }
    metadata
}

/// Selects one Cluster in the namespace, by the label that Cluster API sets to the Cluster's name.
pub(super) fn selector(cluster: &Cluster) -> Mapping {
    let mut labels = Mapping::new();
    labels.set(CLUSTER_NAME, cluster.name.as_str());
    let mut selector = Mapping::new();
    selector.set("matchLabels", labels);
    selector
}

/// The command that lists objects of a cluster, and which of them are paused.
pub(super) fn list(kind: &str, plan: &ClusterPlan) -> String {
    let (name, namespace) = (&plan.cluster.name, &plan.cluster.namespace);
    format!(
        "kubectl --namespace {namespace} get {kind} --selector {CLUSTER_NAME}={name} --output 'custom-columns=NAME:.metadata.name,PAUSED:.metadata.annotations.cluster\\.x-k8s\\.io/paused'"
    )
}

/// Reports objects without a namespace. Other deliveries default to `default`; Cluster API does not, so the API server refuses
/// the object.
fn check_namespaces(addon: &Addon<'_>, objects: &[super::super::Object], notes: &mut Notes) {
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
    for object in objects.iter().filter(|one| one.node.at(&["metadata", "namespace"]).is_none()) {
        let (Some(version), Some(kind)) =
            (text(&object.node, &["apiVersion"]), text(&object.node, &["kind"]))
        else {
            continue;
        };
        let group = group_of(&version).to_owned();
        let known = match defined.get(&(group.clone(), kind.clone())) {
            Some(namespaced) => Some(*namespaced),
            None if is_namespaced(&group, &kind) => Some(true),
            None => is_cluster_wide(&group, &kind).then_some(false),
        };
        let name = text(&object.node, &["metadata", "name"]).unwrap_or_default();
        let what = format!("{kind} `{name}` of the addon `{}` has no namespace", addon.name());
        match known {
            Some(false) => {}
            Some(true) => {
                let message = format!("{what}, and a ClusterResourceSet adds none");
                let note = notes.error("delivery", object.node.origin, message);
                note.hint("write `namespace: default`, which other deliveries assume");
            }
            None => {
                let message = format!("{what}, and a ClusterResourceSet adds none if the kind needs one");
                let note = notes.warning("delivery", object.node.origin, message);
                note.hint("write `namespace: default`, unless the kind is cluster-scoped; the scope is known if the addon brings the CustomResourceDefinition");
            }
        }
    }
}

/// Where the fields of its objects come from.
pub(super) fn fields<'a>(field: &ComposedField<'a>, names: &[&'a str]) -> Option<Vec<Provenance<'a>>> {
    Some(match (field.kind(), names) {
        ("ClusterResourceSet", ["spec", "strategy"]) => {
            vec![Provenance::Program("manifests are applied again when they change: see docs/deliveries.md")]
        }
        ("ClusterResourceSet", ["spec", "resources", ..]) => {
            vec![Provenance::Definition(&["metadata", "name"]), Provenance::Addon(&[])]
        }
        _ => return provenance::common(names),
    })
}
