//! The webhook of `KubeadmControlPlaneTemplate`.
//!
//! Source: `controlplane/kubeadm/webhooks/admission/kubeadmcontrolplanetemplate.go`.

use serde_json::{Value, json};

use super::kubeadm_types::{decoded, is_defined, previous_defaults};
use super::{kubeadm_cluster_configuration as cluster_configuration, kubeadm_config, kubeadm_control_plane};
use crate::gates::{self, Gates};
use crate::refusal::FieldError;
use k8s_schema::value::{get, same, set};

const SPEC: [&str; 3] = ["spec", "template", "spec"];

pub(crate) fn validate_create(template: &Value, gates: Gates) -> Vec<FieldError> {
    if gates.no_topology {
        return vec![gates::TOPOLOGY.error("spec")];
    }
    let path = SPEC.join(".");
    let spec = get(template, &SPEC).unwrap_or(&Value::Null);
    let mut errors = kubeadm_control_plane::shared(spec, None, &path, gates);
    let configuration = cluster_configuration::of(template, &SPEC);
    let path = format!("{path}.kubeadmConfigSpec.clusterConfiguration");
    errors.extend(cluster_configuration::validate(configuration, None, &path));
    errors.extend(kubeadm_config::validate(template, gates));
    errors
}

/// Errors in a change: `spec.template.spec` is immutable; nothing else is checked.
pub(crate) fn validate_update(template: &Value, before: &Value) -> Option<FieldError> {
    let (mut new, mut old) = (spec(template), spec(before));
    let strategy = ["rollout", "strategy"];
    let was_default = get(&old, &["rollout", "strategy", "type"]) == Some(&json!("RollingUpdate"))
        && get(&old, &["rollout", "strategy", "rollingUpdate", "maxSurge"]) == Some(&json!(1));
    if was_default && !is_defined(&new, &strategy) {
        // Versions of Cluster API before 1.11 wrote this default into templates.
        if let Some(default) = get(&old, &strategy).cloned() {
            set(&mut new, &strategy, default);
        }
    }
    for side in [&mut new, &mut old] {
        *side = decoded(side).unwrap_or_default();
    }
    let detail = "the field is immutable: give the template another name";
    (!same(&old, &new)).then(|| FieldError::invalid(SPEC.join("."), detail))
}

fn spec(template: &Value) -> Value {
    let mut spec = get(template, &SPEC).cloned().unwrap_or_else(|| json!({}));
    if get(&spec, &["kubeadmConfigSpec"]).is_none() {
        set(&mut spec, &["kubeadmConfigSpec"], json!({}));
    }
    if let Some(config) = spec.get_mut("kubeadmConfigSpec") {
        previous_defaults(config);
    }
    spec
}
