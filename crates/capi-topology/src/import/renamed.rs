//! Moves the fields of a `v1beta1` Cluster to their places in `v1beta2`. Entries of managed fields keep the version in
//! which a manager writes, regardless of the version of an export.
//!
//! Source: `api/core/v1beta1/conversion.go`.

use serde_json::{Map, Value};

/// Converts a set of `v1beta1` fields to `v1beta2`.
pub(super) fn renamed(set: &Value) -> Value {
    inside(set, &["f:spec", "f:topology"], &topology)
}

/// Changes the value at a path.
fn inside(set: &Value, path: &[&str], alter: &dyn Fn(&Value) -> Value) -> Value {
    let Some((first, rest)) = path.split_first() else { return alter(set) };
    let mut set = set.clone();
    if let Some(part) = set.get_mut(*first) {
        *part = inside(part, rest, alter);
    }
    set
}

fn topology(old: &Value) -> Value {
    let mut new = moved(
        old,
        &[("f:class", &["f:classRef", "f:name"]), ("f:classNamespace", &["f:classRef", "f:namespace"])],
    );
    new = inside(&new, &["f:controlPlane"], &part);
    for workers in ["f:machineDeployments", "f:machinePools"] {
        new = inside(&new, &["f:workers", workers], &|all| match all.as_object() {
            Some(all) => all.iter().map(|(key, one)| (key.clone(), part(one))).collect(),
            None => all.clone(),
        });
    }
    new
}

/// Converts a control plane, machine deployment or machine pool. Health checks and strategies also changed their inner
/// form, so each of them counts as a whole.
fn part(old: &Value) -> Value {
    let in_flight = old.pointer("/f:strategy/f:remediation").is_some();
    let order = old.pointer("/f:strategy/f:rollingUpdate/f:deletePolicy").is_some();
    let mut new = moved(
        old,
        &[
            ("f:machineHealthCheck", &["f:healthCheck"]),
            ("f:strategy", &["f:rollout", "f:strategy"]),
            ("f:nodeDrainTimeout", &["f:deletion", "f:nodeDrainTimeoutSeconds"]),
            ("f:nodeVolumeDetachTimeout", &["f:deletion", "f:nodeVolumeDetachTimeoutSeconds"]),
            ("f:nodeDeletionTimeout", &["f:deletion", "f:nodeDeletionTimeoutSeconds"]),
        ],
    );
    if order {
        insert(&mut new, &["f:deletion", "f:order"]);
    }
    if in_flight && new.get("f:healthCheck").is_none() {
        insert(&mut new, &["f:healthCheck", "f:remediation", "f:maxInFlight"]);
    }
    new
}

fn moved(old: &Value, names: &[(&str, &[&str])]) -> Value {
    let mut new = old.clone();
    for (from, to) in names {
        if new.as_object_mut().and_then(|fields| fields.remove(*from)).is_some() {
            insert(&mut new, to);
        }
    }
    new
}

/// Adds a field as a whole.
fn insert(set: &mut Value, path: &[&str]) {
    let Some((first, rest)) = path.split_first() else { return };
    let Some(fields) = set.as_object_mut() else { return };
    let part = fields.entry((*first).to_owned()).or_insert_with(|| Value::Object(Map::new()));
    insert(part, rest);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_get_the_places_that_the_new_version_gives_them() {
        let old = json!({ "f:metadata": {}, "f:spec": { "f:topology": {
            "f:class": {}, "f:version": {},
            "f:workers": { "f:machineDeployments": { "k:{\"name\":\"md\"}": {
                ".": {}, "f:replicas": {}, "f:nodeDrainTimeout": {},
                "f:strategy": { "f:type": {}, "f:remediation": { "f:maxInFlight": {} } },
            } } },
        } } });
        let new = json!({ "f:metadata": {}, "f:spec": { "f:topology": {
            "f:classRef": { "f:name": {} }, "f:version": {},
            "f:workers": { "f:machineDeployments": { "k:{\"name\":\"md\"}": {
                ".": {}, "f:replicas": {}, "f:deletion": { "f:nodeDrainTimeoutSeconds": {} },
                "f:rollout": { "f:strategy": {} },
                "f:healthCheck": { "f:remediation": { "f:maxInFlight": {} } },
            } } },
        } } });
        assert_eq!(renamed(&old), new);
        let whole = json!({ "f:spec": {} });
        assert_eq!(renamed(&whole), whole);
    }
}
