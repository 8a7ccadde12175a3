//! Refuses to change the networks of an existing cluster.
//!
//! Kubernetes reads the networks when a cluster is created. Later changes reach only some components: new nodes get
//! addresses that the CNI does not route. Cluster API accepts such changes silently.

use crate::{
    compare::ClusterFacts,
    note::{About, Notes, Place},
    tree::{PartId, TreePath},
    yaml::{Node, to_json},
};

/// Refuses to change the network of a cluster that is already in the tree.
pub(super) fn judge(
    path: &TreePath,
    part: &PartId,
    old: &ClusterFacts,
    new: &ClusterFacts,
    notes: &mut Notes,
) {
    let PartId::Cluster { management, namespace, cluster: name } = part else { return };
    let both = [("pods", "pod", &old.pods, &new.pods), ("services", "service", &old.services, &new.services)];
    for (key, kind, before, after) in both {
        if before == after {
            continue;
        }
        let shown = |blocks: &Option<Vec<Node>>| match blocks {
            Some(all) => to_json(&all.clone().into()).to_string().replace('"', ""),
            None => "none".to_owned(),
        };
        let place = Place::file(path.as_str());
        let what = format!("the {kind} network of `{namespace}/{name}`");
        // A cluster without networks may still be waiting for them.
        if before.is_none() {
            notes
                .warning("network-changed", place, format!("{what} was not set when the cluster was created; it would now be set to {}", shown(after)))
                .about(About::Network(key))
                .hint("existing machines do not pick it up; if the nodes never became ready, recreate the cluster");
            continue;
        }
        let (before, after) = (shown(before), shown(after));
        notes
            .error("network-changed", place, format!("{what} would change from {before} to {after}, but a cluster keeps the network that it was created with"))
            .about(About::Network(key))
            .hint(format!("set `network.{key}` back to {before} in its definition or in the defaults of its folders"))
            .hint("for another network, create a new cluster, move the workloads, and remove the old cluster with `stackloom remove`")
            .hint(format!("if the cluster was never created in `{management}`: restore its networks and remove it in steps (`stackloom remove {name}`), then define it again"));
    }
}
