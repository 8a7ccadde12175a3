//! Structural schemas, parsed once so that values are checked and defaulted without the source.

use std::collections::BTreeMap;

use gotmpl::{ErrorKind, regexp};
use regex::Regex;
use serde_json::Value;

/// The deepest nesting of schemas: far deeper than any real one, and safe for recursion.
pub const MAX_DEPTH: usize = 64;

/// A parsed schema.
#[derive(Debug, Default)]
pub struct Schema {
    /// The accepted types: two for `x-kubernetes-int-or-string`, none if any type is accepted.
    pub(crate) types: Vec<String>,
    /// The format, whether known or not.
    pub(crate) format: String,
    /// Whether null is accepted. Only schemas of CRDs can set this, not those of variables.
    pub(crate) nullable: bool,
    /// The named properties.
    pub(crate) properties: BTreeMap<String, Schema>,
    /// The schema of all other properties.
    pub(crate) additional: Option<Box<Schema>>,
    /// Whether other properties are accepted without a schema (`additionalProperties: true`).
    pub(crate) additional_allowed: bool,
    /// The schema of list items.
    pub(crate) items: Option<Box<Schema>>,
    /// The required properties.
    pub(crate) required: Vec<String>,
    /// The accepted values (`enum`).
    pub(crate) accepted: Vec<Value>,
    /// The default for a missing value.
    pub(crate) default: Option<Value>,
    /// The limits for text, numbers, lists and maps.
    pub(crate) limits: Limits,
    pub(crate) all_of: Vec<Schema>,
    pub(crate) any_of: Vec<Schema>,
    pub(crate) one_of: Vec<Schema>,
    pub(crate) not: Option<Box<Schema>>,
    /// Whether unknown properties are kept.
    pub(crate) preserve_unknown: bool,
    /// The identity of list items. Only schemas of CRDs can set this, not those of variables.
    pub(crate) identity: Identity,
    /// An unsupported part of the schema; if there is one, values are not judged.
    pub(crate) obstacle: Option<String>,
}

/// The identity of list items (`x-kubernetes-list-type`).
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum Identity {
    /// Items have no identity: the list is a single value.
    #[default]
    Atomic,
    /// The value of the item.
    Set,
    /// The values of these fields.
    Map(Vec<String>),
}

/// The limits of a schema.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    /// `maximum`, and whether it is exclusive.
    pub(crate) maximum: Option<(f64, bool)>,
    /// `minimum`, and whether it is exclusive.
    pub(crate) minimum: Option<(f64, bool)>,
    pub(crate) multiple_of: Option<f64>,
    /// `maxLength`, in characters.
    pub(crate) max_length: Option<u64>,
    /// `minLength`, in characters.
    pub(crate) min_length: Option<u64>,
    pub(crate) max_items: Option<u64>,
    pub(crate) min_items: Option<u64>,
    pub(crate) max_properties: Option<u64>,
    pub(crate) min_properties: Option<u64>,
    pub(crate) unique_items: bool,
    /// `pattern`: its text and its compiled form.
    pub(crate) pattern: Option<(String, Pattern)>,
}

/// A `pattern`, compiled with limits on time and memory because its source is untrusted.
#[derive(Debug)]
pub(crate) enum Pattern {
    /// The compiled expression.
    Compiled(Regex),
    /// Go cannot compile it, so it matches nothing.
    Wrong,
    /// Go may be able to compile it, but this crate does not support it, for this reason.
    NotFollowed(String),
}

impl Pattern {
    fn read(text: &str) -> Self {
        match regexp::compile(text) {
            Ok(regex) => Self::Compiled(regex),
            Err(error) if error.kind == ErrorKind::Exec => Self::Wrong,
            Err(error) => Self::NotFollowed(error.message),
        }
    }

    /// Whether a text matches; true if the pattern is not supported.
    pub(crate) fn matches(&self, text: &str) -> bool {
        match self {
            Self::Compiled(regex) => regex.is_match(text),
            Self::Wrong => false,
            Self::NotFollowed(_) => true,
        }
    }
}

impl Schema {
    /// Parses a schema. None if it nests deeper than [`MAX_DEPTH`].
    pub fn read(source: &Value) -> Option<Self> {
        Self::at(source, 0)
    }

    /// A placeholder for a schema that nests too deeply: it accepts everything and has the default of the source.
    pub fn not_followed(source: &Value) -> Self {
        let obstacle = Some(format!("nests more than {MAX_DEPTH} levels deep"));
        Self { default: default(source), preserve_unknown: true, obstacle, ..Self::default() }
    }

    /// The default for a missing value.
    pub fn default_value(&self) -> Option<&Value> {
        self.default.as_ref()
    }

    /// The schema of list items.
    pub fn items(&self) -> Option<&Self> {
        self.items.as_deref()
    }

    /// The schemas of named properties, by name.
    pub fn properties(&self) -> impl Iterator<Item = (&str, &Self)> {
        self.properties.iter().map(|(name, schema)| (name.as_str(), schema))
    }

    /// The schema of a named property.
    pub fn property(&self, name: &str) -> Option<&Self> {
        self.properties.get(name)
    }

    /// The reason that this crate cannot judge values with the schema: an unsupported part.
    pub fn obstacle(&self) -> Option<&str> {
        self.obstacle.as_deref()
    }

    /// Whether it contains other schemas for the same value.
    pub(crate) fn is_composed(&self) -> bool {
        let lists = [&self.all_of, &self.any_of, &self.one_of];
        self.not.is_some() || lists.iter().any(|list| !list.is_empty())
    }

    fn at(source: &Value, depth: usize) -> Option<Self> {
        if depth > MAX_DEPTH {
            return None;
        }
        let child = |key: &str| match source.get(key) {
            Some(schema @ Value::Object(_)) => Self::at(schema, depth + 1).map(Box::new).map(Some),
            _ => Some(None),
        };
        let children = |key: &str| -> Option<Vec<Self>> {
            let list = source.get(key).and_then(Value::as_array);
            list.into_iter().flatten().map(|schema| Self::at(schema, depth + 1)).collect()
        };
        let mut properties = BTreeMap::new();
        for (name, schema) in source.get("properties").and_then(Value::as_object).into_iter().flatten() {
            properties.insert(name.clone(), Self::at(schema, depth + 1)?);
        }
        let flag = |key: &str| source.get(key).and_then(Value::as_bool) == Some(true);
        let mut schema = Self {
            types: types(source, flag("x-kubernetes-int-or-string")),
            format: word(source, "format"),
            nullable: flag("nullable"),
            properties,
            additional: child("additionalProperties")?,
            additional_allowed: flag("additionalProperties"),
            items: child("items")?,
            required: words(source, "required"),
            accepted: source.get("enum").and_then(Value::as_array).cloned().unwrap_or_default(),
            default: default(source),
            limits: Limits::read(source),
            all_of: children("allOf")?,
            any_of: children("anyOf")?,
            one_of: children("oneOf")?,
            not: child("not")?,
            preserve_unknown: flag("x-kubernetes-preserve-unknown-fields"),
            identity: match source.get("x-kubernetes-list-type").and_then(Value::as_str) {
                Some("map") => Identity::Map(words(source, "x-kubernetes-list-map-keys")),
                Some("set") => Identity::Set,
                _ => Identity::Atomic,
            },
            obstacle: None,
        };
        schema.obstacle = schema.find_obstacle();
        Some(schema)
    }

    fn find_obstacle(&self) -> Option<String> {
        if let Some((_, Pattern::NotFollowed(why))) = &self.limits.pattern {
            return Some(format!("has a pattern ({why})"));
        }
        let boxed = [&self.additional, &self.items, &self.not].into_iter().flatten().map(AsRef::as_ref);
        let composed = [&self.all_of, &self.any_of, &self.one_of].into_iter().flatten();
        self.properties.values().chain(boxed).chain(composed).find_map(|schema| schema.obstacle.clone())
    }

    /// Reports whether defaulting can reach any default.
    pub fn has_defaults(&self) -> bool {
        let deeper = self.additional.iter().chain(&self.items).map(AsRef::as_ref);
        self.default.is_some() || self.properties.values().chain(deeper).any(Self::has_defaults)
    }

    /// The only accepted type; empty if several or all types are accepted.
    pub(crate) fn only_type(&self) -> &str {
        if let [only] = self.types.as_slice() { only } else { "" }
    }

    /// Whether a type is accepted.
    pub(crate) fn accepts(&self, name: &str) -> bool {
        self.types.iter().any(|accepted| accepted == name)
    }
}

impl Limits {
    fn read(source: &Value) -> Self {
        let count = |key: &str| source.get(key).and_then(Value::as_u64);
        let number = |key: &str| source.get(key).and_then(Value::as_f64);
        let flag = |key: &str| source.get(key).and_then(Value::as_bool) == Some(true);
        Self {
            maximum: number("maximum").map(|limit| (limit, flag("exclusiveMaximum"))),
            minimum: number("minimum").map(|limit| (limit, flag("exclusiveMinimum"))),
            multiple_of: number("multipleOf"),
            max_length: count("maxLength"),
            min_length: count("minLength"),
            max_items: count("maxItems"),
            min_items: count("minItems"),
            max_properties: count("maxProperties"),
            min_properties: count("minProperties"),
            unique_items: flag("uniqueItems"),
            pattern: Some(word(source, "pattern")).filter(|pattern| !pattern.is_empty()).map(|pattern| {
                let compiled = Pattern::read(&pattern);
                (pattern, compiled)
            }),
        }
    }
}

fn default(source: &Value) -> Option<Value> {
    source.get("default").filter(|value| !value.is_null()).cloned()
}

fn types(source: &Value, int_or_string: bool) -> Vec<String> {
    if int_or_string {
        return vec!["integer".to_owned(), "string".to_owned()];
    }
    let name = word(source, "type");
    if name.is_empty() { Vec::new() } else { vec![name] }
}

fn word(source: &Value, key: &str) -> String {
    source.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn words(source: &Value, key: &str) -> Vec<String> {
    let list = source.get(key).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
