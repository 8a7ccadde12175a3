//! Machine deployments and machine pools, each with its bootstrap and infrastructure.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::contract::{CLUSTER_NAME, DEFER, DEPLOYMENT_NAME, HOLD, OWNED, POOL_NAME};
use super::health_check;
use super::state::{Desired, Worker, positions};
use super::templates::{Copy, object, reference, template};
use super::{Input, instant};
use crate::class::WorkerClass;
use crate::names::{Named, from_template, simple};
use crate::role::PoolKind;
use crate::upgrade::tracker::Tracker;
use k8s_schema::value::{get, list, map, merged, present, set, text};

/// Computes the machine deployments; `known` is an earlier result for the same Cluster.
pub(crate) fn deployments(
    input: &Input<'_>,
    known: Option<&Desired>,
    tracker: &mut Tracker,
) -> Result<Vec<Arc<Worker>>, String> {
    let topologies = list(input.topology(), &["workers", "machineDeployments"]);
    let known: &[Arc<Worker>] = known.map_or(&[], |known| known.deployments.as_slice());
    let running = Running::of(input.current.map_or(&[], |current| &current.deployments));
    let compute = |(at, topology): (usize, _)| {
        let class = class_of(&input.blueprint.deployments, topology, "MachineDeployment")?;
        let current = running.named(text(topology, &["name"]));
        let version =
            tracker.worker_version(PoolKind::MachineDeployment, input.running(), topology, current)?;
        match known.get(at).filter(|known| is_for(known, current, &version)) {
            Some(known) => Ok(Arc::clone(known)),
            None => deployment(input, topology, class, current, &version).map(Arc::new),
        }
    };
    topologies.iter().enumerate().map(compute).collect()
}

/// Computes the machine pools; `known` is an earlier result for the same Cluster.
pub(crate) fn pools(
    input: &Input<'_>,
    known: Option<&Desired>,
    tracker: &mut Tracker,
) -> Result<Vec<Arc<Worker>>, String> {
    let topologies = list(input.topology(), &["workers", "machinePools"]);
    let known: &[Arc<Worker>] = known.map_or(&[], |known| known.pools.as_slice());
    let running = Running::of(input.current.map_or(&[], |current| &current.pools));
    let compute = |(at, topology): (usize, _)| {
        let class = class_of(&input.blueprint.pools, topology, "MachinePool")?;
        let current = running.named(text(topology, &["name"]));
        let version = tracker.worker_version(PoolKind::MachinePool, input.running(), topology, current)?;
        match known.get(at).filter(|known| is_for(known, current, &version)) {
            Some(known) => Ok(Arc::clone(known)),
            None => pool(input, topology, class, current, &version).map(Arc::new),
        }
    };
    topologies.iter().enumerate().map(compute).collect()
}

/// Running workers, indexed by name.
struct Running<'a> {
    workers: &'a [Arc<Worker>],
    positions: BTreeMap<&'a str, usize>,
}

impl<'a> Running<'a> {
    fn of(workers: &'a [Arc<Worker>]) -> Self {
        Self { workers, positions: positions(workers) }
    }

    fn named(&self, name: &str) -> Option<&'a Worker> {
        self.positions.get(name).and_then(|at| self.workers.get(*at)).map(AsRef::as_ref)
    }
}

/// Reports whether an earlier result for the same Cluster still fits a worker: apart from the Cluster, only names and
/// version matter.
fn is_for(known: &Worker, current: Option<&Worker>, version: &str) -> bool {
    fn names(worker: &Worker) -> [&str; 3] {
        [&worker.object, &worker.bootstrap, &worker.infrastructure]
            .map(|one| text(one, &["metadata", "name"]))
    }
    current.is_some_and(|current| names(current) == names(known))
        && text(&known.object, &["spec", "template", "spec", "version"]) == version
}

fn class_of<'a>(
    classes: &'a BTreeMap<String, WorkerClass>,
    topology: &Value,
    kind: &str,
) -> Result<&'a WorkerClass, String> {
    let name = text(topology, &["class"]);
    classes.get(name).ok_or_else(|| format!("{kind} class {name} not found in ClusterClass"))
}

fn deployment(
    input: &Input<'_>,
    topology: &Value,
    worker: &WorkerClass,
    current: Option<&Worker>,
    version: &str,
) -> Result<Worker, String> {
    let name = text(topology, &["name"]);
    let cluster_name = text(&input.cluster, &["metadata", "name"]);
    let part_name = |current: Option<&Value>| match current {
        Some(current) => text(current, &["metadata", "name"]).to_owned(),
        None => simple(&format!("{cluster_name}-{name}-"), input.draw),
    };
    let copy = |current| Copy::new(&input.cluster, part_name(current)).of_worker(DEPLOYMENT_NAME, name);
    let bootstrap = template(&worker.bootstrap, copy(current.map(|one| &one.bootstrap)));
    let infrastructure = template(&worker.infrastructure, copy(current.map(|one| &one.infrastructure)));
    let class = &worker.class;
    let own_name = own_name(input, Named::MachineDeployment(name), class, current)?;
    let mut made = skeleton(input, "MachineDeployment", &own_name, topology, class, DEPLOYMENT_NAME);
    let spec = machine_spec(input, topology, class, version, &bootstrap, &infrastructure);
    set(&mut made, &["spec", "template", "spec"], spec);
    let selector = json!({ CLUSTER_NAME: cluster_name, OWNED: "", DEPLOYMENT_NAME: name });
    set(&mut made, &["spec", "selector", "matchLabels"], selector);
    if let Some(rollout) = rollout(topology, class) {
        set(&mut made, &["spec", "rollout"], rollout);
    }
    let either = |path: &[&str]| filled(topology, path).or_else(|| filled(class, path));
    if let Some(order) = either(&["deletion", "order"]) {
        set(&mut made, &["spec", "deletion", "order"], order.clone());
    }
    if let Some(limit) = either(&["healthCheck", "remediation", "maxInFlight"]) {
        set(&mut made, &["spec", "remediation", "maxInFlight"], limit.clone());
    }
    for (path, target) in [
        (&["failureDomain"][..], &["spec", "template", "spec", "failureDomain"][..]),
        (&["readinessGates"], &["spec", "template", "spec", "readinessGates"]),
    ] {
        if let Some(value) = either(path) {
            set(&mut made, target, value.clone());
        }
    }
    let health_check = health_check::of_deployment(input, &made, topology, class);
    Ok(Worker {
        name: name.to_owned(),
        object: made,
        applied: Value::Null,
        bootstrap,
        infrastructure,
        health_check,
    })
}

fn pool(
    input: &Input<'_>,
    topology: &Value,
    worker: &WorkerClass,
    current: Option<&Worker>,
    version: &str,
) -> Result<Worker, String> {
    let name = text(topology, &["name"]);
    let cluster_name = text(&input.cluster, &["metadata", "name"]);
    let part_name = |current: Option<&Value>| match current {
        Some(current) => text(current, &["metadata", "name"]).to_owned(),
        None => simple(&format!("{cluster_name}-{name}-"), input.draw),
    };
    let copy = |current| Copy::new(&input.cluster, part_name(current)).of_worker(POOL_NAME, name);
    let bootstrap = object(&worker.bootstrap, copy(current.map(|one| &one.bootstrap)));
    let infrastructure = object(&worker.infrastructure, copy(current.map(|one| &one.infrastructure)));
    let class = &worker.class;
    let own_name = own_name(input, Named::MachinePool(name), class, current)?;
    let mut made = skeleton(input, "MachinePool", &own_name, topology, class, POOL_NAME);
    let spec = machine_spec(input, topology, class, version, &bootstrap, &infrastructure);
    set(&mut made, &["spec", "template", "spec"], spec);
    if let Some(domains) =
        filled(topology, &["failureDomains"]).or_else(|| filled(class, &["failureDomains"]))
    {
        set(&mut made, &["spec", "failureDomains"], domains.clone());
    }
    Ok(Worker {
        name: name.to_owned(),
        object: made,
        applied: Value::Null,
        bootstrap,
        infrastructure,
        health_check: None,
    })
}

/// The name of a worker; a running one keeps its name.
fn own_name(
    input: &Input<'_>,
    named: Named<'_>,
    class: &Value,
    current: Option<&Worker>,
) -> Result<String, String> {
    if let Some(current) = current {
        return Ok(text(&current.object, &["metadata", "name"]).to_owned());
    }
    let naming = text(class, &["naming", "template"]);
    from_template(naming, text(&input.cluster, &["metadata", "name"]), named, input.draw)
}

/// The part that machine deployments and machine pools share: names, labels and replicas.
fn skeleton(
    input: &Input<'_>,
    kind: &str,
    name: &str,
    topology: &Value,
    class: &Value,
    label: &str,
) -> Value {
    let cluster_name = text(&input.cluster, &["metadata", "name"]);
    let of = |field: &str| {
        let path = ["metadata", field];
        merged(map(topology, &path), map(class, &path))
    };
    let (mut labels, mut annotations) = (of("labels"), of("annotations"));
    annotations.retain(|key, _| key != HOLD && key != DEFER);
    labels.insert(CLUSTER_NAME.to_owned(), json!(cluster_name));
    labels.insert(OWNED.to_owned(), json!(""));
    labels.insert(label.to_owned(), json!(text(topology, &["name"])));
    let mut metadata = Map::new();
    metadata.insert("labels".to_owned(), Value::Object(labels));
    if !annotations.is_empty() {
        metadata.insert("annotations".to_owned(), Value::Object(annotations));
    }
    let mut made = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": kind,
        "metadata": {},
        "spec": { "clusterName": cluster_name, "template": {} },
    });
    set(&mut made, &["spec", "template", "metadata"], Value::Object(metadata.clone()));
    set(&mut made, &["metadata"], Value::Object(metadata));
    set(&mut made, &["metadata", "name"], json!(name));
    let namespace = text(&input.cluster, &["metadata", "namespace"]);
    set(&mut made, &["metadata", "namespace"], json!(namespace));
    if let Some(replicas) = present(topology, &["replicas"]) {
        set(&mut made, &["spec", "replicas"], replicas.clone());
    }
    made
}

fn machine_spec(
    input: &Input<'_>,
    topology: &Value,
    class: &Value,
    version: &str,
    bootstrap: &Value,
    infrastructure: &Value,
) -> Value {
    let mut spec = json!({
        "clusterName": text(&input.cluster, &["metadata", "name"]),
        "version": version,
    });
    set(&mut spec, &["bootstrap", "configRef"], reference(bootstrap));
    set(&mut spec, &["infrastructureRef"], reference(infrastructure));
    let either = |path: &[&str]| present(topology, path).or_else(|| present(class, path));
    for path in [
        &["deletion", "nodeDrainTimeoutSeconds"][..],
        &["deletion", "nodeVolumeDetachTimeoutSeconds"],
        &["deletion", "nodeDeletionTimeoutSeconds"],
        &["minReadySeconds"],
        &["taints"],
    ] {
        if let Some(value) = either(path) {
            set(&mut spec, path, value.clone());
        }
    }
    spec
}

/// The rollout of the topology or, if it has none, of the class; the two are never mixed.
fn rollout(topology: &Value, class: &Value) -> Option<Value> {
    let of = |owner| filled(owner, &["rollout"]);
    let mut rollout = of(topology).or_else(|| of(class))?.clone();
    if of(topology).is_none()
        && let Some(fields) = rollout.as_object_mut()
    {
        fields.shift_remove("after");
    }
    if let Some(after) = present(&rollout, &["after"]).map(instant) {
        set(&mut rollout, &["after"], after);
    }
    Some(rollout)
}

/// The value, unless it is Go's zero value.
fn filled<'a>(object: &'a Value, path: &[&str]) -> Option<&'a Value> {
    get(object, path).filter(|value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    })
}
