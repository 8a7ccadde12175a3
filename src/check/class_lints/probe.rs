//! Makes sample values that the schemas of a class accept, to find out what its templates render.

use gotmpl::{Template, yaml};
use serde_json::{Map, Value as Json, json};

use super::class::{Operation, Value, View};
use crate::topology::variables::{Scope, default_variables, validate_variables};

/// How samples are filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fill {
    /// Everything is set.
    All,
    /// Only required values and defaults are set.
    Least,
    /// Values are as empty as possible.
    Empty,
}

/// The longest possible name of a cluster or a pool.
pub(super) const LONG: &str = "a-name-of-sixty-three-characters-that-is-as-long-as-they-may-be";

/// The maximum depth of samples; deeper schemas are cut off.
const DEPTH: usize = 12;

/// The variables of a cluster, including those that Cluster API adds.
pub(super) fn data(view: &View<'_>, fill: Fill) -> Json {
    let given: Vec<Json> = view
        .variables
        .iter()
        .filter(|variable| variable.required || fill != Fill::Least)
        .filter_map(|variable| {
            let value = sample(&variable.schema, fill, DEPTH)?;
            let pair = json!({ "name": variable.name, "value": value });
            let definitions = &view.definitions;
            let judged =
                validate_variables(std::slice::from_ref(&pair), &[], definitions, Scope::Override, "");
            // A value that does not fit is left to its default.
            judged.errors.is_empty().then_some(pair)
        })
        .collect();
    let all = default_variables(&given, &view.definitions, Scope::Cluster, "").unwrap_or(given);
    let mut data = Map::new();
    for pair in all {
        data.insert(pair["name"].as_str().unwrap_or_default().to_owned(), pair["value"].clone());
    }
    data.insert("builtin".to_owned(), builtin("one"));
    Json::Object(data)
}

/// Cluster API's built-in variables, with one name for everything.
pub(super) fn builtin(name: &str) -> Json {
    let version = "v1.35.0";
    let metadata = json!({ "labels": { "a": "b" }, "annotations": { "a": "b" } });
    let worker = json!({
        "version": version, "class": "worker", "name": name, "topologyName": name, "replicas": 1, "metadata": metadata,
        "bootstrap": { "configRef": { "name": name } }, "infrastructureRef": { "name": name },
    });
    json!({
        "cluster": {
            "name": name, "namespace": name, "uid": "11111111-2222-3333-4444-555555555555", "metadata": metadata,
            "topology": {
                "version": version, "class": name, "classNamespace": name,
                "classRef": { "name": name, "namespace": name },
            },
            "network": { "serviceDomain": "cluster.local", "services": ["10.96.0.0/12"], "pods": ["192.168.0.0/16"] },
        },
        "controlPlane": {
            "version": version, "name": name, "replicas": 3, "metadata": metadata,
            "machineTemplate": { "infrastructureRef": { "name": name } },
        },
        "machineDeployment": worker,
        "machinePool": worker,
    })
}

/// A value that a schema accepts; none if no value can be made or, with [`Fill::Least`], none is required.
fn sample(schema: &Json, fill: Fill, depth: usize) -> Option<Json> {
    if depth == 0 {
        return None;
    }
    let listed = schema["enum"].as_array().and_then(|values| values.first());
    let given = schema.get("example").or_else(|| schema.get("default")).or(listed);
    let kind = schema["type"].as_str().unwrap_or_default();
    let small = |bound: &str| schema[bound].as_i64().unwrap_or(0).max(0);
    if fill != Fill::Empty
        && let Some(given) = given.filter(|_| kind != "object" && kind != "array")
    {
        return Some(given.clone());
    }
    match kind {
        "string" if fill == Fill::Empty && small("minLength") == 0 && listed.is_none() => Some(json!("")),
        "string" => Some(given.cloned().unwrap_or_else(|| json!("sample"))),
        "boolean" => Some(json!(fill != Fill::Empty)),
        "integer" | "number" => {
            let least = schema["minimum"].as_i64();
            Some(json!(least.unwrap_or(i64::from(fill == Fill::All))))
        }
        "array" if fill == Fill::Empty && small("minItems") == 0 => Some(json!([])),
        "array" => match given.filter(|given| given.as_array().is_some_and(|items| !items.is_empty())) {
            Some(given) => Some(given.clone()),
            None => Some(json!([sample(&schema["items"], fill, depth - 1)?])),
        },
        "object" => object(schema, fill, depth),
        _ => given.cloned().or_else(|| Some(json!("sample"))),
    }
}

fn object(schema: &Json, fill: Fill, depth: usize) -> Option<Json> {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let mut fields = Map::new();
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        let must = required.iter().any(|one| one == name.as_str());
        if must || fill != Fill::Least {
            match sample(inner, fill, depth - 1) {
                Some(value) => {
                    fields.insert(name.clone(), value);
                }
                None if must => return None,
                None => {}
            }
        }
    }
    if let (Fill::All, true) = (fill, schema["additionalProperties"].is_object()) {
        fields.insert("key".to_owned(), sample(&schema["additionalProperties"], fill, depth - 1)?);
    }
    Some(Json::Object(fields))
}

/// A step of the path from a variable to a value inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SchemaSegment {
    Key(String),
    Item,
}

/// Lists all values of these types inside the variables of a class, with their paths.
pub(super) fn leaves(view: &View<'_>, types: &[&str]) -> Vec<(Vec<SchemaSegment>, Json)> {
    let mut found = Vec::new();
    for variable in &view.variables {
        collect(&variable.schema, &mut vec![SchemaSegment::Key(variable.name.clone())], types, &mut found);
    }
    found
}

fn collect(
    schema: &Json,
    path: &mut Vec<SchemaSegment>,
    types: &[&str],
    found: &mut Vec<(Vec<SchemaSegment>, Json)>,
) {
    if path.len() > DEPTH {
        return;
    }
    if types.contains(&schema["type"].as_str().unwrap_or_default()) {
        found.push((path.clone(), schema.clone()));
    }
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        path.push(SchemaSegment::Key(name.clone()));
        collect(inner, path, types, found);
        path.pop();
    }
    if schema["items"].is_object() {
        path.push(SchemaSegment::Item);
        collect(&schema["items"], path, types, found);
        path.pop();
    }
}

/// A path as written in templates.
pub(super) fn spelled(path: &[SchemaSegment]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            SchemaSegment::Key(name) if text.is_empty() => text.push_str(name),
            SchemaSegment::Key(name) => text.extend([".", name.as_str()]),
            SchemaSegment::Item => text.push_str("[]"),
        }
    }
    text
}

/// The data with another value at a path; none if the path does not exist or the schemas refuse the value.
pub(super) fn with(view: &View<'_>, data: &Json, path: &[SchemaSegment], value: Json) -> Option<Json> {
    let mut data = data.clone();
    let mut at = &mut data;
    for step in path {
        at = match step {
            SchemaSegment::Key(name) => at.get_mut(name)?,
            SchemaSegment::Item => at.get_mut(0)?,
        };
    }
    *at = value;
    let Some(SchemaSegment::Key(name)) = path.first() else { return None };
    let pair = json!({ "name": name, "value": data[name] });
    let judged = validate_variables(&[pair], &[], &view.definitions, Scope::Override, "");
    (judged.errors.is_empty() && judged.opaque.is_empty()).then_some(data)
}

impl Operation<'_> {
    /// The text rendered by the operation's template; none if there is no template, its patch is disabled, or rendering
    /// fails.
    pub(super) fn rendered(&self, data: &Json) -> Option<String> {
        let Value::Template(_, template) = &self.value else { return None };
        if !self.runs(data) {
            return None;
        }
        render(template.as_ref(), data)
    }

    /// Whether the template may depend on a variable. Most templates read only a few of them.
    pub(super) fn reads(&self, path: &[SchemaSegment]) -> bool {
        let (Value::Template(_, Some(template)), Some(SchemaSegment::Key(name))) =
            (&self.value, path.first())
        else {
            return false;
        };
        template.reads().is_none_or(|reads| reads.fields().any(|field| field == name))
    }

    /// The value rendered by the operation's template.
    pub(super) fn made(&self, data: &Json) -> Option<Json> {
        yaml::parse(&self.rendered(data)?).ok()
    }

    fn runs(&self, data: &Json) -> bool {
        let Some(condition) = &self.condition else { return true };
        let text = render(condition.template.as_ref(), data);
        text.is_some_and(|text| yaml::parse(&text).is_ok_and(|value| value == Json::Bool(true)))
    }
}

fn render(template: Option<&Template>, data: &Json) -> Option<String> {
    template?.render(data).ok()
}

/// Calls a function for each string in a value, with its path of keys.
pub(super) fn texts(value: &Json, path: &str, look: &mut impl FnMut(&str, &str)) {
    match value {
        Json::String(text) => look(path, text),
        Json::Array(items) => items.iter().for_each(|item| texts(item, path, look)),
        Json::Object(fields) => {
            for (key, value) in fields {
                texts(value, &format!("{path}/{key}"), look);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_long_name_is_as_long_as_names_may_be() {
        assert_eq!(LONG.len(), 63);
    }
}
