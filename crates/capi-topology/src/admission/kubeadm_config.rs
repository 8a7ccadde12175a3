//! The webhooks of the kubeadm bootstrap provider: files, users and formats.
//!
//! Source: `bootstrap/kubeadm/webhooks/admission/kubeadmconfig.go`.

use serde_json::Value;

use super::checks;
use super::kubeadm_types::is_defined;
use crate::gates::{self, Gates};
use crate::refusal::FieldError;
use k8s_schema::value::{get, list, present, text};

/// The path of the kubeadm config in a kind; none for other kinds.
fn config_path(kind: &str) -> Option<&'static [&'static str]> {
    Some(match kind {
        "KubeadmConfig" => &["spec"],
        "KubeadmConfigTemplate" => &["spec", "template", "spec"],
        "KubeadmControlPlane" => &["spec", "kubeadmConfigSpec"],
        "KubeadmControlPlaneTemplate" => &["spec", "template", "spec", "kubeadmConfigSpec"],
        _ => return None,
    })
}

/// Errors in the kubeadm config of an object, if it has one.
pub(crate) fn validate(object: &Value, gates: Gates) -> Vec<FieldError> {
    let kind = text(object, &["kind"]);
    let Some(path) = config_path(kind) else { return Vec::new() };
    let none = Value::Null;
    let config = get(object, path).unwrap_or(&none);
    let path = path.join(".");
    let mut errors = files(config, &path);
    errors.extend(users(config, &path));
    errors.extend(ignition(config, &path, gates));
    errors.extend(disk_setup(config, &path));
    let user = ["joinConfiguration", "discovery", "file", "kubeConfig", "user"];
    let user = get(config, &user).unwrap_or(&none);
    if is_defined(user, &["authProvider"]) && is_defined(user, &["exec"]) {
        let field = format!("{path}.joinConfiguration.discovery.file.kubeconfig.user");
        let detail = "only one of authProvider or exec must be defined";
        errors.push(FieldError::invalid(field, detail));
    }
    if kind.starts_with("KubeadmControlPlane") {
        errors.extend(timeouts(config, &path));
    }
    if kind.ends_with("Template") {
        let template = get(object, &["spec", "template"]).unwrap_or(&none);
        errors.extend(checks::metadata(template, "spec.template.metadata"));
    }
    errors
}

fn files(config: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let files = list(config, &["files"]);
    for (at, file) in files.iter().enumerate() {
        let field = format!("{path}.files[{at}]");
        let from = get(file, &["contentFrom"]).filter(|_| is_defined(file, &["contentFrom"]));
        if from.is_some() && !text(file, &["content"]).is_empty() {
            let detail = "only one of content or contentFrom may be specified for a file";
            errors.push(FieldError::invalid(&field, detail));
        }
        errors.extend(secret(from, &format!("{field}.contentFrom")));
        let own = text(file, &["path"]);
        if files.iter().take(at).any(|one| text(one, &["path"]) == own) {
            let detail = "path property must be unique among all files";
            errors.push(FieldError::invalid(format!("{field}.path"), detail));
        }
    }
    errors
}

fn users(config: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (at, user) in list(config, &["users"]).iter().enumerate() {
        let field = format!("{path}.users[{at}]");
        let from = get(user, &["passwdFrom"]).filter(|_| is_defined(user, &["passwdFrom"]));
        if from.is_some() && !text(user, &["passwd"]).is_empty() {
            let detail = "only one of passwd or passwdFrom may be specified for a user";
            errors.push(FieldError::invalid(&field, detail));
        }
        errors.extend(secret(from, &format!("{field}.passwdFrom")));
    }
    errors
}

fn secret(from: Option<&Value>, path: &str) -> Vec<FieldError> {
    let Some(from) = from else { return Vec::new() };
    ["name", "key"]
        .into_iter()
        .filter(|name| text(from, &["secret", name]).is_empty())
        .map(|name| {
            let detail = "secret file source must specify name and key";
            FieldError::required(format!("{path}.secret.{name}"), detail)
        })
        .collect()
}

/// Errors in Ignition settings: Ignition needs a feature gate and does not support every field.
fn ignition(config: &Value, path: &str, gates: Gates) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (format, set) = (text(config, &["format"]), is_defined(config, &["ignition"]));
    if !gates.ignition {
        if format == "ignition" {
            errors.push(gates::IGNITION.error(format!("{path}.format")));
        }
        if set {
            errors.push(gates::IGNITION.error(format!("{path}.ignition")));
        }
        return errors;
    }
    if format != "ignition" {
        let detail = "must be set to \"ignition\" if spec.ignition is set";
        return set.then(|| FieldError::invalid(format!("{path}.format"), detail)).into_iter().collect();
    }
    let mut refuse = |field: String| {
        let detail = "not supported when spec.format is set to \"ignition\"";
        errors.push(FieldError::forbidden(format!("{path}.{field}"), detail));
    };
    let each = |path: &[&str]| list(config, path).iter().enumerate();
    for (at, _) in each(&["users"]).filter(|(_, one)| get(one, &["inactive"]) == Some(&Value::Bool(true))) {
        refuse(format!("users[{at}].inactive"));
    }
    for (at, file) in each(&["files"]) {
        if matches!(text(file, &["encoding"]), "gzip" | "gzip+base64") {
            refuse(format!("files[{at}].encoding"));
        }
    }
    if present(config, &["bootCommands"]).is_some() {
        refuse("bootCommands".to_owned());
    }
    for (at, filesystem) in each(&["diskSetup", "filesystems"]) {
        for field in ["replaceFS", "partition"] {
            if !text(filesystem, &[field]).is_empty() {
                refuse(format!("diskSetup.filesystems[{at}].{field}"));
            }
        }
    }
    for (at, partition) in each(&["diskSetup", "partitions"]) {
        if !matches!(text(partition, &["tableType"]), "" | "gpt") {
            let field = format!("{path}.diskSetup.partitions[{at}].tableType");
            errors.push(FieldError::invalid(field, "Ignition supports only partition tables of type gpt"));
        }
    }
    errors
}

fn disk_setup(config: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (at, partition) in list(config, &["diskSetup", "partitions"]).iter().enumerate() {
        let percentage = |one: &Value| get(one, &["percentage"]).and_then(Value::as_i64).unwrap_or_default();
        if list(partition, &["diskLayout"]).iter().map(percentage).sum::<i64>() > 100 {
            let field = format!("{path}.diskSetup.partitions[{at}].diskLayout");
            let detail = "the sum of all partition percentages must not be greater than 100";
            errors.push(FieldError::invalid(field, detail));
        }
    }
    errors
}

/// Requires the same health check timeout of control plane components for init and join.
fn timeouts(config: &Value, path: &str) -> Vec<FieldError> {
    let field = "controlPlaneComponentHealthCheckSeconds";
    let of = |configuration| present(config, &[configuration, "timeouts", field]);
    if of("initConfiguration") == of("joinConfiguration") {
        return Vec::new();
    }
    let detail = "must be set to the same value in initConfiguration and joinConfiguration";
    ["initConfiguration", "joinConfiguration"]
        .map(|one| FieldError::invalid(format!("{path}.{one}.timeouts.{field}"), detail))
        .into()
}
