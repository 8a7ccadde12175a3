//! Lowering removals.

use super::Lowering;
use crate::{
    model::{Removal, RemovalStep},
    note::Notes,
    yaml::Node,
};

/// How a cluster, a pool or an addon leaves, if it does.
pub(super) fn lower(context: &Lowering<'_>, node: &Node, notes: &mut Notes) -> Option<Removal> {
    let removal = node.get("removal")?;
    let reason = removal.get("reason")?;
    let step = RemovalStep::parse(removal.get("step").and_then(Node::as_str)?)?;
    let text = reason.as_str()?;
    if text.trim().is_empty() {
        notes
            .error("removal", context.place(reason.origin), "the reason of the removal is missing")
            .hint("write why it is removed, for anyone who reads it later");
    }
    Some(Removal { reason: text.to_owned(), step, origin: removal.origin })
}

/// What folder defaults say holds for clusters that are not thought of, and for those that come later.
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
