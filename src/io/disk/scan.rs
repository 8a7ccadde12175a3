//! What lies below `generated/`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Read as _,
    path::Path,
};

use rayon::prelude::*;
use walkdir::{DirEntry, WalkDir};

use super::{open::open, reason, stage::STAGE};
use crate::{
    note::{Fault, Notes, Place},
    tree::{HEADER, TreePath, is_ours},
    world::is_head_release,
};

/// Something that lies below `generated/` and is no folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A file of this length; plain: nobody may execute it.
    File { length: u64, plain: bool },
    /// A symbolic link, to whatever.
    Link,
    /// A device, a socket, a pipe.
    Special,
}

/// Everything below `generated/`, save numbered releases, which are input, and what an earlier run staged.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub(super) files: BTreeMap<TreePath, Found>,
    pub(super) folders: BTreeSet<TreePath>,
}

impl Scan {
    /// Looks at the disk. A `generated` that is no folder goes to `notes`.
    pub(super) fn read(root: &Path, notes: &mut Notes) -> Result<Self, Fault> {
        let mut scan = Self::default();
        let top = root.join("generated");
        match fs::symlink_metadata(&top) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(scan),
            Err(error) => return Err(Fault::because("cannot look at `generated`", error)),
            Ok(found) if found.is_symlink() => {
                note_link(notes, "generated");
                return Ok(scan);
            }
            Ok(found) if !found.is_dir() => {
                note_foreign(notes, "generated", "`generated` is a file");
                return Ok(scan);
            }
            Ok(_) => {}
        }
        let mut files = Vec::new();
        let mut entries = WalkDir::new(&top).min_depth(1).into_iter();
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(|error| unreadable(root, &error))?;
            let Some(path) = tree_path(root, entry.path()) else {
                let shown = entry.path().strip_prefix(root).unwrap_or(entry.path());
                note_foreign(notes, &shown.to_string_lossy(), "this was not written by stackloom");
                if entry.file_type().is_dir() {
                    entries.skip_current_dir();
                }
                continue;
            };
            if entry.file_type().is_dir() {
                if is_none_of_ours(&path) {
                    entries.skip_current_dir();
                } else {
                    scan.folders.insert(path);
                }
                continue;
            }
            files.push((path, entry));
        }
        let look = |(path, entry): (TreePath, DirEntry)| {
            let metadata = entry.metadata().map_err(|error| unreadable(root, &error))?;
            Ok((path, kind(&metadata)))
        };
        scan.files = files.into_par_iter().map(look).collect::<Result<_, Fault>>()?;
        Ok(scan)
    }
}

fn kind(metadata: &fs::Metadata) -> Found {
    if metadata.is_symlink() {
        Found::Link
    } else if metadata.is_file() {
        Found::File { length: metadata.len(), plain: is_plain(metadata) }
    } else {
        Found::Special
    }
}

#[cfg(unix)]
fn is_plain(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o111 == 0
}

#[cfg(not(unix))]
fn is_plain(_metadata: &fs::Metadata) -> bool {
    true
}

/// Whether a folder is left alone: a numbered release, or what was staged.
fn is_none_of_ours(folder: &TreePath) -> bool {
    folder.as_str() == STAGE || is_numbered_release(folder)
}

/// Whether a path is the folder of a numbered release: input that nothing here writes or removes.
pub(in crate::io) fn is_numbered_release(folder: &TreePath) -> bool {
    folder
        .as_str()
        .strip_prefix("generated/releases/")
        .is_some_and(|name| !name.contains('/') && !is_head_release(name))
}

/// Whether a path lies in a numbered release.
pub(in crate::io) fn is_in_numbered_release(path: &TreePath) -> bool {
    let inside = path.as_str().strip_prefix("generated/releases/").and_then(|rest| rest.split_once('/'));
    inside.is_some_and(|(name, _)| !is_head_release(name))
}

/// Whether the file at a path begins as the program's own files do.
pub(super) fn is_ours_on_disk(root: &Path, path: &TreePath) -> Result<bool, Fault> {
    let mut start = Vec::with_capacity(HEADER.len());
    open(&root.join(path.as_str()))
        .and_then(|file| file.take(HEADER.len() as u64).read_to_end(&mut start))
        .map_err(|error| Fault::because(format!("cannot read `{path}`"), error))?;
    Ok(is_ours(&start))
}

fn tree_path(root: &Path, path: &Path) -> Option<TreePath> {
    let parts: Option<Vec<&str>> = path.strip_prefix(root).ok()?.iter().map(|part| part.to_str()).collect();
    TreePath::parse(&parts?.join("/"))
}

fn unreadable(root: &Path, error: &walkdir::Error) -> Fault {
    let path = error.path().map(|path| path.strip_prefix(root).unwrap_or(path).display().to_string());
    let why = error.io_error().map_or_else(|| error.to_string(), reason);
    Fault::new(format!("cannot look at `{}`: {why}", path.unwrap_or_default()))
}

/// Says that something below `generated/` is not the program's own.
pub(in crate::io) fn note_foreign(notes: &mut Notes, path: &str, what: &str) {
    notes
        .error("foreign-file", Place::file(path), what)
        .hint("move it out of `generated/`, or delete it; what goes with a cluster belongs in `clusters/<cluster>.d/`");
}

/// Says that a link stands in the tree.
pub(in crate::io) fn note_link(notes: &mut Notes, path: &str) {
    notes
        .error("linked-output", Place::file(path), "this is a symbolic link")
        .hint("remove the link: stackloom writes only to real files below `generated/`");
}
