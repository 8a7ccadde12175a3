//! What a revert of the commit does to the changes of a group.

use super::{
    change::{Change, Effect, Revert, Subject},
    group::Group,
};

/// In the order of the report. What is merely undone comes last, because it is shortened to "everything else".
const ORDER: [Revert; 12] = [
    Revert::Nothing,
    Revert::Refused,
    Revert::CreatesNew,
    Revert::NeedsRemoval,
    Revert::Deletes,
    Revert::Removes,
    Revert::Unknown,
    Revert::ReplacesAgain,
    Revert::KeepsReplaced,
    Revert::BeforeItIsResumed,
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
    // Parts change with the Cluster object: if the revert of one is refused, so is that of the others.
    let is_refused = changes().any(|change| change.revert == Revert::Refused);
    let is_of_cluster =
        |change: &Change| change.subject == Subject::Cluster || matches!(change.subject, Subject::Part(_));
    let of = |revert: Revert| {
        let counts = |change: &&Change| {
            let own = if is_refused && is_of_cluster(change) && change.revert != Revert::Nothing {
                Some(Revert::Refused)
            } else if has_effects && is_written(change) {
                None
            } else {
                Some(change.revert)
            };
            own == Some(revert)
        };
        (revert, changes().filter(counts).map(|change| change.subject.words()).collect::<Vec<_>>())
    };
    let found: Vec<_> = ORDER.into_iter().map(of).filter(|(_, subjects)| !subjects.is_empty()).collect();
    // What is refused changes nothing, so only the rest needs a line.
    let is_mixed = found.len() > 1;
    let found: Vec<_> =
        found.into_iter().filter(|(revert, _)| !is_mixed || *revert != Revert::Nothing).collect();
    let is_only = found.len() == 1;
    let line = |(revert, subjects): (Revert, Vec<String>)| {
        let what = if is_only {
            "revert".to_owned()
        } else if revert == Revert::Undoes {
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
