//! What a run may not take away: a cluster that did not leave in its steps.
//!
//! The tree is a function of the sources alone, so this is no input of it but a look at what it is about to replace,
//! where a sink knows that anyway. It sees a step left out, and a definition gone too early. A definition that is gone
//! without any step deletes nothing (its Cluster is protected), so that is a warning. What a pool or an addon was
//! before is not looked at here: that is for a comparison of two trees. A cluster that goes to another management
//! cluster must not run there before its machines are known there.

use std::collections::BTreeMap;

use crate::{
    note::{Notes, Place},
    render::{is_paused, is_protected},
    tree::{Changes, FileChange, Part, PartId, TreePath},
};

/// Where the object of a cluster is in its folder.
const CLUSTER: &str = "/cluster/cluster.yaml";

/// A look at what a run takes away, once all that it makes has been seen.
#[derive(Debug, Default)]
pub struct Guard {
    /// By namespace and name of a cluster, the files that this run has of it, one for each management cluster.
    made: BTreeMap<(String, String), Vec<Made>>,
}

#[derive(Debug)]
struct Made {
    path: TreePath,
    management: String,
    paused: bool,
}

impl Guard {
    /// Remembers a part of the run.
    pub fn see(&mut self, part: &Part) {
        let PartId::Cluster { management, namespace, cluster } = &part.id else { return };
        let Some(file) = part.files.iter().find(|file| file.path.as_str().ends_with(CLUSTER)) else { return };
        let made = Made {
            path: file.path.clone(),
            management: management.clone(),
            paused: is_paused(&String::from_utf8_lossy(&file.bytes)),
        };
        self.made.entry((namespace.clone(), cluster.clone())).or_default().push(made);
    }

    /// Looks at the files that the run removes; `old` gives what they hold.
    pub fn judge(&self, changes: &Changes, old: &dyn Fn(&TreePath) -> Option<Vec<u8>>, notes: &mut Notes) {
        let removed = changes.files.iter().filter(|(_, change)| **change == FileChange::Removed);
        for (path, _) in removed.filter(|(path, _)| path.as_str().ends_with(CLUSTER)) {
            let Some(part @ PartId::Cluster { .. }) = PartId::of_path(path) else { continue };
            let text = old(path).unwrap_or_default();
            let protected = is_protected(&String::from_utf8_lossy(&text));
            match self.destination(&part, changes) {
                Some(there) if protected => judge_move(path, &part, there, notes),
                _ => judge(path, &part, changes.parts.contains_key(&part), protected, notes),
            }
        }
    }

    /// Where a cluster that leaves its management cluster turns up new.
    fn destination(&self, part: &PartId, changes: &Changes) -> Option<&Made> {
        let PartId::Cluster { namespace, cluster, .. } = part else { return None };
        let made = self.made.get(&(namespace.clone(), cluster.clone()))?;
        made.iter().find(|made| changes.files.get(&made.path) == Some(&FileChange::Added))
    }
}

fn judge_move(path: &TreePath, part: &PartId, there: &Made, notes: &mut Notes) {
    let PartId::Cluster { management, namespace, cluster } = part else { return };
    let (place, new) = (Place::file(path.as_str()), &there.management);
    if there.paused {
        notes
            .warning(
                "moved",
                place,
                format!("the cluster `{namespace}/{cluster}` goes from `{management}` to `{new}`, and git moves only its files: it goes on running in `{management}`"),
            )
            .hint(format!("its objects go with `clusterctl move`, before `{new}` leaves standby: docs/management-clusters.md has the steps"));
    } else {
        notes
            .error(
                "moved",
                place,
                format!("the cluster `{namespace}/{cluster}` would be built a second time: it runs in `{management}`, and `{new}` knows nothing of its machines"),
            )
            .hint(format!("to move it, set `standby: true` for `{new}` in stackloom.yaml first: docs/management-clusters.md has the steps"))
            .hint(format!("to leave it where it is, put `managementCluster: {management}` back"));
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
