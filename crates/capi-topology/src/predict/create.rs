//! A class and a Cluster that do not exist yet: are they accepted, and which objects result?

use std::sync::Arc;

use serde_json::{Value, json};

use super::Settings;
use super::apply::{has_empty, read_metadata, server_side_apply};
use super::client_side::client_side_apply;
use super::writing::Writing;
use crate::admission;
use crate::class::{Blueprint, Catalog, class_key};
use crate::desired::{Generated, Input, generate};
use crate::gates::Gates;
use crate::names::Draw;
use crate::refusal::{By, ErrorType, FieldError, Opaque, Refusal, Stage};
use crate::schemas::{apply_faults, schema_faults};
use crate::state::Desired;
use k8s_schema::value::{present, set, text};

/// A Cluster after admission.
#[derive(Debug)]
#[non_exhaustive]
pub struct Admitted {
    /// The Cluster, with its version spelled out and its variables defaulted.
    pub cluster: Value,
    /// What was refused.
    pub faults: Vec<Refusal>,
    /// What cannot be known.
    pub opaque: Vec<Opaque>,
}

/// The outcome for a Cluster that does not exist yet.
#[derive(Debug)]
#[non_exhaustive]
pub struct Created {
    /// The desired objects; none if they cannot be computed.
    pub desired: Option<Desired>,
    /// What was refused, in processing order.
    pub faults: Vec<Refusal>,
    /// What cannot be known.
    pub opaque: Vec<Opaque>,
}

/// Validates classes and their templates, which are written over those in `before`, and lists what is refused.
pub fn apply_classes(objects: &[Value], before: &Catalog, clusters: &[Value]) -> Vec<Refusal> {
    let mut faults = Vec::new();
    let is_class = |object: &&Value| text(object, &["kind"]) == "ClusterClass";
    for object in objects.iter().filter(|object| !is_class(object)) {
        faults.extend(written(object, before.same_object(object), Stage::Template, before.gates));
    }
    let mut there = before.clone();
    there.apply(objects.iter().cloned());
    let mut missing = Vec::new();
    for class in objects.iter().filter(is_class) {
        let own = written(class, None, Stage::Class, before.gates);
        if !own.is_empty() {
            faults.extend(own);
            continue;
        }
        let name = text(class, &["metadata", "name"]);
        let errors = admission::class::validate(class, before.same_object(class), clusters, before.gates);
        if errors.is_empty()
            && let Err(fault) = Blueprint::read(class, &there)
        {
            missing.push(Refusal { stage: Stage::ClassReconcile, ..fault });
        }
        let object = format!("ClusterClass/{name}");
        faults.extend(Refusal::of(Stage::Class, By::WebhookValidate, &object, errors));
    }
    if faults.is_empty() { missing } else { faults }
}

/// Computes the stored form of classes and templates that are written over existing ones. An object from an API server
/// already has its stored form. All existing fields are assumed to belong to one manager, so only empty values need merging.
fn stored_classes(objects: &[Value], before: &Catalog, writing: Writing) -> Vec<Value> {
    let stored = |object: &Value| {
        let is_live =
            ["resourceVersion", "uid"].iter().any(|mark| present(object, &["metadata", mark]).is_some());
        let there = before.same_object(object).filter(|there| {
            *there != object
                && !is_live
                && has_empty(object)
                && text(there, &["apiVersion"]) == text(object, &["apiVersion"])
        });
        match there {
            None => object.clone(),
            Some(there) if writing == Writing::Merge => client_side_apply(there, there, object),
            Some(there) => server_side_apply(there, there, &Value::Null, object),
        }
    };
    objects.iter().map(stored).collect()
}

/// The outcome of writing classes and templates, independent of the Cluster written with them.
#[derive(Debug)]
pub(crate) struct Written {
    /// What was refused; if anything was, nothing is written.
    pub faults: Vec<Refusal>,
    /// The resulting classes and templates.
    pub catalog: Catalog,
}

/// Writes classes and templates over existing ones; `clusters` are all running Clusters.
pub(crate) fn write_classes(
    objects: &[Value],
    before: &Catalog,
    writing: Writing,
    clusters: &[Value],
) -> Written {
    let stored = stored_classes(objects, before, writing);
    let faults = apply_classes(&stored, before, clusters);
    let mut catalog = before.clone();
    if faults.is_empty() {
        catalog.apply(stored);
    }
    Written { faults, catalog }
}

/// Maximum nesting, deeper than in any real object: walking over values recurses.
const MAX_DEPTH: usize = 300;

/// Reports whether a value nests too deep to be followed, without recursion.
fn nests_too_deep(object: &Value) -> bool {
    let mut level: Vec<&Value> = vec![object];
    for _ in 0..MAX_DEPTH {
        level = level
            .iter()
            .flat_map(|value| {
                let fields = value.as_object().into_iter().flat_map(serde_json::Map::values);
                fields.chain(value.as_array().into_iter().flatten())
            })
            .collect();
        if level.is_empty() {
            return false;
        }
    }
    true
}

/// Lists what the API server and the kubeadm webhooks refuse when an object is written.
fn written(object: &Value, running: Option<&Value>, stage: Stage, gates: Gates) -> Vec<Refusal> {
    if nests_too_deep(object) {
        let detail = format!("it nests more than {MAX_DEPTH} levels deep, which is not supported");
        let name = format!("{}/{}", text(object, &["kind"]), text(object, &["metadata", "name"]));
        let error = FieldError::new(ErrorType::Internal, "", detail);
        return Refusal::of(stage, By::Schema, &name, vec![error]);
    }
    let mut faults = apply_faults(object, stage);
    if faults.is_empty() {
        faults = schema_faults(object, stage);
    }
    if faults.is_empty() {
        let kind = text(object, &["kind"]);
        let name = format!("{kind}/{}", text(object, &["metadata", "name"]));
        let errors = admission::webhooks::validate(object, running, gates);
        faults = Refusal::of(stage, By::WebhookValidate, &name, errors);
    }
    faults
}

/// Admits a new Cluster: defaults and validates it.
pub fn admit(mut cluster: Value, catalog: &Catalog) -> Admitted {
    if text(&cluster, &["metadata", "namespace"]).is_empty() {
        set(&mut cluster, &["metadata", "namespace"], json!("default"));
    }
    read_metadata(&mut cluster);
    let object = format!("Cluster/{}", text(&cluster, &["metadata", "name"]));
    let mut opaque = Vec::new();
    let mut faults = apply_faults(&cluster, Stage::Cluster);
    let class = catalog.class_of(&cluster);
    if faults.is_empty() {
        let known = class.map(|class| catalog.definitions(class));
        let known = known.as_deref().map(Vec::as_slice);
        let open = admission::cluster::discovers(class, catalog.gates);
        let judged = admission::cluster::default(&mut cluster, None, known, open);
        opaque.extend(admission::cluster::unknown(judged.opaque, open));
        faults = Refusal::of(Stage::Cluster, By::WebhookDefault, &object, judged.errors);
    }
    if faults.is_empty() {
        faults = schema_faults(&cluster, Stage::Cluster);
    }
    if faults.is_empty() {
        let errors = admission::cluster::validate(&cluster, None, class, catalog.gates);
        faults = Refusal::of(Stage::Cluster, By::WebhookValidate, &object, errors);
    }
    Admitted { cluster, faults, opaque }
}

/// Admits a Cluster and computes its objects.
pub fn create(cluster: Value, catalog: &Catalog, settings: &Settings) -> Created {
    let Admitted { cluster, mut faults, mut opaque } = admit(cluster, catalog);
    if !faults.is_empty() {
        return Created { desired: None, faults, opaque };
    }
    match desired(cluster, catalog, settings) {
        Ok(generated) => {
            opaque.extend(generated.opaque);
            Created { desired: Some(generated.desired), faults, opaque }
        }
        Err(fault) => {
            faults.push(fault);
            Created { desired: None, faults, opaque }
        }
    }
}

/// Computes the desired state of an admitted Cluster.
pub fn desired(cluster: Value, catalog: &Catalog, settings: &Settings) -> Result<Generated, Refusal> {
    let blueprint = blueprint(&cluster, catalog)?;
    let (draw, version) = (Draw(1), settings.patches());
    generate(Input { blueprint: &blueprint, cluster, current: None, draw, version, earlier: None })
}

/// The class of a Cluster with everything it references. Reading it takes far longer than using it. The catalog caches it,
/// so use one catalog for all Clusters.
pub(crate) fn blueprint(cluster: &Value, catalog: &Catalog) -> Result<Arc<Blueprint>, Refusal> {
    catalog.blueprint(cluster).unwrap_or_else(|| {
        let (namespace, name) = class_key(cluster);
        let detail = format!("failed to retrieve ClusterClass {namespace}/{name}: not found");
        Err(Refusal::controller(Stage::Desired, detail))
    })
}
