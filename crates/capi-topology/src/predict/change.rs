//! A change of classes, of the Cluster, or of both: is it accepted, and how do the running objects change?

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

use super::Settings;
use super::admit::admit;
use super::before_after::{After, Before};
use super::create::{Written, blueprint, write_classes};
use super::list_change;
pub use super::list_change::ListChange;
use super::reconcile::{created, reconcile};
use super::rules::held_pools::{BlockingParts, held, waits};
use super::rules::machine_rollouts::{Basis, Instants, MachineRollout, rollouts};
use super::running::with_defaults;
use super::settled::Settled;
use super::steps::{UpgradeStep, step};
pub use super::writing::Writing;
use crate::admission;
use crate::class::{Blueprint, Catalog};
use crate::contract::Contract;
use crate::convert::is_own;
use crate::desired::{Generated, Input, generate};
use crate::names::Draw;
use crate::refusal::{By, FieldError, Opaque, Refusal, Stage};
use crate::role::{PoolObject, Role, TopologyPart};
use crate::state::Desired;
use crate::upgrade::plan::UpgradePath;
use k8s_schema::value::{get, list, merge_patch, remove, set, text};

/// Maximum passes for a Cluster without workers; upstream has no limit.
const MAX_PASSES: usize = 200;
/// Maximum passes for any number of workers, because each pass takes time for every worker.
const MOST_PASSES: usize = 2000;

/// The effect of a change on an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing changes.
    Same,
    /// Only labels and annotations change.
    Metadata,
    /// The object changes in place.
    Spec,
    /// A template is replaced by one with a new name.
    Rotated,
    /// The object is created.
    Created,
    /// The object is deleted.
    Deleted,
}

impl Effect {
    /// The word used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Metadata => "metadata",
            Self::Spec => "spec",
            Self::Rotated => "rotated",
            Self::Created => "created",
            Self::Deleted => "deleted",
        }
    }
}

/// The change of one object.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ObjectChange {
    /// What the object is for.
    pub role: Role,
    /// The kind of the object, without version.
    pub kind: String,
    /// Whether it is created, changed or deleted.
    pub effect: Effect,
    /// The merge patch from before to after.
    pub patch: Option<Value>,
    /// The entries that differ in each list that the patch replaces, if they have names.
    pub entries: Vec<ListChange>,
    /// How this is known.
    pub basis: Basis,
}

/// The outcome of a change.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Change {
    /// Whether it is accepted; a rejected change has no effect.
    pub accepted: bool,
    /// What was refused.
    pub faults: Vec<Refusal>,
    /// The running objects at the end, or as far as the controller gets.
    pub running: Option<Desired>,
    /// The desired state at the end.
    pub desired: Option<Desired>,
    /// The change of each object.
    pub objects: Vec<ObjectChange>,
    /// The parts whose machines are replaced.
    pub rollouts: Vec<MachineRollout>,
    /// The version plan of an upgrade.
    pub plan: Option<UpgradePath>,
    /// The steps of an upgrade.
    pub steps: Vec<UpgradeStep>,
    /// The parts that keep an upgrade from finishing.
    pub waits: BlockingParts,
    /// The parts whose machines stay on an older version than the control plane gets, with that version.
    pub behind: BTreeMap<TopologyPart, String>,
    /// The Cluster as stored after admission, before the controller acts on it; none if it was not written.
    pub admitted: Option<Arc<Value>>,
    /// The reason of the condition `TopologyReconciled`, if it is not True at the end.
    pub held: Option<&'static str>,
    /// What cannot be known.
    pub opaque: Vec<Opaque>,
    /// The number of replicas of each part before the change.
    pub replicas_before: BTreeMap<TopologyPart, i64>,
}

/// The running objects once a desired state has been created and all its machines exist.
pub fn run(desired: &Desired) -> Desired {
    let mut running = desired.clone();
    running.control_plane = Arc::new(with_defaults(&desired.control_plane, None));
    finish_rollouts(&mut running);
    for worker in running.deployments.iter_mut().chain(&mut running.pools) {
        *worker = Arc::new(created(worker));
    }
    running
}

/// Lets the control plane report its desired version.
fn finish_rollouts(running: &mut Desired) {
    let version = text(&running.control_plane, Contract::VERSION).to_owned();
    set(Arc::make_mut(&mut running.control_plane), &["status"], json!({ "version": version }));
}

/// Predicts a change.
pub fn change(before: &Before, after: After<'_>, settings: &Settings, instants: Instants<'_>) -> Change {
    let written = write_classes(after.classes, &before.catalog, after.writing, before.clusters());
    of_written(before, after, &written, settings, instants)
}

/// Predicts a change whose classes have already been written.
pub(super) fn of_written(
    before: &Before,
    after: After<'_>,
    written: &Written,
    settings: &Settings,
    instants: Instants<'_>,
) -> Change {
    let rejected = |faults| Change { faults, ..Change::default() };
    if !written.faults.is_empty() {
        return rejected(written.faults.clone());
    }
    let catalog = &written.catalog;
    let mut running = before.running.clone();
    let mut opaque = Vec::new();
    if let Some(cluster) = after.cluster {
        match admit(before, &before.running.cluster, cluster, after.writing, catalog) {
            Ok((admitted, unknown)) => {
                running.cluster = Arc::new(admitted);
                opaque.extend(unknown);
            }
            Err(faults) => return rejected(faults),
        }
    }
    if before.settles {
        finish_rollouts(&mut running);
    }
    let admitted = after.cluster.map(|_| running.cluster.clone());
    let mut result = converge(running, before.set_by_others.clone(), catalog, settings);
    result.admitted = admitted;
    opaque.retain(|one| !result.opaque.contains(one));
    result.opaque.extend(opaque);
    let end = result.running.clone().unwrap_or_default();
    result.objects = objects(&before.running, &end, &result.all_rotated());
    let parts = before.running.all_workers().map(|(pool, _)| TopologyPart::Pool(pool));
    for part in parts.chain([TopologyPart::ControlPlane, TopologyPart::Infrastructure]) {
        let own = before.running.own(&part).and_then(|own| get(own, &["spec", "replicas"]));
        if let Some(count) = own.and_then(Value::as_i64) {
            result.replicas_before.insert(part, count);
        }
    }
    result.rollouts = rollouts(&before.running, &end, instants);
    result
}

impl Change {
    pub(super) fn all_rotated(&self) -> BTreeSet<Role> {
        self.steps.iter().flat_map(|step| step.rotated.iter().cloned()).collect()
    }
}

/// Reconciles until nothing changes any more; every rollout finishes immediately.
pub(super) fn converge(
    mut running: Desired,
    mut others: BTreeMap<Role, Value>,
    catalog: &Catalog,
    settings: &Settings,
) -> Change {
    let mut result = Change { accepted: true, ..Change::default() };
    let blueprint = match blueprint(&running.cluster, catalog) {
        Ok(blueprint) => blueprint,
        Err(fault) => {
            result.faults.push(Refusal { stage: Stage::Apply, ..fault });
            result.running = Some(running);
            return result;
        }
    };
    let (mut rests, mut emptied) = (false, Vec::new());
    let most = passes(&running, &blueprint.class);
    let (mut earlier, mut settled) = (None, Settled::default());
    for _ in 0..most {
        let generated = match compute(&running, &blueprint, settings, earlier.as_ref()) {
            Ok(generated) => earlier.insert(generated),
            Err(faults) => {
                result.faults.extend(faults);
                break;
            }
        };
        if result.plan.is_none() && generated.tracker.is_upgrading() {
            result.plan = Some(generated.tracker.plan.clone());
        }
        let start = running.clone();
        let pass = reconcile(&mut running, generated, &mut settled, &mut others, Draw(2), settings.gates);
        let versions = |state: &Desired| step(state, &BTreeSet::new());
        if versions(&start) != versions(&running) || !pass.rotated.is_empty() {
            result.steps.push(step(&running, &pass.rotated));
        }
        if versions_moved(&start, &running) {
            finish_rollouts(&mut running);
        }
        result.faults.extend(pass.faults);
        if !result.faults.is_empty() {
            break;
        }
        result.opaque.clone_from(&generated.opaque);
        emptied.extend(pass.opaque);
        if start == running {
            result.waits = waits(&running, &generated.tracker);
            result.held = held(&generated.tracker);
            rests = true;
            break;
        }
    }
    result.desired = earlier.map(|last| last.desired);
    emptied.retain(|one| !result.opaque.contains(one));
    result.opaque.append(&mut emptied);
    if !rests && result.faults.is_empty() {
        let reason = format!("after {most} passes the controller still changes something");
        result.opaque.push(Opaque::of_all(reason));
    }
    if !result.faults.is_empty() {
        result.desired = None;
        result.plan = None;
    }
    result.running = Some(running);
    result
}

/// Computes the maximum number of passes. It allows an upgrade in which each worker takes every version of the class in
/// turn.
fn passes(running: &Desired, class: &Value) -> usize {
    let lists = ["machineDeployments", "machinePools"];
    let topology = lists.map(|name| list(&running.cluster, &["spec", "topology", "workers", name]).len());
    let versions = list(class, &["spec", "kubernetesVersions"]).len().max(1);
    let workers = topology.iter().sum::<usize>() + running.deployments.len() + running.pools.len();
    workers.saturating_mul(versions).saturating_add(MAX_PASSES).min(MOST_PASSES)
}

fn versions_moved(start: &Desired, end: &Desired) -> bool {
    text(&start.control_plane, Contract::VERSION) != text(&end.control_plane, Contract::VERSION)
}

/// Computes the desired state like the controller, which first defaults and validates variables against the current class.
fn compute(
    running: &Desired,
    blueprint: &Blueprint,
    settings: &Settings,
    earlier: Option<&Generated>,
) -> Result<Generated, Vec<Refusal>> {
    let mut cluster = Value::clone(&running.cluster);
    let definitions = blueprint.definitions();
    let open = admission::cluster::discovers(Some(&blueprint.class), settings.gates);
    let judged = admission::cluster::variables(&mut cluster, None, definitions, open);
    if !judged.errors.is_empty() {
        let with_field = |mut error: FieldError| {
            error.detail = format!("{}: {}", error.field, error.detail);
            error
        };
        let errors = judged.errors.into_iter().map(with_field).collect();
        return Err(Refusal::of(Stage::Apply, By::Topology, "", errors));
    }
    let mut generated = generate(Input {
        blueprint,
        cluster,
        current: Some(running),
        draw: Draw(2),
        version: settings.patches(),
        earlier,
    })
    .map_err(|fault| vec![Refusal { stage: Stage::Apply, ..fault }])?;
    generated.opaque.extend(admission::cluster::unknown(judged.opaque, open));
    Ok(generated)
}

/// Describes the change of every object that existed before or exists afterwards.
pub(super) fn objects(before: &Desired, after: &Desired, rotated: &BTreeSet<Role>) -> Vec<ObjectChange> {
    let (old, new) = (before.objects(), after.objects());
    let roles: BTreeSet<&Role> = old.keys().chain(new.keys()).collect();
    let mut changes = Vec::new();
    for role in roles {
        let change = match (old.get(role), new.get(role)) {
            (Some(old), Some(new)) => compare(role, old, new, rotated.contains(role)),
            (Some(old), None) => {
                let goes_along =
                    matches!(role, Role::Pool(_, PoolObject::Bootstrap | PoolObject::Infrastructure));
                let basis = if goes_along { Basis::Derived } else { Basis::Upstream };
                ObjectChange { basis, ..described(role, old, Effect::Deleted, None) }
            }
            (None, Some(new)) => described(role, new, Effect::Created, None),
            (None, None) => continue,
        };
        changes.push(change);
    }
    changes
}

fn described(role: &Role, object: &Value, effect: Effect, patch: Option<Value>) -> ObjectChange {
    ObjectChange {
        role: role.clone(),
        kind: text(object, &["kind"]).to_owned(),
        effect,
        patch,
        entries: Vec::new(),
        basis: Basis::Upstream,
    }
}

fn compare(role: &Role, old: &Value, new: &Value, rotated: bool) -> ObjectChange {
    if old == new && !rotated {
        return described(role, new, Effect::Same, None);
    }
    let shown = |object: &Value| {
        let mut object = object.clone();
        for path in [&["status"][..], &["apiVersion"], &["metadata", "ownerReferences"]] {
            remove(&mut object, path);
        }
        // `v1beta1` writes an empty struct like this.
        if is_own(&object) && get(&object, &["spec", "template", "metadata"]) == Some(&json!({})) {
            remove(&mut object, &["spec", "template", "metadata"]);
        }
        object
    };
    let patch = merge_patch(&shown(old), &shown(new));
    let effect = if rotated {
        Effect::Rotated
    } else if patch.get("spec").is_some() {
        Effect::Spec
    } else if patch.as_object().is_some_and(serde_json::Map::is_empty) {
        Effect::Same
    } else {
        Effect::Metadata
    };
    let entries = list_change::of(&patch, old, new);
    ObjectChange { entries, ..described(role, new, effect, (effect != Effect::Same).then_some(patch)) }
}
