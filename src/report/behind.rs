//! A change that is behind its base: what the base has gained since the change left it counts as taken away.

use super::{CommitsSinceBase, new_tree::After};
use crate::note::{Diagnostic, Fault, Notes, Severity, short_commit};

/// Explains the errors about files that only the base has changed since the change left it.
pub(super) fn explain(
    found: &mut Notes,
    after: &After<'_>,
    past: Option<&dyn CommitsSinceBase>,
) -> Result<(), Fault> {
    let is_error = |note: &Diagnostic| note.severity == Severity::Error;
    let Some(past) = past.filter(|_| found.iter().any(is_error)) else { return Ok(()) };
    let Some(fork) = past.base().fork else { return Ok(()) };
    let mut read = Ok(());
    found.change(|note| {
        let Some(path) = note.place.as_ref().map(|place| place.file.clone()).filter(|_| is_error(note))
        else {
            return;
        };
        let is_only_in_base = || -> Result<bool, Fault> {
            let fork = past.id_at_fork(&path)?;
            Ok(after.id_before(&path)? != fork && after.id_after(&path)? == fork)
        };
        match is_only_in_base() {
            Ok(true) => note.hints = vec![hint(&fork)],
            Ok(false) => {}
            Err(fault) => read = Err(fault),
        }
    });
    read
}

fn hint(fork: &str) -> String {
    format!(
        "HEAD is behind the base: only the base has changed this since they parted, so merging HEAD does not undo it. Rebase HEAD onto the base, or merge \
         the base into it; or compare with where they parted, the commit {}",
        short_commit(fork)
    )
}
