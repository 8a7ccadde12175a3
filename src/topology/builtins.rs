//! The `builtin` variable, which tells templates about the objects that are being computed.
//!
//! Source: `core/reconcilers/topology/cluster/patches/variables/variables.go`.

use serde_json::{Map, Value, json};

use super::desired::contract::Contract;
use super::desired::state::{Desired, Worker};
use super::value::{get, list, map, present, set, text};
use super::variables::Definition;

/// Stands for the uid of a Cluster that is not there yet.
pub const UNKNOWN_UID: &str = "11111111-2222-3333-4444-555555555555";

/// Variables of every template: the Cluster's own, and `builtin.cluster`.
pub fn global(cluster: &Value, definitions: &[Definition]) -> Map<String, Value> {
    let mut variables = Map::new();
    add(&mut variables, list(cluster, &["spec", "topology", "variables"]), definitions);
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
    variables.insert("builtin".to_owned(), builtin);
    variables
}

/// Variables of the control plane's templates.
pub fn control_plane(
    global: &Map<String, Value>,
    desired: &Desired,
    topology: &Value,
    definitions: &[Definition],
) -> Map<String, Value> {
    let mut variables = global.clone();
    add(&mut variables, list(topology, &["variables", "overrides"]), definitions);
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
    extend(&mut variables, builtin);
    variables
}

/// Variables of the templates of one machine deployment or machine pool; `kind` is the name
/// of the builtin.
pub fn worker(
    global: &Map<String, Value>,
    worker: &Worker,
    kind: &str,
    topology: &Value,
    definitions: &[Definition],
) -> Map<String, Value> {
    let mut variables = global.clone();
    add(&mut variables, list(topology, &["variables", "overrides"]), definitions);
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
    extend(&mut variables, builtin);
    variables
}

fn add(variables: &mut Map<String, Value>, values: &[Value], definitions: &[Definition]) {
    for variable in values {
        let name = super::variables::name(variable);
        if name != "builtin" && super::variables::find(definitions, name).is_some() {
            let value = variable.get("value").cloned().unwrap_or(Value::Null);
            variables.insert(name.to_owned(), value);
        }
    }
}

fn extend(variables: &mut Map<String, Value>, builtin: Value) {
    let Some(Value::Object(all)) = variables.get_mut("builtin") else { return };
    if let Value::Object(more) = builtin {
        all.extend(more);
    }
}

/// Labels and annotations of an object, without what tools keep in annotations.
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
