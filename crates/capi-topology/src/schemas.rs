//! The API server's own checks of Cluster API's kinds: the fields that server-side apply accepts, and the schemas.
//!
//! The schemas are those of Cluster API v1.14.0 (`config/crd/bases` of its repository, Apache-2.0), without descriptions
//! and status. `v1beta1` schemas cover the kinds that are still written in that version.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value;

use super::name_syntax::is_subdomain;
use super::refusal::{By, ErrorType, FieldError, Refusal, Stage};
use k8s_schema::value::{get, group, text, version};
use k8s_schema::{Rules, Schema, fill, type_errors, validate};

struct Kind {
    group: String,
    source: Value,
    schema: Schema,
    has_defaults: bool,
    rules: Rules,
}

static KINDS: LazyLock<BTreeMap<String, Kind>> =
    LazyLock::new(|| read(include_str!("data/schemas-v1.14.json")));

static OLD_KINDS: LazyLock<BTreeMap<String, Kind>> =
    LazyLock::new(|| read(include_str!("data/schemas-v1beta1-v1.14.json")));

fn read(file: &str) -> BTreeMap<String, Kind> {
    let all: Value = serde_json::from_str(file).expect("the file is part of the program");
    let read = |(name, kind): (&String, &Value)| {
        let source = get(kind, &["schema"])?.clone();
        let schema = Schema::read(&source)?;
        let kind = Kind {
            group: text(kind, &["group"]).to_owned(),
            has_defaults: schema.has_defaults(),
            schema,
            rules: Rules::read(&source),
            source,
        };
        Some((name.clone(), kind))
    };
    all.as_object().into_iter().flatten().filter_map(read).collect()
}

fn kind_of(object: &Value) -> Option<&'static Kind> {
    let api_version = text(object, &["apiVersion"]);
    let kinds = match version(api_version) {
        "v1beta2" => &KINDS,
        "v1beta1" => &OLD_KINDS,
        _ => return None,
    };
    kinds.get(text(object, &["kind"])).filter(|kind| kind.group == group(api_version))
}

/// Reports whether the schema of the object's kind is known; other kinds are not validated.
pub(crate) fn is_known(object: &Value) -> bool {
    kind_of(object).is_some()
}

/// Fills in the defaults from the schema of the object's kind.
pub(crate) fn defaulted(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(kind) = kind_of(&object) {
        fill(&mut object, &kind.schema);
    }
    object
}

/// Reports what server-side apply refuses, as one error: unknown fields, wrong types and duplicate keys.
pub(crate) fn apply_faults(object: &Value, stage: Stage) -> Vec<Refusal> {
    let problems = apply_problems(object);
    if problems.is_empty() {
        return Vec::new();
    }
    let problems: Vec<_> = problems.iter().map(|one| format!("{}: {}", one.field, one.detail)).collect();
    let error = FieldError::new(ErrorType::Controller, "", problems.join(", "));
    let name = format!("{}/{}", text(object, &["kind"]), text(object, &["metadata", "name"]));
    Refusal::of(stage, By::ServerSideApply, &name, vec![error])
}

/// Lists what server-side apply refuses, field by field. The API server reports it in one sentence, as [`apply_faults`]
/// does.
///
/// ```
/// use serde_json::json;
///
/// let cluster = json!({
///     "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": { "name": "dev-1" },
///     "spec": { "pause": true },
/// });
/// let problems = capi_topology::apply_problems(&cluster);
/// assert_eq!((problems[0].field.as_str(), problems[0].detail.as_str()), (".spec.pause", "field not declared in schema"));
/// ```
pub fn apply_problems(object: &Value) -> Vec<FieldError> {
    let Some(kind) = kind_of(object) else { return Vec::new() };
    let mut problems = Vec::new();
    for (name, value) in object.as_object().into_iter().flatten() {
        if matches!(name.as_str(), "apiVersion" | "kind" | "metadata" | "status") {
            continue;
        }
        problems.extend(type_errors(value, kind.schema.property(name), &format!(".{name}")));
    }
    problems
}

/// Lists what the schema of the object's kind refuses.
///
/// ```
/// use capi_topology::{Stage, schema_faults};
/// use serde_json::json;
///
/// let cluster = json!({
///     "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": { "name": "Dev_1" },
///     "spec": { "clusterNetwork": { "apiServerPort": 70_000 } },
/// });
/// let faults = schema_faults(&cluster, Stage::Cluster);
/// let fields: Vec<_> = faults.iter().map(|one| one.error.field.as_str()).collect();
/// assert_eq!(fields, ["metadata.name", "spec.clusterNetwork.apiServerPort"]);
/// ```
pub fn schema_faults(object: &Value, stage: Stage) -> Vec<Refusal> {
    let name = format!("{}/{}", text(object, &["kind"]), text(object, &["metadata", "name"]));
    let Some(kind) = kind_of(object) else {
        return Refusal::of(stage, By::Schema, &name, name_faults(object));
    };
    let mut filled = Cow::Borrowed(object);
    if kind.has_defaults {
        fill(filled.to_mut(), &kind.schema);
    }
    let strip = |mut error: FieldError| {
        error.field = error.field.trim_start_matches('.').to_owned();
        error
    };
    let mut errors = name_faults(object);
    errors.extend(validate(&filled, &kind.schema, &"").into_iter().map(strip));
    if errors.is_empty() {
        errors.extend(kind.rules.judge(&filled, None, "").errors.into_iter().map(strip));
    }
    Refusal::of(stage, By::Schema, &name, errors)
}

/// Checks that the name of a custom resource is a DNS subdomain.
///
/// Source: `pkg/registry/customresource/validator.go` of apiextensions-apiserver and `pkg/api/validation` of apimachinery.
fn name_faults(object: &Value) -> Vec<FieldError> {
    let is_custom = group(text(object, &["apiVersion"])).ends_with(".x-k8s.io");
    match text(object, &["metadata", "name"]) {
        name if !is_custom || name.is_empty() || is_subdomain(name) => Vec::new(),
        name => {
            let detail = format!(
                "{name:?} is not a name: it may have lower-case letters, digits, '-' and '.', and must begin and end with a letter or a digit"
            );
            vec![FieldError::invalid("metadata.name", detail)]
        }
    }
}

/// The `v1beta2` schema of a kind, as the API server publishes it.
pub(crate) fn source_schema(kind: &str) -> Option<&'static Value> {
    KINDS.get(kind).map(|kind| &kind.source)
}

/// The schema of an object's kind, in the object's own version.
pub(crate) fn source_schema_of(object: &Value) -> Option<&'static Value> {
    kind_of(object).map(|kind| &kind.source)
}

/// Drops `null` from known fields that are not nullable. The API server does so for every write other than a server-side
/// apply.
///
/// Source: `k8s.io/apiextensions-apiserver`, `pkg/apiserver/schema/defaulting/prune.go`, `PruneNonNullableNullsWithoutDefaults`.
pub(crate) fn drop_nulls(object: &mut Value) {
    if let Some(kind) = kind_of(object) {
        k8s_schema::drop_nulls(object, &kind.schema);
    }
}
