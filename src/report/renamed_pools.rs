//! Recognizes node pools that get another name. Cluster API cannot rename a pool: it deletes one and creates another.

use super::change::{Change, Effect, Subject};
use crate::{
    compare::ClusterFacts,
    topology::{Meaning, Pool, TopologyPart},
    yaml::{Mapping, Node},
};

/// Names both pools where one is deleted and an equal one of another name is created.
pub(super) fn name(before: &ClusterFacts, after: &ClusterFacts, changes: &mut [Change]) {
    for [old, new] in renamed(before, after) {
        for change in changes.iter_mut() {
            let Subject::Part(TopologyPart::Pool(pool)) = &change.subject else { continue };
            let reason = match change.effect {
                Effect::Verdict(Meaning::Delete) if *pool == old => {
                    format!(
                        "the pool `{}` is identical except for its name; Cluster API cannot rename a pool, and deletes this one without waiting for the new machines",
                        new.name
                    )
                }
                Effect::Verdict(Meaning::Create) if *pool == new => {
                    format!(
                        "it replaces the pool `{}`, which is identical except for its name: all its machines are new",
                        old.name
                    )
                }
                _ => continue,
            };
            change.reasons.push(reason);
        }
    }
}

/// The pools that have another name and are otherwise equal: the old and the new one of each.
fn renamed(before: &ClusterFacts, after: &ClusterFacts) -> Vec<[Pool; 2]> {
    let nameless = |pool: &Node| {
        let fields = pool.as_mapping().into_iter().flat_map(Mapping::iter);
        let rest = fields.filter(|field| &*field.key.name != "name");
        rest.map(|field| (field.key.name.to_string(), field.value.clone())).collect::<Vec<_>>()
    };
    let only = |own: &ClusterFacts, other: &ClusterFacts| {
        let pools = own.pools.iter().filter(|(key, _)| !other.pools.contains_key(*key));
        pools.map(|(key, pool)| (key.clone(), (key.kind, nameless(pool)))).collect::<Vec<_>>()
    };
    let (gone, new) = (only(before, after), only(after, before));
    let mut found = Vec::new();
    for (old, pool) in &gone {
        let same = |all: &[(Pool, _)]| all.iter().filter(|(_, other)| other == pool).count();
        if let (Some((other, _)), 1, 1) =
            (new.iter().find(|(_, other)| other == pool), same(&gone), same(&new))
        {
            found.push([old.clone(), other.clone()]);
        }
    }
    found
}
