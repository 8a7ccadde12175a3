//! Opening files that may be anything.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _},
    path::Path,
};

/// Opens a plain file, or a link to one. Anything else is an error: a pipe blocks until somebody writes to it, and some
/// devices never end. The type is checked again after opening, because the file may have been replaced meanwhile.
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

#[cfg(not(unix))]
pub(in crate::io) fn without_waiting(_options: &mut OpenOptions) {}
