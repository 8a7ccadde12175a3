//! The `builtin` variable, which describes the computed objects to templates.
//!
//! Source: `core/reconcilers/topology/cluster/patches/variables/variables.go`.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::{Map, Value, json};

use super::variables::Definition;
use crate::contract::Contract;
use crate::state::{Desired, Worker};
use k8s_schema::value::{get, list, map, present, set, text};

/// Placeholder for the uid of a Cluster that does not exist yet.
pub(crate) const UNKNOWN_UID: &str = "11111111-2222-3333-4444-555555555555";

/// The variables of one template: those of the Cluster, overrides, and `builtin`.
#[derive(Debug)]
pub(crate) struct Variables<'a> {
    shared: Rc<Named<'a>>,
    own: Named<'a>,
    builtin: Value,
    whole: OnceCell<Value>,
}

type Named<'a> = BTreeMap<&'a str, &'a Value>;

impl<'a> Variables<'a> {
    /// Looks up a variable by name.
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        match name {
            "builtin" => Some(&self.builtin),
            name => self.own.get(name).or_else(|| self.shared.get(name)).copied(),
        }
    }

    /// All variables as the data of a template, built on first use.
    pub(crate) fn whole(&self) -> &Value {
        self.whole.get_or_init(|| {
            let named = self.shared.iter().chain(&self.own);
            let mut all: Map<_, _> =
                named.map(|(name, value)| ((*name).to_owned(), (*value).clone())).collect();
            all.insert("builtin".to_owned(), self.builtin.clone());
            Value::Object(all)
        })
    }

    /// The named variables as the data of a template that reads no others.
    pub(crate) fn part<'n>(&self, names: impl Iterator<Item = &'n str>) -> Value {
        let mut part = Map::new();
        for name in names {
            if let (false, Some(value)) = (part.contains_key(name), self.get(name)) {
                part.insert(name.to_owned(), value.clone());
            }
        }
        Value::Object(part)
    }

    /// Adds the overrides of a topology and further `builtin` fields.
    fn with(&self, topology: &'a Value, more: Value, definitions: &[Definition]) -> Self {
        let own = named(list(topology, &["variables", "overrides"]), definitions);
        let mut builtin = self.builtin.clone();
        if let (Value::Object(all), Value::Object(more)) = (&mut builtin, more) {
            all.extend(more);
        }
        Self { shared: Rc::clone(&self.shared), own, builtin, whole: OnceCell::new() }
    }
}

fn named<'a>(values: &'a [Value], definitions: &[Definition]) -> Named<'a> {
    let known = |name| name != "builtin" && super::variables::find(definitions, name).is_some();
    let pair =
        |variable| (super::variables::name(variable), get(variable, &["value"]).unwrap_or(&Value::Null));
    values.iter().map(pair).filter(|(name, _)| known(name)).collect()
}

/// Variables of every template: the Cluster's own, and `builtin.cluster`.
pub(crate) fn global<'a>(cluster: &'a Value, definitions: &[Definition]) -> Variables<'a> {
    let topology = ["spec", "topology"];
    let class = text(cluster, &["spec", "topology", "classRef", "name"]);
    let own_namespace = text(cluster, &["metadata", "namespace"]);
    let namespace = match text(cluster, &["spec", "topology", "classRef", "namespace"]) {
        "" => own_namespace,
        namespace => namespace,
    };
    let uid = match text(cluster, &["metadata", "uid"]) {
        "" => UNKNOWN_UID,
        uid => uid,
    };
    let mut builtin = json!({ "cluster": {
        "name": text(cluster, &["metadata", "name"]),
        "namespace": own_namespace,
        "uid": uid,
        "topology": {
            "version": get(cluster, &topology).map_or("", |topology| text(topology, &["version"])),
            "class": class,
            "classNamespace": namespace,
            "classRef": { "name": class, "namespace": namespace },
        },
    } });
    set_metadata(&mut builtin, "cluster", cluster);
    let network = |path: &[&str]| {
        let mut full = vec!["spec", "clusterNetwork"];
        full.extend(path);
        present(cluster, &full).filter(|value| value.as_str() != Some("")).cloned()
    };
    for (source, name) in [
        (&["serviceDomain"][..], "serviceDomain"),
        (&["services", "cidrBlocks"][..], "services"),
        (&["pods", "cidrBlocks"][..], "pods"),
    ] {
        if let Some(value) = network(source) {
            set(&mut builtin, &["cluster", "network", name], value);
        }
    }
    let shared = Rc::new(named(list(cluster, &["spec", "topology", "variables"]), definitions));
    Variables { shared, own: BTreeMap::new(), builtin, whole: OnceCell::new() }
}

/// Variables of the control plane's templates.
pub(crate) fn control_plane<'a>(
    global: &Variables<'a>,
    desired: &Desired,
    topology: &'a Value,
    definitions: &[Definition],
) -> Variables<'a> {
    let object = &desired.control_plane;
    let mut builtin = json!({ "controlPlane": {
        "name": text(object, &["metadata", "name"]),
        "version": text(object, Contract::VERSION),
    } });
    if present(topology, &["replicas"]).is_some()
        && let Some(replicas) = get(object, Contract::REPLICAS)
    {
        set(&mut builtin, &["controlPlane", "replicas"], replicas.clone());
    }
    set_metadata(&mut builtin, "controlPlane", object);
    if let Some(machine) = &desired.machine_template {
        let name = text(machine, &["metadata", "name"]);
        let reference = ["controlPlane", "machineTemplate", "infrastructureRef", "name"];
        set(&mut builtin, &reference, json!(name));
    }
    global.with(topology, builtin, definitions)
}

/// Variables of the templates of one machine deployment or machine pool; `kind` is the name of its `builtin` field.
pub(crate) fn worker<'a>(
    global: &Variables<'a>,
    worker: &Worker,
    kind: &str,
    topology: &'a Value,
    definitions: &[Definition],
) -> Variables<'a> {
    let object = &worker.object;
    let mut builtin = json!({ kind: {
        "version": text(object, &["spec", "template", "spec", "version"]),
        "class": text(topology, &["class"]),
        "name": text(object, &["metadata", "name"]),
        "topologyName": text(topology, &["name"]),
    } });
    if let Some(replicas) = present(object, &["spec", "replicas"]) {
        set(&mut builtin, &[kind, "replicas"], replicas.clone());
    }
    set_metadata(&mut builtin, kind, object);
    let name = |object: &Value| json!(text(object, &["metadata", "name"]));
    set(&mut builtin, &[kind, "bootstrap", "configRef", "name"], name(&worker.bootstrap));
    set(&mut builtin, &[kind, "infrastructureRef", "name"], name(&worker.infrastructure));
    global.with(topology, builtin, definitions)
}

/// Copies labels and annotations of an object, except annotations that tools maintain.
fn set_metadata(builtin: &mut Value, kind: &str, object: &Value) {
    let hidden = ["kubectl.kubernetes.io/last-applied-configuration", "cluster.x-k8s.io/conversion-data"];
    for field in ["labels", "annotations"] {
        let Some(entries) = map(object, &["metadata", field]) else { continue };
        let shown: Map<String, Value> = entries
            .iter()
            .filter(|(key, _)| !hidden.contains(&key.as_str()))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        if !shown.is_empty() {
            set(builtin, &[kind, "metadata", field], Value::Object(shown));
        } else if get(builtin, &[kind, "metadata"]).is_none() {
            set(builtin, &[kind, "metadata"], json!({}));
        }
    }
}
