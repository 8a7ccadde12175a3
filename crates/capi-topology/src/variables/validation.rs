//! Variable validation, after defaulting: required variables, then the schema, unknown fields and rules of each value.
//!
//! Source: `internal/topology/variables/cluster_variable_validation.go`.

use std::fmt;

use serde_json::Value;

use super::defaulting::{Scope, not_defined, unique};
use super::{Definition, find, name};
use crate::memo::Key;
use crate::refusal::FieldError;
use k8s_schema::Judgement;
use k8s_schema::unknown_fields;
use k8s_schema::validate;
use k8s_schema::value::get;

/// Validates a list of variables; `old` are the values before an update.
pub fn validate_variables(
    values: &[Value],
    old: &[Value],
    definitions: &[Definition],
    scope: Scope,
    path: &str,
) -> Judgement {
    validate_known(values, old, definitions, scope, path, false)
}

/// Like [`validate_variables`]. With `open`, variables missing from `definitions` may be defined elsewhere, and are not judged.
pub(crate) fn validate_known(
    values: &[Value],
    old: &[Value],
    definitions: &[Definition],
    scope: Scope,
    path: &str,
    open: bool,
) -> Judgement {
    let mut all = Judgement::refused(unique(values, path));
    if !all.errors.is_empty() {
        return all;
    }
    if scope == Scope::Cluster {
        for definition in definitions.iter().filter(|definition| definition.required) {
            if !values.iter().any(|value| name(value) == definition.name) {
                let detail = format!("Required value: required variable {:?} must be set", definition.name);
                all.errors.push(FieldError::required(path, detail));
            }
        }
    }
    for variable in values {
        let variable_name = name(variable);
        let Some(definition) = find(definitions, variable_name) else {
            all.errors.extend((!open).then(|| not_defined(variable, path)));
            continue;
        };
        let before = old.iter().find(|one| name(one) == variable_name);
        let judged = validate_variable(
            get(variable, &["value"]).unwrap_or(&Value::Null),
            before.and_then(|before| get(before, &["value"])),
            definition,
            &format_args!("{path}[{variable_name}]"),
        );
        all.errors.extend(judged.errors);
        all.opaque.extend(judged.opaque);
    }
    all
}

/// Validates one value, unless it is cached as valid.
fn validate_variable(
    value: &Value,
    old: Option<&Value>,
    definition: &Definition,
    field: &dyn fmt::Display,
) -> Judgement {
    let mut key = Key::default();
    key.value(value);
    if let Some(old) = old {
        key.value(old);
    }
    let judge = || {
        let judged = judge(value, old, definition, field);
        let clean = judged.errors.is_empty() && judged.opaque.is_empty();
        if clean { Ok(((), 0)) } else { Err(judged) }
    };
    definition.kept.get(key.short(), judge).err().unwrap_or_default()
}

/// Judges a value. Later steps run only if earlier ones found nothing.
fn judge(value: &Value, old: Option<&Value>, definition: &Definition, field: &dyn fmt::Display) -> Judgement {
    if let Some(reason) = &definition.opaque {
        return Judgement::unknown(reason.clone());
    }
    let errors = validate(value, &definition.schema, &format_args!("{field}.value"));
    if !errors.is_empty() {
        return Judgement::refused(errors);
    }
    let unknown = unknown_fields(value, &definition.schema, "");
    if !unknown.is_empty() {
        let names: Vec<&str> = unknown.iter().map(|path| path.trim_start_matches('.')).collect();
        let detail = format!(
            "failed validation: {:?} field(s) are not specified in the variable schema of \
             variable {:?}",
            names.join(","),
            definition.name
        );
        let errors = vec![FieldError::invalid(field.to_string(), detail)];
        return Judgement::refused(errors);
    }
    if definition.rules.is_empty() {
        return Judgement::default();
    }
    definition.rules.judge(value, old, &format!("{field}.value"))
}
