//! Selects the validating webhook for each of Cluster API's kinds.

use serde_json::Value;

use super::{kubeadm_config, kubeadm_control_plane, kubeadm_control_plane_template, workers};
use crate::convert;
use crate::gates::Gates;
use crate::refusal::FieldError;
use k8s_schema::value::text;

/// Lists what a webhook refuses of an object that is written, after its defaults; `running` is the object before. Kinds
/// without a webhook of Cluster API pass. Classes and Clusters have their own functions, because they depend on other
/// objects.
pub fn validate(object: &Value, running: Option<&Value>, gates: Gates) -> Vec<FieldError> {
    let unread =
        |error| vec![FieldError::invalid("spec", format!("it cannot be converted to v1beta2: {error}"))];
    let object = match convert::to_stored(object) {
        Ok(object) => object,
        Err(error) => return unread(error),
    };
    let running = match running.map(convert::to_stored).transpose() {
        Ok(running) => running,
        Err(error) => return unread(error),
    };
    let running = running.as_deref();
    match (text(&object, &["kind"]), running) {
        ("KubeadmControlPlane", _) => kubeadm_control_plane::validate(&object, running, gates),
        ("KubeadmControlPlaneTemplate", None) => {
            kubeadm_control_plane_template::validate_create(&object, gates)
        }
        ("KubeadmControlPlaneTemplate", Some(before)) => {
            kubeadm_control_plane_template::validate_update(&object, before).into_iter().collect()
        }
        ("MachineDeployment", _) => workers::deployment(&object, running, gates),
        ("MachinePool", _) => workers::pool(&object, running, gates),
        _ => kubeadm_config::validate(&object, gates),
    }
}
