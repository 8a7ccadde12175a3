//! Lowering removals.

use super::Lowering;
use crate::{
    definition as written,
    model::{Removal, RemovalStep},
    note::Notes,
    yaml::Node,
};

/// Lowers the removal of a cluster, a pool or an addon, if there is one.
pub(super) fn lower(
    context: &Lowering<'_>,
    written: Option<&written::Removal>,
    node: &Node,
    notes: &mut Notes,
) -> Option<Removal> {
    let (written, node) = (written?, node.get("removal")?);
    if written.reason.trim().is_empty() {
        let origin = node.get("reason").map_or(node.origin, |reason| reason.origin);
        notes
            .error("removal", context.place(origin), "the reason of the removal is missing")
            .hint("explain why it is removed, for anyone who reads it later");
    }
    let step = match written.step {
        written::RemovalStep::Detach => RemovalStep::Detach,
        written::RemovalStep::Delete => RemovalStep::Delete,
    };
    Some(Removal { reason: written.reason.clone(), step, origin: node.origin })
}

/// Rejects removals in folder defaults, which would also apply to forgotten and future clusters.
pub(super) fn check_defaults(context: &Lowering<'_>, notes: &mut Notes) {
    for layer in context.definitions.defaults.values() {
        if let Some(removal) = layer.node.at(&["spec", "removal"]) {
            notes
                .error(
                    "removal",
                    context.place(removal.origin),
                    "a removal belongs in a cluster's own definition, not in the defaults of a folder",
                )
                .hint("run `stackloom remove <cluster>` for each of them");
        }
    }
}
