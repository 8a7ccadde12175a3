//! The node images that clusters use. These are the images of their releases.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::{
    After,
    outside_clusters::{OutsideChange, Place, hashed},
    risk::Risk,
};
use crate::{
    compare::{Archive, BlobId, ClusterChange},
    note::{Fault, Notes},
    tree::FileChange,
    yaml::{self, FileId, Node, Source},
};

/// Lists the node images that clusters start to use, and those that no cluster uses any more.
pub(super) fn changes(
    after: &After<'_>,
    before: &dyn Archive,
    clusters: &[ClusterChange],
) -> Result<Vec<OutsideChange>, Fault> {
    let release = |facts: &Option<crate::compare::Facts>| facts.as_ref()?.release.clone();
    let [old, new] = [0, 1].map(|side| {
        let sides = clusters.iter().map(|one| [&one.before, &one.after]);
        sides.filter_map(|one| release(one[side])).collect::<BTreeSet<String>>()
    });
    if old == new {
        return Ok(Vec::new());
    }
    let [listed, made] = after.listings();
    let (of_old, of_new) = (images(&old, listed, before)?, images(&new, made, after)?);
    if of_old.keys().eq(of_new.keys()) {
        return Ok(Vec::new());
    }
    // Unchanged clusters use images as well.
    let clusters = "generated/management";
    let old = images(&used(&after.earlier().list(clusters)?, before)?, listed, before)?;
    let new = images(&used(&after.list(clusters)?, after)?, made, after)?;
    let change = |name: &String, path: &str, kind| OutsideChange {
        id: hashed(&format!("node image {name} {kind:?}")),
        place: Place::NodeImage(name.clone()),
        risk: Risk::InPlace,
        kind,
        files: BTreeMap::from([(path.to_owned(), kind)]),
        objects: Vec::new(),
        moved: None,
        accepted: None,
    };
    let appear = new.iter().filter(|(name, _)| !old.contains_key(*name));
    let go = old.iter().filter(|(name, _)| !new.contains_key(*name));
    let appear = appear.map(|(name, path)| change(name, path, FileChange::Added));
    Ok(appear.chain(go.map(|(name, path)| change(name, path, FileChange::Removed))).collect())
}

/// The releases that the Clusters of a tree use.
fn used(listing: &BTreeMap<String, BlobId>, archive: &dyn Archive) -> Result<BTreeSet<String>, Fault> {
    let clusters: Vec<_> =
        listing.iter().filter(|(path, _)| path.ends_with("/cluster/cluster.yaml")).collect();
    let read = |(path, id): &(&String, &BlobId)| -> Result<Option<String>, Fault> {
        let cluster = yaml::read(&Source::new(FileId(0), &***path, archive.read(id)?), &mut Notes::new());
        let name =
            cluster.as_ref().and_then(|one| one.at(&["spec", "topology", "classRef", "name"])?.as_str());
        Ok(name.map(str::to_owned))
    };
    clusters.par_iter().filter_map(|one| read(one).transpose()).collect()
}

/// The images of releases, each with the file that lists it.
fn images(
    releases: &BTreeSet<String>,
    listing: &BTreeMap<String, BlobId>,
    archive: &dyn Archive,
) -> Result<BTreeMap<String, String>, Fault> {
    let mut found = BTreeMap::new();
    for release in releases {
        let path = format!("generated/releases/{release}/release.yaml");
        let Some(id) = listing.get(&path) else { continue };
        let read = yaml::read(&Source::new(FileId(0), &*path, archive.read(id)?), &mut Notes::new());
        let listed = read.as_ref().and_then(|one| one.at(&["spec", "images"])?.as_sequence());
        let names = listed.into_iter().flatten().filter_map(|image| image.get("name").and_then(Node::as_str));
        found.extend(names.map(|name| (name.to_owned(), path.clone())));
    }
    Ok(found)
}
