//! The `fieldPath` of a rule, which is the field that its message names.
//!
//! Source: `pkg/apiserver/schema/cel/validation.go` of apiextensions-apiserver, `ValidFieldPath`.

use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::Value;

use crate::value::map;

/// The path as the API server prints it. The error explains why the path does not name a field of the schema.
///
/// ```
/// use serde_json::json;
///
/// let schema = json!({ "properties": { "labels": { "type": "object", "additionalProperties": { "type": "string" } } } });
/// assert_eq!(k8s_schema::field_path(".labels['a.b']", &schema), Ok("labels[a.b]".to_owned()));
/// assert!(k8s_schema::field_path(".annotations", &schema).is_err());
/// ```
pub fn normalized(path: &str, schema: &Value) -> Result<String, String> {
    let mut tokens = tokens(path).into_iter();
    let mut schema = schema;
    let mut printed = String::new();
    while let Some(token) = tokens.next() {
        let name = match token {
            "[" => {
                let quoted = tokens.next().ok_or(END)?;
                let inner = quoted.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
                let inner = inner.ok_or_else(|| format!("expected single quoted string but got {quoted}"))?;
                unescaped(inner)?
            }
            "." => tokens.next().ok_or(END)?.to_owned(),
            other => return Err(format!("expected [ or . but got: {other}")),
        };
        schema = step(schema, &name, &mut printed).ok_or("does not refer to a valid field")?;
        if token == "[" {
            match tokens.next().ok_or(END)? {
                "]" => {}
                other => return Err(format!("expected ] but got {other}")),
            }
        }
    }
    Ok(printed)
}

const END: &str = "unexpected end of JSON path";

/// The schema of a field or of a map's values.
fn step<'s>(schema: &'s Value, name: &str, printed: &mut String) -> Option<&'s Value> {
    if let Some(properties) = map(schema, &["properties"]).filter(|all| !all.is_empty()) {
        if !printed.is_empty() {
            printed.push('.');
        }
        printed.push_str(name);
        return properties.get(name);
    }
    printed.extend(["[", name, "]"]);
    schema.get("additionalProperties").filter(|inner| inner.is_object())
}

/// Splits a path into dots, brackets and the names between them. Quoted text is one token.
fn tokens(path: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = path;
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '.' | '[' | ']' => 1,
            '\'' => closing(rest).map_or(rest.len(), |at| at + 1),
            _ => rest.find(['.', '[', ']']).unwrap_or(rest.len()),
        };
        let (token, behind) = rest.split_at(end);
        found.push(token);
        rest = behind;
    }
    found
}

/// The position of the closing quote of a text that starts with a quote.
fn closing(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    (1..bytes.len()).find(|at| bytes[*at] == b'\'' && bytes[at - 1] != b'\\')
}

fn unescaped(text: &str) -> Result<String, String> {
    static ESCAPED: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\\(.)").expect("a constant pattern compiles"));
    let mut wrong = None;
    let made = ESCAPED.replace_all(text, |found: &Captures<'_>| {
        let plain = match &found[1] {
            "a" => "\u{7}",
            "b" => "\u{8}",
            "f" => "\u{c}",
            "n" => "\n",
            "r" => "\r",
            "t" => "\t",
            "v" => "\u{b}",
            "'" => "'",
            "\\" => "\\",
            _ => {
                wrong = Some(format!("invalid string literal: invalid escape char {}", &found[0]));
                ""
            }
        };
        plain.to_owned()
    });
    let made = made.into_owned();
    wrong.map_or(Ok(made), Err)
}
