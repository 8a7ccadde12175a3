//! A GitOps engine applies the same Cluster repeatedly. If the next apply changes something again, the verdict is unknown
//! and never shown as safe.

use capi_topology::import::ClassFiles;
use capi_topology::predict::forecast::of_change;
use capi_topology::{Meaning, Settings, Side, TopologyPart};
use serde_json::{Value, json};

use super::case::{Case, cases};

/// The meaning of a change of the Cluster for the pool of a worked example, with the reasons.
fn pool(case: &Case, before: &Value, after: &Value) -> (Meaning, Vec<String>) {
    let objects = case.documents("input/class.yaml").unwrap();
    let side = |cluster: &Value| Side::new(cluster.clone(), ClassFiles::new(objects.clone()));
    let forecast = of_change(&side(before), &side(after), &Settings::new("1.14").unwrap()).unwrap();
    let pool =
        forecast.verdicts.into_iter().find(|one| matches!(one.subject, TopologyPart::Pool(_))).unwrap();
    (pool.meaning, pool.reasons.iter().map(ToString::to_string).collect())
}

fn example(name: &str) -> Case {
    let all = cases(&super::own_cases());
    all.into_iter().find(|case| case.name.ends_with(name)).unwrap()
}

fn with_variable(cluster: &Value, value: Value) -> Value {
    let mut cluster = cluster.clone();
    cluster["spec"]["topology"]["variables"][0]["value"] = value;
    cluster
}

#[test]
fn an_empty_map_over_null_is_not_known() {
    let case = example("emptied-variable/free-map");
    let cluster = case.document("input/cluster.yaml").unwrap();
    let after = case.document("input/cluster-after.yaml").unwrap();
    let (meaning, reasons) = pool(&case, &cluster, &after);
    assert_eq!(meaning, Meaning::Opaque);
    assert!(reasons.iter().any(|reason| reason.contains("the next apply writes `{}`")), "{reasons:?}");
}

#[test]
fn a_key_that_stays_in_the_map_leaves_the_verdict() {
    let case = example("emptied-variable/free-map");
    let cluster = case.document("input/cluster.yaml").unwrap();
    let after = with_variable(&cluster, json!({ "a": { "b": 2 }, "c": 1, "d": {} }));
    let (meaning, reasons) = pool(&case, &cluster, &after);
    assert!(matches!(meaning, Meaning::Rollout { .. }), "{meaning:?} {reasons:?}");
}
