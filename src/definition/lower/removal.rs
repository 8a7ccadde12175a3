//! Lowering removals.

use super::Lowering;
use crate::{
    model::{Removal, RemovalStep},
    note::Notes,
    yaml::Node,
};

/// How a cluster, a pool or an addon leaves, if it does.
pub(super) fn lower(node: &Node) -> Option<Removal> {
    let removal = node.get("removal")?;
    let text = |key| removal.get(key).and_then(Node::as_str);
    let step = RemovalStep::parse(text("step")?)?;
    Some(Removal { reason: text("reason")?.to_owned(), step, origin: removal.origin })
}

/// What folder defaults say holds for clusters that are not thought of, and for those that come later.
pub(super) fn check_defaults(context: &Lowering<'_>, notes: &mut Notes) {
    for layer in context.definitions.defaults.values() {
        if let Some(removal) = layer.node.at(&["spec", "removal"]) {
            notes
                .error(
                    "removal",
                    context.place(removal.origin),
                    "a removal stands in a cluster's own definition, not in what a folder's clusters share",
                )
                .hint("run `stackloom remove <cluster>` for each of them");
        }
    }
}
