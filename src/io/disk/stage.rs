//! Changed files before they are visible: in a hidden folder of the tree's own file system, so that a rename is enough.
//!
//! No file is synced: a run that is killed loses nothing that the system has taken, and what a power cut tears apart
//! differs in content from what is meant, so the next run writes it again. A sync of each of 20,000 files would take
//! longer than everything else together.

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

/// Where changed files wait, from the root of the fleet. It may be deleted at any time.
pub(super) const STAGE: &str = "generated/.stackloom-staged";

/// What a sink has just done. A listener may show it, or end the run there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Milestone {
    /// The index of the repository is locked.
    Locked,
    /// Every changed file lies beside the tree.
    Staged,
    /// Blobs, trees and the commit are in the object database.
    Objects,
    /// The branch names the new commit.
    Reference,
    /// One more release has its tag.
    Tagged,
    /// One more file of the tree is as it is meant.
    File,
    /// The tree on disk is as it is meant.
    WorkTree,
    /// The index is as it is meant.
    Index,
}

/// Called for each step.
pub(in crate::io) type OnMilestone = Box<dyn FnMut(Milestone) -> Result<(), Fault> + Send>;

/// Files that wait. When dropped, nothing of it is left on disk.
#[derive(Debug)]
pub(super) struct Stage {
    root: PathBuf,
    lock: Option<File>,
    made_root: bool,
    open: bool,
    files: Vec<TreePath>,
}

impl Stage {
    /// An empty stage; takes the tree for itself where it exists already. Nothing is written yet, so that a run
    /// without changes needs no permission to write.
    pub(super) fn new(root: &Path) -> Result<Self, Fault> {
        let (root, files) = (root.to_path_buf(), Vec::new());
        let mut stage = Self { root, lock: None, made_root: false, open: false, files };
        if stage.tree().is_dir() {
            stage.lock = lock(&stage.tree())?;
            stage.clean()?;
        }
        Ok(stage)
    }

    /// Writes files beside the tree.
    pub(super) fn add(&mut self, files: &[&tree::File]) -> Result<(), Fault> {
        if files.is_empty() {
            return Ok(());
        }
        self.open()?;
        let first = self.files.len();
        files.par_iter().enumerate().try_for_each(|(index, file)| {
            write(&self.slot(first + index), &file.bytes).map_err(|error| cannot_write(&file.path, error))
        })?;
        self.files.extend(files.iter().map(|file| file.path.clone()));
        Ok(())
    }

    /// The files that wait.
    pub(super) fn files(&self) -> &[TreePath] {
        &self.files
    }

    /// Puts a file in its place atomically.
    pub(super) fn publish(&self, index: usize) -> Result<(), Fault> {
        let path = &self.files[index];
        fs::rename(self.slot(index), self.root.join(path.as_str())).map_err(|error| cannot_write(path, error))
    }

    /// Makes the folder, and takes the tree for itself.
    pub(super) fn open(&mut self) -> Result<(), Fault> {
        if self.open {
            return Ok(());
        }
        let failed = |error| {
            Fault::because(format!("cannot make the folder `{STAGE}`"), error)
                .hint("the disk may be full or read-only, or the folder belong to someone else")
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

    /// Removes what a run that was killed has left.
    fn clean(&self) -> Result<(), Fault> {
        match fs::remove_dir_all(self.root.join(STAGE)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Fault::because(format!("cannot remove the folder `{STAGE}`"), error)
                    .hint("it was left by a run that was killed; delete it"))
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
            // Nothing to say it to; the next run removes what is left.
            self.clean().ok();
        }
        if self.made_root {
            // Fails, as it should, once there is anything in it.
            fs::remove_dir(self.tree()).ok();
        }
        if let Some(lock) = &self.lock {
            // Closing is not enough: a process that is just being started may still hold a copy of the file.
            lock.unlock().ok();
        }
    }
}

fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    OpenOptions::new().write(true).create_new(true).open(path)?.write_all(bytes)
}

fn cannot_write(path: &TreePath, error: std::io::Error) -> Fault {
    let fault = Fault::because(format!("cannot write `{path}`"), error);
    fault.hint("what is missing is written by the next run")
}

/// Keeps a second run out of the tree. The lock is the system's own and goes with the process, however that ends.
/// Where a file system knows no such lock, there is none.
#[cfg(unix)]
fn lock(tree: &Path) -> Result<Option<File>, Fault> {
    let folder = File::open(tree).map_err(|error| Fault::because("cannot open `generated`", error))?;
    match folder.try_lock() {
        Ok(()) => Ok(Some(folder)),
        Err(TryLockError::WouldBlock) => Err(Fault::new("another stackloom is writing `generated`")
            .hint("wait until it is done, and run this again")),
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

/// A folder cannot be locked here.
#[cfg(not(unix))]
fn lock(_tree: &Path) -> Result<Option<File>, Fault> {
    Ok(None)
}
