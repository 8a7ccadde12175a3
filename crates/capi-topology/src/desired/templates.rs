//! Copies of a class's templates, as objects or as templates of one cluster.
//!
//! Source: `templateToObject` and `templateToTemplate` of upstream's generator, and
//! `GenerateTemplate` of `controllers/external`.

use serde_json::{Map, Value, json};

use crate::class::Template;
use crate::contract::{CLONED_FROM_KIND, CLONED_FROM_NAME, CLUSTER_NAME, LAST_APPLIED, OWNED, Path};
use k8s_schema::value::{get, remove, set, text};

/// The fields of a copy that do not come from the template.
#[derive(Debug)]
pub(crate) struct Copy<'a> {
    /// The Cluster it belongs to.
    pub cluster: &'a Value,
    /// Its name.
    pub name: String,
    /// Additional labels.
    pub labels: Map<String, Value>,
    /// Additional annotations.
    pub annotations: Map<String, Value>,
    /// Whether the Cluster owns it from the start.
    pub owned: bool,
}

impl<'a> Copy<'a> {
    /// Creates a copy with this name, without additional labels.
    pub(crate) fn new(cluster: &'a Value, name: String) -> Self {
        Self { cluster, name, labels: Map::new(), annotations: Map::new(), owned: false }
    }

    /// Adds a label, and makes the Cluster own the copy from the start.
    #[must_use]
    pub(crate) fn of_worker(mut self, label: &str, name: &str) -> Self {
        self.labels.insert(label.to_owned(), json!(name));
        self.owned = true;
        self
    }
}

/// Creates an object from `spec.template` of a template, without its spec, which the patches fill in.
pub(crate) fn object(template: &Template, copy: Copy<'_>) -> Value {
    object_with(template, copy, &[])
}

/// Also copies these paths of the spec, which patches do not fill in.
pub(crate) fn object_with(template: &Template, copy: Copy<'_>, paths: &[Path]) -> Value {
    let mut object = template.shells.object().clone();
    for path in paths {
        let inner = get(&template.object, &["spec", "template"]).and_then(|inner| get(inner, path));
        if let Some(value) = inner {
            set(&mut object, path, value.clone());
        }
    }
    finish(&mut object, copy);
    object
}

/// Creates a template of one cluster from a template of the class, without its inner spec, which the patches fill in.
pub(crate) fn template(template: &Template, copy: Copy<'_>) -> Value {
    let mut object = template.shells.template().clone();
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
        // Annotations of the topology or the class cannot override the origin of the copy.
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
pub(crate) fn owner(cluster: &Value) -> Value {
    json!([{
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Cluster",
        "name": text(cluster, &["metadata", "name"]),
    }])
}

/// A reference by group, kind and name.
pub(crate) fn reference(object: &Value) -> Value {
    json!({
        "apiGroup": k8s_schema::value::group(text(object, &["apiVersion"])),
        "kind": text(object, &["kind"]),
        "name": text(object, &["metadata", "name"]),
    })
}
