//! Copies of a class' templates: as objects, or as templates of one cluster.
//!
//! Source: `templateToObject` and `templateToTemplate` of upstream's generator, and
//! `GenerateTemplate` of `controllers/external`.

use serde_json::{Map, Value, json};

use super::contract::{CLONED_FROM_KIND, CLONED_FROM_NAME, CLUSTER_NAME, LAST_APPLIED, OWNED, Path};
use crate::class::Template;
use k8s_schema::value::{get, map, remove, set, text};

/// What a copy is given beside what the template has.
#[derive(Debug)]
pub struct Copy<'a> {
    /// The Cluster that it is for.
    pub cluster: &'a Value,
    /// Its name.
    pub name: String,
    /// More labels.
    pub labels: Map<String, Value>,
    /// More annotations.
    pub annotations: Map<String, Value>,
    /// Whether the Cluster owns it from the start.
    pub owned: bool,
}

impl<'a> Copy<'a> {
    /// A copy of this name, without more labels.
    pub fn new(cluster: &'a Value, name: String) -> Self {
        Self { cluster, name, labels: Map::new(), annotations: Map::new(), owned: false }
    }

    /// Owned by the Cluster from the start, with one more label.
    #[must_use]
    pub fn of_worker(mut self, label: &str, name: &str) -> Self {
        self.labels.insert(label.to_owned(), json!(name));
        self.owned = true;
        self
    }
}

/// What all copies of a template have in common, made once: without the spec that the patches put in, and with every label and
/// annotation of which only the value differs.
#[derive(Debug, Clone)]
pub struct Shells {
    object: Value,
    template: Value,
}

impl Shells {
    /// The shells of a template.
    pub fn of(template: &Value, group_kind: &str) -> Self {
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

/// An object from `spec.template` of a template, but for its spec, which the patches put in.
pub fn object(template: &Template, copy: Copy<'_>) -> Value {
    object_with(template, copy, &[])
}

/// The same with what stands at some paths of its spec, which patches do not put in.
pub fn object_with(template: &Template, copy: Copy<'_>, paths: &[Path]) -> Value {
    let mut object = template.shells.object.clone();
    for path in paths {
        let inner = get(&template.object, &["spec", "template"]).and_then(|inner| get(inner, path));
        if let Some(value) = inner {
            set(&mut object, path, value.clone());
        }
    }
    finish(&mut object, copy);
    object
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

/// A template of one cluster from a template of the class, but for its inner spec, which the patches put in.
pub fn template(template: &Template, copy: Copy<'_>) -> Value {
    let mut object = template.shells.template.clone();
    finish(&mut object, copy);
    remove(&mut object, &["metadata", "annotations", LAST_APPLIED]);
    object
}

fn finish(object: &mut Value, copy: Copy<'_>) {
    for (name, value) in copy.labels {
        set(object, &["metadata", "labels", &name], value);
    }
    set(object, &["metadata", "labels", CLUSTER_NAME], json!(text(copy.cluster, &["metadata", "name"])));
    set(object, &["metadata", "labels", OWNED], json!(""));
    for (name, value) in copy.annotations {
        // What it was cloned from is not for others to say.
        if name != CLONED_FROM_NAME && name != CLONED_FROM_KIND {
            set(object, &["metadata", "annotations", &name], value);
        }
    }
    set(object, &["metadata", "name"], json!(copy.name));
    let namespace = text(copy.cluster, &["metadata", "namespace"]);
    set(object, &["metadata", "namespace"], json!(namespace));
    if copy.owned {
        set(object, &["metadata", "ownerReferences"], owner(copy.cluster));
    }
}

/// The owner reference to the Cluster, without its uid.
pub fn owner(cluster: &Value) -> Value {
    json!([{
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Cluster",
        "name": text(cluster, &["metadata", "name"]),
    }])
}

/// A reference by group, kind and name.
pub fn reference(object: &Value) -> Value {
    json!({
        "apiGroup": k8s_schema::value::group(text(object, &["apiVersion"])),
        "kind": text(object, &["kind"]),
        "name": text(object, &["metadata", "name"]),
    })
}
