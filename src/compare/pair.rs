//! Pairs the clusters of two states.
//!
//! A cluster is identified by its management cluster, namespace and name. If any of these differs, it counts as another
//! cluster, unless it certainly moved.

use std::collections::{BTreeMap, BTreeSet};

use super::{ClusterChange, Fate, State};
use crate::{model::ClusterId, note::Fault};

/// The clusters of both states.
pub(super) fn all(before: &dyn State, after: &dyn State) -> Result<Vec<ClusterId>, Fault> {
    let all: BTreeSet<ClusterId> = before.clusters()?.into_iter().chain(after.clusters()?).collect();
    Ok(all.into_iter().collect())
}

/// Whether two Clusters have the same spec. One whose removal has begun leaves, and does not move.
fn is_same(old: &ClusterChange, new: &ClusterChange) -> bool {
    let stays = old.before.as_ref().filter(|facts| facts.removal.is_none());
    stays.is_some_and(|old| new.after.as_ref().is_some_and(|new| new.spec == old.spec))
}

/// The clusters that moved: the old ID of each, by its new ID.
///
/// A cluster moves if it disappears from one management cluster and appears in another with the same namespace and name. It
/// also moves if it disappears from one namespace and appears in another with the same name and the same spec, or appears in
/// the same namespace with another name and the same spec. The match must be unambiguous.
pub(super) fn moved(changes: &[ClusterChange]) -> BTreeMap<ClusterId, ClusterId> {
    let of = |fate: Fate| changes.iter().filter(move |one| one.fate == fate).collect::<Vec<_>>();
    let (gone, created) = (of(Fate::Gone), of(Fate::Created));
    let mut moved = BTreeMap::new();
    for new in &created {
        let between_clusters = |old: &ClusterChange, new: &ClusterChange| {
            let (old, new) = (&old.cluster, &new.cluster);
            (&old.namespace, &old.name) == (&new.namespace, &new.name)
        };
        let between_namespaces = |old: &ClusterChange, new: &ClusterChange| {
            let is_named =
                (&old.cluster.management, &old.cluster.name) == (&new.cluster.management, &new.cluster.name);
            is_named && is_same(old, new)
        };
        let between_names = |old: &ClusterChange, new: &ClusterChange| {
            let is_beside = (&old.cluster.management, &old.cluster.namespace)
                == (&new.cluster.management, &new.cluster.namespace);
            is_beside && is_same(old, new)
        };
        for is_meant in [between_clusters as fn(&_, &_) -> bool, between_namespaces, between_names] {
            let candidates: Vec<_> = gone.iter().filter(|old| is_meant(old, new)).collect();
            if let [old] = candidates.as_slice()
                && created.iter().filter(|new| is_meant(old, new)).count() == 1
            {
                moved.insert(new.cluster.clone(), old.cluster.clone());
                break;
            }
        }
    }
    moved
}
