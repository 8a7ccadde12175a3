//! What runs as the topology controller wrote it: where running objects and their managed fields were given, the state
//! before is what they tell, and not what would be computed from the Cluster.
//!
//! Source: `core/reconcilers/topology/cluster/current_state.go` (what belongs to what), and `structuredmerge/dryrun.go` there: a
//! desired object is compared with what its server-side apply makes of what runs. So what the controller applied is kept, and what
//! others set; what nobody set is what webhooks fill in.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::observed::{self, Observed};
use super::running::{is_paused, with_defaults, with_filled};
use crate::desired::contract::{Contract, pool_label};
use crate::desired::state::{Desired, Worker};
use crate::import::Made;
use crate::role::{Part, Pool, PoolKind, PoolObject, Role};
use k8s_schema::value::{get, group, list, remove, set, text};

/// What was put in the place of what was computed.
#[derive(Debug, Default)]
pub(super) struct Adopted {
    /// Parts of which all is known.
    pub known: BTreeSet<Part>,
    /// What others set of objects: no apply of the controller takes it away.
    pub others: BTreeMap<Role, Value>,
}

impl Adopted {
    /// An object as it was written, and what others set of it.
    fn take(&mut self, role: Role, model: &Value, made: &Made) -> Value {
        if made.others.is_object() {
            self.others.insert(role, made.others.clone());
        }
        as_written(model, &made.whole)
    }
}

/// What runs of a Cluster whose topology cannot be computed; none where not all of it was given.
pub(super) fn given(cluster: &Value, observed: &Observed) -> Option<Desired> {
    let infrastructure = referred(get(cluster, &["spec", "infrastructureRef"])?, observed)?.own.clone();
    let control_plane = referred(get(cluster, &["spec", "controlPlaneRef"])?, observed)?.own.clone();
    let template = get(&control_plane, Contract::in_use(&control_plane).infrastructure_ref());
    let machine_template = match template {
        Some(reference) => Some(referred(reference, observed)?.own.clone()),
        None => None,
    };
    let mut running = Desired {
        cluster: cluster.clone(),
        infrastructure,
        control_plane,
        machine_template,
        ..Desired::default()
    };
    let adopted = adopt(&mut running, observed);
    let is_whole = PoolKind::ALL.into_iter().all(|kind| {
        let asked = list(cluster, &["spec", "topology", "workers", kind.list()]);
        asked.iter().all(|one| running.worker(&Pool::new(kind, text(one, &["name"]))).is_some())
    });
    let is_known =
        adopted.known.contains(&Part::Infrastructure) && observed::all_known(&running, &adopted.known);
    (is_whole && is_known).then_some(running)
}

/// Puts what is known of running objects in the place of what was computed, pools that the topology does not have among them.
pub(super) fn adopt(running: &mut Desired, observed: &Observed) -> Adopted {
    let mut adopted = Adopted::default();
    beside(running, observed);
    if let Some(made) = only(&running.infrastructure, observed) {
        running.infrastructure = adopted.take(Role::Infrastructure, &running.infrastructure, made);
        refer(&mut running.cluster, "infrastructureRef", &made.own);
        adopted.known.insert(Part::Infrastructure);
    }
    if control_plane(running, observed, &mut adopted).is_some() {
        adopted.known.insert(Part::ControlPlane);
    }
    let Desired { cluster, deployments, pools, .. } = running;
    for (kind, workers) in PoolKind::ALL.into_iter().zip([deployments, pools]) {
        for one in workers.iter_mut().map(Arc::make_mut) {
            if worker(one, kind, (cluster, observed), &mut adopted).is_some() {
                adopted.known.insert(Part::pool(kind, &one.name));
            }
        }
    }
    adopted
}

/// A control plane counts together with the template of its machines, and with its status.
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
    running.control_plane = object;
    if let (Some(model), Some(template)) = (&mut running.machine_template, template) {
        *model = adopted.take(Role::ControlPlaneMachines, model, template);
    }
    refer(&mut running.cluster, "controlPlaneRef", &made.own);
    Some(())
}

/// Where a control plane names the template of its machines.
fn machine_template(control_plane: &Value) -> Vec<&'static str> {
    [Contract::in_use(control_plane).infrastructure_ref(), &["name"]].concat()
}

/// A pool counts together with what it refers to. What webhooks filled in of it stays.
fn worker(
    worker: &mut Worker,
    kind: PoolKind,
    (cluster, observed): (&Value, &Observed),
    adopted: &mut Adopted,
) -> Option<()> {
    let label = ["metadata", "labels", pool_label(kind)];
    let is_own = |one: &&Made| text(&one.own, &label) == worker.name;

    let made =
        alone(observed.made.iter().filter(|one| is_same_kind(&one.own, &worker.object)).filter(is_own))?;
    let [bootstrap, infrastructure] = references(&made.own);
    let bootstrap = named(&worker.bootstrap, bootstrap, observed)?;
    let infrastructure = named(&worker.infrastructure, infrastructure, observed)?;
    let applied = as_written(&worker.applied, &made.own);
    let pool = Pool::new(kind, &worker.name);
    let whole = adopted.take(pool.clone().role(PoolObject::Own), &worker.applied, made);
    let filled = with_filled(&whole, live(&made.own, observed)?, &applied);
    worker.object = with_defaults(&filled, None);
    worker.applied = applied;
    worker.health_check = health_check(worker.health_check.take(), &made.own, cluster, observed);
    worker.bootstrap = adopted.take(pool.clone().role(PoolObject::Bootstrap), &worker.bootstrap, bootstrap);
    worker.infrastructure =
        adopted.take(pool.role(PoolObject::Infrastructure), &worker.infrastructure, infrastructure);
    Some(())
}

/// The names of what a pool refers to: its bootstrap and its infrastructure.
fn references(pool: &Value) -> [&str; 2] {
    [&["bootstrap", "configRef"][..], &["infrastructureRef"]]
        .map(|path| text(pool, &[&["spec", "template", "spec"], path, &["name"]].concat()))
}

/// Pools that run and that the topology does not have: the controller deletes them.
fn beside(running: &mut Desired, observed: &Observed) {
    for kind in PoolKind::ALL {
        let workers = running.workers_mut(kind);
        for made in observed.made.iter().filter(|one| text(&one.own, &["kind"]) == kind.as_str()) {
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
            let object = made.own.clone();
            let applied = object.clone();
            let name = name.to_owned();
            workers.push(Arc::new(Worker {
                name,
                object,
                applied,
                bootstrap,
                infrastructure,
                health_check: None,
            }));
        }
    }
}

/// The health check of a control plane or pool has its name. One that the class asks for and that was not given runs, too: not
/// where the controller has yet to look at the Cluster and all that runs was given, which Machines among it tell.
fn health_check(asked: Option<Value>, of: &Value, cluster: &Value, observed: &Observed) -> Option<Value> {
    let is_check = |one: &&Made| text(&one.own, &["kind"]) == "MachineHealthCheck";
    let name = text(of, &["metadata", "name"]);
    let mut checks = observed.made.iter().filter(is_check);
    if let Some(made) = checks.find(|one| text(&one.own, &["metadata", "name"]) == name) {
        return Some(made.own.clone());
    }
    let is_behind = observed::unsettled(observed).is_some() || is_paused(cluster);
    let is_missing = is_behind && !observed.machines.is_empty();
    let mut asked = asked.filter(|_| !is_missing)?;
    set(&mut asked, &["metadata", "name"], name.into());
    Some(asked)
}

/// What a reference names, in whatever version it runs.
fn referred<'a>(reference: &Value, observed: &'a Observed) -> Option<&'a Made> {
    let api_group = match text(reference, &["apiGroup"]) {
        "" => group(text(reference, &["apiVersion"])),
        api_group => api_group,
    };
    let is_it = |one: &&Made| {
        text(&one.own, &["kind"]) == text(reference, &["kind"])
            && text(&one.own, &["metadata", "name"]) == text(reference, &["name"])
            && group(text(&one.own, &["apiVersion"])) == api_group
    };
    alone(observed.made.iter().filter(is_it))
}

/// An object of the same kind and version: only those can be compared.
fn is_same_kind(object: &Value, model: &Value) -> bool {
    ["apiVersion", "kind"].iter().all(|field| text(object, &[field]) == text(model, &[field]))
}

/// The one object of its kind that a Cluster has.
fn only<'a>(model: &Value, observed: &'a Observed) -> Option<&'a Made> {
    alone(observed.made.iter().filter(|one| is_same_kind(&one.own, model)))
}

/// What the topology controller made, by its name.
pub(super) fn named<'a>(model: &Value, name: &str, observed: &'a Observed) -> Option<&'a Made> {
    let is_it = |one: &&Made| is_same_kind(&one.own, model) && text(&one.own, &["metadata", "name"]) == name;
    alone(observed.made.iter().filter(is_it))
}

fn alone<'a>(mut found: impl Iterator<Item = &'a Made>) -> Option<&'a Made> {
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

/// A Cluster from a file does not name its objects yet.
fn refer(cluster: &mut Value, reference: &str, own: &Value) {
    set(cluster, &["spec", reference, "name"], own["metadata"]["name"].clone());
}
