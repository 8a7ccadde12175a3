//! Structural defaulting, like apiextensions-apiserver.

use serde_json::Value;

use super::schema::Schema;

/// Fills in defaults: first for properties that are absent or null, then inside all children, including new ones.
pub fn fill(value: &mut Value, schema: &Schema) {
    match value {
        Value::Object(fields) => {
            for (name, property) in &schema.properties {
                let Some(default) = &property.default else { continue };
                match fields.get_mut(name) {
                    None => {
                        fields.insert(name.clone(), default.clone());
                    }
                    Some(given) if given.is_null() && !property.nullable => {
                        *given = default.clone();
                    }
                    Some(_) => {}
                }
            }
            for (name, child) in fields.iter_mut() {
                if let Some(property) = schema.properties.get(name) {
                    fill(child, property);
                } else if let Some(additional) = &schema.additional {
                    replace_null(child, additional);
                    fill(child, additional);
                }
            }
        }
        Value::Array(list) => {
            let Some(items) = &schema.items else { return };
            for child in list {
                replace_null(child, items);
                fill(child, items);
            }
        }
        _ => {}
    }
}

/// Replaces a null that the schema does not accept with the schema's default.
///
/// ```
/// use k8s_schema::{Schema, replace_null};
/// use serde_json::{Value, json};
///
/// let schema = Schema::read(&json!({ "type": "integer", "default": 3 })).expect("it is not nested too deep");
/// let mut value = Value::Null;
/// replace_null(&mut value, &schema);
/// assert_eq!(value, 3);
/// ```
pub fn replace_null(value: &mut Value, schema: &Schema) {
    if value.is_null()
        && !schema.nullable
        && let Some(default) = &schema.default
    {
        *value = default.clone();
    }
}
