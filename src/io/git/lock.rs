//! The lock of the index, as git takes it: a file that only one can create.
//!
//! A process that is killed leaves the file behind. Ours are also locked in the way of the operating system, which
//! forgets that with the process: so a lock file with our mark that nobody holds is a leftover, and is taken over.

use std::{
    fs::{self, File, OpenOptions},
    io::{Read as _, Write as _},
    path::{Path, PathBuf},
};

use crate::note::Fault;

/// What our lock files hold. Git never reads a lock file that it did not make.
const MARK: &[u8] = b"locked by stackloom\n";

/// A held lock; dropping it releases it.
#[derive(Debug)]
pub(super) struct Lock {
    path: PathBuf,
    file: File,
}

impl Lock {
    /// Locks the index at a path.
    pub(super) fn take(index: &Path) -> Result<Self, Fault> {
        let mut path = index.as_os_str().to_owned();
        path.push(".lock");
        let path = PathBuf::from(path);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => {
                // Where the file system has no such locks, a leftover is for people to remove, as git's own are.
                file.try_lock().ok();
                file.write_all(MARK)
                    .map(|()| Self { path: path.clone(), file })
                    .map_err(|error| cannot_lock(&path, error))
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                take_over(&path).ok_or_else(|| held(&path))
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

/// Takes over the lock of a run that was killed; none if it is not such a one.
fn take_over(path: &Path) -> Option<Lock> {
    let mut file = OpenOptions::new().read(true).write(true).open(path).ok()?;
    let mut mark = Vec::new();
    (&mut file).take(MARK.len() as u64 + 1).read_to_end(&mut mark).ok()?;
    if mark != MARK {
        return None;
    }
    file.try_lock().ok()?;
    // Its owner may have ended in good order between the first look and now: then this is no lock any more.
    is_same_file(&file, path).then(|| Lock { path: path.to_path_buf(), file })
}

#[cfg(unix)]
fn is_same_file(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let id = |metadata: &fs::Metadata| (metadata.dev(), metadata.ino());
    matches!((&file.metadata(), &fs::symlink_metadata(path)), (Ok(a), Ok(b)) if id(a) == id(b))
}

/// Nobody can remove a file that is open here.
#[cfg(not(unix))]
fn is_same_file(_file: &File, path: &Path) -> bool {
    path.exists()
}

fn held(path: &Path) -> Fault {
    Fault::new(format!("the index is locked: `{}` exists", path.display()))
        .hint("wait until the other git command is done, and run this again")
        .hint("if no git command runs in this repository, one was killed: delete that file")
}

fn cannot_lock(path: &Path, error: std::io::Error) -> Fault {
    Fault::because(format!("cannot lock the index with `{}`", path.display()), error)
        .hint("the disk may be full or read-only, or the repository belong to someone else")
}
