//! What Cluster API makes of the steps of plans: each step's result is the next one's start.

use std::collections::BTreeMap;

use super::{
    plan::Step,
    situate::{Fleet, Open},
};
use crate::{
    compare::{ClusterChange, Definitions, Outcome, Unknown, compare},
    model::{Cluster, ClusterId},
    note::Fault,
    rebase,
    report::{self, Machines},
    topology::Meaning,
};

/// What a step does to a cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rollout {
    /// What becomes of it, in words.
    pub means: String,
    /// How many machines are replaced.
    pub machines: Machines,
    /// Why the step is not possible.
    pub refused: Option<String>,
    /// Whether something of it is not known.
    pub is_unknown: bool,
}

/// A cluster and the steps of its plan.
#[derive(Clone, Copy, Debug)]
pub struct Planned<'a> {
    /// The cluster.
    pub cluster: &'a Cluster,
    /// Its situation.
    pub open: &'a Open,
    /// The steps.
    pub steps: &'a [Step],
}

impl Fleet<'_> {
    /// What each step does to each cluster.
    pub fn rollouts(&self, planned: &[Planned<'_>]) -> Result<BTreeMap<ClusterId, Vec<Rollout>>, Fault> {
        let shared = Definitions::new(self.model, self.releases, self.input).clusters_alone();
        let mut found: BTreeMap<ClusterId, Vec<Rollout>> = BTreeMap::new();
        let longest = planned.iter().map(|one| one.steps.len()).max().unwrap_or_default();
        let mut before: Vec<Cluster> = planned.iter().map(|one| one.cluster.clone()).collect();
        for at in 0..longest {
            let next = |(one, now): (&Planned<'_>, &Cluster)| match one.steps.get(at) {
                Some(step) => after(now, one, step, self),
                None => now.clone(),
            };
            let after: Vec<Cluster> = planned.iter().zip(&before).map(next).collect();
            let is_meant: Vec<bool> = planned.iter().map(|one| at < one.steps.len()).collect();
            let side = |all: &'_ [Cluster]| -> Vec<Cluster> {
                all.iter().zip(&is_meant).filter(|(_, meant)| **meant).map(|(one, _)| one.clone()).collect()
            };
            let (old, new) = (side(&before), side(&after));
            let compared = compare(&shared.with_clusters(&old), &shared.with_clusters(&new))?;
            let mut changes: BTreeMap<ClusterId, ClusterChange> =
                compared.clusters.into_iter().map(|one| (one.cluster.clone(), one)).collect();
            for cluster in new.iter().map(Cluster::id) {
                let rollout = of(changes.remove(&cluster).as_ref());
                found.entry(cluster).or_default().push(rollout);
            }
            before = after;
        }
        Ok(found)
    }
}

impl Fleet<'_> {
    /// How many machines of clusters a move between two releases replaces. What is not known counts for more than anything
    /// that is.
    pub(super) fn machines(&self, clusters: &[&Cluster], from: &str, to: &str) -> u64 {
        let on = |release: &str| -> Vec<Cluster> {
            let Some(release) = self.releases.find(release) else { return Vec::new() };
            let one = |cluster: &&Cluster| Cluster {
                release: release.clone(),
                addons: BTreeMap::new(),
                ..(*cluster).clone()
            };
            clusters.iter().map(one).collect()
        };
        let shared = Definitions::new(self.model, self.releases, self.input).clusters_alone();
        let (old, new) = (on(from), on(to));
        let Ok(compared) = compare(&shared.with_clusters(&old), &shared.with_clusters(&new)) else {
            return UNKNOWN;
        };
        let each = compared.clusters.iter().map(|change| {
            let rollout = of(Some(change));
            let is_known = !rollout.is_unknown && rollout.refused.is_none() && !rollout.machines.more;
            if is_known { rollout.machines.most.max(0).unsigned_abs() } else { UNKNOWN }
        });
        each.fold(0, u64::saturating_add)
    }
}

/// More machines than any fleet has.
const UNKNOWN: u64 = 1 << 40;

/// A cluster as its definition has it after a step.
pub fn after(cluster: &Cluster, planned: &Planned<'_>, step: &Step, fleet: &Fleet<'_>) -> Cluster {
    let mut cluster = cluster.clone();
    let situation = &planned.open.situation;
    if let Some(release) = fleet.releases.find(&situation.releases[step.release].name) {
        cluster.release = release;
    }
    for (addon, version) in step.versions.iter().enumerate() {
        let track = &situation.addons[addon];
        let (Some(version), Some(listing)) = (version, &track.listings[step.release]) else { continue };
        if track.versions[*version].is_special {
            continue;
        }
        let origin = cluster.release_origin;
        let choice = cluster.addons.entry(track.name.clone()).or_default();
        let is_pinned = track.held || *version != listing.own;
        choice.version = is_pinned.then(|| (track.versions[*version].version.clone(), origin));
        choice.interim = is_pinned && !track.held;
        (choice.release, choice.unlisted) = (None, None);
    }
    cluster
}

fn of(change: Option<&ClusterChange>) -> Rollout {
    let outcome = change.map(|change| &change.outcome);
    let told = rebase::judge(outcome);
    let machines = match outcome {
        Some(Outcome::Judged(answer)) => {
            report::replaced(&answer.verdicts, change.and_then(|change| change.before.as_ref()))
        }
        _ => Machines::default(),
    };
    Rollout {
        is_unknown: told.effects.contains(&crate::release::Effect::Unknown),
        means: told.means,
        machines,
        refused: outcome.and_then(refused),
    }
}

fn refused(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Judged(answer) => {
            let stuck = |meaning: &Meaning| matches!(meaning, Meaning::Rejected | Meaning::Wedged);
            let verdict = || {
                let verdict = answer.verdicts.iter().find(|one| stuck(&one.meaning))?;
                Some(verdict.reasons.first().cloned().unwrap_or_else(|| verdict.meaning.words()))
            };
            answer.faults.first().map(ToString::to_string).or_else(verdict)
        }
        Outcome::Unknown(Unknown::Refused { why, .. }) => Some(why.clone()),
        _ => None,
    }
}
