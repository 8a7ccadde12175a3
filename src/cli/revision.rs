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
    let note = notes
        .error("unknown-revision", None, format!("`{given}`: git knows no such commit, branch or tag"))
        .hint("name one, such as `HEAD~1` or `origin/main`");
    if repository.is_shallow() {
        note.hint("this clone is shallow: `git fetch --unshallow` fetches the rest of its history; in CI, clone all of it: `fetch-depth: 0` with actions/checkout, `GIT_DEPTH: \"0\"` with GitLab");
    }
    if let Some((remote, branch)) = name.split_once('/').filter(|(remote, _)| repository.has_remote(remote)) {
        note.hint(format!("fetch the branch: `git fetch {remote} {branch}:refs/remotes/{remote}/{branch}`"));
    }
    Err(Failure::from(notes.halted()))
}
