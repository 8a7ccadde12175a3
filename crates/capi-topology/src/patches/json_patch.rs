//! JSON patch (RFC 6902), as far as patches of a class may use it.
//!
//! The reference is `github.com/evanphx/json-patch/v5`: missing parents are not created, negative indices count from the
//! end, and a missing key is an error.

use serde_json::Value;

use super::Parsed;
use k8s_schema::value::{field_mut, keep_numbers, present, text};

/// One operation of a JSON patch.
#[derive(Debug)]
pub struct Operation {
    /// `add`, `replace` or `remove`.
    pub op: String,
    /// The target of the operation.
    pub path: Path,
    pub(crate) value: Source,
}

/// A parsed JSON pointer.
#[derive(Debug)]
pub struct Path {
    /// The pointer as written.
    pub source: String,
    keys: Vec<String>,
}

impl Path {
    /// Parses a pointer.
    pub fn new(source: &str) -> Self {
        let unescaped = |key: &str| key.replace("~1", "/").replace("~0", "~");
        Self { source: source.to_owned(), keys: source.split('/').skip(1).map(unescaped).collect() }
    }

    /// Reports whether it points inside the value at these keys.
    pub fn is_within(&self, keys: &[&str]) -> bool {
        let same = self.keys.iter().zip(keys).all(|(own, key)| own == key);
        self.source.starts_with('/') && self.keys.len() > keys.len() && same
    }
}

/// The source of an operation's value.
#[derive(Debug)]
pub(crate) enum Source {
    Literal(Value),
    /// A variable, or a path into one.
    Variable(String),
    /// A template to render.
    Template(Parsed),
    /// The class gives no source, or more than one; with the reason.
    Wrong(&'static str),
}

impl Operation {
    /// Reads an operation of a patch definition.
    pub fn read(operation: &Value) -> Self {
        Self {
            op: text(operation, &["op"]).to_owned(),
            path: Path::new(text(operation, &["path"])),
            value: Source::read(operation),
        }
    }
}

impl Source {
    fn read(operation: &Value) -> Self {
        let from = present(operation, &["valueFrom"]);
        let variable = from.map_or("", |from| text(from, &["variable"]));
        let template = from.map_or("", |from| text(from, &["template"]));
        match (present(operation, &["value"]), from) {
            (None, None) => Self::Wrong("neither .value nor .valueFrom are set"),
            (Some(_), Some(_)) => Self::Wrong("both .value and .valueFrom are set"),
            (Some(value), None) => {
                let mut value = value.clone();
                keep_numbers(&mut value);
                Self::Literal(value)
            }
            (None, Some(_)) => match (variable.is_empty(), template.is_empty()) {
                (true, true) => Self::Wrong(".valueFrom sets neither variable nor template"),
                (false, false) => Self::Wrong(".valueFrom sets both variable and template"),
                (false, true) => Self::Variable(variable.to_owned()),
                (true, false) => Self::Template(Parsed::new(template)),
            },
        }
    }
}

/// Applies one operation to a document.
pub fn apply(document: &mut Value, op: &str, path: &Path, value: Option<Value>) -> Result<(), String> {
    let fail = |why: &str| format!("{op} operation does not apply: {why}: {:?}", path.source);
    if path.source.is_empty() {
        return match (op, value) {
            ("add" | "replace", Some(value)) => {
                *document = value;
                Ok(())
            }
            _ => Err(fail("the whole document cannot be removed")),
        };
    }
    let Some((last, parents)) = path.keys.split_last() else {
        return Err(fail("the path has no segment"));
    };
    let parent = parents
        .iter()
        .try_fold(document, |value, key| child(value, key))
        .ok_or_else(|| fail("doc is missing path"))?;
    match op {
        "add" => add(parent, last, value.unwrap_or(Value::Null)).ok_or_else(|| fail("doc is missing path")),
        "replace" => {
            let target = child(parent, last).ok_or_else(|| fail("doc is missing key"))?;
            *target = value.unwrap_or(Value::Null);
            Ok(())
        }
        "remove" => remove(parent, last).ok_or_else(|| fail("unable to remove missing key")),
        _ => Err(format!("unexpected kind of operation: {op:?}")),
    }
}

fn child<'a>(value: &'a mut Value, key: &str) -> Option<&'a mut Value> {
    match value {
        Value::Object(fields) => field_mut(fields, key),
        Value::Array(items) => {
            let at = index(key, items.len(), 0)?;
            items.get_mut(at)
        }
        _ => None,
    }
}

fn add(parent: &mut Value, key: &str, value: Value) -> Option<()> {
    match parent {
        Value::Object(fields) => {
            fields.insert(key.to_owned(), value);
        }
        Value::Array(items) if key == "-" => items.push(value),
        Value::Array(items) => {
            let at = index(key, items.len(), 1)?;
            items.insert(at, value);
        }
        _ => return None,
    }
    Some(())
}

fn remove(parent: &mut Value, key: &str) -> Option<()> {
    match parent {
        Value::Object(fields) => fields.shift_remove(key).map(|_| ()),
        Value::Array(items) => {
            let at = index(key, items.len(), 0)?;
            items.remove(at);
            Some(())
        }
        _ => None,
    }
}

/// Parses an index like the library; `room` is one if the end is a valid position, too.
fn index(key: &str, length: usize, room: usize) -> Option<usize> {
    let at: i64 = key.parse().ok()?;
    let size = i64::try_from(length + room).ok()?;
    let at = if at < 0 { at + size } else { at };
    (0..size).contains(&at).then(|| usize::try_from(at).ok())?
}
