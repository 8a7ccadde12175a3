//! What of the sources is not committed, though git may have been told to look away.

use std::{collections::BTreeSet, path::Path};

use git2::{IndexEntryExtendedFlag, IndexEntryFlag, StatusOptions};

use super::Repository;
use crate::{
    io::disk::read_file,
    note::Fault,
    world::{LOCK, look_again, unix_ends},
};

/// A file that is not as HEAD has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Uncommitted {
    /// Its path in the fleet.
    pub path: String,
    /// Whether git was told to look away from it, so that `git status` does not have it.
    pub unseen: bool,
}

impl Uncommitted {
    /// How git is had to look at it, where it was told not to.
    pub fn how_to_see(&self) -> Option<String> {
        self.unseen.then(|| look_again(&self.path))
    }
}

/// Whether a file would be read as a source, by its name.
fn is_source_name(path: &str) -> bool {
    let hidden = path.split('/').any(|part| part.starts_with('.'));
    let extension = Path::new(path).extension().and_then(|extension| extension.to_str());
    path == LOCK || !hidden && matches!(extension, Some("yaml" | "yml"))
}

impl Repository {
    /// Files below folders of the fleet, or files, that are not as HEAD has them.
    pub fn uncommitted(&self, folders: &[String]) -> Result<Vec<Uncommitted>, Fault> {
        let mut options = StatusOptions::new();
        options.include_untracked(true).recurse_untracked_dirs(true).disable_pathspec_match(true);
        // What git ignores is read like the rest, and would be released though no commit has it.
        options.include_ignored(true).recurse_ignored_dirs(true);
        for folder in folders {
            options.pathspec(format!("{}{folder}", self.prefix));
        }
        let statuses = self
            .inner
            .statuses(Some(&mut options))
            .map_err(|error| Fault::because("cannot tell what is not committed", error))?;
        let path = |bytes: &[u8]| {
            let path = String::from_utf8_lossy(bytes).into_owned();
            path.strip_prefix(&self.prefix).map(str::to_owned).unwrap_or(path)
        };
        let paths = statuses.iter().map(|entry| (entry.status().is_ignored(), path(entry.path_bytes())));
        let seen = paths.filter(|(ignored, path)| !ignored || is_source_name(path));
        let mut found: BTreeSet<_> = seen.map(|(_, path)| Uncommitted { path, unseen: false }).collect();
        for path in self.overlooked(folders)? {
            if !found.iter().any(|one| one.path == path) && !self.is_committed(&path)? {
                found.insert(Uncommitted { path, unseen: true });
            }
        }
        Ok(found.into_iter().collect())
    }

    /// The files that git does not look at in the work tree, because it was told so.
    pub(super) fn overlooked(&self, folders: &[String]) -> Result<Vec<String>, Fault> {
        let index = self.inner.index().map_err(|error| Fault::because("cannot read the index", error))?;
        let is_hidden = |entry: &git2::IndexEntry| {
            entry.flags & IndexEntryFlag::VALID.bits() != 0
                || entry.flags_extended & IndexEntryExtendedFlag::SKIP_WORKTREE.bits() != 0
        };
        let within = |path: &str| {
            folders.iter().any(|folder| {
                path.strip_prefix(folder.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
        };
        let hidden = index.iter().filter(is_hidden);
        let paths = hidden.filter_map(|entry| {
            Some(std::str::from_utf8(&entry.path).ok()?.strip_prefix(&self.prefix)?.to_owned())
        });
        Ok(paths.filter(|path| within(path)).collect())
    }

    /// Whether the work tree has a file as HEAD has it, but for line ends.
    fn is_committed(&self, path: &str) -> Result<bool, Fault> {
        let plain = |bytes: Vec<u8>| match String::from_utf8(bytes) {
            Ok(text) => unix_ends(&text).unwrap_or(text).into_bytes(),
            Err(error) => error.into_bytes(),
        };
        let file = self.work_tree.join(format!("{}{path}", self.prefix));
        Ok(read_file(&file)?.map(plain) == self.committed(path)?.map(plain))
    }
}
