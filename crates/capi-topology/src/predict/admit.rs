//! Admission of a Cluster that is written over a live one: its stored form, and whether the webhooks accept it.

use serde_json::{Value, json};

use super::apply::{read_metadata, server_side_apply};
use super::before_after::Before;
use super::client_side::client_side_apply;
use super::writing::Writing;
use crate::admission;
use crate::class::Catalog;
use crate::contract::{CLUSTER_NAME, OWNED};
use crate::refusal::{By, Opaque, Refusal, Stage};
use crate::schemas::{apply_faults, drop_nulls, schema_faults};
use k8s_schema::value::{get, set, text};

/// Admits a changed Cluster.
pub(super) fn admit(
    before: &Before,
    live: &Value,
    cluster: &Value,
    writing: Writing,
    catalog: &Catalog,
) -> Result<(Value, Vec<Opaque>), Vec<Refusal>> {
    let faults = apply_faults(cluster, Stage::Cluster);
    if !faults.is_empty() {
        return Err(faults);
    }
    let mut new = stored(live, (&before.written, &before.others), cluster, writing);
    let object = format!("Cluster/{}", text(&new, &["metadata", "name"]));
    let class = catalog.class_of(&new);
    let known = class.map(|class| catalog.definitions(class));
    let known = known.as_deref().map(Vec::as_slice);
    let open = admission::cluster::discovers(class, catalog.gates);
    let judged = admission::cluster::default(&mut new, Some(live), known, open);
    if !judged.errors.is_empty() {
        return Err(Refusal::of(Stage::Cluster, By::WebhookDefault, &object, judged.errors));
    }
    let faults = schema_faults(&with_real_references(&new), Stage::Cluster);
    if !faults.is_empty() {
        return Err(faults);
    }
    let mut errors = admission::cluster::validate(&new, None, class, catalog.gates);
    errors.extend(admission::cluster_update::validate(
        &new,
        live,
        (&before.running, &before.upgrading),
        catalog,
    ));
    if !errors.is_empty() {
        return Err(Refusal::of(Stage::Cluster, By::WebhookValidate, &object, errors));
    }
    Ok((new, admission::cluster::unknown(judged.opaque, open).collect()))
}

/// The stored form of a Cluster that is written over a live one. `parts` are the manifest applied before and the fields of
/// other managers.
pub(super) fn stored(live: &Value, parts: (&Value, &Value), cluster: &Value, writing: Writing) -> Value {
    let mut stored = match writing {
        Writing::Apply => server_side_apply(live, parts.0, parts.1, cluster),
        Writing::Merge => client_side_apply(live, parts.0, cluster),
        Writing::Replace => replaced(live, cluster),
    };
    read_metadata(&mut stored);
    stored
}

/// Replaces the symbolic names in references, which no schema accepts.
fn with_real_references(cluster: &Value) -> Value {
    let mut copy = cluster.clone();
    for reference in ["infrastructureRef", "controlPlaneRef"] {
        if get(&copy, &["spec", reference, "name"]).is_some() {
            set(&mut copy, &["spec", reference, "name"], json!("name"));
        }
    }
    copy
}

/// Replaces the live Cluster, but keeps the fields that the controller needs.
fn replaced(live: &Value, cluster: &Value) -> Value {
    let mut new = cluster.clone();
    drop_nulls(&mut new);
    for path in [&["metadata", "namespace"][..], &["spec", "infrastructureRef"], &["spec", "controlPlaneRef"]]
    {
        if let Some(value) = get(live, path) {
            set(&mut new, path, value.clone());
        }
    }
    for label in [CLUSTER_NAME, OWNED] {
        if let Some(value) = get(live, &["metadata", "labels", label]) {
            set(&mut new, &["metadata", "labels", label], value.clone());
        }
    }
    new
}
