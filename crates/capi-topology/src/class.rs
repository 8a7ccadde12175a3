//! A `ClusterClass` with everything it references, read once and used for every Cluster.
//!
//! Upstream calls this the blueprint (`exp/topology/scope/blueprint.go`).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use super::convert;
use super::patches::Patch;
use super::patches::whole::Patched;
use super::refusal::{Refusal, Stage};
use super::role::PoolKind;
use super::shells::Shells;
use super::variables::{Definition, definitions};
use crate::contract::Contract;
use crate::gates::Gates;
use k8s_schema::value::{get, group, list, text, version};

/// The key of an object: group, kind, name and namespace. Files in git often omit the namespace and let the deployment tool
/// set it.
type Key = (String, String, String, String);

/// The available `ClusterClass`es and templates.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Catalog {
    objects: Arc<BTreeMap<Key, Value>>,
    /// Feature gates of the management cluster that holds the objects.
    pub gates: Gates,
    /// Cache of parsed classes, shared by copies of a catalog until one of them changes.
    read: Arc<Mutex<Read>>,
}

/// Parsed classes, by name and namespace: reading a class takes far longer than using it.
#[derive(Debug, Default)]
struct Read {
    definitions: BTreeMap<Key, Arc<Vec<Definition>>>,
    blueprints: BTreeMap<Key, Arc<Blueprint>>,
}

/// The namespace and name of the class that a Cluster references.
///
/// Source: `GetClassKey` of `api/core/v1beta2/cluster_types.go`.
pub(crate) fn class_key(cluster: &Value) -> (&str, &str) {
    let reference = get(cluster, &["spec", "topology", "classRef"]).unwrap_or(&Value::Null);
    let places = [text(reference, &["namespace"]), text(cluster, &["metadata", "namespace"])];
    let namespace = places.into_iter().find(|one| !one.is_empty()).unwrap_or("default");
    (namespace, text(reference, &["name"]))
}

fn key(object: &Value) -> Key {
    (
        group(text(object, &["apiVersion"])).to_owned(),
        text(object, &["kind"]).to_owned(),
        text(object, &["metadata", "name"]).to_owned(),
        text(object, &["metadata", "namespace"]).to_owned(),
    )
}

impl Catalog {
    /// Creates a catalog of these objects. If two share a name, the later one wins, as it does when they are applied.
    pub fn new(objects: impl IntoIterator<Item = Value>) -> Self {
        let mut catalog = Self::default();
        catalog.apply(objects);
        catalog
    }

    /// Returns the catalog with these feature gates of the management cluster.
    #[must_use]
    pub fn with_gates(self, gates: Gates) -> Self {
        Self { gates, ..self }
    }

    /// Adds or replaces objects.
    pub fn apply(&mut self, objects: impl IntoIterator<Item = Value>) {
        for object in objects {
            let there = self.same_object(&object);
            if there == Some(&object) {
                continue;
            }
            let old = there.map(key);
            let objects = Arc::make_mut(&mut self.objects);
            if let Some(old) = old {
                objects.remove(&old);
            }
            objects.insert(key(&object), object);
            self.read = Arc::default();
        }
    }

    /// Removes all objects of this kind and name.
    pub fn remove(&mut self, kind: &str, name: &str) {
        self.read = Arc::default();
        Arc::make_mut(&mut self.objects).retain(|(_, k, n, _), _| !(k == kind && n == name));
    }

    /// Finds the `ClusterClass` that a Cluster references.
    pub fn class_of(&self, cluster: &Value) -> Option<&Value> {
        let (namespace, name) = class_key(cluster);
        self.find("cluster.x-k8s.io", "ClusterClass", namespace, name)
    }

    /// Lists all `ClusterClass`es.
    pub fn classes(&self) -> impl Iterator<Item = &Value> {
        self.objects.values().filter(|object| text(object, &["kind"]) == "ClusterClass")
    }

    /// Finds an object by group, kind, namespace and name. Without an exact match, an object whose file omits the namespace
    /// matches; failing that, the only object of that name does.
    fn find(&self, group: &str, kind: &str, namespace: &str, name: &str) -> Option<&Value> {
        let named: Vec<_> = self.named(group, kind, name).collect();
        let lies_in =
            |wanted: &str| named.iter().find(|one| text(one, &["metadata", "namespace"]) == wanted).copied();
        let only = || if let [one] = named.as_slice() { Some(*one) } else { None };
        lies_in(namespace).or_else(|| lies_in("")).or_else(only)
    }

    /// Finds the object that this one replaces when it is applied.
    pub fn same_object(&self, object: &Value) -> Option<&Value> {
        let (group, kind, name, namespace) = key(object);
        let mut named = self.named(&group, &kind, &name);
        named.find(|one| {
            let own = text(one, &["metadata", "namespace"]);
            own == namespace || own.is_empty() || namespace.is_empty()
        })
    }

    fn named(&self, group: &str, kind: &str, name: &str) -> impl Iterator<Item = &Value> {
        let from = (group.to_owned(), kind.to_owned(), name.to_owned(), String::new());
        let (group, kind, name) = (from.0.clone(), from.1.clone(), from.2.clone());
        let all = self.objects.range(from..);
        all.take_while(move |(key, _)| key.0 == group && key.1 == kind && key.2 == name).map(|(_, one)| one)
    }

    /// The variables of a class in the catalog, read once.
    pub fn definitions(&self, class: &Value) -> Arc<Vec<Definition>> {
        let key = key(class);
        if let Some(known) = self.reads(|read| read.definitions.get(&key).cloned()) {
            return known;
        }
        let made = Arc::new(definitions(class));
        self.reads(|read| read.definitions.insert(key, Arc::clone(&made)));
        made
    }

    /// A class with everything it references, read once; none if the class of the Cluster does not exist.
    pub fn blueprint(&self, cluster: &Value) -> Option<Result<Arc<Blueprint>, Refusal>> {
        let class = self.class_of(cluster)?;
        let key = key(class);
        if let Some(known) = self.reads(|read| read.blueprints.get(&key).cloned()) {
            return Some(Ok(known));
        }
        Some(Blueprint::read(class, self).map(|made| {
            let made = Arc::new(made);
            self.reads(|read| read.blueprints.insert(key, Arc::clone(&made)));
            made
        }))
    }

    fn reads<T>(&self, look: impl FnOnce(&mut Read) -> T) -> T {
        look(&mut self.read.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Finds the template that a class in this namespace references, at the version that the reference names.
    fn template(&self, namespace: &str, reference: &Value) -> Option<Template> {
        let api_version = text(reference, &["apiVersion"]);
        let kind = text(reference, &["kind"]);
        let found = self.find(group(api_version), kind, namespace, text(reference, &["name"]))?;
        let group_kind = match group(api_version) {
            "" => kind.to_owned(),
            group => format!("{kind}.{group}"),
        };
        let (own, wanted) = (version(text(found, &["apiVersion"])), version(api_version));
        let (mut object, opaque) = match convert::template_at(found, wanted) {
            Ok(object) => (object, None),
            Err(error) => {
                let reason = format!(
                    "{kind}/{} is given in {own}, and the class refers to it in {wanted}: {error}; the API server serves it in \
                     {wanted}",
                    text(found, &["metadata", "name"]),
                );
                (found.clone(), Some(reason))
            }
        };
        object["apiVersion"] = Value::String(api_version.to_owned());
        let shells = Shells::of(&object, &group_kind);
        Some(Template { object, group_kind, shells, patched: Arc::default(), opaque })
    }

    /// The labels of a kind's `CustomResourceDefinition`, if the catalog holds it.
    fn definition_labels(&self, group: &str, kind: &str) -> Option<&Value> {
        let mut definitions = self.objects.values().filter(|object| {
            text(object, &["kind"]) == "CustomResourceDefinition"
                && text(object, &["spec", "group"]) == group
                && text(object, &["spec", "names", "kind"]) == kind
        });
        definitions.find_map(|object| get(object, &["metadata", "labels"]))
    }
}

/// A template that a class references.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub(crate) struct Template {
    /// The template itself.
    pub(crate) object: Value,
    /// `Kind.group`, as annotations spell it.
    pub(crate) group_kind: String,
    /// The fields that all its copies share.
    pub(crate) shells: Shells,
    /// Cached results of patching it.
    pub(crate) patched: Arc<Patched>,
    /// Why it is unknown at the version that the class references.
    pub(crate) opaque: Option<String>,
}

impl Template {
    pub(crate) fn kind(&self) -> &str {
        text(&self.object, &["kind"])
    }

    pub(crate) fn api_version(&self) -> &str {
        text(&self.object, &["apiVersion"])
    }
}

/// A class of machine deployments or machine pools.
#[derive(Debug)]
#[non_exhaustive]
pub(crate) struct WorkerClass {
    /// Its entry in the `ClusterClass`.
    pub(crate) class: Value,
    /// Template of the bootstrap config.
    pub(crate) bootstrap: Template,
    /// Template of machines, or of the machine pool.
    pub(crate) infrastructure: Template,
}

/// A `ClusterClass`, its templates, variables and patches.
#[derive(Debug)]
#[non_exhaustive]
pub struct Blueprint {
    /// The `ClusterClass`.
    pub(crate) class: Value,
    /// Its variables, by name.
    pub(crate) variables: Arc<Vec<Definition>>,
    /// The parts of the class that cannot be known offline.
    pub(crate) opaque: Vec<String>,
    /// Template of the infrastructure cluster.
    pub(crate) infrastructure: Template,
    pub(crate) control_plane: Template,
    /// The contract that the control plane follows; none if it cannot be determined.
    pub(crate) contract: Option<Contract>,
    /// Template of the control plane's machines, if it has any.
    pub(crate) machine: Option<Template>,
    /// Classes of machine deployments, by name.
    pub(crate) deployments: BTreeMap<String, WorkerClass>,
    /// Classes of machine pools, by name.
    pub(crate) pools: BTreeMap<String, WorkerClass>,
    /// Its patches, in order.
    pub(crate) patches: Vec<Patch>,
}

impl Blueprint {
    /// The classes of workers of a kind, by name.
    pub(crate) fn workers(&self, kind: PoolKind) -> &BTreeMap<String, WorkerClass> {
        match kind {
            PoolKind::MachineDeployment => &self.deployments,
            PoolKind::MachinePool => &self.pools,
        }
    }

    /// Reads a class and everything it references.
    pub(crate) fn read(class: &Value, catalog: &Catalog) -> Result<Self, Refusal> {
        let unknown = RefCell::new(Vec::new());
        let namespace = text(class, &["metadata", "namespace"]);
        let template = |owner: &Value, path: &[&str]| {
            let reference = get(owner, path).unwrap_or(&Value::Null);
            let template = catalog.template(namespace, reference).ok_or_else(|| missing(reference))?;
            unknown.borrow_mut().extend(template.opaque.clone());
            Ok(template)
        };
        let spec = get(class, &["spec"]).unwrap_or(&Value::Null);
        let machine_path = ["controlPlane", "machineInfrastructure", "templateRef"];
        let machine = match get(spec, &machine_path) {
            Some(reference) if !text(reference, &["name"]).is_empty() => Some(template(spec, &machine_path)?),
            _ => None,
        };
        let workers = |kind: &str| {
            let mut classes = BTreeMap::new();
            for class in list(spec, &["workers", kind]) {
                let worker = WorkerClass {
                    class: class.clone(),
                    bootstrap: template(class, &["bootstrap", "templateRef"])?,
                    infrastructure: template(class, &["infrastructure", "templateRef"])?,
                };
                classes.insert(text(class, &["class"]).to_owned(), worker);
            }
            Ok::<_, Refusal>(classes)
        };
        let known = catalog.same_object(class).filter(|known| *known == class);
        let variables =
            known.map_or_else(|| Arc::new(definitions(class)), |class| catalog.definitions(class));
        let control_plane = template(spec, &["controlPlane", "templateRef"])?;
        let infrastructure = template(spec, &["infrastructure", "templateRef"])?;
        let (deployments, pools) = (workers("machineDeployments")?, workers("machinePools")?);
        Ok(Self {
            contract: contract(&control_plane, catalog),
            infrastructure,
            control_plane,
            machine,
            deployments,
            pools,
            patches: list(spec, &["patches"]).iter().map(Patch::read).collect(),
            opaque: unknown.into_inner(),
            variables,
            class: class.clone(),
        })
    }

    /// The class's name.
    pub fn name(&self) -> &str {
        text(&self.class, &["metadata", "name"])
    }

    /// The class's variables, by name.
    pub fn definitions(&self) -> &[Definition] {
        &self.variables
    }
}

/// The contract of the control planes that a template creates.
fn contract(template: &Template, catalog: &Catalog) -> Option<Contract> {
    let (group, own) = (group(template.api_version()), version(template.api_version()));
    let kind = template.kind();
    let kind = kind.strip_suffix("Template").unwrap_or(kind);
    match catalog.definition_labels(group, kind) {
        Some(labels) => Contract::labelled(labels, own),
        None => Contract::of(group, kind, own),
    }
}

fn missing(reference: &Value) -> Refusal {
    let detail = format!(
        "failed to retrieve {} {:?}: not found",
        text(reference, &["kind"]),
        text(reference, &["name"])
    );
    Refusal::controller(Stage::Desired, detail)
}
