//! Runs the patches of a class on copies of its templates, and transfers the results to the desired objects.
//!
//! Source: `core/reconcilers/topology/cluster/patches/engine.go`.

use std::rc::Rc;
use std::sync::Arc;

use serde_json::Value;

use super::patch_item::{Item, Operation, Slot, WorkerTemplate};
use crate::builtins::{self, Variables};
use crate::class::Blueprint;
use crate::patches::selector::Holder;
use crate::patches::values::{Failure, enabled, value};
use crate::patches::{Patch, PatchBehavior};
use crate::refusal::Opaque;
use crate::role::PoolKind;
use crate::state::Desired;
use k8s_schema::value::{get, list, text};

/// Applies all patches to a desired state, and returns what they leave unknown. Workers reused from `known` are already
/// patched.
pub(crate) fn apply(
    (cluster, blueprint): (&Value, &Blueprint),
    version: PatchBehavior,
    known: Option<&Desired>,
    desired: &mut Desired,
) -> Result<Vec<Opaque>, String> {
    let mut items = items(cluster, blueprint, desired, known)?;
    for (at, patch) in blueprint.patches.iter().enumerate() {
        run(patch, at, &mut items, version)
            .map_err(|error| format!("failed to apply patches: patch {:?}: {error}", patch.name))?;
    }
    let mut unknown = Vec::new();
    for item in items {
        let (slot, role) = (item.slot, item.slot.role(desired));
        let Some(target) = slot.of(desired) else { continue };
        let found = item.finish(target, version);
        unknown.extend(found.into_iter().map(|one| Opaque { role: role.clone(), ..one }));
    }
    Ok(unknown)
}

/// `number` is the position of the patch in its class.
fn run(patch: &Patch, number: usize, items: &mut [Item<'_>], version: PatchBehavior) -> Result<(), String> {
    if patch.external {
        for item in items.iter_mut() {
            let reason = format!("patch {:?} is made by a runtime extension", patch.name);
            item.opaque.push(Opaque::of_all(reason).by_extension());
        }
        return Ok(());
    }
    let mut work = Vec::new();
    let mut errors = Vec::new();
    let mut conditions = Conditions::new();
    for (at, item) in items.iter_mut().enumerate() {
        let selected = item.selected.get(number).map_or(&[][..], Vec::as_slice);
        match documents(patch, selected, item, &mut conditions) {
            Ok(documents) => work.extend(documents.into_iter().map(|one| (at, one))),
            Err(Failure::Error(error)) => errors.push(error),
            Err(Failure::Unknown(reason)) => item.opaque.push(Opaque::of_all(reason)),
        }
    }
    if !errors.is_empty() {
        return Err(errors.join(", "));
    }
    for (at, document) in work {
        if let Some(item) = items.get_mut(at) {
            item.patch(document, version)?;
        }
    }
    Ok(())
}

/// Results of `enabledIf`, for variables that several templates share.
type Conditions<'a> = Vec<(Rc<Variables<'a>>, bool)>;

fn is_enabled<'v>(
    patch: &Patch,
    variables: &Rc<Variables<'v>>,
    conditions: &mut Conditions<'v>,
) -> Result<bool, Failure> {
    let known = conditions.iter().find(|(same, _)| Rc::ptr_eq(same, variables));
    if let Some((_, enabled)) = known {
        return Ok(*enabled);
    }
    let enabled = enabled(patch, variables)?;
    conditions.push((Rc::clone(variables), enabled));
    Ok(enabled)
}

/// Computes the JSON patches for one template, one for each definition of a patch.
fn documents<'a, 'v>(
    patch: &'a Patch,
    selected: &[usize],
    item: &Item<'v>,
    conditions: &mut Conditions<'v>,
) -> Result<Vec<Vec<Operation<'a>>>, Failure> {
    if selected.is_empty() || !is_enabled(patch, &item.variables, conditions)? {
        return Ok(Vec::new());
    }
    let document = |at: &usize| {
        let operations = patch.operations(*at).iter();
        operations
            .map(|operation| {
                let value = value(operation, &item.variables)?;
                Ok((operation.op.as_str(), &operation.path, value))
            })
            .collect()
    };
    selected.iter().map(document).collect()
}

/// The templates whose patched specs are not cached; cached specs are put in place right away.
fn items<'a>(
    cluster: &'a Value,
    blueprint: &'a Blueprint,
    desired: &mut Desired,
    known: Option<&Desired>,
) -> Result<Vec<Item<'a>>, String> {
    let topology = get(cluster, &["spec", "topology"]).unwrap_or(&Value::Null);
    let definitions = blueprint.definitions();
    let global = builtins::global(cluster, definitions);
    let own = get(topology, &["controlPlane"]).unwrap_or(&Value::Null);
    let control_plane = Rc::new(builtins::control_plane(&global, desired, own, definitions));
    let mut workers = Vec::new();
    let classes = [&blueprint.deployments, &blueprint.pools];
    for (kind, classes) in PoolKind::ALL.into_iter().zip(classes) {
        let entries = list(topology, &["workers", kind.list()]);
        for (at, (worker, entry)) in desired.workers(kind).iter().zip(entries).enumerate() {
            let known = known.and_then(|known| known.workers(kind).get(at));
            if known.is_some_and(|known| Arc::ptr_eq(known, worker)) {
                continue;
            }
            let builtin = match kind {
                PoolKind::MachineDeployment => "machineDeployment",
                PoolKind::MachinePool => "machinePool",
            };
            let variables = Rc::new(builtins::worker(&global, worker, builtin, entry, definitions));
            let name = text(entry, &["class"]);
            let class = classes.get(name).ok_or_else(|| format!("failed to lookup class {name:?}"))?;
            workers.push((kind, at, class, variables));
        }
    }
    let global = Rc::new(global);
    let mut items = Vec::new();
    let mut add = |slot, holder, template, variables| {
        items.extend(Item::new(slot, holder, template, variables, (&blueprint.patches, &mut *desired)));
    };
    let infrastructure = &blueprint.infrastructure;
    add(Slot::Infrastructure, Holder::InfrastructureCluster, infrastructure, &global);
    add(Slot::ControlPlane, Holder::ControlPlane, &blueprint.control_plane, &control_plane);
    if let Some(template) = &blueprint.machine {
        add(Slot::Machines, Holder::ControlPlane, template, &control_plane);
    }
    for (kind, at, class, variables) in &workers {
        let name = text(&class.class, &["class"]);
        let holder = match kind {
            PoolKind::MachineDeployment => Holder::MachineDeployment(name),
            PoolKind::MachinePool => Holder::MachinePool(name),
        };
        let slot = |template| Slot::Worker(*kind, *at, template);
        add(slot(WorkerTemplate::Bootstrap), holder, &class.bootstrap, variables);
        add(slot(WorkerTemplate::Infrastructure), holder, &class.infrastructure, variables);
    }
    Ok(items)
}
