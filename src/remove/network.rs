//! The networks of a cluster that exists: what a run must not change.
//!
//! Kubernetes takes them when a cluster is made. A change later reaches some of its components and not others: new nodes
//! get addresses of another network than the CNI routes. Cluster API takes it without a word.

use crate::{
    note::{Notes, Place},
    tree::{PartId, TreePath},
    yaml::{Node, to_json},
};

/// What is given out once, and the field of a definition that says it.
const FIELDS: [([&str; 4], &str); 2] = [
    (["spec", "clusterNetwork", "pods", "cidrBlocks"], "pods"),
    (["spec", "clusterNetwork", "services", "cidrBlocks"], "services"),
];

/// Refuses another network of a cluster that is in the tree already.
pub(super) fn judge(path: &TreePath, part: &PartId, old: &Node, new: &Node, notes: &mut Notes) {
    let PartId::Cluster { management, namespace, cluster: name } = part else { return };
    for (field, key) in FIELDS {
        let blocks = |node: &Node| {
            node.at(&field).and_then(Node::as_sequence).filter(|all| !all.is_empty()).map(<[Node]>::to_vec)
        };
        let (before, after) = (blocks(old), blocks(new));
        if before == after {
            continue;
        }
        let shown = |blocks: Option<Vec<Node>>| {
            blocks.map_or_else(|| "none".to_owned(), |all| to_json(&all.into()).to_string().replace('"', ""))
        };
        let place = Place::file(path.as_str());
        let what = format!("the network of {key} of `{namespace}/{name}`");
        // A cluster that has none yet may still be waiting for it.
        if before.is_none() {
            notes
                .warning("network-changed", place, format!("{what} is set after the cluster was made: to {}", shown(after)))
                .hint("machines that exist do not take it over; a cluster whose nodes never became ready must be made anew");
            continue;
        }
        let (before, after) = (shown(before), shown(after));
        notes
            .error("network-changed", place, format!("{what} would change from {before} to {after}: a cluster keeps the network that it was made with"))
            .hint(format!("put `network.{key}` back to {before} in its definition or in the defaults of its folders"))
            .hint("for another network, make a new cluster, move what runs, and take the old one away with `stackloom remove`")
            .hint(format!("if the cluster was never created in `{management}`: delete its folder below `generated/`, commit that, and generate again"));
    }
}
