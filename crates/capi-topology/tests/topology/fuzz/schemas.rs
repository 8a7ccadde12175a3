//! Fuzz target for schemas of variables. The input is a schema and a value, each as JSON. The value is defaulted, checked
//! and judged.

use capi_topology::testing::class_variables;
use capi_topology::variables::{Scope, default_variables, definitions, validate_variables};
use serde_json::json;

use super::input;

/// Runs one input.
pub(crate) fn run(bytes: &[u8]) {
    let Some([schema, value]) = input::parts(bytes) else { return };
    let (Some(schema), Some(value)) = (input::json(schema), input::json(value)) else { return };
    let variable = json!({ "name": "v", "required": true, "schema": { "openAPIV3Schema": schema } });
    let class = json!({ "spec": { "variables": [variable] } });
    drop(class_variables::validate(&class));
    let known = definitions(&class);
    let values = [json!({ "name": "v", "value": value })];
    let Ok(defaulted) = default_variables(&values, &known, Scope::Cluster, "") else { return };
    let again = default_variables(&defaulted, &known, Scope::Cluster, "");
    assert_eq!(Ok(&defaulted), again.as_ref(), "defaulting what is defaulted changes it");
    let judged = validate_variables(&defaulted, &[], &known, Scope::Cluster, "");
    let remembered = validate_variables(&defaulted, &[], &known, Scope::Cluster, "");
    assert_eq!(
        (judged.errors, judged.opaque),
        (remembered.errors, remembered.opaque),
        "a second look differs"
    );
}
