//! Since when releases are in the branch: what stands for a tag that is not here.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use git2::{Commit, ErrorCode, ObjectType, Oid, Tree};

use super::{Repository, trees::RELEASES};
use crate::world::LOCK;

/// A commit that added a release, which none of its parents has, and the tree that it gave the release's folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Added {
    pub(super) commit: Oid,
    pub(super) tree: Oid,
}

/// The commits that added releases, by name, in the reverse of the order in which HEAD's own line received them. There
/// is more than one where a release was removed and came back, or where two lines that were merged added it.
pub(super) type Additions = BTreeMap<String, Vec<Added>>;

/// Which of the commits that added a release says what it is.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    pub(super) added: Added,
    /// The commits that added another release of this name, on lines that knew nothing of it; that which the branch
    /// received first comes first.
    pub(super) others: Vec<Added>,
    /// The commit among them that added what HEAD has, if nothing but merges brought it here.
    pub(super) unedited: Option<Added>,
}

/// A step of a walk through the history.
enum Visit {
    /// To a commit, whose parents come next.
    Enter(Oid),
    /// Back from it, its parents being done, with the releases that it added.
    Leave(Oid, BTreeMap<String, Oid>),
}

/// What a commit has that its parents do not.
#[derive(Default)]
struct New {
    /// Those of its parents that this clone has.
    parents: Vec<Oid>,
    /// The releases that it added, each with its tree.
    names: BTreeMap<String, Oid>,
    /// Releases that it or an earlier commit added, where a shallow clone ends.
    older: Vec<String>,
}

impl Repository {
    /// The commits of the history, merged lines included, that added releases, and whether all of it could be read. Of a
    /// release that is older than one end of a shallow clone, nobody knows which commit added it first: it has none.
    pub(super) fn additions(&self) -> (Additions, Result<(), git2::Error>) {
        let (mut found, mut older) = (Additions::new(), BTreeSet::new());
        let walked = self.walk(&mut found, &mut older);
        found.retain(|name, _| !older.contains(name));
        for additions in found.values_mut() {
            additions.reverse();
        }
        (found, walked)
    }

    /// Visits each commit after its parents, and the first parent's history before that of the others. So the order is
    /// that in which the branch received them, and follows from the shape of the history alone: clocks go wrong, and
    /// commits of one second have no order.
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
        let is_shallow = self.inner.is_shallow();
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

    /// The releases that the folder of all of them has in a commit and in none of its parents, each with its tree.
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

    /// Whether a commit that added a release knew of another one that did.
    pub(super) fn follows(&self, one: &Added, other: &Added) -> bool {
        one.commit != other.commit && self.descends(one.commit, other.commit)
    }

    /// Which addition says what a release is: the first; where lines that know nothing of each other added it and not
    /// the same, the one that is in HEAD, else the one that the branch received first.
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

    /// The commit that added a release as HEAD has it, if nothing but merges brought it here.
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

    /// The tree of all releases of a commit.
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

    /// What the lock of a commit says, each text kept once: nothing where it has none, and no text where that is not in
    /// this partial clone.
    #[expect(clippy::option_option, reason = "no lock, and one that is not here, are two things")]
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
