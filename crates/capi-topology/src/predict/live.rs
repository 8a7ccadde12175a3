//! Running objects as the topology controller wrote them. If running objects and their managed fields were given, they
//! define the state before a change, instead of what would be computed from the Cluster.
//!
//! Source: `core/reconcilers/topology/cluster/current_state.go` (which object belongs to which), and
//! `structuredmerge/dryrun.go` there: a desired object is compared with the result of its server-side apply to the running
//! one. So the fields of the controller and of other managers are kept; fields that no manager owns were filled in by
//! webhooks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::observed::{self, Observed};
use super::running::{is_paused, with_defaults, with_filled};
use crate::contract::{Contract, pool_label};
use crate::import::ControllerObject;
use crate::role::{Pool, PoolKind, PoolObject, Role, TopologyPart};
use crate::state::{Desired, Worker};
use k8s_schema::value::{get, group, list, remove, set, text};

/// The running objects that replaced computed ones.
#[derive(Debug, Default)]
pub(super) struct Adopted {
    /// Parts that are completely known.
    pub known: BTreeSet<TopologyPart>,
    /// Fields of objects that other managers set: no apply of the controller removes them.
    pub others: BTreeMap<Role, Value>,
}

impl Adopted {
    /// Returns an object as it was written, and records the fields that others set.
    fn take(&mut self, role: Role, model: &Value, made: &ControllerObject) -> Value {
        if made.others.is_object() {
            self.others.insert(role, made.others.clone());
        }
        as_written(model, &made.whole)
    }
}

/// The running objects of a Cluster whose topology cannot be computed; none unless all of them were given.
pub(super) fn given(cluster: &Value, observed: &Observed) -> Option<Desired> {
    let infrastructure = referred(get(cluster, &["spec", "infrastructureRef"])?, observed)?.own.clone();
    let control_plane = referred(get(cluster, &["spec", "controlPlaneRef"])?, observed)?.own.clone();
    let template = get(&control_plane, Contract::in_use(&control_plane).infrastructure_ref());
    let machine_template = match template {
        Some(reference) => Some(Arc::new(referred(reference, observed)?.own.clone())),
        None => None,
    };
    let mut running = Desired {
        cluster: Arc::new(cluster.clone()),
        infrastructure: Arc::new(infrastructure),
        control_plane: Arc::new(control_plane),
        machine_template,
        ..Desired::default()
    };
    let adopted = adopt(&mut running, observed);
    let is_whole = PoolKind::ALL.into_iter().all(|kind| {
        let asked = list(cluster, &["spec", "topology", "workers", kind.list()]);
        asked.iter().all(|one| running.worker(&Pool::new(kind, text(one, &["name"]))).is_some())
    });
    let is_known = adopted.known.contains(&TopologyPart::Infrastructure)
        && observed::all_known(&running, &adopted.known);
    (is_whole && is_known).then_some(running)
}

/// Replaces computed objects with the known running ones, and adds running pools that the topology lacks.
pub(super) fn adopt(running: &mut Desired, observed: &Observed) -> Adopted {
    let mut adopted = Adopted::default();
    beside(running, observed);
    if let Some(made) = only(&running.infrastructure, observed) {
        running.infrastructure = Arc::new(adopted.take(Role::Infrastructure, &running.infrastructure, made));
        refer(Arc::make_mut(&mut running.cluster), "infrastructureRef", &made.own);
        adopted.known.insert(TopologyPart::Infrastructure);
    }
    if control_plane(running, observed, &mut adopted).is_some() {
        adopted.known.insert(TopologyPart::ControlPlane);
    }
    let Desired { cluster, deployments, pools, .. } = running;
    for (kind, workers) in PoolKind::ALL.into_iter().zip([deployments, pools]) {
        for one in workers.iter_mut().map(Arc::make_mut) {
            if worker(one, kind, (cluster, observed), &mut adopted).is_some() {
                adopted.known.insert(TopologyPart::pool(kind, &one.name));
            }
        }
    }
    adopted
}

/// Adopts the control plane with its status and its machine template; none if the template or the live object is missing.
fn control_plane(running: &mut Desired, observed: &Observed, adopted: &mut Adopted) -> Option<()> {
    let made = only(&running.control_plane, observed)?;
    let template = match &running.machine_template {
        Some(model) => Some(named(model, text(&made.own, &machine_template(&made.own)), observed)?),
        None => None,
    };
    let status = get(live(&made.own, observed)?, &["status"]).filter(|status| status.is_object()).cloned();
    let object = adopted.take(Role::ControlPlane, &running.control_plane, made);
    let mut object = with_defaults(&object, None);
    let written = get(&running.control_plane, &["status"]).cloned().unwrap_or_default();
    set(&mut object, &["status"], status.unwrap_or(written));
    running.health_check = health_check(running.health_check.take(), &made.own, &running.cluster, observed);
    running.control_plane = Arc::new(object);
    if let (Some(model), Some(template)) = (&mut running.machine_template, template) {
        *model = Arc::new(adopted.take(Role::ControlPlaneMachines, model, template));
    }
    refer(Arc::make_mut(&mut running.cluster), "controlPlaneRef", &made.own);
    Some(())
}

/// The path to the name of a control plane's machine template.
fn machine_template(control_plane: &Value) -> Vec<&'static str> {
    [Contract::in_use(control_plane).infrastructure_ref(), &["name"]].concat()
}

/// Adopts a pool together with the objects it references; none if one of them is missing. Fields that webhooks filled in
/// are kept.
fn worker(
    worker: &mut Worker,
    kind: PoolKind,
    (cluster, observed): (&Value, &Observed),
    adopted: &mut Adopted,
) -> Option<()> {
    let label = ["metadata", "labels", pool_label(kind)];
    let is_own = |one: &&ControllerObject| text(&one.own, &label) == worker.name;

    let made = alone(
        observed
            .controller_objects
            .iter()
            .filter(|one| is_same_kind(&one.own, &worker.object))
            .filter(is_own),
    )?;
    let [bootstrap, infrastructure] = references(&made.own);
    let bootstrap = named(&worker.bootstrap, bootstrap, observed)?;
    let infrastructure = named(&worker.infrastructure, infrastructure, observed)?;
    let applied = as_written(&worker.applied, &made.own);
    let pool = Pool::new(kind, &worker.name);
    let whole = adopted.take(pool.clone().role(PoolObject::Own), &worker.applied, made);
    let filled = with_filled(&whole, live(&made.own, observed)?, &applied);
    worker.object = Arc::new(with_defaults(&filled, None));
    worker.applied = Arc::new(applied);
    worker.health_check = health_check(worker.health_check.take(), &made.own, cluster, observed);
    let role = pool.clone().role(PoolObject::Bootstrap);
    worker.bootstrap = Arc::new(adopted.take(role, &worker.bootstrap, bootstrap));
    let role = pool.role(PoolObject::Infrastructure);
    worker.infrastructure = Arc::new(adopted.take(role, &worker.infrastructure, infrastructure));
    Some(())
}

/// The names of the objects that a pool references: its bootstrap and its infrastructure.
fn references(pool: &Value) -> [&str; 2] {
    [&["bootstrap", "configRef"][..], &["infrastructureRef"]]
        .map(|path| text(pool, &[&["spec", "template", "spec"], path, &["name"]].concat()))
}

/// Adds running pools that the topology lacks: the controller deletes them.
fn beside(running: &mut Desired, observed: &Observed) {
    for kind in PoolKind::ALL {
        let workers = running.workers_mut(kind);
        for made in
            observed.controller_objects.iter().filter(|one| text(&one.own, &["kind"]) == kind.as_str())
        {
            let name = text(&made.own, &["metadata", "labels", pool_label(kind)]);
            if name.is_empty() || workers.iter().any(|one| one.name == name) {
                continue;
            }
            let part = |path: &[&str]| {
                let reference = get(&made.own, &[&["spec", "template", "spec"], path].concat())?;
                Some(referred(reference, observed)?.own.clone())
            };
            let parts = (part(&["bootstrap", "configRef"]), part(&["infrastructureRef"]));
            let (Some(bootstrap), Some(infrastructure)) = parts else { continue };
            let object = Arc::new(made.own.clone());
            let applied = object.clone();
            let name = name.to_owned();
            workers.push(Arc::new(Worker {
                name,
                object,
                applied,
                bootstrap: Arc::new(bootstrap),
                infrastructure: Arc::new(infrastructure),
                health_check: None,
            }));
        }
    }
}

/// The health check of a control plane or pool, which has the same name. A health check that the class asks for is assumed
/// to run even if it was not given. The exception is a Cluster that the controller has yet to reconcile and whose running
/// objects were all given, as the presence of Machines shows.
fn health_check(asked: Option<Value>, of: &Value, cluster: &Value, observed: &Observed) -> Option<Value> {
    let is_check = |one: &&ControllerObject| text(&one.own, &["kind"]) == "MachineHealthCheck";
    let name = text(of, &["metadata", "name"]);
    let mut checks = observed.controller_objects.iter().filter(is_check);
    if let Some(made) = checks.find(|one| text(&one.own, &["metadata", "name"]) == name) {
        return Some(made.own.clone());
    }
    let is_behind = observed::unsettled(observed).is_some() || is_paused(cluster);
    let is_missing = is_behind && !observed.machines.is_empty();
    let mut asked = asked.filter(|_| !is_missing)?;
    set(&mut asked, &["metadata", "name"], name.into());
    Some(asked)
}

/// The object that a reference names, in whichever version it runs.
fn referred<'a>(reference: &Value, observed: &'a Observed) -> Option<&'a ControllerObject> {
    let api_group = match text(reference, &["apiGroup"]) {
        "" => group(text(reference, &["apiVersion"])),
        api_group => api_group,
    };
    let is_it = |one: &&ControllerObject| {
        text(&one.own, &["kind"]) == text(reference, &["kind"])
            && text(&one.own, &["metadata", "name"]) == text(reference, &["name"])
            && group(text(&one.own, &["apiVersion"])) == api_group
    };
    alone(observed.controller_objects.iter().filter(is_it))
}

/// Reports whether two objects have the same kind and version: only those can be compared.
fn is_same_kind(object: &Value, model: &Value) -> bool {
    ["apiVersion", "kind"].iter().all(|field| text(object, &[field]) == text(model, &[field]))
}

/// The running object of the model's kind, if there is exactly one.
fn only<'a>(model: &Value, observed: &'a Observed) -> Option<&'a ControllerObject> {
    alone(observed.controller_objects.iter().filter(|one| is_same_kind(&one.own, model)))
}

/// Finds an object made by the topology controller by its name.
pub(super) fn named<'a>(model: &Value, name: &str, observed: &'a Observed) -> Option<&'a ControllerObject> {
    let is_it = |one: &&ControllerObject| {
        is_same_kind(&one.own, model) && text(&one.own, &["metadata", "name"]) == name
    };
    alone(observed.controller_objects.iter().filter(is_it))
}

fn alone<'a>(mut found: impl Iterator<Item = &'a ControllerObject>) -> Option<&'a ControllerObject> {
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// The complete live object to which an applied one belongs.
fn live<'a>(own: &Value, observed: &'a Observed) -> Option<&'a Value> {
    let is_it = |one: &&Value| {
        text(one, &["kind"]) == text(own, &["kind"])
            && text(one, &["metadata", "name"]) == text(own, &["metadata", "name"])
    };
    observed.objects.iter().find(is_it)
}

/// The computed object, with the name, labels, annotations and spec of the written one.
pub(super) fn as_written(model: &Value, own: &Value) -> Value {
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

/// Sets the name in a reference of the Cluster, because a Cluster from a file does not name its objects yet.
fn refer(cluster: &mut Value, reference: &str, own: &Value) {
    set(cluster, &["spec", reference, "name"], own["metadata"]["name"].clone());
}
