//! Turns the forecasts for the parts of a cluster into changes.

use super::{
    change::{Change, Effect, Revert, Subject},
    machines::{added, machines, shed, unavailable},
    risk::Risk,
};
use crate::{
    compare::{Answer, ClusterFacts},
    topology::{Meaning, Verdict},
};

/// The reason that the effect of a rollout with `OnDelete` already states.
const ON_DELETE: &str = "machines are replaced when they are deleted";

/// The change of a part, as forecast.
pub(super) fn of_verdict(verdict: &Verdict, answer: &Answer, sides: [Option<&ClusterFacts>; 2]) -> Change {
    let part = &verdict.subject;
    let (machines, surge) = machines(part, &verdict.meaning, sides);
    let causes: Vec<String> = verdict.fields.iter().map(ToString::to_string).collect();
    let entries = causes.iter().filter_map(|cause| Some((cause.clone(), answer.entries.get(cause)?.clone())));
    Change {
        machines,
        built: added(part, &verdict.meaning, sides),
        shed: shed(part, &verdict.meaning, sides),
        surge,
        unavailable: unavailable(&verdict.meaning),
        entries: entries.collect(),
        causes,
        reasons: verdict.reasons.iter().filter(|reason| *reason != ON_DELETE).cloned().collect(),
        by_extension: verdict.by_extension,
        ..Change::new(
            Subject::Part(part.clone()),
            Effect::Verdict(verdict.meaning.clone()),
            Risk::of(part, &verdict.meaning),
            revert(&verdict.meaning),
        )
    }
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

fn revert(meaning: &Meaning) -> Revert {
    match meaning {
        Meaning::NoChange | Meaning::Rejected => Revert::Nothing,
        Meaning::MetadataOnly | Meaning::InPlace => Revert::Undoes,
        Meaning::Scale { from, to } if from <= to => Revert::Removes,
        Meaning::Scale { .. } | Meaning::Delete => Revert::CreatesNew,
        Meaning::Rollout { on_delete: true, .. } => Revert::KeepsReplaced,
        Meaning::Rollout { .. } => Revert::ReplacesAgain,
        Meaning::Upgrade { .. } => Revert::Refused,
        Meaning::Create => Revert::Deletes,
        Meaning::Wedged | Meaning::ProviderDependent | Meaning::Opaque => Revert::Unknown,
    }
}
