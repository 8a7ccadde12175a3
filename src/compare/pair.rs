//! Pairs the clusters of two states.
//!
//! A cluster is identified by its management cluster, namespace and name. If any of these differs, it counts as another
//! cluster, unless it certainly moved.

use std::collections::{BTreeMap, BTreeSet};

use super::{ClusterChange, ClusterFacts, Fate, State, written::facts_of};
use crate::{model::ClusterId, note::Fault};

/// The clusters of both states.
pub(super) fn all(before: &dyn State, after: &dyn State) -> Result<Vec<ClusterId>, Fault> {
    let (old, new) = rayon::join(|| before.clusters(), || after.clusters());
    let all: BTreeSet<ClusterId> = old?.into_iter().chain(new?).collect();
    Ok(all.into_iter().collect())
}

/// The clusters that moved: the old ID of each, by its new ID. None moved to one that is `known` to exist.
pub(super) fn moved(
    changes: &[ClusterChange],
    known: &BTreeSet<ClusterId>,
) -> BTreeMap<ClusterId, ClusterId> {
    let of = |fate: Fate| changes.iter().filter(move |one| one.fate == fate && !known.contains(&one.cluster));
    let gone: Vec<_> =
        of(Fate::Gone).map(|one| UnpairedCluster { id: &one.cluster, facts: one.before.as_ref() }).collect();
    let created: Vec<_> = of(Fate::Created)
        .map(|one| UnpairedCluster { id: &one.cluster, facts: one.after.as_ref() })
        .collect();
    paired(&gone, &created)
}

/// The ID that a cluster of the state after had in the state before; none if it is new. Clusters that `is_known` to remain,
/// although the state after does not have them, have not moved.
pub fn former_id(
    before: &dyn State,
    after: &dyn State,
    cluster: &ClusterId,
    is_known: impl Fn(&ClusterId) -> bool,
) -> Result<Option<ClusterId>, Fault> {
    let [old, new]: [BTreeSet<ClusterId>; 2] =
        [before.clusters()?.into_iter().collect(), after.clusters()?.into_iter().collect()];
    if old.contains(cluster) {
        return Ok(Some(cluster.clone()));
    }
    let facts = |state, id: &ClusterId| Ok((id.clone(), facts_of(state, id)?));
    let gone = old.difference(&new).filter(|id| !is_known(id)).map(|id| facts(before, id));
    let gone: Vec<_> = gone.collect::<Result<_, Fault>>()?;
    if gone.is_empty() {
        return Ok(None);
    }
    let created: Vec<_> = new.difference(&old).map(|id| facts(after, id)).collect::<Result<_, Fault>>()?;
    let [gone, created] = [&gone, &created].map(|all: &Vec<(ClusterId, Option<ClusterFacts>)>| {
        all.iter().map(|(id, facts)| UnpairedCluster { id, facts: facts.as_ref() }).collect::<Vec<_>>()
    });
    Ok(paired(&gone, &created).remove(cluster))
}

/// A cluster that only one of the states has.
#[derive(Clone, Copy, Debug)]
pub struct UnpairedCluster<'a> {
    pub id: &'a ClusterId,
    /// The facts of its Cluster object; none if there is none, or if it cannot be read.
    pub facts: Option<&'a ClusterFacts>,
}

impl UnpairedCluster<'_> {
    /// Whether a cluster that is gone may be this new one: both are equal, in the same management cluster.
    pub fn may_be(&self, new: &Self) -> bool {
        self.id.management == new.id.management && is_same(self, new)
    }
}

fn is_same(old: &UnpairedCluster<'_>, new: &UnpairedCluster<'_>) -> bool {
    old.facts.zip(new.facts).is_some_and(|(old, new)| old.moves_to(new))
}

/// The clusters that moved: the old ID of each, by its new ID. `gone` and `created` are all clusters that only one of the
/// states has.
///
/// A cluster moves if it disappears from one management cluster and appears in another with the same namespace and name. It
/// also moves if it disappears from one namespace and appears in another with the same name and the same spec, or appears in
/// the same namespace with another name and the same spec, or if both the namespace and the name differ. The match must be
/// unambiguous.
pub fn paired(
    gone: &[UnpairedCluster<'_>],
    created: &[UnpairedCluster<'_>],
) -> BTreeMap<ClusterId, ClusterId> {
    let between_clusters = |old: &UnpairedCluster<'_>, new: &UnpairedCluster<'_>| {
        (&old.id.namespace, &old.id.name) == (&new.id.namespace, &new.id.name)
    };
    let between_namespaces = |old: &UnpairedCluster<'_>, new: &UnpairedCluster<'_>| {
        (&old.id.management, &old.id.name) == (&new.id.management, &new.id.name) && is_same(old, new)
    };
    let between_names = |old: &UnpairedCluster<'_>, new: &UnpairedCluster<'_>| {
        (&old.id.management, &old.id.namespace) == (&new.id.management, &new.id.namespace)
            && is_same(old, new)
    };
    let with_both = UnpairedCluster::may_be;
    let ways = [between_clusters as fn(&_, &_) -> bool, between_namespaces, between_names, with_both];
    let mut moved = BTreeMap::new();
    for new in created {
        for is_meant in ways {
            let candidates: Vec<_> = gone.iter().filter(|old| is_meant(old, new)).collect();
            if let [old] = candidates.as_slice()
                && created.iter().filter(|new| is_meant(old, new)).count() == 1
            {
                moved.insert(new.id.clone(), old.id.clone());
                break;
            }
        }
    }
    moved
}
