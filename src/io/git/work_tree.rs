//! Separate work trees for proposals.
//!
//! A killed run leaves its work tree behind: the folder, and perhaps only half of git's entry for it. So a run first writes a
//! record into the git folder, and keeps it locked. The operating system releases the lock when the process ends, for whatever
//! reason: a record whose lock is free belongs to a run that is over, and the next run removes what it names.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

use super::Repository;
use crate::{io::disk::Workspace, note::Fault};

/// The prefix of a record. The folder of the work tree, and so git's entry for it, have the same name as the record.
const PREFIX: &str = "stackloom-propose-";

impl Repository {
    /// Creates a separate work tree of a commit. It is removed on drop or, if the process is killed, by the next call.
    pub fn work_tree_of(&self, commit: &str) -> Result<WorkTree<'_>, Fault> {
        let failed = |error| Fault::because("cannot create a folder for the proposal", error);
        remove_left(self.inner.commondir())
            .map_err(|error| Fault::because("cannot look for the work trees of earlier runs", error))?;
        let record = Record::create(self.inner.commondir()).map_err(failed)?;
        let folder = tempfile::Builder::new().prefix(&record.name).rand_bytes(0).tempdir_in(&record.parent);
        let folder = folder.map_err(failed)?;
        let tree = WorkTree { repository: self, folder: folder.keep(), _record: record };
        let shown = tree.folder.to_string_lossy().into_owned();
        self.git(
            &["worktree", "add", "--quiet", "--detach", &shown, commit],
            "cannot create a work tree for the proposal",
        )?;
        Ok(tree)
    }
}

/// The record of a work tree. Dropping it removes it.
struct Record {
    path: PathBuf,
    name: String,
    /// The parent of the work tree's folder.
    parent: PathBuf,
    lock: File,
}

impl Record {
    fn create(git: &Path) -> io::Result<Self> {
        let parent = std::path::absolute(std::env::temp_dir())?;
        loop {
            let file = tempfile::Builder::new().prefix(PREFIX).rand_bytes(12).tempfile_in(git)?;
            let (lock, path) = file.keep()?;
            // On a file system without such locks, other runs cannot lock it either, and leave it alone.
            lock.lock().ok();
            // Before it was locked, another run may have removed it as a leftover.
            if !path.exists() {
                continue;
            }
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let record = Self { path, name, parent, lock };
            let text = record.parent.to_str().ok_or_else(|| io::Error::other("its path is not UTF-8"))?;
            (&record.lock).write_all(text.as_bytes())?;
            return Ok(record);
        }
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        // If this fails, the next run removes it.
        fs::remove_file(&self.path).ok();
        // Closing is not enough: a process that is just starting may still hold a copy of the file.
        self.lock.unlock().ok();
    }
}

/// Removes what killed runs left.
fn remove_left(git: &Path) -> io::Result<()> {
    for entry in fs::read_dir(git)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else { continue };
        // Another run may just be removing it.
        let Ok(mut record) = OpenOptions::new().read(true).write(true).open(entry.path()) else { continue };
        if record.try_lock().is_err() {
            continue;
        }
        let mut parent = String::new();
        record.read_to_string(&mut parent)?;
        // The record of a run that was killed before it created a folder is empty.
        let is_removed = parent.is_empty() || remove(git, &Path::new(&parent).join(name)).is_ok();
        // The record stays if, for example, the folder belongs to another user: their next run removes it.
        if is_removed {
            fs::remove_file(entry.path()).or_else(is_gone)?;
        }
    }
    Ok(())
}

/// Removes a work tree, and git's entry for it. `git worktree remove` refuses those that are incomplete.
fn remove(git: &Path, folder: &Path) -> io::Result<()> {
    fs::remove_dir_all(folder).or_else(is_gone)?;
    let name = folder.file_name().unwrap_or_default();
    fs::remove_dir_all(git.join("worktrees").join(name)).or_else(is_gone)
}

fn is_gone(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// A work tree that is removed on drop.
pub struct WorkTree<'a> {
    repository: &'a Repository,
    folder: PathBuf,
    _record: Record,
}

impl std::fmt::Debug for WorkTree<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkTree").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl WorkTree<'_> {
    /// The fleet in the work tree, at its path in the repository.
    pub fn workspace(&self) -> Result<Workspace, Fault> {
        Workspace::open(&self.folder.join(Path::new(&self.repository.prefix)))
    }
}

impl Drop for WorkTree<'_> {
    fn drop(&mut self) {
        // If this fails, the folder stays in the system's folder for temporary files, and git forgets the work tree once it is gone.
        remove(self.repository.inner.commondir(), &self.folder).ok();
    }
}
