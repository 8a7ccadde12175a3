//! The types of values in rules, with the sizes that their schemas allow.
//!
//! Source: `pkg/cel/common/schemas.go` of k8s.io/apiserver.

use std::collections::BTreeMap;

use serde_json::Value;

use super::unify::CelType;
use super::value::escape;
use crate::schema::MAX_DEPTH;
use crate::value::{get, list, map, text};

/// The longest request that the API server accepts, in bytes.
pub(super) const MAX_REQUEST: u64 = 3 * 1024 * 1024;

/// The possible number of elements or bytes of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    /// The minimum.
    pub(super) min: u64,
    /// The maximum.
    pub(super) max: u64,
}

impl Size {
    /// The size of a value that counts as one.
    pub(super) const ONE: Self = Self { min: 1, max: 1 };
    pub(super) const UNKNOWN: Self = Self { min: 0, max: u64::MAX };

    /// A size up to a limit.
    pub(super) fn up_to(max: u64) -> Self {
        Self { min: 0, max }
    }

    /// The sum of both sizes.
    #[must_use]
    pub(super) fn plus(self, other: Self) -> Self {
        Self { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    /// A size that covers both.
    #[must_use]
    pub(super) fn or(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
}

/// The type of a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Type {
    /// Any type; nothing is checked.
    Dyn,
    Bool,
    Int,
    Uint,
    Double,
    /// `string`
    Text,
    Bytes,
    /// A list with elements of this type.
    List(Box<Typed>),
    /// A map with values of this type.
    Map(Box<Typed>),
    /// An object with these fields, named as in rules.
    Object(BTreeMap<String, Typed>),
    Null,
    /// A named type: timestamp, address, quantity …
    Named(&'static str),
    /// A value that may be absent.
    Optional(Box<Typed>),
}

impl Type {
    /// Its name in the table of functions; none if it has no fixed one.
    pub(super) fn name(&self) -> Option<&'static str> {
        Some(match self {
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::Text => "string",
            Self::Bytes => "bytes",
            Self::Map(_) => "map",
            Self::Named(name) => name,
            Self::Optional(_) => "optional",
            Self::Dyn | Self::List(_) | Self::Object(_) | Self::Null => return None,
        })
    }
}

/// A type with a size.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Typed {
    pub(super) kind: Type,
    pub(super) size: Size,
    /// The fewest bytes that such a value takes up in a request.
    pub(super) min_bytes: u64,
}

impl Typed {
    /// A value of a type without a size.
    pub(super) fn scalar(kind: Type) -> Self {
        Self { kind, size: Size::ONE, min_bytes: 1 }
    }

    /// A value of a type with a size.
    pub(super) fn sized(kind: Type, size: Size) -> Self {
        Self { kind, size, min_bytes: 2 }
    }

    /// A value of any type and unknown size, about which nothing is reported.
    pub(super) fn anything() -> Self {
        Self { kind: Type::Dyn, size: Size::up_to(0), min_bytes: 1 }
    }

    /// The type of a function's result. Nothing is reported about its size, or about the contents of lists and maps.
    pub(super) fn result(kind: &CelType) -> Self {
        let kind = match kind {
            CelType::Named("bool") => Type::Bool,
            CelType::Named("int") => Type::Int,
            CelType::Named("uint") => Type::Uint,
            CelType::Named("double") => Type::Double,
            CelType::Named("string") => return Self::sized(Type::Text, Size::up_to(0)),
            CelType::Named("bytes") => return Self::sized(Type::Bytes, Size::up_to(0)),
            CelType::Named(name) => Type::Named(name),
            _ => return Self::anything(),
        };
        Self::scalar(kind)
    }

    /// An optional value. Upstream does not know the size of its content, unless the content's type has none.
    pub(super) fn optional(value: Self) -> Self {
        if matches!(value.kind, Type::Optional(_)) {
            return value;
        }
        let value = value.unmeasured();
        Self { size: value.size, min_bytes: 1, kind: Type::Optional(Box::new(value)) }
    }

    /// The same type with a size that is unknown to upstream. Types without a size, and unknown types, stay unchanged.
    ///
    /// Elements and fields get size zero: upstream looks up their size at a path that it has lost.
    #[must_use]
    pub(super) fn unmeasured(&self) -> Self {
        self.resized(Size::UNKNOWN)
    }

    fn resized(&self, size: Size) -> Self {
        let inner = |one: &Self| Box::new(one.resized(Size::up_to(0)));
        let kind = match &self.kind {
            Type::Bool | Type::Int | Type::Uint | Type::Double | Type::Named("duration" | "timestamp") => {
                return self.clone();
            }
            Type::Dyn if self.size.max == 0 => return self.clone(),
            Type::List(items) => Type::List(inner(items)),
            Type::Map(values) => Type::Map(inner(values)),
            Type::Object(fields) => {
                Type::Object(fields.iter().map(|(name, one)| (name.clone(), *inner(one))).collect())
            }
            other => other.clone(),
        };
        Self { kind, size, min_bytes: self.min_bytes }
    }

    /// The type declared by a schema.
    pub(super) fn of(schema: &Value) -> Self {
        Self::at(schema, 0)
    }

    fn at(schema: &Value, depth: usize) -> Self {
        if depth > MAX_DEPTH {
            return Self::anything();
        }
        let flag = |name: &str| schema.get(name).and_then(Value::as_bool) == Some(true);
        let limit = |name: &str| schema.get(name).and_then(Value::as_u64);
        if flag("x-kubernetes-int-or-string") {
            return Self { kind: Type::Dyn, size: Size::up_to(MAX_REQUEST - 2), min_bytes: 1 };
        }
        match text(schema, &["type"]) {
            "boolean" => Self { min_bytes: 4, ..Self::scalar(Type::Bool) },
            "integer" => Self::scalar(Type::Int),
            "number" => Self::scalar(Type::Double),
            "string" => string(schema),
            "array" => {
                let items = schema.get("items").map(|items| Self::at(items, depth + 1));
                let items = items.unwrap_or_else(Self::anything);
                let most = (MAX_REQUEST - 2) / (items.min_bytes + 1);
                let most = limit("maxItems").unwrap_or(most);
                Self::sized(Type::List(Box::new(items)), Size::up_to(most))
            }
            "object" => match schema.get("additionalProperties") {
                Some(additional @ Value::Object(_)) => {
                    let values = Self::at(additional, depth + 1);
                    let most = (MAX_REQUEST - 2) / (values.min_bytes + 6);
                    let most = limit("maxProperties").unwrap_or(most);
                    Self::sized(Type::Map(Box::new(values)), Size::up_to(most))
                }
                // Rules cannot name fields that are preserved without a schema.
                _ => object(schema, depth),
            },
            _ => Self::anything(),
        }
    }
}

fn string(schema: &Value) -> Typed {
    let limit = schema.get("maxLength").and_then(Value::as_u64);
    match text(schema, &["format"]) {
        "duration" => return Typed::scalar(Type::Named("duration")),
        "date" | "date-time" => return Typed::scalar(Type::Named("timestamp")),
        "byte" => {
            let most = limit.unwrap_or(MAX_REQUEST - 2);
            return Typed::sized(Type::Bytes, Size::up_to(most));
        }
        _ => {}
    }
    let longest = list(schema, &["enum"]).iter().filter_map(Value::as_str).map(str::len).max();
    let longest = longest.and_then(|length| u64::try_from(length).ok());
    let most = limit.map(|limit| limit.saturating_mul(4)).or(longest);
    Typed::sized(Type::Text, Size::up_to(most.unwrap_or(MAX_REQUEST - 2)))
}

fn object(schema: &Value, depth: usize) -> Typed {
    let required = list(schema, &["required"]);
    let mut fields = BTreeMap::new();
    let mut min_bytes = 2;
    for (name, property) in map(schema, &["properties"]).into_iter().flatten() {
        let typed = Typed::at(property, depth + 1);
        let needed =
            required.iter().any(|one| one.as_str() == Some(name)) && get(property, &["default"]).is_none();
        if needed {
            min_bytes += u64::try_from(name.len()).unwrap_or(0) + typed.min_bytes + 4;
        }
        if !is_declared(property, depth + 1) {
            continue;
        }
        // cel-go accepts some reserved words as field names.
        if escape(name) != *name && !name.contains("__") {
            fields.insert(name.clone(), typed.clone());
        }
        fields.insert(escape(name), typed);
    }
    Typed { kind: Type::Object(fields), size: Size::ONE, min_bytes }
}

/// Whether a property with this schema is visible to rules.
fn is_declared(schema: &Value, depth: usize) -> bool {
    let inner = |name: &str| schema.get(name).filter(|inner| inner.is_object());
    if depth > MAX_DEPTH || schema.get("x-kubernetes-int-or-string").and_then(Value::as_bool) == Some(true) {
        return true;
    }
    match text(schema, &["type"]) {
        "" => false,
        "array" => inner("items").is_some_and(|items| is_declared(items, depth + 1)),
        "object" => inner("additionalProperties").is_none_or(|values| is_declared(values, depth + 1)),
        _ => true,
    }
}
