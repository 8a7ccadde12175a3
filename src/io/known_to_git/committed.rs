//! The files of the last commit, and those of clusters that it no longer has. What is missing from the work tree may still
//! run in a cluster.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Mutex, OnceLock},
};

use git2::{ObjectType, Oid, Repository, TreeWalkMode, TreeWalkResult};

use super::{
    lost::{LostClusters, Removal},
    traces::{History, Now, Trace},
};
use crate::{compare::cluster_folder, render, tree::TreePath};

/// The tree of HEAD of the repository around a folder.
pub(in crate::io) struct Committed {
    /// None without a repository or a commit, and if git cannot be read: then nothing is known.
    head: Option<Head>,
}

struct Head {
    /// libgit2's handles belong to one thread at a time.
    repository: Mutex<Repository>,
    /// The folder's path in the repository.
    prefix: PathBuf,
    commit: Oid,
    tree: Oid,
    lost: OnceLock<LostClusters>,
    /// The folders of clusters that were looked for, and where the history lost them. None if nothing of them may run.
    known: Mutex<BTreeMap<String, Option<Removal>>>,
}

impl Committed {
    /// Finds the repository around a folder.
    pub(in crate::io) fn read(root: &Path) -> Self {
        Self { head: Head::read(root) }
    }

    /// The content of a file; none if the commit has no such file.
    pub(in crate::io) fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        let head = self.head.as_ref()?;
        head.bytes(head.tree, path)
    }

    /// The last content of a file of a cluster that the commit does not have, if the cluster may still run.
    pub(in crate::io) fn lost(&self, path: &str) -> Option<Vec<u8>> {
        let head = self.head.as_ref()?;
        let removal = head.removal(cluster_folder(path)?)?;
        head.bytes(head.tree_of(removal.before)?, path)
    }

    /// The paths of all files below a folder, with those of the clusters that were looked for and may still run.
    pub(in crate::io) fn below(&self, folder: &str) -> Vec<String> {
        let Some(head) = &self.head else { return Vec::new() };
        let mut paths = head.below(head.tree, folder).unwrap_or_default();
        let known: Vec<_> =
            head.known.lock().map(|known| known.clone().into_iter().collect()).unwrap_or_default();
        for (folder, removal) in known {
            let tree = removal.and_then(|removal: Removal| head.tree_of(removal.before));
            paths.extend(tree.and_then(|tree| head.below(tree, &folder)).unwrap_or_default());
        }
        paths
    }

    /// What became of the clusters that the commit does not have, and that may still run: each by the path of its Cluster.
    /// `is_here` tells whether the run has something in a folder. From here on, all but those that are gone are among the
    /// clusters that were looked for.
    pub(in crate::io) fn traces(
        &self,
        now: &Now<'_>,
        is_here: &dyn Fn(&str) -> bool,
    ) -> Vec<(TreePath, Trace)> {
        let Some(head) = &self.head else { return Vec::new() };
        let Some(found) = head.traces(now, is_here) else { return Vec::new() };
        let Ok(mut known) = head.known.lock() else { return Vec::new() };
        let traced = found.into_iter().filter_map(|(folder, removal, trace)| {
            let path = TreePath::parse(&format!("{folder}/{}", render::CLUSTER_FILE))?;
            if !matches!(trace, Trace::Gone(_)) {
                known.insert(folder, Some(removal));
            }
            Some((path, trace))
        });
        traced.collect()
    }

    /// The commit that removed the cluster of a file, if it may still run, and was looked for.
    pub(in crate::io) fn removed_by(&self, path: &str) -> Option<String> {
        let known = self.head.as_ref()?.known.lock().ok()?;
        known.get(cluster_folder(path)?)?.map(|removal| removal.commit.to_string())
    }
}

impl Head {
    fn read(root: &Path) -> Option<Self> {
        let repository = Repository::discover(root).ok()?;
        let top = repository.workdir()?.canonicalize().ok()?;
        let prefix = root.canonicalize().ok()?.strip_prefix(top).ok()?.to_path_buf();
        let commit = repository.head().ok()?.peel_to_commit().ok()?.id();
        let tree = repository.find_commit(commit).ok()?.tree_id();
        let (lost, known) = (OnceLock::new(), Mutex::default());
        Some(Self { repository: Mutex::new(repository), prefix, commit, tree, lost, known })
    }

    fn tree_of(&self, commit: Oid) -> Option<Oid> {
        let repository = self.repository.lock().ok()?;
        repository.find_commit(commit).ok().map(|commit| commit.tree_id())
    }

    fn bytes(&self, tree: Oid, path: &str) -> Option<Vec<u8>> {
        let repository = self.repository.lock().ok()?;
        let entry = repository.find_tree(tree).ok()?.get_path(&self.prefix.join(path)).ok()?;
        let blob = repository.find_blob(entry.id()).ok()?;
        Some(blob.content().to_vec())
    }

    /// Where the history lost the cluster of a folder. None if it has it, never had it, or had detached it: what is not
    /// protected, git deletes.
    fn removal(&self, folder: &str) -> Option<Removal> {
        let mut known = self.known.lock().ok()?;
        if let Some(found) = known.get(folder) {
            return *found;
        }
        let removal = self.find_removal(folder);
        known.insert(folder.to_owned(), removal);
        removal
    }

    fn find_removal(&self, folder: &str) -> Option<Removal> {
        let file = format!("{folder}/{}", render::CLUSTER_FILE);
        // The search takes a while, and most new files belong to clusters that the commit has.
        if self.bytes(self.tree, &file).is_some() {
            return None;
        }
        let removal = {
            let repository = self.repository.lock().ok()?;
            self.lost_clusters(&repository).removal(&repository, folder)
        };
        let is_protected = |removal: &Removal| {
            let text = self.bytes(self.tree_of(removal.before)?, &file)?;
            Some(render::is_protected(&String::from_utf8_lossy(&text)))
        };
        removal.filter(|removal| is_protected(removal).unwrap_or(false))
    }

    fn lost_clusters(&self, repository: &Repository) -> &LostClusters {
        self.lost.get_or_init(|| LostClusters::find(repository, &self.prefix, self.commit))
    }

    /// The clusters that the commit does not have and may still run, by their folders, and what became of them.
    fn traces(&self, now: &Now<'_>, is_here: &dyn Fn(&str) -> bool) -> Option<Vec<(String, Removal, Trace)>> {
        let folders: Vec<String> = {
            let repository = self.repository.lock().ok()?;
            if now.arrivals.is_empty()
                && !History::read(&repository, &self.prefix, self.commit).lost_definitions(now.root)
            {
                return None;
            }
            self.lost_clusters(&repository).folders().map(str::to_owned).collect()
        };
        let lost = folders.into_iter().filter(|folder| !is_here(folder));
        let lost: Vec<_> =
            lost.filter_map(|folder| self.find_removal(&folder).map(|removal| (folder, removal))).collect();
        if lost.is_empty() {
            return None;
        }
        let repository = self.repository.lock().ok()?;
        let history = History::read(&repository, &self.prefix, self.commit);
        let traced = lost.into_iter().filter_map(|(folder, removal)| {
            let trace = history.trace(&folder, removal, now)?;
            Some((folder, removal, trace))
        });
        Some(traced.collect())
    }

    fn below(&self, tree: Oid, folder: &str) -> Option<Vec<String>> {
        let repository = self.repository.lock().ok()?;
        let entry = repository.find_tree(tree).ok()?.get_path(&self.prefix.join(folder)).ok()?;
        let tree = repository.find_tree(entry.id()).ok()?;
        let mut paths = Vec::new();
        let walked = tree.walk(TreeWalkMode::PreOrder, |parent, entry| {
            if entry.kind() == Some(ObjectType::Blob) {
                paths.extend(entry.name().map(|name| format!("{folder}/{parent}{name}")));
            }
            TreeWalkResult::Ok
        });
        walked.ok().map(|()| paths)
    }
}
