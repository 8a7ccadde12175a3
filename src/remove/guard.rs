//! What a run may not take away: a cluster that did not leave in its steps.
//!
//! The tree is a function of the sources alone, so this is no input of it but a look at what it is about to replace,
//! where a sink knows that anyway. It sees a step left out, and a definition gone too early. A definition that is gone
//! without any step deletes nothing (its Cluster is protected), so that is a warning. What a pool or an addon was
//! before is not looked at here: that is for a comparison of two trees.

use crate::{
    note::{Notes, Place},
    render::is_protected,
    tree::{Changes, FileChange, PartId, TreePath},
};

/// Looks at the files that a run removes; `old` gives what they hold.
pub fn guard(changes: &Changes, old: &dyn Fn(&TreePath) -> Option<Vec<u8>>, notes: &mut Notes) {
    let removed = changes.files.iter().filter(|(_, change)| **change == FileChange::Removed);
    for (path, _) in removed.filter(|(path, _)| path.as_str().ends_with("/cluster/cluster.yaml")) {
        let Some(part @ PartId::Cluster { .. }) = PartId::of_path(path) else { continue };
        let text = old(path).unwrap_or_default();
        let protected = is_protected(&String::from_utf8_lossy(&text));
        judge(path, &part, changes.parts.contains_key(&part), protected, notes);
    }
}

fn judge(path: &TreePath, part: &PartId, defined: bool, protected: bool, notes: &mut Notes) {
    let PartId::Cluster { management, namespace, cluster } = part else { return };
    let place = Place::file(path.as_str());
    match (defined, protected) {
        // Deleted after it was detached: the way it should be.
        (true, false) => {}
        (true, true) => {
            notes
                .error(
                    "removal",
                    place,
                    format!("the cluster `{namespace}/{cluster}` would be deleted without having been detached: Flux would leave it behind"),
                )
                .hint("write `step: detach`, generate, commit, and wait until that is applied; `stackloom remove` does it step by step");
        }
        (false, false) => {
            notes
                .error(
                    "removal",
                    place,
                    format!("the definition of the cluster `{namespace}/{cluster}` is gone before its step `delete`: its credentials would not wait for its infrastructure"),
                )
                .hint("put the definition back, and run `stackloom remove` again: the definition goes last");
        }
        (false, true) => {
            notes
                .warning(
                    "abandoned",
                    place,
                    format!("no definition speaks of the cluster `{namespace}/{cluster}` any more: it goes on running in `{management}`, and nobody looks after it"),
                )
                .hint("to keep it, put the definition back: nothing has changed by then")
                .hint("to delete it, put the definition back and run `stackloom remove`");
        }
    }
}
