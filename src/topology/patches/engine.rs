//! Runs the patches of a class over copies of its templates, and takes the results over into
//! the desired objects.
//!
//! Source: `core/reconcilers/topology/cluster/patches/engine.go`.

use std::rc::Rc;

use serde_json::Value;

use super::Patch;
use super::item::{Becomes, Item, Operation};
use super::selector::Holder;
use super::values::{Failure, enabled, value};
use crate::topology::builtins::{self, Variables};
use crate::topology::class::{Blueprint, Template, WorkerClass};
use crate::topology::desired::state::{Desired, Worker};
use crate::topology::fault::Opaque;
use crate::topology::value::{get, list, text};

/// What decides how patches behave beside the class.
#[derive(Debug, Clone, Copy)]
pub struct Version {
    /// Whether patches may set labels and annotations (Cluster API 1.14 and later).
    pub metadata_patches: bool,
}

/// Applies all patches to a desired state; gives what they leave unknown.
pub fn apply(blueprint: &Blueprint, desired: &mut Desired, version: Version) -> Result<Vec<Opaque>, String> {
    if blueprint.patches.is_empty() {
        return Ok(Vec::new());
    }
    // Variables are those of the Cluster, and are read while the other objects change.
    let cluster = std::mem::take(&mut desired.cluster);
    let unknown = apply_for(&cluster, blueprint, desired, version);
    desired.cluster = cluster;
    unknown
}

fn apply_for(
    cluster: &Value,
    blueprint: &Blueprint,
    desired: &mut Desired,
    version: Version,
) -> Result<Vec<Opaque>, String> {
    let mut items = items(cluster, blueprint, desired)?;
    for patch in &blueprint.patches {
        run(patch, &mut items, version)
            .map_err(|error| format!("failed to apply patches: patch {:?}: {error}", patch.name))?;
    }
    let mut unknown = Vec::new();
    for item in items {
        let role = item.role.clone();
        let Some(target) = desired.object_mut(&role) else { continue };
        let reasons = item.finish(target, version);
        unknown.extend(reasons.into_iter().map(|reason| Opaque { role: role.clone(), reason }));
    }
    Ok(unknown)
}

fn run(patch: &Patch, items: &mut [Item<'_>], version: Version) -> Result<(), String> {
    if patch.external {
        for item in items.iter_mut() {
            item.opaque.push(format!("patch {:?} is made by a runtime extension", patch.name));
        }
        return Ok(());
    }
    let mut work = Vec::new();
    let mut errors = Vec::new();
    let mut conditions = Conditions::new();
    for (at, item) in items.iter_mut().enumerate() {
        match documents(patch, item, &mut conditions) {
            Ok(documents) => work.extend(documents.into_iter().map(|one| (at, one))),
            Err(Failure::Error(error)) => errors.push(error),
            Err(Failure::Unknown(reason)) => item.opaque.push(reason),
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

/// What `enabledIf` gave for variables that several templates share.
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

/// The JSON patches that a patch means for one template, one for each definition.
fn documents<'a, 'v>(
    patch: &'a Patch,
    item: &Item<'v>,
    conditions: &mut Conditions<'v>,
) -> Result<Vec<Vec<Operation<'a>>>, Failure> {
    let api_version = text(&item.object, &["apiVersion"]);
    let kind = text(&item.object, &["kind"]);
    let mut matching = patch
        .definitions
        .iter()
        .filter(|definition| definition.selector.matches(api_version, kind, item.holder))
        .peekable();
    if matching.peek().is_none() || !is_enabled(patch, &item.variables, conditions)? {
        return Ok(Vec::new());
    }
    matching
        .map(|definition| {
            let operations = definition.operations.iter();
            operations
                .map(|operation| {
                    let value = value(operation, &item.variables)?;
                    Ok((operation.op.as_str(), &operation.path, value))
                })
                .collect()
        })
        .collect()
}

fn items<'a>(
    cluster: &'a Value,
    blueprint: &'a Blueprint,
    desired: &mut Desired,
) -> Result<Vec<Item<'a>>, String> {
    let topology = get(cluster, &["spec", "topology"]).unwrap_or(&Value::Null);
    let definitions = blueprint.definitions();
    let global = builtins::global(cluster, definitions);
    let own = get(topology, &["controlPlane"]).unwrap_or(&Value::Null);
    let control_plane = Rc::new(builtins::control_plane(&global, desired, own, definitions));
    let mut items = Vec::new();
    for (short, builtin, list_name) in KINDS {
        let classes = if short == "md" { &blueprint.deployments } else { &blueprint.pools };
        let workers = if short == "md" { &mut desired.deployments } else { &mut desired.pools };
        for worker in workers {
            let named = |topology: &&Value| text(topology, &["name"]) == worker.name;
            let Some(entry) = list(topology, &["workers", list_name]).iter().find(named) else { continue };
            let variables = Rc::new(builtins::worker(&global, worker, builtin, entry, definitions));
            let name = text(entry, &["class"]);
            let class = classes.get(name).ok_or_else(|| format!("failed to lookup class {name:?}"))?;
            items.extend(worker_items(short, class, worker, &variables));
        }
    }
    let own = |role: &str, kind, template: &'a Template, object: &mut Value, variables| {
        Item::new(role.to_owned(), kind, template, object, variables)
    };
    if let (Some(template), Some(object)) = (&blueprint.machine, &mut desired.machine_template) {
        let kind = (Holder::ControlPlane, Becomes::Template);
        let variables = Rc::clone(&control_plane);
        items.insert(0, own("control-plane.machine-template", kind, template, object, variables));
    }
    let kind = (Holder::ControlPlane, Becomes::Object);
    items.insert(
        0,
        own("control-plane", kind, &blueprint.control_plane, &mut desired.control_plane, control_plane),
    );
    let kind = (Holder::InfrastructureCluster, Becomes::Object);
    let object = &mut desired.infrastructure;
    items.insert(0, own("infrastructure-cluster", kind, &blueprint.infrastructure, object, Rc::new(global)));
    Ok(items)
}

/// Of machine deployments and machine pools: the start of their roles, the name of their builtin, and their list.
const KINDS: [(&str, &str, &str); 2] =
    [("md", "machineDeployment", "machineDeployments"), ("mp", "machinePool", "machinePools")];

/// The two templates of a machine deployment or machine pool.
fn worker_items<'a>(
    short: &str,
    class: &'a WorkerClass,
    worker: &mut Worker,
    variables: &Rc<Variables<'a>>,
) -> [Item<'a>; 2] {
    let class_name = text(&class.class, &["class"]);
    let kind = match short {
        "md" => (Holder::MachineDeployment(class_name), Becomes::Template),
        _ => (Holder::MachinePool(class_name), Becomes::Object),
    };
    let role = |part: &str| format!("{short}.{}.{part}", worker.name);
    let (bootstrap, infrastructure) = (role("bootstrap"), role("infrastructure"));
    [
        Item::new(bootstrap, kind, &class.bootstrap, &mut worker.bootstrap, Rc::clone(variables)),
        Item::new(
            infrastructure,
            kind,
            &class.infrastructure,
            &mut worker.infrastructure,
            Rc::clone(variables),
        ),
    ]
}
