//! Fuzz target for CEL rules. The input is a rule, the schema that contains it as JSON, and a value as JSON.

use k8s_schema::cel;
use k8s_schema::{Rules, Schema, validate};
use serde_json::json;

use super::input;

/// Runs one input.
pub(crate) fn run(bytes: &[u8]) {
    let Some([rule, schema, value]) = input::parts(bytes) else { return };
    let Some(mut schema) = input::json(schema).filter(serde_json::Value::is_object) else { return };
    let Some(value) = input::json(value) else { return };
    let rule = json!({ "rule": rule, "messageExpression": rule });
    drop(cel::check(&rule, &cel::Context::root(&schema)));
    schema["x-kubernetes-validations"] = json!([rule]);
    // Rules only see values that pass the schema.
    let Some(read) = Schema::read(&schema) else { return };
    if validate(&value, &read, &"value").is_empty() {
        let rules = Rules::read(&schema);
        drop(rules.judge(&value, None, "value"));
        drop(rules.judge(&value, Some(&value), "value"));
    }
}
