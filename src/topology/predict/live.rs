//! What runs as the topology controller wrote it: where running objects and their managed fields were given, the state
//! before is what they tell, and not what would be computed from the Cluster.
//!
//! Source: `core/reconcilers/topology/cluster/current_state.go` (what belongs to what), and `structuredmerge/dryrun.go` there: a
//! desired object is compared with what runs in the fields that the controller applies, so these are all that is kept.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::observed::Observed;
use super::running::{with_defaults, with_filled};
use crate::topology::desired::contract::{Contract, DEPLOYMENT_NAME, POOL_NAME};
use crate::topology::desired::state::{Desired, Worker};
use crate::topology::value::{get, remove, set, text};

/// Puts what is known of running objects in the place of what was computed; says of which roles all is known.
pub(super) fn adopt(running: &mut Desired, observed: &Observed) -> BTreeSet<String> {
    let mut known = BTreeSet::new();
    if let Some(own) = only(&running.infrastructure, observed) {
        running.infrastructure = as_written(&running.infrastructure, own);
        refer(&mut running.cluster, "infrastructureRef", own);
        known.insert("infrastructure-cluster".to_owned());
    }
    if control_plane(running, observed).is_some() {
        known.insert("control-plane".to_owned());
    }
    for (prefix, label, workers) in
        [("md", DEPLOYMENT_NAME, &mut running.deployments), ("mp", POOL_NAME, &mut running.pools)]
    {
        for one in workers.iter_mut().map(Arc::make_mut) {
            if worker(one, label, observed).is_some() {
                known.insert(format!("{prefix}.{}", one.name));
            }
        }
    }
    known
}

/// A control plane counts together with the template of its machines, and with its status.
fn control_plane(running: &mut Desired, observed: &Observed) -> Option<()> {
    let own = only(&running.control_plane, observed)?;
    let template = match &running.machine_template {
        Some(model) => {
            let path = [Contract::in_use(own).infrastructure_ref(), &["name"]].concat();
            Some(as_written(model, named(model, text(own, &path), observed)?))
        }
        None => None,
    };
    let status = get(live(own, observed)?, &["status"]).filter(|status| status.is_object()).cloned();
    let mut object = with_defaults(&as_written(&running.control_plane, own), None);
    let written = get(&running.control_plane, &["status"]).cloned().unwrap_or_default();
    set(&mut object, &["status"], status.unwrap_or(written));
    running.control_plane = object;
    running.machine_template = template;
    refer(&mut running.cluster, "controlPlaneRef", own);
    Some(())
}

/// A pool counts together with what it refers to. What webhooks and others filled in of it stays.
fn worker(worker: &mut Worker, label: &str, observed: &Observed) -> Option<()> {
    let is_own = |one: &&Value| text(one, &["metadata", "labels", label]) == worker.name;
    let own = alone(observed.made.iter().filter(|one| is_same_kind(one, &worker.object)).filter(is_own))?;
    let template = ["spec", "template", "spec"];
    let reference = |path: &[&str]| text(own, &[&template[..], path, &["name"]].concat()).to_owned();
    let bootstrap = named(&worker.bootstrap, &reference(&["bootstrap", "configRef"]), observed)?;
    let infrastructure = named(&worker.infrastructure, &reference(&["infrastructureRef"]), observed)?;
    let applied = as_written(&worker.applied, own);
    let filled = with_filled(&applied, live(own, observed)?, &applied);
    worker.object = with_defaults(&filled, None);
    worker.applied = applied;
    worker.bootstrap = as_written(&worker.bootstrap, bootstrap);
    worker.infrastructure = as_written(&worker.infrastructure, infrastructure);
    Some(())
}

/// An object of the same kind and version: only those can be compared.
fn is_same_kind(object: &Value, model: &Value) -> bool {
    ["apiVersion", "kind"].iter().all(|field| text(object, &[field]) == text(model, &[field]))
}

/// The one object of its kind that a Cluster has.
fn only<'a>(model: &Value, observed: &'a Observed) -> Option<&'a Value> {
    alone(observed.made.iter().filter(|one| is_same_kind(one, model)))
}

fn named<'a>(model: &Value, name: &str, observed: &'a Observed) -> Option<&'a Value> {
    let is_it = |one: &&Value| is_same_kind(one, model) && text(one, &["metadata", "name"]) == name;
    alone(observed.made.iter().filter(is_it))
}

fn alone<'a>(mut found: impl Iterator<Item = &'a Value>) -> Option<&'a Value> {
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// The whole object of which this was applied.
fn live<'a>(own: &Value, observed: &'a Observed) -> Option<&'a Value> {
    let is_it = |one: &&Value| {
        text(one, &["kind"]) == text(own, &["kind"])
            && text(one, &["metadata", "name"]) == text(own, &["metadata", "name"])
    };
    observed.objects.iter().find(is_it)
}

/// What was computed, with the name, labels, annotations and specification that were written.
fn as_written(model: &Value, own: &Value) -> Value {
    let mut object = model.clone();
    for path in [&["spec"][..], &["metadata", "name"], &["metadata", "labels"], &["metadata", "annotations"]]
    {
        remove(&mut object, path);
        if let Some(value) = get(own, path) {
            set(&mut object, path, value.clone());
        }
    }
    object
}

/// A Cluster from a file does not name its objects yet.
fn refer(cluster: &mut Value, reference: &str, own: &Value) {
    set(cluster, &["spec", reference, "name"], own["metadata"]["name"].clone());
}
