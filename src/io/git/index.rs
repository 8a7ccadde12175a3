//! Git's index: what git assumes about the work tree. Only the entries of committed files are ever changed.
//!
//! The new index is a changed copy, renamed over the old one while the lock is held. libgit2 drops extensions that only make
//! git faster (untracked cache, file system monitor); git creates them again. libgit2 refuses extensions that it would have
//! to understand.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use git2::{Index, IndexEntry, IndexEntryExtendedFlag, Oid};

use super::{
    Repository,
    lock::Lock,
    sources::Sources,
    stat::{blank, looked_at},
    trees::{Entry, FILE},
};
use crate::{io::known_to_git::refuse_hidden_sources, note::Fault, tree::TreePath};

/// The index of a work tree, locked.
pub(super) struct LockedIndex {
    path: PathBuf,
    copy: PathBuf,
    prefix: String,
    _lock: Lock,
}

pub(super) struct IntendedEntries<'a> {
    pub(super) files: &'a BTreeMap<TreePath, Oid>,
    /// Files that were just written, so that the index is out of date for them.
    pub(super) fresh: &'a BTreeSet<TreePath>,
    /// Files that differ from the work tree or are missing from it; git must detect that itself.
    pub(super) unlike: &'a BTreeSet<TreePath>,
    /// Reports whether this run leaves a path as it is.
    pub(super) leave: &'a dyn Fn(&TreePath) -> bool,
    /// A file of the fleet outside the tree that was written too, by its path.
    pub(super) beside: Option<(&'a str, Oid)>,
    /// The sources, if they are committed too.
    pub(super) sources: Option<&'a Sources>,
}

impl LockedIndex {
    /// Locks the index, and checks that no sparse checkout hides sources.
    pub(super) fn take(repository: &Repository) -> Result<Self, Fault> {
        let path = repository.inner.path().join("index");
        let lock = Lock::take(&path)?;
        let copy = path.with_file_name("index.stackloom");
        let locked = Self { path, copy, prefix: repository.prefix.clone(), _lock: lock };
        locked.clean();
        refuse_hidden_sources(&repository.work_tree().join(&repository.prefix))?;
        Ok(locked)
    }

    /// The entries below `generated/`, by paths from the root of the fleet.
    pub(super) fn entries(&self) -> Result<Vec<(String, Oid)>, Fault> {
        let index = self.open(&self.path)?;
        let inside = |path: &[u8]| lossy(path.get(self.prefix.len()..).unwrap_or_default());
        Ok(self.below(&index).map(|entry| (inside(&entry.path), entry.id)).collect())
    }

    pub(super) fn update(&self, meant: &IntendedEntries, root: &Path) -> Result<(), Fault> {
        if self.path.exists() {
            fs::copy(&self.path, &self.copy)
                .map_err(|error| Fault::because("cannot copy the index", error))?;
        }
        let mut index = self.open(&self.copy)?;
        let (stale, good) = self.sort_out(&index, meant);
        let missing: Vec<_> = meant.files.iter().filter(|(path, _)| !good.contains(*path)).collect();
        let sources =
            meant.sources.map(|sources| self.sort_out_sources(&index, sources, root)).unwrap_or_default();
        if stale.is_empty() && missing.is_empty() && meant.beside.is_none() && sources.is_empty() {
            self.clean();
            return Ok(());
        }
        let failed = |error| Fault::because("cannot write the index", error);
        for (path, _) in &sources {
            let whole = format!("{}{path}", self.prefix);
            index.remove_path(Path::new(&whole)).map_err(failed)?;
        }
        for (path, found) in sources {
            let Some(entry) = found else { continue };
            let looked = meant.sources.and_then(|sources| sources.as_read.get(&path));
            let known = looked.map_or_else(blank, copied);
            let known = IndexEntry { mode: entry.mode.cast_unsigned(), ..known };
            index.add(&self.entry(&path, entry.id, known)).map_err(failed)?;
        }
        for (path, stage) in stale {
            index.remove(Path::new(&path), stage).map_err(failed)?;
        }
        for (path, id) in missing {
            let known = if meant.unlike.contains(path) { blank() } else { looked_at(path.as_str(), root)? };
            index.add(&self.entry(path.as_str(), *id, known)).map_err(failed)?;
        }
        if let Some((path, id)) = meant.beside {
            let whole = format!("{}{path}", self.prefix);
            // A file in conflict has up to three entries; the new commit resolves the conflict.
            index.remove_path(Path::new(&whole)).map_err(failed)?;
            index.add(&self.entry(path, id, looked_at(path, root)?)).map_err(failed)?;
        }
        index.write().map_err(failed)?;
        fs::rename(&self.copy, &self.path).map_err(|error| Fault::because("cannot replace the index", error))
    }

    /// The entries to remove, with their stages, and the paths that are already correct.
    fn sort_out(&self, index: &Index, meant: &IntendedEntries) -> (Vec<(String, i32)>, BTreeSet<TreePath>) {
        let (mut stale, mut good) = (Vec::new(), BTreeSet::new());
        for entry in self.below(index) {
            let Some(path) = self.tree_path(&entry.path) else { continue };
            if (meant.leave)(&path) {
                continue;
            }
            let stage = i32::from(entry.flags >> 12 & 3);
            let wanted = meant.files.get(&path);
            if stage != 0 || wanted.is_none() {
                stale.push((lossy(&entry.path), stage));
            } else if wanted == Some(&entry.id)
                && i32::try_from(entry.mode) == Ok(FILE)
                && entry.flags_extended & (INTENT_TO_ADD | SKIP_WORKTREE) == 0
                && !meant.fresh.contains(&path)
            {
                good.insert(path);
            }
        }
        (stale, good)
    }

    /// The sources whose entries differ from the commit, each with its new entry, if any. As after `git commit --all`, none
    /// of them stays staged.
    fn sort_out_sources(
        &self,
        index: &Index,
        sources: &Sources,
        root: &Path,
    ) -> Vec<(String, Option<Entry>)> {
        let mut known: BTreeMap<String, (bool, Entry)> = BTreeMap::new();
        let mut hidden = BTreeSet::new();
        for entry in index.iter() {
            let Some(path) =
                std::str::from_utf8(&entry.path).ok().and_then(|path| path.strip_prefix(&self.prefix))
            else {
                continue;
            };
            if entry.flags_extended & SKIP_WORKTREE != 0 {
                hidden.insert(path.to_owned());
                continue;
            }
            let stage = entry.flags >> 12 & 3;
            let is_plain = stage == 0 && entry.flags_extended & INTENT_TO_ADD == 0;
            let found = Entry { id: entry.id, mode: entry.mode.cast_signed() };
            let both = known.entry(path.to_owned()).or_insert((is_plain, found));
            both.0 &= is_plain;
        }
        let gone = known.keys().filter(|path| sources.is_gone(path, root)).map(|path| (path.clone(), None));
        let is_other = |path: &String, entry: &Entry| known.get(path) != Some(&(true, *entry));
        let other =
            sources.meant.iter().filter(|(path, entry)| is_other(path, entry) && !hidden.contains(*path));
        let other = other.map(|(path, entry)| (path.clone(), Some(*entry)));
        gone.chain(other).collect()
    }

    fn open(&self, path: &Path) -> Result<Index, Fault> {
        Index::open(path).map_err(|error| {
            let hint = if error.message().contains("extension") {
                "turn off what libgit2 cannot write: `git update-index --no-split-index`, `git sparse-checkout reapply --no-sparse-index`"
            } else {
                "`git status` may tell more; `git read-tree HEAD` rebuilds the index"
            };
            Fault::because(format!("cannot read the index `{}`", self.path.display()), error).hint(hint)
        })
    }

    /// The entries below `generated/`, and an entry for `generated` itself.
    fn below<'a>(&self, index: &'a Index) -> impl Iterator<Item = IndexEntry> + use<'a> {
        let top = format!("{}generated", self.prefix).into_bytes();
        let folder = [top.as_slice(), b"/"].concat();
        index.iter().filter(move |entry| entry.path == top || entry.path.starts_with(&folder))
    }

    fn tree_path(&self, path: &[u8]) -> Option<TreePath> {
        TreePath::parse(std::str::from_utf8(path).ok()?.strip_prefix(&self.prefix)?)
    }

    fn entry(&self, path: &str, id: Oid, mut known: IndexEntry) -> IndexEntry {
        known.path = format!("{}{path}", self.prefix).into_bytes();
        known.id = id;
        known
    }

    /// Removes what a killed run has left. The lock is held, so no other process owns these files.
    fn clean(&self) {
        fs::remove_file(&self.copy).ok();
        fs::remove_file(self.copy.with_extension("stackloom.lock")).ok();
    }
}

impl Drop for LockedIndex {
    fn drop(&mut self) {
        self.clean();
    }
}

const INTENT_TO_ADD: u16 = IndexEntryExtendedFlag::INTENT_TO_ADD.bits();
const SKIP_WORKTREE: u16 = IndexEntryExtendedFlag::SKIP_WORKTREE.bits();

fn lossy(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}

/// Copies an entry without its path.
fn copied(entry: &IndexEntry) -> IndexEntry {
    let IndexEntry { ctime, mtime, dev, ino, mode, uid, gid, file_size, id, flags, flags_extended, path: _ } =
        entry;
    IndexEntry {
        ctime: *ctime,
        mtime: *mtime,
        dev: *dev,
        ino: *ino,
        mode: *mode,
        uid: *uid,
        gid: *gid,
        file_size: *file_size,
        id: *id,
        flags: *flags,
        flags_extended: *flags_extended,
        path: Vec::new(),
    }
}
