//! Errors that no change of the report repeats. They may be of no cluster at all, and without them a reader would take the
//! report for complete.

use std::collections::BTreeSet;

use super::{LeftClusters, change::Effect, cluster::ClusterReport};
use crate::{
    check::without_secret,
    note::{Diagnostic, Notes, RepeatedId, Severity},
};

/// The maximum number of errors that are repeated.
const SHOWN: usize = 20;

/// Errors in the definitions that no change of the report repeats.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StrayErrors {
    /// Their number. The same error in many definitions counts once.
    pub count: usize,
    /// The first of them, each with its place.
    pub shown: Vec<String>,
}

impl StrayErrors {
    /// Finds the errors that the reasons for refusals do not repeat.
    pub(super) fn of(notes: &Notes, clusters: &[ClusterReport], left: &LeftClusters) -> Self {
        let mut found = Self::default();
        if notes.errors() == 0 {
            return found;
        }
        let is_left = |one: &&ClusterReport| {
            one.changes.iter().any(|change| change.effect == Effect::Refused && !change.guarded)
        };
        let repeated: BTreeSet<RepeatedId> =
            clusters.iter().filter(is_left).flat_map(|one| left.errors(&one.cluster)).copied().collect();
        let is_stray = |note: &Diagnostic| {
            note.severity == Severity::Error && !note.repeated_id.is_some_and(|id| repeated.contains(&id))
        };
        let mut stray = Notes::new();
        stray.append_if(notes.clone(), is_stray);
        for cause in stray.causes() {
            found.count += 1;
            if found.shown.len() < SHOWN {
                found.shown.push(words(&without_secret(&cause.note)));
            }
        }
        found
    }
}

fn words(note: &Diagnostic) -> String {
    match &note.place {
        Some(place) => format!("`{place}`: {}", note.message),
        None => note.message.clone(),
    }
}
