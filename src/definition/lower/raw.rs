//! What `raw` may not say: fields of a Cluster's `spec` that templates, checks or the engine's objects are made from, so
//! that a second word on them would be heard by some and not by others; and what Cluster API writes by itself.

use super::Lowering;
use crate::{note::Notes, yaml::Node};

/// A field, and what is to be done instead.
const CLOSED: [(&[&str], &str); 11] = [
    (&["clusterNetwork", "pods"], "`network.pods` says it, and templates see it"),
    (&["clusterNetwork", "serviceDomain"], "`network.serviceDomain` says it, and templates see it"),
    (&["clusterNetwork", "services"], "`network.services` says it, and templates see it"),
    (&["controlPlaneRef"], "Cluster API's topology writes it"),
    (&["infrastructureRef"], "Cluster API's topology writes it"),
    (&["paused"], "`suspend: <reason>` pauses the cluster, and what waits for it"),
    (&["topology", "classRef"], "`release` says which class the cluster is made from"),
    (&["topology", "controlPlane", "replicas"], "`controlPlane.replicas` says it, and templates see it"),
    (
        &["topology", "controlPlane", "variables"],
        "`controlPlane.variables` says it, with the defaults inside each value",
    ),
    (&["topology", "variables"], "`variables` says it, with the class' defaults"),
    (&["topology", "version"], "`release` says which Kubernetes version that is"),
];

/// Lists replace one another, so `raw` would take away every pool that it does not repeat.
const WORKERS: (&[&str], &str) = (&["topology", "workers"], "`nodePools` says it");

/// Reports what is said in `raw` and may not be; a word on a whole part is reported once.
pub(super) fn check(context: &Lowering<'_>, raw: &Node, notes: &mut Notes) {
    let mut reported = Vec::new();
    for (path, instead) in CLOSED.into_iter().chain([WORKERS]) {
        let Some((found, depth)) = said(raw, path) else { continue };
        let said = &path[..depth];
        if reported.contains(&said) {
            continue;
        }
        reported.push(said);
        let note = notes.error(
            "raw",
            context.place(found.origin),
            format!("`raw` may not say `{}`", said.join(".")),
        );
        if depth == path.len() {
            note.hint(format!("remove it: {instead}"));
        } else {
            note.hint("it would take away what the definition says: name the fields below it that are meant");
        }
    }
}

/// The node at a path, or the one above it that is not a map and so stands for the whole; and how deep it is.
fn said<'a>(raw: &'a Node, path: &[&str]) -> Option<(&'a Node, usize)> {
    let mut node = raw;
    for (depth, key) in path.iter().enumerate() {
        if node.as_mapping().is_none() {
            return Some((node, depth));
        }
        node = node.get(key)?;
    }
    Some((node, path.len()))
}
