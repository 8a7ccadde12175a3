//! Clusters with the same namespace and name in different management clusters.

use std::collections::{BTreeMap, BTreeSet};

use super::{ClusterReport, new_tree::After};
use crate::{
    compare::{ClusterChange, Comparison, Fate, cluster_folder},
    model::ClusterId,
    tree::{PartId, TreePath},
};

/// The changed clusters that share their namespace and name with another cluster of the fleet, before or after the change. A
/// cluster does not share them with its own former self.
pub(super) fn namesakes(compared: &Comparison, after: &After<'_>) -> BTreeSet<ClusterId> {
    let [_, new] = after.listings();
    let before = after.folders_before().keys().map(String::as_str);
    let folders: BTreeSet<&str> = before.chain(new.keys().filter_map(|path| cluster_folder(path))).collect();
    let management: BTreeSet<_> = folders.iter().map(|folder| folder.split('/').nth(2)).collect();
    if management.len() < 2 {
        return BTreeSet::new();
    }
    let mut all: BTreeMap<String, BTreeSet<ClusterId>> = BTreeMap::new();
    for folder in folders {
        // Any path in the folder identifies the cluster.
        let part = TreePath::parse(&format!("{folder}/cluster")).as_ref().and_then(PartId::of_path);
        if let Some(cluster) = part.as_ref().and_then(ClusterId::of_part) {
            all.entry(cluster.to_string()).or_default().insert(cluster);
        }
    }
    let is_shared = |one: &ClusterChange| {
        let former = if let Fate::Moved { from } = &one.fate { Some(from) } else { None };
        let mut others = all.get(&one.cluster.to_string()).into_iter().flatten();
        others.any(|other| *other != one.cluster && Some(other) != former)
    };
    compared.clusters.iter().filter(|one| is_shared(one)).map(|one| one.cluster.clone()).collect()
}

impl ClusterReport {
    /// Its name in reports, with the management cluster if it needs one.
    pub fn shown_name(&self) -> String {
        if self.has_namesake { self.cluster.whole() } else { self.cluster.to_string() }
    }
}
