//! `stackloom rollout status`.

use chrono::{DateTime, Utc};
use serde_json::{Value as Json, json};

use super::{
    Known,
    observe::{Context, Observed, pick},
};
use crate::{
    cli::{Done, Exit, Global, Printer, cluster::ClusterName, input_or_world, table},
    generate::{self, Failure},
    io::disk::Workspace,
    note::Notes,
    rollout::{ClusterHealth, Next, RolloutPhase, SeenCluster, WaveState},
    world::Snapshot,
};

/// Show the progress of rollouts, and what comes next
///
/// Shows the waves, their clusters and how far they are. If nothing happens, says why. Without a name, shows
/// all rollouts. With --verbose, shows each cluster.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  stackloom rollout status\n  stackloom rollout status k136 --verbose\n  stackloom rollout status k136 --now 2026-12-24T09:00:00Z   # show what would happen then"
)]
pub(super) struct Args {
    /// The rollout; by default all
    #[arg(value_name = "ROLLOUT")]
    name: Option<String>,
    #[command(flatten)]
    known: Known,
}

pub(super) fn run(args: &Args, global: &Global, printer: &Printer) -> Done {
    let world = crate::cli::fleet(global, printer)?;
    let mut notes = Notes::new();
    match shown(args, &world, printer, &mut notes) {
        Ok((lines, documents)) => {
            printer.notes(&notes);
            for line in lines {
                printer.result(&line);
            }
            printer.document(Exit::Done, &notes, json!({ "rollouts": documents }));
            Ok(Exit::Done)
        }
        Err(failure) => {
            printer.notes(&notes);
            let exit = input_or_world(failure)?;
            printer.document(exit, &notes, json!({}));
            Ok(exit)
        }
    }
}

fn shown(
    args: &Args,
    world: &Workspace,
    printer: &Printer,
    notes: &mut Notes,
) -> Result<(Vec<String>, Vec<Json>), Failure> {
    let snapshot = Snapshot::read(world)?;
    let (understood, left) = generate::understand_sound(&snapshot, notes)?;
    left.refuse_rollouts(notes)?;
    left.warn(notes);
    let meant = match &args.name {
        Some(name) => vec![pick(&understood, Some(name), notes).ok_or(Failure::Input)?],
        None => understood.model.rollouts.iter().collect(),
    };
    let (mut lines, mut documents) = (Vec::new(), Vec::new());
    if meant.is_empty() {
        lines.push("no rollout yet: docs/upgrades.md shows how to write one".to_owned());
    }
    let context = Context {
        fleet: &understood,
        has_errors: left.has_definitions(),
        world,
        mode: None,
        known: &args.known,
        printer,
    };
    for rollout in meant {
        let observed = context.observe(rollout, &snapshot.input, notes)?;
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.extend(text(&observed, printer.is_verbose()));
        documents.push(document(&observed));
    }
    Ok((lines, documents))
}

/// How many clusters a line names. `--format json` has all of them.
const SHOWN: usize = 8;

/// Formats a rollout as text.
pub(super) fn text(observed: &Observed<'_>, all: bool) -> Vec<String> {
    let Observed { rollout, seen, decision, waves, left, .. } = observed;
    let zone = |at: &DateTime<Utc>| rollout.calendar.local(*at);
    let mut lines = vec![format!("{}: {}", rollout.name, rollout.reason)];
    let mut rows = vec![["wave", "clusters", "done", "in progress", "state"].map(str::to_owned).to_vec()];
    for ((wave, seen), (state, phases)) in waves.iter().zip(&seen.waves).zip(&decision.waves) {
        let count = |is: &dyn Fn(&RolloutPhase) -> bool| phases.iter().filter(|phase| is(phase)).count();
        let is_done = |phase: &RolloutPhase| matches!(phase, RolloutPhase::Done(_));
        let begun = seen.clusters.iter().zip(phases).filter(|(one, phase)| one.is_in_progress(phase));
        rows.push(vec![
            wave.name.to_owned(),
            phases.len().to_string(),
            count(&is_done).to_string(),
            begun.count().to_string(),
            match state {
                WaveState::Waiting => "waits for the wave before".to_owned(),
                WaveState::Empty => "selects no cluster".to_owned(),
                WaveState::Lost => "has lost its clusters".to_owned(),
                WaveState::Open => "open".to_owned(),
                WaveState::Soaking(until) => format!("soaks until {}", zone(until)),
                WaveState::Done => "done".to_owned(),
                WaveState::Failed(_) => "failed".to_owned(),
            },
        ]);
    }
    if !waves.is_empty() {
        lines.extend(table::lines(&rows).into_iter().map(|line| format!("  {line}")));
    }
    if all {
        for (wave, (_, phases)) in seen.waves.iter().zip(&decision.waves) {
            for (one, phase) in wave.clusters.iter().zip(phases) {
                let words = if rollout.is_done() { "done".to_owned() } else { words(phase, one, &zone) };
                lines.push(format!("  {}: {words}", one.id));
            }
        }
    }
    for wave in waves.iter().filter(|wave| !wave.gone.is_empty()) {
        lines.push(format!("  no longer defined: {}", listed(&wave.gone, all)));
    }
    for wave in waves.iter().filter(|wave| !wave.unread.is_empty()) {
        lines.push(format!("  not defined, or with errors: {}", listed(&wave.unread, all)));
    }
    if !left.is_empty() {
        let names: Vec<String> = left.iter().map(|cluster| cluster.id().to_string()).collect();
        lines.push(format!("  in no wave: {}", listed(&names, all)));
    }
    lines.push(format!("next: {}", next(&decision.next, &zone)));
    lines
}

/// Lists all clusters, or the first ones with the number of the others.
fn listed(names: &[String], all: bool) -> String {
    let (first, others) = names.split_at(if all { names.len() } else { names.len().min(SHOWN) });
    let more = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
    format!("{}{more}", first.join(", "))
}

fn words(phase: &RolloutPhase, one: &SeenCluster, zone: &dyn Fn(&DateTime<Utc>) -> String) -> String {
    match phase {
        RolloutPhase::Waiting => "waits".to_owned(),
        RolloutPhase::Stuck(obstacle) => format!("cannot go on: {}", obstacle.why),
        RolloutPhase::Moving(Some(until)) => format!("in progress until {}", zone(until)),
        RolloutPhase::Moving(None) => format!("in progress: {}", one.health.words()),
        RolloutPhase::Ready => "ready for its next step".to_owned(),
        RolloutPhase::Done(_) if one.is_leaving => "is being removed".to_owned(),
        RolloutPhase::Done(Some(since)) => format!("done, by a commit of {}", zone(since)),
        RolloutPhase::Done(None) => "done, without a step".to_owned(),
        RolloutPhase::TimedOut => match why_late(one) {
            Some(why) => format!("in progress for too long: {why}"),
            None => "in progress for too long".to_owned(),
        },
    }
}

/// What the report says about a cluster that takes too long. A rollout without reports has nothing to say.
fn why_late(one: &SeenCluster) -> Option<&'static str> {
    (one.health != ClusterHealth::Unreported).then(|| one.health.words())
}

/// Describes the next action in words.
pub(super) fn next(next: &Next, zone: &dyn Fn(&DateTime<Utc>) -> String) -> String {
    match next {
        Next::Take(clusters) => {
            let names: Vec<String> = clusters.iter().map(ToString::to_string).collect();
            format!("take a step of {}", listed(&names, false))
        }
        Next::Wait(why, Some(until)) => format!("wait until {}: {why}", zone(until)),
        Next::Paused(reason) => format!("paused: {reason}"),
        Next::Aborted(reason) => format!("aborted: {reason}"),
        Next::Wait(why, None) | Next::Failed(why) | Next::Blocked(why) => why.clone(),
        Next::Close => {
            "all clusters have reached the target; run `stackloom rollout next` to record it".to_owned()
        }
        Next::Done => "all clusters have reached the target".to_owned(),
    }
}

pub(super) fn document(observed: &Observed<'_>) -> Json {
    let Observed { rollout, now, seen, decision, waves, left, .. } = observed;
    let time = |at: &DateTime<Utc>| json!(at.format("%FT%TZ").to_string());
    let cluster = |(one, phase): (&SeenCluster, &RolloutPhase)| {
        let (word, at, why) = match phase {
            RolloutPhase::Waiting => ("waiting", None, None),
            RolloutPhase::Stuck(obstacle) => ("stuck", obstacle.until.as_ref(), Some(obstacle.why.as_str())),
            RolloutPhase::Moving(None) => ("moving", None, Some(one.health.words())),
            RolloutPhase::Moving(until) => ("moving", until.as_ref(), None),
            RolloutPhase::Ready => ("ready", None, None),
            RolloutPhase::Done(since) => ("done", since.as_ref(), None),
            RolloutPhase::TimedOut => ("timed-out", None, why_late(one)),
        };
        json!({ "cluster": ClusterName::from(&one.id), "phase": word, "at": at.map(time), "healthy": one.health.is_healthy(), "reason": why })
    };
    let wave = |at: usize| {
        let (state, phases) = &decision.waves[at];
        let (word, until) = match state {
            WaveState::Waiting => ("waiting", None),
            WaveState::Empty => ("empty", None),
            WaveState::Lost => ("lost", None),
            WaveState::Open => ("open", None),
            WaveState::Soaking(until) => ("soaking", Some(until)),
            WaveState::Done => ("done", None),
            WaveState::Failed(_) => ("failed", None),
        };
        let clusters: Vec<Json> = seen.waves[at].clusters.iter().zip(phases).map(cluster).collect();
        json!({ "name": waves[at].name, "state": word, "until": until.map(time), "clusters": clusters, "gone": by_parts(&waves[at].gone), "unread": by_parts(&waves[at].unread) })
    };
    let (word, clusters, until, why) = match &decision.next {
        Next::Take(clusters) => ("take", ClusterName::all(clusters), None, None),
        Next::Wait(why, until) => ("wait", Vec::new(), until.as_ref(), Some(why)),
        Next::Paused(why) => ("paused", Vec::new(), None, Some(why)),
        Next::Aborted(why) => ("aborted", Vec::new(), None, Some(why)),
        Next::Failed(why) => ("failed", Vec::new(), None, Some(why)),
        Next::Blocked(why) => ("blocked", Vec::new(), None, Some(why)),
        Next::Close => ("close", Vec::new(), None, None),
        Next::Done => ("done", Vec::new(), None, None),
    };
    json!({
        "name": rollout.name.as_str(),
        "file": rollout.file,
        "now": time(now),
        "hasBegun": rollout.frozen.is_some(),
        "waves": (0..waves.len()).map(wave).collect::<Vec<_>>(),
        "inNoWave": left.iter().map(|cluster| ClusterName::from(*cluster)).collect::<Vec<_>>(),
        "next": { "action": word, "clusters": clusters, "until": until.map(time), "reason": why },
    })
}

/// The names of clusters in the file of a rollout, as objects. There may be no definition to take the parts from.
fn by_parts(names: &[String]) -> Vec<Json> {
    let one = |name: &String| {
        let mut parts = name.splitn(3, '/');
        let mut part = || parts.next();
        json!({ "managementCluster": part(), "namespace": part(), "name": part() })
    };
    names.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_a_few_clusters_and_counts_the_rest() {
        let names = |count: usize| (0..count).map(|at| format!("c-{at}")).collect::<Vec<_>>();
        assert_eq!(listed(&names(2), false), "c-0, c-1");
        assert_eq!(listed(&names(8), false), "c-0, c-1, c-2, c-3, c-4, c-5, c-6, c-7");
        assert_eq!(listed(&names(100), false), "c-0, c-1, c-2, c-3, c-4, c-5, c-6, c-7 and 92 more");
        assert!(listed(&names(100), true).ends_with("c-98, c-99"));
    }
}
