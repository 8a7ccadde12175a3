//! The steps of an upgrade in words: which part moves to which version in each.

use std::collections::BTreeMap;

use super::group::Group;
use crate::topology::{Meaning, Reason, TopologyPart, UpgradeStep, Verdict, predict::report::step_in_words};

/// What each step does. The first one starts from the versions of the verdicts.
pub(super) fn in_words(steps: &[UpgradeStep], verdicts: &[Verdict]) -> Vec<String> {
    let mut running: BTreeMap<TopologyPart, String> = BTreeMap::new();
    for verdict in verdicts {
        // What is not known for another reason has its version among its reasons.
        let from = match &verdict.meaning {
            Meaning::Upgrade { from, .. } => Some(from),
            _ => verdict.reasons.iter().find_map(|reason| match reason {
                Reason::Version { from, .. } => Some(from),
                _ => None,
            }),
        };
        if let Some(from) = from {
            running.insert(verdict.subject.clone(), from.clone());
        }
    }
    let Some(first) = steps.first().map(versions) else { return Vec::new() };
    // A part without an upgrade has its version already, or, if it is paused, gets it in a later step.
    for (part, version) in first {
        running.entry(part).or_insert(version);
    }
    steps.iter().map(|step| moves(step, &mut running)).collect()
}

/// The pools that an upgrade leaves at their version, with the reason for each.
pub(super) fn kept_back(steps: &[UpgradeStep], verdicts: &[Verdict]) -> Vec<String> {
    let is_kept = |one: &&Verdict| {
        !steps.is_empty()
            && one.meaning == Meaning::NoChange
            && matches!(one.subject, TopologyPart::Pool(_))
            && !one.reasons.is_empty()
    };
    let words = |one: &Verdict| {
        let reasons: Vec<String> = one.reasons.iter().map(ToString::to_string).collect();
        format!("{}: {}", one.subject.in_words(), reasons.join("; "))
    };
    verdicts.iter().filter(is_kept).map(words).collect()
}

fn versions(step: &UpgradeStep) -> impl Iterator<Item = (TopologyPart, String)> {
    let pools = step.pools.iter().map(|(pool, version)| (TopologyPart::Pool(pool.clone()), version.clone()));
    [(TopologyPart::ControlPlane, step.control_plane.clone())].into_iter().chain(pools)
}

/// The parts that move in a step. Parts with the same versions share an entry.
fn moves(step: &UpgradeStep, running: &mut BTreeMap<TopologyPart, String>) -> String {
    let mut moved: Vec<((String, String), Vec<String>)> = Vec::new();
    for (part, version) in versions(step) {
        let before = running.insert(part.clone(), version.clone()).unwrap_or_default();
        if before == version {
            continue;
        }
        let from_to = (before, version);
        match moved.iter_mut().find(|(other, _)| *other == from_to) {
            Some((_, parts)) => parts.push(part.in_words()),
            None => moved.push((from_to, vec![part.in_words()])),
        }
    }
    if moved.is_empty() {
        return format!("no version changes: {}", step_in_words(step));
    }
    let words = |((from, to), parts): &((String, String), Vec<String>)| {
        if from.is_empty() {
            format!("{}: new, {to}", parts.join(", "))
        } else {
            format!("{}: {from} → {to}", parts.join(", "))
        }
    };
    moved.iter().map(words).collect::<Vec<_>>().join("; ")
}

/// The line above the steps.
pub(super) fn heading(group: &Group) -> String {
    match group.pools_at_once {
        0 | 1 => "order of the upgrade, each step when the one before is done:".to_owned(),
        pools => format!("order of the upgrade, up to {pools} pools at the same time:"),
    }
}
