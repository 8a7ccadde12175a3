//! Determines what a run changes below `generated/`, by comparing each file with the disk.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use rayon::prelude::*;

use super::open;
use super::scan::{Scan, TreeEntry, is_ours_on_disk, is_ours_or_empty, note_foreign, note_link};
use crate::{
    compare::cluster_folder,
    io::known_to_git::{Committed, Now, Published, Trace, former_definitions, tracked},
    note::{Diagnostic, Fault, Notes, Severity},
    remove::{Before, Former, Guard, note_gone, removed_by, removed_in_commit},
    render::{CLUSTER_FILE, is_cluster_file},
    tree::{Changes, File, FileChange, Part, PartId, TreePath},
};

/// The folder that is compared.
const OUTPUT: &str = "generated";

/// A comparison with the disk, part by part.
pub(super) struct DiskComparison {
    root: PathBuf,
    scan: Scan,
    /// The outcome for each file of the scan; None if no part contains it.
    fates: Vec<Option<FileChange>>,
    /// Files that did not exist.
    added: BTreeSet<TreePath>,
    /// The files below `generated/` that git tracks. Any difference from them is damage, which is repaired.
    tracked: OnceLock<BTreeSet<String>>,
    /// Folders that are left as they are (true), and folders inside them that are not (false).
    kept: BTreeMap<String, bool>,
    guard: Guard,
    /// The last commit, and the clusters that the history lost.
    committed: OnceLock<Committed>,
    /// Whether files that git has are missing on the disk.
    is_incomplete: bool,
    /// The changes as the guard judges them: whatever is missing on the disk is as git has it.
    judged: Changes,
    /// The changes found so far.
    pub(super) changes: Changes,
}

impl fmt::Debug for DiskComparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiskComparison").field("root", &self.root).finish_non_exhaustive()
    }
}

impl DiskComparison {
    /// Scans the disk.
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
            committed: OnceLock::new(),
            is_incomplete: false,
            judged: Changes::default(),
            changes: Changes::default(),
        })
    }

    /// Compares the files of parts, and records that they belong to the tree.
    pub(super) fn parts(&mut self, parts: &[Part]) -> Result<Vec<Vec<FileChange>>, Fault> {
        let compare = |part: &Part| part.files.iter().map(|file| self.file(file)).collect();
        let found: Vec<Vec<_>> = parts.par_iter().map(compare).collect::<Result<_, Fault>>()?;
        parts.iter().zip(found).map(|(part, found)| self.take(part, &found)).collect()
    }

    /// Records the outcome for the files of a part.
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
        let judged: Vec<FileChange> =
            part.files.iter().zip(&changes).map(|(file, change)| self.since_commit(file, *change)).collect();
        self.judged.record_part(&part.id, part.files.iter().map(|file| &file.path).zip(judged));
        self.guard.see(part, &self.judged);
        Ok(changes)
    }

    /// What happens to a file, compared with what git has if it is missing on the disk.
    fn since_commit(&mut self, file: &File, change: FileChange) -> FileChange {
        if change != FileChange::Added || !Guard::reads(&file.path) {
            return change;
        }
        let committed = self.former(&file.path);
        self.is_incomplete |= committed.is_some();
        match committed {
            None => FileChange::Added,
            Some(bytes) if bytes == file.bytes() => FileChange::Unchanged,
            Some(_) => FileChange::Changed,
        }
    }

    /// The content of a file that is missing on the disk: as the last commit has it, or as the history last had it if its
    /// cluster was lost.
    fn former(&self, path: &TreePath) -> Option<Vec<u8>> {
        let committed = self.committed();
        let is_there = || {
            let cluster = cluster_folder(path.as_str()).map(|folder| format!("{folder}/{CLUSTER_FILE}"));
            cluster.and_then(|file| TreePath::parse(&file)).is_some_and(|file| self.is_on_disk(&file))
        };
        let path = path.as_str();
        committed.bytes(path).or_else(|| if is_there() { None } else { committed.lost(path) })
    }

    fn committed(&self) -> &Committed {
        self.committed.get_or_init(|| Committed::read(&self.root))
    }

    /// Records the files that git has and the disk lacks, and that no part contains.
    fn judge_missing(&mut self) {
        if !self.is_incomplete {
            return;
        }
        let known = self.committed().below(OUTPUT).into_iter().filter_map(|path| TreePath::parse(&path));
        let is_missing =
            |path: &TreePath| !self.is_on_disk(path) && !self.is_written(path) && !self.is_kept(path);
        let missing: Vec<TreePath> = known.filter(|path| Guard::reads(path) && is_missing(path)).collect();
        for path in missing {
            self.judged.record_removed(path);
        }
    }

    /// The outcome for a file, and its index in the scan.
    fn file(&self, file: &File) -> Result<(FileChange, Option<usize>), Fault> {
        let Some(place) = self.scan.place(&file.path) else { return Ok((FileChange::Added, None)) };
        let change = match self.scan.files[place].1 {
            TreeEntry::Link | TreeEntry::Special => FileChange::Changed,
            TreeEntry::File => match open::holds(&self.root.join(file.path.as_str()), file.bytes()) {
                Ok(true) => FileChange::Unchanged,
                Ok(false) => FileChange::Changed,
                // An unreadable file can still be replaced: that needs write permission on the folder alone.
                Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => FileChange::Changed,
                Err(error) => return Err(Fault::because(format!("cannot read `{}`", file.path), error)),
            },
        };
        Ok((change, Some(place)))
    }

    /// Whether the program owns, or owned, what exists at a path: the file begins with its header, or git tracks it. An
    /// empty file also counts. A link or a pipe never does: someone put it there on purpose.
    fn is_ours(&self, path: &TreePath, found: TreeEntry) -> bool {
        let ours = match found {
            // For an unreadable file, only git can tell.
            TreeEntry::File => is_ours_or_empty(&self.root, path).unwrap_or(false),
            TreeEntry::Link | TreeEntry::Special => return false,
        };
        ours || self.tracked.get_or_init(|| tracked(&self.root, OUTPUT)).contains(path.as_str())
    }

    /// Leaves a folder, or a file, as it is.
    pub(super) fn keep(&mut self, folder: &TreePath) {
        self.kept.insert(folder.as_str().to_owned(), true);
    }

    /// Excludes a folder from one that is left as it is.
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

    /// Finds the program's own files to remove, once every part is known. Foreign files are reported in `notes`.
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
                TreeEntry::Link => note_link(notes, path.as_str()),
                TreeEntry::Special => {
                    note_foreign(notes, path.as_str(), "this is not a regular file or folder");
                }
                TreeEntry::File if !meant && is_ours_on_disk(&self.root, path)? => {
                    removed.push(path.clone());
                }
                TreeEntry::File => {
                    note_foreign(notes, path.as_str(), "this file was not written by stackloom");
                }
            }
        }
        left.retain(|part| !self.changes.parts.contains_key(part));
        self.changes.left = left;
        // What is removed may belong to a cluster whose other files, and definition, someone deleted.
        self.is_incomplete |= !removed.is_empty();
        for path in &removed {
            self.changes.record_removed(path.clone());
            self.judged.record_removed(path.clone());
        }
        self.judge(notes)?;
        Ok(removed)
    }

    /// Lets the guard judge what changes and leaves, compared with what git has.
    fn judge(&mut self, notes: &mut Notes) -> Result<(), Fault> {
        let (formers, gone) = self.trace_lost();
        self.judge_missing();
        let text = |path: &TreePath| {
            let file = self.root.join(path.as_str());
            match open::read(&file) {
                Ok(bytes) => Ok(Some(bytes)),
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                    Ok(self.former(path))
                }
                Err(error) => Err(Fault::because(format!("cannot read `{path}`"), error)),
            }
        };
        let published = OnceLock::new();
        let removed_in = |path: &TreePath| self.committed.get()?.removed_by(path.as_str());
        let published = |path: &TreePath| {
            removed_in(path).is_some()
                || published.get_or_init(|| Published::read(&self.root)).may_have(path.as_str())
        };
        let mut found = Notes::new();
        self.guard.judge(
            &self.judged,
            Before {
                text: &text,
                facts: &|_| None,
                published: &published,
                definitions: &|| {
                    let committed = former_definitions(&self.root, open::read);
                    committed.into_iter().chain(formers.iter().cloned()).collect()
                },
                lost: Severity::Warning,
            },
            &mut found,
        )?;
        let commit = |note: &Diagnostic| self.committed.get()?.removed_by(&note.place.as_ref()?.file);
        found.change(|note| {
            if let Some(commit) = commit(note) {
                let is_defined = !matches!(note.code, "abandoned" | "renamed");
                note.hint(if is_defined { removed_by(&commit) } else { removed_in_commit(&commit) });
            }
        });
        notes.append(found);
        for (path, commit) in gone {
            let mut found = Notes::new();
            note_gone(&path, &mut found);
            found.change(|note| {
                note.hint(removed_in_commit(&commit));
            });
            notes.append(found);
        }
        Ok(())
    }

    /// Finds what became of the clusters whose files an earlier commit removed. Those that need a verdict of the guard are
    /// judged like files that are missing. Returns the former definitions of those that became others, and the Clusters that
    /// have no definition any more, with the commits that removed them.
    fn trace_lost(&mut self) -> (Vec<Former>, Vec<(TreePath, String)>) {
        let added = self.judged.files.iter().filter(|(_, change)| **change == FileChange::Added);
        let clusters = added.filter(|(path, _)| is_cluster_file(path.as_str()));
        let arrivals: Vec<_> = clusters
            .filter_map(|(path, _)| match PartId::of_path(path)? {
                PartId::Cluster { management, namespace, cluster } => Some((management, namespace, cluster)),
                _ => None,
            })
            .collect();
        let now = Now { root: &self.root, read: open::read, arrivals: &arrivals };
        let is_here = |folder: &str| {
            let file = TreePath::parse(&format!("{folder}/{CLUSTER_FILE}"));
            file.is_none_or(|file| self.is_on_disk(&file) || self.is_written(&file) || self.is_kept(&file))
        };
        let traces = self.committed().traces(&now, &is_here);
        let (mut formers, mut gone) = (Vec::new(), Vec::new());
        for (path, trace) in traces {
            match trace {
                Trace::Gone(commit) => {
                    gone.push((path, commit));
                    continue;
                }
                Trace::Became(former) => formers.push(former),
                Trace::Judged => {}
            }
            self.is_incomplete = true;
        }
        (formers, gone)
    }

    /// The folders that will be empty, innermost first.
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
