//! Reads what a commit has below `generated/`, and writes the trees of the next commit.

use std::collections::{BTreeMap, BTreeSet};

use git2::{ErrorCode, ObjectType, Oid};

use super::{Repository, objects::Objects};
use crate::{
    io::disk::is_numbered_release,
    note::{Fault, Notes, Place},
    tree::TreePath,
};

/// The mode of a plain file.
pub(super) const FILE: i32 = 0o100_644;

/// The mode of an executable file.
pub(super) const RUNNABLE: i32 = 0o100_755;

/// The folder of releases in a fleet.
pub(super) const RELEASES: &str = "generated/releases";

/// The mode of a symbolic link.
pub(super) const LINK: i32 = 0o120_000;

/// The mode of a submodule's commit.
pub(super) const SUBMODULE: i32 = 0o160_000;

/// The mode of a folder.
pub(super) const FOLDER: i32 = 0o040_000;

/// An entry of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) id: Oid,
    pub(super) mode: i32,
}

impl Entry {
    /// Whether it is a whole folder whose contents are not listed: a numbered release.
    pub(super) fn is_folder(self) -> bool {
        self.mode == FOLDER
    }

    /// Whether it is a file or a link, and so has content; a submodule's commit has none.
    pub(super) fn is_file(self) -> bool {
        matches!(self.mode >> 12, 0o10 | 0o12)
    }
}

/// Everything that a commit has below `generated/`, with one entry per numbered release.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// The tree of the whole commit.
    pub(super) root: Option<Oid>,
    pub(super) entries: BTreeMap<TreePath, Entry>,
    trees: BTreeSet<Oid>,
    /// Paths that none of the program's own files can have.
    pub(super) strange: Vec<String>,
}

impl Listing {
    /// Reads the trees of a commit.
    pub(super) fn read(repository: &Repository, commit: Option<Oid>) -> Result<Self, Fault> {
        let mut listing = Self::default();
        let Some(commit) = commit else { return Ok(listing) };
        listing.fill(repository, commit).map_err(|error| {
            Fault::because(format!("cannot read the trees of the commit {commit}"), error)
                .hint("in a partial clone, get all trees with `git fetch --refetch --filter=blob:none`")
        })?;
        Ok(listing)
    }

    fn fill(&mut self, repository: &Repository, commit: Oid) -> Result<(), git2::Error> {
        let root = repository.inner.find_commit(commit)?.tree()?;
        self.root = Some(root.id());
        let top = format!("{}generated", repository.prefix);
        let entry = match root.get_path(top.as_ref()) {
            Ok(entry) => entry,
            Err(error) if error.code() == ErrorCode::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        if entry.filemode_raw() == FOLDER {
            self.folder(&repository.inner, entry.id(), &TreePath::root())
        } else {
            self.strange.push("generated".to_owned());
            Ok(())
        }
    }

    fn folder(&mut self, repository: &git2::Repository, id: Oid, path: &TreePath) -> Result<(), git2::Error> {
        self.trees.insert(id);
        for entry in &repository.find_tree(id)? {
            let name = String::from_utf8_lossy(entry.name_bytes()).into_owned();
            let Some(path) = TreePath::parse(&format!("{path}/{name}")) else {
                self.strange.push(format!("{path}/{name}"));
                continue;
            };
            let found = Entry { id: entry.id(), mode: entry.filemode_raw() };
            if found.is_folder() && !is_numbered_release(&path) {
                self.folder(repository, found.id, &path)?;
            } else {
                self.entries.insert(path, found);
            }
        }
        Ok(())
    }

    /// Writes the trees of a commit with these entries below `generated/`. Everything else is as in the tree `root`, which
    /// must be in the database. None if there was no tree and there are no entries.
    pub(super) fn write(
        &self,
        repository: &Repository,
        root: Option<Oid>,
        entries: &BTreeMap<TreePath, Entry>,
        objects: &mut Objects,
    ) -> Result<Option<Oid>, Fault> {
        let flat: Vec<(&str, Entry)> = entries.iter().map(|(path, entry)| (path.as_str(), *entry)).collect();
        let top = TreePath::root().as_str().len() + 1;
        let id = if flat.is_empty() { None } else { Some(self.tree(&flat, top, objects)?) };
        let generated = id.map(|id| Entry { id, mode: FOLDER });
        let path = format!("{}generated", repository.prefix);
        let parts: Vec<&str> = path.split('/').collect();
        match graft(&repository.inner, root, &parts, generated, objects)? {
            None if root.is_some() => empty_tree(objects).map(Some),
            tree => Ok(tree.map(|tree| tree.id)),
        }
    }

    /// Writes the tree of entries whose paths share their first `from` bytes.
    fn tree(&self, entries: &[(&str, Entry)], from: usize, objects: &mut Objects) -> Result<Oid, Fault> {
        let mut rows = Vec::new();
        let mut rest = entries;
        while let Some((path, entry)) = rest.first() {
            let Some((name, _)) = path[from..].split_once('/') else {
                rows.push((path.as_bytes()[from..].to_vec(), *entry));
                rest = &rest[1..];
                continue;
            };
            let below = from + name.len() + 1;
            let count = rest.partition_point(|(other, _)| other.starts_with(&path[..below]));
            let id = self.tree(&rest[..count], below, objects)?;
            rows.push((name.as_bytes().to_vec(), Entry { id, mode: FOLDER }));
            rest = &rest[count..];
        }
        let name = entries.first().map_or("", |(path, _)| &path[..from.saturating_sub(1)]);
        let (id, bytes) = serialise(rows)?;
        if !self.trees.contains(&id) {
            objects.add(ObjectType::Tree, id, name, bytes)?;
        }
        Ok(id)
    }
}

/// Writes a tree that differs from `tree`, which must be in the database, in one file of the fleet.
pub(super) fn with_file(
    repository: &Repository,
    tree: Oid,
    path: &str,
    id: Oid,
    objects: &mut Objects,
) -> Result<Oid, Fault> {
    let path = format!("{}{path}", repository.prefix);
    let parts: Vec<&str> = path.split('/').collect();
    let file = Entry { id, mode: FILE };
    Ok(graft(&repository.inner, Some(tree), &parts, Some(file), objects)?.map_or(tree, |tree| tree.id))
}

/// Writes a tree that differs from `tree`, which must be in the database, in some files of the fleet. None removes a file.
pub(super) fn with_files(
    repository: &Repository,
    tree: Option<Oid>,
    changes: &BTreeMap<String, Option<Entry>>,
    objects: &mut Objects,
) -> Result<Option<Oid>, Fault> {
    if changes.is_empty() {
        return Ok(tree);
    }
    let whole: Vec<_> =
        changes.iter().map(|(path, entry)| (format!("{}{path}", repository.prefix), *entry)).collect();
    let flat: Vec<(&str, Option<Entry>)> =
        whole.iter().map(|(path, entry)| (path.as_str(), *entry)).collect();
    let new = match replaced(&repository.inner, tree, &flat, objects)? {
        None if tree.is_some() => Some(empty_tree(objects)?),
        new => new.map(|new| new.id),
    };
    objects.flush()?;
    Ok(new)
}

/// The new entry at a name, and the changes below it.
type Replacement<'a> = (Option<Option<Entry>>, Vec<(&'a str, Option<Entry>)>);

/// Applies changes to a folder; None if it becomes empty.
fn replaced(
    repository: &git2::Repository,
    tree: Option<Oid>,
    changes: &[(&str, Option<Entry>)],
    objects: &mut Objects,
) -> Result<Option<Entry>, Fault> {
    let mut by_name: BTreeMap<&str, Replacement<'_>> = BTreeMap::new();
    for (path, entry) in changes {
        match path.split_once('/') {
            None => by_name.entry(path).or_default().0 = Some(*entry),
            Some((name, rest)) => by_name.entry(name).or_default().1.push((rest, *entry)),
        }
    }
    let mut rows = Vec::new();
    let mut folders = BTreeMap::new();
    if let Some(tree) = tree {
        let tree = repository
            .find_tree(tree)
            .map_err(|error| Fault::because(format!("cannot read the tree {tree}"), error))?;
        for entry in &tree {
            let found = Entry { id: entry.id(), mode: entry.filemode_raw() };
            match std::str::from_utf8(entry.name_bytes()).ok().filter(|name| by_name.contains_key(name)) {
                None => rows.push((entry.name_bytes().to_vec(), found)),
                Some(name) => drop(found.is_folder().then(|| folders.insert(name.to_owned(), found.id))),
            }
        }
    }
    for (name, (here, below)) in by_name {
        let entry = match here.flatten() {
            Some(entry) => Some(entry),
            None => replaced(repository, folders.get(name).copied(), &below, objects)?,
        };
        rows.extend(entry.map(|entry| (name.as_bytes().to_vec(), entry)));
    }
    if rows.is_empty() {
        return Ok(None);
    }
    let (id, bytes) = serialise(rows)?;
    if Some(id) != tree {
        objects.add(ObjectType::Tree, id, "", bytes)?;
    }
    Ok(Some(Entry { id, mode: FOLDER }))
}

fn empty_tree(objects: &mut Objects) -> Result<Oid, Fault> {
    let (id, bytes) = serialise(Vec::new())?;
    objects.add(ObjectType::Tree, id, "", bytes)?;
    Ok(id)
}

/// Replaces the entry at a path deep in a tree. Folders that become empty are removed.
fn graft(
    repository: &git2::Repository,
    tree: Option<Oid>,
    path: &[&str],
    new: Option<Entry>,
    objects: &mut Objects,
) -> Result<Option<Entry>, Fault> {
    let [name, below @ ..] = path else { return Ok(new) };
    let mut rows = Vec::new();
    let mut inner = None;
    if let Some(tree) = tree {
        let tree = repository
            .find_tree(tree)
            .map_err(|error| Fault::because(format!("cannot read the tree {tree}"), error))?;
        for entry in &tree {
            if entry.name_bytes() != name.as_bytes() {
                rows.push((
                    entry.name_bytes().to_vec(),
                    Entry { id: entry.id(), mode: entry.filemode_raw() },
                ));
            } else if entry.filemode_raw() == FOLDER {
                inner = Some(entry.id());
            } else if !below.is_empty() {
                return Err(Fault::new(format!("the folder `{name}` of the fleet is a file in HEAD"))
                    .hint("commit that change first"));
            }
        }
    }
    if let Some(entry) = graft(repository, inner, below, new, objects)? {
        rows.push((name.as_bytes().to_vec(), entry));
    }
    if rows.is_empty() {
        return Ok(None);
    }
    let (id, bytes) = serialise(rows)?;
    if Some(id) != tree {
        objects.add(ObjectType::Tree, id, name, bytes)?;
    }
    Ok(Some(Entry { id, mode: FOLDER }))
}

/// Serialises a tree as git stores it: sorted by name, where a folder's name counts with a slash at its end.
fn serialise(mut rows: Vec<(Vec<u8>, Entry)>) -> Result<(Oid, Vec<u8>), Fault> {
    rows.sort_by_cached_key(|(name, entry)| {
        let mut key = name.clone();
        key.extend(entry.is_folder().then_some(b'/'));
        key
    });
    let mut bytes = Vec::new();
    for (name, entry) in rows {
        bytes.extend(format!("{:o} ", entry.mode).bytes());
        bytes.extend(name);
        bytes.push(0);
        bytes.extend(entry.id.as_bytes());
    }
    let id = Oid::hash_object(ObjectType::Tree, &bytes)
        .map_err(|error| Fault::because("cannot hash a tree", error))?;
    Ok((id, bytes))
}

/// Reports that HEAD has a file that the program did not write.
pub(super) fn note_foreign_in_head(notes: &mut Notes, path: &str) {
    notes
        .error("foreign-file", Place::file(path), "HEAD has this file, but stackloom did not write it")
        .hint("commit its removal first, for example with `git rm --cached`, or move it out of `generated/`");
}
