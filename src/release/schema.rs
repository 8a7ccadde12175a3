//! The JSON Schema for definitions of clusters that use one release. It lets editors complete values that depend on the
//! release.
//!
//! It extends the schema of `ClusterDefinition` with the variables of the class, its worker classes and the names of its
//! addons. A definition is only one of several layers. So fields that folder defaults may supply are not required, and
//! `null`, which removes a default, is allowed everywhere.

use serde_json::{Map, Value as Json, json};

use super::Release;
use crate::{
    definition::DefinitionKind,
    model::{Minor, StackId},
    yaml::to_json,
};

/// Builds the schema for definitions of clusters that use a release.
pub fn definition_schema(release: &Release) -> Json {
    let mut schema = DefinitionKind::ClusterDefinition.schema();
    let mut variables = Map::new();
    for variable in &release.class.variables {
        variables.insert(variable.name.clone(), layer(&to_json(&variable.schema)));
    }
    for part in ["ClusterSpec", "ControlPlane", "NodePool"] {
        let Some(place) = schema.pointer_mut(&format!("/$defs/{part}/properties/variables")) else {
            continue;
        };
        place["properties"] = Json::Object(variables.clone());
        place["additionalProperties"] = json!(false);
    }
    let classes: Vec<&String> =
        release.class.machine_deployments.iter().chain(&release.class.machine_pools).collect();
    if let Some(place) =
        schema.pointer_mut("/$defs/NodePool/properties/class").filter(|_| !classes.is_empty())
    {
        place["enum"] = json!(classes);
    }
    if let Some(place) = schema.pointer_mut("/$defs/ClusterSpec/properties/addons") {
        let choice = place["additionalProperties"].clone();
        let addons = release.addons.iter().map(|addon| (addon.addon.name.to_string(), choice.clone()));
        place["properties"] = Json::Object(addons.collect());
        place["additionalProperties"] = json!(false);
    }
    let of = schema_file(release);
    let of = of.trim_end_matches(".schema.json");
    schema["title"] = json!(format!("Stackloom ClusterDefinition of {of}"));
    schema
}

/// The file name of the schema. For a head release, it omits the version, which changes with every edit.
pub fn schema_file(release: &Release) -> String {
    if release.is_head() {
        head_schema_file(&release.stack, release.kubernetes.minor())
    } else {
        format!("{}.schema.json", release.name)
    }
}

/// The file name of the schema for the head release of a stack and minor.
pub fn head_schema_file(stack: &StackId, minor: Minor) -> String {
    format!("{}-{}-{}.schema.json", stack.provider, stack.name, minor.dashed())
}

/// Keywords of Kubernetes schemas with the same meaning in JSON Schema.
const SAME: [&str; 14] = [
    "description",
    "default",
    "enum",
    "format",
    "pattern",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "multipleOf",
    "title",
];

/// Converts a Kubernetes schema to JSON Schema, for one layer of several.
fn layer(schema: &Json) -> Json {
    let mut out = Map::new();
    let Json::Object(fields) = schema else { return json!(true) };
    for key in SAME {
        if let Some(value) = fields.get(key) {
            out.insert(key.to_owned(), value.clone());
        }
    }
    if let Some(values) = out.get_mut("enum").and_then(Json::as_array_mut) {
        values.push(Json::Null);
    }
    for (limit, exclusive) in [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")] {
        if let Some(value) = fields.get(limit) {
            let key = if fields.get(exclusive) == Some(&json!(true)) { exclusive } else { limit };
            out.insert(key.to_owned(), value.clone());
        }
    }
    if fields.get("x-kubernetes-int-or-string") == Some(&json!(true)) {
        out.insert("type".to_owned(), json!(["integer", "string", "null"]));
    } else if let Some(kind) = fields.get("type") {
        out.insert("type".to_owned(), json!([kind, "null"]));
    }
    if let Some(example) = fields.get("example") {
        out.insert("examples".to_owned(), json!([example]));
    }
    if let Some(Json::Object(properties)) = fields.get("properties") {
        let inner = properties.iter().map(|(name, field)| (name.clone(), layer(field)));
        out.insert("properties".to_owned(), Json::Object(inner.collect()));
        let open = fields.get("x-kubernetes-preserve-unknown-fields") == Some(&json!(true));
        out.insert("additionalProperties".to_owned(), json!(open));
    }
    match fields.get("additionalProperties") {
        Some(Json::Bool(open)) => drop(out.insert("additionalProperties".to_owned(), json!(open))),
        Some(inner) => drop(out.insert("additionalProperties".to_owned(), layer(inner))),
        None => {}
    }
    if let Some(items) = fields.get("items") {
        let mut items_schema = layer(items);
        // A list replaces a list as a whole, so its items must be complete.
        if let Some(required) = items.get("required") {
            items_schema["required"] = required.clone();
        }
        out.insert("items".to_owned(), items_schema);
    }
    Json::Object(out)
}
