//! Errors that no change of the report repeats. They may be of no cluster at all, and without them a reader would take the
//! report for complete.

use std::collections::BTreeSet;

use super::{Group, findings::reasons, risk::Risk};
use crate::note::{Diagnostic, Notes, Severity};

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
    pub(super) fn of(notes: &Notes, groups: &[Group]) -> Self {
        let mut found = Self::default();
        if notes.errors() == 0 {
            return found;
        }
        let changes = groups.iter().flat_map(|group| &group.changes).map(|found| &found.change);
        let refused = changes.filter(|change| change.risk == Risk::Refused);
        let reasons: BTreeSet<String> = refused.flat_map(reasons).collect();
        for cause in notes.causes() {
            let note = &cause.note;
            let is_repeated = || reasons.iter().any(|reason| reason.contains(&note.message));
            if note.severity != Severity::Error || is_repeated() {
                continue;
            }
            found.count += 1;
            if found.shown.len() < SHOWN {
                found.shown.push(words(note));
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
