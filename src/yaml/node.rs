//! Documents as trees in which every node knows its origin.

use std::{fmt, sync::Arc};

use super::{
    Entry, Key, Mapping, Origin, Plain, RawKind, RawNode, Source, Style, resolve_plain, unambiguous,
};
use crate::note::Notes;

/// A node. Equality compares content, never origins. Cloning is cheap because collections are shared.
#[derive(Clone)]
pub struct Node {
    /// What it holds, without comments or style.
    pub value: Value,
    /// Where it is written, or what made it.
    pub origin: Origin,
}

/// What a node can hold.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number with a fraction or an exponent; always finite.
    Float(f64),
    /// Text.
    String(Arc<str>),
    /// A list.
    Sequence(Arc<Vec<Node>>),
    /// A map.
    Mapping(Arc<Mapping>),
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl Node {
    /// Creates a node that the program itself makes.
    pub fn new(value: Value) -> Self {
        Self { value, origin: Origin::NOWHERE }
    }

    /// The same content with a different origin.
    #[must_use]
    pub fn with_origin(mut self, origin: Origin) -> Self {
        self.origin = origin;
        self
    }

    /// The map, if it is one.
    pub fn as_mapping(&self) -> Option<&Mapping> {
        if let Value::Mapping(mapping) = &self.value { Some(mapping) } else { None }
    }

    /// The map for changing, if it is one.
    pub fn as_mapping_mut(&mut self) -> Option<&mut Mapping> {
        if let Value::Mapping(mapping) = &mut self.value { Some(Arc::make_mut(mapping)) } else { None }
    }

    /// The list, if it is one.
    pub fn as_sequence(&self) -> Option<&[Self]> {
        if let Value::Sequence(items) = &self.value { Some(items) } else { None }
    }

    /// The text, if it is text.
    pub fn as_str(&self) -> Option<&str> {
        if let Value::String(text) = &self.value { Some(text) } else { None }
    }

    /// The whole number, if it is one.
    pub fn as_int(&self) -> Option<i64> {
        if let Value::Int(number) = self.value { Some(number) } else { None }
    }

    /// The boolean, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Value::Bool(value) = self.value { Some(value) } else { None }
    }

    pub fn is_null(&self) -> bool {
        matches!(self.value, Value::Null)
    }

    /// Whether it is `{}` or `[]`.
    pub fn is_empty_collection(&self) -> bool {
        match &self.value {
            Value::Mapping(mapping) => mapping.is_empty(),
            Value::Sequence(items) => items.is_empty(),
            _ => false,
        }
    }

    /// The value of a key, if this is a map with that key.
    pub fn get(&self, name: &str) -> Option<&Self> {
        self.as_mapping().and_then(|mapping| mapping.get(name))
    }

    /// The node at a path of keys.
    pub fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |node, name| node.get(name))
    }

    /// The kind of value in words, for messages.
    pub fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Int(_) | Value::Float(_) => "a number",
            Value::String(_) => "a string",
            Value::Sequence(_) => "a list",
            Value::Mapping(_) => "a map",
        }
    }

    /// Builds a tree from parsed nodes. Faults (duplicate keys, ambiguous scalars) go to `notes`.
    pub fn from_raw(raw: &RawNode, source: &Source, notes: &mut Notes) -> Option<Self> {
        let origin = source.origin(raw.start);
        let value = match &raw.kind {
            RawKind::Scalar { text, style: Style::Plain } => plain(text, raw, source, notes)?,
            RawKind::Scalar { text, .. } => Value::String(text.as_str().into()),
            RawKind::Sequence(items) => {
                let nodes: Vec<_> = items.iter().map(|item| Self::from_raw(item, source, notes)).collect();
                Value::Sequence(Arc::new(nodes.into_iter().collect::<Option<_>>()?))
            }
            RawKind::Mapping(entries) => Value::Mapping(Arc::new(mapping(entries, source, notes)?)),
        };
        Some(Self { value, origin })
    }
}

fn plain(text: &str, raw: &RawNode, source: &Source, notes: &mut Notes) -> Option<Value> {
    match resolve_plain(text) {
        Plain::Value(value) => Some(value),
        Plain::Ambiguous(why) => {
            notes
                .error("ambiguous-scalar", source.word(raw.start), format!("`{text}` is {why}"))
                .hint(unambiguous(text));
            None
        }
    }
}

fn mapping(entries: &[(RawNode, RawNode)], source: &Source, notes: &mut Notes) -> Option<Mapping> {
    let mut mapping = Mapping::new();
    let mut sound = true;
    for (raw_key, raw_value) in entries {
        let name = super::raw::key_text(raw_key, source, notes);
        let value = Node::from_raw(raw_value, source, notes);
        let (Some(name), Some(value)) = (name, value) else {
            sound = false;
            continue;
        };
        if let Some(first) = mapping.entry(&name) {
            let first = source.word(first.key.origin.offset as usize);
            notes
                .error(
                    "duplicate-key",
                    source.word(raw_key.start),
                    format!("the key `{name}` appears twice in one map"),
                )
                .related("first here", first)
                .hint("keep one of them: YAML readers differ on which one counts");
            sound = false;
            continue;
        }
        mapping.insert(Key { name, origin: source.origin(raw_key.start) }, value);
    }
    sound.then_some(mapping)
}

impl From<Value> for Node {
    fn from(value: Value) -> Self {
        Self::new(value)
    }
}

impl From<&str> for Node {
    fn from(text: &str) -> Self {
        Self::new(Value::String(text.into()))
    }
}

impl From<String> for Node {
    fn from(text: String) -> Self {
        Self::new(Value::String(text.into()))
    }
}

impl From<bool> for Node {
    fn from(value: bool) -> Self {
        Self::new(Value::Bool(value))
    }
}

impl From<i64> for Node {
    fn from(number: i64) -> Self {
        Self::new(Value::Int(number))
    }
}

impl From<Mapping> for Node {
    fn from(mapping: Mapping) -> Self {
        Self::new(Value::Mapping(Arc::new(mapping)))
    }
}

impl From<Vec<Self>> for Node {
    fn from(items: Vec<Self>) -> Self {
        Self::new(Value::Sequence(Arc::new(items)))
    }
}

/// Converts a tree to JSON.
pub fn to_json(node: &Node) -> serde_json::Value {
    use serde_json::Value as Json;
    match &node.value {
        Value::Null => Json::Null,
        Value::Bool(value) => Json::Bool(*value),
        Value::Int(number) => Json::from(*number),
        Value::Float(number) => Json::from(*number),
        Value::String(text) => Json::from(&**text),
        Value::Sequence(items) => items.iter().map(to_json).collect(),
        Value::Mapping(mapping) => Json::Object(
            mapping.iter().map(|entry| (entry.key.name.to_string(), to_json(&entry.value))).collect(),
        ),
    }
}

/// Converts JSON to a tree, with the same origin for all nodes.
pub fn from_json(json: &serde_json::Value, origin: Origin) -> Node {
    use serde_json::Value as Json;
    let value = match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => match number.as_i64() {
            Some(number) => Value::Int(number),
            None => Value::Float(number.as_f64().unwrap_or(f64::MAX)),
        },
        Json::String(text) => Value::String(text.as_str().into()),
        Json::Array(items) => {
            Value::Sequence(Arc::new(items.iter().map(|item| from_json(item, origin)).collect()))
        }
        Json::Object(object) => {
            let entry = |(name, value): (&String, &Json)| Entry {
                key: Key { name: name.as_str().into(), origin },
                value: from_json(value, origin),
            };
            Value::Mapping(Arc::new(object.iter().map(entry).collect()))
        }
    };
    Node { value, origin }
}
