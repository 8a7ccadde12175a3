//! Variable defaulting. It comes first, so that all later steps see the values that the live Cluster would have.
//!
//! Source: `internal/topology/variables/cluster_variable_defaulting.go` and the structural
//! defaulting of apiextensions-apiserver.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Definition;
use crate::refusal::FieldError;
use k8s_schema::value::compact;
use k8s_schema::{fill, replace_null};

/// Whether a list of variables may gain entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// `spec.topology.variables`: missing variables with a default are added.
    Cluster,
    /// Overrides of a control plane or of workers: only given values are completed.
    Override,
}

/// Fills in the defaults of a list of variables. Given variables keep their order; added ones follow, sorted by name.
pub fn default_variables(
    values: &[Value],
    definitions: &[Definition],
    scope: Scope,
    path: &str,
) -> Result<Vec<Value>, Vec<FieldError>> {
    let mut values = values.to_vec();
    let errors = default_in_place(&mut values, definitions, scope, path, false);
    if errors.is_empty() { Ok(values) } else { Err(errors) }
}

/// Like [`default_variables`], but in place; leaves the list unchanged if there are errors. With `open`, variables missing from
/// `definitions` may be defined elsewhere.
pub(crate) fn default_in_place(
    values: &mut Vec<Value>,
    definitions: &[Definition],
    scope: Scope,
    path: &str,
    open: bool,
) -> Vec<FieldError> {
    let mut errors = unique(values, path);
    if !errors.is_empty() {
        return errors;
    }
    let places: Vec<Option<usize>> =
        values.iter().map(|variable| super::position(definitions, super::name(variable))).collect();
    let unknown = values.iter().zip(&places).filter(|(_, place)| place.is_none() && !open);
    errors.extend(unknown.map(|(variable, _)| not_defined(variable, path)));
    if !errors.is_empty() {
        return errors;
    }
    let mut added = Vec::new();
    if scope == Scope::Cluster {
        let mut missing = vec![true; definitions.len()];
        for place in places.iter().flatten() {
            missing[*place] = false;
        }
        for (definition, _) in definitions.iter().zip(missing).filter(|(_, missing)| *missing) {
            let Some(default) = definition.schema.default_value() else { continue };
            added.push(completed(default.clone(), definition));
        }
    }
    for (variable, place) in values.iter_mut().zip(places) {
        let Some(definition) = place.and_then(|place| definitions.get(place)) else { continue };
        match variable.as_object_mut().map(|fields| (fields.len(), fields.get_mut("value"))) {
            // It has a name and a value, but nothing else.
            Some((2, Some(value))) => complete(value, definition),
            Some((_, Some(value))) => *variable = completed(value.take(), definition),
            _ => *variable = completed(Value::Null, definition),
        }
    }
    values.extend(added);
    errors
}

/// A variable with its completed value.
fn completed(mut value: Value, definition: &Definition) -> Value {
    complete(&mut value, definition);
    let fields = [("name", Value::String(definition.name.clone())), ("value", value)];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn complete(value: &mut Value, definition: &Definition) {
    replace_null(value, &definition.schema);
    fill(value, &definition.schema);
    as_go_floats(value);
}

/// Rewrites numbers like upstream, which reads them as Go's `float64`: whole numbers lose the precision that a float cannot
/// hold, and `2.0` becomes `2`.
fn as_go_floats(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if number.as_i64().is_some_and(|whole| whole.unsigned_abs() < 1 << 53) {
                return;
            }
            let Some(float) = number.as_f64() else { return };
            let negative_zero = float == 0.0 && float.is_sign_negative();
            // The shortest digits that identify the float, parsed again.
            let whole = (float.fract() == 0.0 && float.abs() < 1e21 && !negative_zero)
                .then(|| float.to_string().parse::<i64>());
            *value = match whole {
                Some(Ok(whole)) => Value::from(whole),
                _ => Value::from(float),
            };
        }
        Value::Array(items) => items.iter_mut().for_each(as_go_floats),
        Value::Object(fields) => fields.values_mut().for_each(as_go_floats),
        _ => {}
    }
}

/// The error for a variable that the class does not define.
pub(super) fn not_defined(variable: &Value, path: &str) -> FieldError {
    let value = variable.get("value").map(compact).unwrap_or_default();
    FieldError::invalid(
        format!("{path}[{}]", super::name(variable)),
        format!("Invalid value: {value:?}: variable is not defined"),
    )
}

/// Reports duplicate names.
pub(super) fn unique(values: &[Value], path: &str) -> Vec<FieldError> {
    let mut sorted: Vec<&str> = values.iter().map(super::name).collect();
    sorted.sort_unstable();
    if sorted.is_sorted_by(|before, after| before < after) {
        return Vec::new();
    }
    let mut seen = BTreeSet::new();
    let names = values.iter().map(super::name).filter(|name| !seen.insert(*name));
    let twice = |name| {
        let detail = format!("variable {name:?} is set more than once");
        FieldError::invalid(format!("{path}[{name}]"), detail)
    };
    names.map(twice).collect()
}
