//! Checks objects that users and stacks write against the schemas of their kinds.
//!
//! The schemas are in `data/object-schemas.json` and in `capi-topology`. Where a webhook of Cluster API completes an object
//! before its schema counts, only what server-side apply refuses is reported: unknown fields and values of the wrong type.

use std::{collections::BTreeMap, sync::LazyLock};

use k8s_schema::{Rules, Schema, fill, type_errors, validate};
use serde_json::{Value, json};

use super::metadata::{Violation, shortened};
use crate::{
    topology::{ErrorType, FieldError, Stage, apply_problems, schema_faults},
    yaml::{Edge, Mapping, Node, to_json, trail},
};

const GROUP: &str = "cluster.x-k8s.io/";
/// Another rule validates these.
const OWN_RULES: [&str; 2] = ["Cluster", "ClusterClass"];

struct Kind {
    schema: Schema,
    rules: Rules,
}

/// The kinds of the file, by apiVersion and kind.
static KINDS: LazyLock<BTreeMap<String, Kind>> = LazyLock::new(|| {
    let all: BTreeMap<String, Value> = serde_json::from_str(include_str!("data/object-schemas.json"))
        .expect("the file is part of the program");
    let read = |(name, source): (String, Value)| {
        Some((name, Kind { schema: Schema::read(&source)?, rules: Rules::read(&source) }))
    };
    all.into_iter().filter_map(read).collect()
});

/// Reports what the API server refuses in an object because of its kind's schema. `is_complete`: every value is known; else
/// only names of fields and types are checked.
pub(super) fn faults(object: &Node, is_complete: bool) -> Vec<Violation> {
    let text = |key| object.get(key).and_then(Node::as_str).unwrap_or_default();
    let (version, kind) = (text("apiVersion"), text("kind"));
    let is_encrypted = object.get("sops").is_some();
    let errors = match KINDS.get(&format!("{version}/{kind}")) {
        _ if is_encrypted || OWN_RULES.contains(&kind) => return Vec::new(),
        Some(known) => of_file(known, object, version, is_complete),
        None if version.contains(GROUP) => of_cluster_api(object, kind, is_complete),
        None => return Vec::new(),
    };
    errors.into_iter().map(|error| violation(object, version, kind, &error)).collect()
}

fn of_file(kind: &Kind, object: &Node, version: &str, is_complete: bool) -> Vec<FieldError> {
    let mut json = body(object);
    let errors = type_errors(&json, Some(&kind.schema), "");
    if !errors.is_empty() || !is_complete {
        return errors;
    }
    // For Kubernetes' own kinds, null is the same as no value.
    if !version.contains(GROUP) {
        drop_nulls(&mut json);
    }
    fill(&mut json, &kind.schema);
    let mut errors = validate(&json, &kind.schema, &"");
    // Other rules judge the metadata, which `body` leaves out.
    errors.retain(|error| error.field.trim_start_matches('.') != "metadata");
    if errors.is_empty() { kind.rules.judge(&json, None, "").errors } else { errors }
}

/// The fields of an object that its schema describes.
fn body(object: &Node) -> Value {
    let mut fields = Mapping::new();
    for entry in object.as_mapping().into_iter().flat_map(Mapping::iter) {
        if !matches!(&*entry.key.name, "apiVersion" | "kind" | "metadata" | "status") {
            fields.set(&entry.key.name, entry.value.clone());
        }
    }
    to_json(&Node::from(fields))
}

fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

fn of_cluster_api(object: &Node, kind: &str, is_complete: bool) -> Vec<FieldError> {
    let mut json = to_json(object);
    let errors = apply_problems(&json);
    if !errors.is_empty() || !is_complete || kind != "MachineHealthCheck" {
        return errors;
    }
    // The webhook sets it before the schema counts (`core/webhooks/admission/machinehealthcheck.go`).
    if let Some(checks) = json.pointer_mut("/spec/checks").and_then(Value::as_object_mut) {
        checks.entry("nodeStartupTimeoutSeconds").or_insert_with(|| json!(600));
    }
    let errors = schema_faults(&json, Stage::Apply).into_iter().map(|fault| fault.error);
    errors.filter(|error| !error.field.starts_with("metadata")).collect()
}

fn violation(object: &Node, version: &str, kind: &str, error: &FieldError) -> Violation {
    let field = error.field.trim_start_matches('.');
    let found = trail(object, error.path());
    let is_unknown = error.kind == ErrorType::Undeclared;
    let key = match found.as_slice() {
        [.., (_, parent), (Edge::Key(name), _)] => parent.as_mapping().and_then(|map| map.entry(name)),
        _ => None,
    };
    let of_key = key.filter(|_| is_unknown).and_then(|entry| entry.key.origin.written());
    let origin = of_key.or_else(|| found.iter().rev().find_map(|(_, node)| node.origin.written()));
    let name = if field.is_empty() { "content".to_owned() } else { format!("`{}`", shortened(field)) };
    let message = if is_unknown {
        format!("{kind} of {version} has no field {name}")
    } else if error.kind == ErrorType::Required {
        format!("{kind} of {version} needs {name}")
    } else {
        format!("{name} of this {kind} {}", problem(field, &error.detail))
    };
    Violation {
        origin: origin.unwrap_or(object.origin),
        message,
        hint: match error.kind {
            ErrorType::Undeclared => "correct its name, or remove it: the API server refuses unknown fields",
            ErrorType::Required => "add it: the API server refuses the whole object",
            _ => "correct it: the API server refuses the whole object",
        },
    }
}

/// What is wrong with a field, in words.
fn problem(field: &str, detail: &str) -> String {
    let detail = detail.strip_prefix(&format!("{field} in body ")).unwrap_or(detail);
    let expected = match detail {
        "expected map" => "a map",
        "expected list" => "a list",
        "expected a scalar" => "a single value",
        "expected string" => "text; put it in quotes",
        "expected boolean" => "`true` or `false`, without quotes",
        "expected numeric" => "a number, without quotes",
        _ if detail.contains("[KMGTPE]i|") => "a quantity such as `10`, `500m` or `64Gi`",
        _ if detail.starts_with("duplicate entries") => {
            return "has two entries with the same key".to_owned();
        }
        _ => return format!("is refused: {detail}"),
    };
    format!("must be {expected}")
}
