//! Runs the patches of a class over copies of its templates, and takes the results over into
//! the desired objects.
//!
//! Source: `core/reconcilers/topology/cluster/patches/engine.go`.

use std::rc::Rc;

use serde_json::Value;

use super::selector::Holder;
use super::values::{Failure, enabled, value};
use super::{Patch, json_patch};
use crate::topology::builtins;
use crate::topology::class::{Blueprint, Template};
use crate::topology::desired::contract::{ALWAYS_PRESERVED, Contract};
use crate::topology::desired::state::{Desired, Worker};
use crate::topology::fault::Opaque;
use crate::topology::value::{get, list, set, text};

/// What decides how patches behave beside the class.
#[derive(Debug, Clone, Copy)]
pub struct Version {
    /// Whether patches may set labels and annotations (Cluster API 1.14 and later).
    pub metadata_patches: bool,
}

/// A template on its way through the patches.
struct Item<'a> {
    role: String,
    holder: Holder<'a>,
    object: Value,
    variables: Rc<Value>,
    opaque: Vec<String>,
}

/// Applies all patches to a desired state; gives what they leave unknown.
pub fn apply(blueprint: &Blueprint, desired: &mut Desired, version: Version) -> Result<Vec<Opaque>, String> {
    if blueprint.patches.is_empty() {
        return Ok(Vec::new());
    }
    let mut items = items(blueprint, desired)?;
    for patch in &blueprint.patches {
        run(patch, &mut items, version)
            .map_err(|error| format!("failed to apply patches: patch {:?}: {error}", patch.name))?;
    }
    let mut unknown = Vec::new();
    for item in items {
        unknown.extend(
            item.opaque.iter().map(|reason| Opaque { role: item.role.clone(), reason: reason.clone() }),
        );
        take_over(&item, desired, version);
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
            patch_item(item, document, version)?;
        }
    }
    Ok(())
}

/// An operation with its value.
type Document<'a> = Vec<(&'a str, &'a str, Option<Value>)>;

/// What `enabledIf` gave for variables that several templates share.
type Conditions = Vec<(Rc<Value>, bool)>;

fn is_enabled(patch: &Patch, variables: &Rc<Value>, conditions: &mut Conditions) -> Result<bool, Failure> {
    let known = conditions.iter().find(|(same, _)| Rc::ptr_eq(same, variables));
    if let Some((_, enabled)) = known {
        return Ok(*enabled);
    }
    let enabled = enabled(patch, variables)?;
    conditions.push((Rc::clone(variables), enabled));
    Ok(enabled)
}

/// The JSON patches that a patch means for one template, one for each definition.
fn documents<'a>(
    patch: &'a Patch,
    item: &Item<'_>,
    conditions: &mut Conditions,
) -> Result<Vec<Document<'a>>, Failure> {
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
                    Ok((operation.op.as_str(), operation.path.as_str(), value))
                })
                .collect()
        })
        .collect()
}

/// Applies one document and takes over what patches may change.
fn patch_item(item: &mut Item<'_>, document: Document<'_>, version: Version) -> Result<(), String> {
    if document.is_empty() {
        return Ok(());
    }
    // Only the spec can be reached, so the copy below is needed for odd paths alone.
    if document.iter().all(|(_, path, _)| path.starts_with("/spec/")) {
        for (op, path, value) in document {
            json_patch::apply(&mut item.object, op, path, value)?;
        }
        return Ok(());
    }
    let mut patched = item.object.clone();
    for (op, path, value) in document {
        json_patch::apply(&mut patched, op, path, value)?;
    }
    let spec: &[&str] = &["spec"];
    let all: [&[&str]; 3] = [spec, &["metadata", "labels"], &["metadata", "annotations"]];
    let taken = if version.metadata_patches { &all[..] } else { &all[..1] };
    copy_fields(&patched, &mut item.object, taken.iter().map(|path| (*path, *path)));
    Ok(())
}

fn items<'a>(blueprint: &'a Blueprint, desired: &Desired) -> Result<Vec<Item<'a>>, String> {
    let topology = get(&desired.cluster, &["spec", "topology"]).unwrap_or(&Value::Null);
    let definitions = &blueprint.definitions;
    let global = builtins::global(&desired.cluster, definitions);
    let own = get(topology, &["controlPlane"]).unwrap_or(&Value::Null);
    let control_plane = Rc::new(Value::Object(builtins::control_plane(&global, desired, own, definitions)));
    let mut items = vec![
        Item::new(
            "infrastructure-cluster",
            Holder::InfrastructureCluster,
            with_object_metadata(&blueprint.infrastructure, &desired.infrastructure),
            Rc::new(Value::Object(global.clone())),
        ),
        Item::new(
            "control-plane",
            Holder::ControlPlane,
            with_object_metadata(&blueprint.control_plane, &desired.control_plane),
            Rc::clone(&control_plane),
        ),
    ];
    if let (Some(template), Some(object)) = (&blueprint.machine, &desired.machine_template) {
        let role = "control-plane.machine-template";
        let object = with_template_metadata(template, object);
        items.push(Item::new(role, Holder::ControlPlane, object, control_plane));
    }
    let workers = [
        ("md", "machineDeployment", "machineDeployments", &desired.deployments),
        ("mp", "machinePool", "machinePools", &desired.pools),
    ];
    for (short, builtin, list_name, workers) in workers {
        for (worker, entry) in entries(workers, list(topology, &["workers", list_name])) {
            let variables = builtins::worker(&global, worker, builtin, entry, definitions);
            let variables = Rc::new(Value::Object(variables));
            items.extend(worker_items(blueprint, short, worker, entry, &variables)?);
        }
    }
    Ok(items)
}

/// The two templates of a machine deployment or machine pool.
fn worker_items<'a>(
    blueprint: &'a Blueprint,
    short: &str,
    worker: &Worker,
    entry: &Value,
    variables: &Rc<Value>,
) -> Result<[Item<'a>; 2], String> {
    let name = text(entry, &["class"]);
    let classes = if short == "md" { &blueprint.deployments } else { &blueprint.pools };
    let class = classes.get(name).ok_or_else(|| format!("failed to lookup class {name:?}"))?;
    let class_name = text(&class.class, &["class"]);
    let item = |part: &str, template: &Template, object: &Value| {
        let (holder, object) = if short == "md" {
            let object = with_template_metadata(template, object);
            (Holder::MachineDeployment(class_name), object)
        } else {
            (Holder::MachinePool(class_name), with_object_metadata(template, object))
        };
        let role = format!("{short}.{}.{part}", worker.name);
        Item::new(&role, holder, object, Rc::clone(variables))
    };
    Ok([
        item("bootstrap", &class.bootstrap, &worker.bootstrap),
        item("infrastructure", &class.infrastructure, &worker.infrastructure),
    ])
}

/// Workers with their entries in the topology.
fn entries<'d>(
    workers: &'d [Worker],
    topologies: &'d [Value],
) -> impl Iterator<Item = (&'d Worker, &'d Value)> {
    workers.iter().filter_map(|worker| {
        let named = |topology: &&Value| text(topology, &["name"]) == worker.name;
        topologies.iter().find(named).map(|topology| (worker, topology))
    })
}

impl<'a> Item<'a> {
    fn new(role: &str, holder: Holder<'a>, object: Value, variables: Rc<Value>) -> Self {
        Self { role: role.to_owned(), holder, object, variables, opaque: Vec::new() }
    }
}

const METADATA: [&str; 2] = ["labels", "annotations"];

/// A template whose inner metadata is that of the object made from it.
fn with_object_metadata(template: &Template, object: &Value) -> Value {
    let mut copy = template.object.clone();
    for field in METADATA {
        if let Some(value) = get(object, &["metadata", field]) {
            set(&mut copy, &["spec", "template", "metadata", field], value.clone());
        }
    }
    copy
}

/// A template with the metadata of the template made from it.
fn with_template_metadata(template: &Template, object: &Value) -> Value {
    let mut copy = template.object.clone();
    for field in METADATA {
        if let Some(value) = get(object, &["metadata", field]) {
            set(&mut copy, &["metadata", field], value.clone());
        }
    }
    copy
}

/// Takes the patched template over into the object or template that is made from it.
fn take_over(item: &Item<'_>, desired: &mut Desired, version: Version) {
    let machine_template = item.role == "control-plane.machine-template";
    let is_template = machine_template || matches!(item.holder, Holder::MachineDeployment(_));
    let Some(target) = desired.object_mut(&item.role) else { return };
    let mut preserved: Vec<(&[&str], Value)> = Vec::new();
    let own = if item.role == "control-plane" { Contract::PRESERVED } else { &[] };
    for path in own.iter().chain(ALWAYS_PRESERVED) {
        if let Some(value) = get(target, path) {
            preserved.push((path, value.clone()));
        }
    }
    let inner_spec: &[&str] = &["spec", "template", "spec"];
    let inner_labels: &[&str] = &["spec", "template", "metadata", "labels"];
    let inner_annotations: &[&str] = &["spec", "template", "metadata", "annotations"];
    let labels: &[&str] = &["metadata", "labels"];
    let annotations: &[&str] = &["metadata", "annotations"];
    if is_template {
        let same = [inner_spec, labels, annotations, inner_labels, inner_annotations];
        let taken = same.into_iter().take(if version.metadata_patches { 5 } else { 1 });
        copy_fields(&item.object, target, taken.map(|path| (path, path)));
    } else {
        let moves = [(inner_spec, &["spec"][..]), (inner_labels, labels), (inner_annotations, annotations)];
        let taken = moves.into_iter().take(if version.metadata_patches { 3 } else { 1 });
        copy_fields(&item.object, target, taken);
    }
    for (path, value) in preserved {
        set(target, path, value);
    }
}

/// Copies what is there, null included, from one object to another.
fn copy_fields<'p>(
    from: &Value,
    to: &mut Value,
    paths: impl Iterator<Item = (&'p [&'p str], &'p [&'p str])>,
) {
    for (source, destination) in paths {
        if let Some(value) = get(from, source) {
            set(to, destination, value.clone());
        }
    }
}
