//! A change of classes, of the Cluster, or of both: is it accepted, and what becomes of what
//! runs?

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

use super::Settings;
use super::apply::{read_metadata, server_side_apply};
use super::client_side::client_side_apply;
use super::create::{Written, blueprint, write_classes};
use super::reconcile::{Settled, created, reconcile};
use super::rollout::{Basis, Instants, Rollout, rollouts};
use super::running::with_defaults;
use super::steps::{UpgradeStep, step};
use super::waits::{Waits, held, waits};
pub use super::writing::Writing;
use crate::admission;
use crate::class::{Blueprint, Catalog};
use crate::convert::is_own;
use crate::desired::contract::{CLUSTER_NAME, Contract, OWNED};
use crate::desired::state::Desired;
use crate::desired::{Generated, Input, generate};
use crate::names::Draw;
use crate::refusal::{By, FieldError, Opaque, Refusal, Stage};
use crate::role::{Part, PoolObject, Role};
use crate::schemas::{apply_faults, drop_nulls, schema_faults};
use crate::upgrade::plan::Plan;
use k8s_schema::value::{get, list, merge_patch, remove, set, text};

/// Passes for a Cluster without workers; upstream would go on for ever.
const MAX_PASSES: usize = 200;
/// Passes however many workers there are: each costs time for every worker.
const MOST_PASSES: usize = 2000;

/// What there is before a change.
#[derive(Debug, Clone)]
pub struct Before {
    /// Classes and templates.
    pub catalog: Catalog,
    /// The Cluster as it was written.
    pub written: Value,
    /// What others set of the Cluster: an apply does not take it away.
    pub others: Value,
    /// All Clusters that run, this one among them; none where only this one is known.
    pub all: Arc<[Value]>,
    /// What runs; `status` of the control plane counts.
    pub running: Desired,
    /// What others set of objects that run: the controller does not take it away.
    pub set_by_others: BTreeMap<Role, Value>,
    /// Parts whose machines are known to be at another version than they are to have.
    pub upgrading: BTreeSet<Part>,
    /// Whether a control plane that is at work when the change is written is looked at when it is done.
    pub settles: bool,
}

/// What is written.
#[derive(Debug, Clone, Copy)]
pub struct After<'a> {
    /// Classes and templates.
    pub classes: &'a [Value],
    /// The Cluster; none when only classes change.
    pub cluster: Option<&'a Value>,
    /// How.
    pub writing: Writing,
}

/// What happens to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    Same,
    /// Labels and annotations change.
    Metadata,
    /// It changes in place.
    Spec,
    /// A template is replaced by one of a new name.
    Rotated,
    /// It is new.
    Created,
    /// It goes.
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
    /// Its kind.
    pub kind: String,
    /// What happens to it.
    pub effect: Effect,
    /// The merge patch from before to after.
    pub patch: Option<Value>,
    /// Where this is known from.
    pub basis: Basis,
}

/// What becomes of a change.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Change {
    /// Whether it is accepted; what is rejected does nothing.
    pub accepted: bool,
    /// What was refused.
    pub faults: Vec<Refusal>,
    /// What runs in the end; as far as the controller comes.
    pub running: Option<Desired>,
    /// The desired state in the end.
    pub desired: Option<Desired>,
    /// The change of each object.
    pub objects: Vec<ObjectChange>,
    /// Whose machines are replaced.
    pub rollouts: Vec<Rollout>,
    /// The versions of an upgrade.
    pub plan: Option<Plan>,
    /// The steps of an upgrade.
    pub steps: Vec<UpgradeStep>,
    /// What an upgrade does not get through.
    pub waits: Waits,
    /// The Cluster as it is stored when it is admitted, before the controller acts on it; none where it was not written.
    pub admitted: Option<Value>,
    /// The reason of the condition `TopologyReconciled`, where it is not True in the end.
    pub held: Option<&'static str>,
    /// What cannot be known.
    pub opaque: Vec<Opaque>,
    /// Replicas before.
    pub replicas_before: BTreeMap<Part, i64>,
}

/// What runs once a desired state is created and all machines are there.
pub fn run(desired: &Desired) -> Desired {
    let mut running = desired.clone();
    running.control_plane = with_defaults(&desired.control_plane, None);
    finish_rollouts(&mut running);
    for worker in running.deployments.iter_mut().chain(&mut running.pools) {
        *worker = Arc::new(created(worker));
    }
    running
}

/// The control plane reports the version that it was given.
fn finish_rollouts(running: &mut Desired) {
    let version = text(&running.control_plane, Contract::VERSION).to_owned();
    set(&mut running.control_plane, &["status"], json!({ "version": version }));
}

impl Before {
    /// All Clusters that are known to run.
    pub fn clusters(&self) -> &[Value] {
        if self.all.is_empty() { std::slice::from_ref(&self.running.cluster) } else { &self.all }
    }
}

/// Predicts a change.
pub fn change(before: &Before, after: After<'_>, settings: &Settings, instants: Instants<'_>) -> Change {
    let written = write_classes(after.classes, &before.catalog, after.writing, before.clusters());
    of_written(before, after, &written, settings, instants)
}

/// Predicts a change whose classes are written already.
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
        match admit(before, cluster, after.writing, catalog) {
            Ok((admitted, unknown)) => {
                running.cluster = admitted;
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
    let parts = before.running.all_workers().map(|(pool, _)| Part::Pool(pool));
    for part in parts.chain([Part::ControlPlane, Part::Infrastructure]) {
        let own = before.running.own(&part).and_then(|own| get(own, &["spec", "replicas"]));
        if let Some(count) = own.and_then(Value::as_i64) {
            result.replicas_before.insert(part, count);
        }
    }
    result.rollouts = rollouts(&before.running, &end, instants);
    result
}

impl Change {
    fn all_rotated(&self) -> BTreeSet<Role> {
        self.steps.iter().flat_map(|step| step.rotated.iter().cloned()).collect()
    }
}

/// Admission of a changed Cluster.
fn admit(
    before: &Before,
    cluster: &Value,
    writing: Writing,
    catalog: &Catalog,
) -> Result<(Value, Vec<Opaque>), Vec<Refusal>> {
    let live = &before.running.cluster;
    let faults = apply_faults(cluster, Stage::Cluster);
    if !faults.is_empty() {
        return Err(faults);
    }
    let mut new = stored(live, (&before.written, &before.others), cluster, writing);
    let object = format!("Cluster/{}", text(&new, &["metadata", "name"]));
    let class = catalog.class_of(&new);
    let known = class.map(|class| catalog.definitions(class));
    let known = known.as_deref().map(Vec::as_slice);
    let open = admission::cluster::discovers(class, catalog.gates);
    let judged = admission::cluster::default(&mut new, Some(live), known, open);
    if !judged.errors.is_empty() {
        return Err(Refusal::of(Stage::Cluster, By::WebhookDefault, &object, judged.errors));
    }
    let faults = schema_faults(&with_real_references(&new), Stage::Cluster);
    if !faults.is_empty() {
        return Err(faults);
    }
    let mut errors = admission::cluster::validate(&new, None, class, catalog.gates);
    errors.extend(admission::cluster_update::validate(
        &new,
        live,
        (&before.running, &before.upgrading),
        catalog,
    ));
    if !errors.is_empty() {
        return Err(Refusal::of(Stage::Cluster, By::WebhookValidate, &object, errors));
    }
    Ok((new, judged.opaque.into_iter().map(Opaque::of_all).collect()))
}

/// What is stored of a Cluster that is written over a live one; `parts` are what was applied before and what others set.
pub(super) fn stored(live: &Value, parts: (&Value, &Value), cluster: &Value, writing: Writing) -> Value {
    let mut stored = match writing {
        Writing::Apply => server_side_apply(live, parts.0, parts.1, cluster),
        Writing::Merge => client_side_apply(live, parts.0, cluster),
        Writing::Replace => replaced(live, cluster),
    };
    read_metadata(&mut stored);
    stored
}

/// References carry symbolic names, which no schema takes.
fn with_real_references(cluster: &Value) -> Value {
    let mut copy = cluster.clone();
    for reference in ["infrastructureRef", "controlPlaneRef"] {
        if get(&copy, &["spec", reference, "name"]).is_some() {
            set(&mut copy, &["spec", reference, "name"], json!("name"));
        }
    }
    copy
}

/// A Cluster that is written as a whole keeps what the controller needs in it.
fn replaced(live: &Value, cluster: &Value) -> Value {
    let mut new = cluster.clone();
    drop_nulls(&mut new);
    for path in [&["metadata", "namespace"][..], &["spec", "infrastructureRef"], &["spec", "controlPlaneRef"]]
    {
        if let Some(value) = get(live, path) {
            set(&mut new, path, value.clone());
        }
    }
    for label in [CLUSTER_NAME, OWNED] {
        if let Some(value) = get(live, &["metadata", "labels", label]) {
            set(&mut new, &["metadata", "labels", label], value.clone());
        }
    }
    new
}

/// Reconciles until nothing changes any more, every rollout being finished at once.
fn converge(
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

/// More passes than an upgrade needs in which each worker gets each version that the class lists, one after another.
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

/// The desired state as the controller computes it: with variables defaulted and validated
/// against the class as it is now.
fn compute(
    running: &Desired,
    blueprint: &Blueprint,
    settings: &Settings,
    earlier: Option<&Generated>,
) -> Result<Generated, Vec<Refusal>> {
    let mut cluster = running.cluster.clone();
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
    generated.opaque.extend(judged.opaque.into_iter().map(Opaque::of_all));
    Ok(generated)
}

/// The change of every object that was there or is there.
fn objects(before: &Desired, after: &Desired, rotated: &BTreeSet<Role>) -> Vec<ObjectChange> {
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
        basis: Basis::Upstream,
    }
}

fn compare(role: &Role, old: &Value, new: &Value, rotated: bool) -> ObjectChange {
    let shown = |object: &Value| {
        let mut object = object.clone();
        for path in [&["status"][..], &["apiVersion"], &["metadata", "ownerReferences"]] {
            remove(&mut object, path);
        }
        // As `v1beta1` prints a struct that is empty.
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
    described(role, new, effect, (effect != Effect::Same).then_some(patch))
}
