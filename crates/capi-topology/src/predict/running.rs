//! Running objects, with the fields that the webhooks of Cluster API's own kinds fill in.
//!
//! Source: the `Default` functions of `core/webhooks/admission` and
//! `controlplane/kubeadm/webhooks/admission`.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::contract::{AUTOSCALER_MAX, AUTOSCALER_MIN, Contract, PAUSED};
use crate::convert;
use crate::desired::instant;
use k8s_schema::value::{get, present, set, text, version};

/// The object in its stored form, after its kind's defaulting webhook. Comparisons and validation use this form.
pub fn with_defaults(object: &Value, running: Option<&Value>) -> Value {
    let mut object = stored(object).into_owned();
    match text(&object, &["kind"]) {
        "KubeadmControlPlane" => control_plane(&mut object),
        "MachineDeployment" => deployment(&mut object, running),
        "MachinePool" => {
            replicas(&mut object, running);
            let timeout = ["spec", "template", "spec", "deletion", "nodeDeletionTimeoutSeconds"];
            default(&mut object, &timeout, json!(10));
            machine_version(&mut object);
        }
        _ => {}
    }
    object
}

/// The object in its stored version. One that cannot be converted is refused when it is written.
pub(super) fn stored(object: &Value) -> Cow<'_, Value> {
    let mut stored = convert::to_stored(object).unwrap_or(Cow::Borrowed(object));
    if text(object, &["kind"]) == "MachineDeployment" && version(text(object, &["apiVersion"])) == "v1beta1" {
        let rollout = convert::rollout_of_deployment(get(object, &["spec"]).unwrap_or(&Value::Null));
        for (name, value) in rollout.as_object().into_iter().flatten() {
            set(stored.to_mut(), &["spec", name], value.clone());
        }
    }
    stored
}

fn default(object: &mut Value, path: &[&str], value: Value) {
    if present(object, path).is_none() {
        set(object, path, value);
    }
}

fn control_plane(object: &mut Value) {
    default(object, &["spec", "replicas"], json!(1));
    prefixed(object, &["spec", "version"]);
    set(object, &["spec", "rollout", "strategy", "type"], json!("RollingUpdate"));
    let surge = ["spec", "rollout", "strategy", "rollingUpdate", "maxSurge"];
    default(object, &surge, json!(1));
    // The webhook decodes the object and writes all of it, including values from the class's template.
    if let Some(after) = present(object, Contract::ROLLOUT_AFTER).map(instant) {
        set(object, Contract::ROLLOUT_AFTER, after);
    }
}

fn machine_version(object: &mut Value) {
    let version = ["spec", "template", "spec", "version"];
    if !text(object, &version).is_empty() {
        prefixed(object, &version);
    }
}

/// Adds the `v` to a version that lacks it.
fn prefixed(object: &mut Value, path: &[&str]) {
    let version = text(object, path);
    if !version.starts_with('v') {
        let version = json!(format!("v{version}"));
        set(object, path, version);
    }
}

fn deployment(object: &mut Value, running: Option<&Value>) {
    replicas(object, running);
    machine_version(object);
    let strategy = ["spec", "rollout", "strategy", "type"];
    default(object, &strategy, json!("RollingUpdate"));
    if text(object, &strategy) == "RollingUpdate" {
        let update = ["spec", "rollout", "strategy", "rollingUpdate"];
        for (field, value) in [("maxSurge", 1), ("maxUnavailable", 0)] {
            let mut path = update.to_vec();
            path.push(field);
            default(object, &path, json!(value));
        }
    }
}

/// Reports whether a Cluster or one of its objects is paused, so that controllers ignore it.
///
/// Source: `util/annotations/helpers.go`, `IsPaused`.
pub(crate) fn is_paused(object: &Value) -> bool {
    get(object, &["spec", "paused"]) == Some(&Value::Bool(true))
        || get(object, &["metadata", "annotations", PAUSED]).is_some()
}

/// Reports whether a pool has a size range for an autoscaler.
pub(super) fn is_autoscaled(object: &Value) -> bool {
    bound(object, AUTOSCALER_MIN).is_some() && bound(object, AUTOSCALER_MAX).is_some()
}

fn bound(object: &Value, annotation: &str) -> Option<i64> {
    text(object, &["metadata", "annotations", annotation]).parse().ok()
}

/// Adds the values that webhooks filled in earlier: no field manager owns them, so no apply removes them.
///
/// Source: `core/webhooks/admission/machinedeployment.go`, `Default` and `calculateMachineDeploymentReplicas`;
/// `machinepool.go`, `calculateMachinePoolReplicas`. Other fields that they fill in have only one default, so keeping them
/// and filling them in again have the same result.
pub(super) fn with_filled(desired: &Value, running: &Value, applied: &Value) -> Value {
    let mut merged = desired.clone();
    let update = ["spec", "rollout", "strategy", "rollingUpdate"];
    let [surge, unavailable] = ["maxSurge", "maxUnavailable"].map(|field| [&update[..], &[field]].concat());
    for path in [&["spec", "replicas"][..], &surge, &unavailable] {
        let is_filled = present(applied, path).is_none() && present(desired, path).is_none();
        if let (true, Some(value)) = (is_filled, present(running, path)) {
            set(&mut merged, path, value.clone());
        }
    }
    merged
}

/// Sets replicas that were left open: within the autoscaler's range, or one.
fn replicas(object: &mut Value, running: Option<&Value>) {
    if present(object, &["spec", "replicas"]).is_some() {
        return;
    }
    let count = match (bound(object, AUTOSCALER_MIN), bound(object, AUTOSCALER_MAX)) {
        (Some(least), Some(most)) => {
            let before =
                running.and_then(|running| get(running, &["spec", "replicas"])).and_then(Value::as_i64);
            match before {
                Some(before) if before > most => most,
                Some(before) if before >= least => before,
                _ => least,
            }
        }
        _ => 1,
    };
    set(object, &["spec", "replicas"], json!(count));
}
