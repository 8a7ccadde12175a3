//! Folder defaults and definitions, merged: maps merge, lists and single values replace.

use super::parse::{Definitions, Layer};
use crate::yaml::{Key, Mapping, Node, Value};

/// What `null` does in a part of a document.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nulls {
    /// It removes what a layer below said.
    Remove,
    /// It stays: a value of its own.
    Keep,
}

/// A cluster's definition over its folders' defaults, the outermost first.
pub fn merged(definitions: &Definitions, definition: &Layer) -> Node {
    let empty = Node::from(Mapping::new()).with_origin(definition.node.origin);
    let layers = layers(definitions, definition).into_iter();
    layers.fold(empty, |merged, layer| merge(&merged, &layer.node, &mut Vec::new()))
}

/// The layers of a cluster: its folders' defaults, the outermost first, and its own file.
pub fn layers<'a>(definitions: &'a Definitions, definition: &'a Layer) -> Vec<&'a Layer> {
    let folders = folders(&definition.source.path).into_iter();
    folders.filter_map(|folder| definitions.defaults.get(folder)).chain([definition]).collect()
}

/// The folders that a file lies in, the outermost first.
fn folders(path: &str) -> Vec<&str> {
    path.match_indices('/').map(|(at, _)| &path[..at]).collect()
}

fn nulls_at(path: &[String]) -> Nulls {
    let path: Vec<_> = path.iter().map(String::as_str).collect();
    let keep = matches!(path.as_slice(), ["spec", "raw", _, ..] | ["spec", "addons", _, "values", _, ..]);
    if keep { Nulls::Keep } else { Nulls::Remove }
}

fn merge(low: &Node, high: &Node, path: &mut Vec<String>) -> Node {
    let Value::Mapping(over) = &high.value else { return high.clone() };
    let mut result = low.as_mapping().cloned().unwrap_or_default();
    for entry in over.iter() {
        let name = &entry.key.name;
        path.push(name.to_string());
        if entry.value.is_null() && nulls_at(path) == Nulls::Remove {
            result.remove(name);
        } else {
            let empty = Node::from(Mapping::new());
            let value = merge(result.get(name).unwrap_or(&empty), &entry.value, path);
            result.insert(entry.key.clone(), value);
        }
        path.pop();
    }
    Node::from(result).with_origin(high.origin)
}

/// Merges Helm values: maps merge, everything else replaces, `null` stays (it removes a default of the chart).
pub fn merge_values(low: &Node, high: &Node) -> Node {
    let (Value::Mapping(under), Value::Mapping(over)) = (&low.value, &high.value) else {
        return high.clone();
    };
    let mut result = Mapping::clone(under);
    for entry in over.iter() {
        let value = match result.get(&entry.key.name) {
            Some(below) => merge_values(below, &entry.value),
            None => entry.value.clone(),
        };
        result.insert(Key::clone(&entry.key), value);
    }
    Node::from(result).with_origin(high.origin)
}

/// Merges a raw patch: as [`merge_values`], but `null` takes the key out of the result.
pub fn merge_raw(low: &Node, high: &Node) -> Node {
    let Value::Mapping(over) = &high.value else { return high.clone() };
    let mut result = low.as_mapping().cloned().unwrap_or_default();
    for entry in over.iter() {
        if entry.value.is_null() {
            result.remove(&entry.key.name);
        } else {
            let empty = Node::from(Mapping::new());
            let value = merge_raw(result.get(&entry.key.name).unwrap_or(&empty), &entry.value);
            result.insert(entry.key.clone(), value);
        }
    }
    Node::from(result).with_origin(high.origin)
}
