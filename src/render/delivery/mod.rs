//! Addon deliveries: what installs addons into workload clusters, apart from the engine that applies the tree.
//!
//! A delivery is one file with a [`Delivery`] and one line in [`DELIVERIES`].

mod addon;
mod argocd_application;
pub(super) mod facts;
mod helm_release;

use super::{Drawn, Limit, cluster};
use crate::{model::AddonDelivery, note::Notes, plan::ClusterPlan, tree::TreePath, world::Input, yaml::Node};

/// A way to install addons.
pub(super) struct Delivery {
    /// Which.
    kind: AddonDelivery,
    /// Draws a cluster's addons below the cluster's folder; what is applied in the management cluster goes into
    /// `addons/` there, what the workload cluster gets into folders of its own.
    draw: fn(&ClusterPlan, &TreePath, &Input, &mut Drawn, &mut Notes),
    /// The object that installs an addon: its namespace, and how `kubectl` names it.
    installer: fn(&ClusterPlan, &str) -> (String, String),
    /// The command that lists what installs a cluster's addons, and what of it is suspended.
    list: fn(&ClusterPlan) -> String,
    /// The values of an object that installs a chart; none of other objects.
    values: fn(&Node) -> Option<Node>,
    /// What the `apiVersion` of an object that it writes begins with.
    apis: &'static [&'static str],
    /// Where these values are in the object.
    values_at: &'static [&'static str],
    /// What it cannot do for a cluster.
    limits: fn(&ClusterPlan) -> Vec<Limit>,
    /// Where, and under which name, a cluster must be registered.
    registration: fn(&ClusterPlan) -> Option<(String, String)>,
}

/// All deliveries.
static DELIVERIES: [&Delivery; 2] = [&argocd_application::DELIVERY, &helm_release::DELIVERY];

/// Draws a cluster's addons as its management cluster delivers them.
pub(super) fn draw(plan: &ClusterPlan, input: &Input, drawn: &mut Drawn, notes: &mut Notes) {
    (of(plan).draw)(plan, &cluster::folder(plan), input, drawn, notes);
}

/// The object that installs an addon: its namespace, and how `kubectl` names it.
pub(super) fn installer(plan: &ClusterPlan, addon: &str) -> (String, String) {
    (of(plan).installer)(plan, addon)
}

/// The command that lists what installs a cluster's addons, and what of it is suspended.
pub(super) fn list_installers(plan: &ClusterPlan) -> String {
    (of(plan).list)(plan)
}

/// The values of an object that installs a chart; none of other objects.
pub(super) fn values(object: &Node) -> Option<Node> {
    DELIVERIES.iter().find_map(|delivery| (delivery.values)(object))
}

/// The delivery that wrote the text of a file among what installs addons.
pub(super) fn writer(text: &str) -> Option<AddonDelivery> {
    let api = text.lines().find_map(|line| line.strip_prefix("apiVersion: "))?;
    let wrote = |delivery: &&&Delivery| delivery.apis.iter().any(|known| api.starts_with(known));
    DELIVERIES.iter().find(wrote).map(|delivery| delivery.kind)
}

/// Where objects that install a chart hold its values.
pub(super) fn values_at() -> impl Iterator<Item = &'static [&'static str]> {
    DELIVERIES.iter().map(|delivery| delivery.values_at)
}

/// What the delivery of a cluster's addons cannot do for it.
pub(super) fn limits(plan: &ClusterPlan) -> Vec<Limit> {
    (of(plan).limits)(plan)
}

/// Where, and under which name, a cluster must be registered so that its addons reach it.
pub(super) fn registration(plan: &ClusterPlan) -> Option<(String, String)> {
    (of(plan).registration)(plan)
}

/// Whether objects of a kind hold the values of a chart at a key of their `spec`.
pub(super) fn holds_values(kind: &str, key: &str) -> bool {
    matches!((kind, key), ("Application", "source") | ("HelmRelease", "values"))
}

fn of(plan: &ClusterPlan) -> &'static Delivery {
    let wanted = plan.cluster.management.addon_delivery;
    let found = DELIVERIES.iter().find(|delivery| delivery.kind == wanted);
    found.expect("a test holds that each delivery has a file")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_delivery_has_exactly_one_file() {
        for delivery in AddonDelivery::ALL {
            assert_eq!(DELIVERIES.iter().filter(|one| one.kind == delivery).count(), 1, "{delivery:?}");
        }
    }
}
