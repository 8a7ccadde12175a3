//! Files that git tracks, and which of them are missing from the work tree on purpose.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use git2::{Index, IndexEntry, IndexEntryExtendedFlag};

use crate::{note::Fault, world::is_input};

/// The index of the repository around a folder.
struct Around {
    index: Index,
    /// The folder's path in the repository, with a slash at its end; empty at the top.
    prefix: String,
}

impl Around {
    /// Finds the index. None if there is no repository that libgit2 can read: then git confirms nothing. The error is the
    /// folder of a repository whose index cannot be read.
    fn find(root: &Path) -> Result<Option<Self>, PathBuf> {
        let found = || {
            let repository = git2::Repository::discover(root).ok()?;
            let top = repository.workdir()?.canonicalize().ok()?;
            let inside = root.canonicalize().ok()?.strip_prefix(top).ok()?.to_str()?.to_owned();
            Some((repository, if inside.is_empty() { inside } else { format!("{inside}/") }))
        };
        let Some((repository, prefix)) = found() else { return Ok(None) };
        let index = repository.index().map_err(|_| repository.path().to_path_buf())?;
        Ok(Some(Self { index, prefix }))
    }

    fn path(&self, entry: &IndexEntry) -> Option<String> {
        Some(std::str::from_utf8(&entry.path).ok()?.strip_prefix(&self.prefix)?.to_owned())
    }
}

/// The files below a folder that git tracks, by their paths from `root`.
pub(in crate::io) fn tracked(root: &Path, folder: &str) -> BTreeSet<String> {
    let Ok(Some(around)) = Around::find(root) else { return BTreeSet::new() };
    let paths = around.index.iter().filter_map(|entry| around.path(&entry));
    paths.filter(|path| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))).collect()
}

/// Refuses a sparse checkout that leaves sources out of the work tree, because they would look deleted.
pub(in crate::io) fn refuse_hidden_sources(root: &Path) -> Result<(), Fault> {
    let found = match Around::find(root) {
        Ok(found) => found,
        Err(folder) if folder.join("info/sparse-checkout").exists() => {
            return Err(Fault::new(
                "the index of this sparse checkout cannot be read, so sources may be left out",
            )
            .hint("turn off what libgit2 cannot read: `git sparse-checkout reapply --no-sparse-index`"));
        }
        Err(_) => None,
    };
    let Some(around) = found else { return Ok(()) };
    let flag = IndexEntryExtendedFlag::SKIP_WORKTREE.bits();
    let mut hidden = around.index.iter().filter(|entry| entry.flags_extended & flag != 0);
    let source = hidden.find_map(|entry| {
        let path = around.path(&entry).filter(|path| is_input(path))?;
        // A file that exists despite the flag is not hidden.
        (!root.join(&path).exists()).then_some(path)
    });
    match source {
        None => Ok(()),
        Some(path) => Err(Fault::new(format!("a sparse checkout leaves out the source `{path}`"))
            .hint("add the whole fleet: `git sparse-checkout add` with its folders, or `git sparse-checkout disable`")),
    }
}
