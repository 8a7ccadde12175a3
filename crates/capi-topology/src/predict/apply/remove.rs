//! Removes fields from a value.
//!
//! Source: `sigs.k8s.io/structured-merge-diff`, `typed/remove.go`.

use serde_json::{Map, Value};

use super::element::Element;
use super::fields::Set;
use super::types::{Fields, Identity, List, Type};

/// The value without the fields in a set; `null` if no field or item is left.
pub(super) fn without(value: &Value, gone: &Set, kind: Type<'_>) -> Value {
    let atom = kind.of(Some(value));
    match (&atom.map, &atom.list) {
        (Some(map), _) => value.as_object().map_or(Value::Null, |fields| from_map(fields, gone, map)),
        (None, Some(list)) if !atom.scalar => {
            value.as_array().map_or(Value::Null, |items| from_list(items, gone, list))
        }
        _ => value.clone(),
    }
}

fn from_map(fields: &Map<String, Value>, gone: &Set, map: &Fields<'_>) -> Value {
    if map.atomic {
        return Value::Null;
    }
    let left = fields.iter().filter_map(|(name, value)| {
        let element = Element::Field(name.clone());
        if gone.has(&element) {
            return None;
        }
        let value = match gone.below(&element) {
            Some(below) => without(value, below, map.of(name)),
            None => value.clone(),
        };
        Some((name.clone(), value))
    });
    let left: Map<String, Value> = left.collect();
    if left.is_empty() { Value::Null } else { Value::Object(left) }
}

fn from_list(items: &[Value], gone: &Set, list: &List<'_>) -> Value {
    if list.identity == Identity::Atomic {
        return Value::Null;
    }
    let left = items.iter().filter_map(|item| {
        let Some(element) = list.element_of(item) else { return Some(item.clone()) };
        if gone.has(&element) {
            return None;
        }
        Some(match gone.below(&element) {
            Some(below) => without(item, below, list.element),
            None => item.clone(),
        })
    });
    let left: Vec<Value> = left.collect();
    if left.is_empty() { Value::Null } else { Value::Array(left) }
}
