//! Objects that stand in the files of one side more than once.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Imported, Objects, counts, has_version, identity, is, is_made, lies_in};
use crate::desired::contract::CLUSTER_NAME;
use k8s_schema::value::{name_of, text};

impl Objects {
    /// Objects that are there twice and are not the same: of an apply, only the last would stay, and of what runs, one is older.
    ///
    /// A Cluster, and what runs for it, is one of its namespace; a class or template that leaves its namespace open is found in any.
    pub fn doubled(&self) -> Vec<(&Imported, &Imported)> {
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

    /// What the topology controller made for a Cluster, each once: of two exports, what is in the one with managed fields.
    pub fn made_for<'a>(&'a self, cluster: &'a Value) -> impl Iterator<Item = &'a Imported> {
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
                Some(other) if other.made.is_none() => found[at] = one,
                Some(_) => {}
            }
        }
        found.into_iter()
    }
}

/// Of what runs, the status counts where it is looked at; managed fields may stand in one of two exports alone.
fn differs(one: &Imported, other: &Imported) -> bool {
    if !is_made(&one.object) {
        return one.object != other.object || one.applied != other.applied;
    }
    let by_others = one.made.is_some() && other.made.is_some() && one.made != other.made;
    one.object != other.object || by_others || has_version(&one.object) && one.status != other.status
}
