//! Turns the forecasts for the parts of a cluster into changes.

use super::{
    change::{CausingField, Change, Effect, Revert, Subject},
    machines::{added, autoscaled, count, machines, shed, unavailable},
    risk::Risk,
};
use crate::{
    compare::{Answer, ClusterFacts},
    topology::{Field, Meaning, Note, Reason, TopologyPart, Verdict},
};

/// The field of a `MachineDeployment` that says when machines are replaced.
const STRATEGY_TYPE: [&str; 4] = ["spec", "rollout", "strategy", "type"];

/// What a change does that Cluster API's controller cannot finish.
///
/// Source: `setAvailableCondition` of Cluster API's `core/reconcilers/cluster/cluster_controller_status.go`.
const STUCK: [&str; 2] = [
    "until this is corrected or reverted, Cluster API reports the cluster as neither reconciled nor available",
    "if the base got stuck in the same way, it never took effect, and this may end that",
];

/// The change of a part, as forecast.
pub(super) fn of_verdict(verdict: &Verdict, answer: &Answer, sides: [Option<&ClusterFacts>; 2]) -> Change {
    let emptied = emptied(verdict, sides);
    let verdict = emptied.as_ref().unwrap_or(verdict);
    let part = &verdict.subject;
    let (machines, surge) = machines(part, &verdict.meaning, sides);
    let causes: Vec<CausingField> = verdict.fields.iter().map(CausingField::of).collect();
    let fields = verdict.fields.iter();
    let entries = fields.filter_map(|field| Some((field.to_string(), answer.entries.get(field)?.clone())));
    Change {
        machines,
        built: added(part, &verdict.meaning, sides),
        shed: shed(part, &verdict.meaning, sides),
        surge,
        unavailable: unavailable(&verdict.meaning),
        entries: entries.collect(),
        causes,
        reasons: remarks(verdict, sides),
        forecast: verdict.reasons.iter().filter(|reason| is_news(reason)).cloned().collect(),
        by_extension: verdict.by_extension,
        ..Change::new(
            Subject::Part(part.clone()),
            Effect::Verdict(verdict.meaning.clone()),
            if replaces_healthy(verdict).is_some() {
                Risk::Unknown
            } else {
                Risk::of(part, &verdict.meaning)
            },
            if answer.is_stuck_if_reverted { Revert::GetsStuck } else { revert(verdict, sides) },
        )
    }
}

/// Why the machines of a new part do not stay; none if nothing says so.
pub(super) fn replaces_healthy(verdict: &Verdict) -> Option<&Reason> {
    verdict.reasons.iter().find(|reason| matches!(reason, Reason::ReplacesHealthy { .. }))
}

/// Whether the effect of a change does not state a reason already.
fn is_news(reason: &Reason) -> bool {
    *reason != Reason::Note(Note::OnDelete)
}

/// The change of a part while its cluster is paused: if it is reverted in time, nothing has happened.
pub(super) fn paused(change: Change) -> Change {
    let revert = match change.revert {
        revert @ (Revert::Nothing | Revert::Refused | Revert::Unknown) => revert,
        _ => Revert::BeforeItIsResumed,
    };
    let all = [change.machines, change.built, change.shed];
    let [machines, built, shed] = all.map(|count| count.unless_kept(true));
    Change { machines, built, shed, paused: true, revert, ..change }
}

/// The verdict on a pool of an unknown size that is set to zero, if nothing else is unknown: it loses all machines that it has.
fn emptied(verdict: &Verdict, sides: [Option<&ClusterFacts>; 2]) -> Option<Verdict> {
    let part = &verdict.subject;
    let is_uncounted = |reason: &Reason| matches!(reason, Reason::Uncounted { set_to: Some(0), .. });
    let is_it = verdict.meaning == Meaning::Opaque
        && !verdict.reasons.is_empty()
        && verdict.reasons.iter().all(is_uncounted)
        && sides.into_iter().flatten().all(|facts| !facts.pauses(part));
    let least = autoscaled(part, sides[0]).map_or(0, |(min, _)| min);
    is_it.then(|| {
        let mut emptied = verdict.clone();
        emptied.meaning = Meaning::Scale { from: least.max(1), to: 0 };
        emptied
    })
}

/// What else to know about a part that changes.
fn remarks(verdict: &Verdict, sides: [Option<&ClusterFacts>; 2]) -> Vec<String> {
    let stuck = if verdict.meaning == Meaning::Wedged { &STUCK[..] } else { &[] };
    let stuck = stuck.iter().map(|text| (*text).to_owned());
    stuck.chain(of_autoscaler(&verdict.subject, sides)).collect()
}

/// What an autoscaler may do because its limits change, or because it begins.
fn of_autoscaler(part: &TopologyPart, [before, after]: [Option<&ClusterFacts>; 2]) -> Option<String> {
    let has_part = |facts: &&ClusterFacts| facts.parts().any(|one| one == *part);
    let old = before.filter(has_part)?;
    let [former, new] = [Some(old), after].map(|facts| autoscaled(part, facts));
    let (min, max) = new?;
    let written = count(part, Some(old));
    match former {
        None => Some(format!("from now on, an autoscaler sets the number of machines: from {min} to {max}")),
        Some((least, _)) if min > least && written.is_none() => {
            Some(format!("the autoscaler may add machines: its minimum rises from {least} to {min}"))
        }
        Some(_) => None,
    }
}

fn revert(verdict: &Verdict, sides: [Option<&ClusterFacts>; 2]) -> Revert {
    let [before, after] = sides.map(|side| count(&verdict.subject, side));
    let was_paused = sides[0].is_some_and(|facts| facts.pauses(&verdict.subject));
    match &verdict.meaning {
        Meaning::NoChange | Meaning::Rejected => Revert::Nothing,
        // The number that an autoscaler has set by then is unknown.
        Meaning::InPlace if before.is_some() && after.is_none() && verdict.subject.as_pool().is_some() => {
            Revert::Unknown
        }
        Meaning::InPlace if is_held(verdict, sides[1]) => {
            if was_paused {
                Revert::ReplacesOnceUnpaused
            } else {
                Revert::ReplacesAll
            }
        }
        // Of what stops the controller, nothing is stored.
        Meaning::MetadataOnly | Meaning::InPlace | Meaning::Wedged => Revert::Undoes,
        Meaning::Scale { from, to } if from <= to => Revert::Removes,
        Meaning::Scale { .. } => Revert::AddsNew,
        Meaning::Delete => Revert::CreatesNew,
        Meaning::Rollout { on_delete: true, .. } if has_other_strategy(verdict) => Revert::ReplacesAll,
        Meaning::Rollout { on_delete: true, .. } => Revert::KeepsReplaced,
        Meaning::Rollout { .. } if !verdict.reasons.is_empty() && verdict.reasons.iter().all(is_once) => {
            Revert::KeepsNew
        }
        Meaning::Rollout { .. } if has_other_strategy(verdict) => Revert::KeepsReplaced,
        Meaning::Rollout { .. } if was_paused => Revert::ReplacesOnceUnpaused,
        Meaning::Rollout { .. } => Revert::ReplacesAgain,
        Meaning::Upgrade { .. } => Revert::Refused,
        Meaning::Create => Revert::Deletes,
        Meaning::ProviderDependent | Meaning::Opaque => Revert::Unknown,
    }
}

/// Whether the strategy changes between `OnDelete` and `RollingUpdate`.
fn has_other_strategy(verdict: &Verdict) -> bool {
    let is_type = |field: &Field| matches!(field, Field::Changed { path, .. } if *path == STRATEGY_TYPE);
    verdict.fields.iter().any(is_type)
}

/// Whether a pause of the part alone keeps machines whose templates change. Cluster API makes a template with a new name for each
/// change, also for one that is taken back, so the machines stay outdated.
///
/// Source: `reconcileReferencedTemplate` of `core/reconcilers/topology/cluster/reconcile_state.go`. Machines of a control plane
/// are compared with what their `KubeadmConfig` contains.
fn is_held(verdict: &Verdict, after: Option<&ClusterFacts>) -> bool {
    let is_pool = verdict.subject.as_pool().is_some();
    let renews = |reason: &Reason| matches!(reason, Reason::NotUpToDate { kind } if is_pool || kind != "KubeadmConfig");
    after.is_some_and(|facts| facts.pauses(&verdict.subject)) && verdict.reasons.iter().any(renews)
}

/// Whether a reason applies once: without it, machines that were replaced are still up to date.
fn is_once(reason: &Reason) -> bool {
    matches!(
        reason,
        Reason::RolloutAfter { .. }
            | Reason::RolloutAfterExpired { .. }
            | Reason::Released { .. }
            | Reason::Note(Note::Older)
    )
}
