//! Machine deployments and machine pools, each with its bootstrap and infrastructure.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::health_check;
use super::templates::{Copy, object, reference, template};
use super::{Input, instant};
use crate::class::{Template, WorkerClass};
use crate::contract::{CLUSTER_NAME, DEFER, DEPLOYMENT_NAME, HOLD, OWNED, POOL_NAME};
use crate::names::{Named, from_template, simple};
use crate::role::PoolKind;
use crate::state::{Desired, Worker, positions};
use crate::upgrade::tracker::Tracker;
use k8s_schema::value::{get, list, map, merged, present, set, text};

/// Computes the workers of a kind; `known` is an earlier result for the same Cluster.
pub(crate) fn workers(
    kind: PoolKind,
    input: &Input<'_>,
    known: Option<&Desired>,
    tracker: &mut Tracker,
) -> Result<Vec<Arc<Worker>>, String> {
    let topologies = list(input.topology(), &["workers", kind.list()]);
    let known = known.map_or(&[][..], |known| known.workers(kind));
    let running = Running::of(input.current.map_or(&[], |current| current.workers(kind)));
    let compute = |(at, topology): (usize, _)| {
        let class = class_of(input.blueprint.workers(kind), topology, kind.as_str())?;
        let current = running.named(text(topology, &["name"]));
        let version = tracker.worker_version(kind, input.running(), topology, current)?;
        match known.get(at).filter(|known| is_for(known, current, &version)) {
            Some(known) => Ok(Arc::clone(known)),
            None => worker(kind, input, topology, class, current, &version).map(Arc::new),
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

fn worker(
    kind: PoolKind,
    input: &Input<'_>,
    topology: &Value,
    worker: &WorkerClass,
    current: Option<&Worker>,
    version: &str,
) -> Result<Worker, String> {
    let name = text(topology, &["name"]);
    let (label, named, copied): (_, _, fn(&Template, Copy<'_>) -> Value) = match kind {
        PoolKind::MachineDeployment => (DEPLOYMENT_NAME, Named::MachineDeployment(name), template),
        PoolKind::MachinePool => (POOL_NAME, Named::MachinePool(name), object),
    };
    let cluster_name = text(&input.cluster, &["metadata", "name"]);
    let part_name = |current: Option<&Value>| match current {
        Some(current) => text(current, &["metadata", "name"]).to_owned(),
        None => simple(&format!("{cluster_name}-{name}-"), input.draw),
    };
    let copy = |current| Copy::new(&input.cluster, part_name(current)).of_worker(label, name);
    let bootstrap = copied(&worker.bootstrap, copy(current.map(|one| &*one.bootstrap)));
    let infrastructure = copied(&worker.infrastructure, copy(current.map(|one| &*one.infrastructure)));
    let class = &worker.class;
    let own_name = own_name(input, named, class, current)?;
    let mut object = skeleton(input, kind.as_str(), &own_name, topology, class, label);
    let spec = machine_spec(input, topology, class, version, &bootstrap, &infrastructure);
    set(&mut object, &["spec", "template", "spec"], spec);
    let health_check = match kind {
        PoolKind::MachineDeployment => {
            fill_deployment(&mut object, input, topology, class);
            health_check::of_deployment(input, &object, topology, class)
        }
        PoolKind::MachinePool => {
            fill_pool(&mut object, topology, class);
            None
        }
    };
    Ok(Worker {
        name: name.to_owned(),
        object: Arc::new(object),
        applied: Arc::default(),
        bootstrap: Arc::new(bootstrap),
        infrastructure: Arc::new(infrastructure),
        health_check,
    })
}

/// Sets the fields that only machine deployments have.
fn fill_deployment(made: &mut Value, input: &Input<'_>, topology: &Value, class: &Value) {
    let (name, cluster_name) = (text(topology, &["name"]), text(&input.cluster, &["metadata", "name"]));
    let selector = json!({ CLUSTER_NAME: cluster_name, OWNED: "", DEPLOYMENT_NAME: name });
    set(made, &["spec", "selector", "matchLabels"], selector);
    if let Some(rollout) = rollout(topology, class) {
        set(made, &["spec", "rollout"], rollout);
    }
    let either = |path: &[&str]| filled(topology, path).or_else(|| filled(class, path));
    if let Some(order) = either(&["deletion", "order"]) {
        set(made, &["spec", "deletion", "order"], order.clone());
    }
    if let Some(limit) = either(&["healthCheck", "remediation", "maxInFlight"]) {
        set(made, &["spec", "remediation", "maxInFlight"], limit.clone());
    }
    for (path, target) in [
        (&["failureDomain"][..], &["spec", "template", "spec", "failureDomain"][..]),
        (&["readinessGates"], &["spec", "template", "spec", "readinessGates"]),
    ] {
        if let Some(value) = either(path) {
            set(made, target, value.clone());
        }
    }
}

/// Sets the fields that only machine pools have.
fn fill_pool(made: &mut Value, topology: &Value, class: &Value) {
    if let Some(domains) =
        filled(topology, &["failureDomains"]).or_else(|| filled(class, &["failureDomains"]))
    {
        set(made, &["spec", "failureDomains"], domains.clone());
    }
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
