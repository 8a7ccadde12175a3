//! Recognizes node pools that get another name. Cluster API cannot rename a pool: it deletes one and creates another.

use super::change::{Change, Effect, Subject};
use crate::{
    compare::ClusterFacts,
    topology::{Meaning, TopologyPart},
    yaml::{Mapping, Node},
};

/// Names both pools where one is deleted and an equal one of another name is created.
pub(super) fn name(before: &ClusterFacts, after: &ClusterFacts, changes: &mut [Change]) {
    for RenamedPool { list, old, new } in renamed(before, after) {
        for change in changes.iter_mut() {
            let Subject::Part(TopologyPart::Pool(pool)) = &change.subject else { continue };
            if pool.kind.list() != list {
                continue;
            }
            let reason = match change.effect {
                Effect::Verdict(Meaning::Delete) if pool.name == old => {
                    format!(
                        "the pool `{new}` is identical except for its name; Cluster API cannot rename a pool, and deletes this one without waiting for the new machines"
                    )
                }
                Effect::Verdict(Meaning::Create) if pool.name == new => {
                    format!(
                        "it replaces the pool `{old}`, which is identical except for its name: all its machines are new"
                    )
                }
                _ => continue,
            };
            change.reasons.push(reason);
        }
    }
}

/// A pool that has another name and is otherwise equal.
struct RenamedPool {
    /// The list of the topology that contains it.
    list: String,
    old: String,
    new: String,
}

fn renamed(before: &ClusterFacts, after: &ClusterFacts) -> Vec<RenamedPool> {
    let nameless = |(kind, _): &(String, String), pool: &Node| {
        let fields = pool.as_mapping().into_iter().flat_map(Mapping::iter);
        let rest = fields.filter(|field| &*field.key.name != "name");
        (
            kind.clone(),
            rest.map(|field| (field.key.name.to_string(), field.value.clone())).collect::<Vec<_>>(),
        )
    };
    let only = |own: &ClusterFacts, other: &ClusterFacts| {
        let pools = own.pools.iter().filter(|(key, _)| !other.pools.contains_key(*key));
        pools.map(|(key, pool)| (key.1.clone(), nameless(key, pool))).collect::<Vec<_>>()
    };
    let (gone, new) = (only(before, after), only(after, before));
    let mut found = Vec::new();
    for (old, pool) in &gone {
        let same = |all: &[(String, _)]| all.iter().filter(|(_, other)| other == pool).count();
        let (Some((name, _)), 1, 1) = (new.iter().find(|(_, other)| other == pool), same(&gone), same(&new))
        else {
            continue;
        };
        let (list, _) = pool;
        found.push(RenamedPool { list: list.clone(), old: old.clone(), new: name.clone() });
    }
    found
}
