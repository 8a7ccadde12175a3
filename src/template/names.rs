//! Checks that every name in every expression is bound by an enclosing statement or visible to the template's folder.

use std::{ops::Range, sync::Arc};

use super::{
    expression::{Expression, similar},
    tree::{Item, Key, NodeKind, Tree},
    visible::Visible,
    words::{self, TextPart, Words},
};
use crate::{note::Notes, yaml::Source};

/// A walk over a template with the names bound at the current position.
pub(super) struct Names<'a> {
    source: &'a Source,
    visible: Visible,
    notes: &'a mut Notes,
    bound: Vec<Arc<str>>,
}

impl<'a> Names<'a> {
    pub(super) fn new(source: &'a Source, visible: Visible, notes: &'a mut Notes) -> Self {
        Self { source, visible, notes, bound: Vec::new() }
    }

    pub(super) fn tree(&mut self, tree: &Tree) {
        match &tree.kind {
            NodeKind::Scalar(_) => {}
            NodeKind::Typed(expression) => self.expression(expression),
            NodeKind::Text(words) => self.words(words),
            NodeKind::Sequence(items) => self.items(items, &mut |names, tree| names.tree(tree)),
            NodeKind::Mapping(items) => self.items(items, &mut |names, entry| {
                if let Key::Text(words) = &entry.key {
                    names.words(words);
                }
                names.tree(&entry.value);
            }),
        }
    }

    fn words(&mut self, words: &Words) {
        match &words.kind {
            words::TextKind::Parts(parts) => self.parts(parts),
            words::TextKind::Lines(items, _) => {
                self.items(items, &mut |names, line| names.parts(&line.parts));
            }
        }
    }

    pub(super) fn parts(&mut self, parts: &[TextPart]) {
        for part in parts {
            if let TextPart::Expression(expression) = part {
                self.expression(expression);
            }
        }
    }

    fn items<T>(&mut self, items: &[Item<T>], each: &mut impl FnMut(&mut Self, &T)) {
        let outside = self.bound.len();
        for item in items {
            match item {
                Item::Entry(entry) => each(self, entry),
                Item::Set(binding) => {
                    self.expression(&binding.value);
                    self.bound.push(binding.name.clone());
                }
                Item::If(branches) => {
                    for branch in branches {
                        if let Some(condition) = &branch.condition {
                            self.expression(condition);
                        }
                        self.items(&branch.items, each);
                    }
                }
                Item::For(turn) => {
                    self.expression(&turn.over);
                    let before = self.bound.len();
                    self.bound.extend(turn.names.iter().cloned());
                    self.bound.push("loop".into());
                    self.items(&turn.items, each);
                    self.bound.truncate(before);
                }
            }
        }
        self.bound.truncate(outside);
    }

    fn expression(&mut self, expression: &Expression) {
        for (name, range) in expression.names() {
            let known = self.bound.iter().any(|bound| **bound == *name)
                || self.visible.names().any(|visible| visible == name);
            if !known {
                self.unknown(&name, range);
            }
        }
    }

    fn unknown(&mut self, name: &str, range: Range<usize>) {
        let length = self.source.text.get(range.clone()).map_or(1, |text| text.chars().count());
        let place = self.source.place(range.start, length);
        let folder = self.visible.folder();
        if let Some(seen) = Visible::seen_in(name) {
            self.notes
                .error("unknown-name", place, format!("templates in `{folder}` do not see `{name}`"))
                .hint(format!("`{name}` is seen in {seen}"));
            return;
        }
        let mut known: Vec<&str> = self.visible.names().collect();
        known.extend(self.bound.iter().map(|bound| &**bound));
        let hint = match similar(name, known.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("templates in `{folder}` see `{}` here", known.join("`, `")),
        };
        self.notes.error("unknown-name", place, format!("there is no name `{name}`")).hint(hint);
    }
}
