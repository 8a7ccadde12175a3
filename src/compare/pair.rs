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

/// The clusters that moved: the old ID of each, by its new ID.
///
/// A cluster moves if it disappears from one management cluster and appears in another with the same namespace and name. It
/// also moves if it disappears from one namespace and appears in another with the same name and the same spec. In both cases
/// the match must be unambiguous.
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
            let spec = |facts: &Option<super::Facts>| facts.as_ref().map(|facts| facts.spec);
            is_named && old.before.is_some() && spec(&old.before) == spec(&new.after)
        };
        for is_meant in [between_clusters as fn(&_, &_) -> bool, between_namespaces] {
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
