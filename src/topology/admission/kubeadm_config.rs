//! The kubeadm bootstrap provider's webhooks: files, users, formats.
//!
//! Source: `bootstrap/kubeadm/webhooks/admission/kubeadmconfig.go`.

use serde_json::Value;

use super::checks;
use super::gates::Gates;
use crate::topology::convert;
use crate::topology::fault::FieldError;
use crate::topology::value::{get, list, present, text};

/// Where a kind keeps its kubeadm config; none for other kinds.
fn config_path(kind: &str) -> Option<&'static [&'static str]> {
    Some(match kind {
        "KubeadmConfig" => &["spec"],
        "KubeadmConfigTemplate" => &["spec", "template", "spec"],
        "KubeadmControlPlane" => &["spec", "kubeadmConfigSpec"],
        "KubeadmControlPlaneTemplate" => &["spec", "template", "spec", "kubeadmConfigSpec"],
        _ => return None,
    })
}

/// Errors of the kubeadm config in an object, if it has one.
pub fn validate(object: &Value, gates: Gates) -> Vec<FieldError> {
    let stored = match convert::to_stored(object) {
        Ok(stored) => stored,
        Err(error) => {
            return vec![FieldError::invalid("spec", format!("it cannot be converted to v1beta2: {error}"))];
        }
    };
    let object = &stored;
    let kind = text(object, &["kind"]);
    let Some(path) = config_path(kind) else { return Vec::new() };
    let none = Value::Null;
    let config = get(object, path).unwrap_or(&none);
    let path = path.join(".");
    let mut errors = files(config, &path);
    errors.extend(users(config, &path));
    let gate = "can be set only if the KubeadmBootstrapFormatIgnition feature gate is enabled";
    if text(config, &["format"]) == "ignition" && !gates.ignition {
        errors.push(FieldError::forbidden(format!("{path}.format"), gate));
    }
    if present(config, &["ignition"]).is_some() && !gates.ignition {
        errors.push(FieldError::forbidden(format!("{path}.ignition"), gate));
    }
    let user = ["joinConfiguration", "discovery", "file", "kubeConfig", "user"];
    let user = get(config, &user).unwrap_or(&none);
    if present(user, &["authProvider"]).is_some() && present(user, &["exec"]).is_some() {
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
        let from = present(file, &["contentFrom"]);
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
        let from = present(user, &["passwdFrom"]);
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

/// The time that a control plane component may take must be the same for both ways to begin.
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
