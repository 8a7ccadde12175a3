//! Since when releases are in the branch: what stands for a tag that is not here.

use std::{collections::BTreeMap, sync::Arc};

use git2::{Commit, ErrorCode, ObjectType, Oid, Tree};

use super::{Repository, trees::RELEASES};
use crate::world::LOCK;

/// The commit that added a release, and the tree that it gave the release's folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Added {
    pub(super) commit: Oid,
    pub(super) tree: Oid,
}

type Folders = BTreeMap<String, Oid>;

impl Repository {
    /// The commit that added each of these folders of HEAD, on the branch's own line. A clone that does not go back as far
    /// has none.
    pub(super) fn added(&self, mut folders: Folders) -> BTreeMap<String, Added> {
        let mut found = BTreeMap::new();
        // What cannot be read is not known, and told as that.
        self.follow_back(&mut folders, &mut found).ok();
        found
    }

    fn follow_back(
        &self,
        folders: &mut Folders,
        found: &mut BTreeMap<String, Added>,
    ) -> Result<(), git2::Error> {
        let Ok(tip) = self.tip() else { return Ok(()) };
        let Some(tip) = tip.commit() else { return Ok(()) };
        let mut at = self.inner.find_commit(tip)?;
        let mut tree = self.releases_of(&at)?;
        while !folders.is_empty() {
            let parent = at.parent(0).ok();
            if parent.is_none() && self.inner.is_shallow() {
                return Ok(());
            }
            let before = parent.as_ref().map(|parent| self.releases_of(parent)).transpose()?.flatten();
            if before != tree || parent.is_none() {
                let before = before.map(|id| self.inner.find_tree(id)).transpose()?;
                let has = |name: &str| before.as_ref().is_some_and(|tree| folder(tree, name).is_some());
                let after = tree.map(|id| self.inner.find_tree(id)).transpose()?;
                folders.retain(|name, _| {
                    let stays = has(name);
                    if let Some(tree) = after.as_ref().and_then(|tree| folder(tree, name)).filter(|_| !stays)
                    {
                        found.insert(name.clone(), Added { commit: at.id(), tree });
                    }
                    stays
                });
                tree = before.map(|tree| tree.id());
            }
            let Some(parent) = parent else { break };
            at = parent;
        }
        Ok(())
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
