//! The effects of changed variables of a class on its Clusters: which values are refused, and which defaults change.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::class_effect::ClassEffect;
use super::meaning::MeaningKind;
use crate::role::TopologyPart;
use k8s_schema::value::{get, list, text};

/// What becomes of the variables of a class.
#[derive(Debug, Default)]
pub(super) struct VariableChange {
    /// What may happen to Clusters.
    pub effects: Vec<ClassEffect>,
    /// Variables that are gone.
    pub removed: BTreeSet<String>,
    /// Variables whose defaults change.
    pub defaults: BTreeSet<String>,
}

/// Compares the variables of two `ClusterClass`es.
pub(super) fn of(before: &Value, after: &Value) -> VariableChange {
    let mut change = VariableChange::default();
    let (before, after) = (variables(before), variables(after));
    let names: BTreeSet<&str> = before.keys().chain(after.keys()).copied().collect();
    for name in names {
        let (old, new) = (before.get(name).copied(), after.get(name).copied());
        if old == new {
            continue;
        }
        let mut add = |kind, why| change.effects.push(ClassEffect::new(TopologyPart::Cluster, kind, why));
        if defaults_of(old) == defaults_of(new) {
            add(MeaningKind::InPlace, format!("the variable `{name}`"));
        } else {
            change.defaults.insert(name.to_owned());
        }
        let is_required =
            |one: Option<&Value>| one.and_then(|one| one.get("required")?.as_bool()) == Some(true);
        match (old, new) {
            (Some(_), None) => {
                change.removed.insert(name.to_owned());
            }
            (None, Some(_)) if is_required(new) => {
                add(
                    MeaningKind::Rejected,
                    format!("the variable `{name}` is new, and every cluster must set it"),
                );
            }
            (Some(old), Some(new)) => {
                if is_required(Some(new)) && !is_required(Some(old)) {
                    add(
                        MeaningKind::Rejected,
                        format!("the variable `{name}`: every cluster must set it now"),
                    );
                }
                let [old, new] = [old, new].map(|one| get(one, &SCHEMA).unwrap_or(&Value::Null));
                if !takes_all(old, new) {
                    let why =
                        format!("the variable `{name}`: its schema may refuse values that clusters set");
                    add(MeaningKind::Rejected, why);
                }
            }
            _ => {}
        }
    }
    change
}

const SCHEMA: [&str; 2] = ["schema", "openAPIV3Schema"];

fn variables(class: &Value) -> BTreeMap<&str, &Value> {
    list(class, &["spec", "variables"]).iter().map(|one| (text(one, &["name"]), one)).collect()
}

fn defaults_of(variable: Option<&Value>) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    if let Some(schema) = variable.and_then(|one| get(one, &SCHEMA)) {
        defaults(schema, "", &mut found);
    }
    found
}

/// Collects every default in a schema, with its path.
fn defaults<'a>(schema: &'a Value, path: &str, found: &mut Vec<(String, &'a Value)>) {
    found.extend(schema.get("default").map(|default| (path.to_owned(), default)));
    for (name, inner) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        defaults(inner, &format!("{path}/{name}"), found);
    }
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get(key) {
            defaults(inner, &format!("{path}/{key}()"), found);
        }
    }
}

/// Reports whether a schema takes every value that another one takes, as far as the two can be compared key by key.
fn takes_all(old: &Value, new: &Value) -> bool {
    const DESCRIBE: [&str; 5] = ["default", "description", "example", "title", "x-metadata"];
    let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else { return old == new };
    let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let compared = keys.into_iter().filter(|key| !DESCRIBE.contains(&key.as_str()));
    compared.into_iter().all(|key| key_takes_all(key, old, new))
}

fn key_takes_all(key: &str, old: &Map<String, Value>, new: &Map<String, Value>) -> bool {
    let items = |value: &'_ Value| value.as_array().cloned().unwrap_or_default();
    let number = |value: &Value| value.as_f64();
    match (key, old.get(key), new.get(key)) {
        (_, old, new) if old == new => true,
        ("properties", was, Some(is)) => {
            let (Some(is), empty) = (is.as_object(), Map::new()) else { return false };
            let was = was.and_then(Value::as_object).unwrap_or(&empty);
            // A property that is new may have been taken as any other field before.
            let is_closed = !old.contains_key("additionalProperties")
                && !old.contains_key("x-kubernetes-preserve-unknown-fields");
            was.keys().all(|name| is.contains_key(name))
                && is.iter().all(|(name, schema)| match was.get(name) {
                    Some(known) => takes_all(known, schema),
                    None => is_closed,
                })
        }
        ("items" | "additionalProperties", Some(was), Some(is)) => takes_all(was, is),
        ("required" | "x-kubernetes-validations", was, Some(is)) => {
            let was = was.map(items).unwrap_or_default();
            items(is).iter().all(|one| was.contains(one))
        }
        ("enum", Some(was), Some(is)) => {
            let is = items(is);
            items(was).iter().all(|one| is.contains(one))
        }
        ("minimum" | "minLength" | "minItems" | "minProperties", Some(was), Some(is)) => {
            number(is) <= number(was)
        }
        ("maximum" | "maxLength" | "maxItems" | "maxProperties", Some(was), Some(is)) => {
            number(is) >= number(was)
        }
        (
            "enum"
            | "format"
            | "maxItems"
            | "maxLength"
            | "maxProperties"
            | "maximum"
            | "minItems"
            | "minLength"
            | "minProperties"
            | "minimum"
            | "multipleOf"
            | "pattern"
            | "required"
            | "uniqueItems"
            | "x-kubernetes-validations",
            Some(_),
            None,
        ) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_that_takes_less_is_recognized() {
        let text = json!({ "type": "string", "enum": ["a", "b"], "description": "one", "default": "a" });
        let wider = [
            json!({ "type": "string", "enum": ["a", "b", "c"], "default": "b" }),
            json!({ "type": "string" }),
        ];
        let narrower = [
            json!({ "type": "string", "enum": ["a"] }),
            json!({ "type": "string", "enum": ["a", "b"], "pattern": "^a" }),
            json!({ "type": "integer", "enum": ["a", "b"] }),
        ];
        assert!(wider.iter().all(|new| takes_all(&text, new)));
        assert!(!narrower.iter().any(|new| takes_all(&text, new)));
        let object = |inner: Value, required: Value| json!({ "type": "object", "properties": inner, "required": required });
        let old =
            object(json!({ "size": { "type": "integer", "minimum": 2, "maximum": 9 } }), json!(["size"]));
        let wider = [
            object(json!({ "size": { "type": "integer", "minimum": 1, "maximum": 9 } }), json!([])),
            object(json!({ "size": { "type": "integer" }, "more": { "type": "string" } }), json!(["size"])),
        ];
        let narrower = [
            object(json!({ "size": { "type": "integer", "minimum": 3, "maximum": 9 } }), json!(["size"])),
            object(json!({ "size": { "type": "integer" }, "more": { "type": "string" } }), json!(["more"])),
            object(json!({}), json!([])),
        ];
        assert!(wider.iter().all(|new| takes_all(&old, new)));
        assert!(!narrower.iter().any(|new| takes_all(&old, new)));
        let open = json!({ "type": "object", "additionalProperties": { "type": "string" } });
        let closed = json!({ "type": "object", "properties": { "a": { "type": "string", "maxLength": 3 } } });
        assert!(!takes_all(&open, &closed));
    }
}
