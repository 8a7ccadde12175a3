//! The Cluster, and the stack's objects next to it in the management cluster.

use super::{Drawn, Target, context, folders::cluster_folder};
use crate::{
    definition::merge_raw,
    model::{AUTOSCALER_MAX, AUTOSCALER_MIN, Cluster, Network, NodePool, PoolKind, Removal, Size},
    note::Notes,
    plan::{ClusterPlan, Phase},
    yaml::{Mapping, Node},
};

/// The annotation with the reason for a removal. It marks a Cluster, or an object that installs an addon, that git may delete.
pub const REMOVAL: &str = "stackloom.dev/removal";

/// The annotation with the reason why a cluster is suspended.
pub const SUSPENDED: &str = "stackloom.dev/suspended";
/// The annotation of Clusters whose management cluster is on standby. A pause alone does not say so.
pub const STANDBY: &str = "stackloom.dev/standby";

pub(super) fn draw(plan: &ClusterPlan, drawn: &mut Drawn, notes: &mut Notes) {
    let folder = cluster_folder(plan).join("cluster");
    if plan.phase != Phase::Deleted {
        let file = folder.join("cluster.yaml");
        drawn.add(file, &plan.cluster.file, Target::Management, object(plan)).kept = is_kept(plan);
    }
    if plan.release.cluster.is_empty() {
        // Most stacks have no such templates, and the context holds everything that they could read.
        return;
    }
    let context = context::of_cluster(plan, drawn.recorder.as_ref());
    for template in &plan.release.cluster {
        if let Some(objects) = template.template.objects(&context, notes) {
            let source = format!("{} of {}", template.path, plan.release.name);
            drawn.add_rendered(&folder, &source, Target::Management, objects);
        }
    }
}

/// The name of the file that lists a cluster's addons, in whatever folder.
pub(super) fn addon_list_file(cluster: &Cluster) -> String {
    list_file(cluster.name.as_str())
}

fn list_file(cluster: &str) -> String {
    format!("configmap-{cluster}.addons.yaml")
}

/// The paths that the list of a cluster's addons may have in the folder of the cluster: it depends on the engine.
pub fn addon_lists(cluster: &str) -> [String; 2] {
    ["addons", "cluster"].map(|folder| format!("{folder}/{}", list_file(cluster)))
}

/// The cluster whose addons a file lists, given its path in the folder of the cluster; none if it lists none.
pub fn lists_addons_of(path: &str) -> Option<&str> {
    let (_, file) = path.rsplit_once('/')?;
    let cluster = file.strip_prefix("configmap-")?.strip_suffix(".addons.yaml")?;
    addon_lists(cluster).iter().any(|list| list == path).then_some(cluster)
}

/// Lists the addons of a cluster with their versions.
pub(super) fn addon_list(plan: &ClusterPlan) -> Node {
    let mut addons = Mapping::new();
    for addon in &plan.addons {
        let version = addon.version.as_ref().map_or_else(|| "unversioned".to_owned(), ToString::to_string);
        addons.set(addon.frozen.addon.name.as_str(), version);
    }
    marker(&plan.cluster, "addons", addons)
}

/// Records why the folder of a cluster no longer contains a Cluster.
pub(super) fn removal_marker(cluster: &Cluster, removal: &Removal) -> Node {
    let mut data = Mapping::new();
    data.set("reason", removal.reason.as_str());
    data.set("removal", removal.step.as_str());
    marker(cluster, "cluster", data)
}

/// A ConfigMap with information about a cluster, for a folder that must not be empty.
pub(super) fn marker(cluster: &Cluster, what: &str, data: Mapping) -> Node {
    let mut metadata = Mapping::new();
    metadata.set("name", format!("{}.{what}", cluster.name));
    metadata.set("namespace", cluster.namespace.as_str());
    let mut root = Mapping::new();
    root.set("apiVersion", "v1");
    root.set("kind", "ConfigMap");
    root.set("metadata", metadata);
    root.set_filled("data", data);
    root.into()
}

/// Whether the Cluster is protected from deletion through git alone.
pub(super) fn is_kept(plan: &ClusterPlan) -> bool {
    plan.cluster.removal.is_none()
}

pub(super) fn object(plan: &ClusterPlan) -> Node {
    let cluster = &plan.cluster;
    let mut annotations = cluster.annotations.clone();
    annotations.set_some(REMOVAL, cluster.removal.as_ref().map(|removal| removal.reason.as_str()));
    annotations.set_some(STANDBY, cluster.management.standby.then_some("true"));
    annotations.set_some(SUSPENDED, cluster.suspend.as_deref());
    let mut metadata = Mapping::new();
    metadata.set("name", cluster.name.as_str());
    metadata.set("namespace", cluster.namespace.as_str());
    metadata.set_filled("labels", cluster.labels.clone());
    metadata.set_filled("annotations", annotations);
    let mut root = Mapping::new();
    root.set("apiVersion", "cluster.x-k8s.io/v1beta2");
    root.set("kind", "Cluster");
    root.set("metadata", metadata);
    let spec = Node::from(spec(plan)).with_origin(cluster.origin);
    root.set(
        "spec",
        match &cluster.raw {
            Some(raw) => merge_raw(&spec, raw),
            None => spec,
        },
    );
    Node::from(root).with_origin(cluster.origin)
}

fn spec(plan: &ClusterPlan) -> Mapping {
    let cluster = &plan.cluster;
    let mut spec = Mapping::new();
    // Nothing applies it on standby. If someone applies it by hand, the Cluster must not be reconciled.
    if cluster.suspend.is_some() || cluster.management.standby {
        spec.set("paused", true);
    }
    if let Some(gates) = &cluster.availability_gates {
        spec.set_filled("availabilityGates", gates.clone());
    }
    spec.set_filled("clusterNetwork", network(&cluster.network));
    spec.set("topology", topology(plan));
    spec
}

fn network(network: &Network) -> Mapping {
    let mut mapping = Mapping::new();
    for (key, blocks) in [("pods", &network.pods), ("services", &network.services)] {
        if let Some(blocks) = blocks.as_ref().filter(|blocks| !blocks.is_empty_collection()) {
            let mut inner = Mapping::new();
            inner.set("cidrBlocks", blocks.clone());
            mapping.set(key, inner);
        }
    }
    mapping.set_some("serviceDomain", network.service_domain.clone());
    mapping.set_some("apiServerPort", network.api_server_port.clone());
    mapping
}

fn topology(plan: &ClusterPlan) -> Mapping {
    let cluster = &plan.cluster;
    let mut class = Mapping::new();
    class.set("name", plan.release.name.as_str());
    class.set("namespace", cluster.management.class_namespace.as_str());
    let mut topology = Mapping::new();
    topology.set("classRef", Node::from(class).with_origin(cluster.release_origin));
    topology.set(
        "version",
        Node::from(format!("v{}", plan.release.kubernetes)).with_origin(cluster.release_origin),
    );
    topology.set_filled("controlPlane", control_plane(plan));
    topology.set_filled("workers", workers(&cluster.node_pools));
    let given = plan.variables.iter().filter_map(|(name, value)| Some(variable(name, value.as_ref()?)));
    topology.set_filled("variables", given.collect::<Vec<_>>());
    topology
}

fn variable(name: &str, value: &Node) -> Node {
    let mut mapping = Mapping::new();
    mapping.set("name", name);
    mapping.set("value", value.clone());
    Node::from(mapping).with_origin(value.origin)
}

fn control_plane(plan: &ClusterPlan) -> Mapping {
    let control_plane = &plan.cluster.control_plane;
    let mut mapping = Mapping::new();
    let origin = control_plane.replicas_origin.unwrap_or(plan.cluster.origin);
    mapping.set_some(
        "replicas",
        control_plane.replicas.map(|replicas| Node::from(replicas).with_origin(origin)),
    );
    mapping.set_filled("metadata", metadata(&control_plane.labels, &control_plane.annotations));
    settings(&mut mapping, &control_plane.settings);
    overrides(&mut mapping, &control_plane.variables);
    mapping
}

fn workers(pools: &[NodePool]) -> Mapping {
    let of_kind =
        |kind: PoolKind| pools.iter().filter(|pool| pool.kind == kind).map(worker).collect::<Vec<_>>();
    let mut workers = Mapping::new();
    workers.set_filled("machineDeployments", of_kind(PoolKind::MachineDeployment));
    workers.set_filled("machinePools", of_kind(PoolKind::MachinePool));
    workers
}

fn worker(pool: &NodePool) -> Node {
    let mut annotations = pool.annotations.clone();
    let mut mapping = Mapping::new();
    mapping.set("name", Node::from(pool.name.as_str()).with_origin(pool.origin));
    mapping.set("class", Node::from(pool.class.as_str()).with_origin(pool.class_origin));
    match &pool.size {
        Size::Fixed(replicas) => mapping.set("replicas", replicas.clone()),
        Size::Autoscaled { min, max, origin } => {
            for (name, value) in [(AUTOSCALER_MIN, min), (AUTOSCALER_MAX, max)] {
                annotations.set(name, Node::from(value.to_string()).with_origin(*origin));
            }
        }
        Size::Unset => {}
    }
    mapping.set_filled("metadata", metadata(&pool.labels, &annotations));
    settings(&mut mapping, &pool.settings);
    overrides(&mut mapping, &pool.variables);
    Node::from(mapping).with_origin(pool.origin)
}

fn metadata(labels: &Mapping, annotations: &Mapping) -> Mapping {
    let mut metadata = Mapping::new();
    metadata.set_filled("labels", labels.clone());
    metadata.set_filled("annotations", annotations.clone());
    metadata
}

/// Copies settings unchanged, except empty collections, which the API refuses.
fn settings(mapping: &mut Mapping, settings: &Mapping) {
    for entry in settings.iter().filter(|entry| !entry.value.is_empty_collection()) {
        mapping.insert(entry.key.clone(), entry.value.clone());
    }
}

fn overrides(mapping: &mut Mapping, variables: &Mapping) {
    if variables.is_empty() {
        return;
    }
    let mut sorted: Vec<_> = variables.iter().collect();
    sorted.sort_by(|a, b| a.key.name.cmp(&b.key.name));
    let mut inner = Mapping::new();
    inner.set(
        "overrides",
        sorted.iter().map(|entry| variable(&entry.key.name, &entry.value)).collect::<Vec<_>>(),
    );
    mapping.set("variables", inner);
}

/// Whether a path of the tree is that of a Cluster. The engine's own files for a cluster named `…cluster` end alike.
pub fn is_cluster_file(path: &str) -> bool {
    let folder = path.strip_suffix(super::CLUSTER_FILE).and_then(|folder| folder.strip_suffix('/'));
    folder.is_some_and(|folder| folder.rsplit('/').nth(2) == Some("clusters"))
}

#[cfg(test)]
mod tests {
    use super::is_cluster_file;

    #[test]
    fn files_of_engines_are_no_clusters() {
        let path = |rest: &str| is_cluster_file(&format!("generated/management/mgmt/{rest}"));
        assert!(path("clusters/team-a/dev-1/cluster/cluster.yaml"));
        assert!(path("clusters/team-a/cluster/cluster/cluster.yaml"));
        assert!(!path("flux/clusters/team-a/prod-cluster/cluster.yaml"));
        assert!(!path("flux/clusters/team-a/cluster/cluster.yaml"));
    }
}
