//! The webhooks of machine deployments and machine pools.
//!
//! Source: `core/webhooks/admission`: `machinedeployment.go`, `machinepool.go`, and for the checks before machines are
//! made `machineset.go`. The gates `MachineSetPreflightChecks` and `MachinePool` are taken to be on, as they are by
//! default.

use serde_json::Value;

use super::checks;
use super::gates::Gates;
use crate::topology::fault::FieldError;
use crate::topology::value::{get, list, present, text};

const SKIPPED: &str = "machineset.cluster.x-k8s.io/skip-preflight-checks";
const CHECKS: [&str; 5] =
    ["All", "ControlPlaneIsStable", "ControlPlaneVersionSkew", "KubeadmVersionSkew", "KubernetesVersionSkew"];

/// Why the defaulting webhook refuses an object as it is written: without replicas it reads the autoscaler's range.
pub fn defaulting(written: &Value) -> Option<String> {
    if present(written, &["spec", "replicas"]).is_some() {
        return None;
    }
    let keys =
        ["min", "max"].map(|end| format!("cluster.x-k8s.io/cluster-api-autoscaler-node-group-{end}-size"));
    let annotation = |key: &str| get(written, &["metadata", "annotations", key]).and_then(Value::as_str);
    if keys.iter().any(|key| annotation(key).is_none()) {
        return None;
    }
    let wrong = keys.iter().find(|key| annotation(key).is_some_and(|count| count.parse::<i32>().is_err()))?;
    Some(format!("the replicas cannot be calculated: the value of the annotation {wrong:?} is no number"))
}

/// What the validating webhook says of a machine deployment.
pub fn deployment(object: &Value, gates: Gates) -> Vec<FieldError> {
    let spec = get(object, &["spec"]).unwrap_or(&Value::Null);
    let mut errors: Vec<FieldError> = skipped_checks(object).into_iter().collect();
    errors.extend(checks::rollout(spec, "spec.rollout"));
    errors.extend(checks::max_in_flight(spec, "spec"));
    let machine = get(spec, &["template", "spec"]).unwrap_or(&Value::Null);
    let path = "spec.template.spec.taints";
    errors.extend(checks::taints(machine, path, gates));
    if gates.taints {
        for (at, taint) in list(machine, &["taints"]).iter().enumerate() {
            if text(taint, &["key"]) == "node-role.kubernetes.io/control-plane" {
                let detail = "taint is not allowed for worker Machines";
                errors.push(FieldError::invalid(format!("{path}[{at}].key"), detail));
            }
        }
    }
    let template = get(spec, &["template"]).unwrap_or(&Value::Null);
    errors.extend(checks::metadata(template, "spec.template.metadata"));
    errors
}

/// What the validating webhook says of a machine pool.
pub fn pool(object: &Value, gates: Gates) -> Vec<FieldError> {
    let template = get(object, &["spec", "template"]).unwrap_or(&Value::Null);
    let mut errors = Vec::new();
    if !list(template, &["spec", "taints"]).is_empty() {
        errors.push(FieldError::forbidden("spec.taints", "machine pools do not have taints yet"));
        if !gates.taints {
            errors.push(FieldError::forbidden("spec.taints", checks::NO_TAINTS));
        }
    }
    errors.extend(checks::metadata(template, "spec.template.metadata"));
    errors
}

fn skipped_checks(object: &Value) -> Option<FieldError> {
    let skipped = text(object, &["metadata", "annotations", SKIPPED]);
    if skipped.is_empty() || skipped.split(',').all(|name| CHECKS.contains(&name.trim())) {
        return None;
    }
    let detail = format!("the checks that are skipped must be among {}", CHECKS.join(", "));
    Some(FieldError::invalid(format!("metadata.annotations.{SKIPPED}"), detail))
}
