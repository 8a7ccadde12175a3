//! `Cluster`.

use serde_json::Value;

use super::fields::{Fields, grouped};
use super::health_check::{health_check, with_strategy};

/// `spec` of a Cluster.
pub(super) fn spec(old: &Value) -> Result<Value, String> {
    Ok(Fields::of(old)
        .keep_true(&["paused"])
        .keep(&["controlPlaneEndpoint", "availabilityGates"])
        .part(&["clusterNetwork"], &["clusterNetwork"], |old| {
            Ok(Fields::of(old).keep(&["apiServerPort", "serviceDomain", "services", "pods"]).done())
        })?
        .part(&["controlPlaneRef"], &["controlPlaneRef"], |old| Ok(grouped(old)))?
        .part(&["infrastructureRef"], &["infrastructureRef"], |old| Ok(grouped(old)))?
        .part(&["topology"], &["topology"], topology)?
        .done())
}

/// `rolloutAfter` of the topology had no effect and was removed.
fn topology(old: &Value) -> Result<Value, String> {
    Ok(Fields::of(old)
        .keep(&["version"])
        .moved(&["class"], &["classRef", "name"])
        .moved(&["classNamespace"], &["classRef", "namespace"])
        .part(&["controlPlane"], &["controlPlane"], control_plane)?
        .each(&["workers", "machineDeployments"], &["workers", "machineDeployments"], deployment)?
        .each(&["workers", "machinePools"], &["workers", "machinePools"], pool)?
        .each(&["variables"], &["variables"], variable)?
        .done())
}

fn control_plane(old: &Value) -> Result<Value, String> {
    Ok(Fields::of(old)
        .keep(&["metadata", "replicas", "readinessGates", "taints"])
        .node_timeouts(&[])?
        .part(&["machineHealthCheck"], &["healthCheck"], health_check)?
        .each(&["variables", "overrides"], &["variables", "overrides"], variable)?
        .done())
}

fn deployment(old: &Value) -> Result<Value, String> {
    let fields = Fields::of(old)
        .keep(&["metadata", "class", "name", "failureDomain", "replicas", "minReadySeconds"])
        .keep(&["readinessGates", "taints"])
        .part(&["machineHealthCheck"], &["healthCheck"], health_check)?
        .each(&["variables", "overrides"], &["variables", "overrides"], variable)?
        .node_timeouts(&[])?;
    Ok(with_strategy(fields, old).done())
}

fn pool(old: &Value) -> Result<Value, String> {
    Ok(Fields::of(old)
        .keep(&["metadata", "class", "name", "failureDomains", "replicas", "minReadySeconds", "taints"])
        .each(&["variables", "overrides"], &["variables", "overrides"], variable)?
        .node_timeouts(&[])?
        .done())
}

/// Converts a variable; its value is kept even if it is empty.
#[expect(clippy::unnecessary_wraps, reason = "other steps in the same list can fail")]
fn variable(old: &Value) -> Result<Value, String> {
    let mut new = Fields::of(old).keep(&["name"]).done();
    if let (Some(fields), Some(value)) = (new.as_object_mut(), old.get("value")) {
        fields.insert("value".to_owned(), value.clone());
    }
    Ok(new)
}
