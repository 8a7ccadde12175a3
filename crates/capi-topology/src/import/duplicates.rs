//! Objects that occur more than once in the files of one side.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Imported, Objects, counts, has_version, identity, is, is_made, lies_in};
use crate::contract::CLUSTER_NAME;
use k8s_schema::value::{name_of, text};

impl Objects {
    /// Pairs of different objects with the same name: an apply would keep only the last one; of two running objects, one is
    /// outdated.
    ///
    /// A Cluster and its running objects belong to one namespace. A class or template without a namespace may be in any.
    pub fn duplicates(&self) -> Vec<(&Imported, &Imported)> {
        let mut known: BTreeMap<(&str, &str, &str), Vec<&Imported>> = BTreeMap::new();
        let mut found = Vec::new();
        for one in self.all.iter().filter(|one| counts(&one.object) || is_made(&one.object)) {
            let others = known.entry(name_of(&one.object)).or_default();
            let is_same = |other: &&&Imported| {
                if is(&one.object, "Cluster") || is_made(&one.object) {
                    identity(&one.object) == identity(&other.object)
                } else {
                    lies_in(&other.object, text(&one.object, &["metadata", "namespace"]))
                }
            };
            let other = others.iter().find(|other| is_same(other) && differs(one, other));
            found.extend(other.map(|other| (*other, one)));
            others.push(one);
        }
        found
    }

    /// The objects that the topology controller made for a Cluster, each once. Of two exports, the one with managed fields
    /// counts.
    pub fn controller_objects_of<'a>(&'a self, cluster: &'a Value) -> impl Iterator<Item = &'a Imported> {
        let (namespace, name) = identity(cluster);
        let mut found: Vec<&Imported> = Vec::new();
        let mut places = BTreeMap::new();
        for one in self.all.iter().filter(|one| {
            is_made(&one.object)
                && identity(&one.object).0 == namespace
                && text(&one.object, &["metadata", "labels", CLUSTER_NAME]) == name
        }) {
            let at = *places.entry(name_of(&one.object)).or_insert(found.len());
            match found.get(at) {
                None => found.push(one),
                Some(other) if other.by_controller.is_none() => found[at] = one,
                Some(_) => {}
            }
        }
        found.into_iter()
    }
}

/// For a running object, the status counts if it is used; managed fields may be present in only one of two exports.
fn differs(one: &Imported, other: &Imported) -> bool {
    if !is_made(&one.object) {
        return one.object != other.object || one.applied != other.applied;
    }
    let by_others = one.by_controller.is_some()
        && other.by_controller.is_some()
        && one.by_controller != other.by_controller;
    one.object != other.object || by_others || has_version(&one.object) && one.status != other.status
}
