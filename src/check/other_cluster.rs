//! Finds objects that belong to another cluster than the one whose folder has them: they would come and go with the wrong
//! folder, and controllers act on the cluster that an object names.

use super::{metadata::Violation, object::is_name};
use crate::{release::group_of, yaml::Node};

/// The group of Cluster API's own kinds.
const GROUP: &str = "cluster.x-k8s.io";
/// The label with the name of an object's cluster.
const LABEL: &str = "cluster.x-k8s.io/cluster-name";
const NAME: &str = "correct the name of the cluster, or move the object to the folder of that cluster";

/// Finds every place where an object names another cluster than `own`.
pub(super) fn faults(node: &Node, group: &str, kind: &str, own: &str) -> Vec<Violation> {
    let is_other = |text: &str| is_name("Cluster", text) && text != own;
    let mut found = Vec::new();
    let mut note = |node: &Node, what: &str| {
        if let Some(other) = node.as_str().filter(|text| is_other(text)) {
            let message = format!("{what} the cluster `{other}`, but its folder belongs to `{own}`");
            found.push(Violation { origin: node.origin, message, hint: NAME });
        }
    };
    for path in [&["spec", "clusterName"][..], &["spec", "template", "spec", "clusterName"]] {
        if let Some(named) = node.at(path).filter(|_| group == GROUP) {
            note(named, &format!("this {kind} belongs to"));
        }
    }
    for path in [&["metadata", "labels", LABEL][..], &["spec", "template", "metadata", "labels", LABEL]] {
        if let Some(named) = node.at(path) {
            note(named, &format!("a label of this {kind} names"));
        }
    }
    let owners = node.at(&["metadata", "ownerReferences"]).and_then(Node::as_sequence).unwrap_or_default();
    for owner in owners {
        let word = |key| owner.get(key).and_then(Node::as_str).unwrap_or_default();
        if word("kind") == "Cluster"
            && group_of(word("apiVersion")) == GROUP
            && let Some(name) = owner.get("name")
        {
            note(name, &format!("the owner of this {kind} is"));
        }
    }
    found
}
