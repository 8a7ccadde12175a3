//! Forecasts how Cluster API acts on the steps of plans. Each step starts from the result of the one before.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::{
    constraints::{IndexedSituation, PlanningFleet},
    plan::Step,
};
use crate::{
    compare::{Answers, ClusterOutcome, DefinedState, StepDifference, Unknown, Which},
    model::{Cluster, ClusterId, ReleaseRef},
    note::Notes,
    rebase,
    report::{self, Machines},
    topology::{Meaning, PAUSED, TopologyPart},
};

/// The effect of a step on a cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StepEffect {
    /// What happens, in words.
    pub means: String,
    /// The number of machines replaced; none if the step is refused.
    pub machines: Machines,
    /// Why the step is refused, if it is.
    pub refused: Option<String>,
    /// Whether any of the effects is unknown.
    pub is_unknown: bool,
    /// Whether a pool stays on an older version, because an annotation holds it back.
    pub leaves_pools: bool,
    /// Whether machines stay until someone acts, such as those of pools with the strategy `OnDelete`.
    pub needs_someone: bool,
    /// What helps if it is refused.
    pub remedy: Option<Remedy>,
}

impl StepEffect {
    /// The same step, refused: no machine is replaced.
    #[must_use]
    pub fn refused(self, why: String) -> Self {
        Self { refused: Some(why), machines: Machines::default(), ..self }
    }
}

/// What helps a step that is refused.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Remedy {
    /// Pools that were held back have to catch up first.
    CatchUp,
    /// The definition has an error already, and no step mends it.
    Correct,
    /// The definition has several errors already, and only this number of steps together mends them.
    Together(usize),
    /// This release renames variables, or changes their types.
    Migrate(String),
}

/// A cluster and the steps of its plan.
#[derive(Clone, Copy, Debug)]
pub struct PlannedCluster<'a> {
    /// The cluster, as it is before the steps.
    pub cluster: &'a Cluster,
    pub open: &'a IndexedSituation,
    /// The steps that are left, in order.
    pub steps: &'a [Step],
}

impl PlanningFleet<'_> {
    /// Forecasts each step of each cluster. Suspended clusters have none: nothing happens to them until they are resumed.
    pub fn rollouts(&self, planned: &[PlannedCluster<'_>]) -> BTreeMap<ClusterId, Vec<StepEffect>> {
        let definitions = self.definitions();
        let answers = Answers::default();
        let one = |one: &PlannedCluster<'_>| {
            let mut states = vec![one.cluster.clone()];
            for step in one.steps {
                let next = after(&states[states.len() - 1], one, step, self);
                states.push(next);
            }
            let id = one.cluster.id();
            let behind = self.behind.get(&id).and_then(held_back);
            let mut rollouts = in_sequence(&definitions.along(&states, &answers), behind);
            // Without the cluster's name in those of its objects, clusters with the same refusal are shown as one.
            let of_cluster = format!("/{}-", one.cluster.name);
            for (rollout, state) in rollouts.iter_mut().zip(&states[1..]) {
                rollout.refused = rollout.refused.take().map(|why| why.replace(&of_cluster, "/…-"));
                if rollout.refused.is_some() && rollout.remedy.is_none() {
                    rollout.remedy = self.migration(state);
                }
            }
            note_repair(&definitions, &states, &mut rollouts);
            (id, rollouts)
        };
        planned.par_iter().filter(|one| one.cluster.suspend.is_none()).map(one).collect()
    }

    /// The number of machines replaced when clusters move between two releases. An unknown number counts as more than any
    /// known one.
    pub(super) fn machines(&self, clusters: &[&Cluster], from: &str, to: &str) -> u64 {
        let (Some(from), Some(to)) = (self.releases.find(from), self.releases.find(to)) else {
            return UNKNOWN;
        };
        let definitions = self.definitions();
        let answers = Answers::default();
        let on = |cluster: &Cluster, release: &ReleaseRef| Cluster {
            release: release.clone(),
            addons: BTreeMap::new(),
            ..cluster.clone()
        };
        let one = |cluster: &&Cluster| {
            let states = [on(cluster, &from), on(cluster, &to)];
            let each = definitions.along(&states, &answers);
            each.iter().map(|change| known_machines(&of(change))).fold(0, u64::saturating_add)
        };
        clusters.par_iter().map(one).reduce(|| 0, u64::saturating_add)
    }

    fn migration(&self, cluster: &Cluster) -> Option<Remedy> {
        let release = self.releases.of(cluster, &mut Notes::new())?;
        (!release.migrations.is_empty()).then(|| Remedy::Migrate(release.name.clone()))
    }

    fn definitions(&self) -> DefinedState<'_> {
        DefinedState::new(self.model, self.releases).clusters_alone()
    }
}

fn known_machines(rollout: &StepEffect) -> u64 {
    let is_known = !rollout.is_unknown && rollout.refused.is_none() && !rollout.machines.more;
    if is_known { rollout.machines.most.max(0).unsigned_abs() } else { UNKNOWN }
}

/// More machines than any fleet has.
const UNKNOWN: u64 = 1 << 40;

/// A cluster's definition after a step.
pub fn after(
    cluster: &Cluster,
    planned: &PlannedCluster<'_>,
    step: &Step,
    fleet: &PlanningFleet<'_>,
) -> Cluster {
    let mut cluster = cluster.clone();
    let situation = &planned.open.situation;
    if let Some(release) = fleet.releases.find(&situation.releases[step.release].name) {
        cluster.release = release;
    }
    for (addon, version) in step.versions.iter().enumerate() {
        let track = &situation.addons[addon];
        if track.listings[step.release].is_none()
            && let Some(choice) = cluster.addons.get_mut(&track.name).filter(|choice| choice.interim)
        {
            (choice.version, choice.interim) = (None, false);
        }
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
    cluster.addons.retain(|_, choice| !choice.is_empty());
    cluster
}

/// Says what helps if the definition has errors already, and the first step does not mend them.
fn note_repair(definitions: &DefinedState<'_>, states: &[Cluster], rollouts: &mut [StepEffect]) {
    let is_refused = |one: &&mut StepEffect| one.refused.is_some() && one.remedy != Some(Remedy::CatchUp);
    if !rollouts.first_mut().as_ref().is_some_and(is_refused) || definitions.is_sound(&states[0]) {
        return;
    }
    let mended = states.iter().position(|state| definitions.is_sound(state));
    let remedy = mended.map_or(Remedy::Correct, Remedy::Together);
    let late = rollouts.iter_mut().take(mended.unwrap_or(states.len())).filter(is_refused);
    late.for_each(|one| one.remedy = Some(remedy.clone()));
}

/// The effects of consecutive steps. Cluster API accepts no other version while a pool runs an older one, so a step is refused
/// after one that leaves a pool behind, or if pools are `behind` from the beginning. Of the first step, the forecast says so if a
/// pool may have been left behind before.
///
/// Source: Cluster API, `validateTopologyMachineDeploymentVersions` of `core/webhooks/admission/cluster.go`.
fn in_sequence(changes: &[StepDifference], mut behind: Option<String>) -> Vec<StepEffect> {
    let mut found = Vec::with_capacity(changes.len());
    let mut is_first = true;
    for change in changes {
        let mut rollout = of(change);
        if let ClusterOutcome::Judged(answer) = &change.outcome
            && answer.is_upgrade()
        {
            if let Some(pools) = &behind {
                let why = format!(
                    "{pools}: Cluster API accepts no other version until all have caught up; remove the annotation that \
                     holds them back (`defer-upgrade`, `hold-upgrade-sequence`, `{PAUSED}`), and wait for the rollout"
                );
                if rollout.refused.is_none() {
                    rollout = StepEffect { remedy: Some(Remedy::CatchUp), ..rollout.refused(why) };
                }
            }
            // A step that is refused half-way leaves pools behind for another reason.
            if rollout.refused.is_none()
                && let Some(pools) = held_back(&answer.behind)
            {
                rollout.means = format!("{}; {pools}", rollout.means);
                rollout.leaves_pools = true;
                rollout.needs_someone = true;
                behind = Some(pools);
            }
            let may_be_behind: &[String] = if std::mem::take(&mut is_first) { &answer.notes } else { &[] };
            if rollout.remedy != Some(Remedy::CatchUp) {
                rollout.is_unknown |= !may_be_behind.is_empty();
                let notes = may_be_behind.iter().chain(&answer.conditions);
                rollout.means.extend(notes.map(|note| format!("; {note}")));
            }
        }
        found.push(rollout);
    }
    found
}

/// Says which parts are held back, and on which version; none if none is.
fn held_back(parts: &BTreeMap<TopologyPart, String>) -> Option<String> {
    let (pools, others): (Vec<_>, Vec<_>) = parts.iter().partition(|(part, _)| part.as_pool().is_some());
    let mut words: Vec<String> =
        others.iter().map(|(part, version)| format!("the {} on {version}", part.in_words())).collect();
    let named =
        pools.iter().filter_map(|(part, version)| Some(format!("`{}` on {version}", part.as_pool()?.name)));
    let named = named.collect::<Vec<_>>().join(", ");
    words.extend(match pools.len() {
        0 => None,
        1 => Some(format!("pool {named}")),
        _ => Some(format!("pools {named}")),
    });
    let are = if parts.len() == 1 { "is" } else { "are" };
    (!words.is_empty()).then(|| format!("{} {are} held back", words.join(" and ")))
}

fn of(change: &StepDifference) -> StepEffect {
    let judgement = rebase::judge(Some(&change.outcome));
    let machines = match &change.outcome {
        ClusterOutcome::Judged(answer) => report::replaced(&answer.verdicts, change.before.as_ref()),
        _ => Machines::default(),
    };
    let rollout = StepEffect {
        is_unknown: judgement.effects.contains(&crate::release::RebaseEffect::Unknown),
        means: judgement.means,
        machines,
        refused: None,
        leaves_pools: false,
        needs_someone: match &change.outcome {
            ClusterOutcome::Judged(answer) => {
                answer.verdicts.iter().any(|verdict| waits_for_someone(&verdict.meaning))
            }
            _ => false,
        },
        remedy: match &change.outcome {
            ClusterOutcome::Unknown(Unknown::Refused { side: Which::Before, .. } | Unknown::Faulty(_)) => {
                Some(Remedy::Correct)
            }
            _ => None,
        },
    };
    match refused(&change.outcome) {
        Some(why) => rollout.refused(why),
        None => rollout,
    }
}

fn waits_for_someone(meaning: &Meaning) -> bool {
    match meaning {
        Meaning::Upgrade { times, unaided, .. } => unaided < times,
        Meaning::Rollout { on_delete, .. } => *on_delete,
        _ => false,
    }
}

fn refused(outcome: &ClusterOutcome) -> Option<String> {
    match outcome {
        ClusterOutcome::Judged(answer) => {
            let stuck = |meaning: &Meaning| matches!(meaning, Meaning::Rejected | Meaning::Wedged);
            let verdict = || {
                let verdict = answer.verdicts.iter().find(|one| stuck(&one.meaning))?;
                Some(verdict.reasons.first().map_or_else(|| verdict.meaning.words(), ToString::to_string))
            };
            answer.faults.first().map(ToString::to_string).or_else(verdict)
        }
        ClusterOutcome::Unknown(Unknown::Refused { why, .. }) => Some(why.clone()),
        _ => None,
    }
}
