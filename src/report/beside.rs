//! What differs of the tree beside clusters: releases, namespaces, the engine's objects, and the users' own objects.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest as _, Sha256};

use super::{after::After, risk::Risk};
use crate::{
    compare::{Archive, BlobId},
    model::hex,
    note::{Fault, Notes},
    tree::{FileChange, PartId, TreePath},
    world::{Input, companion_folder, is_head_release},
    yaml::{self, FileId, Node, Source},
};

/// What a change beside clusters is of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A release.
    Release(String),
    /// A namespace of a management cluster.
    Namespace {
        /// The management cluster.
        management: String,
        /// The namespace.
        namespace: String,
    },
    /// The engine's objects in a management cluster.
    Engine(String),
    /// The user's own objects in the folder of a cluster.
    Own(String),
    /// What the tree as a whole has.
    Tree,
}

/// What differs of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BesideChange {
    /// The name of the change, which stays the same from run to run: made of the place, and of each file with its content
    /// before and after.
    pub id: String,
    /// What it is of.
    pub place: Place,
    /// How bad that is.
    pub risk: Risk,
    /// What becomes of it as a whole.
    pub kind: FileChange,
    /// The files that differ, by path.
    pub files: BTreeMap<String, FileChange>,
}

impl BesideChange {
    /// Whether a namespace goes. Single objects of one go and come with the versions that its clusters have.
    pub fn is_unannounced(&self) -> bool {
        matches!(self.place, Place::Namespace { .. }) && self.kind == FileChange::Removed
    }
}

/// What differs of generated files beside clusters.
pub(super) fn changes(after: &After<'_>, before: &dyn Archive) -> Result<Vec<BesideChange>, Fault> {
    let mut found: BTreeMap<Place, BTreeMap<String, FileChange>> = BTreeMap::new();
    for (path, change) in &after.changes().files {
        let Some(place) = place(path) else { continue };
        if *change == FileChange::Changed && is_same_object(path.as_str(), after, before)? {
            continue;
        }
        found.entry(place).or_default().insert(path.to_string(), *change);
    }
    let [old, new] = after.listings().map(places);
    Ok(found
        .into_iter()
        .map(|(place, files)| {
            let kind = match (old.contains(&place), new.contains(&place)) {
                (false, _) => FileChange::Added,
                (_, false) => FileChange::Removed,
                _ => FileChange::Changed,
            };
            let id = id(&place, &files, after.listings());
            BesideChange { id, risk: risk(&place, kind, &files), place, kind, files }
        })
        .collect())
}

/// What differs of the users' own objects, file by file: the program applies them as they are.
pub(super) fn own(before: &dyn Archive, after: &Input) -> Result<Vec<BesideChange>, Fault> {
    let is_own = |path: &str| companion_folder(path).is_some();
    let old: BTreeMap<String, BlobId> =
        before.list("clusters")?.into_iter().filter(|(path, _)| is_own(path)).collect();
    let of = |source: &Source| (source.path.to_string(), BlobId::of(source.text.as_bytes()));
    Ok(own_of(&old, &after.beside.iter().map(of).collect()))
}

/// The same for two commits.
pub(super) fn own_committed(before: &dyn Archive, after: &dyn Archive) -> Result<Vec<BesideChange>, Fault> {
    let list = |archive: &dyn Archive| -> Result<BTreeMap<String, BlobId>, Fault> {
        let all = archive.list("clusters")?.into_iter();
        Ok(all.filter(|(path, _)| companion_folder(path).is_some()).collect())
    };
    Ok(own_of(&list(before)?, &list(after)?))
}

fn own_of(old: &BTreeMap<String, BlobId>, new: &BTreeMap<String, BlobId>) -> Vec<BesideChange> {
    let mut found: BTreeMap<&str, BTreeMap<String, FileChange>> = BTreeMap::new();
    for path in old.keys().chain(new.keys()).collect::<BTreeSet<_>>() {
        let change = match (old.get(path), new.get(path)) {
            (None, _) => FileChange::Added,
            (_, None) => FileChange::Removed,
            (old, new) if old != new => FileChange::Changed,
            _ => continue,
        };
        let folder = companion_folder(path).unwrap_or_default();
        found.entry(folder).or_default().insert(path.clone(), change);
    }
    let change = |(folder, files): (&str, BTreeMap<String, FileChange>)| {
        let place = Place::Own(folder.to_owned());
        let is_removed = files.values().any(|change| *change == FileChange::Removed);
        BesideChange {
            id: id(&place, &files, [old, new]),
            place,
            // A file that goes takes its objects with it. What others hold is not read.
            risk: if is_removed { Risk::Deletes } else { Risk::Unknown },
            kind: FileChange::Changed,
            files,
        }
    };
    found.into_iter().map(change).collect()
}

fn id(place: &Place, files: &BTreeMap<String, FileChange>, sides: [&BTreeMap<String, BlobId>; 2]) -> String {
    let content = |path: &String| sides.map(|side| side.get(path));
    let files: Vec<_> = files.keys().map(|path| (path, content(path))).collect();
    hex(&Sha256::digest(format!("{place:?} {files:?}"))[..8])
}

fn place(path: &TreePath) -> Option<Place> {
    Some(match PartId::of_path(path) {
        None | Some(PartId::Root) => Place::Tree,
        Some(PartId::Release(name)) => Place::Release(name),
        Some(PartId::Management(name)) => Place::Engine(name),
        Some(PartId::Namespace { management, namespace }) => Place::Namespace { management, namespace },
        Some(PartId::Cluster { .. }) => return None,
    })
}

fn places(listing: &BTreeMap<String, BlobId>) -> BTreeSet<Place> {
    listing.keys().filter_map(|path| place(&TreePath::parse(path)?)).collect()
}

fn risk(place: &Place, kind: FileChange, files: &BTreeMap<String, FileChange>) -> Risk {
    let is_less = files.values().any(|change| *change == FileChange::Removed);
    match (place, kind) {
        (_, FileChange::Unchanged) => Risk::Nothing,
        (Place::Release(name), FileChange::Changed) if !is_head_release(name) => Risk::Refused,
        // Its name holds a digest of its content.
        (Place::Release(_), FileChange::Changed) => Risk::Unknown,
        (Place::Namespace { .. }, _) if is_less => Risk::Deletes,
        (Place::Tree, _) => Risk::Metadata,
        _ => Risk::InPlace,
    }
}

fn is_same_object(path: &str, after: &After<'_>, before: &dyn Archive) -> Result<bool, Fault> {
    if !crate::world::is_yaml(path) {
        return Ok(false);
    }
    let [old, new] = after.listings();
    let read = |id: Option<&BlobId>, archive: &dyn Archive| -> Result<Option<Node>, Fault> {
        let Some(id) = id else { return Ok(None) };
        let source = Source::new(FileId(0), path, archive.read(id)?);
        Ok(yaml::read(&source, &mut Notes::new()))
    };
    let (old, new) = (read(old.get(path), before)?, read(new.get(path), after)?);
    Ok(old.is_some() && old == new)
}
