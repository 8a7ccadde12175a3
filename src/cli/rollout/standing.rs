//! Whether the clusters of a rollout have reached the target, and what keeps them from their next step.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use crate::{
    cli::upgrade::{group, next_step},
    generate::Understood,
    model::{Cluster, ClusterId, Date, Rollout},
    note::Notes,
    rollout::{Decision, Next, Obstacle, RolloutFacts, RolloutPhase, WaveSeen, WaveState, decide},
    upgrade::{
        self, Asked, ClusterStep, PlanResult, PlannedCluster, PlanningFleet, PoolsBehind, Solved,
        UpgradeTarget, after,
    },
    world::Input,
};

/// How far a cluster is.
#[derive(Clone, Debug)]
pub(super) struct Standing {
    /// Whether no steps are left.
    pub(super) is_there: bool,
    /// What keeps it from its next step.
    pub(super) obstacle: Option<Obstacle>,
}

/// The fleet for the plans of a rollout. Plans keep to the releases that it is frozen to.
pub(super) fn fleet<'a>(
    rollout: &Rollout,
    understood: &'a Understood,
    behind: PoolsBehind,
) -> PlanningFleet<'a> {
    let frozen = rollout.frozen.as_ref().map(|frozen| frozen.releases.clone());
    PlanningFleet::new(understood, false).keeping_to(frozen.unwrap_or_default()).with_pools_behind(behind)
}

/// Plans the clusters; held ones stay where they are.
pub(super) fn solve<'a>(
    target: &UpgradeTarget,
    clusters: &[&'a Cluster],
    fleet: &PlanningFleet<'_>,
    owners: &BTreeMap<&str, &Rollout>,
    now: DateTime<Utc>,
) -> Vec<Solved<'a>> {
    let asked = Asked {
        target: Some(target.clone()),
        today: Date::from(now.date_naive()),
        now: Some(now),
        despite_hold: false,
        is_rollout: true,
    };
    let mut solved = fleet.solve(target, clusters);
    asked.keep_apart(&mut solved, owners);
    solved
}

/// How far each cluster is.
pub(super) fn standings(
    solved: &[Solved<'_>],
    target: &UpgradeTarget,
    input: &Input,
    now: DateTime<Utc>,
) -> BTreeMap<ClusterId, Standing> {
    let mut found = BTreeMap::new();
    let is_of_release = matches!(target, UpgradeTarget::Release(_));
    for one in solved {
        let (is_there, why) = match &one.answer {
            PlanResult::Plan { plan, .. } => (plan.steps.is_empty(), None),
            PlanResult::Ahead | PlanResult::Leaves => (true, None),
            PlanResult::Held(why) => (false, Some(format!("held: {why}"))),
            answer => (false, Some(group::why_not(answer, input))),
        };
        let is_held = matches!(one.answer, PlanResult::Held(_));
        // A release for a missing minor may be cut later, but a cluster keeps its stack.
        let is_final = is_of_release && matches!(one.answer, PlanResult::NoTarget(_));
        for cluster in &one.clusters {
            let obstacle = match (&cluster.suspend, &why) {
                (Some(reason), _) => Some(wanted(format!("suspended: {reason}"))),
                (None, Some(why)) if is_held => {
                    Some(Obstacle { until: reopens(cluster, now), ..wanted(why.clone()) })
                }
                (None, Some(why)) => Some(Obstacle { is_final, ..fault(why.clone()) }),
                (None, None) => None,
            };
            found.insert(cluster.id(), Standing { is_there, obstacle });
        }
    }
    found
}

fn wanted(why: String) -> Obstacle {
    Obstacle { why, until: None, is_fault: false, is_final: false }
}

fn fault(why: String) -> Obstacle {
    Obstacle { why, until: None, is_fault: true, is_final: false }
}

/// When a cluster that only its maintenance windows hold may take its step.
fn reopens(cluster: &Cluster, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let windows =
        cluster.upgrades.windows.as_ref().filter(|_| cluster.held(Date::from(now.date_naive())).is_none());
    windows?.closed(now)?.until
}

/// Decides what comes next. Judges the next step of every cluster of the open wave, whether or not its turn has come. Steps
/// that would be refused, or that cannot be edited, give way to those of other clusters.
pub(super) fn settle(
    rollout: &Rollout,
    seen: &mut RolloutFacts,
    solved: &[Solved<'_>],
    context: (&PlanningFleet<'_>, &Understood, &Input),
) -> Decision {
    let decision = decide(rollout, seen);
    let is_active = matches!(decision.next, Next::Take(_) | Next::Wait(..));
    let open = seen.waves.iter().zip(&decision.waves).filter(|(_, (state, _))| *state == WaveState::Open);
    let clusters = open.flat_map(|(wave, (_, phases))| wave.clusters.iter().zip(phases));
    let able = clusters
        .filter(|(_, phase)| is_active && matches!(phase, RolloutPhase::Ready | RolloutPhase::Waiting));
    let able: BTreeSet<ClusterId> = able.map(|(one, _)| one.id.clone()).collect();
    let mut failing = failing(solved, &able, context);
    loop {
        for one in seen.waves.iter_mut().flat_map(|wave| &mut wave.clusters) {
            if let Some(why) = failing.get(&one.id) {
                one.obstacle = Some(fault(why.clone()));
            }
        }
        let decision = decide(rollout, seen);
        let Next::Take(clusters) = &decision.next else { return decision };
        // The edits of some clusters may fail without those of others.
        failing = self::failing(solved, &clusters.iter().cloned().collect(), context);
        if failing.is_empty() {
            return decision;
        }
    }
}

/// Those of some clusters that cannot take their first step, and why.
fn failing(
    solved: &[Solved<'_>],
    clusters: &BTreeSet<ClusterId>,
    (fleet, understood, all): (&PlanningFleet<'_>, &Understood, &Input),
) -> BTreeMap<ClusterId, String> {
    let mut planned = Vec::new();
    for one in solved {
        let PlanResult::Plan { open, plan, .. } = &one.answer else { continue };
        let steps = plan.steps.get(..1).unwrap_or_default();
        let meant = one.clusters.iter().copied().filter(|cluster| clusters.contains(&cluster.id()));
        planned.extend(meant.map(|cluster| PlannedCluster { cluster, open, steps }));
    }
    let refused = |(cluster, rollouts): (ClusterId, Vec<upgrade::StepEffect>)| {
        let why = rollouts.into_iter().next()?.refused?;
        Some((cluster, format!("its step would be refused: {why}")))
    };
    let mut found: BTreeMap<_, _> = fleet.rollouts(&planned).into_iter().filter_map(refused).collect();
    let able = planned.iter().filter(|one| !found.contains_key(&one.cluster.id()));
    let taken: Vec<ClusterStep<'_>> = able
        .filter_map(|one| {
            let step = one.steps.first()?;
            Some(ClusterStep { before: one.cluster, after: after(one.cluster, one, step, fleet) })
        })
        .collect();
    let mut notes = Notes::new();
    if let Err(failed) = upgrade::edits(understood, all, &taken, &mut notes) {
        for one in taken.iter().filter(|one| failed.contains(&one.before.id())) {
            found.insert(one.before.id(), next_step::not_editable(one.before, &notes));
        }
    }
    found
}

/// The clusters of a wave that need a person, by reason.
pub(super) fn faults<'s>(
    wave: &'s WaveSeen,
    phases: &'s [RolloutPhase],
) -> BTreeMap<&'s str, Vec<&'s ClusterId>> {
    let mut found: BTreeMap<&str, Vec<&ClusterId>> = BTreeMap::new();
    for (one, phase) in wave.clusters.iter().zip(phases) {
        if let RolloutPhase::Stuck(obstacle) = phase
            && obstacle.is_fault
        {
            found.entry(&obstacle.why).or_default().push(&one.id);
        }
    }
    found
}

/// The clusters of the open wave that take no step now, by reason.
pub(super) fn left_out(seen: &RolloutFacts, decision: &Decision) -> BTreeMap<String, Vec<ClusterId>> {
    let mut found: BTreeMap<String, Vec<ClusterId>> = BTreeMap::new();
    for (wave, (state, phases)) in seen.waves.iter().zip(&decision.waves) {
        for (one, phase) in wave.clusters.iter().zip(phases).filter(|_| *state == WaveState::Open) {
            if let RolloutPhase::Stuck(obstacle) = phase {
                found.entry(obstacle.why.clone()).or_default().push(one.id.clone());
            }
        }
    }
    found
}
