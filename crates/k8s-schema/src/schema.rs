//! A structural schema, read once so that values are checked and defaulted without looking at the source again.

use std::collections::BTreeMap;

use gotmpl::{ErrorKind, regexp};
use regex::Regex;
use serde_json::Value;

/// How deep schemas may nest: far deeper than any real one, and safe for recursion.
pub const MAX_DEPTH: usize = 64;

/// A schema that has been read.
#[derive(Debug, Default)]
pub struct Schema {
    /// Accepted types; two for `x-kubernetes-int-or-string`, none for any.
    pub(crate) types: Vec<String>,
    /// Format, known or not.
    pub(crate) format: String,
    /// Whether null is a value. Variables' schemas cannot say so; those of CRDs can.
    pub(crate) nullable: bool,
    /// Named properties.
    pub(crate) properties: BTreeMap<String, Schema>,
    /// Schema of every other property.
    pub(crate) additional: Option<Box<Schema>>,
    /// Whether any other property is taken (`additionalProperties: true`).
    pub(crate) additional_allowed: bool,
    /// Schema of the items of a list.
    pub(crate) items: Option<Box<Schema>>,
    /// Properties that must be there.
    pub(crate) required: Vec<String>,
    /// The values that are accepted.
    pub(crate) accepted: Vec<Value>,
    /// What stands in for a missing value.
    pub(crate) default: Option<Value>,
    /// Bounds of text, numbers, lists and maps.
    pub(crate) limits: Limits,
    /// Composition.
    pub(crate) all_of: Vec<Schema>,
    /// Composition.
    pub(crate) any_of: Vec<Schema>,
    /// Composition.
    pub(crate) one_of: Vec<Schema>,
    /// Composition.
    pub(crate) not: Option<Box<Schema>>,
    /// Whether unknown properties are kept.
    pub(crate) preserve_unknown: bool,
    /// What tells the items of a list apart. Variables' schemas cannot say so; those of CRDs can.
    pub(crate) identity: Identity,
    /// What in it is not followed here, so that nothing is said of values.
    pub(crate) obstacle: Option<String>,
}

/// What tells the items of a list apart (`x-kubernetes-list-type`).
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum Identity {
    /// Nothing: the list is one value.
    #[default]
    Atomic,
    /// Their values.
    Set,
    /// These of their fields.
    Map(Vec<String>),
}

/// The bounds of a schema.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    /// `maximum`, and whether it is excluded.
    pub(crate) maximum: Option<(f64, bool)>,
    /// `minimum`, and whether it is excluded.
    pub(crate) minimum: Option<(f64, bool)>,
    /// `multipleOf`.
    pub(crate) multiple_of: Option<f64>,
    /// `maxLength`, in characters.
    pub(crate) max_length: Option<u64>,
    /// `minLength`, in characters.
    pub(crate) min_length: Option<u64>,
    /// `maxItems`.
    pub(crate) max_items: Option<u64>,
    /// `minItems`.
    pub(crate) min_items: Option<u64>,
    /// `maxProperties`.
    pub(crate) max_properties: Option<u64>,
    /// `minProperties`.
    pub(crate) min_properties: Option<u64>,
    /// `uniqueItems`.
    pub(crate) unique_items: bool,
    /// `pattern`: the text, and the compiled form.
    pub(crate) pattern: Option<(String, Pattern)>,
}

/// A `pattern`, compiled with bounds on time and memory, as it may come from anyone.
#[derive(Debug)]
pub(crate) enum Pattern {
    /// It compiles.
    Compiled(Regex),
    /// Go does not compile it: it matches nothing.
    Wrong,
    /// Go may compile it, and why it is not followed here.
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

    /// Whether a text has a match, as far as is known.
    pub(crate) fn matches(&self, text: &str) -> bool {
        match self {
            Self::Compiled(regex) => regex.is_match(text),
            Self::Wrong => false,
            Self::NotFollowed(_) => true,
        }
    }
}

impl Schema {
    /// Reads a schema. None when it nests deeper than [`MAX_DEPTH`].
    pub fn read(source: &Value) -> Option<Self> {
        Self::at(source, 0)
    }

    /// What stands for a schema that nests too deep: it takes everything, and has the default of the whole.
    pub fn not_followed(source: &Value) -> Self {
        let obstacle = Some(format!("nests more than {MAX_DEPTH} levels deep"));
        Self { default: default(source), preserve_unknown: true, obstacle, ..Self::default() }
    }

    /// What stands in for a missing value.
    pub fn default_value(&self) -> Option<&Value> {
        self.default.as_ref()
    }

    /// The schema of a list's items.
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

    /// Why this crate cannot judge values by the schema: what in it is not supported.
    pub fn obstacle(&self) -> Option<&str> {
        self.obstacle.as_deref()
    }

    /// Whether it is made of other schemas for the same value.
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

    /// Whether there is a default anywhere that defaulting reaches.
    pub fn has_defaults(&self) -> bool {
        let deeper = self.additional.iter().chain(&self.items).map(AsRef::as_ref);
        self.default.is_some() || self.properties.values().chain(deeper).any(Self::has_defaults)
    }

    /// The one type that is accepted; empty where several are, or any.
    pub(crate) fn only_type(&self) -> &str {
        if let [only] = self.types.as_slice() { only } else { "" }
    }

    /// Whether a type is accepted by name.
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
