//! The webhook of `KubeadmControlPlane`, with the rules that it shares with the template's webhook.
//!
//! Source: `controlplane/kubeadm/webhooks/admission/kubeadmcontrolplane.go`.

use std::cmp::Ordering;
use std::num::IntErrorKind;

use serde_json::Value;

use super::kubeadm_types::{is_defined, printed};
use super::{checks, kubeadm_cluster_configuration as cluster_configuration, kubeadm_config};
use crate::gates::Gates;
use crate::names::Named;
use crate::refusal::{ErrorType, FieldError};
use crate::upgrade::version::Version;
use k8s_schema::value::{get, leaves, merge_patch, path_matches, present, text};

/// The validity of Cluster API's certificate authorities, in days (`util/secret/certificates.go`).
const CA_DAYS: i64 = 3650;

/// Fields below `spec` that an update may change. A star stands for everything below.
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

/// Errors in a control plane, after its defaults, and in its change if it is already running.
pub(crate) fn validate(control_plane: &Value, running: Option<&Value>, gates: Gates) -> Vec<FieldError> {
    let none = Value::Null;
    let of = |object| get(object, &["spec"]).unwrap_or(&none);
    let mut errors = spec(of(control_plane), gates);
    if let Some(running) = running {
        errors.extend(changed_fields(of(control_plane), of(running)));
        errors.extend(version_change(control_plane, running));
        errors.extend(cluster_configuration::validate_core_dns(control_plane, running));
    }
    let configuration = |object| cluster_configuration::of(object, &["spec"]);
    errors.extend(cluster_configuration::validate(
        configuration(control_plane),
        running.map(configuration),
        "spec.kubeadmConfigSpec.clusterConfiguration",
    ));
    errors.extend(kubeadm_config::validate(control_plane, gates));
    errors
}

/// Source: `validateKubeadmControlPlaneSpec`.
fn spec(spec: &Value, gates: Gates) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let replicas = get(spec, &["replicas"]).and_then(Value::as_i64);
    match replicas {
        None => errors.push(FieldError::required("spec.replicas", "is required")),
        Some(count) if count <= 0 => {
            errors.push(FieldError::forbidden("spec.replicas", "cannot be less than or equal to 0"));
        }
        _ => {}
    }
    let external = ["kubeadmConfigSpec", "clusterConfiguration", "etcd", "external"];
    if !is_defined(spec, &external) && replicas.is_some_and(|count| count % 2 == 0) {
        let detail = "cannot be an even number when etcd is stacked";
        errors.push(FieldError::forbidden("spec.replicas", detail));
    }
    for part in ["apiGroup", "kind", "name"] {
        if text(spec, &["machineTemplate", "spec", "infrastructureRef", part]).is_empty() {
            let field = format!("spec.machineTemplate.infrastructure.{part}");
            errors.push(FieldError::invalid(field, "cannot be empty"));
        }
    }
    let version = text(spec, &["version"]);
    errors.extend(checks::machine_version(version, "spec.version"));
    errors.extend(shared(spec, replicas, "spec", gates));
    errors
}

/// The checks shared by a control plane and its template; `path` is the path of the spec.
///
/// Source: `validateKubeadmControlPlaneTemplateResourceSpec` of `kubeadmcontrolplanetemplate.go`.
pub(super) fn shared(spec: &Value, replicas: Option<i64>, path: &str, gates: Gates) -> Vec<FieldError> {
    let machine = get(spec, &["machineTemplate"]).unwrap_or(&Value::Null);
    let machine_spec = get(machine, &["spec"]).unwrap_or(&Value::Null);
    let mut errors = checks::taints(machine_spec, &format!("{path}.machineTemplate.spec.taints"), gates);
    errors.extend(checks::metadata(machine, &format!("{path}.machineTemplate.metadata")));
    if is_defined(spec, &["rollout", "strategy"]) {
        errors.extend(strategy(spec, replicas, path));
        errors.extend(certificates(spec, path));
    }
    let template = text(spec, &["machineNaming", "template"]);
    let named = Named::KubeadmControlPlane("kubeadmcontrolplane");
    errors.extend(checks::machine_naming(template, named, &format!("{path}.machineNaming.template")));
    errors
}

/// Source: `validateRolloutAndCertValidityFields`, the strategy.
fn strategy(spec: &Value, replicas: Option<i64>, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let path = format!("{path}.rollout.strategy");
    if text(spec, &["rollout", "strategy", "type"]) != "RollingUpdate" {
        let detail = "only RollingUpdate is supported";
        errors.push(FieldError::required(format!("{path}.type"), detail));
    }
    let surge = present(spec, &["rollout", "strategy", "rollingUpdate", "maxSurge"]).map(int_value);
    if surge == Some(0) && replicas.is_some_and(|count| count < 3) {
        let detail =
            "when KubeadmControlPlane is configured to scale-in, replica count needs to be at least 3";
        errors.push(FieldError::required(format!("{path}.rollingUpdate"), detail));
    }
    if surge.is_some_and(|surge| surge != 0 && surge != 1) {
        errors.push(FieldError::required(format!("{path}.rollingUpdate.maxSurge"), "value must be 1 or 0"));
    }
    errors
}

/// Converts a number or text like `IntOrString.IntValue`: text that is not a number becomes 0.
fn int_value(value: &Value) -> i64 {
    match value.as_str().map(str::parse::<i64>) {
        None => value.as_i64().unwrap_or_default(),
        Some(Ok(number)) => number,
        Some(Err(error)) => match error.kind() {
            IntErrorKind::PosOverflow => i64::MAX,
            IntErrorKind::NegOverflow => i64::MIN,
            _ => 0,
        },
    }
}

/// Source: `validateRolloutAndCertValidityFields`, the certificates.
fn certificates(spec: &Value, path: &str) -> Vec<FieldError> {
    let days = |path: &[&str]| get(spec, path).and_then(Value::as_i64).unwrap_or_default();
    let configuration = |field| days(&["kubeadmConfigSpec", "clusterConfiguration", field]);
    let valid = configuration("certificateValidityPeriodDays");
    if valid == 0 {
        return Vec::new();
    }
    let mut errors = Vec::new();
    let authority = match configuration("caCertificateValidityPeriodDays") {
        0 => CA_DAYS,
        days => days,
    };
    if valid > authority {
        let field = format!("{path}.kubeadmConfigSpec.clusterConfiguration.certificateValidityPeriodDays");
        let detail = format!("must be less than or equal to caCertificateValidityPeriodDays ({authority})");
        errors.push(FieldError::invalid(field, detail));
    }
    let before = days(&["rollout", "before", "certificatesExpiryDays"]);
    if before != 0 && before >= valid {
        let detail = format!("must be less than certificateValidityPeriodDays ({valid})");
        errors.push(FieldError::invalid(format!("{path}.rollout.before.certificatesExpiryDays"), detail));
    }
    errors
}

/// Errors for changed fields that are immutable.
///
/// Source: `ValidateUpdate`, over a merge patch of both as Go prints them.
fn changed_fields(new: &Value, old: &Value) -> Vec<FieldError> {
    let printed = |spec| printed(spec).unwrap_or_else(|| Value::Object(serde_json::Map::new()));
    let mut changed = Vec::new();
    leaves(&merge_patch(&printed(old), &printed(new)), &mut Vec::new(), &mut changed);
    changed.sort();
    let frozen =
        changed.iter().filter(|path| !MUTABLE.iter().any(|allowed| path_matches(allowed, path.as_slice())));
    frozen
        .map(|path| FieldError::forbidden(format!("spec.{}", path.join(".")), "cannot be modified"))
        .collect()
}

/// Source: `validateVersion`.
fn version_change(new: &Value, old: &Value) -> Option<FieldError> {
    let field = "spec.version";
    let [before, after] = [old, new].map(|object| text(object, &["spec", "version"]));
    let unread =
        |version| FieldError::new(ErrorType::Internal, field, format!("version {version:?} cannot be read"));
    let Some(from) = Version::tolerant(before) else { return Some(unread(before)) };
    let Some(to) = Version::tolerant(after) else { return Some(unread(after)) };
    let skips = to.without_pre_release().compare(&from.ceiling()) != Ordering::Less;
    let detail = format!("cannot update Kubernetes version from {before} to {after}");
    skips.then(|| FieldError::forbidden(field, detail))
}
