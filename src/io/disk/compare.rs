//! What a run changes below `generated/`: every file that it means, held against the disk.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::OnceLock,
};

use rayon::prelude::*;

use super::open;
use super::scan::{Found, Scan, is_ours_on_disk, note_foreign, note_link};
use crate::{
    io::git::{Published, tracked},
    note::{Fault, Notes},
    remove::{Before, Guard},
    tree::{Changes, File, FileChange, Part, PartId, TreePath},
};

/// The folder that is compared.
const OUTPUT: &str = "generated";

/// A comparison with the disk, part by part.
#[derive(Debug)]
pub(super) struct Comparison {
    root: PathBuf,
    scan: Scan,
    written: BTreeMap<TreePath, FileChange>,
    /// The files below `generated/` that git knows: what became of them since is damage, and is repaired.
    tracked: OnceLock<BTreeSet<String>>,
    /// Folders that are left as they are, and folders in them that are not.
    kept: BTreeMap<String, bool>,
    guard: Guard,
    /// What was found so far.
    pub(super) changes: Changes,
}

impl Comparison {
    /// Looks at the disk.
    pub(super) fn begin(root: &Path, notes: &mut Notes) -> Result<Self, Fault> {
        let scan = Scan::read(root, notes)?;
        Ok(Self {
            root: root.to_path_buf(),
            scan,
            written: BTreeMap::new(),
            tracked: OnceLock::new(),
            kept: BTreeMap::new(),
            guard: Guard::default(),
            changes: Changes::default(),
        })
    }

    /// Compares the files of a part, and remembers that they are meant.
    pub(super) fn part(&mut self, part: &Part) -> Result<Vec<FileChange>, Fault> {
        let found: Vec<FileChange> =
            part.files.par_iter().map(|file| self.file(file)).collect::<Result<_, _>>()?;
        for (file, change) in part.files.iter().zip(&found) {
            if self.written.insert(file.path.clone(), *change).is_some() {
                return Err(written_twice(&part.id, &file.path));
            }
            self.changes.record(&part.id, &file.path, *change);
        }
        self.guard.see(part, &self.changes);
        Ok(found)
    }

    fn file(&self, file: &File) -> Result<FileChange, Fault> {
        let Some(found) = self.scan.files.get(&file.path) else { return Ok(FileChange::Added) };
        let same_length = *found == Found::File { length: file.bytes.len() as u64, plain: true };
        if !same_length {
            return Ok(FileChange::Changed);
        }
        let path = self.root.join(file.path.as_str());
        match open::read(&path) {
            Ok(bytes) if bytes == file.bytes => Ok(FileChange::Unchanged),
            Ok(_) => Ok(FileChange::Changed),
            // What cannot be read may still be replaced: that asks for no more than the folder's permission.
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Ok(FileChange::Changed),
            Err(error) => Err(Fault::because(format!("cannot read `{}`", file.path), error)),
        }
    }

    /// Whether what lies where a file is to be is the program's own, or was: it begins so, or git knows the file. An
    /// empty file is ours, too. A link or a pipe never is: somebody put it there on purpose.
    fn is_ours(&self, path: &TreePath, found: Found) -> bool {
        let ours = match found {
            Found::File { length: 0, .. } => true,
            // What cannot be read begins as nothing: then git alone can tell.
            Found::File { .. } => is_ours_on_disk(&self.root, path).unwrap_or(false),
            Found::Link | Found::Special => return false,
        };
        ours || self.tracked.get_or_init(|| tracked(&self.root, OUTPUT)).contains(path.as_str())
    }

    /// Leaves a folder, or a file, as it is.
    pub(super) fn keep(&mut self, folder: &TreePath) {
        self.kept.insert(folder.as_str().to_owned(), true);
    }

    /// Does not leave a folder as it is, though it lies in one that is.
    pub(super) fn sweep(&mut self, folder: &TreePath) {
        self.kept.insert(folder.as_str().to_owned(), false);
    }

    /// Whether a path is left as it is.
    pub(super) fn is_kept(&self, path: &TreePath) -> bool {
        let said = path.folders().chain([path.as_str()]).filter_map(|folder| self.kept.get(folder));
        said.last().copied().unwrap_or(false)
    }

    /// Whether a part of this run has a file at a path.
    pub(super) fn is_written(&self, path: &TreePath) -> bool {
        self.written.contains_key(path)
    }

    /// Whether something other than a folder lies at a path.
    pub(super) fn is_on_disk(&self, path: &TreePath) -> bool {
        self.scan.files.contains_key(path)
    }

    /// Once every part is known: which of the program's own files go. What is not its own goes to `notes`.
    pub(super) fn finish(&mut self, notes: &mut Notes) -> Result<Vec<TreePath>, Fault> {
        let (mut removed, mut left) = (Vec::new(), BTreeSet::new());
        for (path, found) in &self.scan.files {
            let meant = match self.written.get(path) {
                Some(FileChange::Unchanged) => continue,
                Some(_) => true,
                None if self.is_kept(path) => {
                    left.extend(PartId::of_path(path));
                    continue;
                }
                None => false,
            };
            if meant && self.is_ours(path, *found) {
                continue;
            }
            match found {
                Found::Link => note_link(notes, path.as_str()),
                Found::Special => note_foreign(notes, path.as_str(), "this is not a regular file or folder"),
                Found::File { .. } if !meant && is_ours_on_disk(&self.root, path)? => {
                    removed.push(path.clone());
                }
                Found::File { .. } => {
                    note_foreign(notes, path.as_str(), "this file was not written by stackloom");
                }
            }
        }
        left.retain(|part| !self.changes.parts.contains_key(part));
        self.changes.left = left;
        for path in &removed {
            self.changes.record_removed(path.clone());
        }
        let text = |path: &TreePath| open::read(&self.root.join(path.as_str())).ok();
        let published = OnceLock::new();
        let published =
            |path: &TreePath| published.get_or_init(|| Published::read(&self.root)).may_have(path.as_str());
        self.guard.judge(&self.changes, Before { text: &text, published: &published }, notes);
        Ok(removed)
    }

    /// The folders that hold nothing that stays, innermost first.
    pub(super) fn empty_folders(&self, removed: &[TreePath]) -> Vec<TreePath> {
        let removed: BTreeSet<&TreePath> = removed.iter().collect();
        let staying = self.scan.files.keys().filter(|path| !removed.contains(path));
        let mut needed = BTreeSet::new();
        for path in staying.chain(self.written.keys()) {
            needed.extend(path.folders());
        }
        let empty = |folder: &&TreePath| !needed.contains(folder.as_str()) && !self.is_kept(folder);
        self.scan.folders.iter().rev().filter(empty).cloned().collect()
    }
}

fn written_twice(part: &PartId, path: &TreePath) -> Fault {
    Fault::new(format!("two parts have the file `{path}`; the second is {part:?}"))
        .hint("this is a bug of stackloom; please report it")
}
