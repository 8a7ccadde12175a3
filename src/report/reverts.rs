//! What a revert of the commit does to the changes of a group.

use super::{
    change::{Change, Effect, Revert, Subject},
    group::Group,
    words,
};

/// In the order of the report. What is merely undone comes last, because it is shortened to "everything else".
const ORDER: [Revert; 17] = [
    Revert::Nothing,
    Revert::Refused,
    Revert::GetsStuck,
    Revert::CreatesNew,
    Revert::NeedsRemoval,
    Revert::Deletes,
    Revert::Removes,
    Revert::Unknown,
    Revert::ReplacesAll,
    Revert::ReplacesAgain,
    Revert::AddsNew,
    Revert::KeepsReplaced,
    Revert::ReplacesOnceUnpaused,
    Revert::KeepsNew,
    Revert::BeforeItIsResumed,
    Revert::Restarts,
    Revert::Undoes,
];

/// The maximum number of subjects to name if nothing is lost.
const NAMED: usize = 3;

/// What applies if the change of a cluster is refused.
const REFUSED: &str = "nothing to undo: what is refused does not happen";

/// What a revert does to the rest of a cluster whose downgrade it would need.
const WITH_UPGRADE: &str = "is refused together with the downgrade: `stackloom generate` writes no files for the cluster. If the old files are merged anyway, this returns to what it was, and the machines keep the new Kubernetes version, which addons of that state may not support";

impl Revert {
    /// Whether a revert does not bring back what was before.
    fn is_lasting(self) -> bool {
        match self {
            Self::Refused
            | Self::GetsStuck
            | Self::CreatesNew
            | Self::NeedsRemoval
            | Self::Deletes
            | Self::Unknown => true,
            Self::Nothing
            | Self::Undoes
            | Self::Restarts
            | Self::BeforeItIsResumed
            | Self::KeepsReplaced
            | Self::ReplacesOnceUnpaused
            | Self::KeepsNew
            | Self::ReplacesAgain
            | Self::ReplacesAll
            | Self::AddsNew
            | Self::Removes => false,
        }
    }
}

/// What a revert does, in words, with the changes that it does it to. Changes for which it does the same share a line. Names at
/// most `most` changes that it does not undo.
pub(super) fn reverts(group: &Group, most: usize) -> Vec<(String, &'static str)> {
    let refusal = group.refusal.unwrap_or_default();
    let happens = |change: &&Change| !refusal.stops(change);
    let changes = || group.changes.iter().map(|one| &one.change).filter(happens);
    // The fields of the Cluster object take effect in its parts.
    let is_written =
        |change: &&Change| change.subject == Subject::Cluster && change.effect == Effect::Changed;
    let has_effects = changes().any(|change| !is_written(&change));
    // Parts change with the Cluster object: if the revert of one is refused, so is that of the others.
    let is_refused = changes().any(|change| change.revert == Revert::Refused);
    let is_stuck = changes().any(|change| change.revert == Revert::GetsStuck);
    let is_of_cluster =
        |change: &Change| change.subject == Subject::Cluster || matches!(change.subject, Subject::Part(_));
    let of = |revert: Revert| {
        let counts = |change: &&Change| {
            let own = if is_refused && is_of_cluster(change) && change.revert != Revert::Nothing {
                Some(Revert::Refused)
            } else if is_stuck && is_of_cluster(change) && change.revert != Revert::Nothing {
                Some(Revert::GetsStuck)
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
    if refusal.by_guards {
        let lasting = found.into_iter().filter(|(revert, _)| revert.is_lasting());
        let line = |(revert, subjects): (Revert, Vec<String>)| {
            let what = format!("revert of {}, if merged anyway", named(&subjects, most, true));
            (what, revert.words())
        };
        return [("revert".to_owned(), REFUSED)].into_iter().chain(lasting.map(line)).collect();
    }
    let found = if is_refused { with_upgrade(found) } else { found };
    let is_only = found.len() == 1;
    let line = |(revert, subjects): (Revert, Vec<String>)| {
        if is_refused && revert == Revert::Undoes {
            return ("revert of everything else".to_owned(), WITH_UPGRADE);
        }
        let what = if is_only {
            "revert".to_owned()
        } else if revert == Revert::Undoes {
            "revert of everything else".to_owned()
        } else {
            format!("revert of {}", named(&subjects, most, revert.is_lasting()))
        };
        (what, revert.words())
    };
    found.into_iter().map(line).collect()
}

/// Puts what a revert would undo into one line, because `generate` writes nothing of a cluster whose downgrade it refuses.
fn with_upgrade(found: Vec<(Revert, Vec<String>)>) -> Vec<(Revert, Vec<String>)> {
    let (own, others): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|(revert, _)| revert.is_lasting() && *revert != Revert::Unknown);
    let others: Vec<String> = others.into_iter().flat_map(|(_, subjects)| subjects).collect();
    let rest = (!others.is_empty()).then_some((Revert::Undoes, others));
    own.into_iter().chain(rest).collect()
}

fn named(subjects: &[String], most: usize, is_lasting: bool) -> String {
    words::some(subjects, if is_lasting { most.max(NAMED) } else { NAMED }, is_lasting)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        compare::{Address, Section},
        report::{
            change::Change,
            cluster::{ClusterReport, Sides},
            group::groups,
            risk::Risk,
        },
    };

    /// The reverts of a cluster that loses as many objects, and of which as many change.
    fn of(objects: usize, most: usize, guarded: bool) -> Vec<(String, &'static str)> {
        let label = |text: &str| crate::model::Label::new(text).unwrap();
        let object = |at: usize, effect, risk, revert| {
            let (kind, name) = ("Thing".to_owned(), format!("n{at}"));
            let address = Address { group: String::new(), kind, namespace: String::new(), name };
            Change::new(Subject::Object(Section::Cluster, address), effect, risk, revert)
        };
        let mut changes: Vec<Change> = (0..objects)
            .flat_map(|at| {
                let gone = object(at, Effect::Removed, Risk::Deletes, Revert::CreatesNew);
                [gone, object(at + objects, Effect::Changed, Risk::Restarts, Revert::Restarts)]
            })
            .collect();
        if guarded {
            let refused = Change::new(Subject::Whole, Effect::Refused, Risk::Refused, Revert::Nothing);
            changes.push(Change { guarded, ..refused });
        }
        let cluster = ClusterReport {
            cluster: crate::model::ClusterId {
                management: label("m"),
                namespace: label("n"),
                name: label("c"),
            },
            has_namesake: false,
            owners: Vec::new(),
            release: Sides::default(),
            kubernetes: Sides::default(),
            risk: Risk::Deletes,
            changes,
            steps: Vec::new(),
            pools_at_once: 0,
            notes: Vec::new(),
        };
        reverts(&groups(&[cluster])[0], most)
    }

    #[test]
    fn what_a_revert_does_not_bring_back_is_named_or_says_where_it_is() {
        let whole = of(6, usize::MAX, false);
        assert_eq!(whole[0].0, "revert of Thing n0, Thing n1, Thing n2, Thing n3, Thing n4, Thing n5");
        assert_eq!(whole[1].0, "revert of Thing n6, Thing n7, Thing n8 and 3 more");
        let folded = of(6, 4, false);
        let expected =
            "revert of Thing n0, Thing n1, Thing n2, Thing n3 and 2 more (`stackloom diff -v` lists all)";
        assert_eq!(folded[0].0, expected);
    }

    #[test]
    fn nothing_refused_needs_a_revert_unless_it_is_merged_all_the_same() {
        let lines = of(1, usize::MAX, true);
        let expected = [
            ("revert".to_owned(), REFUSED),
            ("revert of Thing n0, if merged anyway".to_owned(), Revert::CreatesNew.words()),
        ];
        assert_eq!(lines, expected);
    }
}
