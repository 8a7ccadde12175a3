//! Clusters whose generated files an earlier commit removed. Git deletes no Cluster that is protected, so they may still run.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use git2::{Commit, ErrorCode, ObjectType, Oid, Repository, Tree};

use crate::render;

/// The folder of all management clusters.
const MANAGEMENT: &str = "generated/management";
/// The levels below it: management clusters, `clusters`, namespaces, clusters.
const CLUSTERS: usize = 1;
const LAST: usize = 3;
/// How many commits are searched, along first parents.
const SEARCHED: usize = 1000;
/// How many entries of folders are compared in all of them together, so that a fleet with huge namespaces takes no longer.
const COMPARED: usize = 2_000_000;

/// The folders of clusters that commits up to a tip removed.
pub(in crate::io) struct LostClusters {
    /// The folder of the fleet in the repository.
    prefix: PathBuf,
    tip: Oid,
    folders: BTreeMap<String, Removal>,
}

/// Where the history lost a file or a folder. The latest commit counts.
#[derive(Clone, Copy, Debug)]
pub(in crate::io) struct Removal {
    /// The commit that removed it.
    pub(in crate::io) commit: Oid,
    /// The last commit that has it.
    pub(in crate::io) before: Oid,
}

impl LostClusters {
    /// Searches the commits up to `tip`. Ends early where the history does, or where a partial clone lacks objects.
    pub(in crate::io) fn find(repository: &Repository, prefix: &Path, tip: Oid) -> Self {
        let mut search = Search { repository, folders: BTreeMap::new(), left: COMPARED };
        // What was found up to a missing object is known all the same.
        search.run(&prefix.join(MANAGEMENT), tip).ok();
        Self { prefix: prefix.to_path_buf(), tip, folders: search.folders }
    }

    /// The folders of clusters that a commit removed.
    pub(in crate::io) fn folders(&self) -> impl Iterator<Item = &str> {
        self.folders.keys().map(String::as_str)
    }

    /// Where the history lost the Cluster of a folder, if the tip has none. None if it moved to another management cluster.
    pub(in crate::io) fn removal(&self, repository: &Repository, folder: &str) -> Option<Removal> {
        let removal = self.last(repository, folder)?;
        let moved = |commit: Oid| self.is_elsewhere(repository, commit, folder);
        (!moved(removal.commit) && !moved(self.tip)).then_some(removal)
    }

    fn last(&self, repository: &Repository, folder: &str) -> Option<Removal> {
        let whole = self.prefix.join(folder);
        let file = whole.join(render::CLUSTER_FILE);
        let from = match self.folders.get(folder) {
            // The folder can outlive the Cluster, or be back after it was removed.
            _ if has(repository, self.tip, &whole) => self.tip,
            Some(removal) if has(repository, removal.before, &file) => return Some(*removal),
            Some(removal) => removal.before,
            None => return None,
        };
        if has(repository, from, &file) {
            return None;
        }
        let mut child = repository.find_commit(from).ok()?;
        for _ in 0..SEARCHED {
            let parent = child.parent(0).ok()?;
            if has(repository, parent.id(), &file) {
                return Some(Removal { commit: child.id(), before: parent.id() });
            }
            child = parent;
        }
        None
    }

    /// Whether a commit has the cluster of a folder in another management cluster.
    fn is_elsewhere(&self, repository: &Repository, commit: Oid, folder: &str) -> bool {
        let inside = folder.strip_prefix(MANAGEMENT).and_then(|rest| rest.strip_prefix('/')?.split_once('/'));
        let Some((own, cluster)) = inside else { return false };
        let top = self.prefix.join(MANAGEMENT);
        let Ok(commit) = repository.find_commit(commit) else { return false };
        let Ok(Some(all)) = tree(repository, &commit, &top) else { return false };
        let others =
            all.iter().filter_map(|entry| entry.name().map(str::to_owned).ok()).filter(|name| name != own);
        others.into_iter().any(|name| {
            has(repository, commit.id(), &top.join(name).join(cluster).join(render::CLUSTER_FILE))
        })
    }
}

fn has(repository: &Repository, commit: Oid, path: &Path) -> bool {
    repository.find_commit(commit).and_then(|commit| commit.tree()?.get_path(path)).is_ok()
}

fn tree<'a>(
    repository: &'a Repository,
    commit: &Commit<'_>,
    folder: &Path,
) -> Result<Option<Tree<'a>>, git2::Error> {
    match commit.tree()?.get_path(folder) {
        Ok(entry) if entry.kind() == Some(ObjectType::Tree) => repository.find_tree(entry.id()).map(Some),
        Ok(_) => Ok(None),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

struct Search<'a> {
    repository: &'a Repository,
    folders: BTreeMap<String, Removal>,
    /// How many entries may still be compared.
    left: usize,
}

impl Search<'_> {
    fn run(&mut self, folder: &Path, tip: Oid) -> Result<(), git2::Error> {
        let mut child = self.repository.find_commit(tip)?;
        let mut newer = tree(self.repository, &child, folder)?;
        for _ in 0..SEARCHED {
            // A shallow clone ends here, too.
            let Ok(parent) = child.parent(0) else { return Ok(()) };
            let older = tree(self.repository, &parent, folder)?;
            let is_same = older.as_ref().map(Tree::id) == newer.as_ref().map(Tree::id);
            if let Some(older) = older.as_ref().filter(|_| !is_same) {
                let removal = Removal { commit: child.id(), before: parent.id() };
                self.compare((older, newer.as_ref()), MANAGEMENT, 0, removal)?;
            }
            if self.left == 0 {
                return Ok(());
            }
            (child, newer) = (parent, older);
        }
        Ok(())
    }

    /// Records the folders of clusters that the older side has and the newer one lacks.
    fn compare(
        &mut self,
        (older, newer): (&Tree<'_>, Option<&Tree<'_>>),
        path: &str,
        level: usize,
        removal: Removal,
    ) -> Result<(), git2::Error> {
        for entry in older {
            self.left = self.left.saturating_sub(1);
            if self.left == 0 {
                return Ok(());
            }
            let Ok(name) = entry.name() else { continue };
            if entry.kind() != Some(ObjectType::Tree) || level == CLUSTERS && name != "clusters" {
                continue;
            }
            let twin = newer.and_then(|newer| newer.get_name(name));
            let twin = twin.filter(|twin| twin.kind() == Some(ObjectType::Tree));
            if level == LAST {
                if twin.is_none() {
                    self.folders.entry(format!("{path}/{name}")).or_insert(removal);
                }
                continue;
            }
            if twin.as_ref().is_some_and(|twin| twin.id() == entry.id()) {
                continue;
            }
            let older = self.repository.find_tree(entry.id())?;
            let newer = twin.map(|twin| self.repository.find_tree(twin.id())).transpose()?;
            self.compare((&older, newer.as_ref()), &format!("{path}/{name}"), level + 1, removal)?;
        }
        Ok(())
    }
}
