//! What Cluster API's kubeadm providers find different, and what their webhooks let change.
//!
//! Source: `controlplane/kubeadm/pkg/filters.go`, `…/pkg/desiredstate/desired_state.go`,
//! `controlplane/kubeadm/webhooks/admission/kubeadmcontrolplane.go` and
//! `bootstrap/kubeadm/webhooks/admission/kubeadmconfigtemplate.go`.

use std::cmp::Ordering;

use serde_json::{Map, Value, json};

use super::running::stored;
use crate::topology::fault::FieldError;
use crate::topology::upgrade::version::Version;
use crate::topology::value::{get, merge_patch, present, remove, same, set, text};

/// Below `spec` of a `KubeadmControlPlane`: what an update may change. A star stands for
/// everything below.
const MUTABLE: &[&str] = &[
    "kubeadmConfigSpec.clusterConfiguration.etcd",
    "kubeadmConfigSpec.clusterConfiguration.etcd.*",
    "kubeadmConfigSpec.clusterConfiguration.dns",
    "kubeadmConfigSpec.clusterConfiguration.dns.*",
    "kubeadmConfigSpec.clusterConfiguration.imageRepository",
    "kubeadmConfigSpec.clusterConfiguration.featureGates",
    "kubeadmConfigSpec.clusterConfiguration.featureGates.*",
    "kubeadmConfigSpec.clusterConfiguration.apiServer",
    "kubeadmConfigSpec.clusterConfiguration.apiServer.*",
    "kubeadmConfigSpec.clusterConfiguration.controllerManager",
    "kubeadmConfigSpec.clusterConfiguration.controllerManager.*",
    "kubeadmConfigSpec.clusterConfiguration.scheduler",
    "kubeadmConfigSpec.clusterConfiguration.scheduler.*",
    "kubeadmConfigSpec.clusterConfiguration.certificateValidityPeriodDays",
    "kubeadmConfigSpec.clusterConfiguration.encryptionAlgorithm",
    "kubeadmConfigSpec.initConfiguration.nodeRegistration",
    "kubeadmConfigSpec.initConfiguration.nodeRegistration.*",
    "kubeadmConfigSpec.initConfiguration.patches",
    "kubeadmConfigSpec.initConfiguration.patches.directory",
    "kubeadmConfigSpec.initConfiguration.skipPhases",
    "kubeadmConfigSpec.initConfiguration.bootstrapTokens",
    "kubeadmConfigSpec.initConfiguration.localAPIEndpoint",
    "kubeadmConfigSpec.initConfiguration.localAPIEndpoint.*",
    "kubeadmConfigSpec.initConfiguration.timeouts",
    "kubeadmConfigSpec.initConfiguration.timeouts.*",
    "kubeadmConfigSpec.joinConfiguration.nodeRegistration",
    "kubeadmConfigSpec.joinConfiguration.nodeRegistration.*",
    "kubeadmConfigSpec.joinConfiguration.patches",
    "kubeadmConfigSpec.joinConfiguration.patches.directory",
    "kubeadmConfigSpec.joinConfiguration.skipPhases",
    "kubeadmConfigSpec.joinConfiguration.caCertPath",
    "kubeadmConfigSpec.joinConfiguration.controlPlane",
    "kubeadmConfigSpec.joinConfiguration.controlPlane.*",
    "kubeadmConfigSpec.joinConfiguration.discovery",
    "kubeadmConfigSpec.joinConfiguration.discovery.*",
    "kubeadmConfigSpec.joinConfiguration.timeouts",
    "kubeadmConfigSpec.joinConfiguration.timeouts.*",
    "kubeadmConfigSpec.bootCommands",
    "kubeadmConfigSpec.preKubeadmCommands",
    "kubeadmConfigSpec.postKubeadmCommands",
    "kubeadmConfigSpec.files",
    "kubeadmConfigSpec.verbosity",
    "kubeadmConfigSpec.users",
    "kubeadmConfigSpec.ntp",
    "kubeadmConfigSpec.ntp.*",
    "kubeadmConfigSpec.ignition",
    "kubeadmConfigSpec.ignition.*",
    "kubeadmConfigSpec.diskSetup",
    "kubeadmConfigSpec.diskSetup.*",
    "kubeadmConfigSpec.format",
    "kubeadmConfigSpec.mounts",
    "machineTemplate.metadata",
    "machineTemplate.metadata.*",
    "machineTemplate.spec",
    "machineTemplate.spec.*",
    "replicas",
    "version",
    "remediation",
    "remediation.*",
    "machineNaming",
    "machineNaming.*",
    "rollout",
    "rollout.*",
];

/// Errors of a `KubeadmControlPlane`, and of its change where it runs already.
pub fn validate(control_plane: &Value, running: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let replicas = get(control_plane, &["spec", "replicas"]).and_then(Value::as_i64);
    let etcd = ["spec", "kubeadmConfigSpec", "clusterConfiguration", "etcd", "external"];
    let external = present(control_plane, &etcd).is_some();
    match replicas {
        Some(count) if count <= 0 => {
            let detail = "cannot be less than or equal to 0";
            errors.push(FieldError::forbidden("spec.replicas", detail));
        }
        _ => {}
    }
    if !external && replicas.is_some_and(|count| count % 2 == 0) {
        let detail = "cannot be an even number when etcd is stacked";
        errors.push(FieldError::forbidden("spec.replicas", detail));
    }
    let surge = ["spec", "rollout", "strategy", "rollingUpdate", "maxSurge"];
    let field = surge.join(".");
    match get(control_plane, &surge).and_then(Value::as_i64) {
        Some(surge) if surge != 0 && surge != 1 => {
            errors.push(FieldError::required(field, "value must be 1 or 0"));
        }
        Some(0) if replicas.is_some_and(|count| count < 3) => {
            let detail = "when KubeadmControlPlane is configured to scale-in, replica count needs \
                          to be at least 3";
            errors.push(FieldError::required("spec.rollout", detail));
        }
        _ => {}
    }
    if let Some(running) = running {
        errors.extend(validate_change(control_plane, running, external));
    }
    errors
}

fn validate_change(new: &Value, old: &Value, external: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let none = Value::Null;
    let spec = |object| get(object, &["spec"]).unwrap_or(&none);
    let mut changed = Vec::new();
    leaves(&merge_patch(spec(old), spec(new)), &mut Vec::new(), &mut changed);
    changed.sort();
    for path in changed {
        if !MUTABLE.iter().any(|allowed| path_matches(allowed, &path)) {
            let field = format!("spec.{}", path.join("."));
            errors.push(FieldError::forbidden(field, "cannot be modified"));
        }
    }
    let version = |object| Version::tolerant(text(object, &["spec", "version"]));
    if let (Some(from), Some(to)) = (version(old), version(new))
        && to.without_pre_release().compare(&from.ceiling()) != Ordering::Less
    {
        let detail = format!("cannot update Kubernetes version from {from} to {to}");
        errors.push(FieldError::forbidden("spec.version", detail));
    }
    let etcd = ["spec", "kubeadmConfigSpec", "clusterConfiguration", "etcd", "external"];
    if present(old, &etcd).is_some() != external {
        let detail = "cannot change between external and local etcd";
        errors.push(FieldError::forbidden(etcd.join("."), detail));
    }
    errors
}

/// The paths of all leaves of a merge patch.
pub fn leaves(patch: &Value, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    for (key, value) in patch.as_object().into_iter().flatten() {
        path.push(key.clone());
        if value.is_object() {
            leaves(value, path, found);
        } else {
            found.push(path.clone());
        }
        path.pop();
    }
}

/// Whether a path is one that a pattern allows; a star at the end allows everything below.
pub fn path_matches(allowed: &str, path: &[String]) -> bool {
    let allowed: Vec<&str> = allowed.split('.').collect();
    for (at, key) in path.iter().enumerate() {
        match allowed.get(at) {
            None => break,
            Some(&"*") => return true,
            Some(expected) if expected != key => return false,
            Some(_) => {}
        }
    }
    path.len() == allowed.len()
}

/// The spec of a template as it is compared: `KubeadmConfigTemplate`s with the defaults that
/// earlier versions wrote into them.
pub fn comparable_spec(template: &Value) -> Value {
    let mut spec = get(&stored(template), &["spec"]).cloned().unwrap_or_default();
    if text(template, &["kind"]) == "KubeadmConfigTemplate"
        && let Some(inner) = spec.pointer_mut("/template/spec")
    {
        previous_defaults(inner);
    }
    spec
}

/// The spec of a `KubeadmControlPlaneTemplate` as its webhook compares it.
pub fn control_plane_template_spec(template: &Value) -> Value {
    let mut spec = get(&stored(template), &["spec", "template", "spec"]).cloned().unwrap_or_default();
    if let Some(config) = spec.get_mut("kubeadmConfigSpec") {
        previous_defaults(config);
    }
    without_empty(&spec).unwrap_or_default()
}

/// Defaults that earlier versions of Cluster API wrote into a `KubeadmConfigSpec`.
fn previous_defaults(spec: &mut Value) {
    let mut default = |path: &[&str], value: &str| {
        if text(spec, path).is_empty() {
            set(spec, path, json!(value));
        }
    };
    default(&["format"], "cloud-config");
    default(&["initConfiguration", "nodeRegistration", "imagePullPolicy"], "IfNotPresent");
    default(&["joinConfiguration", "nodeRegistration", "imagePullPolicy"], "IfNotPresent");
    let exec = ["joinConfiguration", "discovery", "file", "kubeConfig", "user", "exec"];
    if present(spec, &exec).is_some() {
        let mut path = exec.to_vec();
        path.push("apiVersion");
        if text(spec, &path).is_empty() {
            set(spec, &path, json!("client.authentication.k8s.io/v1"));
        }
    }
}

/// Whose `KubeadmConfig` is outdated after a change of a control plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outdated {
    /// That of the machine made by kubeadm init.
    pub init: bool,
    /// Those of the machines that joined.
    pub joined: bool,
}

/// Compares the `KubeadmConfig`s of running machines with those that would be made now.
pub fn outdated(before: &Value, after: &Value) -> Outdated {
    let joined = !same(&for_diff(&config(before, true), after), &for_diff(&config(after, true), after));
    let init_as_join = {
        let current = as_join(&config(before, false), &config(after, true));
        !same(&for_diff(&current, after), &for_diff(&config(after, true), after))
    };
    let init = init_as_join
        && !same(&for_diff(&config(before, false), after), &for_diff(&config(after, false), after));
    Outdated { init, joined }
}

/// The `KubeadmConfig` of a new machine.
fn config(control_plane: &Value, join: bool) -> Value {
    let mut spec = get(control_plane, &["spec", "kubeadmConfigSpec"]).cloned().unwrap_or_else(|| json!({}));
    if join {
        remove(&mut spec, &["initConfiguration"]);
        if present(&spec, &["joinConfiguration", "controlPlane"]).is_none() {
            set(&mut spec, &["joinConfiguration", "controlPlane"], json!({}));
        }
    } else {
        remove(&mut spec, &["joinConfiguration"]);
    }
    let version = Version::tolerant(text(control_plane, &["spec", "version"]));
    let gated = version.is_some_and(|version| version.major == 1 && (31..36).contains(&version.minor));
    let gate = ["clusterConfiguration", "featureGates", "ControlPlaneKubeletLocalMode"];
    if gated && get(&spec, &gate).is_none() {
        set(&mut spec, &gate, json!(true));
    }
    spec
}

/// The first machine's config as if it had joined.
fn as_join(init: &Value, desired: &Value) -> Value {
    let mut spec = init.clone();
    let from = get(init, &["initConfiguration"]).cloned().unwrap_or_default();
    for field in ["timeouts", "patches", "skipPhases", "nodeRegistration"] {
        if let Some(value) = present(&from, &[field]) {
            set(&mut spec, &["joinConfiguration", field], value.clone());
        }
    }
    let mut control_plane = json!({});
    if let Some(endpoint) = present(&from, &["localAPIEndpoint"]) {
        set(&mut control_plane, &["localAPIEndpoint"], endpoint.clone());
    }
    set(&mut spec, &["joinConfiguration", "controlPlane"], control_plane);
    let path = ["joinConfiguration", "caCertPath"];
    if let Some(value) = present(desired, &path) {
        set(&mut spec, &path, value.clone());
    }
    remove(&mut spec, &["initConfiguration"]);
    spec
}

/// A config without what never replaces a machine.
fn for_diff(config: &Value, desired: &Value) -> Value {
    let mut spec = config.clone();
    for field in ["controlPlaneEndpoint", "dns"] {
        let path = ["clusterConfiguration", field];
        remove(&mut spec, &path);
        let full = ["spec", "kubeadmConfigSpec", "clusterConfiguration", field];
        if let Some(value) = present(desired, &full) {
            set(&mut spec, &path, value.clone());
        }
    }
    previous_defaults(&mut spec);
    remove(&mut spec, &["joinConfiguration", "discovery"]);
    for configuration in ["initConfiguration", "joinConfiguration"] {
        let field = "controlPlaneComponentHealthCheckSeconds";
        remove(&mut spec, &[configuration, "timeouts", field]);
    }
    without_empty(&spec).unwrap_or_else(|| json!({}))
}

/// A value without what Go leaves out: empty lists and maps, save taints, where empty means
/// something, and the marker that a machine joins.
fn without_empty(value: &Value) -> Option<Value> {
    match value {
        Value::Object(fields) => {
            let kept: Map<String, Value> = fields
                .iter()
                .filter_map(|(key, value)| {
                    let kept = match key.as_str() {
                        "taints" => Some(value.clone()).filter(|value| !value.is_null()),
                        "controlPlane" => Some(without_empty(value).unwrap_or_else(|| json!({}))),
                        _ => without_empty(value),
                    };
                    Some((key.clone(), kept?))
                })
                .collect();
            (!kept.is_empty()).then_some(Value::Object(kept))
        }
        Value::Array(items) if items.is_empty() => None,
        Value::Array(items) => {
            Some(items.iter().map(|item| without_empty(item).unwrap_or_else(|| json!({}))).collect())
        }
        Value::Null => None,
        Value::String(text) if text.is_empty() => None,
        _ => Some(value.clone()),
    }
}
