//! The law of verdicts: a change of the inputs that alters the desired state is never "no change".

use std::sync::LazyLock;

use capi_topology::import::ClassFiles;
use capi_topology::predict::forecast::of_change;
use capi_topology::predict::{Change, ObjectChange, create};
use capi_topology::{Catalog, Desired, Meaning, PoolKind, Role, Settings, Side, TopologyPart};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::case::cases;

/// The classes and Clusters of worked examples that yield a desired state.
pub(super) static INPUTS: LazyLock<Vec<(String, Vec<Value>, Value)>> = LazyLock::new(|| {
    let input = |case: &super::case::Case| {
        let objects = case.documents("input/class.yaml")?;
        let cluster = case.document("input/cluster.yaml")?;
        fresh(&objects, &cluster)?;
        Some((case.name.clone(), objects, cluster))
    };
    cases(&super::own_cases()).iter().filter_map(input).collect()
});

pub(super) fn settings() -> Settings {
    Settings::new("1.14").unwrap()
}

/// The desired state of a new Cluster; none if anything is refused.
fn fresh(objects: &[Value], cluster: &Value) -> Option<Desired> {
    if !create::apply_classes(objects, &Catalog::default(), &[]).is_empty() {
        return None;
    }
    let created = create::create(cluster.clone(), &Catalog::new(objects.iter().cloned()), &settings());
    created.desired.filter(|_| created.faults.is_empty())
}

fn side(objects: &[Value], cluster: &Value) -> Side {
    Side::new(cluster.clone(), ClassFiles::new(objects.to_vec()))
}

/// Collects JSON pointers to all scalars in a value.
pub(super) fn leaves(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let key = key.replace('~', "~0").replace('/', "~1");
                leaves(value, &format!("{at}/{key}"), found);
            }
        }
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(index, value)| leaves(value, &format!("{at}/{index}"), found));
        }
        _ => found.push(at.to_owned()),
    }
}

/// Replaces a value with a different one, of the same type if possible.
pub(super) fn altered(value: &mut Value, how: usize) {
    *value = match (&value, how % 3) {
        (Value::Bool(flag), _) => json!(!flag),
        (Value::Number(number), 0) => json!(number.as_i64().unwrap_or(0) + 1),
        (Value::Number(number), _) => json!(number.as_i64().unwrap_or(0) * 2 + 3),
        (Value::String(text), 0) => json!(format!("{text}x")),
        (Value::String(_), 1) => json!(""),
        (Value::String(_), _) => json!("other"),
        _ => json!("something"),
    };
}

/// The compared parts of an object: neither its name nor the template it was cloned from.
fn shown(object: &Value) -> Value {
    let mut shown = json!({ "spec": object["spec"], "metadata": {} });
    for field in ["labels", "annotations"] {
        let mut entries = object["metadata"][field].clone();
        if let Some(entries) = entries.as_object_mut() {
            entries.retain(|key, _| !key.starts_with("cluster.x-k8s.io/cloned-from"));
        }
        shown["metadata"][field] = entries;
    }
    // References contain names with random characters.
    for path in
        ["/spec/infrastructureRef", "/spec/controlPlaneRef", "/spec/machineTemplate/spec/infrastructureRef"]
            .into_iter()
            .chain(["/spec/template/spec/bootstrap/configRef", "/spec/template/spec/infrastructureRef"])
    {
        if let Some(reference) = shown.pointer_mut(path) {
            reference["name"] = Value::Null;
        }
    }
    shown
}

/// The parts of the cluster whose objects differ.
fn different(before: &Desired, after: &Desired) -> Vec<Role> {
    let (old, new) = (before.objects(), after.objects());
    let roles = old.keys().chain(new.keys().filter(|role| !old.contains_key(*role)));
    let differ = |role: &&Role| match (old.get(*role), new.get(*role)) {
        (Some(old), Some(new)) => shown(old) != shown(new),
        _ => true,
    };
    roles.filter(|role| **role != Role::Cluster).filter(differ).cloned().collect()
}

/// Reports what is wrong with the verdict on a change, if anything.
fn judge(
    objects: &[Value],
    cluster: &Value,
    changed: &[Value],
    changed_cluster: &Value,
) -> Result<(), String> {
    let Some(before) = fresh(objects, cluster) else { return Ok(()) };
    let Ok(forecast) = of_change(&side(objects, cluster), &side(changed, changed_cluster), &settings())
    else {
        return Ok(());
    };
    if forecast.verdicts.iter().any(|one| one.subject == TopologyPart::Cluster) {
        return Ok(());
    }
    let Some(after) = fresh(changed, changed_cluster) else {
        let silent = forecast.verdicts.iter().all(|one| one.meaning == Meaning::NoChange);
        return if silent { Err("what nobody takes is no change".to_owned()) } else { Ok(()) };
    };
    for role in different(&before, &after) {
        let Some(verdict) = forecast.verdicts.iter().find(|one| role.is_of(&one.subject)) else {
            return Err(format!("{role} has no verdict"));
        };
        if verdict.meaning == Meaning::NoChange {
            return Err(format!("{role} differs, and {} is said not to change", verdict.subject));
        }
    }
    Ok(())
}

/// Defaults of the class stay in the live Cluster unchanged (the worked examples verify this). The values of a new Cluster
/// therefore say nothing about them.
fn sticks(object: &Value, leaf: &str) -> bool {
    object["kind"] == "ClusterClass" && leaf.starts_with("/spec/variables/") && leaf.contains("/default")
}

/// The inputs whose Cluster has machine pools.
static WITH_POOLS: LazyLock<Vec<&(String, Vec<Value>, Value)>> = LazyLock::new(|| {
    let pools = |cluster: &Value| cluster.pointer("/spec/topology/workers/machinePools/0").is_some();
    INPUTS.iter().filter(|(_, _, cluster)| pools(cluster)).collect()
});

/// The fields that a machine pool may have in a Cluster or a class, each with a value.
fn pool_fields(number: u8) -> Vec<(&'static str, Value)> {
    vec![
        ("replicas", json!(number)),
        ("failureDomains", json!([format!("az{number}")])),
        ("minReadySeconds", json!(number)),
        ("deletion", json!({ "nodeDrainTimeoutSeconds": number })),
        (
            "deletion",
            json!({ "nodeVolumeDetachTimeoutSeconds": number, "nodeDeletionTimeoutSeconds": number }),
        ),
        ("metadata", json!({ "labels": { "fuzz": format!("v{number}") } })),
        ("metadata", json!({ "annotations": { "fuzz": format!("v{number}") } })),
        ("name", json!(format!("mp-{number}"))),
        ("class", json!("another")),
    ]
}

/// The fields that templates of machine pools may get.
fn template_fields(number: u8) -> Vec<(&'static str, Value)> {
    vec![
        ("/spec/template/spec", json!({ "postKubeadmCommands": [format!("echo {number}")] })),
        ("/spec/template/spec", json!({ "fuzz": number })),
        ("/metadata", json!({ "labels": { "fuzz": format!("v{number}") } })),
    ]
}

/// Changes the sources of machine pools: an entry in the Cluster or class, the number of pools, or a template.
fn with_other_pools(
    all: &mut [Value],
    what: usize,
    which: prop::sample::Index,
    field: prop::sample::Index,
    number: u8,
) {
    let is_pool = |object: &Value| {
        let kind = object["kind"].as_str().unwrap_or_default();
        kind.contains("MachinePool") || kind == "KubeadmConfigTemplate"
    };
    let (kind, path) = match what {
        0 | 1 => ("Cluster", "/spec/topology/workers/machinePools"),
        2 => ("ClusterClass", "/spec/workers/machinePools"),
        _ => {
            let mut templates: Vec<&mut Value> = all.iter_mut().filter(|object| is_pool(object)).collect();
            let fields = template_fields(number);
            let (path, value) = field.get(&fields);
            if let (Some(at), Some(more)) =
                (which.get_mut(&mut templates).pointer_mut(path), value.as_object())
            {
                let fields = at.as_object_mut().unwrap();
                fields.extend(more.iter().map(|(key, value)| (key.clone(), value.clone())));
            }
            return;
        }
    };
    let object = all.iter_mut().find(|object| object["kind"] == kind).unwrap();
    let Some(pools) = object.pointer_mut(path).and_then(Value::as_array_mut) else { return };
    let at = which.index(pools.len());
    if what == 1 && number.is_multiple_of(2) {
        pools.remove(at);
    } else if what == 1 {
        let mut more = pools[at].clone();
        more["name"] = json!("one-more");
        pools.push(more);
    } else {
        let fields = pool_fields(number);
        let (name, value) = field.get(&fields);
        pools[at][*name] = value.clone();
    }
}

/// An upgrade proceeds pool by pool. Parts that a pass does not change are not computed again in that pass.
#[test]
fn each_of_many_pools_is_upgraded_as_it_would_be_alone() {
    let named = |(name, ..): &&(String, Vec<Value>, Value)| name == "stack-openstack/rebase-gpu-template";
    let (_, objects, cluster) = INPUTS.iter().find(named).unwrap();
    let models = cluster["spec"]["topology"]["workers"]["machineDeployments"].as_array().unwrap();
    let pool = |(number, model): (usize, &Value)| {
        let mut pool = model.clone();
        pool["name"] = json!(format!("pool-{number:02}"));
        pool
    };
    let pools: Vec<Value> = models.iter().cycle().take(8).enumerate().map(pool).collect();
    let change = |pools: &[Value]| {
        let mut before = cluster.clone();
        before["spec"]["topology"]["workers"]["machineDeployments"] = json!(pools);
        let mut after = before.clone();
        after["spec"]["topology"]["version"] = json!("v1.34.1");
        for variable in after["spec"]["topology"]["variables"].as_array_mut().unwrap() {
            if variable["name"] == "workerFlavor" {
                variable["value"] = json!("SCS-16V-64");
            }
        }
        let forecast = of_change(&side(objects, &before), &side(objects, &after), &settings()).unwrap();
        forecast.change.unwrap()
    };
    let told = |change: &Change, name: &str| {
        let part = TopologyPart::pool(PoolKind::MachineDeployment, name);
        let own = |one: &&ObjectChange| one.role.is_of(&part);
        let words = |one: &ObjectChange| format!("{} {:?} {:?}", one.role, one.effect, one.patch);
        change.objects.iter().filter(own).map(words).collect::<Vec<_>>()
    };
    let all = change(&pools);
    assert_eq!((all.faults.len(), all.steps.len()), (0, 1 + pools.len()), "{:?}", all.faults);
    for pool in &pools {
        let name = pool["name"].as_str().unwrap();
        let alone = told(&change(std::slice::from_ref(pool)), name);
        assert!(alone.iter().any(|one| one.contains("Rotated")), "{alone:?}");
        assert_eq!(told(&all, name), alone);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_alters_a_desired_object_is_never_no_change(case: prop::sample::Index, document: prop::sample::Index,
                                                       leaf: prop::sample::Index, how in 0_usize..3) {
        let (name, objects, cluster) = case.get(&INPUTS);
        let mut all: Vec<Value> = objects.iter().chain([cluster]).cloned().collect();
        let one = document.get_mut(&mut all);
        let mut places = Vec::new();
        leaves(one, "", &mut places);
        let place = leaf.get(&places).clone();
        // A different name or kind means a different object.
        let identity = ["/apiVersion", "/kind", "/metadata/name", "/metadata/namespace"];
        prop_assume!(!identity.contains(&place.as_str()) && !sticks(one, &place));
        altered(one.pointer_mut(&place).unwrap(), how);
        let kind = one["kind"].clone();
        let changed_cluster = all.pop().unwrap();
        let judged = judge(objects, cluster, &all, &changed_cluster);
        prop_assert!(judged.is_ok(), "{name}: {kind} {place}: {judged:?}");
    }

    #[test]
    fn what_alters_a_machine_pool_is_never_no_change(case: prop::sample::Index, what in 0_usize..5,
                                                     which: prop::sample::Index, field: prop::sample::Index, number in 2_u8..9) {
        // One replica is the default of a pool without a number.
        let (name, objects, cluster) = case.get(&WITH_POOLS);
        let mut all: Vec<Value> = objects.iter().chain([cluster]).cloned().collect();
        with_other_pools(&mut all, what, which, field, number);
        let changed_cluster = all.pop().unwrap();
        let judged = judge(objects, cluster, &all, &changed_cluster);
        prop_assert!(judged.is_ok(), "{name}: {what} {}: {judged:?}", changed_cluster["spec"]["topology"]["workers"]);
    }
}
