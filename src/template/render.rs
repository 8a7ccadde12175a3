//! Evaluating a template: nothing is parsed here, and every fault has the place of its expression.

use std::{collections::BTreeSet, ops::Range, sync::Arc};

use minijinja::{
    Value as Any,
    value::{Object, ValueKind},
};

use super::{
    context::Scope,
    expression::{Expression, Failure},
    limits::{Budget, Excess, MAX_TURNS},
    tree::{self, Item, Key, Kind, Loop, Tree},
    value::{Unfit, to_any, to_node, to_text},
    words::{self, Part, Words},
};
use crate::{
    note::Notes,
    yaml::{self, Node, Origin, Source, Value},
};

/// One rendering of one template.
pub(super) struct Renderer<'a> {
    pub(super) source: &'a Source,
    pub(super) notes: &'a mut Notes,
    pub(super) budget: Budget,
}

/// Why there is no value; the notes say more.
pub(super) enum Failed {
    /// This entry is at fault; others may be looked at.
    Here,
    /// A limit was passed: there is no use in going on.
    Everywhere,
}

type Done<T> = Result<T, Failed>;

impl Renderer<'_> {
    fn error(
        &mut self,
        code: &'static str,
        range: &Range<usize>,
        message: String,
        hint: Option<String>,
    ) -> Failed {
        let length = self.source.text.get(range.clone()).map_or(1, |text| text.chars().count());
        let note = self.notes.error(code, self.source.place(range.start, length), message);
        note.hints.extend(hint);
        if code == "template-limit" { Failed::Everywhere } else { Failed::Here }
    }

    fn failure(&mut self, failure: Failure) -> Failed {
        self.error(failure.code, &failure.range, failure.message, failure.hint)
    }

    fn excess(&mut self, excess: Excess, range: &Range<usize>) -> Failed {
        let hint = "look for a loop over more than it should be".to_owned();
        self.error("template-limit", range, excess.to_string(), Some(hint))
    }

    fn unfit(&mut self, unfit: &Unfit, expression: &Expression, scope: &Scope, hint: Option<&str>) -> Failed {
        match unfit {
            Unfit::Excess(excess) => self.excess(*excess, &expression.range()),
            Unfit::Undefined => self.failure(expression.undefined(None, scope)),
            Unfit::Kind(_) => {
                let message = format!("`{}` is wrong here: {unfit}", expression.text);
                self.error("template-value", &expression.range(), message, hint.map(str::to_owned))
            }
        }
    }

    fn evaluate(&mut self, expression: &Expression, scope: &Scope) -> Done<Any> {
        expression.evaluate(scope).map_err(|failure| self.failure(failure))
    }

    fn node(&mut self, expression: &Expression, scope: &Scope, origin: Origin) -> Done<Node> {
        let value = self.evaluate(expression, scope)?;
        to_node(&value, origin, &mut self.budget).map_err(|unfit| self.unfit(&unfit, expression, scope, None))
    }

    pub(super) fn tree(&mut self, tree: &Tree, scope: &Scope) -> Done<Node> {
        let origin = tree.origin;
        let range = origin.offset as usize..origin.offset as usize + 1;
        if let Some(constant) = &tree.constant {
            return match self.budget.take_tree(constant) {
                Ok(()) => Ok(constant.clone()),
                Err(excess) => Err(self.excess(excess, &range)),
            };
        }
        self.budget.nodes(1).map_err(|excess| self.excess(excess, &range))?;
        let value = match &tree.kind {
            Kind::Scalar(value) => value.clone(),
            Kind::Typed(expression) => return self.node(expression, scope, origin),
            Kind::Text(words) => Value::String(self.words(words, scope)?),
            Kind::Sequence(items) => {
                let mut nodes = Vec::new();
                self.items(items, scope, &mut |renderer, tree, scope| {
                    nodes.push(renderer.tree(tree, scope)?);
                    Ok(())
                })?;
                Value::Sequence(Arc::new(nodes))
            }
            Kind::Mapping(items) => self.mapping(items, scope)?,
        };
        Ok(Node { value, origin })
    }

    fn mapping(&mut self, items: &[Item<tree::Entry>], scope: &Scope) -> Done<Value> {
        let mut entries: Vec<yaml::Entry> = Vec::new();
        self.items(items, scope, &mut |renderer, entry, scope| {
            let name = match &entry.key {
                Key::Name(name) => Ok(name.clone()),
                Key::Text(words) => renderer.words(words, scope),
            };
            let value = renderer.tree(&entry.value, scope);
            entries.push(yaml::Entry { key: yaml::Key { name: name?, origin: entry.origin }, value: value? });
            Ok(())
        })?;
        self.refuse_duplicates(&entries)?;
        Ok(Value::Mapping(Arc::new(entries.into_iter().collect())))
    }

    fn refuse_duplicates(&mut self, entries: &[yaml::Entry]) -> Done<()> {
        let mut seen = BTreeSet::new();
        let Some(twice) = entries.iter().find(|entry| !seen.insert(&entry.key.name)) else { return Ok(()) };
        let first = entries.iter().find(|entry| entry.key.name == twice.key.name);
        let place = self.source.word(twice.key.origin.offset as usize);
        let note = self.notes.error(
            "duplicate-key",
            place,
            format!("the key `{}` is made twice in one map", twice.key.name),
        );
        if let Some(first) = first.filter(|first| first.key.origin != twice.key.origin) {
            note.related("first here", self.source.word(first.key.origin.offset as usize));
        }
        note.hint("readers differ on which one counts: make it once");
        Err(Failed::Here)
    }

    /// Walks items with the names that statements bind; goes on behind a fault, to find them all.
    fn items<T>(
        &mut self,
        items: &[Item<T>],
        scope: &Scope,
        each: &mut impl FnMut(&mut Self, &T, &Scope) -> Done<()>,
    ) -> Done<()> {
        let mut inner: Option<Scope> = None;
        let mut result = Ok(());
        for item in items {
            let scope = inner.as_ref().unwrap_or(scope);
            let done = match item {
                Item::Entry(entry) => each(self, entry, scope),
                Item::If(branches) => self.branches(branches, scope, each),
                Item::For(turn) => self.turns(turn, scope, each),
                Item::Set(binding) => {
                    let origin = self.source.origin(binding.value.offset);
                    let node = self.node(&binding.value, scope, origin)?;
                    inner = Some(scope.bind(vec![(binding.name.clone(), to_any(&node))]));
                    Ok(())
                }
            };
            match done {
                Ok(()) => {}
                Err(Failed::Here) => result = Err(Failed::Here),
                Err(Failed::Everywhere) => return Err(Failed::Everywhere),
            }
        }
        result
    }

    fn branches<T>(
        &mut self,
        branches: &[tree::Branch<T>],
        scope: &Scope,
        each: &mut impl FnMut(&mut Self, &T, &Scope) -> Done<()>,
    ) -> Done<()> {
        for branch in branches {
            let taken = match &branch.condition {
                Some(condition) => self.evaluate(condition, scope)?.is_true(),
                None => true,
            };
            if taken {
                return self.items(&branch.items, scope, each);
            }
        }
        Ok(())
    }

    fn turns<T>(
        &mut self,
        turn: &Loop<T>,
        scope: &Scope,
        each: &mut impl FnMut(&mut Self, &T, &Scope) -> Done<()>,
    ) -> Done<()> {
        let over = self.evaluate(&turn.over, scope)?;
        let items = self.list(&over, &turn.over)?;
        let length = items.len();
        for (index, item) in items.into_iter().enumerate() {
            self.budget.turn().map_err(|excess| self.excess(excess, &turn.over.range()))?;
            let mut bound = self.unpack(turn, item)?;
            bound.push(("loop".into(), Any::from_object(Position { index, length })));
            self.items(&turn.items, &scope.bind(bound), each)?;
        }
        Ok(())
    }

    /// The items of a list, or the keys of a map.
    fn list(&mut self, over: &Any, expression: &Expression) -> Done<Vec<Any>> {
        let what = match over.kind() {
            ValueKind::Seq | ValueKind::Iterable | ValueKind::Map => None,
            ValueKind::None => Some("null"),
            ValueKind::Bool => Some("a boolean"),
            ValueKind::Number => Some("a number"),
            ValueKind::String => Some("a text"),
            _ => Some("no list"),
        };
        if let Some(what) = what {
            let hint = over.is_none().then(|| format!("what is unset is null: `{} or []`", expression.text));
            let message = format!("`{}` is {what}: a loop takes a list or a map", expression.text);
            return Err(self.error("template-value", &expression.range(), message, hint));
        }
        match over.try_iter() {
            Ok(items) => Ok(items.take(MAX_TURNS + 1).collect()),
            Err(error) => {
                let message = format!("`{}` fails: {error}", expression.text);
                Err(self.error("template-value", &expression.range(), message, None))
            }
        }
    }

    fn unpack<T>(&mut self, turn: &Loop<T>, item: Any) -> Done<Vec<(Arc<str>, Any)>> {
        if let [name] = turn.names.as_slice() {
            return Ok(vec![(name.clone(), item)]);
        }
        let is_list = matches!(item.kind(), ValueKind::Seq | ValueKind::Iterable);
        let values: Vec<_> = match item.try_iter() {
            Ok(values) if is_list => values.take(turn.names.len() + 1).collect(),
            _ => Vec::new(),
        };
        if values.len() == turn.names.len() {
            return Ok(turn.names.iter().cloned().zip(values).collect());
        }
        let message = format!("an item of `{}` is no list of {}", turn.over.text, turn.names.len());
        let hint = "for the entries of a map write `#% for key, value in map | items`".to_owned();
        Err(self.error("template-value", &turn.over.range(), message, Some(hint)))
    }

    fn words(&mut self, words: &Words, scope: &Scope) -> Done<Arc<str>> {
        let mut text = String::new();
        match &words.kind {
            words::Kind::Parts(parts) => self.parts(parts, scope, &mut text)?,
            words::Kind::Lines(items, terminated) => {
                let mut first = true;
                self.items(items, scope, &mut |renderer, parts, scope| {
                    if !std::mem::take(&mut first) {
                        text.push('\n');
                    }
                    renderer.parts(parts, scope, &mut text)
                })?;
                if *terminated && !first {
                    text.push('\n');
                }
            }
        }
        Ok(text.into())
    }

    pub(super) fn parts(&mut self, parts: &[Part], scope: &Scope, text: &mut String) -> Done<()> {
        let mut result = Ok(());
        for part in parts {
            let before = text.len();
            let range = match part {
                Part::Text(part) => {
                    text.push_str(part);
                    0..1
                }
                Part::Expression(expression) => {
                    match self.text(expression, scope) {
                        Ok(part) => text.push_str(&part),
                        Err(Failed::Here) => result = Err(Failed::Here),
                        Err(Failed::Everywhere) => return Err(Failed::Everywhere),
                    }
                    expression.range()
                }
            };
            self.budget.text(text.len() - before + 1).map_err(|excess| self.excess(excess, &range))?;
        }
        result
    }

    fn text(&mut self, expression: &Expression, scope: &Scope) -> Done<Arc<str>> {
        let value = self.evaluate(expression, scope)?;
        to_text(&value).map_err(|unfit| {
            let hint = match value.kind() {
                ValueKind::None => "ask first, `#% if …`, or give a default: `… | default(\"\")`",
                _ => "take one of its values, or write it with `tojson`, `toyaml` or `join`",
            };
            self.unfit(&unfit, expression, scope, Some(hint))
        })
    }
}

/// `loop`: where a loop stands.
#[derive(Debug)]
struct Position {
    index: usize,
    length: usize,
}

impl Object for Position {
    fn get_value(self: &Arc<Self>, key: &Any) -> Option<Any> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Any> {
        Some(match key {
            "index" => Any::from(self.index + 1),
            "index0" => Any::from(self.index),
            "first" => Any::from(self.index == 0),
            "last" => Any::from(self.index + 1 == self.length),
            "length" => Any::from(self.length),
            _ => return None,
        })
    }

    fn enumerate(self: &Arc<Self>) -> minijinja::value::Enumerator {
        minijinja::value::Enumerator::Str(&["first", "index", "index0", "last", "length"])
    }
}
