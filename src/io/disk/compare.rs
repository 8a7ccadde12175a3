//! What a run changes below `generated/`: each of its files, compared with the disk.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::OnceLock,
};

use rayon::prelude::*;

use super::open;
use super::scan::{Found, Scan, is_ours_on_disk, is_ours_or_empty, note_foreign, note_link};
use crate::{
    io::known::{Published, tracked},
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
    /// What became of each file of the scan; none where no part has it.
    fates: Vec<Option<FileChange>>,
    /// The files that were not there.
    added: BTreeSet<TreePath>,
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
            fates: vec![None; scan.files.len()],
            scan,
            added: BTreeSet::new(),
            tracked: OnceLock::new(),
            kept: BTreeMap::new(),
            guard: Guard::default(),
            changes: Changes::default(),
        })
    }

    /// Compares the files of parts, and remembers that they are meant.
    pub(super) fn parts(&mut self, parts: &[Part]) -> Result<Vec<Vec<FileChange>>, Fault> {
        let compare = |part: &Part| part.files.iter().map(|file| self.file(file)).collect();
        let found: Vec<Vec<_>> = parts.par_iter().map(compare).collect::<Result<_, Fault>>()?;
        parts.iter().zip(found).map(|(part, found)| self.take(part, &found)).collect()
    }

    /// Remembers what became of the files of a part.
    fn take(&mut self, part: &Part, found: &[(FileChange, Option<usize>)]) -> Result<Vec<FileChange>, Fault> {
        for (file, (change, place)) in part.files.iter().zip(found) {
            let is_first = match place {
                Some(place) => self.fates[*place].replace(*change).is_none(),
                None => self.added.insert(file.path.clone()),
            };
            if !is_first {
                return Err(written_twice(&part.id, &file.path));
            }
        }
        let changes: Vec<FileChange> = found.iter().map(|(change, _)| *change).collect();
        self.changes
            .record_part(&part.id, part.files.iter().map(|file| &file.path).zip(changes.iter().copied()));
        self.guard.see(part, &self.changes);
        Ok(changes)
    }

    /// What becomes of a file, and its place in the scan.
    fn file(&self, file: &File) -> Result<(FileChange, Option<usize>), Fault> {
        let Some(place) = self.scan.place(&file.path) else { return Ok((FileChange::Added, None)) };
        let change = match self.scan.files[place].1 {
            Found::Link | Found::Special => FileChange::Changed,
            Found::File => match open::holds(&self.root.join(file.path.as_str()), &file.bytes) {
                Ok(true) => FileChange::Unchanged,
                Ok(false) => FileChange::Changed,
                // What cannot be read may still be replaced: that asks for no more than the folder's permission.
                Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => FileChange::Changed,
                Err(error) => return Err(Fault::because(format!("cannot read `{}`", file.path), error)),
            },
        };
        Ok((change, Some(place)))
    }

    /// Whether what lies where a file is to be is the program's own, or was: it begins so, or git knows the file. An
    /// empty file is ours, too. A link or a pipe never is: somebody put it there on purpose.
    fn is_ours(&self, path: &TreePath, found: Found) -> bool {
        let ours = match found {
            // Of what cannot be read, git alone can tell.
            Found::File => is_ours_or_empty(&self.root, path).unwrap_or(false),
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
        self.added.contains(path) || self.scan.place(path).is_some_and(|place| self.fates[place].is_some())
    }

    /// Whether something other than a folder lies at a path.
    pub(super) fn is_on_disk(&self, path: &TreePath) -> bool {
        self.scan.place(path).is_some()
    }

    /// Once every part is known: which of the program's own files go. What is not its own goes to `notes`.
    pub(super) fn finish(&mut self, notes: &mut Notes) -> Result<Vec<TreePath>, Fault> {
        let (mut removed, mut left) = (Vec::new(), BTreeSet::new());
        for ((path, found), fate) in self.scan.files.iter().zip(&self.fates) {
            let meant = match fate {
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
                Found::File if !meant && is_ours_on_disk(&self.root, path)? => {
                    removed.push(path.clone());
                }
                Found::File => {
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
        let staying = self.scan.files.iter().map(|(path, _)| path).filter(|path| !removed.contains(path));
        let mut needed = BTreeSet::new();
        for path in staying.chain(&self.added) {
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
