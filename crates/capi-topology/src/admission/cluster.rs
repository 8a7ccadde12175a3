//! The Cluster webhooks: defaulting of the version and of variables, and validation.
//!
//! Source: `core/webhooks/admission/cluster.go`.

use serde_json::{Value, json};

use super::checks;
use crate::class::Blueprint;
use crate::contract::{AUTOSCALER_MAX, AUTOSCALER_MIN};
use crate::desired::health_check::is_defined;
use crate::desired::instant;
use crate::gates::{self, Gates};
use crate::name_syntax::is_label_value;
use crate::refusal::{ErrorType, FieldError, Opaque};
use crate::variables::Definition;
use crate::variables::{Scope, default_in_place, validate_known};
use k8s_schema::Judgement;
use k8s_schema::is_strict_cidr;
use k8s_schema::value::{get, list, map, present, set, text};

const OVERRIDES: [&str; 2] = ["variables", "overrides"];
const TOPOLOGY: &str = "spec.topology";

/// A list of variables: its pointer, its path in messages, and whether entries may be added.
struct Place {
    pointer: String,
    path: String,
    scope: Scope,
}

/// The defaulting webhook: it normalizes the version like upstream, then defaults and validates the variables if the class
/// is known.
pub fn default(
    cluster: &mut Value,
    old: Option<&Value>,
    definitions: Option<&[Definition]>,
    open: bool,
) -> Judgement {
    instants(cluster);
    let version = text(cluster, &["spec", "topology", "version"]).to_owned();
    if !version.starts_with('v') {
        set(cluster, &["spec", "topology", "version"], json!(format!("v{version}")));
    }
    if text(cluster, &["spec", "topology", "classRef", "name"]).is_empty() {
        let field = "spec.topology.classRef.name";
        let errors = vec![FieldError::required(field, "cannot be empty")];
        return Judgement::refused(errors);
    }
    match definitions {
        Some(definitions) => variables(cluster, old, definitions, open),
        None => Judgement::default(),
    }
}

/// Normalizes times to UTC and whole seconds: the webhook decodes the Cluster into its own types and writes it again.
fn instants(cluster: &mut Value) {
    let Some(topology) = cluster.pointer_mut("/spec/topology") else { return };
    let normalize = |rollout: Option<&mut Value>| {
        if let Some(after) = rollout.and_then(|rollout| rollout.get_mut("after")) {
            *after = instant(after);
        }
    };
    normalize(topology.pointer_mut("/controlPlane/rollout"));
    let workers = topology.pointer_mut("/workers/machineDeployments").and_then(Value::as_array_mut);
    for worker in workers.into_iter().flatten() {
        normalize(worker.get_mut("rollout"));
    }
}

/// Reports whether runtime extensions also define variables of a class, which are unknown here.
pub(crate) fn discovers(class: Option<&Value>, gates: Gates) -> bool {
    let patches = class.map_or(&[][..], |class| list(class, &["spec", "patches"]));
    let discovers = |patch: &Value| !text(patch, &["external", "discoverVariablesExtension"]).is_empty();
    gates.runtime_sdk && patches.iter().any(discovers)
}

/// Defaults all variables, then validates them. If runtime extensions define some (`open`), a variable that is not among
/// the definitions may be one of theirs and stays as it is.
pub(crate) fn variables(
    cluster: &mut Value,
    old: Option<&Value>,
    definitions: &[Definition],
    open: bool,
) -> Judgement {
    let places = places(cluster);
    let mut all = Judgement::default();
    for place in &places {
        let mut none = Vec::new();
        // A `null` that gets no entries stays, and the schema refuses it.
        let there = cluster.pointer_mut(&place.pointer).and_then(Value::as_array_mut);
        let values = there.unwrap_or(&mut none);
        all.errors.extend(default_in_place(values, definitions, place.scope, &place.path, open));
        if !none.is_empty() {
            set(cluster, &["spec", "topology", "variables"], Value::Array(none));
        }
    }
    for place in &places {
        let before = old.map_or(&[][..], |old| old_values(cluster, old, &place.pointer));
        let given = values(cluster, &place.pointer);
        let judged = validate_known(given, before, definitions, place.scope, &place.path, open);
        all.errors.extend(judged.errors);
        all.opaque.extend(judged.opaque);
    }
    all
}

/// What is unknown about an admitted Cluster: what the webhook did not judge, and what extensions define (`open`).
pub(crate) fn unknown(judged: Vec<String>, open: bool) -> impl Iterator<Item = Opaque> {
    let reason = "a runtime extension defines variables of the class, with defaults and rules of its own";
    let extension = open.then(|| Opaque::of_all(reason.to_owned()).by_extension());
    judged.into_iter().map(Opaque::of_all).chain(extension)
}

/// The variable lists of a Cluster: always its own, and overrides if there are any.
fn places(cluster: &Value) -> Vec<Place> {
    let mut places = vec![Place {
        pointer: "/spec/topology/variables".to_owned(),
        path: "spec.topology.variables".to_owned(),
        scope: Scope::Cluster,
    }];
    let topology = get(cluster, &["spec", "topology"]).unwrap_or(&Value::Null);
    let control_plane = get(topology, &["controlPlane"]).unwrap_or(&Value::Null);
    if !list(control_plane, &OVERRIDES).is_empty() {
        places.push(Place {
            pointer: "/spec/topology/controlPlane/variables/overrides".to_owned(),
            path: "spec.topology.controlPlane.variables.overrides".to_owned(),
            scope: Scope::Override,
        });
    }
    for kind in ["machineDeployments", "machinePools"] {
        for (at, worker) in list(topology, &["workers", kind]).iter().enumerate() {
            if list(worker, &OVERRIDES).is_empty() {
                continue;
            }
            let name = text(worker, &["name"]);
            places.push(Place {
                pointer: format!("/spec/topology/workers/{kind}/{at}/variables/overrides"),
                path: format!("spec.topology.workers.{kind}[{name}].variables.overrides"),
                scope: Scope::Override,
            });
        }
    }
    places
}

fn values<'a>(cluster: &'a Value, pointer: &str) -> &'a [Value] {
    cluster.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The values before an update; for a worker, those of the worker with the same name, wherever it was in the list.
fn old_values<'a>(cluster: &'a Value, old: &'a Value, pointer: &str) -> &'a [Value] {
    let Some(rest) = pointer.strip_prefix("/spec/topology/workers/") else {
        return values(old, pointer);
    };
    let mut parts = rest.split('/');
    let (Some(kind), Some(at)) = (parts.next(), parts.next()) else { return &[] };
    let named = |one: &Value| text(one, &["name"]).to_owned();
    let workers = |cluster| list(cluster, &["spec", "topology", "workers", kind]);
    let name = at.parse().ok().and_then(|at: usize| workers(cluster).get(at)).map(named);
    workers(old)
        .iter()
        .find(|worker| Some(named(worker)) == name)
        .map_or(&[], |worker| list(worker, &OVERRIDES))
}

/// The validating webhook, without the additional checks of an update.
pub fn validate(
    cluster: &Value,
    blueprint: Option<&Blueprint>,
    class: Option<&Value>,
    gates: Gates,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let name = text(cluster, &["metadata", "name"]);
    if !is_label_value(name) {
        errors.push(FieldError::invalid("metadata.name", "must be a valid label value"));
    }
    for kind in ["pods", "services"] {
        let blocks = list(cluster, &["spec", "clusterNetwork", kind, "cidrBlocks"]);
        for (at, block) in blocks.iter().enumerate() {
            let fits = block.as_str().is_some_and(is_strict_cidr);
            if !fits {
                let field = format!("spec.clusterNetwork.{kind}.cidrBlocks[{at}]");
                errors.push(FieldError::invalid(field, "invalid CIDR address"));
            }
        }
    }
    if gates.no_topology {
        errors.push(gates::TOPOLOGY.error(TOPOLOGY));
        return errors;
    }
    let topology = get(cluster, &["spec", "topology"]).unwrap_or(&Value::Null);
    errors.extend(validate_version(topology));
    errors.extend(validate_entries(topology, gates));
    errors.extend(validate_concurrency(cluster));
    let class = blueprint.map(|blueprint| &blueprint.class).or(class);
    if let Some(class) = class {
        errors.extend(validate_for_class(topology, class));
    }
    errors.extend(validate_autoscaler(topology, class));
    errors
}

fn validate_version(topology: &Value) -> Vec<FieldError> {
    let version = text(topology, &["version"]);
    let field = "spec.topology.version";
    let bare = version.strip_prefix('v');
    let mut errors = Vec::new();
    if bare.is_none() {
        errors.push(FieldError::invalid(field, "must start with v"));
    }
    if crate::upgrade::version::Version::parse(bare.unwrap_or(version)).is_none() {
        errors.push(FieldError::invalid(field, "version must be a valid semantic version"));
    }
    errors
}

/// The control plane and all workers, each with its path.
fn entries(topology: &Value) -> Vec<(String, &Value)> {
    let control_plane = get(topology, &["controlPlane"]).unwrap_or(&Value::Null);
    let mut all = vec![(format!("{TOPOLOGY}.controlPlane"), control_plane)];
    for kind in ["machineDeployments", "machinePools"] {
        let path = format!("{TOPOLOGY}.workers.{kind}");
        for worker in list(topology, &["workers", kind]) {
            all.push((checks::entry_path(&path, worker, "name"), worker));
        }
    }
    all
}

fn validate_entries(topology: &Value, gates: Gates) -> Vec<FieldError> {
    let entries = entries(topology);
    let mut errors = Vec::new();
    for (path, entry) in &entries {
        errors.extend(checks::metadata(entry, &format!("{path}.metadata")));
    }
    for (path, entry) in &entries {
        if path.contains(".machineDeployments[") {
            errors.extend(checks::rollout(entry, &format!("{path}.rollout")));
        }
    }
    for (path, entry) in &entries {
        errors.extend(checks::taints(entry, &format!("{path}.taints"), gates));
    }
    errors
}

fn validate_concurrency(cluster: &Value) -> Option<FieldError> {
    let annotation = "topology.cluster.x-k8s.io/upgrade-concurrency";
    let value = text(cluster, &["metadata", "annotations", annotation]);
    present(cluster, &["metadata", "annotations", annotation])?;
    let field = format!("metadata.annotations.{annotation}");
    match value.parse::<i64>() {
        Err(_) => Some(FieldError::invalid(field, "could not parse the value")),
        Ok(count) if count < 1 => Some(FieldError::invalid(field, "value cannot be less than 1")),
        Ok(_) => None,
    }
}

fn validate_for_class(topology: &Value, class: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let versions = list(class, &["spec", "kubernetesVersions"]);
    let version = get(topology, &["version"]);
    if !versions.is_empty() && !versions.iter().any(|one| Some(one) == version) {
        let detail = "version must match one of the versions defined in the ClusterClass";
        errors.push(FieldError::invalid("spec.topology.version", detail));
    }
    for kind in ["machineDeployments", "machinePools"] {
        let classes = list(class, &["spec", "workers", kind]);
        let path = format!("{TOPOLOGY}.workers.{kind}");
        let workers = list(topology, &["workers", kind]);
        for (at, worker) in workers.iter().enumerate() {
            let wanted = text(worker, &["class"]);
            if !classes.iter().any(|class| text(class, &["class"]) == wanted) {
                let detail = format!("class {wanted:?} does not exist in the ClusterClass");
                errors.push(FieldError::invalid(format!("{path}[{at}].class"), detail));
            }
            let name = text(worker, &["name"]);
            let field = format!("{path}[{at}].name");
            if name.is_empty() {
                errors.push(FieldError::required(field, "name must not be empty"));
            } else if workers.iter().take(at).any(|one| text(one, &["name"]) == name) {
                errors.push(FieldError::invalid(field, "name must be unique"));
            }
        }
    }
    errors.extend(validate_health_checks(topology, class));
    errors
}

fn validate_health_checks(topology: &Value, class: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let enabled =
        |owner: &Value| get(owner, &["healthCheck", "enabled"]).and_then(Value::as_bool) == Some(true);
    let own = get(topology, &["controlPlane"]).unwrap_or(&Value::Null);
    let own_class = get(class, &["spec", "controlPlane"]).unwrap_or(&Value::Null);
    let path = format!("{TOPOLOGY}.controlPlane.healthCheck");
    let defined = |owner: &Value| is_defined(get(owner, &["healthCheck"]));
    if defined(own) {
        if text(own_class, &["machineInfrastructure", "templateRef", "name"]).is_empty() {
            let detail = "can be only set if the ClusterClass has machineInfrastructure";
            errors.push(FieldError::forbidden(&path, detail));
        }
        let check = get(own, &["healthCheck"]).unwrap_or(&Value::Null);
        errors.extend(checks::health_check(check, &path));
    }
    let nothing = "cannot be set to true as healthCheck definition is not available";
    if enabled(own) && !defined(own) && !defined(own_class) {
        errors.push(FieldError::forbidden(format!("{path}.enable"), nothing));
    }
    let classes = list(class, &["spec", "workers", "machineDeployments"]);
    for worker in list(topology, &["workers", "machineDeployments"]) {
        let name = text(worker, &["name"]);
        let path = format!("{TOPOLOGY}.workers.machineDeployments[{name}].healthCheck");
        let check = get(worker, &["healthCheck"]).unwrap_or(&Value::Null);
        if defined(worker) {
            errors.extend(checks::health_check(check, &path));
            errors.extend(checks::max_in_flight(check, &path));
        }
        let class_name = text(worker, &["class"]);
        let class = classes.iter().find(|class| text(class, &["class"]) == class_name);
        if enabled(worker) && !defined(worker) && class.is_some_and(|class| !defined(class)) {
            errors.push(FieldError::forbidden(format!("{path}.enable"), nothing));
        }
    }
    errors
}

/// Errors if replicas are set although the entry, or its class, has annotations of the autoscaler.
pub(crate) fn validate_autoscaler(topology: &Value, class: Option<&Value>) -> Vec<FieldError> {
    let scaled = |owner: &Value| {
        map(owner, &["metadata", "annotations"])
            .is_some_and(|all| all.contains_key(AUTOSCALER_MIN) || all.contains_key(AUTOSCALER_MAX))
    };
    let mut errors = Vec::new();
    for worker in list(topology, &["workers", "machineDeployments"]) {
        if present(worker, &["replicas"]).is_none() {
            continue;
        }
        let name = text(worker, &["name"]);
        let field = format!("{TOPOLOGY}.workers.machineDeployments[{name}].replicas");
        let error = |who: &str| {
            let detail = format!("cannot be set if the same {who} has autoscaler annotations");
            FieldError::new(ErrorType::Invalid, &field, detail)
        };
        if scaled(worker) {
            errors.push(error("MachineDeploymentTopology"));
        }
        let classes = class.map_or(&[][..], |class| list(class, &["spec", "workers", "machineDeployments"]));
        let own = |class: &&Value| text(class, &["class"]) == text(worker, &["class"]);
        for _ in classes.iter().filter(own).filter(|class| scaled(class)) {
            errors.push(error("MachineDeploymentClass"));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variables::definitions;

    #[test]
    fn a_rule_may_have_the_words_of_an_undefined_variable() {
        let rule = json!({ "rule": "self == 'a'", "message": "variable is not defined" });
        let schema = json!({ "openAPIV3Schema": { "type": "string", "x-kubernetes-validations": [rule] } });
        let class = json!({ "spec": { "variables": [{ "name": "own", "schema": schema }] } });
        let given = json!([{ "name": "own", "value": "b" }, { "name": "of-an-extension", "value": 1 }]);
        let mut cluster = json!({ "spec": { "topology": { "variables": given } } });
        let judged = variables(&mut cluster, None, &definitions(&class), true);
        let fields: Vec<&str> = judged.errors.iter().map(|error| error.field.as_str()).collect();
        assert_eq!(fields, ["spec.topology.variables[own].value"]);
    }
}
