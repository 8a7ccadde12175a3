//! Compatibility of a class with the one that it replaces.
//!
//! Source: `internal/topology/check/compatibility.go`.

use serde_json::Value;

use crate::refusal::FieldError;
use k8s_schema::value::{get, group, list, text};

/// Lists all reasons against replacing a class with another, or with a new version of itself.
pub(crate) fn classes(current: &Value, desired: &Value) -> Vec<FieldError> {
    let none = Value::Null;
    let mut errors = Vec::new();
    for path in [&["infrastructure"][..], &["controlPlane"], &["controlPlane", "machineInfrastructure"]] {
        let of = |class| {
            let mut full = vec!["spec"];
            full.extend(path);
            full.push("templateRef");
            get(class, &full).unwrap_or(&none)
        };
        let (old, new) = (of(current), of(desired));
        let optional = path.len() > 1;
        if !(optional && text(old, &["name"]).is_empty() && text(new, &["name"]).is_empty()) {
            let field = format!("spec.{}.templateRef", path.join("."));
            errors.extend(references(old, new, &field));
        }
    }
    for kind in ["machineDeployments", "machinePools"] {
        let old = list(current, &["spec", "workers", kind]);
        for (at, class) in list(desired, &["spec", "workers", kind]).iter().enumerate() {
            let same = |one: &&Value| text(one, &["class"]) == text(class, &["class"]);
            for previous in old.iter().filter(same) {
                let of = |class| get(class, &["infrastructure", "templateRef"]).unwrap_or(&none);
                let field = format!("spec.workers.{kind}[{at}].infrastructure.templateRef");
                errors.extend(references(of(previous), of(class), &field));
            }
        }
    }
    errors
}

fn references(current: &Value, desired: &Value, path: &str) -> Vec<FieldError> {
    let groups = [current, desired].map(|one| group(text(one, &["apiVersion"])));
    let kinds = [current, desired].map(|one| text(one, &["kind"]));
    let mut errors = Vec::new();
    if groups[0] != groups[1] {
        let detail = format!("group of apiVersion cannot be changed from {:?} to {:?}", groups[0], groups[1]);
        errors.push(FieldError::forbidden(format!("{path}.apiVersion"), detail));
    }
    if kinds[0] != kinds[1] {
        let detail = format!("kind cannot be changed from {:?} to {:?}", kinds[0], kinds[1]);
        errors.push(FieldError::forbidden(format!("{path}.kind"), detail));
    }
    errors
}
