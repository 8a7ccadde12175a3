//! Opens files of unknown type safely.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _},
    path::Path,
};

/// Opens a plain file, or a link to one. Anything else is an error: a pipe blocks until something writes to it, and some
/// devices never end. The type is checked again after opening, because the file may have been replaced in between.
pub(in crate::io) fn open(path: &Path) -> io::Result<File> {
    refuse_special(&fs::metadata(path)?)?;
    let mut options = OpenOptions::new();
    options.read(true);
    without_waiting(&mut options);
    let file = options.open(path)?;
    refuse_special(&file.metadata()?)?;
    Ok(file)
}

/// The content of a plain file, or of a link to one.
pub(in crate::io) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reports whether a file has exactly these bytes and is not executable. Its folder lists it as a regular file.
///
/// A tree has a hundred thousand files, so this makes as few system calls as possible: it checks the type once the file is
/// open, and does not follow a link that has replaced the file.
pub(super) fn holds(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    let mut options = OpenOptions::new();
    options.read(true);
    without_following(&mut options);
    let mut file = options.open(path)?;
    let found = file.metadata()?;
    refuse_special(&found)?;
    if found.len() != bytes.len() as u64 || !is_plain(&found) {
        return Ok(false);
    }
    let mut content = vec![0; bytes.len()];
    match file.read_exact(&mut content) {
        Ok(()) => Ok(content == bytes),
        // The file was truncated in the meantime.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether a file is not executable.
#[cfg(unix)]
fn is_plain(found: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    found.permissions().mode() & 0o111 == 0
}

#[cfg(not(unix))]
fn is_plain(_found: &fs::Metadata) -> bool {
    true
}

fn refuse_special(found: &fs::Metadata) -> io::Result<()> {
    if found.is_file() {
        Ok(())
    } else if found.is_dir() {
        Err(io::Error::new(io::ErrorKind::IsADirectory, "this is a folder"))
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "this is not a regular file or folder"))
    }
}

#[cfg(unix)]
pub(in crate::io) fn without_waiting(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt as _;
    options.custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
}

#[cfg(unix)]
fn without_following(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt as _;
    options.custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_NOFOLLOW);
}

#[cfg(not(unix))]
fn without_following(_options: &mut OpenOptions) {}

#[cfg(not(unix))]
pub(in crate::io) fn without_waiting(_options: &mut OpenOptions) {}
