//! Errors that server-side apply reports before any validation: unknown fields, wrong types and duplicate keys.
//!
//! Source: `sigs.k8s.io/structured-merge-diff`, `typed`.

use std::collections::BTreeSet;

use serde_json::Value;

use super::error::{ErrorType, FieldError};
use super::schema::{Identity, Schema};
use super::trail::Trail;
use super::value::get;

/// The errors of a value at `path`. Without a schema, the field itself is unknown.
///
/// ```
/// use k8s_schema::{Schema, type_errors};
/// use serde_json::json;
///
/// let source = json!({ "type": "object", "properties": { "replicas": { "type": "integer" } } });
/// let schema = Schema::read(&source).expect("it is not nested too deep");
///
/// let errors = type_errors(&json!({ "replicas": "3", "size": 1 }), Some(&schema), ".spec");
/// let errors: Vec<_> = errors.iter().map(|one| format!("{}: {}", one.field, one.detail)).collect();
/// assert_eq!(errors, [".spec.replicas: expected numeric", ".spec.size: field not declared in schema"]);
/// ```
pub fn type_errors(value: &Value, schema: Option<&Schema>, path: &str) -> Vec<FieldError> {
    let mut problems = Vec::new();
    typed(value, schema, &Trail::start(path), &mut problems);
    problems
}

fn typed(value: &Value, schema: Option<&Schema>, path: &Trail<'_>, problems: &mut Vec<FieldError>) {
    let mut problem = |kind, detail: &str| problems.push(FieldError::new(kind, path.to_string(), detail));
    let Some(schema) = schema else {
        return problem(ErrorType::Undeclared, "field not declared in schema");
    };
    let mut wrong = |expected: &str| problem(ErrorType::Controller, &format!("expected {expected}"));
    match (value, schema.only_type()) {
        (Value::Null, _) | (_, "") => {}
        (Value::Object(fields), "object") => {
            for (name, child) in fields {
                let known = schema.properties.get(name).or(schema.additional.as_deref());
                if known.is_some() || !schema.preserve_unknown {
                    typed(child, known, &path.dotted(name), problems);
                }
            }
        }
        (_, "object") => wrong("map"),
        (Value::Array(items), "array") => typed_list(items, schema, path, problems),
        (_, "array") => wrong("list"),
        (Value::Array(_) | Value::Object(_), _) => wrong("a scalar"),
        (Value::Bool(_) | Value::Number(_), "string") => wrong("string"),
        (Value::String(_) | Value::Number(_), "boolean") => wrong("boolean"),
        (Value::String(_) | Value::Bool(_), "integer" | "number") => wrong("numeric"),
        _ => {}
    }
}

fn typed_list(items: &[Value], schema: &Schema, path: &Trail<'_>, problems: &mut Vec<FieldError>) {
    let key = |item| -> Option<Vec<&Value>> {
        match &schema.identity {
            Identity::Atomic => None,
            Identity::Set => Some(vec![item]),
            Identity::Map(names) => {
                Some(names.iter().map(|name| get(item, &[name.as_str()]).unwrap_or(&Value::Null)).collect())
            }
        }
    };
    // As text, because values have no order.
    let mut seen = BTreeSet::new();
    for (at, item) in items.iter().enumerate() {
        if let Some(key) = key(item)
            && !seen.insert(key.iter().map(ToString::to_string).collect::<Vec<_>>())
        {
            let detail = format!("duplicate entries for key {key:?}");
            problems.push(FieldError::new(ErrorType::Controller, path.to_string(), detail));
        }
        typed(item, schema.items.as_deref(), &path.item(at), problems);
    }
}
