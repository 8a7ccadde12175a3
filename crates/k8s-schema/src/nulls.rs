//! The nulls that an API server drops.

use serde_json::Value;

use super::schema::Schema;

/// Drops a `null` if the schema knows its field, the field is not nullable, and it has no default.
///
/// Source: `k8s.io/apiextensions-apiserver`, `pkg/apiserver/schema/defaulting/prune.go`,
/// `PruneNonNullableNullsWithoutDefaults`.
///
/// ```
/// use k8s_schema::{Schema, drop_nulls};
/// use serde_json::json;
///
/// let source = json!({ "type": "object", "properties": {
///     "plain": { "type": "string" },
///     "nullable": { "type": "string", "nullable": true },
/// } });
/// let schema = Schema::read(&source).expect("it is not nested too deep");
///
/// let mut value = json!({ "plain": null, "nullable": null, "unknown": null });
/// drop_nulls(&mut value, &schema);
/// assert_eq!(value, json!({ "nullable": null, "unknown": null }));
/// ```
pub fn drop_nulls(value: &mut Value, schema: &Schema) {
    match value {
        Value::Object(fields) => {
            let known = |name: &str| schema.properties.get(name).or(schema.additional.as_deref());
            fields.retain(|name, value| {
                !value.is_null() || known(name).is_none_or(|known| known.nullable || known.default.is_some())
            });
            for (name, value) in fields.iter_mut() {
                if let Some(known) = known(name) {
                    drop_nulls(value, known);
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                if let Some(known) = &schema.items {
                    drop_nulls(item, known);
                }
            }
        }
        _ => {}
    }
}
