//! The content that all copies of a template share.

use k8s_schema::value::{get, map, remove, set, text};
use serde_json::{Value, json};

use crate::contract::{CLONED_FROM_KIND, CLONED_FROM_NAME, CLUSTER_NAME, LAST_APPLIED, OWNED};

/// The content that all copies of a template share, built once. It lacks the spec, which the patches produce. All labels
/// and annotations are present, even those whose values differ between copies.
#[derive(Debug, Clone)]
pub(crate) struct Shells {
    object: Value,
    template: Value,
}

impl Shells {
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

    /// The shared content of all objects copied from the template.
    pub(crate) fn object(&self) -> &Value {
        &self.object
    }

    /// The shared content of all templates of a cluster copied from it.
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

/// Adds the metadata that every copy has.
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

/// Copies a value with null at one path, if the path exists.
fn without(value: &Value, path: &[&str]) -> Value {
    let (Value::Object(fields), Some((first, rest))) = (value, path.split_first()) else {
        return if path.is_empty() { Value::Null } else { value.clone() };
    };
    let copy = |(key, value): (&String, &Value)| {
        (key.clone(), if key == first { without(value, rest) } else { value.clone() })
    };
    Value::Object(fields.iter().map(copy).collect())
}
