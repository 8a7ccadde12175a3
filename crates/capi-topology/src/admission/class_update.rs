//! Checks of the `ClusterClass` webhook when a class changes that Clusters use.
//!
//! Source: `validate` of `core/webhooks/admission/clusterclass.go`.

use serde_json::Value;

use super::cluster::validate_autoscaler;
use super::compatibility;
use crate::class::class_key;
use crate::desired::health_check::is_defined;
use crate::refusal::FieldError;
use k8s_schema::value::{get, list, text};

/// Checks an update of a class against the Clusters that use it.
pub(crate) fn validate(class: &Value, old: &Value, clusters: &[Value]) -> Vec<FieldError> {
    let mut errors = compatibility::classes(old, class);
    let [namespace, name] = ["namespace", "name"].map(|field| text(old, &["metadata", field]));
    let uses = |cluster: &Value| {
        let (wanted, class) = class_key(cluster);
        class == name && (namespace.is_empty() || wanted == namespace)
    };
    let topologies: Vec<(&str, &Value)> = clusters
        .iter()
        .filter(|cluster| uses(cluster))
        .filter_map(|cluster| {
            let topology = get(cluster, &["spec", "topology"])?;
            Some((text(cluster, &["metadata", "name"]), topology))
        })
        .collect();
    let versions = list(class, &["spec", "kubernetesVersions"]);
    for (cluster, topology) in &topologies {
        let version = get(topology, &["version"]);
        if !versions.is_empty() && !versions.iter().any(|one| Some(one) == version) {
            let detail = format!("a version is used by Cluster {cluster:?} but not listed");
            errors.push(FieldError::forbidden("spec.kubernetesVersions", detail));
        }
    }
    for kind in ["machineDeployments", "machinePools"] {
        errors.extend(removed_classes(class, old, kind, &topologies));
    }
    errors.extend(dropped_health_checks(class, old, &topologies));
    for (_, topology) in &topologies {
        errors.extend(validate_autoscaler(topology, Some(class)));
    }
    errors
}

/// Reports whether the new version of a class removes, or may remove, something that a Cluster of the class uses.
pub(crate) fn asks_clusters(class: &Value, old: &Value) -> bool {
    let versions = |class| list(class, &["spec", "kubernetesVersions"]);
    let dropped = versions(old).iter().any(|one| !versions(class).contains(one));
    if !versions(class).is_empty() && (dropped || versions(old).is_empty()) {
        return true;
    }
    let own = |class| get(class, &["spec", "controlPlane", "healthCheck"]);
    if is_defined(own(old)) && !is_defined(own(class)) {
        return true;
    }
    ["machineDeployments", "machinePools"].into_iter().any(|kind| {
        let path = ["spec", "workers", kind];
        list(old, &path).iter().any(|before| {
            let is_same = |one: &&Value| text(one, &["class"]) == text(before, &["class"]);
            let Some(after) = list(class, &path).iter().find(is_same) else { return true };
            let check = |worker| is_defined(get(worker, &["healthCheck"]));
            let annotations = |worker| get(worker, &["metadata", "annotations"]).cloned();
            check(before) && !check(after) || annotations(before) != annotations(after)
        })
    })
}

fn removed_classes(class: &Value, old: &Value, kind: &str, topologies: &[(&str, &Value)]) -> Vec<FieldError> {
    let has = |owner: &Value, name: &str| {
        list(owner, &["spec", "workers", kind]).iter().any(|one| text(one, &["class"]) == name)
    };
    let mut errors = Vec::new();
    for (cluster, topology) in topologies {
        for worker in list(topology, &["workers", kind]) {
            let name = text(worker, &["class"]);
            if has(old, name) && !has(class, name) {
                let detail =
                    format!("class {name:?} cannot be deleted because it is used by Cluster {cluster:?}");
                errors.push(FieldError::forbidden(format!("spec.workers.{kind}"), detail));
            }
        }
    }
    errors
}

/// Health checks of a class must stay if a Cluster enables them without defining its own.
fn dropped_health_checks(class: &Value, old: &Value, topologies: &[(&str, &Value)]) -> Vec<FieldError> {
    let defined = |owner: Option<&Value>| is_defined(owner.and_then(|owner| get(owner, &["healthCheck"])));
    let relies = |owner: Option<&Value>| {
        let on = owner.and_then(|owner| get(owner, &["healthCheck", "enabled"]));
        on.and_then(Value::as_bool) == Some(true) && !defined(owner)
    };
    let detail = "healthCheck cannot be deleted because it is used by Clusters";
    let mut errors = Vec::new();
    let own = |class| get(class, &["spec", "controlPlane"]);
    let used = topologies.iter().any(|(_, topology)| relies(get(topology, &["controlPlane"])));
    if defined(own(old)) && !defined(own(class)) && used {
        errors.push(FieldError::forbidden("spec.controlPlane.healthCheck", detail));
    }
    let path = ["spec", "workers", "machineDeployments"];
    for worker in list(class, &path) {
        let name = text(worker, &["class"]);
        let before = list(old, &path).iter().find(|one| text(one, &["class"]) == name);
        let used = topologies.iter().any(|(_, topology)| {
            list(topology, &["workers", "machineDeployments"])
                .iter()
                .any(|one| text(one, &["class"]) == name && relies(Some(one)))
        });
        if defined(before) && !defined(Some(worker)) && used {
            let field = format!("spec.workers.machineDeployments[{name}].healthCheck");
            errors.push(FieldError::forbidden(field, detail));
        }
    }
    errors
}
