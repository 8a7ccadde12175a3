//! Checks that several webhooks share: labels, health checks, rollouts, taints.
//!
//! Source: `core/webhooks/admission` and apimachinery's `validation`.

use serde_json::Value;

use crate::gates::{self, Gates};
use crate::name_syntax::{is_name_part, is_subdomain};
use crate::names::{Named, sample};
use crate::refusal::FieldError;
use crate::upgrade::version::Version;
use k8s_schema::value::{get, list, map, present, text};

/// Errors in a label or annotation key, one for each rule that it violates.
fn key_errors(key: &str) -> Vec<&'static str> {
    let mut errors = Vec::new();
    let name = match key.split_once('/') {
        None => key,
        Some((_, rest)) if rest.contains('/') => {
            return vec!["a valid label key must consist of a name with an optional prefix"];
        }
        Some((prefix, name)) => {
            if prefix.is_empty() {
                errors.push("prefix part must be non-empty");
            } else if !is_subdomain(prefix) {
                errors.push("prefix part must be a lowercase RFC 1123 subdomain");
            }
            name
        }
    };
    if name.is_empty() {
        errors.push("name part must be non-empty");
    } else if name.len() > 63 {
        errors.push("name part must be no more than 63 bytes");
    }
    if !is_name_part(name) {
        errors.push("name part must consist of alphanumeric characters, '-', '_' or '.'");
    }
    errors
}

/// Errors in the `metadata` of a class or topology entry.
pub(crate) fn metadata(owner: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let field = format!("{path}.labels");
    for (key, value) in map(owner, &["metadata", "labels"]).into_iter().flatten() {
        errors.extend(key_errors(key).into_iter().map(|why| FieldError::invalid(&field, why)));
        let value = value.as_str().unwrap_or_default();
        if value.len() > 63 {
            errors.push(FieldError::invalid(&field, "must be no more than 63 bytes"));
        }
        if !value.is_empty() && !is_name_part(value) {
            errors.push(FieldError::invalid(&field, "a valid label value must be alphanumeric"));
        }
    }
    let field = format!("{path}.annotations");
    let mut size = 0;
    for (key, value) in map(owner, &["metadata", "annotations"]).into_iter().flatten() {
        let lower = key.to_lowercase();
        let wrong = key_errors(&lower);
        errors.extend(wrong.into_iter().map(|why| FieldError::invalid(&field, why)));
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > 256 * 1024 {
        let kind = crate::refusal::ErrorType::TooLong;
        errors.push(FieldError::new(kind, &field, "annotations are too long"));
    }
    errors
}

/// Errors in a health check: a startup timeout that is too short, and thresholds that are not numbers.
pub(crate) fn health_check(check: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let seconds = get(check, &["checks", "nodeStartupTimeoutSeconds"]).and_then(Value::as_i64);
    if seconds.is_some_and(|seconds| seconds != 0 && seconds < 30) {
        let field = format!("{path}.checks.nodeStartupTimeoutSeconds");
        errors.push(FieldError::invalid(field, "must be at least 30s"));
    }
    let threshold = ["remediation", "triggerIf", "unhealthyLessThanOrEqualTo"];
    if present(check, &threshold).is_some_and(|value| !is_int_or_percent(value)) {
        let field = format!("{path}.remediation.triggerIf.unhealthyLessThanOrEqualTo");
        errors.push(FieldError::invalid(field, "must be either an int or a percentage"));
    }
    errors
}

/// Errors in `remediation.maxInFlight` of a health check.
pub(crate) fn max_in_flight(check: &Value, path: &str) -> Vec<FieldError> {
    let wrong =
        present(check, &["remediation", "maxInFlight"]).is_some_and(|value| !is_int_or_percent(value));
    let field = format!("{path}.remediation.maxInFlight");
    let error = || FieldError::invalid(field, "must be either an int or a percentage");
    wrong.then(error).into_iter().collect()
}

/// Errors in a machine deployment's rollout strategy; `path` ends in `rollout`.
pub(crate) fn rollout(owner: &Value, path: &str) -> Vec<FieldError> {
    let update = ["rollout", "strategy", "rollingUpdate"];
    let Some(update) = get(owner, &update) else { return Vec::new() };
    let mut errors = Vec::new();
    for field in ["maxUnavailable", "maxSurge"] {
        if present(update, &[field]).is_some_and(|value| !is_int_or_percent(value)) {
            let field = format!("{path}.strategy.rollingUpdate.{field}");
            errors.push(FieldError::invalid(field, "must be either an int or a percentage"));
        }
    }
    let zero = |field: &str| update.get(field).and_then(Value::as_i64) == Some(0);
    if zero("maxUnavailable") && zero("maxSurge") {
        let field = format!("{path}.strategy.rollingUpdate");
        let detail = "maxUnavailable and maxSurge cannot both be 0";
        errors.push(FieldError::invalid(field, detail));
    }
    errors
}

/// Errors in the taints of machines, which need a feature gate that is off by default.
///
/// Source: `internal/util/taints/validation.go`.
pub(crate) fn taints(owner: &Value, path: &str, gates: Gates) -> Vec<FieldError> {
    let taints = list(owner, &["taints"]);
    let mut errors = Vec::new();
    if !gates.taints && !taints.is_empty() {
        errors.push(gates::TAINTS.error(path));
    }
    for (at, taint) in taints.iter().enumerate() {
        let (key, field) = (text(taint, &["key"]), format!("{path}[{at}].key"));
        let wrong = reserved_taint(key).into_iter().chain(key_errors(key));
        errors.extend(wrong.map(|why| FieldError::invalid(&field, why)));
    }
    errors
}

/// Why a taint with this key is not allowed.
fn reserved_taint(key: &str) -> Option<&'static str> {
    match key {
        "node.cluster.x-k8s.io/uninitialized" | "node.cluster.x-k8s.io/outdated-revision" => {
            Some("taint key is not allowed")
        }
        "node.kubernetes.io/out-of-service" => None,
        "node-role.kubernetes.io/master" => Some("taint is deprecated since 1.24"),
        _ if key.starts_with("node.kubernetes.io/") => {
            Some("taint key must not have the prefix node.kubernetes.io/")
        }
        _ if key.starts_with("node.cloudprovider.kubernetes.io/") => {
            Some("taint key must not have the prefix node.cloudprovider.kubernetes.io/")
        }
        _ => None,
    }
}

/// Errors in the version of machines; upstream reports both if it violates both rules.
pub(crate) fn machine_version(version: &str, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if !version.starts_with('v') {
        errors.push(FieldError::invalid(path, "must start with v"));
    }
    if Version::parse(version.strip_prefix('v').unwrap_or(version)).is_none() {
        errors.push(FieldError::invalid(path, "must be a valid semantic version"));
    }
    errors
}

/// Errors in a naming template for machines, which is rendered with sample values.
///
/// Source: `validateNaming` of `kubeadmcontrolplane.go`, `validateMDMachineNaming` of `machinedeployment.go`.
pub(crate) fn machine_naming(template: &str, named: Named<'_>, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if template.is_empty() {
        return errors;
    }
    if !template.contains("{{ .random }}") {
        errors.push(FieldError::invalid(path, "invalid template, {{ .random }} is missing"));
    }
    match sample(template, "cluster", named) {
        Ok(name) if is_subdomain(&name) => {}
        Ok(_) => {
            errors.push(FieldError::invalid(path, "the names would not be valid for Kubernetes objects"));
        }
        Err(error) => errors.push(FieldError::invalid(path, format!("invalid template: {error}"))),
    }
    errors
}

/// Reports whether a value is an integer or a percentage.
pub(crate) fn is_int_or_percent(value: &Value) -> bool {
    match value {
        Value::Number(number) => !number.is_f64(),
        Value::String(text) => text.strip_suffix('%').is_some_and(|digits| digits.parse::<i64>().is_ok()),
        _ => false,
    }
}

/// The path of a list entry in a topology or class, identified by its key.
pub(crate) fn entry_path(list_path: &str, entry: &Value, key: &str) -> String {
    format!("{list_path}[{}]", text(entry, &[key]))
}
