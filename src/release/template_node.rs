//! Templates as nodes, for comparisons. An expression becomes the text `${{ … }}`, and a statement becomes a key that holds
//! the nodes it encloses.

use std::sync::Arc;

use crate::{
    template::Template,
    yaml::{Emit, Item, Mapping, Node, Scalar, Value, View},
};

pub(super) fn documents(template: &Template) -> Vec<Node> {
    template.documents().iter().map(node).collect()
}

fn node<T: Emit>(tree: &T) -> Node {
    match tree.view() {
        View::Scalar(value) => scalar(value),
        View::Sequence(items) => {
            let mut open = Open::new();
            for item in items {
                match item {
                    Item::Statement(text, _) => open.statement(text),
                    Item::Entry((), value) => open.item(node(value)),
                }
            }
            open.end()
        }
        View::Mapping(items) => {
            let mut open = Open::new();
            for item in items {
                match item {
                    Item::Statement(text, _) => open.statement(text),
                    Item::Entry((key, _), value) => open.entry(&text(key), node(value)),
                }
            }
            open.end_mapping()
        }
    }
}

fn scalar(scalar: Scalar<'_>) -> Node {
    match scalar {
        Scalar::Null => Value::Null.into(),
        Scalar::Bool(value) => value.into(),
        Scalar::Int(number) => number.into(),
        Scalar::Float(number) => Value::Float(number).into(),
        Scalar::String(text) | Scalar::Verbatim(text) | Scalar::Literal(text) => text.into(),
        Scalar::Expression(_) => text(scalar).into(),
    }
}

fn text(scalar: Scalar<'_>) -> String {
    match scalar {
        Scalar::Null => "null".to_owned(),
        Scalar::Bool(value) => value.to_string(),
        Scalar::Int(number) => number.to_string(),
        Scalar::Float(number) => number.to_string(),
        Scalar::String(text) | Scalar::Verbatim(text) | Scalar::Literal(text) => text.to_owned(),
        Scalar::Expression(text) => format!("${{{{ {text} }}}}"),
    }
}

/// A collection, with the statements that are currently open in it.
struct Open {
    levels: Vec<Level>,
}

struct Level {
    statement: String,
    items: Vec<Node>,
    mapping: Mapping,
}

impl Open {
    fn new() -> Self {
        Self { levels: vec![Level::new("")] }
    }

    fn statement(&mut self, text: &str) {
        match text.split_whitespace().next() {
            Some("endif" | "endfor") => self.close(),
            Some("elif" | "else") => {
                self.close();
                self.levels.push(Level::new(text));
            }
            Some("set") => self.put(text, Value::Null.into()),
            _ => self.levels.push(Level::new(text)),
        }
    }

    fn close(&mut self) {
        if self.levels.len() > 1
            && let Some(level) = self.levels.pop()
        {
            let inside = if level.items.is_empty() { level.mapping.into() } else { level.items.into() };
            self.put(&level.statement, inside);
        }
    }

    /// Adds the nodes that a statement encloses: as an entry of a mapping, or as an item of a list.
    fn put(&mut self, statement: &str, inside: Node) {
        let name = format!("#% {statement}");
        if self.top().items.is_empty() {
            self.entry(&name, inside);
        } else {
            let mut mapping = Mapping::new();
            mapping.set(&name, inside);
            self.item(mapping.into());
        }
    }

    fn item(&mut self, value: Node) {
        self.top().items.push(value);
    }

    /// Adds an entry. Branches can each have an entry of the same name; on one level, a number is appended to repeated
    /// names.
    fn entry(&mut self, name: &str, value: Node) {
        let mapping = &mut self.top().mapping;
        let mut own = name.to_owned();
        let mut number = 2;
        while mapping.get(&own).is_some() {
            own = format!("{name} ({number})");
            number += 1;
        }
        mapping.set(&own, value);
    }

    fn top(&mut self) -> &mut Level {
        self.levels.last_mut().expect("the outermost level is never closed")
    }

    fn end_mapping(mut self) -> Node {
        std::mem::take(&mut self.top().mapping).into()
    }

    /// Closes a list. Nodes that statements enclosed before its first item become its first item.
    fn end(mut self) -> Node {
        let Level { mut items, mapping, .. } = self.levels.swap_remove(0);
        if !mapping.is_empty() {
            items.insert(0, mapping.into());
        }
        Value::Sequence(Arc::new(items)).into()
    }
}

impl Level {
    fn new(statement: &str) -> Self {
        Self { statement: statement.to_owned(), items: Vec::new(), mapping: Mapping::new() }
    }
}
