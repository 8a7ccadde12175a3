//! Checks whether a variable's schema is structural: types define what a value is, and everything else only restricts it.
//!
//! Source: `pkg/apiserver/schema/validation.go` of apiextensions-apiserver.

use gotmpl::{ErrorKind, regexp};
use serde_json::Value;

use crate::refusal::FieldError;
use k8s_schema::value::{get, list, map, text};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Item,
    Field,
}

const COMPOSITION: [&str; 3] = ["anyOf", "allOf", "oneOf"];

/// Lists all violations of a variable's schema, sorted like upstream.
pub(crate) fn validate(schema: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    invariants(schema, Level::Field, path, &mut errors);
    completeness(schema, path, &mut errors);
    errors.sort_by(|a, b| (&a.field, &a.detail).cmp(&(&b.field, &b.detail)));
    errors
}

fn flag(schema: &Value, name: &str) -> bool {
    schema.get(name).and_then(Value::as_bool) == Some(true)
}

fn invariants(schema: &Value, level: Level, path: &str, errors: &mut Vec<FieldError>) {
    let kind = text(schema, &["type"]);
    let items = schema.get("items").filter(|items| items.is_object());
    if kind == "array" && items.is_none() {
        errors.push(FieldError::required(format!("{path}.items"), "must be specified"));
    }
    if let Some(items) = items {
        invariants(items, Level::Item, &format!("{path}.items"), errors);
    }
    for (name, property) in map(schema, &["properties"]).into_iter().flatten() {
        let inner = format!("{path}.properties[{name}]");
        invariants(property, Level::Field, &inner, errors);
    }
    if let Some(additional @ Value::Object(_)) = schema.get("additionalProperties") {
        let inner = format!("{path}.additionalProperties");
        invariants(additional, Level::Field, &inner, errors);
    }
    let int_or_string = flag(schema, "x-kubernetes-int-or-string");
    let preserve = flag(schema, "x-kubernetes-preserve-unknown-fields");
    if int_or_string && preserve {
        let field = format!("{path}.x-kubernetes-preserve-unknown-fields");
        let detail = "must be false if x-kubernetes-int-or-string is true";
        errors.push(FieldError::invalid(field, detail));
    }
    value_validation(schema, path, errors);
    if kind.is_empty() && !int_or_string && !preserve {
        let detail = match level {
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        errors.push(FieldError::required(format!("{path}.type"), detail));
    }
}

/// Matches `anyOf: [{type: integer}, {type: string}]`, which int-or-string schemas may contain.
fn is_int_or_string_pattern(any_of: &[Value]) -> bool {
    let plain = |schema: &Value, kind: &str| {
        schema.as_object().is_some_and(|all| all.len() == 1) && text(schema, &["type"]) == kind
    };
    matches!(any_of, [first, second] if plain(first, "integer") && plain(second, "string"))
}

fn value_validation(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    for keyword in COMPOSITION {
        let parts = list(schema, &[keyword]);
        if keyword == "anyOf" && is_int_or_string_pattern(parts) {
            continue;
        }
        for (at, part) in parts.iter().enumerate() {
            nested(part, &format!("{path}.{keyword}[{at}]"), errors);
        }
    }
    if let Some(not) = schema.get("not").filter(|not| not.is_object()) {
        nested(not, &format!("{path}.not"), errors);
    }
    let pattern = text(schema, &["pattern"]);
    if !pattern.is_empty()
        && let Err(error) = regexp::compile(pattern)
        && error.kind == ErrorKind::Exec
    {
        let detail = format!("must be a valid regular expression, but isn't: {}", error.message);
        errors.push(FieldError::invalid(format!("{path}.pattern"), detail));
    }
}

fn nested(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    value_validation(schema, path, errors);
    if let Some(items) = schema.get("items").filter(|items| items.is_object()) {
        nested(items, &format!("{path}.items"), errors);
    }
    for (name, property) in map(schema, &["properties"]).into_iter().flatten() {
        nested(property, &format!("{path}.properties[{name}]"), errors);
    }
    let mut forbid = |field: &str, detail: &str| {
        errors.push(FieldError::forbidden(format!("{path}.{field}"), detail));
    };
    let undefined = "must be undefined to be structural";
    let empty = "must be empty to be structural";
    if !text(schema, &["type"]).is_empty() {
        forbid("type", empty);
    }
    if schema.get("additionalProperties").is_some_and(|value| !value.is_null()) {
        forbid("additionalProperties", undefined);
    }
    if schema.get("default").is_some_and(|value| !value.is_null()) {
        forbid("default", undefined);
    }
    for field in ["title", "description"] {
        if !text(schema, &[field]).is_empty() {
            forbid(field, empty);
        }
    }
    for field in ["x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string"] {
        if flag(schema, field) {
            forbid(field, "must be false to be structural");
        }
    }
    if !list(schema, &["x-kubernetes-validations"]).is_empty() {
        forbid("x-kubernetes-validations", empty);
    }
    if get(schema, &["properties", "metadata"]).is_some() {
        forbid("properties[metadata]", "must not be specified in a nested context");
    }
}

/// Checks that every field in `allOf`, `anyOf`, `oneOf` or `not` is also defined outside of it.
fn completeness(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    for keyword in COMPOSITION {
        for (at, part) in list(schema, &[keyword]).iter().enumerate() {
            covered(part, schema, path, &format!("{path}.{keyword}[{at}]"), errors);
        }
    }
    if let Some(not) = schema.get("not").filter(|not| not.is_object()) {
        covered(not, schema, path, &format!("{path}.not"), errors);
    }
    if let Some(items) = schema.get("items").filter(|items| items.is_object()) {
        completeness(items, &format!("{path}.items"), errors);
    }
    for (name, property) in map(schema, &["properties"]).into_iter().flatten() {
        completeness(property, &format!("{path}.properties[{name}]"), errors);
    }
    if let Some(additional @ Value::Object(_)) = schema.get("additionalProperties") {
        completeness(additional, &format!("{path}.additionalProperties"), errors);
    }
}

fn covered(part: &Value, schema: &Value, path: &str, part_path: &str, errors: &mut Vec<FieldError>) {
    for (name, property) in map(part, &["properties"]).into_iter().flatten() {
        let (inner, by) = (format!("{path}.properties[{name}]"), format!("{part_path}.properties[{name}]"));
        match get(schema, &["properties", name]) {
            Some(known) => covered(property, known, &inner, &by, errors),
            None => {
                errors.push(FieldError::required(inner, format!("because it is defined in {by}")));
            }
        }
    }
    if let Some(items) = part.get("items").filter(|items| items.is_object()) {
        let (inner, by) = (format!("{path}.items"), format!("{part_path}.items"));
        match schema.get("items").filter(|items| items.is_object()) {
            Some(known) => covered(items, known, &inner, &by, errors),
            None => {
                errors.push(FieldError::required(inner, format!("because it is defined in {by}")));
            }
        }
    }
    for keyword in COMPOSITION {
        for (at, deeper) in list(part, &[keyword]).iter().enumerate() {
            covered(deeper, schema, path, &format!("{part_path}.{keyword}[{at}]"), errors);
        }
    }
}
