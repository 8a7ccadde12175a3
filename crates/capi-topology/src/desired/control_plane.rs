//! The control plane and the template of its machines.

use gotmpl::time::format_duration;
use serde_json::{Map, Value, json};

use super::templates::{Copy, object_with, reference, template};
use super::{Input, instant};
use crate::contract::{CLUSTER_NAME, Contract, OWNED};
use crate::names::{Named, from_template, simple};
use crate::upgrade::tracker::Tracker;
use k8s_schema::value::{get, map, merged, present, set, text};

/// The template of the control plane's machines.
pub(crate) fn machine_template(input: &Input<'_>) -> Option<Value> {
    let source = input.blueprint.machine.as_ref()?;
    let cluster_name = text(&input.cluster, &["metadata", "name"]);
    let current = input.current.and_then(|current| current.machine_template.as_ref());
    let name = match current {
        Some(current) => text(current, &["metadata", "name"]).to_owned(),
        None => simple(&format!("{cluster_name}-"), input.draw),
    };
    let mut copy = Copy::new(&input.cluster, name);
    copy.owned = true;
    Some(template(source, copy))
}

/// Computes the control plane.
pub(crate) fn compute(
    input: &Input<'_>,
    machine_template: Option<&Value>,
    tracker: &mut Tracker,
) -> Result<Value, String> {
    let class = get(&input.blueprint.class, &["spec", "controlPlane"]).unwrap_or(&Value::Null);
    let topology = get(input.topology(), &["controlPlane"]).unwrap_or(&Value::Null);
    let cluster_name = text(&input.cluster, &["metadata", "name"]);
    let name = match text(&input.cluster, &["spec", "controlPlaneRef", "name"]) {
        "" => {
            let naming = text(class, &["naming", "template"]);
            from_template(naming, cluster_name, Named::Cluster, input.draw)?
        }
        current => current.to_owned(),
    };
    let of = |field: &str| {
        let path = ["metadata", field];
        merged(map(topology, &path), map(class, &path))
    };
    let (mut labels, annotations) = (of("labels"), of("annotations"));
    labels.insert(CLUSTER_NAME.to_owned(), json!(cluster_name));
    labels.insert(OWNED.to_owned(), json!(""));
    let mut copy = Copy::new(&input.cluster, name);
    copy.labels.clone_from(&labels);
    copy.annotations.clone_from(&annotations);
    let mut made = object_with(&input.blueprint.control_plane, copy, Contract::PRESERVED);
    let contract = input.blueprint.contract.unwrap_or(Contract::V1Beta2);
    if let Some(machine) = machine_template {
        set_machine(&mut made, machine, contract, &labels, &annotations);
    }
    set_settings(&mut made, topology, class, contract);
    let version = tracker.control_plane_version(input.running())?;
    set(&mut made, Contract::VERSION, json!(version));
    Ok(made)
}

/// Why the paths of the control plane's settings are unknown, if they are.
pub(crate) fn unknown_contract(input: &Input<'_>) -> Option<String> {
    let blueprint = input.blueprint;
    let class = get(&blueprint.class, &["spec", "controlPlane"]).unwrap_or(&Value::Null);
    let topology = get(input.topology(), &["controlPlane"]).unwrap_or(&Value::Null);
    let set = |field| present(class, &[field]).or_else(|| present(topology, &[field])).is_some();
    let matters =
        blueprint.machine.is_some() || ["deletion", "readinessGates", "taints"].into_iter().any(set);
    (blueprint.contract.is_none() && matters).then(|| {
        format!(
            "the contract version of {} of {} is not known: add its CustomResourceDefinition",
            blueprint.control_plane.group_kind.replacen("Template", "", 1),
            k8s_schema::value::version(blueprint.control_plane.api_version()),
        )
    })
}

fn set_machine(
    control_plane: &mut Value,
    machine: &Value,
    contract: Contract,
    labels: &Map<String, Value>,
    annotations: &Map<String, Value>,
) {
    let value = match contract {
        Contract::V1Beta2 => reference(machine),
        Contract::V1Beta1 => json!({
            "apiVersion": text(machine, &["apiVersion"]),
            "kind": text(machine, &["kind"]),
            "name": text(machine, &["metadata", "name"]),
            "namespace": text(machine, &["metadata", "namespace"]),
        }),
    };
    set(control_plane, contract.infrastructure_ref(), value);
    let mut metadata = Map::new();
    for (field, own) in [("labels", labels), ("annotations", annotations)] {
        let path = ["spec", "machineTemplate", "metadata", field];
        let all = merged(Some(own), map(control_plane, &path));
        if !all.is_empty() {
            metadata.insert(field.to_owned(), Value::Object(all));
        }
    }
    set(control_plane, Contract::MACHINE_METADATA, Value::Object(metadata));
}

fn set_settings(made: &mut Value, topology: &Value, class: &Value, contract: Contract) {
    if let Some(replicas) = present(topology, &["replicas"]) {
        set(made, Contract::REPLICAS, replicas.clone());
    }
    if let Some(after) = present(topology, &["rollout", "after"]) {
        set(made, Contract::ROLLOUT_AFTER, instant(after));
    }
    let either = |path: &[&str]| present(topology, path).or_else(|| present(class, path));
    if let Some(gates) = either(&["readinessGates"]) {
        set(made, contract.readiness_gates(), gates.clone());
    }
    if let Some(taints) = either(&["taints"]) {
        set(made, contract.taints(), taints.clone());
    }
    for (name, path) in contract.timeouts() {
        let Some(seconds) = either(&["deletion", name]) else { continue };
        let value = match contract {
            Contract::V1Beta2 => seconds.clone(),
            Contract::V1Beta1 => {
                json!(format_duration(seconds.as_i64().unwrap_or_default().saturating_mul(1_000_000_000)))
            }
        };
        set(made, path, value);
    }
}
