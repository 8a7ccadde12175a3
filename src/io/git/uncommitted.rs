//! Finds uncommitted sources, including those that git was told to ignore.

use std::{collections::BTreeSet, path::Path};

use git2::{IndexEntryExtendedFlag, IndexEntryFlag, StatusOptions};

use super::Repository;
use crate::{
    io::disk::read_file,
    note::Fault,
    world::{LOCK, look_again, unix_ends},
};

/// A file that differs from HEAD.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Uncommitted {
    /// Its path in the fleet.
    pub path: String,
    /// Whether git was told to skip it, so that `git status` does not show it.
    pub unseen: bool,
}

impl Uncommitted {
    /// The command that makes git check it again, if git was told to skip it.
    pub fn how_to_see(&self) -> Option<String> {
        self.unseen.then(|| look_again(&self.path))
    }
}

/// Whether the name of a file makes it a source.
fn is_source_name(path: &str) -> bool {
    let hidden = path.split('/').any(|part| part.starts_with('.'));
    let extension = Path::new(path).extension().and_then(|extension| extension.to_str());
    path == LOCK || !hidden && matches!(extension, Some("yaml" | "yml"))
}

impl Repository {
    /// The files at or below these paths of the fleet that differ from HEAD.
    pub fn uncommitted(&self, folders: &[String]) -> Result<Vec<Uncommitted>, Fault> {
        let mut options = StatusOptions::new();
        options.include_untracked(true).recurse_untracked_dirs(true).disable_pathspec_match(true);
        // Ignored files are read like all others, and would be released although no commit has them.
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

    /// The files in the work tree that git was told not to check.
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

    /// Whether a file in the work tree equals the one in HEAD, except for line endings.
    fn is_committed(&self, path: &str) -> Result<bool, Fault> {
        let plain = |bytes: Vec<u8>| match String::from_utf8(bytes) {
            Ok(text) => unix_ends(&text).unwrap_or(text).into_bytes(),
            Err(error) => error.into_bytes(),
        };
        let file = self.work_tree.join(format!("{}{path}", self.prefix));
        Ok(read_file(&file)?.map(plain) == self.committed(path)?.map(plain))
    }
}
