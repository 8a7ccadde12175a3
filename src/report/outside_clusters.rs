//! Changes of the tree outside clusters: releases, namespaces, the engine's objects, and the users' own objects.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::{
    Background, change_id, cluster::ClusterReport, commits_since_base::Announced, new_tree::After,
    objects::is_of_machines, own_objects::OwnObject, risk::Risk,
};
use crate::{
    compare::{Archive, BlobId, ReadFiles, cluster_folder},
    model::ClusterId,
    note::{About, Fault, Notes},
    release::group_of,
    render,
    tree::{FileChange, PartId, TreePath},
    world::is_head_release,
    yaml::{self, FileId, Node, Source},
};

/// The place of a change outside clusters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OutsidePlace {
    Release(String),
    /// A namespace of a management cluster.
    Namespace {
        /// The management cluster.
        management: String,
        namespace: String,
    },
    /// The engine's objects in a management cluster.
    Engine(String),
    /// The user's own objects in the folder of a cluster.
    Own(String),
    /// A node image for machines.
    NodeImage(String),
    /// The root of the tree.
    Tree,
}

/// A change outside clusters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutsideChange {
    /// The ID of the change, stable across runs. It is derived from the place, and from the content of each file before and
    /// after.
    pub id: String,
    /// The place that changes.
    pub place: OutsidePlace,
    /// How much harm it can do.
    pub risk: Risk,
    /// How the place changes as a whole.
    pub kind: FileChange,
    /// The files that differ, by path.
    pub files: BTreeMap<String, FileChange>,
    /// The user's own objects that differ; none if their files cannot be read as objects.
    pub objects: Vec<OwnObject>,
    /// The former folder of these objects, if it moved.
    pub moved: Option<String>,
    /// Whether engines leave in place what it removes.
    pub kept: bool,
    /// The reason why a definition accepts its risk, if one does.
    pub accepted: Option<String>,
    /// How many of the changes of clusters that it may follow from are refused.
    pub refused: RefusedShare,
}

/// Lists the changes of generated files outside clusters.
pub(super) fn changes(
    after: &After<'_>,
    before: &dyn Archive,
    background: &Background,
) -> Result<Vec<OutsideChange>, Fault> {
    let mut found: BTreeMap<OutsidePlace, BTreeMap<String, FileChange>> = BTreeMap::new();
    for (place, path, change) in differing(after, before)? {
        found.entry(place).or_default().insert(path, change);
    }
    let [old, new] = after.listings();
    let (old, new) = rayon::join(|| places(old), || places(new));
    found
        .into_iter()
        .map(|(place, files)| {
            let kind = match (old.contains(&place), new.contains(&place)) {
                (false, _) => FileChange::Added,
                (_, false) => FileChange::Removed,
                _ => FileChange::Changed,
            };
            (place, kind, files)
        })
        .map(|(place, kind, files)| {
            let is_spare =
                kind == FileChange::Changed && is_spare(&place, &files, (after, before), background)?;
            let risk = if is_spare { Risk::InPlace } else { risk(&place, kind, &files) };
            let acts = risk == Risk::InPlace && acts_on_machines(&place, &files, after)?;
            let risk = if acts { Risk::Unknown } else { risk };
            let id = change_id::of_files(&place, files.keys(), after.listings());
            // Engines delete neither a namespace nor, with it, what is in it.
            let kept = kind == FileChange::Removed && matches!(place, OutsidePlace::Namespace { .. });
            Ok(OutsideChange {
                kept,
                id,
                place,
                risk,
                kind,
                files,
                objects: Vec::new(),
                moved: None,
                accepted: None,
                refused: RefusedShare::None,
            })
        })
        .collect()
}

/// The files outside clusters that differ as objects. They are read in parallel: a release changes the engine's objects of all
/// its clusters.
fn differing(
    after: &After<'_>,
    before: &dyn Archive,
) -> Result<Vec<(OutsidePlace, String, FileChange)>, Fault> {
    let files = after.changes().files.iter();
    let files: Vec<_> = files.filter_map(|(path, change)| Some((place(path)?, path, *change))).collect();
    let known = ReadFiles::default();
    let differs = |(_, path, change): &(OutsidePlace, &TreePath, FileChange)| {
        Ok(*change != FileChange::Changed || !is_same_object(path.as_str(), after, before, &known)?)
    };
    let differ: Vec<bool> = files.par_iter().map(differs).collect::<Result<_, Fault>>()?;
    let found = files.into_iter().zip(differ).filter(|(_, differs)| *differs);
    Ok(found.map(|((place, path, change), _)| (place, path.to_string(), change)).collect())
}

/// How many of the changes of clusters that a change outside clusters may follow from are refused by guards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum RefusedShare {
    /// None.
    #[default]
    None,
    /// Some, but not all.
    Some,
    /// All.
    All,
}

/// Marks the changes in generated files that follow from refused changes of clusters.
pub(super) fn mark_refused(changes: &mut [OutsideChange], clusters: &[ClusterReport]) {
    for change in changes {
        let is_of = |one: &&ClusterReport| match &change.place {
            OutsidePlace::Engine(management) => one.cluster.management.as_str() == management,
            OutsidePlace::Namespace { management, namespace } => {
                one.cluster.management.as_str() == management && one.cluster.namespace.as_str() == namespace
            }
            OutsidePlace::Release(name) => {
                let of = &one.release;
                of.differs() && [&of.before, &of.after].into_iter().flatten().any(|one| one == name)
            }
            OutsidePlace::Tree => true,
            // Images are those of changes that happen, and the user's own objects are not generated.
            OutsidePlace::NodeImage(_) | OutsidePlace::Own(_) => false,
        };
        let is_refused = |one: &ClusterReport| one.refusal().is_some_and(|one| one.by_guards);
        let all: Vec<bool> = clusters.iter().filter(is_of).map(is_refused).collect();
        change.refused = match (all.contains(&true), all.contains(&false)) {
            (false, _) => RefusedShare::None,
            (true, true) => RefusedShare::Some,
            (true, false) => RefusedShare::All,
        };
    }
}

/// Whether everything removed from a namespace belongs to Kubernetes versions that its clusters no longer use.
fn is_spare(
    place: &OutsidePlace,
    files: &BTreeMap<String, FileChange>,
    (after, before): (&After<'_>, &dyn Archive),
    background: &Background,
) -> Result<bool, Fault> {
    let OutsidePlace::Namespace { management, namespace } = place else { return Ok(false) };
    let removed: Vec<&String> =
        files.iter().filter(|(_, change)| **change == FileChange::Removed).map(|(path, _)| path).collect();
    if removed.is_empty() {
        return Ok(false);
    }
    let folder = format!("generated/management/{management}/clusters/{namespace}");
    let (old, new) = (after.earlier().list(&folder)?, after.list(&folder)?);
    let (old_clusters, new_clusters) = (clusters(&old), clusters(&new));
    let [old, _] = after.listings();
    // A cluster whose removal ends had its last machine deleted by an earlier commit, so no Cluster object names its version.
    let mut left = background.kubernetes.clone();
    let mut kept = BTreeSet::new();
    for (path, id) in old_clusters {
        let text = before.read(id)?;
        // A cluster that is no longer defined keeps running and keeps what it needs.
        let is_abandoned = !new.contains_key(path)
            && render::is_protected(&text)
            && !is_announced(path, &background.announced);
        if is_abandoned { &mut kept } else { &mut left }.extend(version(path, text));
    }
    for (path, id) in new_clusters {
        kept.extend(version(path, after.read(id)?));
    }
    left.retain(|version| !kept.contains(version));
    for path in removed {
        let Some(id) = old.get(path) else { return Ok(false) };
        let text = before.read(id)?;
        if !left.iter().any(|version| is_named(&text, version)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The Cluster objects of a listing.
fn clusters(listing: &BTreeMap<String, BlobId>) -> impl Iterator<Item = (&String, &BlobId)> {
    listing.iter().filter(|(path, _)| render::is_cluster_file(path))
}

fn is_announced(path: &str, announced: &Announced) -> bool {
    let part = TreePath::parse(path).and_then(|path| PartId::of_path(&path));
    let cluster = part.as_ref().and_then(ClusterId::of_part);
    cluster.and_then(|cluster| announced.get(&cluster)).is_some_and(|what| what.contains(&About::Cluster))
}

/// The Kubernetes version of a Cluster, without its `v`.
fn version(path: &str, text: String) -> Option<String> {
    let cluster = yaml::read(&Source::new(FileId(0), path, text), &mut Notes::new())?;
    let version = cluster.at(&["spec", "topology", "version"])?.as_str()?;
    Some(version.trim_start_matches('v').to_owned())
}

/// Whether a text contains a version, but not as part of a longer one.
fn is_named(text: &str, version: &str) -> bool {
    text.match_indices(version).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + version.len()..].chars().next();
        let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        !is_digit(before) && before != Some('.') && !is_digit(after)
    })
}

fn place(path: &TreePath) -> Option<OutsidePlace> {
    Some(match PartId::of_path(path) {
        None | Some(PartId::Root) => OutsidePlace::Tree,
        Some(PartId::Release(name)) => OutsidePlace::Release(name),
        Some(PartId::Management(name)) => OutsidePlace::Engine(name),
        Some(PartId::Namespace { management, namespace }) => {
            OutsidePlace::Namespace { management, namespace }
        }
        Some(PartId::Cluster { .. }) => return None,
    })
}

fn places(listing: &BTreeMap<String, BlobId>) -> BTreeSet<OutsidePlace> {
    let outside = listing.keys().filter(|path| cluster_folder(path).is_none());
    outside.filter_map(|path| place(&TreePath::parse(path)?)).collect()
}

fn risk(place: &OutsidePlace, kind: FileChange, files: &BTreeMap<String, FileChange>) -> Risk {
    let is_less = files.values().any(|change| *change == FileChange::Removed);
    match (place, kind) {
        (_, FileChange::Unchanged) => Risk::Nothing,
        (OutsidePlace::Release(name), FileChange::Changed) if !is_head_release(name) => Risk::Refused,
        // Its name contains a digest of its content.
        (OutsidePlace::Release(_), FileChange::Changed) => Risk::Unknown,
        (OutsidePlace::Namespace { .. }, _) if is_less => Risk::Deletes,
        (OutsidePlace::Tree, _) => Risk::Metadata,
        _ => Risk::InPlace,
    }
}

/// Whether Cluster API or a provider may replace or delete machines because of what is new or changed in a namespace.
fn acts_on_machines(
    place: &OutsidePlace,
    files: &BTreeMap<String, FileChange>,
    after: &After<'_>,
) -> Result<bool, Fault> {
    let [_, new] = after.listings();
    let kept =
        |path: &&String| matches!(place, OutsidePlace::Namespace { .. }) && crate::world::is_yaml(path);
    for path in files.keys().filter(kept) {
        let Some(id) = new.get(path) else { continue };
        let object = yaml::read(&Source::new(FileId(0), path.as_str(), after.read(id)?), &mut Notes::new());
        let text = |key: &str| object.as_ref()?.get(key)?.as_str();
        let is_template =
            files[path] == FileChange::Added && text("kind").is_some_and(|kind| kind.ends_with("Template"));
        if !is_template && text("apiVersion").map(group_of).is_some_and(is_of_machines) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_same_object(
    path: &str,
    after: &After<'_>,
    before: &dyn Archive,
    known: &ReadFiles,
) -> Result<bool, Fault> {
    if !crate::world::is_yaml(path) {
        return Ok(false);
    }
    let [old, new] = after.listings();
    let read = |id: Option<&BlobId>, archive: &dyn Archive| -> Result<Option<Node>, Fault> {
        let Some(id) = id else { return Ok(None) };
        Ok(known.read(path, archive.read(id)?).ok())
    };
    let (old, new) = (read(old.get(path), before)?, read(new.get(path), after)?);
    Ok(old.is_some() && old == new)
}
