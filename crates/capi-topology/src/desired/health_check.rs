//! Machine health checks of control plane and machine deployments.

use serde_json::{Map, Value, json};

use super::Input;
use super::templates::owner;
use crate::contract::{CLUSTER_NAME, DEPLOYMENT_NAME, OWNED};
use k8s_schema::value::{get, present, set, text};

const DEFAULT_STARTUP_SECONDS: u64 = 600;

/// Reports whether a health check has settings other than `enabled`.
pub(crate) fn is_defined(check: Option<&Value>) -> bool {
    let Some(check) = check.and_then(Value::as_object) else { return false };
    check
        .iter()
        .any(|(field, value)| field != "enabled" && !pruned(value).is_none_or(|value| value.is_null()))
}

/// Removes empty parts of a value, as Go omits zero values; none if nothing is left.
fn pruned(value: &Value) -> Option<Value> {
    match value {
        Value::Object(fields) => {
            let kept: Map<String, Value> =
                fields.iter().filter_map(|(key, value)| Some((key.clone(), pruned(value)?))).collect();
            (!kept.is_empty()).then_some(Value::Object(kept))
        }
        Value::Array(items) => (!items.is_empty()).then(|| value.clone()),
        Value::String(text) => (!text.is_empty()).then(|| value.clone()),
        Value::Null => None,
        _ => Some(value.clone()),
    }
}

/// The health check of the control plane, if it has machines and a check is enabled.
pub(crate) fn of_control_plane(input: &Input<'_>, control_plane: &Value) -> Option<Value> {
    input.blueprint.machine.as_ref()?;
    let class = get(&input.blueprint.class, &["spec", "controlPlane", "healthCheck"]);
    let topology = get(input.topology(), &["controlPlane", "healthCheck"]);
    let check = effective(topology, class)?;
    let selector = json!({ "cluster.x-k8s.io/control-plane": "", OWNED: "" });
    Some(compute(input, control_plane, &selector, check))
}

/// The health check of a machine deployment.
pub(crate) fn of_deployment(
    input: &Input<'_>,
    deployment: &Value,
    topology: &Value,
    class: &Value,
) -> Option<Value> {
    let check = effective(get(topology, &["healthCheck"]), get(class, &["healthCheck"]))?;
    let selector = json!({ DEPLOYMENT_NAME: text(topology, &["name"]), OWNED: "" });
    Some(compute(input, deployment, &selector, check))
}

/// The check in effect: that of the topology replaces that of the class as a whole.
fn effective<'a>(topology: Option<&'a Value>, class: Option<&'a Value>) -> Option<&'a Value> {
    let own = topology.filter(|check| is_defined(Some(check)));
    let check = own.or_else(|| class.filter(|check| is_defined(Some(check))))?;
    let enabled = topology.and_then(|topology| present(topology, &["enabled"]));
    (enabled.and_then(Value::as_bool) != Some(false)).then_some(check)
}

fn compute(input: &Input<'_>, target: &Value, selector: &Value, check: &Value) -> Value {
    let mut spec = json!({
        "clusterName": text(&input.cluster, &["metadata", "name"]),
        "selector": { "matchLabels": selector },
    });
    let mut checks = get(check, &["checks"]).and_then(pruned).unwrap_or_else(|| json!({}));
    if present(&checks, &["nodeStartupTimeoutSeconds"]).is_none() {
        set(&mut checks, &["nodeStartupTimeoutSeconds"], json!(DEFAULT_STARTUP_SECONDS));
    }
    set(&mut spec, &["checks"], checks);
    for field in ["triggerIf", "templateRef"] {
        if let Some(value) = get(check, &["remediation", field]).and_then(pruned) {
            set(&mut spec, &["remediation", field], value);
        }
    }
    let mut made = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachineHealthCheck",
        "metadata": {
            "name": text(target, &["metadata", "name"]),
            "namespace": text(target, &["metadata", "namespace"]),
            "labels": { CLUSTER_NAME: text(&input.cluster, &["metadata", "name"]), OWNED: "" },
        },
    });
    set(&mut made, &["metadata", "ownerReferences"], owner(&input.cluster));
    set(&mut made, &["spec"], spec);
    made
}
