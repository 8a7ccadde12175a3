//! Finds when a step was merged.

use std::collections::BTreeMap;

use super::{health::forge, observe::Context};
use crate::{
    io::git::{Changed, Repository},
    note::{Fault, Notes},
};

/// Counts steps from when they were merged. A merge commit or a squashed commit has that time. A commit of the program itself has
/// the time of the proposal if it was merged by fast-forward, so the forge is asked.
pub(super) fn count_from_merge(
    changed: &mut BTreeMap<String, Changed>,
    repository: &Repository,
    context: &Context<'_>,
    notes: &mut Notes,
) -> Result<(), Fault> {
    let mut steps: BTreeMap<String, Vec<&mut Changed>> = BTreeMap::new();
    for one in changed.values_mut() {
        steps.entry(one.commit.clone()).or_default().push(one);
    }
    let mut opened = None;
    for (commit, changed) in steps {
        if !repository.commit_of(&commit)?.is_own() {
            continue;
        }
        let opened = opened.get_or_insert_with(|| forge(repository, context.fleet, context.printer));
        let merged = match opened {
            Ok(forge) => forge.merged(&commit),
            Err(fault) => Err(Fault::new(fault.to_string())),
        };
        match merged {
            Ok(Some(time)) => {
                for one in changed {
                    one.time = one.time.max(time);
                }
            }
            Ok(None) => warn(&commit, "the forge does not know", notes),
            Err(why) => warn(&commit, &why.to_string(), notes),
        }
    }
    Ok(())
}

fn warn(commit: &str, why: &str, notes: &mut Notes) {
    let message = format!(
        "cannot tell when {} was merged: {why}; `settle` and `soak` count from when it was committed",
        crate::cli::printer::short_id(commit)
    );
    notes.warning("merge-time", None, message).hint("merge requests with a merge commit, or squash them");
}
