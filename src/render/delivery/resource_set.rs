//! A `ClusterResourceSet` of Cluster API for the manifests of an addon, which are in a `ConfigMap` next to it. Cluster API applies
//! them again when they change, and deletes nothing.

use super::{
    super::{ComposedField, Drawn, Installs, Object, Provenance, Target},
    addon::{Addon, WRITE_NAMESPACE, without_namespace},
    manifests_name, provenance,
};
use crate::{
    model::Cluster,
    note::Notes,
    plan::ClusterPlan,
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

/// Reports objects without a namespace: a `ClusterResourceSet` adds none, so the API server refuses them.
fn check_namespaces(addon: &Addon<'_>, objects: &[Object], notes: &mut Notes) {
    for (object, is_namespaced) in without_namespace(objects) {
        let what = addon.has_no_namespace(object);
        if is_namespaced == Some(true) {
            let note = notes.error(
                "delivery",
                object.node.origin,
                format!("{what}, and a ClusterResourceSet adds none"),
            );
            note.hint(WRITE_NAMESPACE);
        } else {
            let message = format!("{what}, and a ClusterResourceSet adds none if the kind needs one");
            let note = notes.warning("delivery", object.node.origin, message);
            note.hint("write `namespace: default`, unless the kind is cluster-scoped; the scope is known if the addon brings the CustomResourceDefinition");
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
