//! Patches of a class: names, selectors, paths, values, templates.
//!
//! Source: `core/webhooks/admission/patch_validation.go`.

use serde_json::Value;

use crate::gates::{self, Gates};
use crate::patches::json_patch::{Operation, Source};
use crate::patches::selector::{Selector, class_matches};
use crate::patches::{Parsed, Patch};
use crate::refusal::{ErrorType, FieldError};
use k8s_schema::value::{get, list, present, text};

/// The builtins that `valueFrom.variable` may name, without `builtin.`.
const BUILTINS: &[&str] = &[
    "cluster",
    "cluster.name",
    "cluster.namespace",
    "cluster.uid",
    "cluster.metadata.labels",
    "cluster.metadata.annotations",
    "cluster.topology",
    "cluster.topology.classRef.name",
    "cluster.topology.classRef.namespace",
    "cluster.topology.class",
    "cluster.topology.classNamespace",
    "cluster.topology.version",
    "cluster.network",
    "cluster.network.serviceDomain",
    "cluster.network.services",
    "cluster.network.pods",
    "controlPlane",
    "controlPlane.name",
    "controlPlane.replicas",
    "controlPlane.version",
    "controlPlane.metadata.labels",
    "controlPlane.metadata.annotations",
    "controlPlane.machineTemplate.infrastructureRef.name",
];

/// The fields that machine deployments and machine pools share.
const WORKER_BUILTINS: &[&str] = &[
    "",
    ".class",
    ".name",
    ".replicas",
    ".topologyName",
    ".version",
    ".metadata.labels",
    ".metadata.annotations",
    ".bootstrap.configRef.name",
    ".infrastructureRef.name",
];

/// Validates the patches of a class.
pub(crate) fn validate(class: &Value, gates: Gates) -> Vec<FieldError> {
    let patches = list(class, &["spec", "patches"]);
    let mut errors = Vec::new();
    for (at, source) in patches.iter().enumerate() {
        let path = format!("spec.patches[{at}]");
        let patch = Patch::read(source);
        let name_path = format!("{path}.name");
        if patch.name.is_empty() {
            errors.push(FieldError::required(&name_path, "patch name must be defined"));
        }
        if patch.name == "inline" {
            let detail = "\"inline\" can not be used as the name of a patch";
            errors.push(FieldError::required(&name_path, detail));
        }
        if patches.iter().take(at).any(|one| text(one, &["name"]) == patch.name) {
            errors.push(FieldError::invalid(&name_path, "patch names must be unique"));
        }
        errors.extend(validate_patch(source, &patch, class, &path));
        if patch.external && !gates.runtime_sdk {
            errors.push(gates::RUNTIME_SDK.error(format!("{path}.external")));
        }
    }
    errors
}

fn validate_patch(source: &Value, patch: &Patch, class: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if let Some(condition) = &patch.enabled_if {
        errors.extend(parses(condition, &format!("{path}.enabledIf")));
    }
    let has_definitions = present(source, &["definitions"]).is_some();
    match (has_definitions, patch.external) {
        (false, false) => {
            let detail = "one of definitions or external must be defined";
            errors.push(FieldError::required(path, detail));
        }
        (true, true) => {
            let detail = "only one of definitions or external can be defined";
            errors.push(FieldError::invalid(path, detail));
        }
        _ => {}
    }
    for (at, definition) in patch.definitions.iter().enumerate() {
        for (number, operation) in definition.operations.iter().enumerate() {
            let field = format!("{path}.definitions[{at}].jsonPatches[{number}]");
            errors.extend(validate_operation(operation, class, &field));
        }
        let field = format!("{path}.definitions[{at}].selector");
        errors.extend(validate_selector(&definition.selector, class, &field));
    }
    if patch.external {
        let field = format!("{path}.external");
        let set = |name: &str| !text(source, &["external", name]).is_empty();
        if !set("validateTopologyExtension") && !set("generatePatchesExtension") {
            let detail = "one of validateTopologyExtension and generatePatchesExtension must be \
                          defined";
            errors.push(FieldError::invalid(&field, detail));
        }
    }
    errors
}

fn parses(template: &Parsed, field: &str) -> Option<FieldError> {
    let error = template.template.as_ref().err()?;
    Some(FieldError::invalid(field, format!("template can not be parsed: {}", error.message)))
}

fn validate_operation(operation: &Operation, class: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let op = operation.op.as_str();
    if !matches!(op, "add" | "replace" | "remove") {
        let field = format!("{path}.op");
        errors.push(FieldError::new(ErrorType::NotSupported, field, "unsupported operation"));
    }
    let field = format!("{path}.path");
    if !operation.path.source.starts_with("/spec") {
        let detail = "jsonPatch path must start with \"/spec\"";
        errors.push(FieldError::invalid(&field, detail));
    }
    for segment in operation.path.source.split('/') {
        let Ok(index) = segment.parse::<i64>() else { continue };
        if op == "add" && index != 0 {
            let detail = "arrays can only be accessed using \"0\" (prepend) or \"-\" (append)";
            errors.push(FieldError::invalid(&field, detail));
        }
        if op == "replace" || op == "remove" {
            let detail = format!("elements in arrays can not be accessed in a {op} operation");
            errors.push(FieldError::invalid(&field, detail));
        }
    }
    if op == "add" || op == "replace" {
        errors.extend(validate_value(&operation.value, class, path));
    }
    errors
}

fn validate_value(value: &Source, class: &Value, path: &str) -> Option<FieldError> {
    match value {
        Source::Literal(_) => None,
        Source::Wrong(why) if why.starts_with(".valueFrom") => {
            Some(FieldError::invalid(format!("{path}.valueFrom"), *why))
        }
        Source::Wrong(why) => Some(FieldError::invalid(path, *why)),
        Source::Template(template) => parses(template, &format!("{path}.valueFrom.template")),
        Source::Variable(variable) => {
            let field = format!("{path}.valueFrom.variable");
            if let Some(builtin) = variable.strip_prefix("builtin.") {
                let known = BUILTINS.contains(&builtin) || is_worker_builtin(builtin);
                return (!known).then(|| FieldError::invalid(field, "not a defined builtin variable"));
            }
            let name = variable.split(['[', '.']).find(|part| !part.is_empty());
            let known =
                list(class, &["spec", "variables"]).iter().any(|one| Some(text(one, &["name"])) == name);
            let detail = format!("variable with name {variable} cannot be found");
            (!known).then(|| FieldError::invalid(field, detail))
        }
    }
}

fn is_worker_builtin(builtin: &str) -> bool {
    ["machineDeployment", "machinePool"]
        .iter()
        .filter_map(|kind| builtin.strip_prefix(kind))
        .any(|rest| WORKER_BUILTINS.contains(&rest))
}

fn validate_selector(selector: &Selector, class: &Value, path: &str) -> Vec<FieldError> {
    let named = |names: &Option<Vec<String>>| names.iter().flatten().next().is_some();
    let workers = named(&selector.machine_deployments) || named(&selector.machine_pools);
    if !selector.infrastructure_cluster && !selector.control_plane && !workers {
        return vec![FieldError::invalid(path, "no selector enabled")];
    }
    let resources = format!("{path}.matchResources");
    let matches = |owner: &Value, reference: &[&str]| {
        get(owner, reference).is_some_and(|reference| {
            text(reference, &["kind"]) == selector.kind
                && text(reference, &["apiVersion"]) == selector.api_version
        })
    };
    let mut errors = Vec::new();
    if selector.infrastructure_cluster && !matches(class, &["spec", "infrastructure", "templateRef"]) {
        let field = format!("{resources}.infrastructureCluster");
        let detail = "selector is enabled but does not match the infrastructure ref";
        errors.push(FieldError::invalid(field, detail));
    }
    let control_plane = matches(class, &["spec", "controlPlane", "templateRef"])
        || matches(class, &["spec", "controlPlane", "machineInfrastructure", "templateRef"]);
    if selector.control_plane && !control_plane {
        let field = format!("{resources}.controlPlane");
        let detail = "selector is enabled but matches neither the controlPlane ref nor its \
                      machineInfrastructure ref";
        errors.push(FieldError::invalid(field, detail));
    }
    for (names, resource, kind) in [
        (&selector.machine_deployments, "machineDeploymentClass", "machineDeployments"),
        (&selector.machine_pools, "machinePoolClass", "machinePools"),
    ] {
        let classes = list(class, &["spec", "workers", kind]);
        for (at, name) in names.iter().flatten().enumerate() {
            let field = format!("{resources}.{resource}.names[{at}]");
            if let Some(why) = wrong_name(name) {
                errors.push(FieldError::invalid(field, why));
                break;
            }
            let found = classes.iter().any(|class| {
                class_matches(name, text(class, &["class"]))
                    && (matches(class, &["infrastructure", "templateRef"])
                        || matches(class, &["bootstrap", "templateRef"]))
            });
            if !found {
                let detail = "selector is enabled but matches neither the bootstrap ref nor the \
                              infrastructure ref of a class";
                errors.push(FieldError::invalid(field, detail));
            }
        }
    }
    errors
}

fn wrong_name(name: &str) -> Option<&'static str> {
    if !name.contains('*') {
        return None;
    }
    if name.matches('*').count() > 1 {
        return Some("selector can at most contain a single \"*\" rune");
    }
    if !name.starts_with('*') && !name.ends_with('*') {
        return Some("\"*\" rune can only appear at the beginning, or ending of the selector");
    }
    let plain = name.replace('*', "a");
    let fits = crate::name_syntax::is_label_value(plain.rsplit('/').next().unwrap_or_default());
    (!fits).then_some("selector does not comply with the Kubernetes naming standards")
}
