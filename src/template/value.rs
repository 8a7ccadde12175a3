//! Converts nodes to values for expressions and back. Nodes that an expression passes through stay unchanged.

use std::{fmt, sync::Arc};

use minijinja::{
    Value as Any,
    value::{Enumerator, Object, ObjectRepr, ValueKind},
};

use super::{
    limits::{Budget, Excess},
    record::{Read, Recorder},
};
use crate::yaml::{Entry, Key, Node, Origin, Path, Segment, Value};

/// A map or list of a document, as expressions see it. Maps are iterated in the order of their keys, so the order in a
/// definition never affects the output.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) node: Node,
    /// Its path in the context, if reads are recorded.
    pub(super) trail: Option<Trail>,
}

/// A path through the context, and the recorder for reads at that path.
#[derive(Clone, Debug)]
pub(super) struct Trail {
    pub(super) path: Path,
    pub(super) recorder: Recorder,
}

impl Shared {
    /// The value one step below. The read is recorded.
    fn below(&self, node: Option<&Node>, segment: impl FnOnce() -> Segment) -> Option<Any> {
        let Some(trail) = &self.trail else { return node.map(to_any) };
        let path = trail.path.to(segment());
        trail.recorder.read(match node {
            Some(node) if is_collection(node) => Read::Passed(path.clone()),
            _ => Read::Value(path.clone()),
        });
        node.map(|node| to_any_at(node, Some(Trail { path, recorder: trail.recorder.clone() })))
    }

    /// Records that its entries are inspected.
    pub(super) fn walked(&self) {
        if let Some(trail) = &self.trail {
            trail.recorder.read(Read::Shape(trail.path.clone()));
        }
    }
}

pub(super) fn is_collection(node: &Node) -> bool {
    matches!(node.value, Value::Sequence(_) | Value::Mapping(_))
}

impl Object for Shared {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        if self.node.as_sequence().is_some() { ObjectRepr::Seq } else { ObjectRepr::Map }
    }

    fn get_value(self: &Arc<Self>, key: &Any) -> Option<Any> {
        match &self.node.value {
            Value::Sequence(items) => {
                let index = key.as_usize()?;
                self.below(items.get(index), || Segment::Item(index))
            }
            _ => self.get_value_by_str(key.as_str()?),
        }
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Any> {
        self.below(self.node.get(key), || Segment::Key(key.into()))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        self.walked();
        match &self.node.value {
            Value::Sequence(items) => Enumerator::Seq(items.len()),
            Value::Mapping(mapping) => {
                let mut keys: Vec<_> = mapping.iter().map(|entry| entry.key.name.clone()).collect();
                keys.sort_unstable();
                Enumerator::Values(keys.into_iter().map(Any::from).collect())
            }
            _ => Enumerator::Empty,
        }
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        self.walked();
        match &self.node.value {
            Value::Sequence(items) => Some(items.len()),
            Value::Mapping(mapping) => Some(mapping.len()),
            _ => Some(0),
        }
    }
}

/// The value of a node for expressions.
pub(super) fn to_any(node: &Node) -> Any {
    to_any_at(node, None)
}

/// The value of a node in the context, which records reads.
pub(super) fn to_any_at(node: &Node, trail: Option<Trail>) -> Any {
    match &node.value {
        Value::Null => Any::from(()),
        Value::Bool(value) => Any::from(*value),
        Value::Int(number) => Any::from(*number),
        Value::Float(number) => Any::from(*number),
        Value::String(text) => Any::from(text.clone()),
        Value::Sequence(_) | Value::Mapping(_) => Any::from_object(Shared { node: node.clone(), trail }),
    }
}

/// The reason that a value cannot become a node.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unfit {
    Undefined,
    /// It cannot be part of a document. The text completes "the value is …".
    Kind(String),
    /// It is too large.
    Excess(Excess),
}

impl From<Excess> for Unfit {
    fn from(excess: Excess) -> Self {
        Self::Excess(excess)
    }
}

/// Converts a value to a node. Parts made by the expression itself get `origin`.
pub(super) fn to_node(any: &Any, origin: Origin, budget: &mut Budget) -> Result<Node, Unfit> {
    if let Some(Shared { node, trail }) = any.downcast_object_ref::<Shared>() {
        budget.take_tree(node)?;
        return Ok(match trail {
            Some(Trail { path, recorder }) => recorder.placed(node, path, origin),
            None => node.clone(),
        });
    }
    budget.nodes(1)?;
    let value = match any.kind() {
        ValueKind::Undefined => return Err(Unfit::Undefined),
        ValueKind::None => Value::Null,
        ValueKind::Bool => Value::Bool(any.is_true()),
        ValueKind::Number => number(any)?,
        ValueKind::String => {
            let text = any.to_str().unwrap_or_default();
            budget.text(text.len())?;
            Value::String(text)
        }
        ValueKind::Seq | ValueKind::Iterable => budget.deeper(|budget| {
            let items = any.try_iter().map_err(|error| unfit(&error))?;
            let nodes = items.map(|item| to_node(&item, origin, budget)).collect::<Result<_, _>>()?;
            Ok::<_, Unfit>(Value::Sequence(Arc::new(nodes)))
        })?,
        ValueKind::Map => budget.deeper(|budget| map(any, origin, budget))?,
        _ => return Err(Unfit::Kind("nothing that a document can hold".to_owned())),
    };
    Ok(Node { value, origin })
}

fn map(any: &Any, origin: Origin, budget: &mut Budget) -> Result<Value, Unfit> {
    let mut entries = Vec::new();
    for key in any.try_iter().map_err(|error| unfit(&error))? {
        let Some(name) = key.as_str().map(Arc::from) else {
            return Err(Unfit::Kind(format!("a map with the key {key:?}, which is not text")));
        };
        let value = to_node(&any.get_item(&key).map_err(|error| unfit(&error))?, origin, budget)?;
        entries.push(Entry { key: Key { name, origin }, value });
    }
    Ok(Value::Mapping(Arc::new(entries.into_iter().collect())))
}

fn unfit(error: &minijinja::Error) -> Unfit {
    Unfit::Kind(error.detail().map_or_else(|| error.kind().to_string(), str::to_owned))
}

fn number(any: &Any) -> Result<Value, Unfit> {
    if any.is_integer() {
        let whole =
            any.as_i64().ok_or_else(|| Unfit::Kind("a number that does not fit 64 bits".to_owned()))?;
        return Ok(Value::Int(whole));
    }
    match f64::try_from(any.clone()) {
        Ok(number) if number.is_finite() => Ok(Value::Float(number)),
        _ => Err(Unfit::Kind("no finite number".to_owned())),
    }
}

/// Converts a value to text for use in a text or a key.
pub(super) fn to_text(any: &Any) -> Result<Arc<str>, Unfit> {
    let unfit = |what: &str| Err(Unfit::Kind(format!("{what}, which cannot be in a text or a key")));
    match any.kind() {
        ValueKind::String => Ok(any.to_str().unwrap_or_default()),
        ValueKind::Bool => Ok(if any.is_true() { "true".into() } else { "false".into() }),
        ValueKind::Number => {
            let mut text = String::new();
            crate::yaml::emit(&Node::new(number(any)?), &mut text);
            Ok(text.trim_end().into())
        }
        ValueKind::Undefined => Err(Unfit::Undefined),
        ValueKind::None => unfit("null"),
        ValueKind::Map => unfit("a map"),
        ValueKind::Seq | ValueKind::Iterable => unfit("a list"),
        _ => unfit("no text"),
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Undefined => f.write_str("the value is undefined"),
            Self::Kind(what) => write!(f, "the value is {what}"),
            Self::Excess(excess) => excess.fmt(f),
        }
    }
}
