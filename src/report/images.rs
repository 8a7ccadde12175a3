//! The node images that clusters use. These are the images of their releases.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::{
    After, change_id,
    cluster::ClusterReport,
    outside_clusters::{OutsideChange, OutsidePlace, RefusedShare},
    risk::Risk,
};
use crate::{
    compare::{Archive, BlobId},
    note::{Fault, Notes},
    render,
    tree::FileChange,
    yaml::{self, FileId, Node, Source},
};

/// Lists the node images that clusters start to use, and those that no cluster uses any more.
pub(super) fn changes(
    after: &After<'_>,
    before: &dyn Archive,
    clusters: &[ClusterReport],
) -> Result<Vec<OutsideChange>, Fault> {
    let releases = |of: &dyn Fn(&ClusterReport) -> Option<String>| -> BTreeSet<String> {
        clusters.iter().filter_map(of).collect()
    };
    let is_refused = |one: &ClusterReport| one.refusal().is_some();
    let old = releases(&|one| one.release.before.clone());
    let new = releases(&|one| one.release.after.clone().filter(|_| !is_refused(one)));
    // These machines stay as they are.
    let kept = releases(&|one| one.release.before.clone().filter(|_| is_refused(one) || one.keeps_running()));
    let [listed, made] = after.listings();
    let of_new = || -> Result<_, Fault> {
        Ok(images(&kept, listed, before)?
            .into_iter()
            .chain(images(&new, made, after)?)
            .collect::<BTreeMap<_, _>>())
    };
    if old == new || images(&old, listed, before)?.keys().eq(of_new()?.keys()) {
        return Ok(Vec::new());
    }
    // Unchanged clusters use images as well. Of the others, the report has the releases.
    let all = |archive: &dyn Archive, is_known: &dyn Fn(&ClusterReport) -> bool| -> Result<_, Fault> {
        let mut others = archive.list("generated/management")?;
        for one in clusters.iter().filter(|one| is_known(one)) {
            others.remove(&format!("{}/{}", render::folder_of_cluster(&one.cluster), render::CLUSTER_FILE));
        }
        used(&others, archive)
    };
    let unchanged = all(&after.earlier(), &|one| one.release.before.is_some())?;
    let old = images(&(&old | &unchanged), listed, before)?;
    let unchanged = all(after, &|one| is_refused(one) || one.release.after.is_some())?;
    let new: BTreeMap<_, _> = images(&kept, listed, before)?
        .into_iter()
        .chain(images(&(&new | &unchanged), made, after)?)
        .collect();
    let change = |name: &String, path: &str, kind| OutsideChange {
        kept: false,
        id: change_id::of_node_image(name, kind),
        place: OutsidePlace::NodeImage(name.clone()),
        risk: Risk::InPlace,
        kind,
        files: BTreeMap::from([(path.to_owned(), kind)]),
        objects: Vec::new(),
        moved: None,
        accepted: None,
        refused: RefusedShare::None,
    };
    let appear = new.iter().filter(|(name, _)| !old.contains_key(*name));
    let go = old.iter().filter(|(name, _)| !new.contains_key(*name));
    let appear = appear.map(|(name, path)| change(name, path, FileChange::Added));
    Ok(appear.chain(go.map(|(name, path)| change(name, path, FileChange::Removed))).collect())
}

/// The releases that the Clusters of a tree use.
fn used(listing: &BTreeMap<String, BlobId>, archive: &dyn Archive) -> Result<BTreeSet<String>, Fault> {
    let clusters: Vec<_> = listing.iter().filter(|(path, _)| render::is_cluster_file(path)).collect();
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
