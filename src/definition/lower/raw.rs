//! The fields that `raw` must not set. Templates, checks or the engine's objects also depend on these fields of a Cluster's
//! `spec`, and would miss the raw value. The list also contains fields that Cluster API writes itself.

use super::Lowering;
use crate::{note::Notes, yaml::Node};

/// A forbidden field, and what to do instead.
const CLOSED: [(&[&str], &str); 11] = [
    (&["clusterNetwork", "pods"], "`network.pods` sets it, and templates can read it"),
    (&["clusterNetwork", "serviceDomain"], "`network.serviceDomain` sets it, and templates can read it"),
    (&["clusterNetwork", "services"], "`network.services` sets it, and templates can read it"),
    (&["controlPlaneRef"], "Cluster API's topology sets it"),
    (&["infrastructureRef"], "Cluster API's topology sets it"),
    (&["paused"], "`suspend: <reason>` pauses the cluster, and everything that depends on it"),
    (&["topology", "classRef"], "`release` sets the class of the cluster"),
    (&["topology", "controlPlane", "replicas"], "`controlPlane.replicas` sets it, and templates can read it"),
    (
        &["topology", "controlPlane", "variables"],
        "`controlPlane.variables` sets it, with the defaults inside each value",
    ),
    (&["topology", "variables"], "`variables` sets it, with the class's defaults"),
    (&["topology", "version"], "`release` sets the Kubernetes version"),
];

/// Lists replace each other, so `raw` would remove every pool that it doesn't repeat.
const WORKERS: (&[&str], &str) = (&["topology", "workers"], "`nodePools` sets it");

/// Reports forbidden fields in `raw`. A value that covers several of them is reported once.
pub(super) fn check(context: &Lowering<'_>, raw: &Node, notes: &mut Notes) {
    let mut seen = Vec::new();
    for (path, instead) in CLOSED.into_iter().chain([WORKERS]) {
        let Some((found, depth)) = covering(raw, path) else { continue };
        let forbidden = &path[..depth];
        if seen.contains(&forbidden) {
            continue;
        }
        seen.push(forbidden);
        let note = notes.error(
            "raw",
            context.place(found.origin),
            format!("`raw` must not set `{}`", forbidden.join(".")),
        );
        if depth == path.len() {
            note.hint(format!("remove it: {instead}"));
        } else {
            note.hint("it would remove what the definition sets: set only the fields below it that you need");
        }
    }
}

/// The node at a path, or the first one on the way that isn't a map and therefore covers the path; with its depth.
fn covering<'a>(raw: &'a Node, path: &[&str]) -> Option<(&'a Node, usize)> {
    let mut node = raw;
    for (depth, key) in path.iter().enumerate() {
        if node.as_mapping().is_none() {
            return Some((node, depth));
        }
        node = node.get(key)?;
    }
    Some((node, path.len()))
}
