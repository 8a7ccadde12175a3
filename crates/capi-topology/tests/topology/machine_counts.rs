//! The law of counts: the forecast for a Cluster whose pools have other numbers of machines follows from that for the Cluster itself.

use capi_topology::import::ClassFiles;
use capi_topology::predict::forecast::of_change;
use capi_topology::predict::machine_counts::MachineCounts;
use capi_topology::{Forecast, Pool, PoolKind, Side, Verdict};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::LazyLock;

use super::law::{INPUTS, altered, leaves, settings};

const POOLS: &str = "/spec/topology/workers/machineDeployments";

type Input = (String, Vec<Value>, Value);

/// The inputs with machine deployments whose class does not read how many machines they have.
static WITH_DEPLOYMENTS: LazyLock<Vec<&Input>> = LazyLock::new(|| {
    let is_meant = |input: &&Input| {
        let reads = |object: &Value| object["spec"]["patches"].to_string().contains("replicas");
        input.2.pointer(POOLS).is_some_and(|pools| pools[0].is_object()) && !input.1.iter().any(reads)
    };
    INPUTS.iter().filter(is_meant).collect()
});

/// Gives the machine deployments of a Cluster numbers of machines, one after the other.
fn with_counts(mut cluster: Value, counts: &[i64]) -> (Value, MachineCounts) {
    let mut found = MachineCounts::new();
    let pools = cluster.pointer_mut(POOLS).and_then(Value::as_array_mut);
    for (pool, count) in pools.into_iter().flatten().zip(counts.iter().cycle()) {
        pool["replicas"] = json!(count);
        found.insert(Pool::new(PoolKind::MachineDeployment, pool["name"].as_str().unwrap()), *count);
    }
    (cluster, found)
}

/// A change of a Cluster and its class.
struct Change<'a> {
    before: (&'a [Value], &'a Value),
    after: (&'a [Value], &'a Value),
}

impl Change<'_> {
    /// The forecast if the pools have these numbers of machines; none if the change is refused.
    fn forecast(&self, counts: &[i64]) -> (Option<Forecast>, MachineCounts) {
        let (before, found) = with_counts(self.before.1.clone(), counts);
        let (after, _) = with_counts(self.after.1.clone(), counts);
        let side = |objects: &[Value], cluster| Side::new(cluster, ClassFiles::new(objects.to_vec()));
        let forecast = of_change(&side(self.before.0, before), &side(self.after.0, after), &settings());
        (forecast.ok().filter(|forecast| forecast.faults.is_empty()), found)
    }

    /// Reports how the forecasts for two lists of counts disagree, if they do. Returns whether they could be compared.
    fn judge(&self, one: &[i64], other: &[i64]) -> Result<bool, String> {
        let ((first, from), (second, to)) = (self.forecast(one), self.forecast(other));
        let (Some(first), Some(second)) = (&first, &second) else {
            let are_both = first.is_none() && second.is_none();
            return are_both.then_some(false).ok_or_else(|| "only one of them is refused".to_owned());
        };
        let recounted = |one: &Verdict| one.recounted(&first.strategies(), &from, &to);
        let Some(found) = first.verdicts.iter().map(recounted).collect::<Option<Vec<_>>>() else {
            return Err(format!("no verdicts follow from {:#?}", first.verdicts));
        };
        let rest = |one: &Forecast| {
            let change = one.change.as_ref();
            format!(
                "{:?} {:?} {:?} {:?}",
                one.notes,
                one.conditions,
                one.opaque,
                change.map(|one| (&one.steps, &one.behind))
            )
        };
        if (&found, rest(first)) != (&second.verdicts, rest(second)) {
            return Err(format!(
                "{found:#?} {}\nis not\n{:#?} {}",
                rest(first),
                second.verdicts,
                rest(second)
            ));
        }
        Ok(true)
    }
}

/// Puts a rollout strategy into a pool; its numbers may depend on the number of machines.
fn with_strategy(cluster: &mut Value, strategy: &Value) {
    if let Some(pool) = cluster.pointer_mut(POOLS).and_then(|pools| pools.get_mut(0)) {
        pool["rollout"] = json!({ "strategy": strategy });
    }
}

fn strategies() -> impl Strategy<Value = Value> {
    let number = prop_oneof![
        (0..4_i64).prop_map(|number| json!(number)),
        (0..101_i64).prop_map(|percent| json!(format!("{percent}%")))
    ];
    let rolling = (number.clone(), number).prop_map(|(surge, unavailable)| {
        json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": surge, "maxUnavailable": unavailable } })
    });
    prop_oneof![4 => rolling, 1 => Just(json!({ "type": "OnDelete" })), 2 => Just(Value::Null)]
}

/// Upgrades a Cluster to the next minor.
fn upgraded(cluster: &mut Value) {
    let version = cluster["spec"]["topology"]["version"].as_str().unwrap_or_default();
    let minor: Option<u32> = version.split('.').nth(1).and_then(|minor| minor.parse().ok());
    if let Some(minor) = minor {
        cluster["spec"]["topology"]["version"] = json!(format!("v1.{}.0", minor + 1));
    }
}

#[test]
fn an_upgrade_of_every_worked_example_is_recounted() {
    let mut compared = 0;
    for (name, objects, cluster) in WITH_DEPLOYMENTS.iter() {
        let mut after = cluster.clone();
        upgraded(&mut after);
        let change = Change { before: (objects, cluster), after: (objects, &after) };
        let judged = change.judge(&[3, 5], &[40, 1, 7]);
        compared += usize::from(*judged.as_ref().unwrap_or_else(|why| panic!("{name}: {why}")));
    }
    assert!(compared > 50, "{compared} of {}", WITH_DEPLOYMENTS.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_change_is_recounted(which: prop::sample::Index,
                               edits in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0_usize..3), 1..4),
                               is_upgrade: bool, strategy in strategies(),
                               one in prop::collection::vec(1..50_i64, 1..4), other in prop::collection::vec(1..50_i64, 1..4)) {
        let (name, objects, cluster) = which.get(&WITH_DEPLOYMENTS);
        let mut before = cluster.clone();
        with_strategy(&mut before, &strategy);
        let mut all: Vec<Value> = objects.clone();
        all.push(before.clone());
        for (object, leaf, how) in edits {
            let object = object.get_mut(&mut all);
            let mut places = Vec::new();
            leaves(&object["spec"], "", &mut places);
            places.retain(|place| !place.ends_with("/name"));
            if !places.is_empty() {
                altered(object["spec"].pointer_mut(leaf.get(&places).as_str()).unwrap(), how);
            }
        }
        let mut after = all.pop().unwrap();
        if is_upgrade {
            upgraded(&mut after);
        }
        let change = Change { before: (objects, &before), after: (&all, &after) };
        let judged = change.judge(&one, &other);
        prop_assert!(judged.is_ok(), "{name}: {}", judged.unwrap_err());
    }
}
