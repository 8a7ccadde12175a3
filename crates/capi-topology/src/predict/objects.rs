//! Refusals by the API server and the webhooks of objects that the controller writes.

use serde_json::Value;

use super::running::with_defaults;
use crate::admission::{webhooks, workers};
use crate::convert;
use crate::gates::Gates;
use crate::refusal::{By, ErrorType, FieldError, Refusal, Stage};
use crate::role::Role;
use crate::schemas::{apply_faults, schema_faults};
use crate::state::Desired;
use k8s_schema::value::text;

/// Lists why the controller cannot create a desired state; it stops at the first refused object.
pub fn refused(desired: &Desired, gates: Gates) -> Vec<Refusal> {
    for (role, object) in desired.objects() {
        let faults = refusals(object, &with_defaults(object, None), None, gates);
        if !faults.is_empty() {
            let all = faults.iter().filter(|fault| fault.by == By::Schema).count().max(1);
            return faults.iter().take(all).map(|fault| of_creation(&role, fault)).collect();
        }
    }
    Vec::new()
}

/// The refusal as the controller passes it on when it creates an object; that of a webhook names no field there.
fn of_creation(role: &Role, fault: &Refusal) -> Refusal {
    let detail = format!("error reconciling the Cluster topology: {role}: {fault}");
    if fault.by != By::Schema {
        return Refusal::controller(Stage::Apply, detail);
    }
    let error = FieldError::new(fault.error.kind, fault.error.field.clone(), detail);
    Refusal { stage: Stage::Apply, by: By::Topology, object: String::new(), error }
}

/// Lists why an object cannot be added to a running Cluster.
pub fn refused_create(written: &Value, gates: Gates) -> Vec<Refusal> {
    refusals(written, &with_defaults(written, None), None, gates)
}

/// Lists why a running object cannot be changed. `written` is what the controller writes, `object` is its stored form.
pub(crate) fn refused_update(written: &Value, object: &Value, running: &Value, gates: Gates) -> Vec<Refusal> {
    refusals(written, object, Some(running), gates)
}

/// Lists refusals. The API server validates an object in its written version; webhooks validate the stored form.
fn refusals(written: &Value, object: &Value, running: Option<&Value>, gates: Gates) -> Vec<Refusal> {
    let real = with_real_names(if convert::is_old(written) { written } else { object });
    let name = format!("{}/{}", text(object, &["kind"]), text(object, &["metadata", "name"]));
    let mut faults = apply_faults(&real, Stage::Apply);
    if faults.is_empty() {
        faults = schema_faults(&real, Stage::Apply);
    }
    if let (true, Err(error)) = (faults.is_empty(), convert::to_stored(&real)) {
        faults =
            vec![Refusal::controller(Stage::Apply, format!("it cannot be converted to v1beta2: {error}"))];
    }
    if faults.is_empty() {
        let kind = text(object, &["kind"]);
        let running = running.map(with_real_names);
        let object = if convert::is_old(written) { with_real_names(object) } else { real };
        let errors = webhooks::validate(&object, running.as_ref(), gates);
        if let ("MachineDeployment" | "MachinePool", Some(why)) = (kind, workers::defaulting(written)) {
            let error = FieldError::new(ErrorType::Controller, "", why);
            return Refusal::of(Stage::Apply, By::WebhookDefault, &name, vec![error]);
        }
        faults = Refusal::of(Stage::Apply, By::WebhookValidate, &name, errors);
    }
    for fault in faults.iter_mut().filter(|fault| !fault.object.is_empty()) {
        fault.object.clone_from(&name);
    }
    faults
}

/// Copies an object with realistic names instead of symbolic ones.
fn with_real_names(object: &Value) -> Value {
    match object {
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| {
                let value = match value.as_str().filter(|_| key == "name") {
                    Some(name) => Value::String(name.replace("#1", "xxxxx").replace("#2", "xxxxx")),
                    None => with_real_names(value),
                };
                (key.clone(), value)
            })
            .collect(),
        Value::Array(items) => items.iter().map(with_real_names).collect(),
        _ => object.clone(),
    }
}
