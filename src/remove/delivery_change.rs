//! Refuses to change what installs the addons of a running cluster.

use super::destination::standby_first;
use crate::{
    model::AddonDelivery,
    note::{About, Notes, Place, in_words},
    render::Installer,
    tree::{PartId, TreePath},
};

/// Refuses to replace the objects that install addons while the engine runs. It would find other objects in their folder and prune
/// the old ones, which would uninstall the addons.
pub(super) fn refuse(
    path: &TreePath,
    part: &PartId,
    before: &Installer,
    after: &Installer,
    notes: &mut Notes,
) {
    let PartId::Cluster { management, namespace, cluster } = part else { return };
    if before.has_other_cluster(after) {
        return refuse_other_name(path, part, before, after, notes);
    }
    let is_moved = before.writers == after.writers;
    let (what, from, to) = if is_moved {
        let quoted = |one: &Installer| format!("`{}`", one.namespace());
        ("the namespace of the objects that install the addons", quoted(before), quoted(after))
    } else {
        ("the delivery of addons", names(&before.writers), names(&after.writers))
    };
    let message = format!(
        "{what} of `{namespace}/{cluster}` would change from {from} to {to} while the engine of `{management}` runs: it would \
         uninstall addons"
    );
    let steps = if is_moved {
        "the steps are in docs/management-clusters.md, under \"Change the engine's namespace\""
    } else {
        "the steps are in docs/deliveries.md, under \"Change the delivery\""
    };
    notes
        .error("engine-changed", Place::file(path.as_str()), message)
        .about(About::Delivery)
        .hint(standby_first(management))
        .hint(steps);
}

/// Refuses to install the addons in a cluster with another registered name while the engine runs. Another cluster may have that name
/// until both are registered anew.
fn refuse_other_name(
    path: &TreePath,
    part: &PartId,
    before: &Installer,
    after: &Installer,
    notes: &mut Notes,
) {
    let PartId::Cluster { management, namespace, cluster } = part else { return };
    let [old, new] = [before, after].map(Installer::cluster);
    let Some(setting) = new.or(old).map(|name| name.setting) else { return };
    let [from, to] = [old, new].map(|name| name.map_or("<unnamed>", |name| &name.name));
    let message = format!(
        "the addons of `{namespace}/{cluster}` would be installed in the cluster that is registered as `{to}` instead of `{from}`, while \
         the engine of `{management}` runs"
    );
    notes
        .error("engine-changed", Place::file(path.as_str()), message)
        .about(About::Setting { management: management.clone(), path: setting })
        .hint(standby_first(management))
        .hint("the steps are in docs/management-clusters.md, under \"Change the names of clusters\"");
}

/// The deliveries that may have written an object.
fn names(deliveries: &[AddonDelivery]) -> String {
    let names: Vec<_> = deliveries.iter().map(|one| one.as_str().to_owned()).collect();
    in_words(&names, "or")
}
