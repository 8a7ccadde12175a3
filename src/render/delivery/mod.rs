//! Addon deliveries: ways to install addons in workload clusters, separate from the engine that applies the tree.
//!
//! A delivery consists of a file with a [`Delivery`], and a line in the list of `model/delivery.rs`, from which the modules here
//! follow. It declares which features of addons it supports ([`Capabilities`]), and `check` reports the others by name. Deliberately
//! absent: decisions. Versions, order and names come from the plan.

mod addon;
mod applications;
mod capabilities;
mod flux_stages;
pub(super) mod provenance;
mod resource_set;
mod text;

use super::{ComposedField, Drawn, Limit, Provenance, Target, cluster, engine, folders::cluster_folder};
use crate::{
    model::{AddonDelivery, Cluster, for_each_delivery},
    note::Notes,
    plan::{ClusterPlan, installer_name},
    tree::TreePath,
    yaml::{Mapping, Node},
};

use capabilities::Capabilities;

pub(super) use applications::registered_cluster;

pub(crate) use text::UnmarkedNode;

/// A way to install addons.
pub(super) struct Delivery {
    /// The features of addons that it supports.
    capabilities: Capabilities,
    /// Draws a cluster's addons into the cluster's folder. Objects for the management cluster go into `addons/`, those for
    /// the workload cluster into folders of their own.
    draw: fn(&ClusterPlan, &TreePath, &mut Drawn, &mut Notes),
    /// The object that installs an addon: its namespace, and its name for `kubectl`.
    installer: fn(&ClusterPlan, &str) -> (String, String),
    /// The command that lists the objects that install a cluster's addons, with their suspension.
    list: fn(&ClusterPlan) -> String,
    /// The prefixes of the `apiVersion` of the objects that it writes.
    apis: &'static [&'static str],
    /// The groups and kinds of the objects in a cluster's namespace.
    kinds: &'static [(&'static str, &'static str)],
    /// What to know before a chart is uninstalled from a running cluster; empty if there is nothing special.
    uninstalls: &'static str,
    /// The kind of the objects that install charts; empty if there are none.
    installs: &'static str,
    /// A line that the objects which install charts have, if other deliveries write objects of their kind, too.
    sign: &'static str,
    /// The values in an object that installs a chart; none if they are elsewhere.
    values: fn(&Node) -> Option<Node>,
    /// The path of these values in the object; an empty key stands for any list item.
    values_at: &'static [&'static str],
    /// Where the fields of its objects come from.
    provenance: for<'a> fn(&ComposedField<'a>, &[&'a str]) -> Option<Vec<Provenance<'a>>>,
    /// Its limitations for a cluster, in addition to unsupported features.
    limits: fn(&ClusterPlan) -> Vec<Limit>,
    /// The registry and name under which a cluster must be registered.
    registration: fn(&ClusterPlan) -> Option<(String, String)>,
}

/// Declares the modules of all deliveries, and the table of them in the order of the list.
macro_rules! modules {
    ($($module:ident)*) => {
        $(mod $module;)*
        static DELIVERIES: &[&Delivery] = &[$(&$module::DELIVERY),*];
    };
}
for_each_delivery!(modules);

pub(super) fn draw(plan: &ClusterPlan, drawn: &mut Drawn, notes: &mut Notes) {
    (of(plan).draw)(plan, &cluster_folder(plan), drawn, notes);
    mark_removals(plan, drawn);
}

/// Annotates the objects that install an addon with the reason for its removal. Without it, a commit that announces the removal
/// would look like one that moves the addon to another stage.
fn mark_removals(plan: &ClusterPlan, drawn: &mut Drawn) {
    for addon in &plan.addons {
        let Some(reason) = &addon.removal else { continue };
        let name = addon.frozen.addon.name.as_str();
        let installers = drawn
            .objects
            .iter_mut()
            .filter(|object| object.target == Target::Management && object.facts.addon() == Some(name));
        for object in installers {
            let bare = std::mem::replace(&mut object.node, Node::from(Mapping::new()));
            object.node = engine::annotated(bare, &[(cluster::REMOVAL, reason)]);
        }
    }
}

/// The object that installs an addon: its namespace, and its name for `kubectl`.
pub(super) fn installer(plan: &ClusterPlan, addon: &str) -> (String, String) {
    (of(plan).installer)(plan, addon)
}

/// Whether an object of this name, in the cluster's namespace, installs the chart or the manifests of an addon.
pub(super) fn installs(plan: &ClusterPlan, addon: &str, name: &str) -> bool {
    name == installer_name(&plan.cluster, addon) || name == manifests_name(&plan.cluster, addon)
}

/// The name of the object that applies the manifests of an addon, where it is not the engine's.
fn manifests_name(cluster: &Cluster, addon: &str) -> String {
    // Names of addons contain no dots, so no chart can have this name.
    installer_name(cluster, &format!("{addon}.manifests"))
}

/// The command that lists the objects that install a cluster's addons, with their suspension.
pub(super) fn list_installers(plan: &ClusterPlan) -> String {
    (of(plan).list)(plan)
}

/// The values in an object that installs a chart; none for other objects.
pub(super) fn values(object: &Node) -> Option<Node> {
    let text = |key| object.get(key).and_then(Node::as_str).unwrap_or_default();
    let installs = |delivery: &&Delivery| delivery.installs == text("kind");
    by_api(text("apiVersion")).filter(installs).find_map(|delivery| (delivery.values)(object))
}

/// The deliveries that may have written a file, given its text. Those of one engine write the same objects for manifests.
pub(super) fn writers(text: &str) -> Vec<AddonDelivery> {
    let api = line(text, "apiVersion: ");
    let wrote = |one: &AddonDelivery| api.is_some_and(|api| DELIVERIES[one.place()].writes(api));
    let found: Vec<_> = AddonDelivery::all().filter(wrote).collect();
    let signed = found.iter().filter(|one| {
        let sign = DELIVERIES[one.place()].sign;
        !sign.is_empty() && text.contains(sign)
    });
    let signed: Vec<_> = signed.copied().collect();
    if signed.is_empty() { found } else { signed }
}

fn line<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    text.lines().find_map(|line| line.strip_prefix(key))
}

/// Whether objects applied to a workload cluster by a file's object stay there when the file is deleted.
pub(super) fn leaves_behind(text: &str) -> bool {
    let (api, kind) = (line(text, "apiVersion: ").unwrap_or_default(), line(text, "kind: "));
    by_api(api).any(|one| one.capabilities.manifests_stay && kind != Some(one.installs))
}

/// What to know before an addon is uninstalled from a running cluster.
pub(super) fn on_uninstalling(plan: &ClusterPlan, addon: &str) -> Vec<String> {
    let delivery = of(plan);
    let has_manifests = plan.release.addon(addon).is_some_and(|one| !one.manifests.is_empty());
    let has_chart = plan.release.addon(addon).is_some_and(|one| one.addon.chart.is_some());
    let stay = (delivery.capabilities.manifests_stay && has_manifests).then_some(
        "its manifests stay in the cluster, because Cluster API deletes nothing there: delete them by hand",
    );
    let hooks = Some(delivery.uninstalls).filter(|text| has_chart && !text.is_empty());
    stay.into_iter().chain(hooks).map(str::to_owned).collect()
}

/// The paths of a chart's values in objects that install charts.
pub(super) fn values_at() -> impl Iterator<Item = &'static [&'static str]> {
    DELIVERIES.iter().map(|delivery| delivery.values_at).filter(|path| !path.is_empty())
}

/// The limitations of the delivery of a cluster's addons.
pub(super) fn limits(plan: &ClusterPlan) -> Vec<Limit> {
    let delivery = of(plan);
    let mut limits = capabilities::limits(&delivery.capabilities, plan);
    limits.extend((delivery.limits)(plan));
    limits
}

/// The groups and kinds of the objects that deliveries can add to a cluster's namespace.
pub(super) fn kinds() -> Vec<(&'static str, &'static str)> {
    DELIVERIES.iter().flat_map(|delivery| delivery.kinds).copied().collect()
}

/// The registry and name under which a cluster must be registered to get its addons.
pub(super) fn registration(plan: &ClusterPlan) -> Option<(String, String)> {
    (of(plan).registration)(plan)
}

/// Whether objects of a kind hold the values of a chart at a key of their `spec`.
pub(super) fn holds_values(kind: &str, key: &str) -> bool {
    DELIVERIES.iter().any(|delivery| delivery.installs == kind && delivery.values_at.get(1) == Some(&key))
}

fn of(plan: &ClusterPlan) -> &'static Delivery {
    DELIVERIES[plan.cluster.addon_delivery.place()]
}

/// A delivery that can do more than that of a cluster: its name, and what it can do. Preferably, one with objects of the same
/// engine.
fn instead(
    plan: &ClusterPlan,
    can: impl Fn(&Capabilities) -> bool,
) -> Option<(&'static str, &'static Capabilities)> {
    let cluster = &plan.cluster;
    let fits = |one: &AddonDelivery| {
        one.needs().is_none_or(|needed| needed == cluster.management.engine)
            && can(&DELIVERIES[one.place()].capabilities)
    };
    let mut fitting: Vec<_> = AddonDelivery::all().filter(fits).collect();
    fitting.sort_by_key(|one| one.engine() != cluster.addon_delivery.engine());
    fitting.first().map(|one| (one.as_str(), &DELIVERIES[one.place()].capabilities))
}

/// The deliveries that write objects with this `apiVersion`. Those of one engine agree on what the text of an object says.
fn by_api(api: &str) -> impl Iterator<Item = &'static Delivery> {
    DELIVERIES.iter().filter(move |delivery| delivery.writes(api)).copied()
}

impl Delivery {
    fn writes(&self, api: &str) -> bool {
        self.apis.iter().any(|known| api.starts_with(known))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cells of a row in the documented table, in the order of the deliveries.
    fn row(name: &str) -> Vec<&'static str> {
        let page = include_str!("../../../docs/deliveries.md");
        let start = format!("| {name} |");
        let line =
            page.lines().find(|line| line.starts_with(&start)).unwrap_or_else(|| panic!("no row {name}"));
        line.trim_end_matches('|').split(" | ").skip(1).map(str::trim).collect()
    }

    #[test]
    fn the_documented_table_says_what_is_declared() {
        for (at, kind) in AddonDelivery::all().enumerate() {
            let capabilities = &DELIVERIES[kind.place()].capabilities;
            let is_error = |name: &str| row(name)[at] == "**error**";
            assert_eq!(is_error("charts"), !capabilities.charts, "{kind:?}");
            assert_eq!(is_error("manifests"), !capabilities.manifests, "{kind:?}");
            assert_eq!(
                is_error("`valuesFrom`"),
                capabilities.charts && !capabilities.values_from,
                "{kind:?}"
            );
            assert_eq!(
                is_error("charts from a registry (`oci://`)"),
                capabilities.charts && !capabilities.registries
            );
            let large = capabilities.charts && capabilities.largest_values.is_some();
            assert_eq!(is_error("values of more than 100 kB"), large, "{kind:?}");
            let digest = row("the digest in [the lock](lock.md)")[at];
            assert_eq!(digest == "warning", capabilities.registries && !capabilities.digests, "{kind:?}");
            let leaving = row("a removed cluster keeps its addons")[at];
            assert_eq!(leaving == "warning", !capabilities.release, "{kind:?}");
            let gone = row("a removed addon is uninstalled")[at];
            assert_eq!(gone.contains("stay"), capabilities.manifests_stay, "{kind:?}");
            let stages = row("`bootstrap` addons first")[at];
            assert_eq!(stages == "warning", capabilities.order == capabilities::Order::None, "{kind:?}");
        }
    }

    #[test]
    fn what_a_delivery_writes_no_other_takes_for_its_own() {
        for (at, delivery) in DELIVERIES.iter().enumerate() {
            for api in delivery.apis {
                let charts =
                    format!("apiVersion: {api}\nkind: {}\nspec:{}", delivery.installs, delivery.sign);
                let found: Vec<_> = writers(&charts).into_iter().map(AddonDelivery::place).collect();
                assert_eq!(found, [at], "{api}");
                let others = by_api(api).filter(|other| other.sign == delivery.sign);
                assert_eq!(others.count(), 1, "{api}");
            }
        }
    }
}
