//! Running objects of the topology controller: which of their fields it set, and which others set.

use serde_json::{Map, Value};

use super::applied::{TOPOLOGY, identified, is_leaf, kept, owned};
use crate::convert::is_own;
use crate::schemas::source_schema;
use k8s_schema::value::{get, list, present, set, text, version};

/// An object that the topology controller made, split by who set its fields.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ControllerObject {
    /// The fields that the controller applied: the desired object when it was last written.
    pub own: Value,
    /// The same, with what others set in its spec, labels and annotations.
    pub whole: Value,
    /// Fields that others set: they stay even if the controller also applied them and no longer does.
    pub others: Value,
}

impl ControllerObject {
    /// Reads an object; none if it is being deleted, or if managed fields in its version do not show who set what.
    ///
    /// Source: `core/reconcilers/topology/cluster/structuredmerge` (the manager's name; it applies, and never updates).
    pub(super) fn of(object: &Value) -> Option<Self> {
        if present(object, &["metadata", "deletionTimestamp"]).is_some() {
            return None;
        }
        let is_topology =
            |one: &&Value| text(one, &["manager"]) == TOPOLOGY && text(one, &["operation"]) == "Apply";
        let is_same = |one: &Value| text(one, &["apiVersion"]) == text(object, &["apiVersion"]);
        let (own, others): (Vec<&Value>, Vec<&Value>) =
            list(object, &["metadata", "managedFields"]).iter().partition(is_topology);
        if own.is_empty() || !own.iter().all(|one| is_same(one)) {
            return None;
        }
        let schema = source_schema(text(object, &["kind"])).filter(|_| is_own(object) && is_current(object));
        let own: Vec<&Value> = own.into_iter().filter_map(|one| one.get("fieldsV1")).collect();
        let theirs = others.iter().filter(|one| is_same(one)).filter_map(|one| one.get("fieldsV1"));
        let theirs: Vec<Value> = theirs.map(|set| comparable(set, schema.is_some())).collect();
        let theirs: Vec<&Value> = theirs.iter().filter(|set| !is_leaf(set)).collect();
        let others: Vec<&Value> = others.into_iter().filter_map(|one| one.get("fieldsV1")).collect();
        let mut made = identified(object, owned(object, &own));
        without_others(&mut made, &own, &others);
        let mut whole = identified(object, together(object, &own, &theirs));
        for field in ["name", "namespace"] {
            let value = get(object, &["metadata", field]).cloned().unwrap_or_default();
            set(&mut made, &["metadata", field], value.clone());
            set(&mut whole, &["metadata", field], value);
        }
        let others = if theirs.is_empty() { Value::Null } else { kept(object, &theirs, schema, false) };
        Some(Self { own: made, whole, others })
    }

    /// Applies a function to each of the three values.
    pub(super) fn map(self, change: impl Fn(Value) -> Value) -> Self {
        Self { own: change(self.own), whole: change(self.whole), others: change(self.others) }
    }
}

/// Reports whether an object's version is the one whose schemas, including their lists, are known.
fn is_current(object: &Value) -> bool {
    version(text(object, &["apiVersion"])) == "v1beta2"
}

/// The fields of a set that the topology controller compares. List items count only if a schema tells how the list is
/// merged.
///
/// Source: `defaultAllowedPaths` of `core/reconcilers/topology/cluster/structuredmerge/options.go`.
fn comparable(fields: &Value, has_schema: bool) -> Value {
    let mut kept = Value::Object(Map::new());
    for path in [&["f:spec"][..], &["f:metadata", "f:labels"], &["f:metadata", "f:annotations"]] {
        if let Some(inner) = present(fields, path) {
            let inner = if has_schema { inner.clone() } else { without_items(inner).unwrap_or_default() };
            if inner.is_object() {
                set(&mut kept, path, inner);
            }
        }
    }
    kept
}

/// A field set without list items; none if nothing is left.
fn without_items(fields: &Value) -> Option<Value> {
    let Some(all) = fields.as_object().filter(|all| !all.is_empty()) else { return Some(fields.clone()) };
    let is_item = |name: &str| name.starts_with("k:") || name.starts_with("v:");
    if all.keys().any(|name| is_item(name)) {
        return None;
    }
    let inner = all.iter().filter_map(|(name, inner)| Some((name.clone(), without_items(inner)?)));
    let inner: Map<String, Value> = inner.collect();
    (!inner.is_empty()).then_some(Value::Object(inner))
}

fn has_fields(set: &Value) -> bool {
    set.as_object().is_some_and(|fields| !fields.is_empty())
}

/// Empties maps that were applied empty. Managed fields show them like maps that are a single value, but only in a map that
/// was applied empty can others own fields.
fn without_others(value: &mut Value, own: &[&Value], others: &[&Value]) {
    for (name, inner) in value.as_object_mut().into_iter().flatten() {
        let key = format!("f:{name}");
        let own: Vec<&Value> = own.iter().filter_map(|set| set.get(&key)).collect();
        let others: Vec<&Value> = others.iter().filter_map(|set| set.get(&key)).collect();
        if inner.is_object()
            && !own.iter().all(|set| has_fields(set))
            && others.iter().any(|set| has_fields(set))
        {
            *inner = Value::Object(Map::new());
        }
        without_others(inner, &own, &others);
    }
}

/// The part of a value that either of two groups of sets names.
fn together(value: &Value, own: &[&Value], others: &[&Value]) -> Value {
    let (Value::Object(fields), true) = (value, others.iter().any(|set| has_fields(set))) else {
        let all: Vec<&Value> = own.iter().chain(others).copied().collect();
        return owned(value, &all);
    };
    let of = |sets: &[&'_ Value], name: &str| -> Vec<Value> {
        sets.iter().filter_map(|set| set.get(format!("f:{name}")).cloned()).collect()
    };
    let kept = fields.iter().filter_map(|(name, inner)| {
        let (own, others) = (of(own, name), of(others, name));
        let [own, others]: [Vec<&Value>; 2] = [own.iter().collect(), others.iter().collect()];
        (!own.is_empty() || !others.is_empty()).then(|| (name.clone(), together(inner, &own, &others)))
    });
    Value::Object(kept.collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(manager: &str, operation: &str, fields: &Value) -> Value {
        json!({ "manager": manager, "operation": operation, "apiVersion": "x.io/v1", "fieldsV1": fields })
    }

    #[test]
    fn the_controllers_own_fields_are_distinguished_from_others() {
        let object = json!({
            "apiVersion": "x.io/v1", "kind": "XCluster",
            "metadata": { "name": "one", "uid": "1", "labels": { "ours": "", "theirs": "" }, "managedFields": [
                entry("capi-topology", "Apply", &json!({ "f:metadata": { "f:labels": { "f:ours": {} } }, "f:spec": {} })),
                entry("x", "Update", &json!({ "f:metadata": { "f:labels": { "f:theirs": {} }, "f:finalizers": {} }, "f:spec": { "f:endpoint": {} } })),
            ] },
            "spec": { "endpoint": "10.0.0.1", "filledIn": true },
        });
        let expected = json!({
            "apiVersion": "x.io/v1", "kind": "XCluster",
            "metadata": { "name": "one", "namespace": null, "labels": { "ours": "" } },
            "spec": {},
        });
        let made = ControllerObject::of(&object).unwrap();
        assert_eq!(made.own, expected);
        assert_eq!(made.whole["spec"], json!({ "endpoint": "10.0.0.1" }));
        assert_eq!(made.whole["metadata"]["labels"], json!({ "ours": "", "theirs": "" }));
        let others =
            json!({ "metadata": { "labels": { "theirs": "" } }, "spec": { "endpoint": "10.0.0.1" } });
        assert_eq!(made.others, others);
        let mut other = object.clone();
        other["apiVersion"] = json!("x.io/v2");
        assert_eq!(ControllerObject::of(&other), None);
        other = object.clone();
        other["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert_eq!(ControllerObject::of(&other), None);
    }

    #[test]
    fn items_that_others_set_of_a_list_of_an_unknown_kind_do_not_count() {
        let fields = json!({ "f:spec": { "f:list": { "k:{\"name\":\"a\"}": { "f:x": {} } }, "f:whole": {}, "f:one": { "f:x": {} } } });
        assert_eq!(
            comparable(&fields, false),
            json!({ "f:spec": { "f:whole": {}, "f:one": { "f:x": {} } } })
        );
        assert_eq!(comparable(&fields, true), fields);
        let only = json!({ "f:spec": { "f:list": { "v:1": {} } }, "f:status": { "f:ready": {} } });
        assert_eq!(comparable(&only, false), json!({}));
    }
}
