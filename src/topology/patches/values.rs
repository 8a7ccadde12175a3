//! The values of a patch: rendered, looked up or literal.

use serde_json::{Map, Value};

use super::json_patch::{Operation, Source, variable};
use super::{Parsed, Patch};
use crate::topology::gotemplate::{self, ErrorKind};

/// Why there is no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// Cluster API fails, too.
    Error(String),
    /// It cannot be known here what Cluster API does.
    Unknown(String),
}

/// Whether a patch runs: always without `enabledIf`, else where it renders to exactly `true`.
pub fn enabled(patch: &Patch, data: &Value) -> Result<bool, Failure> {
    match &patch.enabled_if {
        None => Ok(true),
        Some(condition) => match rendered(condition, data)? {
            // What most conditions render to needs no reader.
            text if text.trim() == "true" => Ok(true),
            text if matches!(text.trim(), "" | "false") => Ok(false),
            text => Ok(read(condition, &text)? == Value::Bool(true)),
        },
    }
}

/// The value of an operation; none for `remove`.
pub fn value(operation: &Operation, data: &Value) -> Result<Option<Value>, Failure> {
    if operation.op != "add" && operation.op != "replace" {
        return Ok(None);
    }
    let value = match &operation.value {
        Source::Literal(value) => value.clone(),
        Source::Variable(path) => {
            let none = Map::new();
            let variables = data.as_object().unwrap_or(&none);
            variable(variables, path).map_err(Failure::Error)?
        }
        Source::Template(template) => render(template, data)?,
        Source::Wrong(why) => {
            return Err(Failure::Error(format!("failed to calculate value: {why}")));
        }
    };
    Ok(Some(value))
}

/// Renders a template and reads the result as YAML.
fn render(template: &Parsed, data: &Value) -> Result<Value, Failure> {
    read(template, &rendered(template, data)?)
}

fn read(template: &Parsed, text: &str) -> Result<Value, Failure> {
    gotemplate::yaml::parse(text).map_err(|error| failure(template, &error))
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

fn failure(template: &Parsed, error: &gotemplate::Error) -> Failure {
    let message = format!("template {:?}: {}", template.source, error.message);
    match error.kind {
        ErrorKind::Syntax | ErrorKind::Exec => Failure::Error(message),
        ErrorKind::Unsupported | ErrorKind::Limit => Failure::Unknown(message),
    }
}
