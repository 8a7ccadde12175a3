//! Changed files before they are visible. They are in a hidden folder on the tree's own file system, so a rename is enough.
//!
//! No file is synced. If a run is killed, everything that the system has accepted survives. After a power cut, damaged files
//! differ from the intended content, so the next run writes them again. A sync of each of 20,000 files would take longer
//! than everything else together.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::Write as _,
    path::{Path, PathBuf},
};

use rayon::prelude::*;

use crate::{
    note::Fault,
    tree::{self, TreePath},
};

/// The staging folder, relative to the root of the fleet. It may be deleted at any time.
pub(super) const STAGE: &str = "generated/.stackloom-staged";

/// A step that a sink has just completed. A listener may show it, or end the run there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Milestone {
    /// The index of the repository is locked.
    Locked,
    /// Every changed file is staged.
    Staged,
    /// Blobs, trees and the commit are in the object database.
    Objects,
    /// The branch points to the new commit.
    Reference,
    /// One more release is tagged.
    Tagged,
    /// One more file of the tree is up to date.
    File,
    /// The tree on disk is up to date.
    WorkTree,
    /// The index is up to date.
    Index,
}

/// Called after each milestone.
pub(in crate::io) type OnMilestone = Box<dyn FnMut(Milestone) -> Result<(), Fault> + Send>;

/// Staged files. When dropped, nothing is left on disk.
#[derive(Debug)]
pub(super) struct Stage {
    root: PathBuf,
    lock: Option<File>,
    made_root: bool,
    open: bool,
    files: Vec<TreePath>,
}

impl Stage {
    /// Creates an empty stage, and locks the tree if it already exists. Nothing is written yet, so a run without changes
    /// needs no write permission.
    pub(super) fn new(root: &Path) -> Result<Self, Fault> {
        let (root, files) = (root.to_path_buf(), Vec::new());
        let mut stage = Self { root, lock: None, made_root: false, open: false, files };
        if stage.tree().is_dir() {
            stage.lock = lock(&stage.tree())?;
            stage.clean()?;
        }
        Ok(stage)
    }

    pub(super) fn add(&mut self, files: &[&tree::File]) -> Result<(), Fault> {
        if files.is_empty() {
            return Ok(());
        }
        self.open()?;
        let first = self.files.len();
        files.par_iter().enumerate().try_for_each(|(index, file)| {
            write(&self.slot(first + index), file.bytes()).map_err(|error| cannot_write(&file.path, error))
        })?;
        self.files.extend(files.iter().map(|file| file.path.clone()));
        Ok(())
    }

    pub(super) fn files(&self) -> &[TreePath] {
        &self.files
    }

    /// Renames a staged file into place atomically.
    pub(super) fn publish(&self, index: usize) -> Result<(), Fault> {
        let path = &self.files[index];
        fs::rename(self.slot(index), self.root.join(path.as_str())).map_err(|error| cannot_write(path, error))
    }

    /// Creates the staging folder, and locks the tree.
    pub(super) fn open(&mut self) -> Result<(), Fault> {
        if self.open {
            return Ok(());
        }
        let failed = |error| {
            Fault::because(format!("cannot create the folder `{STAGE}`"), error)
                .hint("check that the disk is neither full nor read-only, and that you may write to it")
        };
        if !self.tree().is_dir() {
            fs::create_dir(self.tree()).map_err(failed)?;
            self.made_root = true;
        }
        if self.lock.is_none() {
            self.lock = lock(&self.tree())?;
        }
        fs::create_dir(self.root.join(STAGE)).map_err(failed)?;
        self.open = true;
        Ok(())
    }

    /// Removes what a killed run has left.
    fn clean(&self) -> Result<(), Fault> {
        match fs::remove_dir_all(self.root.join(STAGE)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Fault::because(format!("cannot remove the folder `{STAGE}`"), error)
                    .hint("delete it: a run that was killed left it"))
            }
            _ => Ok(()),
        }
    }

    fn tree(&self) -> PathBuf {
        self.root.join("generated")
    }

    fn slot(&self, index: usize) -> PathBuf {
        self.root.join(STAGE).join(index.to_string())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if self.open {
            // An error cannot be reported here; the next run removes the rest.
            self.clean().ok();
        }
        if self.made_root {
            // This fails, as intended, if the folder is not empty.
            fs::remove_dir(self.tree()).ok();
        }
        if let Some(lock) = &self.lock {
            // Closing is not enough: a process that is just starting may still hold a copy of the file.
            lock.unlock().ok();
        }
    }
}

fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    OpenOptions::new().write(true).create_new(true).open(path)?.write_all(bytes)
}

fn cannot_write(path: &TreePath, error: std::io::Error) -> Fault {
    let fault = Fault::because(format!("cannot write `{path}`"), error);
    fault.hint("the next run writes what is missing")
}

/// Locks the tree against a second run. The operating system releases the lock when the process ends, for whatever reason. A
/// file system without such locks gives none.
#[cfg(unix)]
fn lock(tree: &Path) -> Result<Option<File>, Fault> {
    let folder = File::open(tree).map_err(|error| Fault::because("cannot open `generated`", error))?;
    match folder.try_lock() {
        Ok(()) => Ok(Some(folder)),
        Err(TryLockError::WouldBlock) => Err(Fault::new("another stackloom is writing `generated`")
            .hint("wait until it is done, then run this again")),
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

/// Folders cannot be locked on this platform.
#[cfg(not(unix))]
fn lock(_tree: &Path) -> Result<Option<File>, Fault> {
    Ok(None)
}
