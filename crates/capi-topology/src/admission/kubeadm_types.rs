//! Kubeadm objects as Go represents them. Empty values are omitted when printed (`omitempty`, `omitzero`), unless a pointer
//! or a map distinguishes them from absent ones.
//!
//! Source: the tags of `api/bootstrap/kubeadm/v1beta2/kubeadm_types.go`, `kubeadmconfig_types.go` and of
//! `api/controlplane/kubeadm/v1beta2/kubeadm_control_plane_types.go`.

use serde_json::{Map, Value, json};

use k8s_schema::value::{get, set, text};

/// Which empty values count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Empty {
    /// As printed by `encoding/json`: empty lists and maps are omitted, but a struct that contains one is not empty.
    Printed,
    /// As compared for rollouts: a struct that contains nothing but empty lists and maps is dropped.
    Dropped,
    /// As compared in memory: an empty list or map differs from an absent one.
    Decoded,
}

/// A value as Go prints it; none if nothing of it is left.
pub(crate) fn printed(value: &Value) -> Option<Value> {
    kept("", "", value, Empty::Printed)
}

/// A value as compared for a rollout; none if nothing of it is left.
///
/// Source: `controlplane/kubeadm/pkg/filters.go`, `dropOmittableFields`.
pub(crate) fn dropped(value: &Value) -> Option<Value> {
    kept("", "", value, Empty::Dropped)
}

/// A value as Go compares it in memory; none if nothing of it is left.
pub(crate) fn decoded(value: &Value) -> Option<Value> {
    kept("", "", value, Empty::Decoded)
}

/// Reports whether a struct is set, like upstream's `IsDefined`.
pub(crate) fn is_defined(object: &Value, path: &[&str]) -> bool {
    get(object, path).is_some_and(|value| decoded(value).is_some())
}

fn kept(parent: &str, key: &str, value: &Value, empty: Empty) -> Option<Value> {
    match (key, value) {
        (_, Value::Null) => None,
        ("labels" | "annotations" | "featureGates" | "config", Value::Object(fields)) => {
            (empty == Empty::Decoded || !fields.is_empty()).then(|| value.clone())
        }
        ("controlPlane", Value::Object(fields)) => Some(Value::Object(inside(key, fields, empty))),
        (_, Value::Object(fields)) => {
            let shown = inside(key, fields, empty);
            let is_set = !shown.is_empty()
                || empty == Empty::Printed && !inside(key, fields, Empty::Decoded).is_empty();
            is_set.then_some(Value::Object(shown))
        }
        (_, Value::Array(items)) => {
            let counts = empty == Empty::Decoded || matches!(key, "taints" | "extraEnvs");
            let item = |item: &Value| match item {
                Value::Object(fields) => Value::Object(inside(key, fields, empty)),
                _ => item.clone(),
            };
            (counts || !items.is_empty()).then(|| items.iter().map(item).collect())
        }
        ("value", Value::String(_)) if matches!(parent, "extraArgs" | "kubeletExtraArgs") => {
            Some(value.clone())
        }
        ("maxSurge", _) => Some(value.clone()),
        (_, Value::String(text)) if text.is_empty() => None,
        _ => Some(value.clone()),
    }
}

fn inside(parent: &str, fields: &Map<String, Value>, empty: Empty) -> Map<String, Value> {
    let kept = |(key, value): (&String, &Value)| Some((key.clone(), kept(parent, key, value, empty)?));
    fields.iter().filter_map(kept).collect()
}

/// Fills in the defaults that earlier versions of Cluster API wrote into a `KubeadmConfigSpec`.
///
/// Source: `ApplyPreviousKubeadmConfigDefaults` of `bootstrap/kubeadm/webhooks/admission/kubeadmconfigtemplate.go`.
pub(crate) fn previous_defaults(spec: &mut Value) {
    let mut default = |path: &[&str], value: &str| {
        if text(spec, path).is_empty() {
            set(spec, path, json!(value));
        }
    };
    default(&["format"], "cloud-config");
    default(&["initConfiguration", "nodeRegistration", "imagePullPolicy"], "IfNotPresent");
    default(&["joinConfiguration", "nodeRegistration", "imagePullPolicy"], "IfNotPresent");
    let exec = ["joinConfiguration", "discovery", "file", "kubeConfig", "user", "exec"];
    if is_defined(spec, &exec) {
        let mut path = exec.to_vec();
        path.push("apiVersion");
        if text(spec, &path).is_empty() {
            set(spec, &path, json!("client.authentication.k8s.io/v1"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_values_count_where_a_pointer_holds_them() {
        let spec = json!({
            "initConfiguration": { "nodeRegistration": { "taints": [], "kubeletExtraArgs": [] }, "patches": {} },
            "joinConfiguration": { "controlPlane": {}, "nodeRegistration": { "taints": [{ "key": "a", "value": "" }] } },
            "clusterConfiguration": { "apiServer": { "extraArgs": [{ "name": "a", "value": "" }] }, "featureGates": {} },
            "preKubeadmCommands": [""],
        });
        let expected = json!({
            "initConfiguration": { "nodeRegistration": { "taints": [] } },
            "joinConfiguration": { "controlPlane": {}, "nodeRegistration": { "taints": [{ "key": "a" }] } },
            "clusterConfiguration": { "apiServer": { "extraArgs": [{ "name": "a", "value": "" }] } },
            "preKubeadmCommands": [""],
        });
        assert_eq!(dropped(&spec), Some(expected));
        assert_eq!(printed(&json!({ "patches": { "directory": "" } })), None);
    }

    #[test]
    fn a_struct_with_an_empty_map_is_printed_as_an_empty_struct() {
        let spec =
            json!({ "clusterConfiguration": { "featureGates": {}, "dns": { "imageTag": "" } }, "ntp": {} });
        assert_eq!(printed(&spec), Some(json!({ "clusterConfiguration": {} })));
        assert_eq!(dropped(&spec), None);
    }

    #[test]
    fn in_memory_an_empty_list_is_not_the_one_that_is_absent() {
        let spec =
            json!({ "files": [], "machineTemplate": { "metadata": { "labels": {} } }, "diskSetup": {} });
        let expected = json!({ "files": [], "machineTemplate": { "metadata": { "labels": {} } } });
        assert_eq!(decoded(&spec), Some(expected));
    }
}
