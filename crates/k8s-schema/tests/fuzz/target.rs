//! CEL rules: a rule, the schema where it stands as JSON, and a value as JSON.

use k8s_schema::cel;
use k8s_schema::{Rules, Schema, validate};
use serde_json::json;

use super::input;

/// One input.
pub(crate) fn run(bytes: &[u8]) {
    let Some([rule, schema, value]) = input::parts(bytes) else { return };
    let Some(mut schema) = input::json(schema).filter(serde_json::Value::is_object) else { return };
    let Some(value) = input::json(value) else { return };
    let rule = json!({ "rule": rule, "messageExpression": rule });
    drop(cel::check(&rule, &cel::Context::root(&schema)));
    schema["x-kubernetes-validations"] = json!([rule]);
    // Rules see what the schema lets through.
    let Some(read) = Schema::read(&schema) else { return };
    if validate(&value, &read, &"value").is_empty() {
        let rules = Rules::read(&schema);
        drop(rules.judge(&value, None, "value"));
        drop(rules.judge(&value, Some(&value), "value"));
    }
}
