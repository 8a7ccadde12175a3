//! What the index knows of a file in the work tree, beside its content.

use std::{fs, path::Path};

use git2::{IndexEntry, IndexTime, Oid};

use super::trees::FILE;
use crate::note::Fault;

/// What it knows once it has looked at a file.
pub(super) fn looked_at(path: &str, root: &Path) -> Result<IndexEntry, Fault> {
    let metadata = fs::symlink_metadata(root.join(path))
        .map_err(|error| Fault::because(format!("cannot look at `{path}`"), error))?;
    Ok(known(&metadata))
}

/// What git wants to know of a file, so that its next look need not read it. It keeps the lower 32 bits of each.
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

/// Nothing is known here; git finds out by reading.
#[cfg(not(unix))]
fn known(_metadata: &fs::Metadata) -> IndexEntry {
    blank()
}

/// Nothing: git finds out by reading.
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
