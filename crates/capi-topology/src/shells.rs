//! What all copies of a template have in common.

use k8s_schema::value::{get, map, remove, set, text};
use serde_json::{Value, json};

use super::desired::contract::{CLONED_FROM_KIND, CLONED_FROM_NAME, CLUSTER_NAME, LAST_APPLIED, OWNED};

/// What all copies of a template have in common, made once: without the spec that the patches put in, and with every label and
/// annotation of which only the value differs.
#[derive(Debug, Clone)]
pub(crate) struct Shells {
    object: Value,
    template: Value,
}

impl Shells {
    /// The shells of a template.
    pub(crate) fn of(template: &Value, group_kind: &str) -> Self {
        let mut object = match get(template, &["spec", "template"]) {
            Some(inner @ Value::Object(_)) => without(inner, &["spec"]),
            _ => json!({}),
        };
        if get(&object, &["spec"]).is_some()
            && get(template, &["spec", "template", "spec"]).is_some_and(Value::is_object)
        {
            set(&mut object, &["spec"], json!({}));
        }
        mark(&mut object, template, group_kind);
        if text(&object, &["apiVersion"]).is_empty() {
            set(&mut object, &["apiVersion"], json!(text(template, &["apiVersion"])));
        }
        if text(&object, &["kind"]).is_empty() {
            let kind = text(template, &["kind"]);
            set(&mut object, &["kind"], json!(kind.strip_suffix("Template").unwrap_or(kind)));
        }
        Self { object, template: template_shell(template, group_kind) }
    }

    /// What all objects that are copied from it have in common.
    pub(crate) fn object(&self) -> &Value {
        &self.object
    }

    /// What all templates of one cluster that are copied from it have in common.
    pub(crate) fn template(&self) -> &Value {
        &self.template
    }
}

fn template_shell(template: &Value, group_kind: &str) -> Value {
    let mut object = without(template, &["spec", "template", "spec"]);
    if let Some(fields) = object.as_object_mut() {
        fields.shift_remove("status");
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|field, _| matches!(field.as_str(), "labels" | "annotations" | "name" | "namespace"));
    }
    mark(&mut object, template, group_kind);
    remove(&mut object, &["metadata", "annotations", LAST_APPLIED]);
    object
}

/// Puts in the metadata that every copy has.
fn mark(object: &mut Value, template: &Value, group_kind: &str) {
    for field in ["labels", "annotations"] {
        if map(object, &["metadata", field]).is_none() {
            set(object, &["metadata", field], json!({}));
        }
    }
    set(object, &["metadata", "labels", CLUSTER_NAME], Value::Null);
    set(object, &["metadata", "labels", OWNED], json!(""));
    let name = text(template, &["metadata", "name"]);
    set(object, &["metadata", "annotations", CLONED_FROM_NAME], json!(name));
    set(object, &["metadata", "annotations", CLONED_FROM_KIND], json!(group_kind));
    set(object, &["metadata", "name"], Value::Null);
    set(object, &["metadata", "namespace"], Value::Null);
}

/// A copy with null in one place, where there is something.
fn without(value: &Value, path: &[&str]) -> Value {
    let (Value::Object(fields), Some((first, rest))) = (value, path.split_first()) else {
        return if path.is_empty() { Value::Null } else { value.clone() };
    };
    let copy = |(key, value): (&String, &Value)| {
        (key.clone(), if key == first { without(value, rest) } else { value.clone() })
    };
    Value::Object(fields.iter().map(copy).collect())
}
