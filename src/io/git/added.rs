//! Finds the commits that added releases. They serve as the record if a tag is missing.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use git2::{Commit, ErrorCode, ObjectType, Oid, Tree};

use super::{Repository, trees::RELEASES};
use crate::world::LOCK;

/// A commit that added a release absent from all of its parents, and the tree of the release's folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Added {
    pub(super) commit: Oid,
    pub(super) tree: Oid,
}

/// The commits that added releases, by name, newest first in the order in which HEAD's line received them. A release has
/// several if it was removed and added again, or if two merged lines both added it.
pub(super) type Additions = BTreeMap<String, Vec<Added>>;

/// The addition that defines a release.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    pub(super) added: Added,
    /// Commits that added a different release of this name on independent lines, in the order in which the branch received
    /// them.
    pub(super) others: Vec<Added>,
    /// The commit that added the release as HEAD has it, if only merges brought it there.
    pub(super) unedited: Option<Added>,
}

/// A step of a walk through the history.
enum Visit {
    /// Enters a commit; its parents are next.
    Enter(Oid),
    /// Leaves a commit after its parents, with the releases that it added.
    Leave(Oid, BTreeMap<String, Oid>),
}

/// What a commit adds to its parents.
#[derive(Default)]
struct New {
    /// The parents that this clone has.
    parents: Vec<Oid>,
    /// The added releases, each with its tree.
    names: BTreeMap<String, Oid>,
    /// Releases that this commit or an earlier one added, at the boundary of a shallow clone.
    older: Vec<String>,
}

impl Repository {
    /// The commits in the history, including merged lines, that added releases, and whether all of it could be read. For a
    /// release older than the boundary of a shallow clone, the first addition is unknown, so it is left out.
    pub(super) fn additions(&self) -> (Additions, Result<(), git2::Error>) {
        let (mut found, mut older) = (Additions::new(), BTreeSet::new());
        let walked = self.walk(&mut found, &mut older);
        found.retain(|name, _| !older.contains(name));
        for additions in found.values_mut() {
            additions.reverse();
        }
        (found, walked)
    }

    /// Visits each commit after its parents, and the first parent's history before the others. That is the order in which
    /// the branch received the commits. It follows from the shape of the history alone: clocks may be wrong, and commits of
    /// the same second have no order.
    fn walk(&self, found: &mut Additions, older: &mut BTreeSet<String>) -> Result<(), git2::Error> {
        let tip = self.tip().ok().and_then(|tip| tip.commit());
        let mut open: Vec<Visit> = tip.map(Visit::Enter).into_iter().collect();
        let (mut seen, mut known, mut walked) = (BTreeSet::new(), BTreeMap::new(), Ok(()));
        while let Some(step) = open.pop() {
            match step {
                Visit::Enter(id) if seen.insert(id) => {
                    let new = self.added_by(id, &mut known).unwrap_or_else(|error| {
                        walked = Err(error);
                        New::default()
                    });
                    open.push(Visit::Leave(id, new.names));
                    open.extend(new.parents.into_iter().rev().map(Visit::Enter));
                    older.extend(new.older);
                }
                Visit::Enter(_) => {}
                Visit::Leave(commit, names) => {
                    for (name, tree) in names {
                        found.entry(name).or_default().push(Added { commit, tree });
                    }
                }
            }
        }
        walked
    }

    fn added_by(&self, id: Oid, known: &mut BTreeMap<Oid, Option<Oid>>) -> Result<New, git2::Error> {
        let is_shallow = self.is_shallow();
        let at = self.inner.find_commit(id)?;
        let mut parents = Vec::new();
        for id in at.parent_ids() {
            match self.inner.find_commit(id) {
                Err(_) if is_shallow => {}
                parent => parents.push(parent?),
            }
        }
        let tree = self.releases_of(&at, known)?;
        let before: Vec<Option<Oid>> =
            parents.iter().map(|parent| self.releases_of(parent, known)).collect::<Result<_, _>>()?;
        known.remove(&id);
        let is_end = is_shallow && parents.len() < at.parent_count().max(1);
        let mut new = New { parents: parents.iter().map(Commit::id).collect(), ..New::default() };
        if let Some(tree) = tree.filter(|tree| !before.contains(&Some(*tree))) {
            let names = self.new_in(tree, &before)?;
            if is_end {
                new.older.extend(names.into_keys());
            } else {
                new.names = names;
            }
        }
        Ok(new)
    }

    /// The releases in a commit's folder that none of its parents has, each with its tree.
    fn new_in(&self, tree: Oid, before: &[Option<Oid>]) -> Result<BTreeMap<String, Oid>, git2::Error> {
        let before: Vec<Tree<'_>> =
            before.iter().flatten().map(|id| self.inner.find_tree(*id)).collect::<Result<_, _>>()?;
        let mut found = BTreeMap::new();
        for entry in &self.inner.find_tree(tree)? {
            let name = String::from_utf8_lossy(entry.name_bytes());
            let is_folder = entry.kind() == Some(ObjectType::Tree);
            if is_folder && !before.iter().any(|tree| folder(tree, &name).is_some()) {
                found.insert(name.into_owned(), entry.id());
            }
        }
        Ok(found)
    }

    /// Whether a commit that added a release descends from another one that did.
    pub(super) fn follows(&self, one: &Added, other: &Added) -> bool {
        one.commit != other.commit && self.descends(one.commit, other.commit)
    }

    /// The addition that defines a release: the first one. If independent lines added different contents, it is the one
    /// whose content HEAD has, otherwise the one that the branch received first.
    pub(super) fn origin_of(&self, name: &str, additions: &[Added]) -> Option<Origin> {
        let is_first = |one: &&Added| !additions.iter().any(|other| self.follows(one, other));
        let mut firsts: Vec<Added> = match additions {
            [one] => vec![*one],
            several => several.iter().filter(is_first).copied().collect(),
        };
        firsts.reverse();
        let earliest = *firsts.first()?;
        if firsts.iter().all(|one| one.tree == earliest.tree) {
            return Some(Origin { added: earliest, others: Vec::new(), unedited: None });
        }
        let tip = self.tip().ok().and_then(|tip| tip.commit());
        let head = tip.and_then(|tip| self.folder_of(tip, name).ok()?);
        let added = firsts.iter().find(|one| Some(one.tree) == head).copied().unwrap_or(earliest);
        let others = firsts.iter().filter(|one| one.tree != added.tree).copied().collect();
        let unedited = self.unedited(name);
        let unedited = unedited.and_then(|commit| firsts.into_iter().find(|one| one.commit == commit));
        Some(Origin { added, others, unedited })
    }

    /// The commit that added a release as HEAD has it, if only merges brought it there.
    fn unedited(&self, name: &str) -> Option<Oid> {
        let mut at = self.tip().ok()?.commit()?;
        let tree = self.folder_of(at, name).ok()??;
        loop {
            let commit = self.inner.find_commit(at).ok()?;
            let mut trees = Vec::new();
            for parent in commit.parent_ids() {
                trees.push((parent, self.folder_of(parent, name).ok()?));
            }
            match trees.iter().find(|(_, found)| *found == Some(tree)) {
                Some((parent, _)) => at = *parent,
                None => return trees.iter().all(|(_, found)| found.is_none()).then_some(at),
            }
        }
    }

    /// The tree of the folder of releases in a commit.
    fn releases_of(
        &self,
        commit: &Commit<'_>,
        known: &mut BTreeMap<Oid, Option<Oid>>,
    ) -> Result<Option<Oid>, git2::Error> {
        if let Some(found) = known.get(&commit.id()) {
            return Ok(*found);
        }
        let found = match commit.tree()?.get_path(format!("{}{RELEASES}", self.prefix).as_ref()) {
            Ok(entry) => (entry.kind() == Some(ObjectType::Tree)).then(|| entry.id()),
            Err(error) if error.code() == ErrorCode::NotFound => None,
            Err(error) => return Err(error),
        };
        known.insert(commit.id(), found);
        Ok(found)
    }

    /// The lock in a commit; equal texts are stored once. The outer None means that there is no lock, the inner None that
    /// its text is missing from this partial clone.
    #[expect(clippy::option_option, reason = "no lock and one that is missing differ")]
    pub(super) fn lock_at(
        &self,
        commit: Oid,
        known: &mut BTreeMap<Oid, Arc<str>>,
    ) -> Option<Option<Arc<str>>> {
        let tree = self.inner.find_commit(commit).ok()?.tree().ok()?;
        let id = tree.get_path(format!("{}{LOCK}", self.prefix).as_ref()).ok()?.id();
        if let Some(text) = known.get(&id) {
            return Some(Some(text.clone()));
        }
        let Ok(blob) = self.inner.find_blob(id) else { return Some(None) };
        let text: Arc<str> = String::from_utf8_lossy(blob.content()).into();
        known.insert(id, text.clone());
        Some(Some(text))
    }
}

fn folder(releases: &Tree<'_>, name: &str) -> Option<Oid> {
    releases.get_name(name).filter(|entry| entry.kind() == Some(ObjectType::Tree)).map(|entry| entry.id())
}
