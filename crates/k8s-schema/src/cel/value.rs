//! Values in CEL, with the types that their schemas declare.
//!
//! Source: `pkg/cel/common` of k8s.io/apiserver; names are escaped as in `pkg/cel/escaping.go`.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::{Context, IdedExpr, Value as CelValue};
use serde_json::Value;

use super::conversions::{duration_of, timestamp_of};
use super::parse::parse;
use crate::schema::MAX_DEPTH;
use crate::value::text;

/// The parts of a schema that decide the types of values.
#[derive(Debug, Default)]
pub(crate) struct Shape {
    scalar: Scalar,
    properties: BTreeMap<String, Shape>,
    additional: Option<Box<Shape>>,
    items: Option<Box<Shape>>,
    keeps_unknown: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Scalar {
    #[default]
    Plain,
    Number,
    Bytes,
    Date,
    DateTime,
    Duration,
}

const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

impl Shape {
    pub(crate) fn read(schema: &Value, depth: usize) -> Self {
        if depth > MAX_DEPTH {
            return Self::default();
        }
        let child = |key: &str| {
            schema
                .get(key)
                .filter(|child| child.is_object())
                .map(|child| Box::new(Self::read(child, depth + 1)))
        };
        let flag = |key: &str| schema.get(key).and_then(Value::as_bool) == Some(true);
        let scalar = match (text(schema, &["type"]), text(schema, &["format"])) {
            _ if flag("x-kubernetes-int-or-string") => Scalar::Plain,
            ("number", _) => Scalar::Number,
            ("string", "byte") => Scalar::Bytes,
            ("string", "date") => Scalar::Date,
            ("string", "date-time") => Scalar::DateTime,
            ("string", "duration") => Scalar::Duration,
            _ => Scalar::Plain,
        };
        let named = schema.get("properties").and_then(Value::as_object);
        Self {
            scalar,
            properties: named
                .into_iter()
                .flatten()
                .map(|(name, property)| (name.clone(), Self::read(property, depth + 1)))
                .collect(),
            additional: child("additionalProperties"),
            items: child("items"),
            keeps_unknown: flag("x-kubernetes-preserve-unknown-fields") || flag("additionalProperties"),
        }
    }

    /// Converts a value of this shape to CEL.
    pub(crate) fn value(&self, value: &Value, context: &Context<'_>) -> CelValue {
        match value {
            Value::Null => CelValue::Null,
            Value::Bool(flag) => CelValue::Bool(*flag),
            Value::Number(number) => match number.as_i64() {
                Some(whole) if self.scalar != Scalar::Number => CelValue::Int(whole),
                _ => CelValue::Float(number.as_f64().unwrap_or(f64::NAN)),
            },
            Value::String(text) => self.text(text, context),
            Value::Array(items) => {
                let none = Self::default();
                let shape = self.items.as_deref().unwrap_or(&none);
                let values = items.iter().map(|item| shape.value(item, context)).collect();
                CelValue::List(Arc::new(values))
            }
            Value::Object(fields) => self.map(fields, context),
        }
    }

    fn map(&self, fields: &serde_json::Map<String, Value>, context: &Context<'_>) -> CelValue {
        let none = Self::default();
        let entries = fields.iter().filter_map(|(name, value)| {
            let (key, shape) = match (self.properties.get(name), &self.additional) {
                (Some(shape), _) => (escape(name), shape),
                (None, Some(shape)) => (name.clone(), shape.as_ref()),
                (None, None) if self.keeps_unknown => (name.clone(), &none),
                (None, None) => return None,
            };
            let value = shape.value(value, context);
            // cel-go also accepts some reserved words unescaped. The additional entry is harmless, because nothing counts
            // the fields of an object.
            let other =
                (RESERVED.contains(&name.as_str()) && key != *name).then(|| (name.clone(), value.clone()));
            Some([Some((key, value)), other])
        });
        let entries = entries.flatten().flatten().map(|(key, value)| (Key::String(Arc::new(key)), value));
        CelValue::Map(Map { map: Arc::new(entries.collect()) })
    }

    fn text(&self, text: &str, context: &Context<'_>) -> CelValue {
        let plain = || CelValue::String(Arc::new(text.to_owned()));
        let made = match self.scalar {
            Scalar::Plain | Scalar::Number => None,
            Scalar::Bytes => decoded(text, context),
            Scalar::Date => timestamp_of(&format!("{text}T00:00:00Z")),
            Scalar::DateTime => timestamp_of(text),
            Scalar::Duration => duration_of(text),
        };
        made.unwrap_or_else(plain)
    }
}

/// Decodes base64 text to bytes.
fn decoded(text: &str, context: &Context<'_>) -> Option<CelValue> {
    static DECODE: LazyLock<Option<IdedExpr>> = LazyLock::new(|| parse("base64.decode(v)").ok());
    let mut scope = context.new_inner_scope();
    scope.add_variable_from_value("v", CelValue::String(Arc::new(text.to_owned())));
    CelValue::resolve(DECODE.as_ref()?, &scope).ok()
}

/// Escapes the name of a field for use in rules.
pub(crate) fn escape(name: &str) -> String {
    if RESERVED.contains(&name) {
        return format!("__{name}__");
    }
    name.replace("__", "__underscores__")
        .replace('.', "__dot__")
        .replace('-', "__dash__")
        .replace('/', "__slash__")
}
