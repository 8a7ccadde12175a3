//! The webhooks of machine deployments and machine pools.
//!
//! Source: `core/webhooks/admission`: `machinedeployment.go`, `machinepool.go`, and for the preflight checks of machine
//! sets `machineset.go`.

use serde_json::Value;

use super::checks;
use super::kubeadm_types::is_defined;
use crate::contract::{AUTOSCALER_MAX, AUTOSCALER_MIN};
use crate::gates::{self, Gates};
use crate::name_syntax::is_label_value;
use crate::names::Named;
use crate::refusal::FieldError;
use k8s_schema::value::{get, list, map, present, text};

const SKIPPED: &str = "machineset.cluster.x-k8s.io/skip-preflight-checks";
const CHECKS: [&str; 5] =
    ["All", "ControlPlaneIsStable", "ControlPlaneVersionSkew", "KubeadmVersionSkew", "KubernetesVersionSkew"];

/// Why the defaulting webhook refuses an object as written: without replicas, it reads the autoscaler's range.
pub fn defaulting(written: &Value) -> Option<String> {
    if present(written, &["spec", "replicas"]).is_some() {
        return None;
    }
    let keys = [AUTOSCALER_MIN, AUTOSCALER_MAX];
    let annotation = |key: &str| get(written, &["metadata", "annotations", key]).and_then(Value::as_str);
    if keys.iter().any(|key| annotation(key).is_none()) {
        return None;
    }
    let wrong = keys.iter().find(|key| annotation(key).is_some_and(|count| count.parse::<i32>().is_err()))?;
    Some(format!("the replicas cannot be calculated: the value of the annotation {wrong:?} is not a number"))
}

/// Errors of the validating webhook for a machine deployment; `running` is its state before.
pub(crate) fn deployment(object: &Value, running: Option<&Value>, gates: Gates) -> Vec<FieldError> {
    let none = Value::Null;
    let spec = get(object, &["spec"]).unwrap_or(&none);
    let mut errors = Vec::new();
    if !is_label_value(text(object, &["metadata", "name"])) {
        errors.push(FieldError::invalid("metadata.name", "must be a valid label value"));
    }
    errors.extend(machine(spec, running));
    let template = get(spec, &["template"]).unwrap_or(&none);
    let labels = |owner, path: &[&str]| map(owner, path).cloned().unwrap_or_default();
    let own = labels(template, &["metadata", "labels"]);
    if labels(spec, &["selector", "matchLabels"]).iter().any(|(key, value)| own.get(key) != Some(value)) {
        errors.push(FieldError::forbidden("spec.template.metadata.labels", "must match spec.selector"));
    }
    errors.extend(skipped_checks(object).filter(|_| !gates.no_preflight_checks));
    errors.extend(checks::rollout(spec, "spec.rollout"));
    errors.extend(checks::max_in_flight(spec, "spec"));
    let naming = text(spec, &["machineNaming", "template"]);
    let named = Named::MachineSet("machineset");
    errors.extend(checks::machine_naming(naming, named, "spec.machineNaming.template"));
    let path = "spec.template.spec.taints";
    let machine = get(template, &["spec"]).unwrap_or(&none);
    errors.extend(checks::taints(machine, path, gates));
    if gates.taints {
        for (at, taint) in list(machine, &["taints"]).iter().enumerate() {
            if text(taint, &["key"]) == "node-role.kubernetes.io/control-plane" {
                let detail = "taint is not allowed for worker Machines";
                errors.push(FieldError::invalid(format!("{path}[{at}].key"), detail));
            }
        }
    }
    errors.extend(checks::metadata(template, "spec.template.metadata"));
    errors
}

/// Errors of the validating webhook for a machine pool; `running` is its state before.
pub(crate) fn pool(object: &Value, running: Option<&Value>, gates: Gates) -> Vec<FieldError> {
    if gates.no_machine_pools {
        return vec![gates::MACHINE_POOLS.error("spec")];
    }
    let spec = get(object, &["spec"]).unwrap_or(&Value::Null);
    let template = get(spec, &["template"]).unwrap_or(&Value::Null);
    let mut errors = machine(spec, running);
    if !list(template, &["spec", "taints"]).is_empty() {
        errors.push(FieldError::forbidden("spec.taints", "machine pools do not have taints yet"));
        if !gates.taints {
            errors.push(gates::TAINTS.error("spec.taints"));
        }
    }
    errors.extend(checks::metadata(template, "spec.template.metadata"));
    errors
}

/// The checks shared by both: the cluster they belong to, the bootstrap of their machines, and the version.
fn machine(spec: &Value, running: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let machine = get(spec, &["template", "spec"]).unwrap_or(&Value::Null);
    let bootstrap = get(machine, &["bootstrap"]).unwrap_or(&Value::Null);
    if !is_defined(bootstrap, &["configRef"]) && present(bootstrap, &["dataSecretName"]).is_none() {
        let detail = "expected either dataSecretName or configRef to be populated";
        errors.push(FieldError::required("spec.template.spec.bootstrap", detail));
    }
    let cluster = text(spec, &["clusterName"]);
    if running.is_some_and(|running| text(running, &["spec", "clusterName"]) != cluster) {
        errors.push(FieldError::forbidden("spec.clusterName", "field is immutable"));
    }
    if cluster != text(machine, &["clusterName"]) {
        let detail = "spec.clusterName and spec.template.spec.clusterName must be set to the same value";
        errors.push(FieldError::invalid("spec.clusterName", detail));
    }
    let version = text(machine, &["version"]);
    if !version.is_empty() {
        errors.extend(checks::machine_version(version, "spec.template.spec.version"));
    }
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
