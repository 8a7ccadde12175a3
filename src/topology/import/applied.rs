//! Who wrote a live Cluster: what a later apply takes away depends on it.

use serde_json::{Map, Value};

use super::renamed::renamed;
use crate::topology::convert;
use crate::topology::value::{get, list, present, set, text, version};

pub(super) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// What is known of what was applied before.
#[derive(Debug, Clone, PartialEq)]
pub enum Applied {
    /// The object is a file that someone applies, and no live object.
    File,
    /// The object is live, and this is what was applied; the rest was filled in by others.
    Known(Value),
    /// The object is live, and nothing says who wrote what.
    Unknown,
}

impl Applied {
    /// Looks at the marks that the API server leaves.
    pub(super) fn of(object: &Value) -> Self {
        let live =
            ["resourceVersion", "uid"].iter().any(|mark| present(object, &["metadata", mark]).is_some());
        if !live {
            return Self::File;
        }
        let managers = list(object, &["metadata", "managedFields"]);
        // The topology controller applies, too: labels and references, nothing of the topology.
        let applying = managers
            .iter()
            .filter(|one| text(one, &["operation"]) == "Apply" && text(one, &["manager"]) != TOPOLOGY);
        let entries: Vec<(&str, &Value)> = applying
            .filter_map(|one| Some((version(text(one, &["apiVersion"])), get(one, &["fieldsV1"])?)))
            .collect();
        if !entries.is_empty() {
            return applied_by(object, &entries).map_or(Self::Unknown, Self::Known);
        }
        let last = text(object, &["metadata", "annotations", LAST_APPLIED]);
        let applied: Option<Value> = serde_json::from_str(last).ok();
        let stored = applied.filter(|one| is_known(version(text(one, &["apiVersion"]))));
        match stored.map(|one| convert::to_stored(&one)) {
            Some(Ok(applied)) => Self::Known(applied),
            _ => Self::Unknown,
        }
    }

    /// Whether the object came from an API server.
    pub fn is_live(&self) -> bool {
        !matches!(self, Self::File)
    }
}

/// What the topology controller applied of an object that runs: the desired object as it was when it was last written. None
/// where managed fields do not tell that in the version that the object has, or where the object is being deleted.
///
/// Source: `core/reconcilers/topology/cluster/structuredmerge` (the manager's name; it applies, and never updates).
pub(super) fn made(object: &Value) -> Option<Value> {
    if present(object, &["metadata", "deletionTimestamp"]).is_some() {
        return None;
    }
    let is_own = |one: &&Value| text(one, &["manager"]) == TOPOLOGY && text(one, &["operation"]) == "Apply";
    let (own, others): (Vec<&Value>, Vec<&Value>) =
        list(object, &["metadata", "managedFields"]).iter().partition(is_own);
    let is_same = |one: &&Value| text(one, &["apiVersion"]) == text(object, &["apiVersion"]);
    if own.is_empty() || !own.iter().all(is_same) {
        return None;
    }
    let own: Vec<&Value> = own.into_iter().filter_map(|one| one.get("fieldsV1")).collect();
    let others: Vec<&Value> = others.into_iter().filter_map(|one| one.get("fieldsV1")).collect();
    let mut made = identified(object, owned(object, &own));
    without_others(&mut made, &own, &others);
    for field in ["name", "namespace"] {
        set(&mut made, &["metadata", field], get(object, &["metadata", field]).cloned().unwrap_or_default());
    }
    Some(made)
}

const TOPOLOGY: &str = "capi-topology";

/// An object that was applied empty is owned as a whole, as one that is one value is; in the first alone others can have fields.
fn without_others(value: &mut Value, own: &[&Value], others: &[&Value]) {
    for (name, inner) in value.as_object_mut().into_iter().flatten() {
        let key = format!("f:{name}");
        let own: Vec<&Value> = own.iter().filter_map(|set| set.get(&key)).collect();
        let others: Vec<&Value> = others.iter().filter_map(|set| set.get(&key)).collect();
        let has_fields = |set: &&Value| set.as_object().is_some_and(|fields| !fields.is_empty());
        if inner.is_object() && !own.iter().all(has_fields) && others.iter().any(has_fields) {
            *inner = Value::Object(Map::new());
        }
        without_others(inner, &own, &others);
    }
}

/// Versions whose fields are known; where an entry tells none, it is that of the object.
fn is_known(version: &str) -> bool {
    matches!(version, "" | "v1beta1" | "v1beta2")
}

/// What managers applied, each in a version of its own; none where it cannot be known.
fn applied_by(object: &Value, entries: &[(&str, &Value)]) -> Option<Value> {
    let own = version(text(object, &["apiVersion"]));
    if entries.iter().all(|(version, _)| version.is_empty() || *version == own) {
        let fields: Vec<&Value> = entries.iter().map(|(_, fields)| *fields).collect();
        return Some(identified(object, owned(object, &fields)));
    }
    if text(object, &["kind"]) != "Cluster" || !entries.iter().all(|(version, _)| is_known(version)) {
        return None;
    }
    let stored = convert::to_stored(object).ok()?;
    let fields: Vec<Value> = entries
        .iter()
        .map(|(version, fields)| match if version.is_empty() { own } else { version } {
            "v1beta1" => renamed(fields),
            _ => (*fields).clone(),
        })
        .collect();
    Some(identified(&stored, owned(&stored, &fields.iter().collect::<Vec<_>>())))
}

/// Type and name belong to every apply, and to no manager.
fn identified(object: &Value, mut fields: Value) -> Value {
    if let Some(fields) = fields.as_object_mut() {
        for name in ["apiVersion", "kind"] {
            fields.insert(name.to_owned(), object.get(name).cloned().unwrap_or_default());
        }
    }
    fields
}

/// The part of a value that sets of fields name.
fn owned(value: &Value, sets: &[&Value]) -> Value {
    let inner = |key: &str| -> Vec<&Value> { sets.iter().filter_map(|set| set.get(key)).collect() };
    let leaf = sets.iter().any(|set| set.as_object().is_some_and(Map::is_empty));
    match value {
        _ if leaf => value.clone(),
        Value::Object(fields) => {
            let kept = fields.iter().filter_map(|(name, value)| {
                let sets = inner(&format!("f:{name}"));
                (!sets.is_empty()).then(|| (name.clone(), owned(value, &sets)))
            });
            Value::Object(kept.collect())
        }
        Value::Array(items) => {
            let kept = items.iter().filter_map(|item| {
                let sets: Vec<&Value> = sets.iter().flat_map(|set| naming(item, set)).collect();
                (!sets.is_empty()).then(|| owned(item, &sets))
            });
            Value::Array(kept.collect())
        }
        _ => value.clone(),
    }
}

/// The sets inside a set that name an item of a list: by its keys or by its value.
fn naming<'a>(item: &Value, set: &'a Value) -> Vec<&'a Value> {
    let names = |key: &str| match key.split_once(':') {
        Some(("k", keys)) => serde_json::from_str::<Map<String, Value>>(keys)
            .is_ok_and(|keys| keys.iter().all(|(name, value)| item.get(name) == Some(value))),
        Some(("v", value)) => serde_json::from_str::<Value>(value).is_ok_and(|value| *item == value),
        _ => false,
    };
    let all = set.as_object().into_iter().flatten();
    all.filter(|(key, _)| names(key)).map(|(_, inner)| inner).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn live(fields: &Value) -> Value {
        json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
            "metadata": { "name": "one", "uid": "1", "managedFields": [
                { "manager": "flux", "operation": "Apply", "fieldsV1": fields },
                { "manager": "capi-topology", "operation": "Apply", "fieldsV1": { "f:spec": {} } },
                { "manager": "manager", "operation": "Update", "fieldsV1": { "f:spec": {} } },
            ] },
            "spec": { "paused": true, "topology": { "version": "v1.35.0", "variables": [
                { "name": "a", "value": { "x": 1 } }, { "name": "b", "value": 2 },
            ] } },
        })
    }

    #[test]
    fn what_an_engine_applied_is_told_from_what_was_defaulted() {
        let applied = Applied::of(&live(&json!({ "f:spec": { "f:topology": {
            "f:version": {},
            "f:variables": { "k:{\"name\":\"a\"}": { ".": {}, "f:name": {}, "f:value": { "f:x": {} } } },
        } } })));
        let expected = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
            "spec": { "topology": {
                "version": "v1.35.0",
                "variables": [{ "name": "a", "value": { "x": 1 } }],
            } },
        });
        assert_eq!(applied, Applied::Known(expected));
    }

    #[test]
    fn without_marks_it_is_a_file_and_without_owners_unknown() {
        let mut object = live(&Value::Null);
        object["metadata"]["managedFields"] = Value::Null;
        assert_eq!(Applied::of(&object), Applied::Unknown);
        object["metadata"]["annotations"] = json!({ LAST_APPLIED: "{\"spec\":{}}" });
        assert_eq!(Applied::of(&object), Applied::Known(json!({ "spec": {} })));
        object["metadata"] = json!({ "name": "one" });
        assert_eq!(Applied::of(&object), Applied::File);
    }

    #[test]
    fn of_what_runs_only_the_controllers_own_fields_count() {
        let entry = |manager: &str, operation: &str, fields: Value| json!({ "manager": manager, "operation": operation, "apiVersion": "x.io/v1", "fieldsV1": fields });
        let object = json!({
            "apiVersion": "x.io/v1", "kind": "XCluster",
            "metadata": { "name": "one", "uid": "1", "labels": { "ours": "", "theirs": "" }, "managedFields": [
                entry("capi-topology", "Apply", json!({ "f:metadata": { "f:labels": { "f:ours": {} } }, "f:spec": {} })),
                entry("x", "Update", json!({ "f:metadata": { "f:labels": { "f:theirs": {} } }, "f:spec": { "f:endpoint": {} } })),
            ] },
            "spec": { "endpoint": "10.0.0.1" },
        });
        let expected = json!({
            "apiVersion": "x.io/v1", "kind": "XCluster",
            "metadata": { "name": "one", "namespace": null, "labels": { "ours": "" } },
            "spec": {},
        });
        assert_eq!(made(&object), Some(expected));
        let mut other = object.clone();
        other["apiVersion"] = json!("x.io/v2");
        assert_eq!(made(&other), None);
        other = object.clone();
        other["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert_eq!(made(&other), None);
    }
}
