//! One pass of the topology controller over the running objects: it rotates changed templates, updates objects in place,
//! and deletes what the topology no longer has.
//!
//! Source: `core/reconcilers/topology/cluster/reconcile_state.go`, and `structuredmerge` there: objects are written with
//! server-side apply, and a template is rotated if such an apply would change its spec.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::mem::take;
use std::sync::Arc;

use serde_json::{Value, json};

use super::apply::{has_empty, server_side_apply};
use super::emptied::emptied_in_old;
use super::objects;
use super::rules::kubeadm_config;
use super::running::{with_defaults, with_filled};
use super::settled::Settled;
use crate::contract::Contract;
use crate::desired::Generated;
use crate::gates::Gates;
use crate::names::{Draw, simple};
use crate::refusal::{Opaque, Refusal, Stage};
use crate::role::{Pool, PoolKind, PoolObject, Role, TopologyPart};
use crate::schemas::is_known;
use crate::state::{Desired, Worker, positions};
use crate::upgrade::tracker::Workers;
use k8s_schema::value::{get, group, same, set, text};

/// The Cluster API file that brings the running objects to the desired state.
pub(super) const RECONCILE: &str = "core/reconcilers/topology/cluster/reconcile_state.go";

/// The outcome of a pass.
#[derive(Debug, Default)]
pub(super) struct Pass {
    /// Templates that were replaced by one with a new name.
    pub rotated: BTreeSet<Role>,
    /// Why the pass stopped early.
    pub faults: Vec<Refusal>,
    /// What cannot be known.
    pub opaque: Vec<Opaque>,
    /// Feature gates of the management cluster.
    gates: Gates,
    /// Fields of running objects that others set.
    others: BTreeMap<Role, Value>,
}

/// Brings the running objects to the desired state, in the controller's order; stops at a refusal. Fields that others set
/// stay.
pub(super) fn reconcile(
    running: &mut Desired,
    generated: &Generated,
    settled: &mut Settled,
    others: &mut BTreeMap<Role, Value>,
    draw: Draw,
    gates: Gates,
) -> Pass {
    let mut pass = Pass { gates, others: take(others), ..Pass::default() };
    let done = infrastructure(running, &generated.desired, settled, &mut pass)
        && control_plane(running, generated, settled, draw, &mut pass)
        && cluster(running, &generated.desired)
        && workers(running, generated, settled, draw, &mut pass);
    debug_assert!(done || !pass.faults.is_empty(), "a pass stops only at a fault");
    *others = take(&mut pass.others);
    pass
}

fn infrastructure(running: &mut Desired, desired: &Desired, settled: &mut Settled, pass: &mut Pass) -> bool {
    let (current, next) = (&mut running.infrastructure, &desired.infrastructure);
    if settled.rests(&TopologyPart::Infrastructure, (current, &None), (next, &None)) {
        return true;
    }
    let start = current.clone();
    let done = write(&Role::Infrastructure, current, next, pass);
    if done && start == *current {
        settled.parts.insert(TopologyPart::Infrastructure, [(start, None), (next.clone(), None)]);
    }
    done
}

/// The result of a controller applying `desired` to an object; `previous` is what it applied before. If it set all existing
/// fields, only empty values need merging.
pub(super) fn applied<'d>(
    running: &Value,
    previous: &Value,
    desired: &'d Value,
    others: Option<&Value>,
) -> Cow<'d, Value> {
    applied_over(running, || Cow::Borrowed(previous), desired, others)
}

fn applied_over<'a, 'd>(
    running: &Value,
    previous: impl FnOnce() -> Cow<'a, Value>,
    desired: &'d Value,
    others: Option<&Value>,
) -> Cow<'d, Value> {
    let is_same_version = text(running, &["apiVersion"]) == text(desired, &["apiVersion"]);
    match others.filter(|others| others.is_object()) {
        None if !is_same_version || !has_empty(desired) => Cow::Borrowed(desired),
        others => {
            Cow::Owned(server_side_apply(running, &previous(), others.unwrap_or(&Value::Null), desired))
        }
    }
}

/// The fields of a live object that the controller set, without those that webhooks filled in.
fn set_before(running: &Value, desired: &Value) -> Value {
    let mut previous = running.clone();
    take_filled(&mut previous, &with_defaults(desired, Some(running)), desired);
    previous
}

fn take_filled(previous: &mut Value, filled: &Value, desired: &Value) {
    let (Some(previous), Some(filled)) = (previous.as_object_mut(), filled.as_object()) else { return };
    previous.retain(|name, value| {
        let Some(filled) = filled.get(name) else { return true };
        match desired.get(name) {
            None if same(value, filled) => false,
            None => {
                take_filled(value, filled, &Value::Null);
                !value.as_object().is_some_and(serde_json::Map::is_empty)
            }
            Some(desired) => {
                take_filled(value, filled, desired);
                true
            }
        }
    });
}

/// Updates one object in place.
fn write(role: &Role, running: &mut Arc<Value>, desired: &Value, pass: &mut Pass) -> bool {
    pass.opaque.extend(emptied_in_old(role, running, desired));
    let others = pass.others.get(role);
    let written = applied_over(running, || Cow::Owned(set_before(running, desired)), desired, others);
    let mut next = with_defaults(&written, Some(running));
    for path in [&["status"][..], &["metadata", "ownerReferences"]] {
        if let (Some(kept), None) = (get(running, path).cloned(), get(&next, path)) {
            set(&mut next, path, kept);
        }
    }
    let faults = objects::refused_update(&written, &next, running, pass.gates);
    if faults.is_empty() {
        *running = Arc::new(next);
        return true;
    }
    pass.faults.extend(faults);
    false
}

fn control_plane(
    running: &mut Desired,
    generated: &Generated,
    settled: &mut Settled,
    draw: Draw,
    pass: &mut Pass,
) -> bool {
    let Generated { desired, tracker, .. } = generated;
    running.health_check.clone_from(&desired.health_check);
    // While the control plane waits for its next version, its other changes wait, too.
    if tracker.control_plane.pending {
        return true;
    }
    let next = (&desired.control_plane, &desired.machine_template);
    if settled.rests(&TopologyPart::ControlPlane, (&running.control_plane, &running.machine_template), next) {
        return true;
    }
    let start = (running.control_plane.clone(), running.machine_template.clone());
    let done = control_plane_objects(running, desired, settled, draw, pass);
    if done && (&start.0, &start.1) == (&running.control_plane, &running.machine_template) {
        settled.parts.insert(TopologyPart::ControlPlane, [start, (next.0.clone(), next.1.clone())]);
    }
    done
}

fn control_plane_objects(
    running: &mut Desired,
    desired: &Desired,
    settled: &mut Settled,
    draw: Draw,
    pass: &mut Pass,
) -> bool {
    let cluster = text(&running.cluster, &["metadata", "name"]).to_owned();
    let mut control_plane = Arc::clone(&desired.control_plane);
    let mut next = desired.machine_template.clone();
    let before = running.machine_template.clone();
    if let (Some(current), Some(next)) = (&mut running.machine_template, &mut next) {
        let name = simple(&format!("{cluster}-"), draw);
        let role = Role::ControlPlaneMachines;
        let Some(rotated) = template(&role, current, next, &name, settled, pass) else { return false };
        if rotated {
            let contract = Contract::in_use(&control_plane);
            let mut path = contract.infrastructure_ref().to_vec();
            path.push("name");
            set(Arc::make_mut(&mut control_plane), &path, json!(name));
        }
    }
    let done = write(&Role::ControlPlane, &mut running.control_plane, &control_plane, pass);
    if !done && pass.rotated.remove(&Role::ControlPlaneMachines) {
        running.machine_template = before;
    }
    done
}

/// Updates labels, annotations and references of the Cluster. Its topology stays as written, without the defaults that the
/// controller fills in for itself.
fn cluster(running: &mut Desired, desired: &Desired) -> bool {
    let topology = get(&running.cluster, &["spec", "topology"]).cloned();
    running.cluster.clone_from(&desired.cluster);
    if let Some(topology) = topology {
        set(Arc::make_mut(&mut running.cluster), &["spec", "topology"], topology);
    }
    true
}

/// Brings a template to the desired state. Returns whether it was rotated; none if it is refused, because a dry run
/// precedes the comparison. A metadata change is made in place, along with a spec that differs only in webhook defaults.
///
/// Source: `reconcileReferencedTemplate`, and `dryRunSSAPatch` of `structuredmerge/dryrun.go`.
fn template(
    role: &Role,
    current: &mut Arc<Value>,
    desired: &mut Arc<Value>,
    name: &str,
    settled: &mut Settled,
    pass: &mut Pass,
) -> Option<bool> {
    let next = applied(current, current, desired, pass.others.get(role));
    if is_known(desired) && !settled.is_taken(&next) {
        let defaulted = with_defaults(&next, Some(current));
        let faults = objects::refused_update(&next, &defaulted, current, pass.gates);
        if !faults.is_empty() {
            pass.faults.extend(faults);
            return None;
        }
        settled.taken.clone_from(&next);
    }
    let spec = |template: &Value| kubeadm_config::comparable_spec(template);
    if !same(&spec(current), &spec(&next)) {
        set(Arc::make_mut(desired), &["metadata", "name"], json!(name));
        *current = desired.clone();
        pass.rotated.insert(role.clone());
        // No one else has set fields of the new template.
        pass.others.remove(role);
        return Some(true);
    }
    let metadata = |template: &Value, field: &str| get(template, &["metadata", field]).cloned();
    let changed =
        ["labels", "annotations"].iter().any(|field| metadata(current, field) != metadata(&next, field));
    let version = text(current, &["apiVersion"]) != text(desired, &["apiVersion"]);
    if changed || version {
        *current = Arc::new(next.into_owned());
    }
    Some(false)
}

fn workers(
    running: &mut Desired,
    generated: &Generated,
    settled: &mut Settled,
    draw: Draw,
    pass: &mut Pass,
) -> bool {
    let cluster = text(&running.cluster, &["metadata", "name"]).to_owned();
    let Generated { desired, tracker, .. } = generated;
    PoolKind::ALL.into_iter().all(|kind| {
        let side = Side { kind, tracker: tracker.workers(kind) };
        side.reconcile(running.workers_mut(kind), desired.workers(kind), settled, &cluster, draw, pass)
    })
}

/// Machine deployments or machine pools.
struct Side<'a> {
    kind: PoolKind,
    tracker: &'a Workers,
}

impl Side<'_> {
    /// Upstream stops at the first refused worker and retries in another order, because Go iterates over maps in random
    /// order. So every worker that is not refused is handled eventually, creations before updates. Nothing is deleted.
    ///
    /// Source: `reconcileMachineDeployments` and `calculateMachineDeploymentDiff`; the same of machine pools.
    fn reconcile(
        &self,
        running: &mut Vec<Arc<Worker>>,
        desired: &[Arc<Worker>],
        settled: &mut Settled,
        cluster: &str,
        draw: Draw,
        pass: &mut Pass,
    ) -> bool {
        let mut places: BTreeMap<String, usize> =
            positions(running).into_iter().map(|(name, at)| (name.to_owned(), at)).collect();
        let mut stopped = false;
        for next in desired {
            if !places.contains_key(&next.name) && !self.tracker.pending_create.contains(&next.name) {
                let parts = [&next.infrastructure, &next.bootstrap, &next.object];
                let refused = |object: &Arc<Value>| objects::refused_create(object, pass.gates);
                if let Some(faults) = parts.into_iter().map(refused).find(|faults| !faults.is_empty()) {
                    pass.faults.extend(faults);
                    stopped = true;
                    continue;
                }
                places.insert(next.name.clone(), running.len());
                running.push(Arc::new(created(next)));
            }
        }
        if stopped {
            return false;
        }
        for next in desired {
            let place = places.get(&next.name).and_then(|at| running.get_mut(*at));
            let Some(current) = place else { continue };
            if current.health_check != next.health_check {
                Arc::make_mut(current).health_check.clone_from(&next.health_check);
            }
            let pool = Pool::new(self.kind, &next.name);
            if self.tracker.pending.contains(&next.name) || settled.is_so(&pool, current, next) {
                continue;
            }
            let mut updated = Worker::clone(current);
            let done = self.update(&mut updated, &mut Worker::clone(next), cluster, settled, draw, pass);
            if !done {
                clean_up(&mut updated, current, &pool, pass);
            }
            if updated != **current {
                *current = Arc::new(updated);
            } else if done {
                settled.workers.insert(pool, (Arc::clone(current), Arc::clone(next)));
            }
            stopped |= !done;
        }
        if stopped {
            return false;
        }
        let names = positions(desired);
        running.retain(|one| names.contains_key(one.name.as_str()));
        true
    }

    fn update(
        &self,
        current: &mut Worker,
        next: &mut Worker,
        cluster: &str,
        settled: &mut Settled,
        draw: Draw,
        pass: &mut Pass,
    ) -> bool {
        let role = |object| Pool::new(self.kind, &next.name).role(object);
        let [own, bootstrap, infrastructure] =
            [PoolObject::Own, PoolObject::Bootstrap, PoolObject::Infrastructure].map(role);
        // Objects that a machine pool references are updated in place.
        if self.kind == PoolKind::MachinePool {
            return reference(&infrastructure, &mut current.infrastructure, &next.infrastructure, pass)
                && reference(&bootstrap, &mut current.bootstrap, &next.bootstrap, pass)
                && write_worker(&own, current, next, pass);
        }
        let name = simple(&format!("{cluster}-{}-", next.name), draw);
        let templates: [(&Role, &[&str], Mismatch, _, _); 2] = [
            (
                &infrastructure,
                &["infrastructureRef", "name"],
                |old, new| incompatible(PoolKind::MachineDeployment, old, new),
                &mut current.infrastructure,
                &mut next.infrastructure,
            ),
            (
                &bootstrap,
                &["bootstrap", "configRef", "name"],
                |old, _| uid_mismatch(old),
                &mut current.bootstrap,
                &mut next.bootstrap,
            ),
        ];
        for (role, reference, mismatch, old, new) in templates {
            if group_kind(old) != group_kind(new) {
                pass.faults.push(mismatch(old, new));
                return false;
            }
            let Some(rotated) = template(role, old, new, &name, settled, pass) else { return false };
            if rotated {
                let mut path = vec!["spec", "template", "spec"];
                path.extend(reference);
                set(Arc::make_mut(&mut next.object), &path, new["metadata"]["name"].clone());
            }
        }
        write_worker(&own, current, next, pass)
    }
}

/// Creates the refusal of a template of another kind.
type Mismatch = fn(&Value, &Value) -> Refusal;

/// Deletes the new templates of a worker whose update failed.
fn clean_up(updated: &mut Worker, before: &Worker, pool: &Pool, pass: &mut Pass) {
    let templates = [
        (PoolObject::Infrastructure, &mut updated.infrastructure, &before.infrastructure),
        (PoolObject::Bootstrap, &mut updated.bootstrap, &before.bootstrap),
    ];
    for (object, now, was) in templates {
        if pass.rotated.remove(&pool.clone().role(object)) {
            now.clone_from(was);
        }
    }
}

/// A worker right after its creation.
pub(super) fn created(worker: &Worker) -> Worker {
    let applied = Arc::clone(&worker.object);
    Worker { object: Arc::new(with_defaults(&applied, None)), applied, ..worker.clone() }
}

fn write_worker(role: &Role, current: &mut Worker, next: &Worker, pass: &mut Pass) -> bool {
    let merged = with_filled(&next.object, &current.object, &current.applied);
    if !write(role, &mut current.object, &merged, pass) {
        return false;
    }
    current.applied.clone_from(&next.object);
    true
}

/// Updates an object that a machine pool references. An object of another kind cannot replace it.
///
/// Source: `core/reconcilers/topology/cluster/reconcile_state.go`, `updateMachinePool` and `reconcileReferencedObject`.
fn reference(role: &Role, running: &mut Arc<Value>, desired: &Value, pass: &mut Pass) -> bool {
    if group_kind(running) == group_kind(desired) {
        return write(role, running, desired, pass);
    }
    pass.faults.push(incompatible(PoolKind::MachinePool, running, desired));
    false
}

/// The group and kind of an object, without its version: the same kind in another API group is another kind.
fn group_kind(object: &Value) -> (&str, &str) {
    (group(text(object, &["apiVersion"])), text(object, &["kind"]))
}

/// Refuses to replace an infrastructure object, or an object of a machine pool, with one of another kind.
///
/// Source: `internal/topology/check/compatibility.go`, `ObjectsAreCompatible`.
fn incompatible(owner: PoolKind, running: &Value, desired: &Value) -> Refusal {
    let (old, new) = (group_kind(running), group_kind(desired));
    let (field, from, to) = if old.0 == new.0 { ("kind", old.1, new.1) } else { ("group", old.0, new.0) };
    let detail = format!(
        "error reconciling the Cluster topology: failed to reconcile a {}: apiVersion.{field} of {}.{}/{} cannot be \
         changed from {from:?} to {to:?} to prevent incompatible changes in the Cluster",
        owner.as_str(),
        old.1,
        old.0,
        text(running, &["metadata", "name"])
    );
    Refusal::controller(Stage::Apply, detail)
}

/// Refuses to replace a bootstrap template with one of another kind: the API server finds no object of that kind with this
/// uid.
///
/// Source: `core/reconcilers/topology/cluster/reconcile_state.go`, `updateMachineDeployment` (which checks only the
/// namespace of bootstrap templates), and `structuredmerge/serversidepatchhelper.go`, `NewServerSidePatchHelper`.
fn uid_mismatch(template: &Value) -> Refusal {
    let detail = format!(
        "error reconciling the Cluster topology: server side apply dry-run failed for {}: uid \
         mismatch, because the kind of the template, or its API group, changed",
        text(template, &["metadata", "name"])
    );
    Refusal::controller(Stage::Apply, detail)
}
