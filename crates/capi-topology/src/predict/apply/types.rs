//! Types of values as structured merge knows them.
//!
//! Source: `k8s.io/kube-openapi`, `pkg/schemaconv`, and `sigs.k8s.io/structured-merge-diff`, `typed/helpers.go`.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::element::Element;
use k8s_schema::value::{compact, get, list, text};

/// `ObjectMeta`, as the API server describes it for every kind.
static METADATA: LazyLock<Value> = LazyLock::new(|| {
    let text = json!({ "type": "string" });
    let texts = json!({ "type": "object", "additionalProperties": text });
    json!({
        "type": "object",
        "properties": {
            "labels": texts, "annotations": texts,
            "finalizers": { "type": "array", "x-kubernetes-list-type": "set", "items": text },
            "ownerReferences": {
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"],
                "items": { "type": "object", "x-kubernetes-map-type": "atomic", "x-kubernetes-preserve-unknown-fields": true },
            },
        },
        "x-kubernetes-preserve-unknown-fields": true,
    })
});

/// A reference to a type.
#[derive(Debug, Clone, Copy)]
pub(super) enum Type<'a> {
    /// No fields and no entries are known.
    Nothing,
    /// Maps are merged key by key; lists are atomic.
    Deduced,
    /// Maps and lists are atomic.
    Untyped,
    /// An object described by the schema of its kind, if known.
    Root(Option<&'a Value>),
    /// A value described by its schema; `open` if this schema, or one above it, preserves unknown fields.
    Schema { schema: &'a Value, open: bool },
}

/// The forms that a value of a type may have.
#[derive(Debug, Clone)]
pub(super) struct Atom<'a> {
    pub scalar: bool,
    pub list: Option<List<'a>>,
    pub map: Option<Fields<'a>>,
}

/// The type of a list: its items, and how they are identified.
#[derive(Debug, Clone)]
pub(super) struct List<'a> {
    pub element: Type<'a>,
    pub identity: Identity<'a>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Identity<'a> {
    /// The list is a single value.
    Atomic,
    /// Items are identified by their values.
    Set,
    /// Items are identified by their keys.
    Keys(Vec<&'a str>),
}

/// A map, with named fields and entries of any other name.
#[derive(Debug, Clone)]
pub(super) struct Fields<'a> {
    named: Option<&'a Map<String, Value>>,
    open: bool,
    is_root: bool,
    pub element: Type<'a>,
    pub atomic: bool,
}

impl<'a> Type<'a> {
    /// Source: `schemaconv/openapi.go`, `parseSchema`.
    fn atom(self) -> Atom<'a> {
        let free = |element, atomic| Fields { named: None, open: false, is_root: false, element, atomic };
        let list = List { element: Type::Untyped, identity: Identity::Atomic };
        match self {
            Self::Nothing => Atom { scalar: false, list: None, map: None },
            Self::Deduced => Atom { scalar: true, list: Some(list), map: Some(free(Self::Deduced, false)) },
            Self::Untyped => Atom { scalar: true, list: Some(list), map: Some(free(Self::Untyped, true)) },
            Self::Root(None) => {
                let map = Fields { is_root: true, ..free(Self::Deduced, false) };
                Atom { scalar: false, list: None, map: Some(map) }
            }
            Self::Root(Some(schema)) => {
                let map = Fields { is_root: true, ..map_of(schema, false) };
                Atom { scalar: false, list: None, map: Some(map) }
            }
            Self::Schema { schema, open } => {
                let (map, list) = (Some(map_of(schema, open)), Some(list_of(schema, open)));
                match text(schema, &["type"]) {
                    "" => Atom { scalar: true, list, map },
                    "object" => Atom { scalar: false, list: None, map },
                    "array" => Atom { scalar: false, list, map: None },
                    _ => Atom { scalar: true, list: None, map: None },
                }
            }
        }
    }

    /// The form of a value of this type; all possible forms if the value does not determine it.
    ///
    /// Source: `typed/helpers.go`, `deduceAtom`.
    pub(super) fn of(self, value: Option<&Value>) -> Atom<'a> {
        let atom = self.atom();
        let (scalar, list, map) = match value {
            None | Some(Value::Null) => return atom,
            Some(Value::Array(_)) => (false, true, false),
            Some(Value::Object(_)) => (false, false, true),
            Some(_) => (true, false, false),
        };
        if scalar && atom.scalar {
            Atom { scalar: true, list: None, map: None }
        } else if list && atom.list.is_some() {
            Atom { scalar: false, map: None, ..atom }
        } else if map && atom.map.is_some() {
            Atom { scalar: false, list: None, ..atom }
        } else {
            atom
        }
    }

    /// The type of the element that a path step names within this type.
    pub(super) fn inner(self, element: &Element) -> Self {
        let atom = self.atom();
        match element {
            Element::Field(name) => atom.map.map_or(Self::Nothing, |map| map.of(name)),
            Element::Key(_) => atom.list.map_or(Self::Nothing, |list| list.element),
            Element::Item(_) => Self::Nothing,
        }
    }

    /// Reports whether a name belongs to a field rather than an entry.
    pub(super) fn names(self, name: &str) -> bool {
        self.atom().map.is_some_and(|map| map.field(name).is_some())
    }
}

fn opens(schema: &Value, open: bool) -> bool {
    open || get(schema, &["x-kubernetes-preserve-unknown-fields"]).and_then(Value::as_bool) == Some(true)
}

/// Source: `schemaconv/openapi.go`, `parseObject`.
fn map_of(schema: &Value, open: bool) -> Fields<'_> {
    let open = opens(schema, open);
    let named = get(schema, &["properties"]).and_then(Value::as_object);
    let element = match schema.get("additionalProperties") {
        Some(Value::Bool(true)) => Type::Deduced,
        Some(Value::Bool(false)) => Type::Nothing,
        Some(inner @ Value::Object(_)) => Type::Schema { schema: inner, open },
        _ if open || named.is_none_or(Map::is_empty) => Type::Deduced,
        _ => Type::Nothing,
    };
    let atomic = text(schema, &["x-kubernetes-map-type"]) == "atomic";
    Fields { named, open, is_root: false, element, atomic }
}

/// Source: `schemaconv/openapi.go`, `parseList`.
fn list_of(schema: &Value, open: bool) -> List<'_> {
    let open = opens(schema, open);
    let element = match schema.get("items") {
        Some(schema @ Value::Object(_)) => Type::Schema { schema, open },
        _ => Type::Untyped,
    };
    let identity = match text(schema, &["x-kubernetes-list-type"]) {
        "set" => Identity::Set,
        "map" => {
            let keys = list(schema, &["x-kubernetes-list-map-keys"]);
            Identity::Keys(keys.iter().filter_map(Value::as_str).collect())
        }
        _ => Identity::Atomic,
    };
    List { element, identity }
}

impl<'a> Fields<'a> {
    fn field(&self, name: &str) -> Option<Type<'a>> {
        if self.is_root && name == "metadata" {
            return Some(Type::Schema { schema: &METADATA, open: false });
        }
        if self.is_root && matches!(name, "apiVersion" | "kind") {
            return Some(Type::Untyped);
        }
        Some(Type::Schema { schema: self.named?.get(name)?, open: self.open })
    }

    /// Reports whether the name belongs to a field.
    pub(super) fn names(&self, name: &str) -> bool {
        self.field(name).is_some()
    }

    /// The type of a field or an entry.
    pub(super) fn of(&self, name: &str) -> Type<'a> {
        self.field(name).unwrap_or(self.element)
    }
}

impl List<'_> {
    /// The path step that identifies an item; none if it cannot be identified.
    ///
    /// Source: `typed/helpers.go`, `listItemToPathElement`.
    pub(super) fn element_of(&self, item: &Value) -> Option<Element> {
        match &self.identity {
            Identity::Atomic => None,
            Identity::Set => match item {
                Value::Null | Value::Array(_) | Value::Object(_) => None,
                scalar => Some(Element::Item(compact(scalar))),
            },
            Identity::Keys(keys) => {
                let item = item.as_object()?;
                let of = |key: &str| item.get(key).cloned().or_else(|| self.default_of(key));
                let known: Map<String, Value> =
                    keys.iter().filter_map(|key| Some(((*key).to_owned(), of(key)?))).collect();
                (!known.is_empty()).then(|| Element::Key(compact(&Value::Object(known))))
            }
        }
    }

    fn default_of(&self, key: &str) -> Option<Value> {
        let Type::Schema { schema, .. } = self.element else { return None };
        get(schema, &["properties", key, "default"]).cloned()
    }
}
