//! What a rollout does next.

use chrono::{DateTime, TimeDelta, Utc};

use super::calendar::closed;
use crate::model::{ClusterId, Rollout};

/// What is known at a moment.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The moment.
    pub now: DateTime<Utc>,
    /// The waves, in order.
    pub waves: Vec<WaveSeen>,
}

/// The clusters of a wave.
#[derive(Clone, Debug)]
pub struct WaveSeen {
    /// What it is called.
    pub name: String,
    /// How long the next wave waits.
    pub soak: TimeDelta,
    /// Its clusters, in the order in which they go.
    pub clusters: Vec<SeenCluster>,
}

/// A cluster.
#[derive(Clone, Debug)]
pub struct SeenCluster {
    /// Which one.
    pub id: ClusterId,
    /// Whether no step is left.
    pub is_there: bool,
    /// When the branch that the engine reads last changed it, since the rollout began.
    pub changed: Option<DateTime<Utc>>,
    /// Whether a report says that it is healthy with that change; none if no report does.
    pub is_healthy: Option<bool>,
    /// Why no step can be taken: it has no plan, is held, or is suspended.
    pub obstacle: Option<String>,
    /// How many machines it has.
    pub machines: usize,
}

/// Where a cluster is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It has not begun.
    Waiting,
    /// It cannot begin, or go on, and why.
    Stuck(String),
    /// A step is being rolled out; until when at least, if that is known.
    Moving(Option<DateTime<Utc>>),
    /// Its last step is done, and another one is left.
    Ready,
    /// No step is left; since when, if it moved at all.
    Done(Option<DateTime<Utc>>),
    /// It has been in progress for too long.
    TimedOut,
}

/// Where a wave is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaveState {
    /// The one before is not done.
    Waiting,
    /// Its clusters move.
    Open,
    /// It is done, and the next one waits until this moment.
    Soaking(DateTime<Utc>),
    /// It is done.
    Done,
    /// These clusters have been in progress for too long.
    Failed(Vec<ClusterId>),
}

/// What comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// The next step of these clusters.
    Take(Vec<ClusterId>),
    /// Nothing yet: why, and until when, if that is known.
    Wait(String, Option<DateTime<Utc>>),
    /// Nothing, until someone resumes it.
    Paused(String),
    /// Nothing any more.
    Aborted(String),
    /// Nothing, until the clusters of this wave go on.
    Failed(String),
    /// Nothing: all clusters are there.
    Done,
}

/// Where the waves and clusters are, and what comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The state of each wave, and the phases of its clusters.
    pub waves: Vec<(WaveState, Vec<Phase>)>,
    /// What comes next.
    pub next: Next,
}

/// Decides.
pub fn decide(rollout: &Rollout, seen: &Seen) -> Decision {
    let mut waves = Vec::new();
    let mut is_reached = true;
    for wave in &seen.waves {
        let phases: Vec<Phase> = wave.clusters.iter().map(|one| phase(rollout, one, seen.now)).collect();
        let state = if is_reached { state(wave, &phases, seen.now) } else { WaveState::Waiting };
        is_reached = state == WaveState::Done;
        waves.push((state, phases));
    }
    let next = next(rollout, seen, &waves);
    Decision { waves, next }
}

fn phase(rollout: &Rollout, one: &SeenCluster, now: DateTime<Utc>) -> Phase {
    let Some(changed) = one.changed else {
        return match (one.is_there, &one.obstacle) {
            (true, _) => Phase::Done(None),
            (false, Some(why)) => Phase::Stuck(why.clone()),
            (false, None) => Phase::Waiting,
        };
    };
    let settles = changed + rollout.settle;
    let is_settled = if rollout.requires_health { one.is_healthy == Some(true) } else { now >= settles };
    match (is_settled, one.is_there, &one.obstacle) {
        (true, true, _) => Phase::Done(Some(changed)),
        // What waits for a window or for a person does not time out.
        (true, false, Some(why)) => Phase::Stuck(why.clone()),
        (true, false, None) => Phase::Ready,
        (false, _, _) if now - changed > rollout.timeout => Phase::TimedOut,
        (false, _, _) => Phase::Moving((!rollout.requires_health).then_some(settles)),
    }
}

fn state(wave: &WaveSeen, phases: &[Phase], now: DateTime<Utc>) -> WaveState {
    let timed_out: Vec<ClusterId> = wave
        .clusters
        .iter()
        .zip(phases)
        .filter(|(_, phase)| **phase == Phase::TimedOut)
        .map(|(one, _)| one.id.clone())
        .collect();
    if !timed_out.is_empty() {
        return WaveState::Failed(timed_out);
    }
    if !phases.iter().all(|phase| matches!(phase, Phase::Done(_))) {
        return WaveState::Open;
    }
    let last =
        phases.iter().filter_map(|phase| if let Phase::Done(since) = phase { *since } else { None }).max();
    match last.map(|last| last + wave.soak).filter(|until| *until > now) {
        Some(until) => WaveState::Soaking(until),
        None => WaveState::Done,
    }
}

fn next(rollout: &Rollout, seen: &Seen, waves: &[(WaveState, Vec<Phase>)]) -> Next {
    if let Some(reason) = &rollout.aborted {
        return Next::Aborted(reason.clone());
    }
    let is_last = |at: usize| at + 1 == waves.len();
    let current = waves.iter().enumerate().find(|(at, (state, _))| match state {
        WaveState::Done => false,
        // Nothing follows the last one.
        WaveState::Soaking(_) => !is_last(*at),
        _ => true,
    });
    let Some((at, (state, phases))) = current else { return Next::Done };
    let wave = &seen.waves[at];
    if let Some(reason) = &rollout.paused {
        return Next::Paused(reason.clone());
    }
    match state {
        WaveState::Failed(clusters) => {
            let have = named(clusters.iter(), ("has", "have"));
            let timeout = words(rollout.timeout);
            Next::Failed(format!(
                "the wave {} has failed: {have} been in progress for longer than {timeout}",
                wave.name
            ))
        }
        WaveState::Soaking(until) => {
            Next::Wait(format!("the wave {} soaks for {}", wave.name, words(wave.soak)), Some(*until))
        }
        _ => open(rollout, seen, wave, phases),
    }
}

/// What the wave that is open does next.
fn open(rollout: &Rollout, seen: &Seen, wave: &WaveSeen, phases: &[Phase]) -> Next {
    let able = |(_, phase): &(&SeenCluster, &Phase)| matches!(phase, Phase::Ready | Phase::Waiting);
    if wave.clusters.iter().zip(phases).any(|one| able(&one))
        && let Some(closed) = closed(&rollout.calendar, seen.now)
    {
        let why = match closed.freeze {
            Some(reason) => format!("frozen: {reason}"),
            None => "outside of the maintenance windows".to_owned(),
        };
        return Next::Wait(why, closed.until);
    }
    let taken = take(rollout, wave, phases);
    if !taken.is_empty() {
        return Next::Take(taken);
    }
    let moving = wave.clusters.iter().zip(phases).filter(|(_, phase)| matches!(phase, Phase::Moving(_)));
    let moving: Vec<&ClusterId> = moving.map(|(one, _)| &one.id).collect();
    if moving.is_empty() {
        let stuck =
            phases.iter().filter_map(|phase| if let Phase::Stuck(why) = phase { Some(why) } else { None });
        let clusters = wave.clusters.iter().zip(phases).filter(|(_, phase)| matches!(phase, Phase::Stuck(_)));
        let cannot = named(clusters.map(|(one, _)| &one.id), ("cannot", "cannot"));
        let why = stuck.clone().next().map_or("", String::as_str);
        return Next::Wait(format!("{cannot} go on: {why}"), None);
    }
    let ends = phases.iter().filter_map(|phase| if let Phase::Moving(until) = phase { *until } else { None });
    Next::Wait(format!("{} in progress", named(moving.into_iter(), ("is", "are"))), ends.min())
}

/// The clusters whose next step fits: those that have begun, then new ones, as far as the limits go.
fn take(rollout: &Rollout, wave: &WaveSeen, phases: &[Phase]) -> Vec<ClusterId> {
    let all = || wave.clusters.iter().zip(phases);
    // Also a cluster that began and cannot go on: its machines are of two kinds.
    let busy = || {
        all()
            .filter(|(one, phase)| one.changed.is_some() && !matches!(phase, Phase::Done(_)))
            .map(|(one, _)| one)
    };
    let (begun, mut machines) = (busy().count(), busy().map(|one| one.machines).sum::<usize>());
    let ready = all().filter(|(_, phase)| **phase == Phase::Ready).map(|(one, _)| one.id.clone());
    let mut taken: Vec<ClusterId> = ready.collect();
    let waiting = all().filter(|(_, phase)| **phase == Phase::Waiting).map(|(one, _)| one);
    // The order is kept: a large cluster is not overtaken forever by small ones.
    let fitting = waiting.enumerate().map_while(|(at, one)| {
        let clusters = begun + at;
        let fits = rollout.max_clusters.is_none_or(|most| clusters < most)
            && rollout.max_machines.is_none_or(|most| machines + one.machines <= most || clusters == 0);
        machines += one.machines;
        fits.then(|| one.id.clone())
    });
    taken.extend(fitting);
    taken
}

/// Some clusters in words, and a verb that fits their number.
fn named<'a>(clusters: impl Iterator<Item = &'a ClusterId>, (one_does, several_do): (&str, &str)) -> String {
    let all: Vec<String> = clusters.map(ToString::to_string).collect();
    match all.as_slice() {
        [] => format!("no cluster {one_does}"),
        [one] => format!("{one} {one_does}"),
        [one, other] => format!("{one} and {other} {several_do}"),
        [first, ..] => format!("{} clusters, such as {first}, {several_do}", all.len()),
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
