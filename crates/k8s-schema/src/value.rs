//! Reads and modifies objects. They are plain `serde_json::Value`s, in the form in which the API server sends them.
//!
//! ```
//! use k8s_schema::value::{compact, leaves, list, merge_patch, name_of, path_matches, set, text};
//! use serde_json::json;
//!
//! let before = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web" } });
//! assert_eq!(name_of(&before), ("apps", "Deployment", "web"));
//! assert_eq!(text(&before, &["metadata", "name"]), "web");
//! assert!(list(&before, &["spec", "containers"]).is_empty(), "absent lists are empty");
//!
//! let mut after = before.clone();
//! assert!(set(&mut after, &["spec", "replicas"], json!(3)));
//! assert!(!set(&mut after, &["kind", "name"], json!("web")), "the kind is not a map");
//!
//! let patch = merge_patch(&before, &after);
//! assert_eq!(compact(&patch), r#"{"spec":{"replicas":3}}"#);
//! let mut changed = Vec::new();
//! leaves(&patch, &mut Vec::new(), &mut changed);
//! assert!(path_matches("spec.*", &changed[0]));
//! ```

use serde_json::{Map, Value};

/// The most fields for which comparing all names is faster than hashing one.
const FEW: usize = 8;

/// The field with a name.
pub fn field<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    if fields.len() > FEW {
        return fields.get(name);
    }
    fields.iter().find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// The field with a name, for changing.
pub fn field_mut<'a>(fields: &'a mut Map<String, Value>, name: &str) -> Option<&'a mut Value> {
    if fields.len() > FEW {
        return fields.get_mut(name);
    }
    fields.iter_mut().find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// The value at a path of keys, if all of them exist.
pub fn get<'a>(object: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(object, |value, key| field(value.as_object()?, key))
}

/// Like [`get`], but an explicit null counts as absent.
pub fn present<'a>(object: &'a Value, path: &[&str]) -> Option<&'a Value> {
    get(object, path).filter(|value| !value.is_null())
}

/// The text at a path; empty if there is none, like Go's zero value.
pub fn text<'a>(object: &'a Value, path: &[&str]) -> &'a str {
    get(object, path).and_then(Value::as_str).unwrap_or_default()
}

/// The list at a path; empty if there is none.
pub fn list<'a>(object: &'a Value, path: &[&str]) -> &'a [Value] {
    get(object, path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The map at a path, if there is one.
pub fn map<'a>(object: &'a Value, path: &[&str]) -> Option<&'a Map<String, Value>> {
    get(object, path).and_then(Value::as_object)
}

/// The group, kind and name of an object, which identify it regardless of version and namespace.
pub fn name_of(object: &Value) -> (&str, &str, &str) {
    let of = |path: &[&str]| text(object, path);
    (group(of(&["apiVersion"])), of(&["kind"]), of(&["metadata", "name"]))
}

/// Sets a value at a path and creates missing maps on the way. Returns false if something on the path is not a map.
pub fn set(object: &mut Value, path: &[&str], value: Value) -> bool {
    let Some((last, parents)) = path.split_last() else {
        *object = value;
        return true;
    };
    let mut current = object;
    for key in parents {
        let Some(fields) = current.as_object_mut() else { return false };
        if field(fields, key).is_none() {
            fields.insert((*key).to_owned(), Value::Object(Map::new()));
        }
        let Some(next) = field_mut(fields, key) else { return false };
        current = next;
    }
    let Some(fields) = current.as_object_mut() else { return false };
    match field_mut(fields, last) {
        Some(there) => *there = value,
        None => {
            fields.insert((*last).to_owned(), value);
        }
    }
    true
}

/// Removes the value at a path and reports whether there was one.
pub fn remove(object: &mut Value, path: &[&str]) -> bool {
    let Some((last, parents)) = path.split_last() else { return false };
    let mut current = object;
    for key in parents {
        match current.get_mut(*key) {
            Some(next) => current = next,
            None => return false,
        }
    }
    current.as_object_mut().is_some_and(|fields| fields.shift_remove(*last).is_some())
}

/// Copies a value from one object to another, if it is present.
pub fn copy(from: &Value, source: &[&str], to: &mut Value, destination: &[&str]) {
    if let Some(value) = present(from, source) {
        set(to, destination, value.clone());
    }
}

/// The JSON merge patch (RFC 7386) from one value to another; an empty object if they are equal.
pub fn merge_patch(before: &Value, after: &Value) -> Value {
    let (Value::Object(old), Value::Object(new)) = (before, after) else {
        return after.clone();
    };
    let mut patch = Map::new();
    for (key, value) in new {
        match old.get(key) {
            Some(previous) if same(previous, value) => {}
            Some(previous @ Value::Object(_)) if value.is_object() => {
                patch.insert(key.clone(), merge_patch(previous, value));
            }
            _ => {
                patch.insert(key.clone(), value.clone());
            }
        }
    }
    for key in old.keys().filter(|key| !new.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    Value::Object(patch)
}

/// Collects the paths of all leaves of a merge patch.
pub fn leaves(patch: &Value, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    for (key, value) in patch.as_object().into_iter().flatten() {
        path.push(key.clone());
        if value.is_object() {
            leaves(value, path, found);
        } else {
            found.push(path.clone());
        }
        path.pop();
    }
}

/// Reports whether a pattern allows a path. A star at the end allows everything below.
pub fn path_matches(allowed: &str, path: &[String]) -> bool {
    let allowed: Vec<&str> = allowed.split('.').collect();
    for (at, key) in path.iter().enumerate() {
        match allowed.get(at) {
            None => break,
            Some(&"*") => return true,
            Some(expected) if expected != key => return false,
            Some(_) => {}
        }
    }
    path.len() == allowed.len()
}

/// Converts numbers to the API server's representation: those that do not fit `int64` become `float64`.
pub fn keep_numbers(value: &mut Value) {
    match value {
        Value::Number(number) if !number.is_i64() && !number.is_f64() => {
            *value = Value::from(number.as_f64());
        }
        Value::Array(items) => items.iter_mut().for_each(keep_numbers),
        Value::Object(fields) => fields.values_mut().for_each(keep_numbers),
        _ => {}
    }
}

/// Compares JSON values, ignoring the order of keys and the notation of numbers.
pub fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || (a.is_f64() != b.is_f64() && a.as_f64() == b.as_f64())
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => left == right,
    }
}

/// Merges two maps of labels or annotations. Entries of the first one win.
pub fn merged(first: Option<&Map<String, Value>>, second: Option<&Map<String, Value>>) -> Map<String, Value> {
    let mut all = second.cloned().unwrap_or_default();
    for (key, value) in first.into_iter().flatten() {
        all.insert(key.clone(), value.clone());
    }
    all
}

/// The entries sorted by key, regardless of their order in the file.
pub fn sorted(fields: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut entries: Vec<_> = fields.iter().collect();
    entries.sort_by_key(|(key, _)| *key);
    entries
}

/// The group of an `apiVersion`; empty for the core group.
pub fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// The version of an `apiVersion`.
pub fn version(api_version: &str) -> &str {
    api_version.split_once('/').map_or(api_version, |(_, version)| version)
}

/// Formats a value like Go's `encoding/json`: sorted keys, no spaces.
pub fn compact(value: &Value) -> String {
    fn ordered(value: &Value) -> Value {
        match value {
            Value::Object(fields) => Value::Object(
                sorted(fields).into_iter().map(|(key, value)| (key.clone(), ordered(value))).collect(),
            ),
            Value::Array(items) => items.iter().map(ordered).collect(),
            _ => value.clone(),
        }
    }
    ordered(value).to_string()
}
