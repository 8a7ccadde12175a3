//! The law of caching: a Cluster that is computed after many others has the same result as if it were the only one.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use capi_topology::{Catalog, Created, Settings, create};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::case::cases;
use super::law::{altered, leaves};

/// The complete result, including the order of fields.
fn summary(Created { desired, faults, opaque, .. }: &Created) -> String {
    let objects = desired.as_ref().map(|desired| {
        let objects = desired.objects().into_iter();
        objects.map(|(role, object)| (role, object.to_string())).collect::<Vec<_>>()
    });
    format!("{objects:?} {faults:?} {opaque:?}")
}

/// Computes Clusters one after another, then all of them a second time, and compares each result with that of the Cluster
/// alone.
fn judge(objects: &[Value], clusters: &[Value]) -> Result<(), String> {
    let settings = Settings::new("1.14").unwrap();
    let catalog = || Catalog::new(objects.iter().cloned());
    let alone: Vec<String> =
        clusters.iter().map(|cluster| summary(&create(cluster.clone(), &catalog(), &settings))).collect();
    let shared = catalog();
    for round in ["first", "second"] {
        for (at, (cluster, alone)) in clusters.iter().zip(&alone).enumerate() {
            let together = summary(&create(cluster.clone(), &shared, &settings));
            if together != *alone {
                return Err(format!("Cluster {at}, {round} time:\n{together}\nalone:\n{alone}"));
            }
        }
    }
    Ok(())
}

/// A class with its templates, and its Clusters.
struct Fleet {
    /// The first worked example with this class.
    name: String,
    objects: Vec<Value>,
    clusters: Vec<Value>,
}

/// The classes of the worked examples, each with the Clusters of all examples that use it.
static FLEETS: LazyLock<Vec<Fleet>> = LazyLock::new(|| {
    let mut fleets: BTreeMap<String, Fleet> = BTreeMap::new();
    for case in cases(&super::own_cases()) {
        let documents = |name: &&str| case.documents(&format!("input/{name}.yaml"));
        let clusters = ["cluster", "cluster-after"].iter().filter_map(documents).flatten();
        let clusters: Vec<Value> = clusters.collect();
        for objects in ["class", "class-after"].iter().filter_map(documents) {
            let new = |objects| Fleet { name: case.name.clone(), objects, clusters: Vec::new() };
            let fleet = fleets.entry(json!(objects).to_string()).or_insert_with(|| new(objects));
            fleet.clusters.extend(clusters.iter().cloned());
        }
    }
    fleets.into_values().filter(|fleet| !fleet.clusters.is_empty()).collect()
});

#[test]
fn clusters_of_worked_examples_come_out_together_as_alone() {
    assert!(FLEETS.len() > 100, "{} classes", FLEETS.len());
    for Fleet { name, objects, clusters } in FLEETS.iter() {
        let mut clusters = clusters.clone();
        for (at, mut renamed) in clusters.clone().into_iter().enumerate() {
            renamed["metadata"]["name"] = json!(format!("another-{at}"));
            clusters.push(renamed);
        }
        let judged = judge(objects, &clusters);
        assert!(judged.is_ok(), "{name}: {}", judged.unwrap_err());
    }
}

/// The Cluster itself, and for each value of its topology a copy in which only that value differs.
fn each_in_one(cluster: &Value) -> Vec<Value> {
    let mut places = Vec::new();
    leaves(cluster, "", &mut places);
    let of_topology = places.iter().filter(|place| place.starts_with("/spec/topology/"));
    let one = |place: &String| {
        let mut other = cluster.clone();
        altered(other.pointer_mut(place).unwrap(), 0);
        other
    };
    std::iter::once(cluster.clone()).chain(of_topology.map(one)).collect()
}

#[test]
fn clusters_that_differ_in_one_value_each_come_out_together_as_alone() {
    let largest = FLEETS.iter().filter(|fleet| fleet.name.starts_with("stack-openstack/"));
    let mut judged = 0;
    for Fleet { name, objects, clusters } in largest {
        let all = each_in_one(clusters.first().unwrap());
        judged += all.len();
        let result = judge(objects, &all);
        assert!(result.is_ok(), "{name}: {}", result.unwrap_err());
    }
    assert!(judged > 100, "{judged}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn altered_clusters_come_out_together_as_alone(fleet: prop::sample::Index,
                                                   changes in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..3), 1..8)) {
        let Fleet { name, objects, clusters } = fleet.get(&FLEETS);
        let mut all = clusters.clone();
        for (leaf, how) in changes {
            // Alterations accumulate, so that each Cluster shares more or less with the previous ones.
            let mut next = all.last().unwrap().clone();
            let mut places = Vec::new();
            leaves(&next, "", &mut places);
            altered(next.pointer_mut(leaf.get(&places).as_str()).unwrap(), how);
            all.push(next);
        }
        let judged = judge(objects, &all);
        prop_assert!(judged.is_ok(), "{name}: {}", judged.unwrap_err());
    }
}
