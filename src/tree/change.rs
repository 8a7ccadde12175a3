//! What became of the files of a tree.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{PartId, TreePath};

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileChange {
    /// It was not there.
    Added,
    /// It was there with other content.
    Changed,
    /// It is no longer meant.
    Removed,
    /// It was there as it is.
    Unchanged,
}

/// How many files of a part were added, changed and left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartChange {
    /// Files that were not there.
    pub added: usize,
    /// Files with new content.
    pub changed: usize,
    /// Files that stayed.
    pub unchanged: usize,
}

/// What became of a tree. Removed files belong to no part any more, so they are listed apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// By part.
    pub parts: BTreeMap<PartId, PartChange>,
    /// Every file that is not as it was, in order.
    pub files: BTreeMap<TreePath, FileChange>,
    /// Files that are in the target as they are meant, and were written again in the work tree beside it, where
    /// they were damaged or gone.
    pub repaired: BTreeSet<TreePath>,
    /// Parts that are there and were left, though this run made no such part.
    pub left: BTreeSet<PartId>,
    /// The sources that the commit changes, beside the tree.
    pub sources: BTreeMap<String, FileChange>,
    /// The commit that was made, if one was.
    pub commit: Option<String>,
}

impl Changes {
    /// Records what became of a file of a part.
    pub fn record(&mut self, part: &PartId, path: &TreePath, change: FileChange) {
        self.record_part(part, [(path, change)]);
    }

    /// Records what became of files of a part.
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

    /// Records a file that is gone.
    pub fn record_removed(&mut self, path: TreePath) {
        self.files.insert(path, FileChange::Removed);
    }

    /// The parts that are gone: a file in their own folder was removed, and this run made no such part.
    pub fn removed_parts(&self) -> BTreeSet<PartId> {
        let removed = self.files.iter().filter(|(_, change)| **change == FileChange::Removed);
        removed
            .filter_map(|(path, _)| PartId::of_path(path))
            .filter(|part| !self.parts.contains_key(part))
            .collect()
    }

    /// How many files had this happen to them.
    pub fn count(&self, change: FileChange) -> usize {
        match change {
            FileChange::Unchanged => self.parts.values().map(|part| part.unchanged).sum(),
            _ => self.files.values().filter(|found| **found == change).count(),
        }
    }

    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}
