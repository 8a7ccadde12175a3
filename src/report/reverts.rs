//! What a revert of the commit does to the changes of a group.

use super::{
    change::{Change, Effect, Revert, Subject},
    group::Group,
};

/// In the order of the report. What is merely undone comes last, because it is shortened to "everything else".
const ORDER: [Revert; 9] = [
    Revert::Nothing,
    Revert::Refused,
    Revert::CreatesNew,
    Revert::NeedsRemoval,
    Revert::Unknown,
    Revert::ReplacesAgain,
    Revert::KeepsReplaced,
    Revert::Restarts,
    Revert::Undoes,
];

/// The maximum number of subjects to name.
const NAMED: usize = 3;

/// What a revert does, in words, with the changes that it does it to. Changes for which it does the same share a line.
pub(super) fn reverts(group: &Group) -> Vec<(String, &'static str)> {
    let changes = || group.changes.iter().map(|one| &one.change);
    // The fields of the Cluster object take effect in its parts.
    let is_written =
        |change: &&Change| change.subject == Subject::Cluster && change.effect == Effect::Changed;
    let has_effects = changes().any(|change| !is_written(&change));
    // If the revert of a part is refused, so is the change of the Cluster object that it would come from.
    let is_refused = changes().any(|change| change.revert == Revert::Refused);
    let of = |revert: Revert| {
        let counts = |change: &&Change| {
            let own = if has_effects && is_written(change) {
                is_refused.then_some(Revert::Refused)
            } else {
                Some(change.revert)
            };
            own == Some(revert)
        };
        (revert, changes().filter(counts).map(|change| change.subject.words()).collect::<Vec<_>>())
    };
    let found: Vec<_> = ORDER.into_iter().map(of).filter(|(_, subjects)| !subjects.is_empty()).collect();
    let is_only = found.len() == 1;
    let others = found.iter().filter(|(revert, _)| *revert != Revert::Nothing).count();
    let line = |(revert, subjects): (Revert, Vec<String>)| {
        let what = if is_only {
            "revert".to_owned()
        } else if revert == Revert::Undoes && others > 1 {
            "revert of everything else".to_owned()
        } else {
            format!("revert of {}", named(&subjects))
        };
        (what, revert.words())
    };
    found.into_iter().map(line).collect()
}

fn named(subjects: &[String]) -> String {
    match subjects.len().saturating_sub(NAMED) {
        0 => subjects.join(", "),
        more => format!("{} and {more} more", subjects[..NAMED].join(", ")),
    }
}
