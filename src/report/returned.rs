//! Recognizes clusters that left git without the steps of a removal, and are defined again: they may still run.

use std::collections::BTreeMap;

use super::{Past, new_tree::After};
use crate::{
    compare::{Archive as _, Comparison, Fate},
    model::ClusterId,
    note::Fault,
    render,
};

/// What became of a cluster that is back.
#[derive(Clone, Debug)]
pub(super) struct Returned {
    /// The commit that removed its files.
    pub(super) commit: String,
    /// Whether its Cluster object is as it was then.
    pub(super) is_same: bool,
}

/// Finds new clusters whose files an earlier commit removed while they were protected from deletion.
pub(super) fn find(
    compared: &Comparison,
    after: &After<'_>,
    past: Option<&dyn Past>,
) -> Result<BTreeMap<ClusterId, Returned>, Fault> {
    let new = compared.clusters.iter().filter(|one| one.fate == Fate::Created).map(|one| &one.cluster);
    let new: BTreeMap<String, ClusterId> = new.map(|cluster| (file(cluster), cluster.clone())).collect();
    let Some(past) = past.filter(|_| !new.is_empty()) else { return Ok(BTreeMap::new()) };
    let lost = past.lost(&new.keys().cloned().collect())?;
    let [_, listing] = after.listings();
    let mut found = BTreeMap::new();
    for (path, lost) in lost.into_iter().filter(|(_, lost)| render::is_protected(&lost.text)) {
        let now = listing.get(&path).map(|id| after.read(id)).transpose()?;
        let is_same = now.is_some_and(|now| now == lost.text);
        found.insert(new[&path].clone(), Returned { commit: lost.commit, is_same });
    }
    Ok(found)
}

/// The file with the Cluster object.
fn file(cluster: &ClusterId) -> String {
    format!("{}/cluster/cluster.yaml", render::folder_of_cluster(cluster))
}
