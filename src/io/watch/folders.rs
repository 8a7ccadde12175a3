//! Finds the folders that hold sources.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use crate::{
    note::Fault,
    world::{CHART_VALUES, LOCK, is_head_release},
};

/// The longest chain of links to follow; the limit is the same as on Linux.
const HOPS: usize = 40;

/// Sets a watch on a folder.
type Set<'a> = dyn FnMut(&Path) -> Result<(), Fault> + 'a;

/// The folders found so far, as paths without links.
pub(super) struct Folders<'a> {
    root: &'a Path,
    set: &'a mut Set<'a>,
    found: BTreeSet<PathBuf>,
}

impl<'a> Folders<'a> {
    /// Finds every folder of a fleet in which a change may concern a source. `set` is called for each folder before its
    /// entries are read: later changes are reported by the watch, earlier ones are found by reading.
    pub(super) fn walk(root: &'a Path, set: &'a mut Set<'a>) -> Result<BTreeSet<PathBuf>, Fault> {
        let mut folders = Self { root, set, found: BTreeSet::new() };
        folders.watch(root)?;
        for file in ["stackloom.yaml", LOCK] {
            folders.entry(&root.join(file))?;
        }
        for top in ["stacks", "clusters", "rollouts", CHART_VALUES] {
            folders.entry(&root.join(top))?;
        }
        folders.releases()?;
        Ok(folders.found)
    }

    /// Watches a folder once. Returns whether it was not watched before.
    fn watch(&mut self, folder: &Path) -> Result<bool, Fault> {
        let new = self.found.insert(folder.to_path_buf());
        if new {
            (self.set)(folder)?;
        }
        Ok(new)
    }

    /// Watches a folder and the folders in it.
    fn folder(&mut self, folder: &Path) -> Result<(), Fault> {
        let Ok(folder) = folder.canonicalize() else { return Ok(()) };
        // The reader refuses links that lead elsewhere.
        let inside = folder.strip_prefix(self.root);
        let none =
            inside.is_err() || inside.is_ok_and(|at| at.starts_with("generated") || at.starts_with(".git"));
        if none || !self.watch(&folder)? {
            return Ok(());
        }
        self.inside(&folder)
    }

    fn inside(&mut self, folder: &Path) -> Result<(), Fault> {
        // The reader reports unreadable folders.
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
            if !hidden && entry.file_type().is_ok_and(|kind| !kind.is_file()) {
                self.entry(&entry.path())?;
            }
        }
        Ok(())
    }

    /// Watches the folder that an entry leads to. If the entry is a link, every folder on the way to its target is watched
    /// too.
    fn entry(&mut self, path: &Path) -> Result<(), Fault> {
        let mut path = path.to_path_buf();
        for _ in 0..HOPS {
            let Ok(target) = fs::read_link(&path) else { break };
            let Some(folder) = path.parent().map(Path::to_path_buf) else { break };
            path = folder.join(target);
            self.nearest(&path)?;
        }
        if path.is_dir() { self.folder(&path) } else { Ok(()) }
    }

    /// Watches the folder that contains, or would contain, the target of a link: the nearest one that exists.
    fn nearest(&mut self, path: &Path) -> Result<(), Fault> {
        let there = path.ancestors().skip(1).find_map(|folder| folder.canonicalize().ok());
        match there {
            Some(folder) if folder.starts_with(self.root) => self.watch(&folder).map(drop),
            _ => Ok(()),
        }
    }

    /// Watches the numbered releases. They are never reached through links; everything else below `generated/` is output.
    fn releases(&mut self) -> Result<(), Fault> {
        let mut folder = self.root.to_path_buf();
        for part in ["generated", "releases"] {
            folder.push(part);
            if !fs::symlink_metadata(&folder).is_ok_and(|found| found.is_dir()) {
                return Ok(());
            }
            self.watch(&folder)?;
        }
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let head = is_head_release(&entry.file_name().to_string_lossy());
            if !head && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.release(&entry.path())?;
            }
        }
        Ok(())
    }

    fn release(&mut self, folder: &Path) -> Result<(), Fault> {
        self.watch(folder)?;
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.release(&entry.path())?;
            }
        }
        Ok(())
    }
}
