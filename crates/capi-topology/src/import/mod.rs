//! Reads objects in the forms in which users keep them: multi-document files, lists, and exports of `kubectl get -o yaml`.
//!
//! A prediction uses Clusters with a topology, `ClusterClass`es with the templates that they reference, and the running
//! objects of those Clusters. `v1beta1` Clusters and classes are converted to their stored form (`convert`). Templates stay
//! as written, because a class references them by version.
//!
//! ```
//! use capi_topology::import::Objects;
//!
//! let mut objects = Objects::default();
//! objects.read("fleet.yaml", "
//! apiVersion: cluster.x-k8s.io/v1beta1
//! kind: Cluster
//! metadata: { name: dev-1, namespace: team-a }
//! spec:
//!   topology: { class: small, version: v1.35.0 }
//! ")?;
//! let cluster = objects.cluster("team-a", "dev-1").expect("it is in the file");
//! assert_eq!(cluster.object["spec"]["topology"]["classRef"]["name"], "small");
//! assert!(objects.class_of(&cluster.object).is_none(), "its class is not among the files");
//! # Ok::<(), capi_topology::import::Unread>(())
//! ```

mod applied;
mod applier;
mod controller_object;
mod documents;
mod duplicates;
mod flux_exceptions;
mod json;
mod missing_namespace;
mod renamed;
mod stored;

use std::collections::BTreeMap;

use gotmpl::yaml;
use serde_json::Value;

use documents::documents;
use stored::{cleaned, drop_noted, stored};

use super::refusal::Refusal;
use crate::contract::OWNED;
use k8s_schema::value::{get, group, list, present, set, text, version};

pub use applied::{Applied, Claim};
pub use applier::Applier;
pub use controller_object::ControllerObject;
pub use flux_exceptions::ApplyException;
pub use missing_namespace::WithoutNamespace;

/// An object, with the file it came from.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Imported {
    /// The file, as the user named it.
    pub file: String,
    /// The object, without the fields that the API server maintains.
    pub object: Value,
    /// The line at which its document begins, counted from 1.
    pub line: usize,
    /// What is known about who applied it.
    pub applied: Applied,
    /// Who set which fields, if the topology controller made the object and managed fields show this.
    pub by_controller: Option<ControllerObject>,
    /// The field managers that wrote it; empty for a file, or for an export without managed fields.
    pub managers: Vec<String>,
    /// Its status; null if it has none.
    pub status: Value,
    /// Its generation; none in a file.
    pub generation: Option<i64>,
    /// When it was created; empty in a file.
    pub created: String,
    /// Why the API server refuses it in its written version; the object then stays as it was written.
    pub refused: Vec<Refusal>,
}

/// An error in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unread {
    /// The line, counted from 1; 0 if there is none.
    pub line: usize,
    /// The error message.
    pub message: String,
    /// How to fix it.
    pub hint: &'static str,
}

/// Objects of one or more files.
#[derive(Debug, Clone, Default)]
pub struct Objects {
    all: Vec<Imported>,
    applier: Option<Applier>,
    /// Labels and annotations that are dropped.
    ignored: Vec<String>,
}

/// The class of a Cluster, with the templates that it references.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ClassFiles {
    /// The `ClusterClass` first, then its templates.
    pub objects: Vec<Value>,
    /// Templates that it references and that were not found, as `Kind/name`.
    pub missing: Vec<String>,
}

impl ClassFiles {
    /// Creates a class with all its templates; the `ClusterClass` comes first.
    pub fn new(objects: Vec<Value>) -> Self {
        Self { objects, missing: Vec::new() }
    }

    /// Creates a class that was not found: `missing` names it as `Kind/name`. The objects it generates are unknown.
    pub fn absent(missing: String) -> Self {
        Self { objects: Vec::new(), missing: vec![missing] }
    }

    /// Finds the object that messages call `Kind/name`.
    pub fn labelled(&self, label: &str) -> Option<&Value> {
        let (kind, name) = label.split_once('/')?;
        let is_it = |one: &&Value| text(one, &["kind"]) == kind && text(one, &["metadata", "name"]) == name;
        self.objects.iter().find(is_it)
    }
}

const CORE: &str = "cluster.x-k8s.io";
const DEFINITION: &str = "CustomResourceDefinition";

impl Objects {
    /// Creates an empty set of objects. `applier`, if the user named one, will apply the objects that replace them.
    pub fn applied_by(applier: Option<Applier>) -> Self {
        Self { applier, ..Self::default() }
    }

    /// Drops these labels and annotations of objects that are read from now on, such as those in which an applier keeps its own
    /// books: they are not in the files that replace the objects.
    #[must_use]
    pub fn ignoring(self, names: Vec<String>) -> Self {
        Self { ignored: names, ..self }
    }

    /// Reads a file and adds its objects.
    pub fn read(&mut self, file: &str, source: &str) -> Result<(), Unread> {
        for (line, document) in documents(source) {
            let value = yaml::parse(&json::readable(document)).map_err(|error| Unread {
                line: line + error.line.unwrap_or(1) - 1,
                message: format!("this cannot be read as YAML: {}", error.message),
                hint: "give YAML or JSON, with `---` between documents",
            })?;
            self.add(file, line, value)?;
        }
        Ok(())
    }

    /// Combines these objects with those of `base`; these take precedence.
    #[must_use]
    pub fn over(&self, base: &Self) -> Self {
        let mut all = self.all.clone();
        all.extend(base.all.iter().cloned());
        Self { all, ..Self::default() }
    }

    /// Adds the `CustomResourceDefinition`s of others for kinds that have none here. They belong to the management cluster,
    /// and no change of a Cluster or class changes them.
    #[must_use]
    pub fn defined_by(&self, others: &Self) -> Self {
        let kind = |one: &Imported| {
            let of = |path: &[&str]| text(&one.object, path).to_owned();
            (of(&["kind"]) == DEFINITION).then(|| (of(&["spec", "group"]), of(&["spec", "names", "kind"])))
        };
        let known: Vec<_> = self.all.iter().filter_map(kind).collect();
        let is_new = |one: &&Imported| kind(one).is_some_and(|kind| !known.contains(&kind));
        let all = self.all.iter().chain(others.all.iter().filter(is_new));
        Self { all: all.cloned().collect(), ..Self::default() }
    }

    fn add(&mut self, file: &str, line: usize, mut value: Value) -> Result<(), Unread> {
        if value.is_null() {
            return Ok(());
        }
        let kind = text(&value, &["kind"]).to_owned();
        if kind.is_empty() || text(&value, &["apiVersion"]).is_empty() {
            return Err(Unread {
                line,
                message: "this document is not a Kubernetes object: it has no apiVersion or no kind"
                    .to_owned(),
                hint: "give Clusters, ClusterClasses and their templates",
            });
        }
        if let (true, Some(items)) = (kind.ends_with("List"), get(&value, &["items"])) {
            for item in items.as_array().into_iter().flatten() {
                self.add(file, line, item.clone())?;
            }
            return Ok(());
        }
        self.ignored.iter().for_each(|name| drop_noted(&mut value, name));
        let applied = Applied::of(&value, self.applier.as_ref());
        let entries = list(&value, &["metadata", "managedFields"]).iter();
        let managers = entries.map(|one| text(one, &["manager"]).to_owned()).collect();
        let by_controller = ControllerObject::of(&value).map(|made| made.map(cleaned));
        let status = get(&value, &["status"]).cloned().unwrap_or_default();
        let generation = get(&value, &["metadata", "generation"]).and_then(Value::as_i64);
        let created = text(&value, &["metadata", "creationTimestamp"]).to_owned();
        let object = cleaned(value);
        let ours = group(text(&object, &["apiVersion"])) == CORE
            && matches!(kind.as_str(), "Cluster" | "ClusterClass");
        let (object, applied, refused) = match version(text(&object, &["apiVersion"])) {
            "v1beta1" if ours => stored(object, applied),
            "v1beta2" => (object, applied, Vec::new()),
            other if ours => {
                let name = text(&object, &["metadata", "name"]);
                return Err(Unread {
                    line,
                    message: format!("{kind} {name} is of {other}, and v1beta1 or v1beta2 is needed"),
                    hint: "the API server converts: ask it for v1beta2",
                });
            }
            _ => (object, applied, Vec::new()),
        };
        let file = file.to_owned();
        self.all.push(Imported {
            file,
            object,
            line,
            applied,
            by_controller,
            managers,
            status,
            generation,
            created,
            refused,
        });
        Ok(())
    }

    /// Lists the Clusters with a topology, sorted by namespace and name.
    pub fn clusters(&self) -> Vec<&Imported> {
        let managed = |one: &&Imported| {
            is(&one.object, "Cluster") && present(&one.object, &["spec", "topology"]).is_some()
        };
        let mut found: Vec<_> = self.all.iter().filter(managed).collect();
        found.sort_by_key(|one| identity(&one.object));
        found
    }

    /// Lists the Clusters that no class manages.
    pub fn unmanaged(&self) -> impl Iterator<Item = &Imported> {
        self.all
            .iter()
            .filter(|one| is(&one.object, "Cluster") && present(&one.object, &["spec", "topology"]).is_none())
    }

    /// Finds the import of an object, which names its file.
    pub fn source(&self, object: &Value) -> Option<&Imported> {
        self.all.iter().find(|one| one.object == *object)
    }

    /// Reports whether any of the objects is used.
    pub fn counts(&self) -> bool {
        self.all.iter().any(|one| counts(&one.object))
    }

    /// Lists the objects that the API server refuses in their written version.
    pub fn refused(&self) -> impl Iterator<Item = &Imported> {
        self.all.iter().filter(|one| !one.refused.is_empty())
    }

    /// Lists all classes.
    pub fn classes(&self) -> impl Iterator<Item = &Imported> {
        self.all.iter().filter(|one| is(&one.object, "ClusterClass"))
    }

    /// Finds a Cluster with a topology by namespace and name.
    pub fn cluster(&self, namespace: &str, name: &str) -> Option<&Imported> {
        self.clusters().into_iter().find(|one| identity(&one.object) == (namespace, name))
    }

    /// Finds a Cluster by namespace and name, with or without a topology.
    pub fn any_cluster(&self, namespace: &str, name: &str) -> Option<&Imported> {
        let mut all = self.clusters().into_iter().chain(self.unmanaged());
        all.find(|one| identity(&one.object) == (namespace, name))
    }

    /// Finds the class that a Cluster references, with its templates; none if the class is not among the files.
    pub fn class_of(&self, cluster: &Value) -> Option<ClassFiles> {
        let (namespace, name) = asked_class(cluster);
        let named = |one: &&Imported| text(&one.object, &["metadata", "name"]) == name;
        let class = self.classes().filter(named).find(|one| lies_in(&one.object, namespace))?;
        Some(self.files_of(&class.object))
    }

    /// Collects a class with the templates that it references.
    pub fn files_of(&self, class: &Value) -> ClassFiles {
        let namespace = text(class, &["metadata", "namespace"]);
        let mut files = ClassFiles { objects: vec![class.clone()], missing: Vec::new() };
        for reference in references(class) {
            let (kind, name) = (text(reference, &["kind"]), text(reference, &["name"]));
            let found = self.all.iter().map(|one| &one.object).find(|object| {
                let api_version = text(object, &["apiVersion"]);
                text(object, &["kind"]) == kind
                    && text(object, &["metadata", "name"]) == name
                    && group(api_version) == group(text(reference, &["apiVersion"]))
                    && lies_in(object, namespace)
            });
            let label = format!("{kind}/{name}");
            match found {
                Some(object) if !files.objects.contains(object) => files.objects.push(object.clone()),
                None if !files.missing.contains(&label) => files.missing.push(label),
                _ => {}
            }
        }
        let control_plane = get(class, &["spec", "controlPlane", "templateRef"]).unwrap_or(&Value::Null);
        let definition = self.all.iter().map(|one| &one.object).find(|object| defines(object, control_plane));
        files.objects.extend(definition.cloned());
        files
    }

    /// The running objects of a Cluster that have a version: control planes, machine deployments and machine pools, with
    /// their status.
    pub fn running_for(&self, cluster: &Value) -> Vec<Value> {
        self.controller_objects_of(cluster).filter(|one| has_version(&one.object)).map(with_status).collect()
    }

    /// The running Machines of a Cluster, with their status.
    pub fn machines_for(&self, cluster: &Value) -> Vec<Value> {
        self.controller_objects_of(cluster)
            .filter(|one| is(&one.object, "Machine"))
            .map(with_status)
            .collect()
    }

    /// Counts the objects that the topology controller made, by kind.
    pub fn made(&self) -> BTreeMap<String, usize> {
        kinds(self.all.iter().filter(|one| is_made(&one.object) && !is(&one.object, "Cluster")))
    }

    /// Counts those of them that are ignored, by kind.
    pub fn ignored(&self) -> BTreeMap<String, usize> {
        let is_used = |one: &&Imported| {
            let kind = text(&one.object, &["kind"]);
            let is_read = is(&one.object, "Cluster") || kind.ends_with("Template");
            is_read || has_version(&one.object) || one.by_controller.is_some()
        };
        kinds(self.all.iter().filter(|one| is_made(&one.object) && !is_used(one)))
    }
}

fn kinds<'a>(objects: impl Iterator<Item = &'a Imported>) -> BTreeMap<String, usize> {
    let mut kinds = BTreeMap::new();
    for one in objects {
        *kinds.entry(text(&one.object, &["kind"]).to_owned()).or_default() += 1;
    }
    kinds
}

fn with_status(one: &Imported) -> Value {
    let mut object = one.object.clone();
    set(&mut object, &["status"], one.status.clone());
    if let Some(generation) = one.generation {
        set(&mut object, &["metadata", "generation"], generation.into());
    }
    object
}

/// Reports whether the topology controller made an object.
fn is_made(object: &Value) -> bool {
    get(object, &["metadata", "labels", OWNED]).is_some()
}

/// Reports whether a running object has a version that matters for upgrades.
fn has_version(object: &Value) -> bool {
    let kind = text(object, &["kind"]);
    matches!(kind, "MachineDeployment" | "MachinePool") || kind.ends_with("ControlPlane")
}

/// The namespace and name of the class that a Cluster references; a file may leave the namespace empty.
pub fn asked_class(cluster: &Value) -> (&str, &str) {
    let reference = get(cluster, &["spec", "topology", "classRef"]).unwrap_or(&Value::Null);
    let namespace = match text(reference, &["namespace"]) {
        "" => text(cluster, &["metadata", "namespace"]),
        own => own,
    };
    (namespace, text(reference, &["name"]))
}

/// Namespace and name of an object; without a namespace, it is `default`.
pub fn identity(object: &Value) -> (&str, &str) {
    let namespace = match text(object, &["metadata", "namespace"]) {
        "" => "default",
        own => own,
    };
    (namespace, text(object, &["metadata", "name"]))
}

fn is(object: &Value, kind: &str) -> bool {
    text(object, &["kind"]) == kind && group(text(object, &["apiVersion"])) == CORE
}

/// Reports whether an object is used: a Cluster, a class, a template that no controller made, or a definition.
fn counts(object: &Value) -> bool {
    let template = text(object, &["kind"]).ends_with("Template") && !is_made(object);
    let definition = text(object, &["kind"]) == DEFINITION;
    definition || is(object, "Cluster") || is(object, "ClusterClass") || template
}

/// Reports whether an object may be in a namespace: files in git often omit it and let the deployment tool set it.
fn lies_in(object: &Value, namespace: &str) -> bool {
    let own = text(object, &["metadata", "namespace"]);
    own.is_empty() || namespace.is_empty() || own == namespace
}

/// Reports whether an object is the `CustomResourceDefinition` of the kind that a template creates: its labels name the
/// contract.
fn defines(object: &Value, template: &Value) -> bool {
    let kind = text(template, &["kind"]);
    text(object, &["kind"]) == DEFINITION
        && text(object, &["spec", "group"]) == group(text(template, &["apiVersion"]))
        && text(object, &["spec", "names", "kind"]) == kind.strip_suffix("Template").unwrap_or(kind)
}

/// Lists every template reference in a class.
fn references(class: &Value) -> Vec<&Value> {
    let spec = get(class, &["spec"]).unwrap_or(&Value::Null);
    let mut all = vec![
        get(spec, &["infrastructure", "templateRef"]),
        get(spec, &["controlPlane", "templateRef"]),
        get(spec, &["controlPlane", "machineInfrastructure", "templateRef"]),
    ];
    for kind in ["machineDeployments", "machinePools"] {
        for worker in list(spec, &["workers", kind]) {
            all.push(get(worker, &["bootstrap", "templateRef"]));
            all.push(get(worker, &["infrastructure", "templateRef"]));
        }
    }
    all.into_iter().flatten().filter(|one| !text(one, &["name"]).is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLASS: &str = "
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: { name: c, namespace: classes, resourceVersion: \"7\" }
spec:
  infrastructure: { templateRef: { apiVersion: x.io/v1, kind: XClusterTemplate, name: i } }
  controlPlane: { templateRef: { apiVersion: y.io/v1, kind: YTemplate, name: p } }
";

    fn read(files: &[&str]) -> Objects {
        let mut objects = Objects::default();
        for file in files {
            objects.read("file.yaml", file).unwrap();
        }
        objects
    }

    #[test]
    fn lists_are_taken_apart_and_marks_of_the_api_server_are_dropped() {
        let list = format!("apiVersion: v1\nkind: List\nitems:\n- {}", CLASS.trim().replace('\n', "\n  "));
        let objects = read(&[&list]);
        let class = &objects.classes().next().unwrap().object;
        assert!(get(class, &["metadata", "resourceVersion"]).is_none());
        assert_eq!(objects.files_of(class).missing, ["XClusterTemplate/i", "YTemplate/p"]);
    }

    #[test]
    fn a_class_is_found_in_its_namespace_with_its_templates() {
        let template = "apiVersion: x.io/v1\nkind: XClusterTemplate\nmetadata: { name: i, namespace: NS }\n";
        let cluster = "
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: { name: one, namespace: team }
spec: { topology: { classRef: { name: c, namespace: classes }, version: v1.35.0 } }
";
        let own = template.replace("NS", "classes");
        let objects = read(&[CLASS, &own, cluster]);
        let cluster = objects.cluster("team", "one").unwrap();
        let files = objects.class_of(&cluster.object).unwrap();
        assert_eq!((files.objects.len(), files.missing.len()), (2, 1));
        let other = read(&[CLASS, &template.replace("NS", "other")]);
        assert_eq!(other.files_of(&other.classes().next().unwrap().object).missing.len(), 2);
    }

    #[test]
    fn unreadable_documents_are_reported_with_their_line() {
        let mut objects = Objects::default();
        let refused = |objects: &mut Objects, text: &str| objects.read("f", text).unwrap_err();
        assert_eq!(refused(&mut objects, "# none\n---\nb: [\n").line, 3);
        assert!(refused(&mut objects, "a: 1\n").message.contains("not a Kubernetes object"));
        let old = CLASS.replace("v1beta2", "v1alpha4");
        assert!(refused(&mut objects, &old).message.contains("v1alpha4"));
    }
}
