//! Refuses to change what installs the addons of a running cluster.

use crate::{
    model::AddonDelivery,
    note::{About, Notes, Place, in_words},
    tree::{PartId, TreePath},
};

/// Refuses to change the delivery while the engine runs. The engine would find other objects in the folder of the addons and
/// prune the old ones, which would uninstall the addons.
pub(super) fn refuse(
    path: &TreePath,
    part: &PartId,
    before: &[AddonDelivery],
    after: &[AddonDelivery],
    notes: &mut Notes,
) {
    let PartId::Cluster { management, namespace, cluster } = part else { return };
    let message = format!(
        "the delivery of addons of `{namespace}/{cluster}` would change from {} to {} while the engine of `{management}` runs: it \
         would uninstall addons",
        names(before),
        names(after)
    );
    notes
        .error("engine-changed", Place::file(path.as_str()), message)
        .about(About::Delivery)
        .hint(format!("first commit `standby: true` for `{management}`, and wait until it is applied and no sync runs any more"))
        .hint("the steps are in docs/deliveries.md, under \"Change the delivery\"");
}

/// The deliveries that may have written an object.
fn names(deliveries: &[AddonDelivery]) -> String {
    let names: Vec<_> = deliveries.iter().map(|one| one.as_str().to_owned()).collect();
    in_words(&names, "or")
}
