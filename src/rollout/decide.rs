//! Decides the next action of a rollout.

use chrono::{DateTime, TimeDelta, Utc};

use crate::model::{ClusterId, Rollout};

/// Everything known at a moment.
#[derive(Clone, Debug)]
pub struct RolloutFacts {
    /// The current time.
    pub now: DateTime<Utc>,
    /// Whether definitions were skipped because of errors.
    pub has_errors: bool,
    /// The waves, in order.
    pub waves: Vec<WaveSeen>,
}

/// The clusters of a wave.
#[derive(Clone, Debug)]
pub struct WaveSeen {
    /// Its name in the rollout's file.
    pub name: String,
    /// How long the next wave waits after this one.
    pub soak: TimeDelta,
    /// Whether it has a selector.
    pub is_selective: bool,
    /// Its clusters, in rollout order.
    pub clusters: Vec<SeenCluster>,
    /// Its clusters that may have errors in their definitions. Their progress is unknown.
    pub unread: Vec<String>,
    /// The number of its clusters that are no longer defined.
    pub gone: usize,
}

#[derive(Clone, Debug)]
pub struct SeenCluster {
    pub id: ClusterId,
    /// Whether no steps are left.
    pub is_there: bool,
    /// Whether it is being removed.
    pub is_leaving: bool,
    /// The other rollout that it takes part in, if that is not done.
    pub owner: Option<String>,
    /// The time of the last commit since the start of the rollout that changed it on the branch the engine reads.
    pub changed: Option<DateTime<Utc>>,
    /// The time of its last step before the rollout began, if that is so recent that it may still be in progress or soak.
    pub earlier: Option<DateTime<Utc>>,
    /// Why the engine cannot see its last step yet, if its definition holds one.
    pub unpublished: Option<String>,
    /// What the last report says about it.
    pub health: ClusterHealth,
    /// Why no step can be taken: it has no plan, is on hold, or is suspended. A cluster without steps left has this only if it
    /// is suspended.
    pub obstacle: Option<Obstacle>,
    /// Whether it is suspended: until it is resumed, no machine of it changes.
    pub is_suspended: bool,
    /// The number of its machines.
    pub machines: usize,
}

/// What a report says about a cluster and its last change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClusterHealth {
    /// No report mentions the cluster.
    #[default]
    Unreported,
    /// The report is about a revision without the change.
    Outdated,
    /// It is not healthy.
    Unhealthy,
    /// It is healthy at a revision that has the change.
    Healthy,
}

impl ClusterHealth {
    /// Describes it in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Unreported => "no report says that it is healthy with its last step",
            Self::Outdated => "its report is about a revision without its last step",
            Self::Unhealthy => "it is reported as not healthy",
            Self::Healthy => "it is reported as healthy",
        }
    }

    /// Whether it is reported healthy with the change; none without a report.
    pub fn is_healthy(self) -> Option<bool> {
        (self != Self::Unreported).then_some(self == Self::Healthy)
    }
}

impl SeenCluster {
    /// Whether it has taken a step, which the engine may not see yet.
    pub fn has_begun(&self) -> bool {
        self.last().is_some() || self.unpublished.is_some()
    }

    /// Whether it has begun and is not done. A step before the rollout counts only until it settles, and not while the cluster
    /// is suspended.
    pub fn is_in_progress(&self, phase: &RolloutPhase) -> bool {
        match phase {
            RolloutPhase::Done(_) => false,
            RolloutPhase::Ready => self.changed.is_some(),
            _ if self.is_suspended => self.changed.is_some() || self.unpublished.is_some(),
            _ => self.has_begun(),
        }
    }

    /// The time of its last step.
    fn last(&self) -> Option<DateTime<Utc>> {
        self.changed.or(self.earlier)
    }
}

/// Why a cluster cannot take its next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// The reason.
    pub why: String,
    /// When it ends by itself, if known.
    pub until: Option<DateTime<Utc>>,
    /// Whether something is wrong, and a person has to act; otherwise someone wants it so.
    pub is_fault: bool,
    /// Whether the cluster can never reach the target.
    pub is_final: bool,
}

/// The progress of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RolloutPhase {
    /// It has not started.
    Waiting,
    /// It cannot start or continue, for this reason.
    Stuck(Obstacle),
    /// A step is in progress, at least until this time, if known.
    Moving(Option<DateTime<Utc>>),
    /// Its last step is done, and another is left.
    Ready,
    /// No step is left. Holds the time of its last change, if it changed at all.
    Done(Option<DateTime<Utc>>),
    /// It has been in progress for too long.
    TimedOut,
}

/// The progress of a wave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaveState {
    /// The previous wave is not done.
    Waiting,
    /// It selects no cluster, and the rollout has not begun.
    Empty,
    /// All its clusters were removed before the next wave began, so it shows nothing about the upgrade.
    Lost,
    /// Its clusters are being upgraded.
    Open,
    /// It is done, and the next wave waits until this time.
    Soaking(DateTime<Utc>),
    Done,
    /// These clusters have been in progress for too long.
    Failed(Vec<ClusterId>),
}

/// The next action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Propose the next step of these clusters.
    Take(Vec<ClusterId>),
    /// Wait for this reason, until this time, if known.
    Wait(String, Option<DateTime<Utc>>),
    /// Nothing until a person has mended this.
    Blocked(String),
    /// Nothing until someone resumes the rollout.
    Paused(String),
    /// Nothing; the rollout was aborted.
    Aborted(String),
    /// Nothing until the clusters of this wave make progress.
    Failed(String),
    /// Record that all clusters are done.
    Close,
    /// Nothing; it is recorded that all clusters are done.
    Done,
}

/// The progress of the waves and clusters, and the next action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The state of each wave, with the phases of its clusters.
    pub waves: Vec<(WaveState, Vec<RolloutPhase>)>,
    /// The next action.
    pub next: Next,
}

/// Decides the next action.
pub fn decide(rollout: &Rollout, seen: &RolloutFacts) -> Decision {
    let mut waves = Vec::new();
    let mut is_reached = true;
    for (at, wave) in seen.waves.iter().enumerate() {
        let phases: Vec<RolloutPhase> =
            wave.clusters.iter().map(|one| phase(rollout, one, seen.now)).collect();
        let state = match is_reached {
            _ if rollout.is_done() => WaveState::Done,
            _ if rollout.frozen.is_none() && wave.clusters.is_empty() => WaveState::Empty,
            true if is_lost(&seen.waves[at..]) => WaveState::Lost,
            true => state(wave, &phases, seen.now),
            false => WaveState::Waiting,
        };
        is_reached &= state == WaveState::Done || state == WaveState::Empty && !wave.is_selective;
        waves.push((state, phases));
    }
    let next = next(rollout, seen, &waves);
    Decision { waves, next }
}

/// Whether all clusters of the first of these waves are removed or about to be, so that it shows nothing to the waves after it.
/// If one of those has begun, it was done before.
fn is_lost(waves: &[WaveSeen]) -> bool {
    let Some((wave, later)) = waves.split_first() else { return false };
    let has_lost = wave.gone > 0 || !wave.clusters.is_empty();
    let has_begun =
        |wave: &WaveSeen| wave.clusters.iter().any(|one| one.changed.is_some() || one.unpublished.is_some());
    !later.is_empty()
        && has_lost
        && wave.unread.is_empty()
        && wave.clusters.iter().all(|one| one.is_leaving)
        && !later.iter().any(has_begun)
}

fn phase(rollout: &Rollout, one: &SeenCluster, now: DateTime<Utc>) -> RolloutPhase {
    if rollout.is_done() || one.is_leaving {
        return RolloutPhase::Done(one.changed);
    }
    if let Some(why) = &one.unpublished {
        return RolloutPhase::Stuck(Obstacle {
            why: why.clone(),
            until: None,
            is_fault: false,
            is_final: false,
        });
    }
    let Some(changed) = one.last() else {
        return match (one.is_there, &one.obstacle) {
            // Without a report, it is unknown whether an earlier step has rolled out.
            (true, _) if rollout.requires_health && one.health != ClusterHealth::Healthy => {
                let is_fault = one.health == ClusterHealth::Unhealthy;
                RolloutPhase::Stuck(Obstacle {
                    why: one.health.words().to_owned(),
                    until: None,
                    is_fault,
                    is_final: false,
                })
            }
            (true, _) => RolloutPhase::Done(None),
            (false, Some(why)) => RolloutPhase::Stuck(why.clone()),
            (false, None) => RolloutPhase::Waiting,
        };
    };
    let settles = changed + rollout.settle;
    let is_settled =
        if rollout.requires_health { one.health == ClusterHealth::Healthy } else { now >= settles };
    match (is_settled, one.is_there, &one.obstacle) {
        (true, true, None) => RolloutPhase::Done(Some(changed)),
        // It waits for a window or a person, and does not time out. If it was suspended after its last step, nobody knows
        // whether that rolled out.
        (_, true, Some(why)) | (true, false, Some(why)) => RolloutPhase::Stuck(why.clone()),
        (true, false, None) => RolloutPhase::Ready,
        (false, _, _) if now - changed > rollout.timeout => RolloutPhase::TimedOut,
        (false, _, _) => RolloutPhase::Moving((!rollout.requires_health).then_some(settles)),
    }
}

fn state(wave: &WaveSeen, phases: &[RolloutPhase], now: DateTime<Utc>) -> WaveState {
    let timed_out: Vec<ClusterId> = wave
        .clusters
        .iter()
        .zip(phases)
        .filter(|(_, phase)| **phase == RolloutPhase::TimedOut)
        .map(|(one, _)| one.id.clone())
        .collect();
    if !timed_out.is_empty() {
        return WaveState::Failed(timed_out);
    }
    if !wave.unread.is_empty() || !phases.iter().all(|phase| matches!(phase, RolloutPhase::Done(_))) {
        return WaveState::Open;
    }
    let last = phases
        .iter()
        .filter_map(|phase| if let RolloutPhase::Done(since) = phase { *since } else { None })
        .max();
    match last.map(|last| last + wave.soak).filter(|until| *until > now) {
        Some(until) => WaveState::Soaking(until),
        None => WaveState::Done,
    }
}

fn next(rollout: &Rollout, seen: &RolloutFacts, waves: &[(WaveState, Vec<RolloutPhase>)]) -> Next {
    if let Some(reason) = &rollout.aborted {
        return Next::Aborted(reason.clone());
    }
    if rollout.is_done() {
        return Next::Done;
    }
    if rollout.frozen.is_none()
        && let Some(why) = cannot_begin(seen)
    {
        return why;
    }
    let is_last = |at: usize| at + 1 == waves.len();
    let current = waves.iter().enumerate().find(|(at, (state, _))| match state {
        WaveState::Done => false,
        // Nothing follows the last wave.
        WaveState::Soaking(_) => !is_last(*at),
        _ => true,
    });
    if let Some(reason) = &rollout.paused {
        return Next::Paused(reason.clone());
    }
    let Some((at, (state, _))) = current else { return Next::Close };
    let wave = &seen.waves[at];
    match state {
        WaveState::Failed(clusters) => {
            let have = named(clusters.iter(), ("has", "have"));
            let timeout = words(rollout.timeout);
            Next::Failed(format!(
                "the wave {} has failed: {have} been in progress for longer than {timeout}",
                wave.name
            ))
        }
        WaveState::Lost => Next::Blocked(format!(
            "all clusters of the wave {} are removed or being removed, so it shows nothing about the upgrade: abort this rollout, \
             and write another",
            wave.name
        )),
        WaveState::Soaking(until) => {
            Next::Wait(format!("the wave {} soaks for {}", wave.name, words(wave.soak)), Some(*until))
        }
        _ => open(rollout, seen, waves, at),
    }
}

/// Why the rollout cannot begin, if it cannot.
fn cannot_begin(seen: &RolloutFacts) -> Option<Next> {
    if seen.has_errors {
        let why = "definitions have errors, and the first step freezes the waves: run `stackloom check`";
        return Some(Next::Blocked(why.to_owned()));
    }
    if seen.waves.iter().all(|wave| wave.clusters.is_empty()) {
        return Some(Next::Blocked("it selects no cluster: change its selector".to_owned()));
    }
    if let Some(empty) = seen.waves.iter().find(|wave| wave.is_selective && wave.clusters.is_empty()) {
        let why =
            format!("the wave {} selects no cluster: change its selector, or remove the wave", empty.name);
        return Some(Next::Blocked(why));
    }
    let mut clusters = seen.waves.iter().flat_map(|wave| &wave.clusters);
    let lost = |one: &SeenCluster| one.obstacle.as_ref().is_some_and(|obstacle| obstacle.is_final);
    let lost: Vec<&SeenCluster> = clusters.clone().filter(|one| lost(one)).collect();
    if let Some(why) = lost.first().and_then(|one| one.obstacle.as_ref()) {
        let cannot = named(lost.iter().map(|one| &one.id), ("cannot", "cannot"));
        return Some(Next::Blocked(format!("{cannot} reach the target: {}; change the selector", why.why)));
    }
    let (one, owner) = clusters.find_map(|one| Some((one, one.owner.as_ref()?)))?;
    Some(Next::Wait(format!("{} takes part in the rollout {owner}, which is not done", one.id), None))
}

/// The next action for the open wave.
fn open(rollout: &Rollout, seen: &RolloutFacts, waves: &[(WaveState, Vec<RolloutPhase>)], at: usize) -> Next {
    let (wave, phases) = (&seen.waves[at], waves[at].1.as_slice());
    let able = |(_, phase): &(&SeenCluster, &RolloutPhase)| {
        matches!(phase, RolloutPhase::Ready | RolloutPhase::Waiting)
    };
    if wave.clusters.iter().zip(phases).any(|one| able(&one))
        && let Some(closed) = rollout.calendar.closed(seen.now)
    {
        let why = match closed.freeze {
            Some(reason) => format!("frozen: {reason}"),
            None => "outside of the maintenance windows".to_owned(),
        };
        return Next::Wait(why, closed.until);
    }
    let others = seen.waves.iter().zip(waves).enumerate().filter(|(other, _)| *other != at);
    let others = others.flat_map(|(_, (wave, (_, phases)))| wave.clusters.iter().zip(phases));
    // In another wave, a cluster that is ready for its next step has begun, too: someone else moved it.
    let elsewhere: Vec<&SeenCluster> =
        others.filter(|(one, phase)| one.is_in_progress(phase)).map(|(one, _)| one).collect();
    let taken = take(rollout, (wave, phases), &elsewhere);
    if !taken.is_empty() {
        return Next::Take(taken);
    }
    let moving =
        wave.clusters.iter().zip(phases).filter(|(_, phase)| matches!(phase, RolloutPhase::Moving(_)));
    let moving: Vec<&ClusterId> = moving.map(|(one, _)| &one.id).collect();
    if moving.is_empty() && !wave.unread.is_empty() {
        let unread = several(&wave.unread, ("cannot", "cannot"));
        return Next::Blocked(format!(
            "{unread} be judged, because definitions have errors: run `stackloom check`"
        ));
    }
    if moving.is_empty() && phases.iter().any(|phase| matches!(phase, RolloutPhase::Stuck(_))) {
        return stuck(wave, phases);
    }
    if moving.is_empty() {
        let begun = named(elsewhere.iter().map(|one| &one.id), ("has", "have"));
        return Next::Wait(
            format!(
                "the limits of the rollout are reached: {begun} begun in other waves, and must be done first"
            ),
            None,
        );
    }
    let ends =
        phases.iter().filter_map(|phase| if let RolloutPhase::Moving(until) = phase { *until } else { None });
    Next::Wait(format!("{} in progress", named(moving.into_iter(), ("is", "are"))), ends.min())
}

/// The next action for a wave whose remaining clusters are all stuck.
fn stuck(wave: &WaveSeen, phases: &[RolloutPhase]) -> Next {
    let all = wave.clusters.iter().zip(phases);
    let all = all.filter_map(
        |(one, phase)| if let RolloutPhase::Stuck(why) = phase { Some((one, why)) } else { None },
    );
    let has_fault = all.clone().any(|(_, obstacle)| obstacle.is_fault);
    let meant = || all.clone().filter(|(_, obstacle)| obstacle.is_fault == has_fault);
    let cannot = named(meant().map(|(one, _)| &one.id), ("cannot", "cannot"));
    let why = meant().next().map_or("", |(_, obstacle)| obstacle.why.as_str());
    let why = format!("{cannot} go on: {why}");
    if has_fault {
        Next::Blocked(why)
    } else {
        Next::Wait(why, meant().filter_map(|(_, one)| one.until).min())
    }
}

/// The clusters whose next step is within the limits: those that have begun first, then new ones.
/// `elsewhere` are the clusters of other waves that are in progress.
fn take(
    rollout: &Rollout,
    (wave, phases): (&WaveSeen, &[RolloutPhase]),
    elsewhere: &[&SeenCluster],
) -> Vec<ClusterId> {
    let all = || wave.clusters.iter().zip(phases);
    // Includes clusters that started and cannot continue, because their machines differ.
    let busy = || {
        let is_busy = |phase: &RolloutPhase| !matches!(phase, RolloutPhase::Done(_) | RolloutPhase::Ready);
        all().filter(move |(one, phase)| one.has_begun() && is_busy(phase)).map(|(one, _)| one)
    };
    let begun = busy().count() + elsewhere.len();
    let mut machines = busy().chain(elsewhere.iter().copied()).map(|one| one.machines).sum::<usize>();
    let of = |meant: RolloutPhase| all().filter(move |(_, phase)| **phase == meant).map(|(one, _)| one);
    // The limits cannot be kept while it is unknown how many clusters are in progress. More clusters than the limits allow may
    // have begun, if someone else moved them.
    let candidates =
        of(RolloutPhase::Ready).chain(of(RolloutPhase::Waiting).filter(|_| wave.unread.is_empty()));
    // The order is kept, so that small clusters do not delay a large one forever.
    let fitting = candidates.enumerate().map_while(|(at, one)| {
        let clusters = begun + at;
        let fits = rollout.max_clusters.is_none_or(|most| clusters < most)
            && rollout.max_machines.is_none_or(|most| machines + one.machines <= most || clusters == 0);
        machines += one.machines;
        fits.then(|| one.id.clone())
    });
    fitting.collect()
}

/// Lists some clusters in words, with the matching form of a verb.
fn named<'a>(clusters: impl Iterator<Item = &'a ClusterId>, (one_does, several_do): (&str, &str)) -> String {
    several(&clusters.map(ToString::to_string).collect::<Vec<_>>(), (one_does, several_do))
}

fn several(names: &[String], (one_does, several_do): (&str, &str)) -> String {
    match names {
        [] => format!("no cluster {one_does}"),
        [one] => format!("{one} {one_does}"),
        [one, other] => format!("{one} and {other} {several_do}"),
        [first, ..] => format!("{} clusters, such as {first}, {several_do}", names.len()),
    }
}

/// A time span, in words.
fn words(delta: TimeDelta) -> String {
    let minutes = delta.num_minutes();
    match (minutes / (24 * 60), minutes % (24 * 60) / 60, minutes % 60) {
        (days, 0, 0) if days != 0 => format!("{days} d"),
        (days, hours, 0) => format!("{} h", days * 24 + hours),
        _ => format!("{minutes} min"),
    }
}
