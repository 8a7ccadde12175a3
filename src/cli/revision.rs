//! A commit, branch or tag that a user names.

use crate::{
    generate::Failure,
    io::git::{Repository, Revision},
    note::Notes,
};

/// What a revision has. A name that git does not know is the user's error; `given` says how it was given.
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
        .hint("a shallow clone knows few of them: `git fetch --unshallow`");
    Err(Failure::from(notes.halted()))
}
