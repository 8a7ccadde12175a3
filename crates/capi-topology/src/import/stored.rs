//! The stored form of an object that is written.

use serde_json::{Map, Value};
use std::borrow::Cow;

use super::{Applied, Claim, is_made};
use crate::contract::LAST_APPLIED;
use crate::convert;
use crate::refusal::{By, FieldError, Refusal, Stage};
use crate::schemas::{apply_faults, schema_faults};
use k8s_schema::value::{get, keep_numbers, remove, text};

/// Removes the fields that the API server and controllers maintain.
pub(super) fn cleaned(mut object: Value) -> Value {
    keep_numbers(&mut object);
    for path in [
        &["status"][..],
        &["metadata", "managedFields"],
        &["metadata", "resourceVersion"],
        &["metadata", "creationTimestamp"],
        &["metadata", "generation"],
        &["metadata", "selfLink"],
        &["metadata", "finalizers"],
        &["metadata", "annotations", LAST_APPLIED],
    ] {
        remove(&mut object, path);
    }
    // On a template of a class, they show that the class has adopted it.
    if is_made(&object) || !text(&object, &["kind"]).ends_with("Template") {
        remove(&mut object, &["metadata", "ownerReferences"]);
    }
    object
}

/// Converts an object of an old version to its stored form, if its schema accepts it.
pub(super) fn stored(object: Value, applied: Applied) -> (Value, Applied, Vec<Refusal>) {
    let stage = if text(&object, &["kind"]) == "Cluster" { Stage::Cluster } else { Stage::Class };
    let mut refused = apply_faults(&object, stage);
    if refused.is_empty() {
        refused = schema_faults(&object, stage);
    }
    if !refused.is_empty() {
        return (object, applied, refused);
    }
    let applied = match applied {
        // The applied fields are part of a Cluster, and may be of either version.
        Applied::Known(claims) => {
            let converted = claims.into_iter().map(|one| {
                let part = convert::to_stored(&one.part)?.into_owned();
                Ok(Claim { part, ..one })
            });
            converted.collect::<Result<_, String>>().map_or(Applied::Unknown, Applied::Known)
        }
        other => other,
    };
    match convert::to_stored(&object).map(Cow::into_owned) {
        Ok(converted) => (converted, applied, Vec::new()),
        Err(error) => {
            let name = format!("{}/{}", text(&object, &["kind"]), text(&object, &["metadata", "name"]));
            let error = FieldError::invalid("spec", format!("it cannot be converted to v1beta2: {error}"));
            (object, applied, Refusal::of(stage, By::WebhookValidate, &name, vec![error]))
        }
    }
}

/// Removes a label and an annotation of this name, and the map of each if it was the last entry.
pub(super) fn drop_noted(object: &mut Value, name: &str) {
    for map in ["labels", "annotations"] {
        let path = ["metadata", map];
        if remove(object, &[path[0], path[1], name])
            && get(object, &path).and_then(Value::as_object).is_some_and(Map::is_empty)
        {
            remove(object, &path);
        }
    }
}
