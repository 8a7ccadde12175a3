//! Finds a commit, branch or tag that the user names.

use crate::{
    generate::Failure,
    io::git::{Repository, Revision},
    note::Notes,
};

/// Opens a revision. An unknown name is an error of the input; `given` is the argument to quote in the message.
pub(super) fn named(
    repository: &Repository,
    name: &str,
    given: &str,
    notes: &mut Notes,
) -> Result<Revision, Failure> {
    if repository.knows(name) {
        return Ok(repository.revision(name)?);
    }
    notes
        .error("unknown-revision", None, format!("`{given}`: git knows no such commit, branch or tag"))
        .hint("name one, such as `HEAD~1` or `origin/main`")
        .hint("a shallow clone has few of them: run `git fetch --unshallow`");
    Err(Failure::from(notes.halted()))
}
