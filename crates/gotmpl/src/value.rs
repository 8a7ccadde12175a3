//! The values of templates, with the type distinctions of Go's reflection.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::budget::Context;
use super::clock::Time;
use super::error::{Outcome, limit};
use super::version::Version;

/// The deepest nesting of lists; dropping and printing them is recursive.
const MAX_HEIGHT: u32 = 100;

/// A Go value, or the absence of one.
#[derive(Debug, Clone)]
pub(super) enum Value<'a> {
    /// No value at all: a missing key, or an untyped nil after a pipeline.
    Invalid,
    /// A nil inside an interface: JSON's null in a map, list or argument.
    Nil,
    Bool(bool),
    /// Signed integers of every size.
    Int(IntType, i64),
    /// Unsigned integers of every size.
    Uint(UintType, u64),
    /// `float64`, the type of every number in the data.
    Float(f64),
    /// `string`; not necessarily UTF-8.
    Str(Str<'a>),
    /// A `[]interface {}` from the data.
    JsonList(&'a [serde_json::Value]),
    /// A `map[string]interface {}` from the data.
    JsonMap(&'a serde_json::Map<String, serde_json::Value>),
    /// A list made by the template.
    List(Rc<List<'a>>),
    /// A map made by the template.
    Map(Rc<Map<'a>>),
    /// `*semver.Version` if the flag is true, otherwise `semver.Version`.
    Version(Rc<Version>, bool),
    /// `time.Time`
    Time(Rc<Time>),
}

/// The signed types that functions return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IntType {
    Int,
    Int64,
    /// `time.Month`
    Month,
    /// `time.Weekday`
    Weekday,
}

/// The unsigned types that functions return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UintType {
    Uint8,
    Uint64,
}

/// The element type of a list or map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Elem {
    /// `interface {}`
    Any,
    Str,
    Int,
    /// `[]interface {}`
    AnyList,
}

/// A slice: a window into items that other slices may share.
#[derive(Debug)]
pub(super) struct List<'a> {
    pub(super) elem: Elem,
    pub(super) nil: bool,
    pub(super) items: Rc<RefCell<Vec<Value<'a>>>>,
    pub(super) start: usize,
    pub(super) len: usize,
    pub(super) height: u32,
}

/// A map, which functions such as `set` change in place.
#[derive(Debug)]
pub(super) struct Map<'a> {
    pub(super) elem: Elem,
    pub(super) nil: bool,
    pub(super) entries: RefCell<BTreeMap<Str<'a>, Value<'a>>>,
}

/// The bytes of a Go string, borrowed from the template or its data if possible.
#[derive(Debug, Clone)]
pub(super) enum Str<'a> {
    /// Borrowed from the template or the data.
    Ref(&'a [u8]),
    /// Created by a function.
    Own(Rc<[u8]>),
}

impl<'a> Str<'a> {
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Str::Ref(bytes) => bytes,
            Str::Own(bytes) => bytes,
        }
    }

    pub(super) fn lossy(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(self.bytes())
    }

    /// A part of the string. Borrowed bytes are shared.
    pub(super) fn part(&self, range: std::ops::Range<usize>) -> Str<'a> {
        match self {
            Str::Ref(bytes) => Str::Ref(bytes.get(range).unwrap_or_default()),
            Str::Own(bytes) => Str::Own(bytes.get(range).unwrap_or_default().into()),
        }
    }
}

impl PartialEq for Str<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for Str<'_> {}

impl PartialOrd for Str<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Str<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bytes().cmp(other.bytes())
    }
}

impl std::borrow::Borrow<[u8]> for Str<'_> {
    fn borrow(&self) -> &[u8] {
        self.bytes()
    }
}

impl From<Vec<u8>> for Str<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Str::Own(bytes.into())
    }
}

impl From<String> for Str<'_> {
    fn from(text: String) -> Self {
        Str::Own(text.into_bytes().into())
    }
}

impl<'a> From<&'a str> for Str<'a> {
    fn from(text: &'a str) -> Self {
        Str::Ref(text.as_bytes())
    }
}

impl<'a> List<'a> {
    /// Creates a list with its own items, unless it would be nested too deeply.
    pub(super) fn of(elem: Elem, items: Vec<Value<'a>>) -> Outcome<Value<'a>> {
        let mut height = 0;
        for item in &items {
            if let Value::List(list) = item {
                height = height.max(list.height);
            }
        }
        if height >= MAX_HEIGHT {
            return Err(limit("a list is nested too deeply"));
        }
        let len = items.len();
        let items = Rc::new(RefCell::new(items));
        let list = List { elem, nil: false, items, start: 0, len, height: height + 1 };
        Ok(Value::List(Rc::new(list)))
    }

    /// The nil slice of a type, which is empty but differs from an empty slice.
    pub(super) fn nil(elem: Elem) -> Value<'a> {
        let items = Rc::new(RefCell::new(Vec::new()));
        Value::List(Rc::new(List { elem, nil: true, items, start: 0, len: 0, height: 1 }))
    }

    pub(super) fn get(&self, index: usize) -> Option<Value<'a>> {
        if index >= self.len {
            return None;
        }
        self.items.borrow().get(self.start + index).cloned()
    }

    pub(super) fn to_vec(&self) -> Vec<Value<'a>> {
        let items = self.items.borrow();
        items.get(self.start..self.start + self.len).unwrap_or_default().to_vec()
    }
}

impl<'a> Map<'a> {
    /// The nil map of a type, which reads as empty and cannot be written.
    pub(super) fn nil(elem: Elem) -> Value<'a> {
        Value::Map(Rc::new(Map { elem, nil: true, entries: RefCell::default() }))
    }
}

impl<'a> Value<'a> {
    /// Wraps a value of the data. Numbers become `float64`, as with `encoding/json`.
    pub(super) fn from_json(json: &'a serde_json::Value) -> Value<'a> {
        match json {
            serde_json::Value::Null => Value::Nil,
            serde_json::Value::Bool(flag) => Value::Bool(*flag),
            serde_json::Value::Number(number) => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
            serde_json::Value::String(text) => Value::Str(Str::Ref(text.as_bytes())),
            serde_json::Value::Array(items) => Value::JsonList(items),
            serde_json::Value::Object(entries) => Value::JsonMap(entries),
        }
    }

    /// Copies the data so that functions such as `set` can change it.
    pub(super) fn thaw(json: &'a serde_json::Value, cx: &mut Context<'a>) -> Outcome<Value<'a>> {
        match json {
            serde_json::Value::Array(items) => {
                let mut copies = cx.vec(items.len())?;
                for item in items {
                    copies.push(Value::thaw(item, cx)?);
                }
                List::of(Elem::Any, copies)
            }
            serde_json::Value::Object(entries) => {
                cx.charge_items(entries.len())?;
                let mut copies = BTreeMap::new();
                for (key, value) in entries {
                    copies.insert(Str::from(key.as_str()), Value::thaw(value, cx)?);
                }
                Ok(cx.map(Elem::Any, copies))
            }
            other => Ok(Value::from_json(other)),
        }
    }

    pub(super) fn int(number: i64) -> Value<'a> {
        Value::Int(IntType::Int, number)
    }

    /// A length or index as `int`.
    pub(super) fn len_int(number: usize) -> Value<'a> {
        Value::int(i64::try_from(number).unwrap_or(i64::MAX))
    }

    pub(super) fn int64(number: i64) -> Value<'a> {
        Value::Int(IntType::Int64, number)
    }

    pub(super) fn text(text: impl Into<Str<'a>>) -> Value<'a> {
        Value::Str(text.into())
    }

    /// Unwraps an interface: a nil inside it becomes no value at all.
    pub(super) fn unwrapped(self) -> Value<'a> {
        match self {
            Value::Nil => Value::Invalid,
            other => other,
        }
    }

    pub(super) fn is_nil(&self) -> bool {
        matches!(self, Value::Nil | Value::Invalid)
    }

    /// The length of a list; none for other values.
    pub(super) fn list_len(&self) -> Option<usize> {
        match self {
            Value::JsonList(items) => Some(items.len()),
            Value::List(list) => Some(list.len),
            _ => None,
        }
    }

    /// An item of a list. A nil item is [`Value::Nil`].
    pub(super) fn item(&self, index: usize) -> Option<Value<'a>> {
        match self {
            Value::JsonList(items) => items.get(index).map(Value::from_json),
            Value::List(list) => list.get(index),
            _ => None,
        }
    }

    /// All items of a list.
    pub(super) fn items(&self, cx: &mut Context<'a>) -> Outcome<Option<Vec<Value<'a>>>> {
        let Some(len) = self.list_len() else { return Ok(None) };
        cx.charge_items(len)?;
        Ok(match self {
            Value::JsonList(items) => Some(items.iter().map(Value::from_json).collect()),
            Value::List(list) => Some(list.to_vec()),
            _ => None,
        })
    }

    /// An entry of a map.
    pub(super) fn entry(&self, key: &[u8]) -> Option<Value<'a>> {
        match self {
            Value::JsonMap(map) => {
                std::str::from_utf8(key).ok().and_then(|key| map.get(key)).map(Value::from_json)
            }
            Value::Map(map) => map.entries.borrow().get(key).cloned(),
            _ => None,
        }
    }

    /// The number of entries of a map; none for other values.
    pub(super) fn map_len(&self) -> Option<usize> {
        match self {
            Value::JsonMap(map) => Some(map.len()),
            Value::Map(map) => Some(map.entries.borrow().len()),
            _ => None,
        }
    }

    /// All entries of a map, sorted by key.
    pub(super) fn entries(&self, cx: &mut Context<'a>) -> Outcome<Vec<(Str<'a>, Value<'a>)>> {
        cx.charge_items(self.map_len().unwrap_or(0))?;
        Ok(match self {
            Value::JsonMap(map) => {
                let mut entries: Vec<_> = map
                    .iter()
                    .map(|(key, value)| (Str::from(key.as_str()), Value::from_json(value)))
                    .collect();
                entries.sort_by(|left, right| left.0.cmp(&right.0));
                entries
            }
            Value::Map(map) => {
                let entries = map.entries.borrow();
                entries.iter().map(|(key, value)| (key.clone(), value.clone())).collect()
            }
            _ => Vec::new(),
        })
    }

    /// The name of the Go type.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Value::Invalid | Value::Nil => "<nil>",
            Value::Bool(_) => "bool",
            Value::Int(IntType::Int, _) => "int",
            Value::Int(IntType::Int64, _) => "int64",
            Value::Int(IntType::Month, _) => "time.Month",
            Value::Int(IntType::Weekday, _) => "time.Weekday",
            Value::Uint(UintType::Uint8, _) => "uint8",
            Value::Uint(UintType::Uint64, _) => "uint64",
            Value::Float(_) => "float64",
            Value::Str(_) => "string",
            Value::JsonList(_) => "[]interface {}",
            Value::JsonMap(_) => "map[string]interface {}",
            Value::List(list) => match list.elem {
                Elem::Any => "[]interface {}",
                Elem::Str => "[]string",
                Elem::Int => "[]int",
                Elem::AnyList => "[][]interface {}",
            },
            Value::Map(map) => match map.elem {
                Elem::Str => "map[string]string",
                Elem::Any | Elem::Int | Elem::AnyList => "map[string]interface {}",
            },
            Value::Version(_, true) => "*semver.Version",
            Value::Version(_, false) => "semver.Version",
            Value::Time(_) => "time.Time",
        }
    }

    /// The name of the Go kind.
    pub(super) fn kind_name(&self) -> &'static str {
        match self {
            Value::Invalid | Value::Nil => "invalid",
            Value::Int(IntType::Month | IntType::Weekday, _) => "int",
            Value::JsonList(_) | Value::List(_) => "slice",
            Value::JsonMap(_) | Value::Map(_) => "map",
            Value::Version(_, true) => "ptr",
            Value::Version(_, false) | Value::Time(_) => "struct",
            Value::Bool(_) | Value::Int(..) | Value::Uint(..) | Value::Float(_) | Value::Str(_) => {
                self.type_name()
            }
        }
    }

    /// Whether `if` considers the value true.
    pub(super) fn truth(&self) -> bool {
        match self {
            Value::Invalid | Value::Nil => false,
            Value::Bool(flag) => *flag,
            Value::Int(_, number) => *number != 0,
            Value::Uint(_, number) => *number != 0,
            Value::Float(number) => *number != 0.0,
            Value::Str(text) => !text.bytes().is_empty(),
            Value::JsonList(items) => !items.is_empty(),
            Value::List(list) => list.len > 0,
            Value::JsonMap(map) => !map.is_empty(),
            Value::Map(map) => !map.entries.borrow().is_empty(),
            Value::Version(..) | Value::Time(_) => true,
        }
    }
}
