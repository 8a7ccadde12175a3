//! Recognizes clusters that left git without the steps of a removal, and are defined again: they may still run.

use std::collections::{BTreeMap, BTreeSet};

use super::{CommitsSinceBase, LostFile, new_tree::After};
use crate::{
    compare::{Archive as _, ClusterChange, Comparison, Fate, cluster_folder},
    model::ClusterId,
    note::{Fault, Notes},
    remove, render,
    tree::{FileChange, PartId, TreePath},
};

/// What became of a cluster that is back.
#[derive(Clone, Debug)]
pub(super) struct Returned {
    /// The commit that removed its files.
    pub(super) commit: String,
    /// Whether its Cluster object is as it was then.
    pub(super) is_same: bool,
}

/// The Cluster objects that are new, and that an earlier commit removed while they were protected from deletion.
pub(super) struct LostClusters(BTreeMap<TreePath, LostFile>);

impl LostClusters {
    pub(super) fn find(after: &After<'_>, past: Option<&dyn CommitsSinceBase>) -> Result<Self, Fault> {
        let added = after.changes().files.iter().filter(|(_, change)| **change == FileChange::Added);
        let is_cluster = |path: &str| {
            cluster_folder(path)
                .is_some_and(|folder| path[folder.len()..].strip_prefix('/') == Some(render::CLUSTER_FILE))
        };
        let new = added.map(|(path, _)| path.to_string()).filter(|path| is_cluster(path)).collect();
        let lost = past.map(|past| past.lost(&new)).transpose()?.unwrap_or_default();
        let lost = lost.into_iter().filter(|(_, lost)| render::is_protected(&lost.text));
        Ok(Self(lost.filter_map(|(path, lost)| Some((TreePath::parse(&path)?, lost))).collect()))
    }

    /// Their IDs.
    pub(super) fn clusters(&self) -> BTreeSet<ClusterId> {
        let part = |path| PartId::of_path(path).as_ref().and_then(ClusterId::of_part);
        self.0.keys().filter_map(part).collect()
    }

    /// Reports what the guards of `generate` refuse.
    pub(super) fn judge(&self, after: &After<'_>, notes: &mut Notes) -> Result<(), Fault> {
        for (path, lost) in &self.0 {
            if let Some(now) = text(after, path)? {
                remove::judge_returned(path, [&lost.text, &now], &lost.commit, notes);
            }
        }
        Ok(())
    }

    /// What became of these clusters.
    pub(super) fn returned(
        &self,
        compared: &Comparison,
        after: &After<'_>,
    ) -> Result<BTreeMap<ClusterId, Returned>, Fault> {
        let mut found = BTreeMap::new();
        for (path, lost) in &self.0 {
            let Some(cluster) = PartId::of_path(path).as_ref().and_then(ClusterId::of_part) else { continue };
            let at = compared.clusters.binary_search_by(|one| one.cluster.cmp(&cluster));
            let is_back = |one: &ClusterChange| one.fate == Fate::Created || one.lacks_cluster_before();
            if at.is_ok_and(|at| is_back(&compared.clusters[at])) {
                let is_same = text(after, path)?.is_some_and(|now| now == lost.text);
                found.insert(cluster, Returned { commit: lost.commit.clone(), is_same });
            }
        }
        Ok(found)
    }
}

/// The new text of a file.
fn text(after: &After<'_>, path: &TreePath) -> Result<Option<String>, Fault> {
    let [_, listing] = after.listings();
    listing.get(path.as_str()).map(|id| after.read(id)).transpose()
}
