//! Reads files of a revision.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use git2::{Commit, ObjectType, Oid};
use rayon::prelude::*;

use super::{
    Repository,
    handles::Handles,
    trees::{FILE, RUNNABLE},
};
use crate::{
    compare::{Archive, BlobId, FolderId, Outline, is_cluster_folder},
    note::Fault,
};

/// The files of a fleet in a commit, tag or branch.
pub struct Revision {
    name: String,
    commit: Oid,
    tree: Oid,
    prefix: String,
    handles: Arc<Handles>,
    /// The folders with many entries that were looked into. libgit2 keeps only small ones, and reads others again each time.
    large: Mutex<BTreeMap<Oid, Arc<Entries>>>,
    /// The outline, once it was read: in a large fleet, from tens of thousands of folders.
    outline: OnceLock<Outline>,
}

/// The entries of a folder, by name.
type Entries = BTreeMap<Vec<u8>, (Oid, Option<ObjectType>)>;

/// From this number of entries on, a folder counts as large: libgit2 keeps objects of up to 4,096 bytes.
const MANY: usize = 64;

impl std::fmt::Debug for Revision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Revision").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Repository {
    /// Whether a text names a commit.
    pub fn knows(&self, revision: &str) -> bool {
        self.inner.revparse_single(revision).and_then(|found| found.peel_to_commit()).is_ok()
    }

    /// Opens the files of a commit, tag or branch.
    pub fn revision(&self, name: &str) -> Result<Revision, Fault> {
        let unknown = |error: git2::Error| {
            Fault::because(format!("unknown revision `{name}`"), error).hint(
                "name a commit, branch or tag, such as `HEAD~1` or `origin/main`; a shallow clone has few of them",
            )
        };
        let commit =
            self.inner.revparse_single(name).and_then(|found| found.peel_to_commit()).map_err(unknown)?;
        Ok(self.revision_of(name, &commit, &Arc::new(self.handles())))
    }

    /// The files of a commit, which are read with these handles.
    pub(super) fn revision_of(&self, name: &str, commit: &Commit<'_>, handles: &Arc<Handles>) -> Revision {
        Revision {
            name: name.to_owned(),
            commit: commit.id(),
            tree: commit.tree_id(),
            prefix: self.prefix.clone(),
            handles: Arc::clone(handles),
            large: Mutex::default(),
            outline: OnceLock::new(),
        }
    }
}

impl Revision {
    /// The ID of the commit.
    pub fn commit(&self) -> String {
        self.commit.to_string()
    }

    /// The text of a file; None if it does not exist.
    pub fn file(&self, path: &str) -> Result<Option<String>, Fault> {
        self.id(path)?.map(|id| self.read(&id)).transpose()
    }

    /// The tree ID of a folder; None if it does not exist. Equal contents have the same ID.
    pub fn folder(&self, path: &str) -> Result<Option<String>, Fault> {
        Ok(self.tree_at(path)?.map(|tree| tree.to_string()))
    }

    fn tree_at(&self, path: &str) -> Result<Option<Oid>, Fault> {
        self.object_at(path, ObjectType::Tree)
    }

    fn object_at(&self, path: &str, kind: ObjectType) -> Result<Option<Oid>, Fault> {
        let whole = format!("{}{path}", self.prefix);
        self.with(|repository| {
            let mut at = (self.tree, Some(ObjectType::Tree));
            for name in whole.split('/') {
                let found = match at {
                    (tree, Some(ObjectType::Tree)) => self.entry(repository, tree, name)?,
                    _ => None,
                };
                let Some(found) = found else { return Ok(None) };
                at = found;
            }
            Ok((at.1 == Some(kind)).then_some(at.0))
        })
    }

    /// An entry of a folder.
    fn entry(
        &self,
        repository: &git2::Repository,
        tree: Oid,
        name: &str,
    ) -> Result<Option<(Oid, Option<ObjectType>)>, git2::Error> {
        let known = self.large.lock().unwrap_or_else(PoisonError::into_inner).get(&tree).cloned();
        if let Some(known) = known {
            return Ok(known.get(name.as_bytes()).copied());
        }
        let read = repository.find_tree(tree)?;
        if read.len() >= MANY {
            let entries = read.iter().map(|one| (one.name_bytes().to_vec(), (one.id(), one.kind())));
            let entries = Arc::new(entries.collect::<Entries>());
            self.large.lock().unwrap_or_else(PoisonError::into_inner).insert(tree, entries);
        }
        let found = read.get_name_bytes(name.as_bytes());
        Ok(found.map(|entry| (entry.id(), entry.kind())))
    }

    /// The files of a tree; subtrees are read in parallel. `closed` keeps subtrees that are not to be read.
    fn collect(&self, tree: Oid, path: &str, closed: &dyn Closed) -> Result<Vec<(String, BlobId)>, Fault> {
        let (mut files, mut folders) = (Vec::new(), Vec::new());
        self.with(|repository| {
            for entry in &repository.find_tree(tree)? {
                let path = format!("{path}/{}", String::from_utf8_lossy(entry.name_bytes()));
                match (entry.kind(), entry.filemode(), entry.id().as_bytes().try_into()) {
                    (Some(ObjectType::Tree), _, Ok(id)) if closed.keeps(&path, FolderId(id)) => {}
                    (Some(ObjectType::Tree), _, _) => folders.push((entry.id(), path)),
                    (Some(ObjectType::Blob), FILE | RUNNABLE, Ok(id)) => files.push((path, BlobId(id))),
                    _ => {}
                }
            }
            Ok(())
        })?;
        let below: Vec<Vec<_>> = folders
            .par_iter()
            .map(|(tree, path)| self.collect(*tree, path, closed))
            .collect::<Result<_, _>>()?;
        files.extend(below.into_iter().flatten());
        Ok(files)
    }

    fn with<T>(&self, use_it: impl FnOnce(&git2::Repository) -> Result<T, git2::Error>) -> Result<T, Fault> {
        self.handles.with(use_it).map_err(|error| {
            Fault::because(format!("cannot read the files of `{}`", self.name), error)
                .hint("in a partial clone, get missing files with `git fetch --refetch --no-filter`")
        })
    }
}

/// Decides which subtrees are not to be read.
trait Closed: Sync {
    /// Keeps a subtree by its ID, if it is not to be read.
    fn keeps(&self, path: &str, id: FolderId) -> bool;
}

impl Closed for () {
    fn keeps(&self, _path: &str, _id: FolderId) -> bool {
        false
    }
}

/// The folders of clusters.
impl Closed for Mutex<BTreeMap<String, FolderId>> {
    fn keeps(&self, path: &str, id: FolderId) -> bool {
        let is_cluster = is_cluster_folder(path);
        if is_cluster {
            self.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), id);
        }
        is_cluster
    }
}

impl Archive for Revision {
    /// Lists plain files only: the program never writes links or submodules.
    fn list(&self, folder: &str) -> Result<BTreeMap<String, BlobId>, Fault> {
        let top = self.tree_at(folder)?;
        let files = top.map(|top| self.collect(top, folder, &())).transpose()?;
        Ok(files.into_iter().flatten().collect())
    }

    fn outline(&self) -> Result<Outline, Fault> {
        if let Some(known) = self.outline.get() {
            return Ok(known.clone());
        }
        let clusters = Mutex::new(BTreeMap::new());
        let top = self.tree_at("generated")?;
        let files = top.map(|top| self.collect(top, "generated", &clusters)).transpose()?;
        let files = files.into_iter().flatten().collect();
        let clusters = clusters.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(self.outline.get_or_init(|| Outline { files, clusters }).clone())
    }

    fn list_cluster(&self, folder: &str, id: &FolderId) -> Result<BTreeMap<String, BlobId>, Fault> {
        // A walk from the root would read the list of all clusters of the namespace each time.
        let tree = Oid::from_bytes(&id.0)
            .map_err(|error| Fault::because(format!("cannot list `{folder}`"), error))?;
        Ok(self.collect(tree, folder, &())?.into_iter().collect())
    }

    fn id(&self, path: &str) -> Result<Option<BlobId>, Fault> {
        let found = self.object_at(path, ObjectType::Blob)?;
        Ok(found.and_then(|id| id.as_bytes().try_into().ok()).map(BlobId))
    }

    fn read(&self, id: &BlobId) -> Result<String, Fault> {
        self.with(|repository| {
            let blob = repository.find_blob(Oid::from_bytes(&id.0)?)?;
            Ok(String::from_utf8_lossy(blob.content()).into_owned())
        })
    }
}
