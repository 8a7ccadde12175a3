//! Files that an engine may already know: those that a branch or a tag contains.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use git2::{ErrorCode, Oid, Repository};

/// The trees of all references of the repository around a folder.
pub(in crate::io) struct Published {
    /// None if git cannot be read: then any file may be known.
    trees: Option<(Repository, PathBuf, BTreeSet<Oid>)>,
}

impl Published {
    /// Reads the repository around a folder.
    pub(in crate::io) fn read(root: &Path) -> Self {
        Self { trees: trees(root) }
    }

    /// Reports whether a reference contains a file, or may contain it: a missing object could.
    pub(in crate::io) fn may_have(&self, path: &str) -> bool {
        let Some((repository, prefix, trees)) = &self.trees else { return true };
        let path = prefix.join(path);
        let lacks = |tree: &Oid| {
            let found = repository.find_tree(*tree).and_then(|tree| tree.get_path(&path).map(drop));
            found
                .is_err_and(|error| error.code() == ErrorCode::NotFound && is_whole(repository, *tree, &path))
        };
        !trees.iter().all(lacks)
    }
}

/// Reports whether all folders on a path exist locally, as far as the tree has them.
fn is_whole(repository: &Repository, tree: Oid, path: &Path) -> bool {
    let mut tree = tree;
    for name in path {
        let Ok(found) = repository.find_tree(tree) else { return false };
        let Some(entry) = name.to_str().and_then(|name| found.get_name(name)) else { return true };
        tree = entry.id();
    }
    true
}

/// The trees of HEAD and of all references; None if any of them cannot be read.
fn trees(root: &Path) -> Option<(Repository, PathBuf, BTreeSet<Oid>)> {
    let repository = Repository::discover(root).ok()?;
    let top = repository.workdir()?.canonicalize().ok()?;
    let prefix = root.canonicalize().ok()?.strip_prefix(top).ok()?.to_path_buf();
    let mut trees = BTreeSet::new();
    match repository.head() {
        Ok(head) => drop(trees.insert(head.peel_to_tree().ok()?.id())),
        Err(error) if error.code() == ErrorCode::UnbornBranch => {}
        Err(_) => return None,
    }
    for reference in repository.references().ok()? {
        match reference.ok()?.peel_to_tree() {
            Ok(tree) => drop(trees.insert(tree.id())),
            // A tag may name an object that is not a commit.
            Err(error) if matches!(error.code(), ErrorCode::Peel | ErrorCode::InvalidSpec) => {}
            Err(_) => return None,
        }
    }
    Some((repository, prefix, trees))
}
