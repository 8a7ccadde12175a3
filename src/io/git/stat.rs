//! The metadata of a file in an index entry, besides its content.

use std::{fs, path::Path};

use git2::{IndexEntry, IndexTime, Oid};

use super::trees::FILE;
use crate::note::Fault;

/// The index entry for a file on disk.
pub(super) fn looked_at(path: &str, root: &Path) -> Result<IndexEntry, Fault> {
    let metadata = fs::symlink_metadata(root.join(path))
        .map_err(|error| Fault::because(format!("cannot access `{path}`"), error))?;
    Ok(known(&metadata))
}

/// The metadata that lets git skip reading the file next time. Git keeps the lower 32 bits of each value.
#[cfg(unix)]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "as git does")]
fn known(metadata: &fs::Metadata) -> IndexEntry {
    use std::os::unix::fs::MetadataExt as _;
    IndexEntry {
        ctime: IndexTime::new(metadata.ctime() as i32, metadata.ctime_nsec() as u32),
        mtime: IndexTime::new(metadata.mtime() as i32, metadata.mtime_nsec() as u32),
        dev: metadata.dev() as u32,
        ino: metadata.ino() as u32,
        uid: metadata.uid(),
        gid: metadata.gid(),
        file_size: metadata.len() as u32,
        ..blank()
    }
}

/// No metadata is available here, so git reads the file.
#[cfg(not(unix))]
fn known(_metadata: &fs::Metadata) -> IndexEntry {
    blank()
}

/// An entry without metadata, so that git reads the file.
pub(super) fn blank() -> IndexEntry {
    let never = IndexTime::new(0, 0);
    IndexEntry {
        ctime: never,
        mtime: never,
        dev: 0,
        ino: 0,
        mode: FILE.cast_unsigned(),
        uid: 0,
        gid: 0,
        file_size: 0,
        id: Oid::ZERO_SHA1,
        flags: 0,
        flags_extended: 0,
        path: Vec::new(),
    }
}
