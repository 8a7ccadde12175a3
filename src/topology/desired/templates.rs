//! Copies of a class' templates: as objects, or as templates of one cluster.
//!
//! Source: `templateToObject` and `templateToTemplate` of upstream's generator, and
//! `GenerateTemplate` of `controllers/external`.

use serde_json::{Map, Value, json};

use super::contract::{CLONED_FROM_KIND, CLONED_FROM_NAME, CLUSTER_NAME, LAST_APPLIED, OWNED, Path};
use crate::topology::class::Template;
use crate::topology::value::{get, map, set, text};

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

/// An object from `spec.template` of a template, but for its spec, which the patches put in.
pub fn object(template: &Template, copy: Copy<'_>) -> Value {
    object_with(template, copy, &[])
}

/// The same with what stands at some paths of its spec, which patches do not put in.
pub fn object_with(template: &Template, copy: Copy<'_>, paths: &[Path]) -> Value {
    let mut object = match get(&template.object, &["spec", "template"]) {
        Some(inner @ Value::Object(_)) => taken(inner, paths),
        _ => json!({}),
    };
    finish(&mut object, template, copy);
    if text(&object, &["apiVersion"]).is_empty() {
        set(&mut object, &["apiVersion"], json!(template.api_version()));
    }
    if text(&object, &["kind"]).is_empty() {
        let kind = template.kind();
        set(&mut object, &["kind"], json!(kind.strip_suffix("Template").unwrap_or(kind)));
    }
    object
}

/// A copy, of its spec only what stands at some paths.
fn taken(inner: &Value, paths: &[Path]) -> Value {
    let mut object = without(inner, &["spec"]);
    if get(inner, &["spec"]).is_some_and(Value::is_object) {
        set(&mut object, &["spec"], json!({}));
    }
    for path in paths {
        if let Some(value) = get(inner, path) {
            set(&mut object, path, value.clone());
        }
    }
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
    let mut object = without(&template.object, &["spec", "template", "spec"]);
    if let Some(fields) = object.as_object_mut() {
        fields.shift_remove("status");
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|field, _| matches!(field.as_str(), "labels" | "annotations" | "name" | "namespace"));
    }
    finish(&mut object, template, copy);
    if let Some(annotations) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.shift_remove(LAST_APPLIED);
    }
    object
}

fn finish(object: &mut Value, template: &Template, copy: Copy<'_>) {
    let cluster_name = text(copy.cluster, &["metadata", "name"]);
    let mut labels = map(object, &["metadata", "labels"]).cloned().unwrap_or_default();
    labels.extend(copy.labels);
    labels.insert(CLUSTER_NAME.to_owned(), json!(cluster_name));
    labels.insert(OWNED.to_owned(), json!(""));
    let mut annotations = map(object, &["metadata", "annotations"]).cloned().unwrap_or_default();
    annotations.extend(copy.annotations);
    annotations.insert(CLONED_FROM_NAME.to_owned(), json!(template.name()));
    annotations.insert(CLONED_FROM_KIND.to_owned(), json!(template.group_kind));
    set(object, &["metadata", "labels"], Value::Object(labels));
    set(object, &["metadata", "annotations"], Value::Object(annotations));
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
        "apiGroup": crate::topology::value::group(text(object, &["apiVersion"])),
        "kind": text(object, &["kind"]),
        "name": text(object, &["metadata", "name"]),
    })
}
