//! Finds when a step was merged.

use std::collections::BTreeMap;

use super::observe::Context;
use crate::{
    io::{
        forge::Forge,
        git::{Changed, Repository},
    },
    note::{Fault, Notes},
    pull_request,
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
    let mut forge = None;
    for (commit, changed) in steps {
        if !repository.commit_of(&commit)?.is_own() {
            continue;
        }
        let forge = forge.get_or_insert_with(|| of(repository, context));
        let merged = match forge {
            Ok(Some(forge)) => forge.merged(&commit),
            Ok(None) => Ok(None),
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

/// The forge of the git remote, if there is one.
fn of<'a>(repository: &Repository, context: &Context<'a>) -> Result<Option<Forge<'a>>, Fault> {
    let remote = repository.remote()?;
    let address =
        pull_request::address(&remote.url, context.fleet.model.fleet.forge.as_ref()).map_err(Fault::new)?;
    let printer = context.printer;
    address.map(|address| Forge::open(&address, |words| printer.talk(words))).transpose()
}
