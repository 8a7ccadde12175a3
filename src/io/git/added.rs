//! Since when releases are in the branch: what stands for a tag that is not here.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use git2::{Commit, ErrorCode, ObjectType, Oid, Tree};

use super::{Repository, trees::RELEASES};
use crate::world::LOCK;

/// The commit that first added a release, and the tree that it gave the release's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Added {
    pub(super) commit: Oid,
    pub(super) tree: Oid,
    /// The commits that added it again, after it was removed; the newest first.
    pub(super) again: Vec<Oid>,
}

impl Repository {
    /// The commit that first added each of these folders, on the branch's own line, and whether its history could be
    /// read. A clone that does not go back as far has none.
    pub(super) fn added(
        &self,
        folders: &BTreeSet<&str>,
    ) -> (BTreeMap<String, Added>, Result<(), git2::Error>) {
        let mut found = BTreeMap::new();
        let walked = self.follow_back(folders, &mut found);
        (found, walked)
    }

    fn follow_back(
        &self,
        folders: &BTreeSet<&str>,
        found: &mut BTreeMap<String, Added>,
    ) -> Result<(), git2::Error> {
        let tip = self.tip().ok().and_then(|tip| tip.commit());
        let Some(tip) = tip.filter(|_| !folders.is_empty()) else { return Ok(()) };
        let mut at = self.inner.find_commit(tip)?;
        let mut tree = self.releases_of(&at)?;
        // What was removed and added again is what it was at first, so it does not end where a folder is missing.
        loop {
            let parent = if at.parent_count() == 0 { None } else { Some(at.parent(0)) };
            let parent = match parent {
                None | Some(Err(_)) if self.inner.is_shallow() => return Ok(()),
                parent => parent.transpose()?,
            };
            let before = match &parent {
                Some(parent) if parent.tree_id() == at.tree_id() => tree,
                Some(parent) => self.releases_of(parent)?,
                None => None,
            };
            if before != tree
                && let Some(after) = tree
            {
                let after = self.inner.find_tree(after)?;
                let known = before.map(|id| self.inner.find_tree(id)).transpose()?;
                for name in folders {
                    let had = known.as_ref().is_some_and(|tree| folder(tree, name).is_some());
                    if let Some(tree) = folder(&after, name).filter(|_| !had) {
                        let later = found.remove(*name);
                        let again = later.map(|later: Added| [later.again, vec![later.commit]].concat());
                        let again = again.unwrap_or_default();
                        found.insert((*name).to_owned(), Added { commit: at.id(), tree, again });
                    }
                }
            }
            tree = before;
            let Some(parent) = parent else { return Ok(()) };
            at = parent;
        }
    }

    /// The commit that a release really came by, where a merge brought it to a commit: its lock is the one that has it.
    pub(super) fn origin(&self, commit: Oid, name: &str) -> Oid {
        let mut found = commit;
        loop {
            let Ok(at) = self.inner.find_commit(found) else { return found };
            let mut parents = at.parent_ids();
            let has = |parent: &Oid| self.folder_of(*parent, name).is_ok_and(|tree| tree.is_some());
            match parents.find(has) {
                Some(parent) => found = parent,
                None => return found,
            }
        }
    }

    /// The names of the releases that the branch's own line ever had, as far as it can be read.
    pub(super) fn past_releases(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        let mut seen = None;
        let mut at = self.tip().ok().and_then(|tip| tip.commit());
        while let Some(commit) = at.and_then(|id| self.inner.find_commit(id).ok()) {
            let tree = self.releases_of(&commit).ok().flatten();
            if tree != seen
                && let Some(tree) = tree.and_then(|id| self.inner.find_tree(id).ok())
            {
                let entries = tree.iter().filter(|entry| entry.kind() == Some(ObjectType::Tree));
                names.extend(entries.map(|entry| String::from_utf8_lossy(entry.name_bytes()).into_owned()));
            }
            seen = tree;
            at = commit.parent_id(0).ok();
        }
        names
    }

    /// The tree of all releases of a commit.
    fn releases_of(&self, commit: &Commit<'_>) -> Result<Option<Oid>, git2::Error> {
        match commit.tree()?.get_path(format!("{}{RELEASES}", self.prefix).as_ref()) {
            Ok(entry) => Ok((entry.kind() == Some(ObjectType::Tree)).then(|| entry.id())),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The text of the lock of a commit; each one is kept once.
    pub(super) fn lock_at(&self, commit: Oid, known: &mut BTreeMap<Oid, Arc<str>>) -> Option<Arc<str>> {
        let tree = self.inner.find_commit(commit).ok()?.tree().ok()?;
        let id = tree.get_path(format!("{}{LOCK}", self.prefix).as_ref()).ok()?.id();
        if let Some(text) = known.get(&id) {
            return Some(text.clone());
        }
        let blob = self.inner.find_blob(id).ok()?;
        let text: Arc<str> = String::from_utf8_lossy(blob.content()).into();
        known.insert(id, text.clone());
        Some(text)
    }
}

fn folder(releases: &Tree<'_>, name: &str) -> Option<Oid> {
    releases.get_name(name).filter(|entry| entry.kind() == Some(ObjectType::Tree)).map(|entry| entry.id())
}
