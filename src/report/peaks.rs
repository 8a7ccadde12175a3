//! The additional machines that exist while everything rolls out at once.

use std::collections::BTreeMap;

use super::{
    change::{Change, Effect, Subject},
    cluster::ClusterReport,
    risk::Risk,
};
use crate::{
    model::{ClusterId, Label},
    topology::{Meaning, Pool, TopologyPart, UpgradeStep},
};

/// Additional machines in a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peak {
    /// The management cluster.
    pub management: Label,
    pub namespace: Label,
    /// The number of additional machines.
    pub machines: i64,
    /// The parts that may roll out with an unknown number of additional machines, by cluster.
    pub unknown: Vec<(ClusterId, Subject)>,
}

/// Adds up the additional machines in each namespace, without those that have none. What is refused needs none.
pub(super) fn of(clusters: &[ClusterReport]) -> Vec<Peak> {
    let mut found: BTreeMap<(Label, Label), (i64, Vec<_>)> = BTreeMap::new();
    for one in clusters.iter().filter(|one| one.refusal().is_none()) {
        let (machines, unknown) = of_cluster(one);
        let key = (one.cluster.management.clone(), one.cluster.namespace.clone());
        let all = found.entry(key).or_default();
        all.0 = all.0.saturating_add(machines);
        all.1.extend(unknown.into_iter().map(|subject| (one.cluster.clone(), subject)));
    }
    let peak =
        |((management, namespace), (machines, unknown))| Peak { management, namespace, machines, unknown };
    found.into_iter().map(peak).filter(|peak| peak.machines > 0 || !peak.unknown.is_empty()).collect()
}

/// The additional machines of a cluster, and the parts for which they are unknown.
fn of_cluster(cluster: &ClusterReport) -> (i64, Vec<Subject>) {
    let unknown = cluster.changes.iter().filter(|change| change.has_unknown_surge());
    let unknown = unknown.map(|change| change.subject.clone()).collect();
    let (mut control_plane, mut pools, mut others) = (0_i64, Vec::new(), 0_i64);
    for change in cluster.changes.iter().filter(|change| is_rollout(change)) {
        let Some(surge) = change.surge else { continue };
        match (&change.effect, &change.subject) {
            (Effect::Verdict(Meaning::Upgrade { .. }), Subject::Part(TopologyPart::ControlPlane)) => {
                control_plane = surge;
            }
            (Effect::Verdict(Meaning::Upgrade { .. }), _) => pools.push(surge),
            _ => others = others.saturating_add(surge),
        }
    }
    // Cluster API upgrades pools only once the control plane is done, and only a few of them at once.
    pools.sort_unstable_by(|a, b| b.cmp(a));
    let at_once = if cluster.pools_at_once == 0 { pools.len() } else { cluster.pools_at_once };
    let pools = pools.into_iter().take(at_once).fold(0, i64::saturating_add);
    (others.saturating_add(control_plane.max(pools)), unknown)
}

/// The most pools that change in one step of an upgrade.
pub(super) fn pools_at_once(steps: &[UpgradeStep]) -> usize {
    let (Some(first), Some(last)) = (steps.first(), steps.last()) else { return 0 };
    // The versions before the first step are not listed, so pools that have arrived may be part of it. A pool that is held back
    // stays on another version than the control plane.
    let has_arrived = |(pool, version): &(&Pool, &String)| {
        last.pools.get(*pool) == Some(*version) && **version == last.control_plane
    };
    let arrived = first.pools.iter().filter(has_arrived).count();
    let moved = steps.windows(2).map(|pair| {
        let is_moved = |(pool, version): &(&Pool, &String)| {
            pair[0].pools.get(*pool).is_some_and(|before| before != *version)
        };
        pair[1].pools.iter().filter(is_moved).count()
    });
    moved.chain([arrived]).max().unwrap_or(0)
}

fn is_rollout(change: &Change) -> bool {
    matches!(change.risk, Risk::Pools | Risk::ControlPlane | Risk::Unknown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        report::{
            change::{Machines, Revert},
            cluster::Sides,
        },
        topology::PoolKind,
    };

    fn change(part: TopologyPart, meaning: Meaning, surge: Option<i64>) -> Change {
        let risk = Risk::of(&part, &meaning);
        let change = Change::new(Subject::Part(part), Effect::Verdict(meaning), risk, Revert::Unknown);
        Change { surge, machines: Machines::exactly(Some(3)), ..change }
    }

    fn upgraded(part: TopologyPart, surge: Option<i64>) -> Change {
        let meaning = Meaning::Upgrade {
            from: "1".into(),
            to: "2".into(),
            times: 1,
            unaided: 1,
            surge: None,
            on_delete: false,
        };
        change(part, meaning, surge)
    }

    fn peak(pools_at_once: usize, changes: Vec<Change>) -> (i64, usize) {
        let label = |text: &str| Label::new(text).unwrap();
        let (machines, unknown) = of_cluster(&ClusterReport {
            cluster: ClusterId { management: label("m"), namespace: label("n"), name: label("c") },
            has_namesake: false,
            owners: Vec::new(),
            release: Sides::default(),
            kubernetes: Sides::default(),
            risk: Risk::ControlPlane,
            changes,
            steps: Vec::new(),
            pools_at_once,
            notes: Vec::new(),
        });
        (machines, unknown.len())
    }

    #[test]
    fn an_upgrade_takes_the_control_plane_before_its_pools() {
        let pool = |name: &str| TopologyPart::pool(PoolKind::MachineDeployment, name);
        let all = || {
            let pools = [("a", 1), ("b", 3), ("c", 2)].map(|(name, more)| upgraded(pool(name), Some(more)));
            [vec![upgraded(TopologyPart::ControlPlane, Some(1))], pools.to_vec()].concat()
        };
        assert_eq!(peak(1, all()), (3, 0));
        assert_eq!(peak(2, all()), (5, 0));
        assert_eq!(peak(0, all()), (6, 0));
        assert_eq!(peak(1, all().into_iter().take(2).collect()), (1, 0));
        let unknown = [upgraded(pool("a"), None), change(TopologyPart::ControlPlane, Meaning::Opaque, None)];
        assert_eq!(peak(1, [all(), unknown.to_vec()].concat()), (3, 2));
        // The list of changes shows it as unknown, so it counts.
        let provider = change(TopologyPart::Infrastructure, Meaning::ProviderDependent, None);
        assert_eq!(peak(0, vec![provider]), (0, 1));
    }
}
