//! Warnings about the two sides of a comparison.

use std::collections::BTreeMap;

use super::{
    Report,
    commits_since_base::{ANNOUNCED, missing_history},
    new_tree::After,
};
use crate::{
    compare::{Archive, ClusterChange, ClusterOutcome, Comparison, Live},
    note::{Extent, Fault, Notes, Place, Severity},
    tree::{FileChange, is_ours},
    world::release_of,
};

/// Says which changed clusters no export shows.
pub(super) fn note_unexported(compared: &Comparison, live: &Live<'_>, notes: &mut Notes) {
    let is_judged =
        |one: &&ClusterChange| matches!(one.outcome, ClusterOutcome::Judged(_)) && one.before.is_some();
    let judged = compared.clusters.iter().filter(is_judged);
    let missing: Vec<String> =
        judged.filter(|one| !live.is_exported(&one.cluster)).map(|one| one.cluster.to_string()).collect();
    if missing.is_empty() {
        return;
    }
    let shown = missing.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
    let more = if missing.len() > 3 { ", …" } else { "" };
    let (clusters, are) = if missing.len() == 1 { ("cluster", "is") } else { ("clusters", "are") };
    let count = missing.len();
    let message = format!("{count} changed {clusters} {are} not in the files of --before: {shown}{more}");
    notes
        .warning("not-exported", None, message)
        .hint("they are judged by what was generated before; export them to judge what runs");
}

/// Warns about removed files that the program did not write: `generate` refuses to delete them.
pub(super) fn note_foreign(after: &After<'_>, before: &dyn Archive, notes: &mut Notes) -> Result<(), Fault> {
    let [old, _] = after.listings();
    let removed = after.changes().files.iter().filter(|(_, change)| **change == FileChange::Removed);
    for path in removed.map(|(path, _)| path.as_str()).filter(|path| release_of(path).is_none()) {
        let Some(id) = old.get(path) else { continue };
        if !is_ours(before.read(id)?.as_bytes()) {
            let message = "stackloom did not write this file of the base: the report shows it as removed, and `generate` refuses to \
                           delete it";
            notes
                .warning("foreign-file", Place::file(path), message)
                .hint("move it out of `generated/`; objects for a cluster belong in `clusters/<cluster>.d/`");
        }
    }
    Ok(())
}

/// The codes of messages that decide how to read a report.
const CODES: [&str; 5] = ["empty-base", "foreign-file", "not-exported", "other-version", "unrelated-base"];

/// The maximum number of messages of one code among these.
const SHOWN: usize = 5;

/// The messages of a run that decide how to read its report, except those that the report has by itself.
pub(super) fn cautions(notes: &Notes) -> Vec<String> {
    let mut of_code: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for note in notes.iter() {
        let place = note.place.as_ref().map(|place| format!("`{place}`: ")).unwrap_or_default();
        if CODES.contains(&note.code) {
            of_code.entry(note.code).or_default().push(format!("{place}{}", note.message));
        } else if let (Severity::Warning, Some(hint)) = (note.severity, note.hints.first())
            && (note.extent == Extent::Commit || note.code == ANNOUNCED)
        {
            let code = if note.code == ANNOUNCED { ANNOUNCED } else { "in-commit" };
            of_code.entry(code).or_default().push(format!("{}; {hint}", note.message));
        }
        if let Some(missing) = &note.missing_commit {
            of_code.entry("history").or_insert_with(|| vec![missing_history(missing)]);
        }
    }
    let shown = |mut all: Vec<String>| {
        let more = all.len().saturating_sub(SHOWN);
        all.truncate(SHOWN);
        if more > 0 {
            all.push(format!("{more} more such messages are in the output of the run"));
        }
        all
    };
    of_code.into_values().flat_map(shown).collect()
}

impl Report {
    /// The warnings to read before the report.
    pub(super) fn warnings(&self) -> impl Iterator<Item = &str> {
        self.cautions.iter().chain(&self.stale).map(String::as_str)
    }
}
