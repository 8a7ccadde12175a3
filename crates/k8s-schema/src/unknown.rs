//! Finds unknown fields, as the API server's pruning does.

use serde_json::Value;

use super::schema::Schema;
use super::trail::Trail;

/// The paths of all fields that would be pruned. `path` is the path of the value itself.
pub fn unknown_fields(value: &Value, schema: &Schema, path: &str) -> Vec<String> {
    let mut found = Vec::new();
    prune(value, Some(schema), &Trail::start(path), &mut found);
    found
}

fn prune(value: &Value, schema: Option<&Schema>, path: &Trail<'_>, found: &mut Vec<String>) {
    let keeps = schema.is_some_and(|schema| schema.preserve_unknown);
    match value {
        Value::Object(fields) => {
            for (name, child) in fields {
                let inner = path.dotted(name);
                match schema {
                    Some(schema) => {
                        if let Some(property) = schema.properties.get(name) {
                            prune(child, Some(property), &inner, found);
                        } else if let Some(additional) = &schema.additional {
                            prune(child, Some(additional), &inner, found);
                        } else if !keeps && !schema.additional_allowed {
                            found.push(inner.to_string());
                        }
                    }
                    None => found.push(inner.to_string()),
                }
            }
        }
        Value::Array(items) => {
            let item_schema = schema.and_then(|schema| schema.items.as_deref());
            if keeps && item_schema.is_none() {
                return;
            }
            for (at, child) in items.iter().enumerate() {
                prune(child, item_schema, &path.item(at), found);
            }
        }
        _ => {}
    }
}
