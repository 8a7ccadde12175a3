//! `ClusterClass`.

use serde_json::{Map, Value, json};

use super::fields::Fields;
use super::health_check::{health_check, with_strategy};

/// `spec` of a `ClusterClass`.
pub(super) fn spec(old: &Value) -> Result<Value, String> {
    Ok(Fields::of(old)
        .keep(&["availabilityGates", "kubernetesVersions"])
        .part(&["infrastructure", "ref"], &["infrastructure", "templateRef"], reference)?
        .moved(&["infrastructureNamingStrategy", "template"], &["infrastructure", "naming", "template"])
        .part(&["controlPlane"], &["controlPlane"], control_plane)?
        .each(&["workers", "machineDeployments"], &["workers", "machineDeployments"], deployment)?
        .each(&["workers", "machinePools"], &["workers", "machinePools"], pool)?
        .each(&["variables"], &["variables"], variable)?
        .each(&["patches"], &["patches"], patch)?
        .done())
}

/// Converts a template reference. An old one may name a namespace, but only that of the class.
#[expect(clippy::unnecessary_wraps, reason = "other steps in the same list can fail")]
fn reference(old: &Value) -> Result<Value, String> {
    Ok(Fields::of(old).keep(&["apiVersion", "kind", "name"]).done())
}

fn control_plane(old: &Value) -> Result<Value, String> {
    Ok(Fields::of(old)
        .keep(&["metadata", "readinessGates", "taints"])
        .part(&["ref"], &["templateRef"], reference)?
        .part(&["machineInfrastructure", "ref"], &["machineInfrastructure", "templateRef"], reference)?
        .moved(&["namingStrategy", "template"], &["naming", "template"])
        .part(&["machineHealthCheck"], &["healthCheck"], health_check)?
        .node_timeouts(&[])?
        .done())
}

fn worker(old: &Value) -> Result<Fields<'_>, String> {
    Fields::of(old)
        .keep(&["class", "minReadySeconds", "taints"])
        .moved(&["template", "metadata"], &["metadata"])
        .part(&["template", "bootstrap", "ref"], &["bootstrap", "templateRef"], reference)?
        .part(&["template", "infrastructure", "ref"], &["infrastructure", "templateRef"], reference)?
        .moved(&["namingStrategy", "template"], &["naming", "template"])
        .node_timeouts(&[])
}

fn deployment(old: &Value) -> Result<Value, String> {
    let fields = worker(old)?.keep(&["failureDomain", "readinessGates"]).part(
        &["machineHealthCheck"],
        &["healthCheck"],
        health_check,
    )?;
    Ok(with_strategy(fields, old).done())
}

fn pool(old: &Value) -> Result<Value, String> {
    Ok(worker(old)?.keep(&["failureDomains"]).done())
}

fn variable(old: &Value) -> Result<Value, String> {
    let required = old.get("required").cloned().unwrap_or(json!(false));
    Ok(Fields::of(old)
        .keep(&["name"])
        .put(&["required"], Some(required))
        .moved(&["metadata"], &["deprecatedV1Beta1Metadata"])
        .part(&["schema", "openAPIV3Schema"], &["schema", "openAPIV3Schema"], |old| Ok(schema(old)))?
        .done())
}

/// Flags of a schema whose explicit `false` cannot be told from a missing value.
const FLAGS: [&str; 5] = [
    "uniqueItems",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-int-or-string",
];

fn schema(old: &Value) -> Value {
    let Some(fields) = old.as_object() else { return old.clone() };
    let converted = fields.iter().filter(|(name, value)| {
        let is_flag = FLAGS.contains(&name.as_str());
        !(value.is_null() || is_flag && **value == json!(false))
    });
    let inner = |name: &str, value: &Value| match (name, value) {
        ("properties", Value::Object(properties)) => {
            let all: Map<_, _> = properties.iter().map(|(name, one)| (name.clone(), schema(one))).collect();
            Value::Object(all)
        }
        ("additionalProperties" | "items" | "not", value) => schema(value),
        ("allOf" | "oneOf" | "anyOf", Value::Array(all)) => all.iter().map(schema).collect(),
        (_, value) => value.clone(),
    };
    converted.map(|(name, value)| (name.clone(), inner(name, value))).collect()
}

fn patch(old: &Value) -> Result<Value, String> {
    Ok(Fields::of(old)
        .keep(&["name", "description", "enabledIf"])
        .each(&["definitions"], &["definitions"], definition)?
        .part(&["external"], &["external"], |old| {
            Ok(Fields::of(old)
                .keep(&["discoverVariablesExtension", "settings"])
                .moved(&["generateExtension"], &["generatePatchesExtension"])
                .moved(&["validateExtension"], &["validateTopologyExtension"])
                .done())
        })?
        .done())
}

fn definition(old: &Value) -> Result<Value, String> {
    Ok(Fields::of(old)
        .keep(&["jsonPatches"])
        .part(&["selector"], &["selector"], |old| {
            Ok(Fields::of(old)
                .keep(&["apiVersion", "kind"])
                .part(&["matchResources"], &["matchResources"], |old| {
                    Ok(Fields::of(old)
                        .keep_true(&["controlPlane", "infrastructureCluster"])
                        .keep(&["machineDeploymentClass", "machinePoolClass"])
                        .done())
                })?
                .done())
        })?
        .done())
}
