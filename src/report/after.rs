//! The tree that the definitions make now, compared with an earlier one, and never written.
//!
//! Of files that are as they were before, only the name of their content is kept.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
};

use rayon::prelude::*;

use super::LeftClusters;
use crate::{
    compare::{Archive, BlobId},
    model::ClusterId,
    note::{Fault, Notes},
    remove::{Before, Guard},
    tree::{Changes, File, FileChange, Part, PartId, Sink, TreePath},
    world::{Input, is_head_release, release_of},
};

/// The folder of everything that is generated.
pub(super) const GENERATED: &str = "generated";

/// A tree that is being made, or was read from a commit, beside the one before it.
pub struct After<'a> {
    before: &'a dyn Archive,
    /// The files before, by path.
    old: BTreeMap<String, BlobId>,
    /// The files after, by path.
    new: BTreeMap<String, BlobId>,
    /// The texts that are not among those before.
    texts: BTreeMap<BlobId, String>,
    changes: Changes,
    guard: Guard,
}

impl std::fmt::Debug for After<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("After").field("files", &self.new.len()).finish_non_exhaustive()
    }
}

impl<'a> After<'a> {
    /// Nothing yet, to be compared with a tree.
    pub fn new(before: &'a dyn Archive) -> Result<Self, Fault> {
        Ok(Self {
            before,
            old: before.list(GENERATED)?,
            new: BTreeMap::new(),
            texts: BTreeMap::new(),
            changes: Changes::default(),
            guard: Guard::default(),
        })
    }

    /// The tree that a commit has.
    pub fn committed(before: &'a dyn Archive, archive: &dyn Archive) -> Result<Self, Fault> {
        let mut after = Self::new(before)?;
        for (path, id) in archive.list(GENERATED)? {
            let text = if after.old.get(&path) == Some(&id) { None } else { Some(archive.read(&id)?) };
            after.add_file(&path, id, text);
        }
        after.finish();
        Ok(after)
    }

    /// Adds the numbered releases, which no run makes.
    fn add_releases(&mut self, input: &Input) {
        for source in input.sources.below("generated/releases") {
            if release_of(&source.path).is_some() {
                let id = BlobId::of(source.text.as_bytes());
                self.add_file(&source.path, id, Some(source.text.to_string()));
            }
        }
    }

    fn add_file(&mut self, path: &str, id: BlobId, text: Option<String>) {
        let Some(tree_path) = TreePath::parse(path) else { return };
        let part = PartId::of_path(&tree_path).unwrap_or(PartId::Root);
        let bytes = text.as_deref().unwrap_or_default().as_bytes().to_vec();
        self.record(&part, &tree_path, id);
        let part = Part { id: part, files: vec![File { path: tree_path, bytes }] };
        self.guard.see(&part, &self.changes);
        if let Some(text) = text.filter(|_| self.old.get(path) != Some(&id)) {
            self.texts.insert(id, text);
        }
    }

    fn record(&mut self, part: &PartId, path: &TreePath, id: BlobId) {
        let change = match self.old.get(path.as_str()) {
            None => FileChange::Added,
            Some(old) if *old == id => FileChange::Unchanged,
            Some(_) => FileChange::Changed,
        };
        self.changes.record(part, path, change);
        self.new.insert(path.to_string(), id);
    }

    /// Everything was added: what is not among it is gone.
    fn finish(&mut self) {
        let gone = self.old.keys().filter(|path| !self.new.contains_key(*path));
        let gone: Vec<TreePath> = gone.filter_map(|path| TreePath::parse(path)).collect();
        for path in gone {
            self.changes.record_removed(path);
        }
    }

    /// Every file that differs.
    pub fn changes(&self) -> &Changes {
        &self.changes
    }

    /// Whether the run made a cluster.
    pub(super) fn is_made(&self, cluster: &ClusterId) -> bool {
        self.changes.parts.contains_key(&PartId::Cluster {
            management: cluster.management.to_string(),
            namespace: cluster.namespace.to_string(),
            cluster: cluster.name.to_string(),
        })
    }

    /// The files before and after, by path.
    pub fn listings(&self) -> [&BTreeMap<String, BlobId>; 2] {
        [&self.old, &self.new]
    }

    /// What no change may do, reported by the guards of `generate`, which look at the tree before instead of the one on disk.
    pub fn judge(&self, notes: &mut Notes) {
        let text = |path: &TreePath| {
            let id = self.old.get(path.as_str())?;
            Some(self.before.read(id).ok()?.into_bytes())
        };
        self.guard.judge(&self.changes, Before { text: &text, published: &|_| true }, notes);
        edited_releases(&self.changes, &self.old, notes);
    }
}

/// Refuses changes of numbered releases that were there before.
pub(super) fn edited_releases(changes: &Changes, old: &BTreeMap<String, BlobId>, notes: &mut Notes) {
    let is_old = |name: &&str| {
        let folder = format!("{GENERATED}/releases/{name}/");
        !is_head_release(name)
            && old.range(folder.clone()..).next().is_some_and(|(path, _)| path.starts_with(&folder))
    };
    let files = changes.files.iter().filter(|(_, change)| **change != FileChange::Removed);
    let edited: BTreeSet<&str> =
        files.filter_map(|(path, _)| release_of(path.as_str())).filter(is_old).collect();
    for name in edited {
        notes
            .error(
                "edited-release",
                crate::note::Place::file(format!("{GENERATED}/releases/{name}/release.yaml")),
                format!("the numbered release `{name}` would differ from what it was: it must never change"),
            )
            .hint("restore it, and cut a new release: `stackloom release`");
    }
}

impl Sink for After<'_> {
    fn begin(&mut self, _notes: &mut Notes) -> Result<(), Fault> {
        self.new.clear();
        self.texts.clear();
        self.changes = Changes::default();
        self.guard = Guard::default();
        Ok(())
    }

    fn parts(&mut self, parts: Vec<Part>) -> Result<(), Fault> {
        let hash = |part: &Part| part.files.iter().map(|file| BlobId::of(&file.bytes)).collect();
        let ids: Vec<Vec<BlobId>> = parts.par_iter().map(hash).collect();
        for (part, ids) in parts.iter().zip(ids) {
            self.take(part, &ids);
        }
        Ok(())
    }

    /// The report says itself what is not made.
    fn keep(&mut self, _folder: TreePath) {}

    fn commit(
        &mut self,
        _notes: &mut Notes,
        _message: &dyn Fn(&Changes) -> String,
    ) -> Result<Changes, Fault> {
        Ok(Changes::default())
    }
}

impl After<'_> {
    fn take(&mut self, part: &Part, ids: &[BlobId]) {
        for (file, id) in part.files.iter().zip(ids) {
            self.record(&part.id, &file.path, *id);
            if self.old.get(file.path.as_str()) != Some(id) {
                let text = String::from_utf8_lossy(&file.bytes).into_owned();
                self.texts.insert(*id, text);
            }
        }
        self.guard.see(part, &self.changes);
    }

    /// Ends a run of the generator: takes the numbered releases from its input. What was left out stays as it was.
    pub fn close(&mut self, input: &Input, left: &LeftClusters) {
        self.add_releases(input);
        if !left.is_empty() {
            self.keep_left(left);
        }
        self.finish();
    }

    fn keep_left(&mut self, left: &LeftClusters) {
        let missing = self.old.iter().filter(|(path, _)| !self.new.contains_key(*path));
        let is_left = |path: &str| {
            let part = PartId::of_path(&TreePath::parse(path)?)?;
            let PartId::Cluster { .. } = &part else { return Some(true) };
            Some(!self.changes.parts.contains_key(&part) && left.why(&super::cluster_of(&part)?).is_some())
        };
        let kept: Vec<_> = missing
            .filter(|(path, _)| is_left(path).unwrap_or(true))
            .map(|(path, id)| (path.clone(), *id))
            .collect();
        self.new.extend(kept);
    }
}

impl Archive for After<'_> {
    fn list(&self, folder: &str) -> Result<BTreeMap<String, BlobId>, Fault> {
        let from = format!("{folder}/");
        let range = self.new.range::<str, _>((Bound::Included(from.as_str()), Bound::Unbounded));
        Ok(range
            .take_while(|(path, _)| path.starts_with(&from))
            .map(|(path, id)| (path.clone(), *id))
            .collect())
    }

    fn read(&self, id: &BlobId) -> Result<String, Fault> {
        match self.texts.get(id) {
            Some(text) => Ok(text.clone()),
            None => self.before.read(id),
        }
    }
}
