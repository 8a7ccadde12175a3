//! The lock of the index, as git takes it: a file that only one process can create.
//!
//! A killed process leaves the file behind. Our lock files name their process, and are also locked by the operating system,
//! which releases the lock with the process. So an unlocked file with our mark is a leftover, and is taken over.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
};

use crate::{io::disk::without_waiting, note::Fault};

/// The first words of our lock files; the process ID follows. Git never reads a lock file that it did not create.
const MARK: &str = "locked by stackloom";

/// A held lock; dropping it releases it.
#[derive(Debug)]
pub(super) struct Lock {
    path: PathBuf,
    file: File,
}

impl Lock {
    pub(super) fn take(index: &Path) -> Result<Self, Fault> {
        let mut path = index.as_os_str().to_owned();
        path.push(".lock");
        let path = PathBuf::from(path);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => {
                // On a file system without such locks, the user must remove a leftover, as with git's own.
                file.try_lock().ok();
                mark(&mut file).map_err(|error| cannot_lock(&path, error))?;
                Ok(Self { path, file })
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                take_over(&path).map_err(|held| note_held(&path, &held))
            }
            Err(error) => Err(cannot_lock(&path, error)),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // If this fails, the file is a leftover with our mark, and the next run takes it over.
        fs::remove_file(&self.path).ok();
        self.file.unlock().ok();
    }
}

/// The owner of a lock that cannot be taken.
#[derive(Debug, PartialEq, Eq)]
enum LockOwner {
    /// Another program, or the lock has just been released.
    ByOther,
    /// A run that is still active.
    ByRun(String),
    /// A run that may or may not be active: the file system has no locks.
    Unknown(String),
}

fn mark(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{MARK}, process {}", std::process::id())
}

/// Takes over the lock of a killed run.
fn take_over(path: &Path) -> Result<Lock, LockOwner> {
    let by_other = |_| LockOwner::ByOther;
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    without_waiting(&mut options);
    let mut file = options.open(path).map_err(by_other)?;
    let mut text = String::new();
    (&mut file).take(100).read_to_string(&mut text).map_err(by_other)?;
    let process = text.trim_end().strip_prefix(MARK).ok_or(LockOwner::ByOther)?;
    let whose = format!("stackloom{process}");
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(LockOwner::ByRun(whose)),
        Err(TryLockError::Error(_)) => return Err(LockOwner::Unknown(whose)),
    }
    // If its owner ended between opening the file and locking it, the file is no longer a lock.
    if !is_same_file(&file, path) {
        return Err(LockOwner::ByOther);
    }
    // Without the mark it is still a lock, only without a known owner.
    mark(&mut file).ok();
    Ok(Lock { path: path.to_path_buf(), file })
}

#[cfg(unix)]
pub(super) fn is_same_file(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let id = |metadata: &fs::Metadata| (metadata.dev(), metadata.ino());
    matches!((&file.metadata(), &fs::symlink_metadata(path)), (Ok(a), Ok(b)) if id(a) == id(b))
}

/// On this platform, an open file cannot be removed.
#[cfg(not(unix))]
pub(super) fn is_same_file(_file: &File, path: &Path) -> bool {
    path.exists()
}

fn note_held(path: &Path, held: &LockOwner) -> Fault {
    let shown = path.display();
    match held {
        LockOwner::ByOther => Fault::new(format!("the index is locked: `{shown}` exists"))
            .hint("wait until the other git command is done, then run this again")
            .hint("if no git command runs in this repository, one was killed: delete that file"),
        LockOwner::ByRun(whose) => Fault::new(format!("the index is locked: another run is using it ({whose})"))
            .hint("wait until it is done, then run this again; a run that was killed does not block the next one"),
        LockOwner::Unknown(whose) => {
            Fault::new(format!("the index is locked: `{shown}` was left, or is held, by {whose}"))
                .hint("its file system cannot tell whether that process still runs, on this machine or another one")
                .hint("wait until it is done; if there is no such process any more, delete that file and run this again")
        }
    }
}

fn cannot_lock(path: &Path, error: std::io::Error) -> Fault {
    Fault::because(format!("cannot lock the index with `{}`", path.display()), error)
        .hint("check that the disk is neither full nor read-only, and that you may write to the repository")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_taken_over_and_what_is_held_says_by_whom() {
        let folder = tempfile::tempdir().unwrap();
        let (index, file) = (folder.path().join("index"), folder.path().join("index.lock"));
        let own = format!("stackloom, process {}", std::process::id());
        // The marks of this version and of the previous one.
        for left in ["locked by stackloom, process 1\n", "locked by stackloom\n"] {
            fs::write(&file, left).unwrap();
            let lock = Lock::take(&index).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), format!("locked by {own}\n"));
            assert_eq!(take_over(&file).unwrap_err(), LockOwner::ByRun(own.clone()));
            let reported = Lock::take(&index).unwrap_err();
            assert!(reported.to_string().contains(&own), "{reported}");
            drop(lock);
            assert!(!file.exists());
        }
        fs::write(&file, "").unwrap();
        assert_eq!(take_over(&file).unwrap_err(), LockOwner::ByOther);
        assert!(file.exists());
    }
}
