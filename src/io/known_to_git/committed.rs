//! The files of the last commit. A file that is missing from the work tree may still run in a cluster.

use std::{
    path::{Path, PathBuf},
    sync::Mutex,
};

use git2::{ObjectType, Oid, Repository, TreeWalkMode, TreeWalkResult};

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
    tree: Oid,
}

impl Committed {
    /// Finds the repository around a folder.
    pub(in crate::io) fn read(root: &Path) -> Self {
        Self { head: Head::read(root) }
    }

    /// The content of a file; none if the commit has no such file.
    pub(in crate::io) fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        let head = self.head.as_ref()?;
        let repository = head.repository.lock().ok()?;
        let entry = repository.find_tree(head.tree).ok()?.get_path(&head.prefix.join(path)).ok()?;
        let blob = repository.find_blob(entry.id()).ok()?;
        Some(blob.content().to_vec())
    }

    /// The paths of all files below a folder.
    pub(in crate::io) fn below(&self, folder: &str) -> Vec<String> {
        self.head.as_ref().and_then(|head| head.below(folder)).unwrap_or_default()
    }
}

impl Head {
    fn read(root: &Path) -> Option<Self> {
        let repository = Repository::discover(root).ok()?;
        let top = repository.workdir()?.canonicalize().ok()?;
        let prefix = root.canonicalize().ok()?.strip_prefix(top).ok()?.to_path_buf();
        let tree = repository.head().ok()?.peel_to_tree().ok()?.id();
        Some(Self { repository: Mutex::new(repository), prefix, tree })
    }

    fn below(&self, folder: &str) -> Option<Vec<String>> {
        let repository = self.repository.lock().ok()?;
        let entry = repository.find_tree(self.tree).ok()?.get_path(&self.prefix.join(folder)).ok()?;
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
