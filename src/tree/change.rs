//! Records what happened to the files of a tree.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{PartId, TreePath};

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileChange {
    /// It is new.
    Added,
    /// Its content changed.
    Changed,
    /// It is no longer part of the tree.
    Removed,
    /// It already existed with the same content.
    Unchanged,
}

/// The numbers of files of a part that were added, changed and left unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartChange {
    /// The number of new files.
    pub added: usize,
    /// The number of files with new content.
    pub changed: usize,
    /// The number of files with the same content.
    pub unchanged: usize,
}

/// The changes to a tree. Removed files no longer belong to a part, so they are listed separately.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The numbers of files by part.
    pub parts: BTreeMap<PartId, PartChange>,
    /// All files that were added, changed or removed, sorted by path.
    pub files: BTreeMap<TreePath, FileChange>,
    /// Files that are already right in the target, but were damaged or missing in the work tree and were written there
    /// again.
    pub repaired: BTreeSet<TreePath>,
    /// Existing parts that this run did not make and left unchanged.
    pub left: BTreeSet<PartId>,
    /// The sources that the commit changes in addition to the tree.
    pub sources: BTreeMap<String, FileChange>,
    /// The new commit, if there is one.
    pub commit: Option<String>,
}

impl Changes {
    /// Records what happened to a file of a part.
    pub fn record(&mut self, part: &PartId, path: &TreePath, change: FileChange) {
        self.record_part(part, [(path, change)]);
    }

    /// Records what happened to several files of a part.
    pub fn record_part<'a>(
        &mut self,
        part: &PartId,
        files: impl IntoIterator<Item = (&'a TreePath, FileChange)>,
    ) {
        let counts = self.parts.entry(part.clone()).or_default();
        for (path, change) in files {
            match change {
                FileChange::Added => counts.added += 1,
                FileChange::Changed => counts.changed += 1,
                FileChange::Unchanged => counts.unchanged += 1,
                FileChange::Removed => {}
            }
            if change != FileChange::Unchanged {
                self.files.insert(path.clone(), change);
            }
        }
    }

    /// Records a removed file.
    pub fn record_removed(&mut self, path: TreePath) {
        self.files.insert(path, FileChange::Removed);
    }

    /// The removed parts: a file in their own folder was removed, and this run made no such part.
    pub fn removed_parts(&self) -> BTreeSet<PartId> {
        let removed = self.files.iter().filter(|(_, change)| **change == FileChange::Removed);
        removed
            .filter_map(|(path, _)| PartId::of_path(path))
            .filter(|part| !self.parts.contains_key(part))
            .collect()
    }

    /// The number of files with this kind of change.
    pub fn count(&self, change: FileChange) -> usize {
        match change {
            FileChange::Unchanged => self.parts.values().map(|part| part.unchanged).sum(),
            _ => self.files.values().filter(|found| **found == change).count(),
        }
    }

    /// Reports whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}
