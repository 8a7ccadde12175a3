//! The differences that Cluster API's kubeadm providers detect.
//!
//! Source: `controlplane/kubeadm/pkg/filters.go`, `…/pkg/desiredstate/desired_state.go` and
//! `bootstrap/kubeadm/webhooks/admission/kubeadmconfigtemplate.go`.

use serde_json::{Value, json};

use crate::admission::kubeadm_types::{dropped, previous_defaults};
use crate::predict::running::stored;
use crate::upgrade::version::Version;
use k8s_schema::value::{get, present, remove, same, set, text};

/// The spec of a template as it is compared: a `KubeadmConfigTemplate` gets the defaults that earlier versions wrote into
/// it.
pub(in crate::predict) fn comparable_spec(template: &Value) -> Value {
    let mut spec = get(&stored(template), &["spec"]).cloned().unwrap_or_default();
    if text(template, &["kind"]) == "KubeadmConfigTemplate"
        && let Some(inner) = spec.pointer_mut("/template/spec")
    {
        previous_defaults(inner);
    }
    spec
}

/// The machines whose `KubeadmConfig` is outdated after a change of a control plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::predict) struct Outdated {
    /// The machine created by kubeadm init.
    pub init: bool,
    /// The machines that joined.
    pub joined: bool,
}

/// Compares the `KubeadmConfig`s of running machines with those that would be generated now.
pub(in crate::predict) fn outdated(before: &Value, after: &Value) -> Outdated {
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

/// The first machine's config, converted as if the machine had joined.
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

/// A config without the settings that never cause a machine to be replaced.
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
    dropped(&spec).unwrap_or_else(|| json!({}))
}
