//! The values of a patch: rendered, looked up or literal.

use gotmpl::ErrorKind;
use serde_json::Value;

use super::json_patch::{Operation, Source};
use super::{Parsed, Patch};
use crate::builtins::Variables;
use crate::memo::Key;
use crate::variables::lookup;
use k8s_schema::value::keep_numbers;

/// Why a value cannot be computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Cluster API fails, too.
    Error(String),
    /// The result of Cluster API cannot be known here.
    Unknown(String),
}

/// Reports whether a patch runs: always without `enabledIf`, otherwise only if that renders to exactly `true`.
pub(crate) fn enabled(patch: &Patch, data: &Variables<'_>) -> Result<bool, Failure> {
    let Some(condition) = &patch.enabled_if else { return Ok(true) };
    // The only white space that YAML always ignores around a word.
    let value = remembered(condition, data, |text| match text.trim_matches([' ', '\n']) {
        // Most conditions render to these, which need no parser.
        "true" => Ok(Value::Bool(true)),
        "" | "false" => Ok(Value::Bool(false)),
        _ => read(condition, text),
    })?;
    Ok(value == Value::Bool(true))
}

/// The value of an operation; none for `remove`.
pub(crate) fn value(operation: &Operation, data: &Variables<'_>) -> Result<Option<Value>, Failure> {
    if operation.op != "add" && operation.op != "replace" {
        return Ok(None);
    }
    let value = match &operation.value {
        Source::Literal(value) => value.clone(),
        Source::Variable(path) => lookup(|name| data.get(name), path).map_err(Failure::Error)?,
        Source::Template(template) => remembered(template, data, |text| read(template, text))?,
        Source::Wrong(why) => {
            return Err(Failure::Error(format!("failed to calculate value: {why}")));
        }
    };
    Ok(Some(value))
}

/// Renders a template and parses the result, unless the result for the same data is cached.
fn remembered(
    template: &Parsed,
    data: &Variables<'_>,
    read: impl Fn(&str) -> Result<Value, Failure>,
) -> Result<Value, Failure> {
    let reads = template.template.as_ref().ok().and_then(|parsed| parsed.reads());
    let key = reads.filter(|_| !template.results.is_idle());
    let key = key.and_then(|reads| Key::of(reads, |name| data.get(name)));
    template.results.get(key, || {
        let text = match reads {
            Some(reads) => rendered(template, &data.part(reads.fields()))?,
            None => rendered(template, data.whole())?,
        };
        // A value takes several times the space of its text.
        Ok((read(&text)?, 8 * text.len()))
    })
}

/// Parses rendered text as YAML.
fn read(template: &Parsed, text: &str) -> Result<Value, Failure> {
    let mut value = gotmpl::yaml::parse(text).map_err(|error| failure(template, &error))?;
    keep_numbers(&mut value);
    Ok(value)
}

fn rendered(template: &Parsed, data: &Value) -> Result<String, Failure> {
    let parsed = template.template.as_ref().map_err(|error| failure(template, error))?;
    let text = parsed.render(data).map_err(|error| failure(template, &error))?;
    if template.looks_into_names && !(text.contains("#1") || text.contains("#2")) {
        let source = &template.source;
        let reason = format!("template {source:?} computes from a name with random characters");
        return Err(Failure::Unknown(reason));
    }
    Ok(text)
}

fn failure(template: &Parsed, error: &gotmpl::Error) -> Failure {
    let message = format!("template {:?}: {}", template.source, error.message);
    match error.kind {
        ErrorKind::Syntax | ErrorKind::Exec => Failure::Error(message),
        ErrorKind::Unsupported | ErrorKind::Limit => Failure::Unknown(message),
    }
}
