//! Guards clusters whose generated files left git without the steps of a removal, and that are generated again. Git did not
//! delete them, so they may still run.

use super::{
    changed_cluster::{ChangedCluster, judge_change},
    class_kinds::Classes,
    guard::{UNDEFINED, note_undefined},
};
use crate::{
    note::{About, Notes, Place, short_commit},
    tree::{PartId, TreePath},
};

/// Judges a Cluster that is back, given its last text and its new one. `commit` removed its files.
pub fn judge_returned(path: &TreePath, [old, new]: [&str; 2], commit: &str, notes: &mut Notes) {
    let Some(part) = PartId::of_path(path) else { return };
    let cluster = ChangedCluster::Written([old.into(), new.into()]);
    let mut found = judge_change((path, &part), &cluster, &Classes::default());
    found.change(|note| {
        note.hint(removed_by(commit));
    });
    notes.append(found);
}

/// A hint for messages about a cluster that is back.
pub fn removed_by(commit: &str) -> String {
    format!(
        "the commit {} removed its generated files, but the cluster may still run; if it no longer exists, define the new one \
         under another name, or restore the old definition and remove it in steps first (`stackloom remove`)",
        short_commit(commit)
    )
}

/// Reports a cluster whose definition left git after its generated files.
pub fn note_gone(path: &TreePath, notes: &mut Notes) {
    let Some(part) = PartId::of_path(path) else { return };
    note_undefined(path, &part, notes);
}

/// A hint for messages about a cluster that has no definition any more.
pub fn removed_in_commit(commit: &str) -> String {
    format!("the commit {} removed its generated files: git deleted nothing", short_commit(commit))
}

/// Reports a cluster of which the last files leave git, after its Cluster object did. `commit` removed that one while it was
/// protected; without it, nothing tells whether the cluster was removed in steps.
pub fn note_lost(path: &TreePath, commit: Option<&str>, notes: &mut Notes) {
    let Some(PartId::Cluster { management, namespace, cluster }) = PartId::of_path(path) else { return };
    let runs = format!("it keeps running in `{management}`, unmanaged");
    let message = match commit {
        Some(_) => format!("the cluster `{namespace}/{cluster}` {UNDEFINED}: {runs}"),
        None => format!(
            "the cluster `{namespace}/{cluster}` {UNDEFINED}, and nothing shows that it was removed in steps: the base has files of it, \
             but not its Cluster object; unless somebody deleted it, {runs}"
        ),
    };
    let note = notes.error("abandoned", Place::file(path.as_str()), message).about(About::Cluster);
    if let Some(commit) = commit {
        note.hint(removed_in_commit(commit));
    }
    note.hint(
        "to keep it, restore the definition and run `stackloom generate`: the cluster itself has not changed",
    )
    .hint("to delete it, do the same, and run `stackloom remove`");
}
