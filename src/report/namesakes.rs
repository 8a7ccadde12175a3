//! Clusters with the same namespace and name in different management clusters.

use std::collections::{BTreeMap, BTreeSet};

use super::{ClusterReport, cluster_of, new_tree::After};
use crate::{
    compare::{Archive as _, ClusterChange, Comparison, Fate},
    model::ClusterId,
    note::Fault,
    tree::{PartId, TreePath},
};

/// The changed clusters that share their namespace and name with another cluster of the fleet, before or after the change. A
/// cluster does not share them with its own former self.
pub(super) fn namesakes(compared: &Comparison, after: &After<'_>) -> Result<BTreeSet<ClusterId>, Fault> {
    let mut all: BTreeMap<String, BTreeSet<ClusterId>> = BTreeMap::new();
    let outline = after.outline()?;
    for folder in outline.clusters.keys().chain(after.folders_before().keys()) {
        // Any path in the folder identifies the cluster.
        let part = TreePath::parse(&format!("{folder}/cluster")).as_ref().and_then(PartId::of_path);
        if let Some(cluster) = part.as_ref().and_then(cluster_of) {
            all.entry(cluster.to_string()).or_default().insert(cluster);
        }
    }
    let is_shared = |one: &ClusterChange| {
        let former = if let Fate::Moved { from } = &one.fate { Some(from) } else { None };
        let others = all.get(&one.cluster.to_string()).into_iter().flatten();
        others.filter(|other| **other != one.cluster && Some(*other) != former).count() > 0
    };
    Ok(compared.clusters.iter().filter(|one| is_shared(one)).map(|one| one.cluster.clone()).collect())
}

impl ClusterReport {
    /// Its name in reports, with the management cluster if it needs one.
    pub(super) fn shown_name(&self) -> String {
        if self.has_namesake { self.cluster.whole() } else { self.cluster.to_string() }
    }
}
