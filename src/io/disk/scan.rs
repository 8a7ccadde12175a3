//! Lists the contents of `generated/`.

use std::{collections::BTreeSet, fs, io::Read as _, path::Path};

use rayon::prelude::*;

use super::{open::open, reason, stage::STAGE};
use crate::{
    note::{Fault, Notes, Place},
    tree::{HEADER, TreePath, is_ours},
    world::is_head_release,
};

/// Something below `generated/` that is not a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TreeEntry {
    File,
    /// A symbolic link, whatever it points to.
    Link,
    /// A device, a socket or a pipe.
    Special,
}

/// Everything below `generated/`, except numbered releases, which are input, and files that an earlier run staged.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// Sorted by path.
    pub(super) files: Vec<(TreePath, TreeEntry)>,
    pub(super) folders: BTreeSet<TreePath>,
}

impl Scan {
    /// Reads the disk. A `generated` that is not a folder is reported in `notes`.
    pub(super) fn read(root: &Path, notes: &mut Notes) -> Result<Self, Fault> {
        let top = root.join("generated");
        match fs::symlink_metadata(&top) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(Fault::because("cannot access `generated`", error)),
            Ok(found) if found.is_symlink() => {
                note_link(notes, "generated");
                return Ok(Self::default());
            }
            Ok(found) if !found.is_dir() => {
                note_foreign(notes, "generated", "`generated` is a file");
                return Ok(Self::default());
            }
            Ok(_) => {}
        }
        let Listed { mut files, folders, foreign } = list(&top, "generated")?;
        files.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        for path in foreign {
            note_foreign(notes, &path, "this was not written by stackloom");
        }
        Ok(Self { files, folders: folders.into_iter().collect() })
    }

    /// The index of a path in `files`.
    pub(super) fn place(&self, path: &TreePath) -> Option<usize> {
        self.files.binary_search_by(|(found, _)| found.cmp(path)).ok()
    }
}

/// The contents of a folder and of all folders below it.
#[derive(Default)]
struct Listed {
    files: Vec<(TreePath, TreeEntry)>,
    folders: Vec<TreePath>,
    /// Paths that none of the program's own files can have.
    foreign: Vec<String>,
}

/// Lists a folder; its subfolders are listed in parallel.
fn list(folder: &Path, path: &str) -> Result<Listed, Fault> {
    let failed = |error: std::io::Error| Fault::new(format!("cannot access `{path}`: {}", reason(&error)));
    let (mut listed, mut inner) = (Listed::default(), Vec::new());
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let (name, kind) = (entry.file_name(), entry.file_type().map_err(failed)?);
        let path = format!("{path}/{}", name.to_string_lossy());
        match name.to_str().and_then(|_| TreePath::parse(&path)) {
            None => listed.foreign.push(path),
            Some(path) if kind.is_dir() && is_none_of_ours(&path) => {}
            Some(path) if kind.is_dir() => inner.push((entry.path(), path)),
            Some(path) if kind.is_file() => listed.files.push((path, TreeEntry::File)),
            Some(path) if kind.is_symlink() => listed.files.push((path, TreeEntry::Link)),
            Some(path) => listed.files.push((path, TreeEntry::Special)),
        }
    }
    let below: Vec<Listed> =
        inner.par_iter().map(|(folder, path)| list(folder, path.as_str())).collect::<Result<_, _>>()?;
    listed.folders.extend(inner.into_iter().map(|(_, path)| path));
    for mut below in below {
        listed.files.append(&mut below.files);
        listed.folders.append(&mut below.folders);
        listed.foreign.append(&mut below.foreign);
    }
    listed.foreign.sort_unstable();
    Ok(listed)
}

/// Whether a folder is left alone: a numbered release, or the staging folder.
fn is_none_of_ours(folder: &TreePath) -> bool {
    folder.as_str() == STAGE || is_numbered_release(folder)
}

/// Whether a path is the folder of a numbered release, which is input and never written or removed here.
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

/// Whether the file at a path begins with the program's own header.
pub(super) fn is_ours_on_disk(root: &Path, path: &TreePath) -> Result<bool, Fault> {
    Ok(is_ours(&start(root, path)?))
}

/// Whether the file at a path begins with the program's own header, or is empty.
pub(super) fn is_ours_or_empty(root: &Path, path: &TreePath) -> Result<bool, Fault> {
    let start = start(root, path)?;
    Ok(start.is_empty() || is_ours(&start))
}

fn start(root: &Path, path: &TreePath) -> Result<Vec<u8>, Fault> {
    let mut start = Vec::with_capacity(HEADER.len());
    open(&root.join(path.as_str()))
        .and_then(|file| file.take(HEADER.len() as u64).read_to_end(&mut start))
        .map_err(|error| Fault::because(format!("cannot read `{path}`"), error))?;
    Ok(start)
}

/// Reports a path below `generated/` that the program did not write.
pub(in crate::io) fn note_foreign(notes: &mut Notes, path: &str, what: &str) {
    notes.error("foreign-file", Place::file(path), what).hint(
        "move it out of `generated/`, or delete it; objects for a cluster belong in `clusters/<cluster>.d/`",
    );
}

/// Reports a symbolic link below `generated/`.
pub(in crate::io) fn note_link(notes: &mut Notes, path: &str) {
    notes
        .error("linked-output", Place::file(path), "this is a symbolic link")
        .hint("remove the link: stackloom writes only to real files below `generated/`");
}
