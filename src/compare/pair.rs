//! Which cluster of one state is which of the other.
//!
//! A cluster is known by its management cluster, namespace and name. What has another one of these is another cluster,
//! unless it is certain that it moved.

use std::collections::{BTreeMap, BTreeSet};

use super::{ClusterChange, Fate, State};
use crate::{model::ClusterId, note::Fault};

/// The clusters of both states.
pub(super) fn all(before: &dyn State, after: &dyn State) -> Result<Vec<ClusterId>, Fault> {
    let all: BTreeSet<ClusterId> = before.clusters()?.into_iter().chain(after.clusters()?).collect();
    Ok(all.into_iter().collect())
}

/// The clusters that moved: as they were called before, by what they are called after.
///
/// A cluster of one namespace and name that goes from one management cluster and comes to another moves. So does one that
/// goes from one namespace and comes to another under the same name, if it asks for the same. In both cases no other may
/// be meant.
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
