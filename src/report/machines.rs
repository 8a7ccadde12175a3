//! Counts the machines that a change replaces, removes or builds.

use super::{
    change::{Change, Effect, Machines, Subject},
    cluster::ClusterReport,
    risk::Risk,
};
use crate::{
    compare::ClusterFacts,
    model::{AUTOSCALER_MAX, AUTOSCALER_MIN},
    topology::{Meaning, PoolKind, TopologyPart, Verdict},
    yaml::Node,
};

/// Numbers of machines of control planes and of pools, counted apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) control_planes: Machines,
    pub(super) pools: Machines,
    /// Machines of which it is not known what they belong to.
    pub(super) others: Machines,
}

impl Tally {
    fn of(part: &TopologyPart, machines: Machines) -> Self {
        match part {
            TopologyPart::ControlPlane => Self { control_planes: machines, ..Self::default() },
            TopologyPart::Pool(_) => Self { pools: machines, ..Self::default() },
            TopologyPart::Cluster | TopologyPart::Infrastructure => {
                Self { others: machines, ..Self::default() }
            }
        }
    }

    pub(super) fn of_parts<'a>(parts: impl IntoIterator<Item = &'a (TopologyPart, Machines)>) -> Self {
        parts.into_iter().map(|(part, count)| Self::of(part, *count)).fold(Self::default(), Self::and)
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self {
            control_planes: self.control_planes.and(other.control_planes),
            pools: self.pools.and(other.pools),
            others: self.others.and(other.others),
        }
    }

    pub(super) fn total(self) -> Machines {
        self.control_planes.and(self.pools).and(self.others)
    }

    pub(super) fn is_empty(self) -> bool {
        self == Self::default()
    }
}

/// What happens to machines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flow {
    /// Replaced by others.
    pub(super) replaced: Tally,
    /// Replaced once someone deletes them, and not before.
    pub(super) waiting: Tally,
    /// Removed from parts that stay.
    pub(super) removed: Tally,
    /// Removed with their cluster or pool.
    pub(super) deleted: Tally,
    /// Added for good.
    pub(super) added: Tally,
    /// Whether they are touched is not known.
    pub(super) unknown: Tally,
}

impl Flow {
    /// The effects of the changes of a cluster, even if they are refused.
    fn of(changes: &[Change]) -> Self {
        changes.iter().map(of_change).fold(Self::default(), Self::and)
    }

    /// What happens to the machines of clusters. What is refused does not happen.
    pub(super) fn of_clusters<'a>(clusters: impl Iterator<Item = &'a ClusterReport>) -> Self {
        clusters
            .filter(|one| one.refusal().is_none())
            .map(|one| Self::of(&one.changes))
            .fold(Self::default(), Self::and)
    }

    /// What would happen to the machines of clusters whose change only the guards refuse.
    pub(super) fn if_merged<'a>(clusters: impl Iterator<Item = &'a ClusterReport>) -> Self {
        clusters
            .filter(|one| one.refusal().is_some_and(|refusal| !refusal.by_others))
            .map(|one| Self::of(&one.changes))
            .fold(Self::default(), Self::and)
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self {
            replaced: self.replaced.and(other.replaced),
            waiting: self.waiting.and(other.waiting),
            removed: self.removed.and(other.removed),
            deleted: self.deleted.and(other.deleted),
            added: self.added.and(other.added),
            unknown: self.unknown.and(other.unknown),
        }
    }

    /// The machines that do not stay, or of which that is not known, without those that wait for someone.
    pub(super) fn lost(self) -> Tally {
        self.replaced.and(self.removed).and(self.deleted).and(self.unknown)
    }
}

fn of_change(change: &Change) -> Flow {
    let tally = |machines: Machines| match &change.subject {
        _ if machines == Machines::default() => Tally::default(),
        Subject::Part(part) => Tally::of(part, machines),
        _ if !change.parts.is_empty() => {
            let kept =
                |(part, count): &(TopologyPart, Machines)| (part.clone(), count.unless_kept(change.paused));
            Tally::of_parts(&change.parts.iter().map(kept).collect::<Vec<_>>())
        }
        _ => Tally { others: machines, ..Tally::default() },
    };
    let (lost, added) = (tally(change.machines), tally(change.built));
    let mut flow = Flow { added, ..Flow::default() };
    match &change.effect {
        Effect::Verdict(
            Meaning::Rollout { on_delete: true, .. } | Meaning::Upgrade { on_delete: true, .. },
        ) => flow.waiting = lost,
        Effect::Verdict(Meaning::Rollout { .. } | Meaning::Upgrade { .. }) => flow.replaced = lost,
        _ if change.risk == Risk::Deletes => flow.deleted = lost,
        _ => flow.removed = lost,
    }
    flow.removed = flow.removed.and(tally(change.shed));
    if change.leaves_machines_unknown() {
        let unknown = Machines { more: true, ..Machines::default() };
        flow.unknown = match &change.subject {
            Subject::Part(part) => Tally::of(part, unknown),
            _ => Tally { others: unknown, ..Tally::default() },
        };
    }
    flow
}

/// The number of machines that verdicts on the parts of a cluster replace or remove.
pub fn replaced(verdicts: &[Verdict], before: Option<&ClusterFacts>) -> Machines {
    // Without a state after, nothing gets smaller.
    let each = verdicts.iter().map(|one| machines(&one.subject, &one.meaning, [before, None]).0);
    each.fold(Machines::default(), Machines::and)
}

/// The number of machines that a part loses or replaces, and the number of additional machines in the meantime.
pub(super) fn machines(
    part: &TopologyPart,
    meaning: &Meaning,
    sides: [Option<&ClusterFacts>; 2],
) -> (Machines, Option<i64>) {
    let [before, after] = sides;
    // New machines never outnumber those that the part has in the end (Cluster API: `NewMSNewReplicas`).
    let most_new = count(part, after).unwrap_or(i64::MAX);
    let extra = |surge: &Option<(i64, i64)>| surge.map(|(more, _)| more.min(most_new));
    match meaning {
        Meaning::Rollout { machines, least, surge, on_delete, .. } => {
            // No file contains the number of machines that an autoscaler sets.
            let counted = Machines { least: *least, most: *machines, more: count(part, before).is_none() };
            (counted.unless_kept(*on_delete), extra(surge))
        }
        Meaning::Upgrade { times, unaided, surge, .. } => {
            // A part that gets smaller replaces only what is left.
            let most = count(part, after).unwrap_or(i64::MAX);
            let count = running(part, before);
            let count = Machines { least: count.least.min(most), most: count.most.min(most), ..count };
            let [times, unaided] =
                [(*times).max(1), *unaided].map(|times| i64::try_from(times).unwrap_or(i64::MAX));
            let all = Machines {
                least: count.least.saturating_mul(unaided),
                most: count.most.saturating_mul(times),
                ..count
            };
            (all, extra(surge))
        }
        Meaning::Scale { to: 0, .. } if count(part, before).is_none() => (running(part, before), Some(0)),
        Meaning::Scale { from, to } if to < from => (Machines::exactly(Some(from - to)), Some(0)),
        Meaning::Delete => (deleted(part, before), Some(0)),
        Meaning::ProviderDependent | Meaning::Opaque => (Machines::default(), None),
        _ => (Machines::default(), Some(0)),
    }
}

/// The number of machines that a part gets for good, besides those that replace others.
pub(super) fn added(part: &TopologyPart, meaning: &Meaning, sides: [Option<&ClusterFacts>; 2]) -> Machines {
    let [before, after] = sides.map(|side| count(part, side));
    let written = after.zip(before).map_or(0, |(after, before)| after.saturating_sub(before));
    let more = match meaning {
        Meaning::Create => {
            let is_paused = sides[1].is_some_and(|facts| facts.pauses(part));
            return Machines::exactly(at_first(part, sides[1])).unless_kept(is_paused);
        }
        Meaning::Scale { from, to } => to.saturating_sub(*from),
        // What runs may have another size than what was written before. Machines that are there already are replaced.
        Meaning::Rollout { machines, .. } => {
            after.map_or(0, |after| after.saturating_sub(*machines)).min(written)
        }
        Meaning::Upgrade { .. } => written,
        _ => 0,
    };
    // Whatever an autoscaler adds does not follow from the change.
    Machines::exactly(Some(more.max(0)))
}

/// The number of machines that a part loses for good while its others are replaced.
pub(super) fn shed(part: &TopologyPart, meaning: &Meaning, sides: [Option<&ClusterFacts>; 2]) -> Machines {
    let [before, after] = sides.map(|side| count(part, side));
    match meaning {
        Meaning::Rollout { .. } | Meaning::Upgrade { .. } => {
            let fewer = before.zip(after).map_or(0, |(before, after)| before.saturating_sub(after));
            Machines::exactly(Some(fewer.max(0)))
        }
        _ => Machines::default(),
    }
}

/// How many machines of a part may be missing while it rolls out.
pub(super) fn unavailable(meaning: &Meaning) -> i64 {
    match meaning {
        Meaning::Rollout { surge: Some((_, fewer)), .. }
        | Meaning::Upgrade { surge: Some((_, fewer)), .. } => *fewer,
        _ => 0,
    }
}

/// The number of machines of a part according to its Cluster; none if the Cluster does not set it.
pub(super) fn count(part: &TopologyPart, before: Option<&ClusterFacts>) -> Option<i64> {
    match part {
        TopologyPart::ControlPlane => before?.control_plane,
        TopologyPart::Pool(pool) => before?.pools.get(pool)?.get("replicas").and_then(Node::as_int),
        TopologyPart::Cluster | TopologyPart::Infrastructure => None,
    }
}

/// The number of machines that a part has. An autoscaler keeps at least its minimum.
fn running(part: &TopologyPart, cluster: Option<&ClusterFacts>) -> Machines {
    let is_known = count(part, cluster).is_some();
    Machines { more: !is_known, ..Machines::exactly(Some(at_first(part, cluster).unwrap_or_default())) }
}

/// The number of machines of a part that is deleted. A part that is paused, alone or with its cluster, still has those of a
/// pool that was set to zero meanwhile; one that is paused alone keeps all until somebody removes its annotation.
fn deleted(part: &TopologyPart, cluster: Option<&ClusterFacts>) -> Machines {
    let count = running(part, cluster);
    let is_paused = cluster.is_some_and(|facts| facts.pauses(part));
    let may_be_left =
        count == Machines::default() && (is_paused || cluster.is_some_and(|facts| facts.paused));
    Machines { more: count.more || may_be_left, ..count.unless_kept(is_paused) }
}

/// The number of machines that a new part is built with. A new pool with an autoscaler starts with its minimum.
///
/// Source: `calculateMachineDeploymentReplicas` of Cluster API's `core/webhooks/admission/machinedeployment.go`.
fn at_first(part: &TopologyPart, cluster: Option<&ClusterFacts>) -> Option<i64> {
    count(part, cluster).or_else(|| {
        let is_deployment = part.as_pool().is_some_and(|pool| pool.kind == PoolKind::MachineDeployment);
        autoscaled(part, cluster).filter(|_| is_deployment).map(|(min, _)| min)
    })
}

/// The least and the most machines that an autoscaler gives a part.
pub(super) fn autoscaled(part: &TopologyPart, cluster: Option<&ClusterFacts>) -> Option<(i64, i64)> {
    let pool = cluster?.pools.get(part.as_pool()?)?;
    let limit = |key| pool.at(&["metadata", "annotations", key]).and_then(Node::as_str)?.parse().ok();
    Some((limit(AUTOSCALER_MIN)?, limit(AUTOSCALER_MAX)?))
}

impl Change {
    /// The same change, which removes all machines of a cluster.
    pub(super) fn lose_all(&mut self, cluster: Option<&ClusterFacts>) {
        (self.parts, self.machines) = whole(cluster, running);
    }

    /// The same change, which builds all machines of a cluster.
    pub(super) fn build_all(&mut self, cluster: Option<&ClusterFacts>) {
        (self.parts, self.built) = whole(cluster, |part, cluster| Machines::exactly(at_first(part, cluster)));
    }
}

/// The machines of a cluster, by the part that they belong to, and all of them.
fn whole(
    cluster: Option<&ClusterFacts>,
    count: impl Fn(&TopologyPart, Option<&ClusterFacts>) -> Machines,
) -> (Vec<(TopologyPart, Machines)>, Machines) {
    let Some(facts) = cluster else { return (Vec::new(), Machines::exactly(None)) };
    let counted = |part: TopologyPart| (part.clone(), count(&part, cluster));
    let parts: Vec<_> = facts.parts().map(counted).collect();
    let all = parts.iter().map(|(_, count)| *count).fold(Machines::default(), Machines::and);
    (parts, all)
}
