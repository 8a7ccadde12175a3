//! Reports the differences of the users' own objects in the `.d` folders of clusters.
//!
//! The objects of a cluster are compared by address, regardless of the file: an engine applies the whole folder. Their
//! effects are unknown, so a change is never below `unknown`, except for labels and annotations. Values are not shown: they
//! belong to the user and may be encrypted. If a file cannot be parsed into objects, files are compared instead.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    change_id,
    outside_clusters::{OutsideChange, OutsidePlace, RefusedShare},
    risk::Risk,
};
use crate::{
    compare::{Address, Archive, BlobId, changed},
    model::ClusterId,
    note::{Fault, Notes},
    remove::Defined,
    render,
    tree::FileChange,
    world::{Input, companion_folder, holds_object},
    yaml::{FileId, Node, Source, emit, read_raw},
};

/// A change of one of these objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnObject {
    pub address: Address,
    /// How it changes.
    pub change: FileChange,
    /// Whether it leaves git and stays in the management cluster.
    pub stays: bool,
}

/// The files in `.d` folders, by path.
type Listing = BTreeMap<String, BlobId>;

/// Reads the text of a file.
type Read<'a> = &'a dyn Fn(&str, &BlobId) -> Result<String, Fault>;

/// One side of a change.
struct Side<'a> {
    files: Listing,
    read: Read<'a>,
}

/// Compares a commit with the definitions of the run. `old` reads the definitions before.
pub(super) fn changes(
    before: &dyn Archive,
    after: &Input,
    old: &dyn Fn() -> Result<Input, Fault>,
) -> Result<Vec<OutsideChange>, Fault> {
    let of = |source: &Source| (source.path.to_string(), BlobId::of(source.text.as_bytes()));
    let read = |path: &str, _: &BlobId| {
        Ok(after.beside.at(path).map(|source| source.text.to_string()).unwrap_or_default())
    };
    let new = Side { files: after.beside.iter().map(of).collect(), read: &read };
    between(&Side { files: listing(before)?, read: &|_, id| before.read(id) }, &new, old, after)
}

/// Compares two commits. `after` holds the definitions of the later one.
pub(super) fn committed(
    before: &dyn Archive,
    archive: &dyn Archive,
    after: &Input,
    old: &dyn Fn() -> Result<Input, Fault>,
) -> Result<Vec<OutsideChange>, Fault> {
    let sides = [before, archive].map(listing);
    let [first, second] = sides;
    let new = Side { files: second?, read: &|_, id| archive.read(id) };
    between(&Side { files: first?, read: &|_, id| before.read(id) }, &new, old, after)
}

fn listing(archive: &dyn Archive) -> Result<Listing, Fault> {
    let all = archive.list("clusters")?.into_iter();
    Ok(all.filter(|(path, _)| companion_folder(path).is_some()).collect())
}

/// The changes of one cluster's folder.
#[derive(Default)]
struct Pair {
    /// The folder before and after.
    folders: [Option<String>; 2],
    files: BTreeMap<String, FileChange>,
}

fn between(
    old: &Side<'_>,
    new: &Side<'_>,
    definitions: &dyn Fn() -> Result<Input, Fault>,
    after: &Input,
) -> Result<Vec<OutsideChange>, Fault> {
    let mut by_folder: BTreeMap<&str, BTreeMap<String, FileChange>> = BTreeMap::new();
    for path in old.files.keys().chain(new.files.keys()).collect::<BTreeSet<_>>() {
        let change = match (old.files.get(path), new.files.get(path)) {
            (None, _) => FileChange::Added,
            (_, None) => FileChange::Removed,
            (old, new) if old != new => FileChange::Changed,
            _ => continue,
        };
        by_folder.entry(companion_folder(path).unwrap_or_default()).or_default().insert(path.clone(), change);
    }
    // The definitions are only read if a folder may have moved.
    let has = |side: &Side<'_>, folder: &str| holds(&side.files, folder);
    let appears = by_folder.keys().any(|folder| !has(old, folder));
    let goes = by_folder.keys().any(|folder| !has(new, folder));
    let owners = if appears && goes {
        let before = definitions()?;
        [owners(&before), owners(after)]
    } else {
        Default::default()
    };
    let mut pairs: BTreeMap<(Option<ClusterId>, String), Pair> = BTreeMap::new();
    for (folder, files) in by_folder {
        for (at, side) in [old, new].into_iter().enumerate().filter(|(_, side)| has(side, folder)) {
            let owner = owners[at].get(folder).cloned();
            let name = if owner.is_some() { String::new() } else { folder.to_owned() };
            let pair = pairs.entry((owner, name)).or_default();
            pair.folders[at] = Some(folder.to_owned());
            let is_here = |path: &&String| side.files.contains_key(*path);
            pair.files.extend(
                files.keys().filter(is_here).map(|path| (path.clone(), files[path])).collect::<Vec<_>>(),
            );
        }
    }
    let pruned = if pairs.values().any(Pair::is_gone) { pruned(&definitions()?) } else { BTreeSet::new() };
    let changes = pairs.into_values().map(|pair| pair.change(old, new, &pruned));
    changes.filter_map(Result::transpose).collect()
}

/// The `.d` folders of clusters that are in the last step of their removal. Engines prune nothing in such folders before: only
/// with the definition of such a cluster do they delete its objects, unless they are protected.
fn pruned(input: &Input) -> BTreeSet<String> {
    let defined = Defined::read(input);
    let is_last = |cluster: &ClusterId| {
        let node = defined.merged(cluster);
        let step =
            node.as_ref().and_then(|node| node.at(&["spec", "removal", "step"])).and_then(Node::as_str);
        step == Some("delete")
    };
    owners(input).into_iter().filter(|(_, cluster)| is_last(cluster)).map(|(folder, _)| folder).collect()
}

fn holds(files: &Listing, folder: &str) -> bool {
    let inside = format!("{folder}/");
    files.range(inside.clone()..).next().is_some_and(|(path, _)| path.starts_with(&inside))
}

/// The clusters, by their `.d` folders.
fn owners(input: &Input) -> BTreeMap<String, ClusterId> {
    let defined = Defined::read(input);
    let folder = |file: &str| file.rsplit_once('.').map(|(stem, _)| format!("{stem}.d"));
    defined.files().filter_map(|(cluster, file)| Some((folder(file)?, cluster.clone()))).collect()
}

impl Pair {
    /// Whether the whole folder is gone.
    fn is_gone(&self) -> bool {
        matches!(self.folders, [Some(_), None])
    }

    fn change(
        self,
        old: &Side<'_>,
        new: &Side<'_>,
        pruned: &BTreeSet<String>,
    ) -> Result<Option<OutsideChange>, Fault> {
        let is_pruned = self.is_gone() && self.folders[0].as_ref().is_some_and(|from| pruned.contains(from));
        let objects = match (self.objects(old)?, self.objects(new)?) {
            (Some(old), Some(new)) => Some(differences(&old, &new, is_pruned)),
            _ => None,
        };
        let moved = match &self.folders {
            [Some(from), Some(to)] if from != to => Some(from.clone()),
            _ => None,
        };
        let risk = match &objects {
            Some((found, _)) if found.is_empty() && moved.is_none() => return Ok(None),
            Some((_, risk)) => *risk,
            None if self.files.values().any(|change| *change == FileChange::Removed) => Risk::Deletes,
            None => Risk::Unknown,
        };
        let [from, to] = self.folders;
        let place = OutsidePlace::Own(to.or(from).unwrap_or_default());
        let id = change_id::of_files(&place, self.files.keys(), [&old.files, &new.files]);
        let objects = objects.map(|(found, _)| found).unwrap_or_default();
        let is_lost = |one: &OwnObject| one.change == FileChange::Removed && !one.stays;
        let kept = !is_pruned || !objects.is_empty() && !objects.iter().any(is_lost);
        let kind = FileChange::Changed;
        let (files, accepted, refused) = (self.files, None, RefusedShare::None);
        Ok(Some(OutsideChange { id, place, risk, kind, files, objects, moved, kept, accepted, refused }))
    }

    /// The objects in the changed files of one side; none if a file cannot be read.
    fn objects(&self, side: &Side<'_>) -> Result<Option<BTreeMap<Address, Node>>, Fault> {
        let mut found = BTreeMap::new();
        for path in self.files.keys() {
            let Some(id) = side.files.get(path) else { continue };
            let text = (side.read)(path, id)?;
            if !holds_object(path, text.as_bytes()) {
                continue;
            }
            let Some(objects) = objects_in(path, text) else { return Ok(None) };
            for object in objects {
                let address = Address::of(&object);
                let is_object = !address.kind.is_empty() && !address.name.is_empty();
                if !is_object || is_for_kustomize(&address) || found.insert(address, object).is_some() {
                    return Ok(None);
                }
            }
        }
        Ok(Some(found))
    }
}

fn objects_in(path: &str, text: String) -> Option<Vec<Node>> {
    let source = Source::new(FileId(0), path, text);
    let mut notes = Notes::new();
    let documents = read_raw(&source, &mut notes)?;
    documents.iter().map(|one| Node::from_raw(&one.root, &source, &mut notes)).collect()
}

/// Whether an object configures kustomize and so changes how the other files are read.
fn is_for_kustomize(address: &Address) -> bool {
    address.group == "kustomize.config.k8s.io"
}

/// The differences and their risk. `is_pruned` is whether the engine deletes what is gone.
fn differences(
    old: &BTreeMap<Address, Node>,
    new: &BTreeMap<Address, Node>,
    is_pruned: bool,
) -> (Vec<OwnObject>, Risk) {
    let mut found = Vec::new();
    // A move changes at least the path of the folder.
    let mut risk = Risk::Metadata;
    for address in old.keys().chain(new.keys()).collect::<BTreeSet<_>>() {
        let (change, own) = match (old.get(address), new.get(address)) {
            (None, _) => (FileChange::Added, Risk::Unknown),
            (_, None) => (FileChange::Removed, Risk::Deletes),
            (Some(old), Some(new)) if old == new => continue,
            (Some(old), Some(new)) if is_metadata(old, new) => (FileChange::Changed, Risk::Metadata),
            _ => (FileChange::Changed, Risk::Unknown),
        };
        risk = risk.max(own);
        let is_protected = |object: &Node| {
            let mut text = String::new();
            emit(object, &mut text);
            render::is_protected(&text)
        };
        let stays =
            change == FileChange::Removed && (!is_pruned || old.get(address).is_some_and(is_protected));
        found.push(OwnObject { address: address.clone(), change, stays });
    }
    (found, risk)
}

fn is_metadata(old: &Node, new: &Node) -> bool {
    let labels = [["metadata", "labels"], ["metadata", "annotations"]];
    changed(old, new).iter().all(|field| labels.iter().any(|path| field.path.is_below(path)))
}
