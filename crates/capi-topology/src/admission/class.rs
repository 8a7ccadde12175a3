//! The `ClusterClass` webhook.
//!
//! Source: `core/webhooks/admission/clusterclass.go`.

use std::cmp::Ordering;

use serde_json::Value;

use super::{checks, class_patches, class_update, class_variables};
use crate::desired::health_check::is_defined;
use crate::gates::{self, Gates};
use crate::name_syntax::is_subdomain;
use crate::names::{Named, sample};
use crate::refusal::FieldError;
use crate::upgrade::version::{Order, Version};
use k8s_schema::value::{get, list, text};

/// Validates a class. `old` is the class before an update; `clusters` are all Clusters.
pub(crate) fn validate(
    class: &Value,
    old: Option<&Value>,
    clusters: &[Value],
    gates: Gates,
) -> Vec<FieldError> {
    if gates.no_topology {
        return vec![gates::TOPOLOGY.error("spec")];
    }
    let mut errors = templates(class);
    for kind in ["machineDeployments", "machinePools"] {
        errors.extend(unique(class, kind));
    }
    for worker in list(class, &["spec", "workers", "machineDeployments"]) {
        let path = checks::entry_path("spec.workers.machineDeployments", worker, "class");
        errors.extend(checks::rollout(worker, &format!("{path}.rollout")));
    }
    errors.extend(health_checks(class));
    errors.extend(naming(class));
    for (path, owner, _) in owners(class) {
        errors.extend(checks::taints(owner, &format!("{path}.taints"), gates));
    }
    errors.extend(class_variables::validate(class));
    errors.extend(class_patches::validate(class, gates));
    for (path, owner, is_worker) in owners(class) {
        let inner = if is_worker { ".template.metadata" } else { ".metadata" };
        errors.extend(checks::metadata(owner, &format!("{path}{inner}")));
    }
    errors.extend(versions(class));
    if let Some(old) = old {
        errors.extend(class_update::validate(class, old, clusters));
    }
    errors
}

/// The control plane and all worker classes, each with its path.
fn owners(class: &Value) -> Vec<(String, &Value, bool)> {
    let control_plane = get(class, &["spec", "controlPlane"]).unwrap_or(&Value::Null);
    let mut owners = vec![("spec.controlPlane".to_owned(), control_plane, false)];
    for kind in ["machineDeployments", "machinePools"] {
        let path = format!("spec.workers.{kind}");
        for worker in list(class, &["spec", "workers", kind]) {
            owners.push((checks::entry_path(&path, worker, "class"), worker, true));
        }
    }
    owners
}

fn templates(class: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut check = |owner: Option<&Value>, path: String| {
        let reference = owner.and_then(|owner| owner.get("templateRef"));
        errors.extend(reference_errors(reference.unwrap_or(&Value::Null), &path));
    };
    check(get(class, &["spec", "infrastructure"]), "spec.infrastructure".to_owned());
    check(get(class, &["spec", "controlPlane"]), "spec.controlPlane".to_owned());
    let machine = get(class, &["spec", "controlPlane", "machineInfrastructure"]);
    if machine.is_some_and(|one| !text(one, &["templateRef", "name"]).is_empty()) {
        check(machine, "spec.controlPlane.machineInfrastructure".to_owned());
    }
    for kind in ["machineDeployments", "machinePools"] {
        for (at, worker) in list(class, &["spec", "workers", kind]).iter().enumerate() {
            for part in ["bootstrap", "infrastructure"] {
                check(worker.get(part), format!("spec.workers.{kind}[{at}].template.{part}"));
            }
        }
    }
    errors
}

fn reference_errors(reference: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if text(reference, &["name"]).is_empty() {
        let field = format!("{path}.ref.name");
        errors.push(FieldError::required(field, "template name must be defined"));
    }
    let kind = text(reference, &["kind"]);
    if kind.len() <= "Template".len() || !kind.ends_with("Template") {
        let detail = "template kind must be of form \"<name>Template\"";
        errors.push(FieldError::invalid(format!("{path}.ref.kind"), detail));
    }
    let api_version = text(reference, &["apiVersion"]);
    let field = format!("{path}.ref.apiVersion");
    if api_version.is_empty() {
        errors.push(FieldError::required(field, "template apiVersion must be defined"));
    } else if api_version.matches('/').count() > 1 {
        let detail = "template apiVersion must be a valid Kubernetes apiVersion";
        errors.push(FieldError::invalid(field, detail));
    }
    errors
}

fn unique(class: &Value, kind: &str) -> Vec<FieldError> {
    let workers = list(class, &["spec", "workers", kind]);
    let twice = |(at, worker): (usize, &Value)| {
        let name = text(worker, &["class"]);
        let detail = format!("class {name:?} is defined more than once");
        let field = format!("spec.workers.{kind}[{at}].class");
        let earlier = workers.iter().take(at).any(|one| text(one, &["class"]) == name);
        earlier.then(|| FieldError::invalid(field, detail))
    };
    workers.iter().enumerate().filter_map(twice).collect()
}

fn health_checks(class: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let own = get(class, &["spec", "controlPlane"]).unwrap_or(&Value::Null);
    if let Some(check) = get(own, &["healthCheck"]).filter(|check| is_defined(Some(check))) {
        let path = "spec.controlPlane.healthCheck";
        errors.extend(checks::health_check(check, path));
        if text(own, &["machineInfrastructure", "templateRef", "name"]).is_empty() {
            let detail = "can be only set if spec.controlPlane.machineInfrastructure is set";
            errors.push(FieldError::forbidden(path, detail));
        }
    }
    for worker in list(class, &["spec", "workers", "machineDeployments"]) {
        let Some(check) = get(worker, &["healthCheck"]).filter(|check| is_defined(Some(check))) else {
            continue;
        };
        let path = checks::entry_path("spec.workers.machineDeployments", worker, "class");
        let path = format!("{path}.healthCheck");
        errors.extend(checks::health_check(check, &path));
        errors.extend(checks::max_in_flight(check, &path));
    }
    errors
}

/// Errors in naming templates, which are rendered with sample values.
fn naming(class: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut check = |owner: &Value, named: Named<'_>, path: String| {
        let template = text(owner, &["naming", "template"]);
        let field = format!("{path}.naming.template");
        if template.is_empty() {
            return;
        }
        match sample(template, "cluster", named) {
            Ok(name) if is_subdomain(&name) => {}
            Ok(_) => errors.push(FieldError::invalid(field, "the name is not an RFC 1123 subdomain")),
            Err(error) => {
                let detail = format!("invalid name template: {error}");
                errors.push(FieldError::invalid(field, detail));
            }
        }
    };
    let none = Value::Null;
    let of = |path: &[&str]| get(class, path).unwrap_or(&none);
    check(of(&["spec", "infrastructure"]), Named::Cluster, "spec.infrastructure".to_owned());
    check(of(&["spec", "controlPlane"]), Named::Cluster, "spec.controlPlane".to_owned());
    for (kind, named) in [
        ("machineDeployments", Named::MachineDeployment("mdtopology")),
        ("machinePools", Named::MachinePool("mptopology")),
    ] {
        for worker in list(class, &["spec", "workers", kind]) {
            let path = checks::entry_path(&format!("spec.workers.{kind}"), worker, "class");
            check(worker, named, path);
        }
    }
    errors
}

fn versions(class: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut previous: Option<Version> = None;
    for (at, version) in list(class, &["spec", "kubernetesVersions"]).iter().enumerate() {
        let field = format!("spec.kubernetesVersion[{at}]");
        let Some(version) = version.as_str().and_then(Version::tolerant) else {
            let detail = "version must be a valid semantic version";
            errors.push(FieldError::invalid(field, detail));
            continue;
        };
        if let Some(previous) = &previous {
            let order = version.compare_builds(previous);
            if matches!(order, Order::Known(Ordering::Less | Ordering::Equal)) {
                let detail = format!("version must be greater than v{previous}");
                errors.push(FieldError::invalid(&field, detail));
            }
            if version.minor != previous.minor && version.minor != previous.minor + 1 {
                let detail = format!(
                    "expecting a version with minor {} or {}, found version {version}",
                    previous.minor,
                    previous.minor + 1
                );
                errors.push(FieldError::invalid(&field, detail));
            }
        }
        previous = Some(version);
    }
    errors
}
