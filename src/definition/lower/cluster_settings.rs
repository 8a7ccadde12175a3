//! Lowers the settings of a cluster, except for its name, management cluster and release.

use std::collections::BTreeMap;

use ipnet::IpNet;

use super::{Lowering, calendar, closest_at, name_error, pools, raw, removal, stack};
use crate::{
    definition::{self as written, ClusterSpec, Merged},
    model::{AddonChoice, ControlPlane, Date, Hold, Network, NodePool, Subdomain, UpgradePolicy, Upgrades},
    note::{Notes, Place},
    yaml::{Mapping, Node},
};

/// The lowered settings of a cluster.
pub(super) struct ClusterSettings {
    pub labels: Mapping,
    pub annotations: Mapping,
    pub control_plane: ControlPlane,
    pub node_pools: Vec<NodePool>,
    pub network: Network,
    pub variables: Mapping,
    pub addons: BTreeMap<String, AddonChoice>,
    pub availability_gates: Option<Node>,
    pub suspend: Option<String>,
    pub upgrades: Upgrades,
    pub raw: Option<Node>,
}

/// Lowers the settings, and reports all errors.
pub(super) fn lower(context: &Lowering<'_>, merged: &Merged, notes: &mut Notes) -> Option<ClusterSettings> {
    let Merged { spec, node, .. } = merged;
    let one = ClusterSettingsLowering { context, spec, node };
    let before = notes.errors();
    let control_plane = one.control_plane(notes);
    let node_pools =
        pools::lower_all(context, spec.node_pools.as_deref().unwrap_or_default(), one.at("nodePools"), notes);
    let metadata = |key| node.at(&["metadata", key]);
    let labels = pools::metadata(context, metadata("labels"), true, notes);
    let annotations = pools::metadata(context, metadata("annotations"), false, notes);
    let network = one.network(notes);
    let addons = one.addons(notes);
    if let Some(gates) = one.at("availabilityGates") {
        pools::check_filled(context, "availabilityGates", gates, notes);
    }
    let suspend = spec.suspend.clone();
    one.check_reason(suspend.as_deref(), one.at("suspend"), "suspend", notes);
    let upgrades = one.upgrades(notes);
    if let Some(raw) = one.at("raw") {
        raw::check(context, raw, notes);
    }
    let settings = ClusterSettings {
        labels: labels?,
        annotations: annotations?,
        control_plane: control_plane?,
        node_pools: node_pools?,
        network,
        variables: mapping(one.at("variables")),
        addons,
        availability_gates: one.at("availabilityGates").cloned(),
        suspend,
        upgrades,
        raw: one.at("raw").cloned(),
    };
    (notes.errors() == before).then_some(settings)
}

struct ClusterSettingsLowering<'a> {
    context: &'a Lowering<'a>,
    spec: &'a ClusterSpec,
    node: &'a Node,
}

impl ClusterSettingsLowering<'_> {
    fn at(&self, key: &str) -> Option<&Node> {
        self.node.at(&["spec", key])
    }

    fn place(&self, node: &Node) -> Option<Place> {
        self.context.place(node.origin)
    }

    fn control_plane(&self, notes: &mut Notes) -> Option<ControlPlane> {
        let (Some(written), Some(node)) = (&self.spec.control_plane, self.at("controlPlane")) else {
            return Some(ControlPlane::default());
        };
        let labels = pools::metadata(self.context, node.get("labels"), true, notes);
        let annotations = pools::metadata(self.context, node.get("annotations"), false, notes);
        let settings = pools::settings(self.context, node, notes);
        Some(ControlPlane {
            replicas: written.replicas,
            replicas_origin: node.get("replicas").map(|node| node.origin),
            labels: labels?,
            annotations: annotations?,
            variables: mapping(node.get("variables")),
            settings,
        })
    }

    /// Checks that a reason is not blank.
    fn check_reason(&self, reason: Option<&str>, node: Option<&Node>, what: &str, notes: &mut Notes) {
        if reason.is_some_and(|reason| reason.trim().is_empty()) {
            notes
                .error("no-reason", node.and_then(|node| self.place(node)), format!("`{what}` has no reason"))
                .hint("explain why, for people who see it later");
        }
    }

    fn upgrades(&self, notes: &mut Notes) -> Upgrades {
        let Some(written) = &self.spec.upgrades else { return Upgrades::default() };
        let policy = match written.policy {
            Some(written::UpgradePolicy::Minor) => UpgradePolicy::Minor,
            Some(written::UpgradePolicy::None) => UpgradePolicy::None,
            Some(written::UpgradePolicy::Patch) | None => UpgradePolicy::Patch,
        };
        let hold = written.hold.as_ref().map(|hold| {
            let at = |key| self.node.at(&["spec", "upgrades", "hold", key]);
            self.check_reason(Some(&hold.reason), at("reason"), "upgrades.hold.reason", notes);
            if let Some(place) = at("until").and_then(|until| self.place(until)) {
                stack::check_date(hold.until.as_deref(), &place, notes);
            }
            Hold { reason: hold.reason.clone(), until: hold.until.as_deref().and_then(Date::parse) }
        });
        let place = |path: &[&str]| {
            let upgrades = self.at("upgrades")?;
            self.place(closest_at(upgrades, path))
        };
        let (zone, windows) = (written.time_zone.as_deref(), written.windows.as_deref());
        let calendar = calendar::lower(zone, windows.unwrap_or_default(), &place, notes);
        Upgrades { policy, hold, windows: calendar }
    }

    fn network(&self, notes: &mut Notes) -> Network {
        let get = |key| self.at("network").and_then(|network| network.get(key));
        let mut blocks: Vec<(IpNet, &Node)> = Vec::new();
        for key in ["pods", "services"] {
            let Some(list) = get(key) else { continue };
            pools::check_filled(self.context, key, list, notes);
            for node in list.as_sequence().unwrap_or_default() {
                let Some(text) = node.as_str() else { continue };
                match block(text) {
                    Some(block) => {
                        self.check_overlap(block, node, &blocks, notes);
                        self.check_first(block, node, notes);
                        blocks.push((block, node));
                    }
                    None => {
                        notes
                            .error("wrong-cidr", self.place(node), format!("`{text}` is not a CIDR block"))
                            .hint("write it like 10.96.0.0/12 or fd00:10:96::/112");
                    }
                }
            }
        }
        if let Some((node, domain)) = get("serviceDomain").and_then(|node| Some((node, node.as_str()?)))
            && let Err(fault) = Subdomain::new(domain)
        {
            name_error(domain, "the domain of services", self.place(node), &fault, notes);
        }
        Network {
            pods: get("pods").cloned(),
            services: get("services").cloned(),
            service_domain: get("serviceDomain").cloned(),
            api_server_port: get("apiServerPort").cloned(),
        }
    }

    /// Warns about a block that isn't written with its first address. Kubernetes accepts such a block with a warning.
    fn check_first(&self, block: IpNet, node: &Node, notes: &mut Notes) {
        let first = block.network();
        if first != block.addr() {
            let text = node.as_str().unwrap_or_default();
            notes
                .warning(
                    "wrong-cidr",
                    self.place(node),
                    format!("`{text}` is not the first address of its block"),
                )
                .hint(format!(
                    "the block is {first}/{}; if you mean another one, correct the length",
                    block.prefix_len()
                ));
        }
    }

    /// Rejects overlapping blocks, because only the blocks distinguish addresses of pods from those of services.
    fn check_overlap(&self, block: IpNet, node: &Node, others: &[(IpNet, &Node)], notes: &mut Notes) {
        let shown = |node: &Node| node.as_str().unwrap_or_default().to_owned();
        let Some((_, other)) = others.iter().find(|(other, _)| overlaps(other, &block)) else { return };
        let message = format!("`{}` and `{}` overlap", shown(node), shown(other));
        let note = notes.error("wrong-cidr", self.place(node), message);
        note.hint("give pods and services separate blocks, outside of the machines' network");
        if let Some(place) = self.place(other) {
            note.related("the other one", place);
        }
    }

    fn addons(&self, notes: &mut Notes) -> BTreeMap<String, AddonChoice> {
        let mut choices = BTreeMap::new();
        let Some(written) = &self.spec.addons else { return choices };
        for entry in self.at("addons").and_then(Node::as_mapping).into_iter().flat_map(Mapping::iter) {
            let Some(Some(written)) = written.get(&*entry.key.name) else { continue };
            let node = &entry.value;
            let (text, key, is_interim) = match &written.version {
                Some(version) => (Some(version), "version", false),
                None => (written.interim_version.as_ref(), "interimVersion", true),
            };
            let version = text.zip(node.get(key)).and_then(|(text, at)| {
                let version = super::addon_version(text, self.place(at)?, notes)?;
                Some((version, at.origin))
            });
            let unlisted = node.get("unlisted");
            if let (Some(unlisted), None) = (unlisted, &written.version) {
                notes
                    .error("unlisted", self.place(unlisted), "`unlisted` is set without a `version`")
                    .hint("add `version`, or remove `unlisted`; `null` removes what a folder's defaults set");
            }
            let reason = written.unlisted.clone();
            self.check_reason(reason.as_deref(), unlisted, "unlisted", notes);
            let removal = removal::lower(self.context, written.removal.as_ref(), node, notes);
            let enabled = written.enabled;
            if let (Some(found), Some(false)) = (&removal, enabled) {
                notes
                    .error(
                        "removal",
                        self.context.place(found.origin),
                        format!("the addon `{}` is already turned off by `enabled: false`", entry.key.name),
                    )
                    .hint("remove one of them: `removal` leads to `enabled: false` step by step");
            }
            let choice = AddonChoice {
                origin: Some(entry.key.origin),
                enabled,
                interim: is_interim && version.is_some(),
                version,
                removal,
                unlisted: reason.zip(unlisted.map(|node| node.origin)),
                release: written.release.clone().zip(node.get("release").map(|node| node.origin)),
                values: node.get("values").cloned(),
            };
            choices.insert(entry.key.name.to_string(), choice);
        }
        choices
    }
}

/// Parses a block of addresses of either family. Rejects leading zeros in the prefix length, although Go takes them: they are more
/// likely a mistake than meant.
fn block(text: &str) -> Option<IpNet> {
    let (_, prefix) = text.split_once('/')?;
    let is_plain = !(prefix.len() > 1 && prefix.starts_with('0'));
    text.parse().ok().filter(|_| is_plain)
}

/// Reports whether one block contains the other; blocks can't overlap in any other way.
fn overlaps(one: &IpNet, two: &IpNet) -> bool {
    one.contains(two) || two.contains(one)
}

fn mapping(node: Option<&Node>) -> Mapping {
    node.and_then(Node::as_mapping).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::overlaps;

    #[test]
    fn blocks_overlap_where_one_lies_in_the_other() {
        let block = |text| super::block(text).unwrap();
        for (one, two) in [
            ("10.0.0.0/8", "10.96.0.0/12"),
            ("10.96.0.0/12", "10.0.0.0/8"),
            ("0.0.0.0/0", "192.168.0.0/16"),
            ("fd00::/8", "fd00:10::/112"),
            ("::/0", "fd00::/64"),
            ("10.0.0.1/32", "10.0.0.1/32"),
        ] {
            assert!(overlaps(&block(one), &block(two)), "{one} {two}");
        }
        for (one, two) in
            [("10.0.0.0/16", "10.1.0.0/16"), ("0.0.0.0/0", "::/0"), ("fd00::/64", "fd00:0:0:1::/64")]
        {
            assert!(!overlaps(&block(one), &block(two)), "{one} {two}");
        }
        for (text, first) in [
            ("192.168.1.7/16", "192.168.0.0"),
            ("10.0.0.1/0", "0.0.0.0"),
            ("10.0.0.1/32", "10.0.0.1"),
            ("fd00::5/64", "fd00::"),
            ("fd00::5/0", "::"),
        ] {
            assert_eq!(block(text).network().to_string(), first);
        }
        for bad in ["10.0.0.0", "10.0.0.0/33", "10.0.0.0/08", "10.0.0.0/+8", "a/8", "::/129", "10.0.0/8"] {
            assert!(super::block(bad).is_none(), "{bad}");
        }
    }
}
