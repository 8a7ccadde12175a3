//! Addon deliveries: what installs addons into workload clusters, apart from the engine that applies the tree.
//!
//! A delivery is one file with a [`Delivery`] and one line in [`DELIVERIES`].

mod helm_release;

use super::Drawn;
use crate::{model::AddonDelivery, note::Notes, plan::ClusterPlan, tree::TreePath, world::Input};

/// A way to install addons.
pub(super) struct Delivery {
    /// Which.
    delivery: AddonDelivery,
    /// Draws a cluster's addons below the cluster's folder; what is applied in the management cluster goes into
    /// `addons/` there, what the workload cluster gets into folders of its own.
    draw: fn(&ClusterPlan, &TreePath, &Input, &mut Drawn, &mut Notes),
}

/// All deliveries.
static DELIVERIES: [&Delivery; 1] = [&helm_release::DELIVERY];

/// Draws a cluster's addons as its management cluster delivers them.
pub(super) fn draw(plan: &ClusterPlan, part: &TreePath, input: &Input, drawn: &mut Drawn, notes: &mut Notes) {
    let wanted = plan.cluster.management.addon_delivery;
    let found = DELIVERIES.iter().filter(|delivery| delivery.delivery == wanted);
    found.for_each(|delivery| (delivery.draw)(plan, part, input, drawn, notes));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_delivery_has_exactly_one_file() {
        for delivery in AddonDelivery::ALL {
            assert_eq!(DELIVERIES.iter().filter(|one| one.delivery == delivery).count(), 1, "{delivery:?}");
        }
    }
}
