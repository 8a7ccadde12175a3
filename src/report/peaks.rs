//! The additional machines that exist while everything rolls out at once.

use std::collections::BTreeMap;

use super::{
    change::{Change, Effect, Subject},
    cluster::ClusterReport,
    risk::Risk,
};
use crate::{
    model::Label,
    topology::{Meaning, Part},
};

/// Additional machines in a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peak {
    /// The management cluster.
    pub management: Label,
    /// The namespace.
    pub namespace: Label,
    /// The number of additional machines.
    pub machines: i64,
    /// The number of parts that may roll out with an unknown number of additional machines.
    pub unknown: usize,
}

/// Adds up the additional machines in each namespace, without those that have none.
pub(super) fn of(clusters: &[ClusterReport]) -> Vec<Peak> {
    let mut found: BTreeMap<(Label, Label), (i64, usize)> = BTreeMap::new();
    for one in clusters {
        let (machines, unknown) = of_cluster(one);
        let key = (one.cluster.management.clone(), one.cluster.namespace.clone());
        let all = found.entry(key).or_default();
        all.0 = all.0.saturating_add(machines);
        all.1 += unknown;
    }
    let peak =
        |((management, namespace), (machines, unknown))| Peak { management, namespace, machines, unknown };
    found.into_iter().map(peak).filter(|peak| peak.machines > 0 || peak.unknown > 0).collect()
}

/// The additional machines of a cluster, and the number of parts for which they are unknown.
fn of_cluster(cluster: &ClusterReport) -> (i64, usize) {
    let rolls = |change: &&Change| has_machines(&change.subject) && is_rollout(change);
    let (mut upgraded, mut others, mut unknown) = ([0_i64; 2], 0_i64, 0);
    for change in cluster.changes.iter().filter(rolls) {
        let Some(surge) = change.surge else {
            unknown += 1;
            continue;
        };
        let sum = match (&change.effect, &change.subject) {
            (Effect::Verdict(Meaning::Upgrade { .. }), Subject::Part(Part::ControlPlane)) => &mut upgraded[0],
            (Effect::Verdict(Meaning::Upgrade { .. }), _) => &mut upgraded[1],
            _ => &mut others,
        };
        *sum = sum.saturating_add(surge);
    }
    // Cluster API upgrades pools only once the control plane is done.
    let [control_plane, pools] = upgraded;
    (others.saturating_add(control_plane.max(pools)), unknown)
}

fn has_machines(subject: &Subject) -> bool {
    matches!(subject, Subject::Part(Part::ControlPlane | Part::Pool(_)))
}

fn is_rollout(change: &Change) -> bool {
    matches!(change.risk, Risk::Pools | Risk::ControlPlane | Risk::Unknown)
}
