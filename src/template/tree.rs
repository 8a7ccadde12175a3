//! The tree of a parsed template (entries and statements), and the emitter's view of it.

use std::sync::Arc;

use super::{expression::Expression, words::Words};
use crate::yaml::{self, Emit, Item as Shown, Name, Node, Origin, Scalar, Value, View, rank};

/// A node of a template.
pub struct Tree {
    pub(super) kind: NodeKind,
    pub(super) origin: Origin,
    /// Its result, if that is always the same.
    pub(super) constant: Option<Node>,
}

/// The kind of a template node.
pub(super) enum NodeKind {
    /// A scalar without expressions.
    Scalar(Value),
    /// An expression that keeps its type.
    Typed(Expression),
    /// Text with expressions or statements.
    Text(Words),
    Sequence(Vec<Item<Tree>>),
    Mapping(Vec<Item<Entry>>),
}

/// An entry of a map.
pub(super) struct Entry {
    pub(super) key: Key,
    pub(super) origin: Origin,
    pub(super) value: Tree,
}

pub(super) enum Key {
    Name(Arc<str>),
    Text(Words),
}

/// An item of a collection or a text.
pub(super) enum Item<T> {
    Entry(T),
    If(Vec<Branch<T>>),
    For(Loop<T>),
    Set(Binding),
}

/// A branch of an `if`. The last one may have no condition.
pub(super) struct Branch<T> {
    pub(super) condition: Option<Expression>,
    pub(super) written: String,
    /// The byte of its statement.
    pub(super) offset: usize,
    /// The byte of the statement that ends it.
    pub(super) end: usize,
    pub(super) items: Vec<Item<T>>,
}

/// A `for`.
pub(super) struct Loop<T> {
    pub(super) names: Vec<Arc<str>>,
    pub(super) over: Expression,
    pub(super) written: String,
    /// The byte of its statement.
    pub(super) offset: usize,
    /// The byte of its `endfor`.
    pub(super) end: usize,
    pub(super) items: Vec<Item<T>>,
}

/// A `set`.
pub(super) struct Binding {
    pub(super) name: Arc<str>,
    pub(super) value: Expression,
    pub(super) written: String,
    /// The byte of its statement.
    pub(super) offset: usize,
}

impl Key {
    pub(super) fn shown(&self) -> Scalar<'_> {
        match self {
            Self::Name(name) => Scalar::String(name),
            Self::Text(words) => words.shown(),
        }
    }

    /// The text by which keys are sorted.
    fn text(&self) -> &str {
        match self {
            Self::Name(name) => name,
            Self::Text(words) => words.written(),
        }
    }
}

/// A statement as written, and its byte offset.
pub(super) type StatementText<'a> = (&'a str, usize);

/// Visits the lines of the written form: statements, and the entries between them.
pub(super) fn lines<'a, T>(items: &'a [Item<T>], line: &mut impl FnMut(Result<&'a T, StatementText<'a>>)) {
    for item in items {
        match item {
            Item::Entry(entry) => line(Ok(entry)),
            Item::Set(binding) => line(Err((&binding.written, binding.offset))),
            Item::If(branches) => {
                for branch in branches {
                    line(Err((&branch.written, branch.offset)));
                    lines(&branch.items, line);
                }
                line(Err(("endif", branches.last().map_or(0, |branch| branch.end))));
            }
            Item::For(turn) => {
                line(Err((&turn.written, turn.offset)));
                lines(&turn.items, line);
                line(Err(("endfor", turn.end)));
            }
        }
    }
}

impl Emit for Tree {
    fn view(&self) -> View<'_, Self> {
        match &self.kind {
            NodeKind::Scalar(value) => View::Scalar(match value {
                Value::Null => Scalar::Null,
                Value::Bool(value) => Scalar::Bool(*value),
                Value::Int(number) => Scalar::Int(*number),
                Value::Float(number) => Scalar::Float(*number),
                Value::String(text) => Scalar::String(text),
                Value::Sequence(_) | Value::Mapping(_) => unreachable!("a collection is not a scalar"),
            }),
            NodeKind::Typed(expression) => View::Scalar(Scalar::Expression(&expression.text)),
            NodeKind::Text(words) => View::Scalar(words.shown()),
            NodeKind::Sequence(items) => {
                let mut shown = Vec::new();
                lines(items, &mut |line| {
                    shown.push(match line {
                        Ok(item) => Shown::Entry((), item),
                        Err(said) => self.statement(said),
                    });
                });
                View::Sequence(shown)
            }
            NodeKind::Mapping(items) => View::Mapping(self.shown_mapping(items)),
        }
    }
}

impl Tree {
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Reports whether it is a list or a map.
    pub fn is_collection(&self) -> bool {
        matches!(self.kind, NodeKind::Sequence(_) | NodeKind::Mapping(_))
    }

    fn statement<'a, T, K>(&self, (text, offset): StatementText<'a>) -> Shown<'a, T, K> {
        let offset = u32::try_from(offset).unwrap_or(u32::MAX);
        Shown::Statement(text, Origin { file: self.origin.file, offset })
    }

    /// The entries in the emitter's order if there are no statements among the keys, otherwise in their own order.
    fn shown_mapping<'a>(&self, items: &'a [Item<Entry>]) -> Vec<Shown<'a, Self, Name<'a>>> {
        let mut entries: Vec<&Entry> = Vec::new();
        let mut shown = Vec::new();
        let mut plain = true;
        let entry = |entry: &'a Entry| Shown::Entry((entry.key.shown(), entry.origin), &entry.value);
        lines(items, &mut |line| match line {
            Ok(one) => {
                entries.push(one);
                shown.push(entry(one));
            }
            Err(said) => {
                plain = false;
                shown.push(self.statement(said));
            }
        });
        if !plain {
            return shown;
        }
        entries.sort_by(|a, b| (rank(a.key.text()), a.key.text()).cmp(&(rank(b.key.text()), b.key.text())));
        entries.into_iter().map(entry).collect()
    }

    pub(super) fn new(kind: NodeKind, origin: Origin) -> Self {
        let constant = constant(&kind).map(|value| Node { value, origin });
        Self { kind, origin, constant }
    }
}

/// The result of a node that involves no expressions and no statements.
fn constant(kind: &NodeKind) -> Option<Value> {
    match kind {
        NodeKind::Scalar(value) => Some(value.clone()),
        NodeKind::Typed(_) | NodeKind::Text(_) => None,
        NodeKind::Sequence(items) => {
            let item = |item: &Item<Tree>| match item {
                Item::Entry(tree) => tree.constant.clone(),
                _ => None,
            };
            items.iter().map(item).collect::<Option<Vec<_>>>().map(|nodes| Value::Sequence(Arc::new(nodes)))
        }
        NodeKind::Mapping(items) => {
            let entry = |item: &Item<Entry>| match item {
                Item::Entry(Entry { key: Key::Name(name), origin, value }) => {
                    let key = yaml::Key { name: name.clone(), origin: *origin };
                    Some(yaml::Entry { key, value: value.constant.clone()? })
                }
                _ => None,
            };
            items
                .iter()
                .map(entry)
                .collect::<Option<yaml::Mapping>>()
                .map(|map| Value::Mapping(Arc::new(map)))
        }
    }
}
