//! Warnings about the two sides of a comparison.

use super::new_tree::After;
use crate::{
    compare::{Archive, ClusterChange, ClusterOutcome, Comparison, Live},
    note::{Fault, Notes, Place},
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
