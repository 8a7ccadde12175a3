//! Filters on text. minijinja's own filters print booleans and null as Python does, so these replace them.

use std::{fmt::Write, sync::Arc};

use minijinja::{Error, ErrorKind, Value as Any};
use serde_json::Value as Json;

use super::{
    limits::{Budget, MAX_TEXT},
    value::{Unfit, to_node, to_text},
};
use crate::yaml::{Node, Origin, Value, emit};

impl From<Unfit> for Error {
    fn from(unfit: Unfit) -> Self {
        match unfit {
            Unfit::Undefined => Self::from(ErrorKind::UndefinedError),
            other => Self::new(ErrorKind::InvalidOperation, other.to_string()),
        }
    }
}

/// The text of a value, up to the length limit of templates.
pub(super) fn text(value: &Any) -> Result<Arc<str>, Error> {
    let text = to_text(value)?;
    bounded(text.len())?;
    Ok(text)
}

fn bounded(bytes: usize) -> Result<(), Error> {
    if bytes > MAX_TEXT {
        let message = format!("the text is longer than {} MiB", MAX_TEXT >> 20);
        return Err(Error::new(ErrorKind::InvalidOperation, message));
    }
    Ok(())
}

pub(super) fn string(value: &Any) -> Result<Any, Error> {
    text(value).map(Any::from)
}

pub(super) fn lower(value: &Any) -> Result<String, Error> {
    Ok(text(value)?.to_lowercase())
}

pub(super) fn upper(value: &Any) -> Result<String, Error> {
    Ok(text(value)?.to_uppercase())
}

pub(super) fn trim(value: &Any, characters: Option<&str>) -> Result<String, Error> {
    let text = text(value)?;
    Ok(match characters {
        Some(characters) => text.trim_matches(|c| characters.contains(c)).to_owned(),
        None => text.trim().to_owned(),
    })
}

pub(super) fn replace(value: &Any, from: &Any, to: &Any) -> Result<String, Error> {
    let (text, from, to) = (text(value)?, text(from)?, text(to)?);
    let found = text.matches(&*from).count();
    bounded(text.len().saturating_add(found.saturating_mul(to.len())))?;
    Ok(text.replace(&*from, &to))
}

pub(super) fn split(value: &Any, separator: Option<&str>) -> Result<Vec<String>, Error> {
    let text = text(value)?;
    Ok(match separator {
        Some("") => return Err(Error::new(ErrorKind::InvalidOperation, "an empty separator splits nothing")),
        Some(separator) => text.split(separator).map(str::to_owned).collect(),
        None => text.split_whitespace().map(str::to_owned).collect(),
    })
}

pub(super) fn lines(value: &Any) -> Result<Vec<String>, Error> {
    Ok(text(value)?.lines().map(str::to_owned).collect())
}

pub(super) fn join(value: &Any, separator: Option<&str>) -> Result<String, Error> {
    if value.is_undefined() {
        return Err(Error::from(ErrorKind::UndefinedError));
    }
    let mut joined = String::new();
    for (at, item) in value.try_iter()?.enumerate() {
        if at > 0 {
            joined.push_str(separator.unwrap_or_default());
        }
        joined.push_str(&text(&item)?);
        bounded(joined.len())?;
    }
    Ok(joined)
}

pub(super) fn indent(value: &Any, width: Option<usize>, first: Option<bool>) -> Result<String, Error> {
    let text = text(value)?;
    let width = width.unwrap_or(4);
    bounded(text.len().saturating_add(width.saturating_mul(text.matches('\n').count() + 1)))?;
    let pad = " ".repeat(width);
    let mut indented = String::new();
    for (at, line) in text.split('\n').enumerate() {
        if at > 0 {
            indented.push('\n');
        }
        if !line.is_empty() && (at > 0 || first == Some(true)) {
            indented.push_str(&pad);
        }
        indented.push_str(line);
    }
    Ok(indented)
}

pub(super) fn tojson(value: &Any) -> Result<String, Error> {
    let text = sorted_json(&node(value)?).to_string();
    bounded(text.len())?;
    Ok(text)
}

pub(super) fn toyaml(value: &Any) -> Result<String, Error> {
    let mut text = String::new();
    emit(&node(value)?, &mut text);
    text.truncate(text.trim_end_matches('\n').len());
    bounded(text.len())?;
    Ok(text)
}

fn node(value: &Any) -> Result<Node, Error> {
    Ok(to_node(value, Origin::NOWHERE, &mut Budget::new())?)
}

/// Converts a node to JSON with sorted keys, so that the order of keys in a definition does not affect the output.
fn sorted_json(node: &Node) -> Json {
    match &node.value {
        Value::Sequence(items) => items.iter().map(sorted_json).collect(),
        Value::Mapping(mapping) => {
            let mut entries: Vec<_> =
                mapping.iter().map(|entry| (entry.key.name.to_string(), sorted_json(&entry.value))).collect();
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            Json::Object(entries.into_iter().collect())
        }
        _ => crate::yaml::to_json(node),
    }
}

pub(super) fn b64encode(value: &Any) -> Result<String, Error> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let text = text(value)?;
    bounded(text.len() / 3 * 4 + 4)?;
    let mut encoded = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let bits = (0..3).fold(0_u32, |bits, at| bits << 8 | u32::from(chunk.get(at).copied().unwrap_or(0)));
        for digit in 0..4 {
            let index = (bits >> (18 - 6 * digit)) as usize & 63;
            encoded.push(if digit > chunk.len() { '=' } else { char::from(DIGITS[index]) });
        }
    }
    Ok(encoded)
}

/// The hexadecimal SHA-256 digest of a text, for names and annotations that change with the content.
pub(super) fn sha256(value: &Any) -> Result<String, Error> {
    use sha2::Digest;
    let digest = sha2::Sha256::digest(text(value)?.as_bytes());
    let mut hex = String::with_capacity(64);
    for byte in digest {
        write!(hex, "{byte:02x}").map_err(|_| Error::from(ErrorKind::WriteFailure))?;
    }
    Ok(hex)
}
