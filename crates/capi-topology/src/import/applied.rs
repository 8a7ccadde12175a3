//! Who applied a live Cluster, which decides what a later apply removes.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::applier::Applier;
use super::renamed::renamed;
use crate::contract::LAST_APPLIED;
use crate::convert;
use crate::schemas::source_schema;
use k8s_schema::value::{get, list, present, text, version};

/// The field manager of the topology controller.
pub(super) const TOPOLOGY: &str = "capi-topology";

/// What is known about earlier applies.
#[derive(Debug, Clone, PartialEq)]
pub enum Applied {
    /// The object is a file that someone applies, not a live object.
    File,
    /// The object is live, and these managers may apply it again, each with what it applied; others filled in the rest.
    Known(Vec<Claim>),
    /// The object is live, but it is unknown who wrote what.
    Unknown,
}

/// What one manager applied, if it may apply the whole object again.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Claim {
    /// Who applies it, and how.
    pub by: Applier,
    /// Whether the user named the applier; otherwise, it is derived from the object.
    pub by_user: bool,
    /// Managers whose fields it takes over with its next apply.
    pub takes_over: Vec<String>,
    /// The fields it applied, as far as they still exist.
    pub part: Value,
    /// Fields that others set: they stay even if this manager also applied them and no longer does.
    pub others: Value,
}

impl Applied {
    /// Reads the marks that the API server leaves; `by` is the applier, if the user named one.
    pub(super) fn of(object: &Value, by: Option<&Applier>) -> Self {
        let live =
            ["resourceVersion", "uid"].iter().any(|mark| present(object, &["metadata", mark]).is_some());
        if !live {
            return Self::File;
        }
        match by {
            Some(by) => named_by_user(object, by).map_or(Self::Unknown, |claim| Self::Known(vec![claim])),
            None => claims(object).filter(|all| !all.is_empty()).map_or(Self::Unknown, Self::Known),
        }
    }

    /// Treats a file as applied by the applier that the user named.
    #[must_use]
    pub fn or_applied_by(self, by: Option<&Applier>, object: &Value) -> Self {
        match (self, by) {
            (Self::File, Some(by)) => Self::Known(vec![Claim { by_user: true, ..alone(by, object.clone()) }]),
            (applied, _) => applied,
        }
    }

    /// Reports whether the object came from an API server.
    pub fn is_live(&self) -> bool {
        !matches!(self, Self::File)
    }
}

/// The file that `kubectl apply` recorded as last applied.
fn last_applied(object: &Value) -> Option<Value> {
    let last = text(object, &["metadata", "annotations", LAST_APPLIED]);
    let applied: Value = serde_json::from_str(last).ok()?;
    if !is_known(version(text(&applied, &["apiVersion"]))) {
        return None;
    }
    convert::to_stored(&applied).ok().map(Cow::into_owned)
}

/// The claim of the applier that the user named, perhaps for its first apply; none if it cannot be known.
fn named_by_user(object: &Value, by: &Applier) -> Option<Claim> {
    let has_entries = !list(object, &["metadata", "managedFields"]).is_empty();
    let claim = match by {
        Applier::ClientSide(_) => alone(by, last_applied(object).unwrap_or(Value::Null)),
        Applier::ServerSide(_) if has_entries => server_side(by, object)?,
        // Without managed fields: what was applied client-side is taken over.
        Applier::ServerSide(_) => alone(by, last_applied(object)?),
    };
    Some(Claim { by_user: true, ..claim })
}

/// A claim for which nothing is known about others.
fn alone(by: &Applier, part: Value) -> Claim {
    Claim { by: by.clone(), by_user: false, takes_over: Vec::new(), part, others: Value::Null }
}

/// Source: `sigs.k8s.io/structured-merge-diff`, `merge/update.go`, `prune` and `addBackOwnedItems`.
fn server_side(by: &Applier, object: &Value) -> Option<Claim> {
    let entries = list(object, &["metadata", "managedFields"]);
    let (own, others): (Vec<&Value>, Vec<&Value>) = entries.iter().partition(|one| by.owns(one, object));
    let own = sets(&own);
    let part = applied_by(object, &own)?;
    // A manager that set only fields within another's list item does not remove the item.
    let renamed = in_stored(version(text(object, &["apiVersion"])), &own)?;
    let items = Value::Object(others_items(&renamed.iter().collect::<Vec<_>>()));
    let mut others = sets(&others);
    // An empty set would name the whole object.
    if !is_leaf(&items) {
        others.push(("v1beta2", &items));
    }
    let others = staying(object, &others)?;
    Some(Claim { by: by.clone(), by_user: false, takes_over: by.taken_over(object), part, others })
}

/// The list items in which the sets name fields, but that none of the sets owns as a whole.
fn others_items(sets: &[&Value]) -> Map<String, Value> {
    let keys: BTreeSet<&String> =
        sets.iter().filter_map(|set| set.as_object()).flat_map(|fields| fields.keys()).collect();
    let mut items = Map::new();
    for key in keys {
        let inner: Vec<&Value> = sets.iter().filter_map(|set| set.get(key)).collect();
        let mut kept = others_items(&inner);
        let has_item = |set: &&Value| is_leaf(set) || set.get(".").is_some();
        if let (Some(names), false) = (key.strip_prefix("k:"), inner.iter().any(has_item)) {
            let names: Map<String, Value> = serde_json::from_str(names).unwrap_or_default();
            let fields = names.keys().map(|name| format!("f:{name}"));
            kept.extend(fields.chain([".".to_owned()]).map(|name| (name, Value::Object(Map::new()))));
        }
        if !kept.is_empty() {
            items.insert(key.clone(), Value::Object(kept));
        }
    }
    items
}

/// The field sets of entries, each with its version.
fn sets<'a>(entries: &[&'a Value]) -> Vec<(&'a str, &'a Value)> {
    entries
        .iter()
        .filter_map(|one| Some((version(text(one, &["apiVersion"])), get(one, &["fieldsV1"])?)))
        .collect()
}

/// The claims of all managers that may apply the whole object again; none if they cannot be known. The topology controller
/// also applies, but nothing of the topology. A manager that applied neither class nor version did not write the whole
/// Cluster.
fn claims(object: &Value) -> Option<Vec<Claim>> {
    let entries = list(object, &["metadata", "managedFields"]);
    let applies = |one: &&Value| text(one, &["operation"]) == "Apply";
    let mut claims = Vec::new();
    for entry in entries.iter().filter(applies) {
        let manager = text(entry, &["manager"]);
        let by = Applier::ServerSide(manager.to_owned());
        if manager == TOPOLOGY || !by.owns(entry, object) {
            continue;
        }
        let claim = server_side(&by, object)?;
        let has = |field: &&str| claim.part.pointer(&format!("/spec/topology/{field}")).is_some();
        if ["classRef", "class", "version"].iter().any(has) {
            claims.push(claim);
        }
    }
    // If a server-side apply owns the annotation, the annotation is no sign of a client-side apply.
    let annotation = ["fieldsV1", "f:metadata", "f:annotations", &format!("f:{LAST_APPLIED}")];
    let is_kept = entries.iter().filter(applies).any(|one| get(one, &annotation).is_some());
    if let (Some(part), false) = (last_applied(object), is_kept && !claims.is_empty()) {
        claims.push(alone(&Applier::kubectl(), part));
    }
    Some(claims)
}

/// The fields of a running Cluster that these managers set, and that they keep when another no longer applies them.
fn staying(object: &Value, entries: &[(&str, &Value)]) -> Option<Value> {
    if text(object, &["kind"]) != "Cluster" {
        return Some(Value::Null);
    }
    let own = version(text(object, &["apiVersion"]));
    let stored = convert::to_stored(object).ok()?;
    let sets = in_stored(own, entries)?;
    Some(kept(&stored, &sets.iter().collect::<Vec<_>>(), source_schema("Cluster"), false))
}

/// The part of a value that stays. A schema field stays if anything in it is owned; a list item or map entry only if it is
/// owned itself.
pub(super) fn kept(value: &Value, sets: &[&Value], schema: Option<&Value>, free: bool) -> Value {
    if sets.iter().any(|set| is_leaf(set)) {
        return value.clone();
    }
    let is_own = |sets: &[&Value]| sets.iter().any(|set| is_leaf(set) || set.get(".").is_some());
    let inner = |field: &str| schema.and_then(|schema| schema.get(field)).filter(|inner| inner.is_object());
    match value {
        Value::Object(fields) => {
            let entries = inner("additionalProperties");
            let free = free
                || entries.is_some()
                || schema.is_some_and(|schema| schema.get("x-kubernetes-preserve-unknown-fields").is_some());
            let stays = fields.iter().filter_map(|(name, value)| {
                let sets: Vec<&Value> = sets.iter().filter_map(|set| set.get(format!("f:{name}"))).collect();
                let known = inner("properties").and_then(|all| all.get(name));
                let is_field = known.is_some() || !free;
                (is_own(&sets) || is_field && !sets.is_empty())
                    .then(|| (name.clone(), kept(value, &sets, known.or(entries), free && known.is_none())))
            });
            Value::Object(stays.collect())
        }
        Value::Array(items) => {
            let stays = items.iter().filter_map(|item| {
                let sets: Vec<&Value> = sets.iter().flat_map(|set| naming(item, set)).collect();
                is_own(&sets).then(|| kept(item, &sets, inner("items"), free))
            });
            Value::Array(stays.collect())
        }
        _ => value.clone(),
    }
}

pub(super) fn is_leaf(set: &Value) -> bool {
    set.as_object().is_some_and(Map::is_empty)
}

/// Reports whether the fields of a version are known. If an entry names no version, it has that of the object.
fn is_known(version: &str) -> bool {
    matches!(version, "" | "v1beta1" | "v1beta2")
}

/// The fields that managers applied, each in its own version; none if they cannot be known.
fn applied_by(object: &Value, entries: &[(&str, &Value)]) -> Option<Value> {
    let own = version(text(object, &["apiVersion"]));
    if entries.iter().all(|(version, _)| version.is_empty() || *version == own) {
        let fields: Vec<&Value> = entries.iter().map(|(_, fields)| *fields).collect();
        let separable = text(object, &["kind"]) == "Cluster";
        return Some(identified(object, part_of(object, &fields, separable)));
    }
    if text(object, &["kind"]) != "Cluster" {
        return None;
    }
    let stored = convert::to_stored(object).ok()?;
    let fields = in_stored(own, entries)?;
    Some(identified(&stored, part_of(&stored, &fields.iter().collect::<Vec<_>>(), true)))
}

/// Converts field sets of a Cluster to the stored version; none if one has an unknown version.
fn in_stored(own: &str, entries: &[(&str, &Value)]) -> Option<Vec<Value>> {
    let renaming = |(version, fields): &(&str, &Value)| match if version.is_empty() { own } else { version } {
        "v1beta1" => renamed(fields),
        _ => (*fields).clone(),
    };
    entries.iter().all(|(version, _)| is_known(version)).then(|| entries.iter().map(renaming).collect())
}

/// Adds apiVersion and kind, which are part of every apply and belong to no manager.
pub(super) fn identified(object: &Value, mut fields: Value) -> Value {
    if let Some(fields) = fields.as_object_mut() {
        for name in ["apiVersion", "kind"] {
            fields.insert(name.to_owned(), object.get(name).cloned().unwrap_or_default());
        }
    }
    fields
}

/// The part of a value that field sets name.
pub(super) fn owned(value: &Value, sets: &[&Value]) -> Value {
    part_of(value, sets, false)
}

/// Like [`owned`]. With `separable`, no map is `atomic`: a map that a set names without entries was applied empty, and
/// others filled it.
fn part_of(value: &Value, sets: &[&Value], separable: bool) -> Value {
    let inner = |key: &str| -> Vec<&Value> { sets.iter().filter_map(|set| set.get(key)).collect() };
    let leaf = sets.iter().any(|set| is_leaf(set));
    match value {
        _ if leaf && !(separable && value.is_object()) => value.clone(),
        Value::Object(fields) => {
            let kept = fields.iter().filter_map(|(name, value)| {
                let sets = inner(&format!("f:{name}"));
                (!sets.is_empty()).then(|| (name.clone(), part_of(value, &sets, separable)))
            });
            Value::Object(kept.collect())
        }
        Value::Array(items) => {
            let kept = items.iter().filter_map(|item| {
                let inner: Vec<&Value> = sets.iter().flat_map(|set| naming(item, set)).collect();
                (!inner.is_empty()).then(|| with_keys(item, part_of(item, &inner, separable), sets))
            });
            Value::Array(kept.collect())
        }
        _ => value.clone(),
    }
}

/// Adds the keys that identify a list item, whoever set them.
fn with_keys(item: &Value, mut part: Value, sets: &[&Value]) -> Value {
    let all = sets.iter().filter_map(|set| set.as_object()).flat_map(|fields| fields.keys());
    let keys = all.filter_map(|key| serde_json::from_str::<Map<String, Value>>(key.strip_prefix("k:")?).ok());
    if let (Some(part), Some(keys)) = (part.as_object_mut(), keys.into_iter().next()) {
        for name in keys.keys() {
            if let (false, Some(value)) = (part.contains_key(name), item.get(name)) {
                part.insert(name.clone(), value.clone());
            }
        }
    }
    part
}

/// The inner sets that name a list item, by its keys or by its value.
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
    fn applied_fields_are_distinguished_from_defaults() {
        let object = live(&json!({ "f:spec": { "f:topology": {
            "f:version": {},
            "f:variables": { "k:{\"name\":\"a\"}": { ".": {}, "f:name": {}, "f:value": { "f:x": {} } } },
        } } }));
        let Applied::Known(claims) = Applied::of(&object, None) else { panic!("it is known who applied it") };
        let expected = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
            "spec": { "topology": {
                "version": "v1.35.0",
                "variables": [{ "name": "a", "value": { "x": 1 } }],
            } },
        });
        let parts: Vec<_> = claims.iter().map(|one| (one.by.name(), &one.part)).collect();
        assert_eq!(parts, [("flux", &expected)]);
    }

    #[test]
    fn without_marks_it_is_a_file_and_without_owners_unknown() {
        let mut object = live(&Value::Null);
        object["metadata"]["managedFields"] = Value::Null;
        assert_eq!(Applied::of(&object, None), Applied::Unknown);
        object["metadata"]["annotations"] = json!({ LAST_APPLIED: "{\"spec\":{}}" });
        let part = json!({ "spec": {} });
        let claim = alone(&Applier::kubectl(), part.clone());
        assert_eq!(Applied::of(&object, None), Applied::Known(vec![claim]));
        let flux = Applier::flux();
        let flux = Claim { by_user: true, ..alone(&flux, part) };
        assert_eq!(Applied::of(&object, Some(&flux.by)), Applied::Known(vec![flux.clone()]));
        object["metadata"] = json!({ "name": "one" });
        assert_eq!(Applied::of(&object, None), Applied::File);
    }
}
