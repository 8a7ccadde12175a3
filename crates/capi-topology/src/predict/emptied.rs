//! Fields that lose all their entries while their object changes its version.

use serde_json::Value;

use crate::refusal::Opaque;
use crate::role::Role;
use k8s_schema::value::text;

/// The uncertainty about an object that changes its version while a field loses all its entries: the running object is
/// unknown in the other version.
pub(super) fn emptied_in_old(role: &Role, running: &Value, desired: &Value) -> Option<Opaque> {
    let api_version = text(desired, &["apiVersion"]);
    if api_version == text(running, &["apiVersion"]) {
        return None;
    }
    let path = emptied(running.get("spec")?, desired.get("spec")?)?;
    let kind = text(desired, &["kind"]);
    let reason = format!(
        "{kind} is written in {api_version}, where spec{path} loses all its entries: whether the API server takes that in this \
         version is not known here"
    );
    Some(Opaque::new(role.clone(), reason))
}

/// Finds a field that has entries and loses all of them.
fn emptied(running: &Value, desired: &Value) -> Option<String> {
    let has_entries = match running {
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    };
    let is_empty = match desired {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    };
    if has_entries && is_empty {
        return Some(String::new());
    }
    desired
        .as_object()?
        .iter()
        .find_map(|(name, value)| Some(format!(".{name}{}", emptied(running.get(name)?, value)?)))
}
