//! Evaluating a template: nothing is parsed here, and every fault has the place of its expression.

use std::{collections::BTreeSet, ops::Range, sync::Arc};

use minijinja::{
    Value as Any,
    value::{Object, ValueKind},
};

use super::{
    context::{Bound, Context, Scope},
    expression::{Expression, Failure},
    limits::{Budget, Excess, MAX_TURNS},
    record::Read,
    tracer::{Tracer, Turns},
    tree::{self, Item, Key, Kind, Loop, Tree},
    value::{Unfit, to_any, to_node, to_text},
    words::{self, Part, Words},
};
use crate::{
    note::Notes,
    yaml::{self, Node, Origin, Source, Value},
};

const NO_LIST: &str = "for a number of turns write `range(n)`, for one item `[item]`";

/// One rendering of one template.
pub(super) struct Renderer<'a> {
    pub(super) source: &'a Source,
    pub(super) notes: &'a mut Notes,
    budget: Budget,
    /// Where someone wants to know what came from where.
    tracer: Option<Tracer>,
}

/// Why there is no value; the notes say more.
pub(super) enum Failed {
    /// This entry is at fault; others may be looked at.
    Here,
    /// A limit was passed: there is no use in going on.
    Everywhere,
}

type Done<T> = Result<T, Failed>;

impl<'a> Renderer<'a> {
    pub(super) fn new(source: &'a Source, context: &Context, notes: &'a mut Notes) -> Self {
        let tracer = context.recorder().cloned().map(Tracer::new);
        Self { source, notes, budget: Budget::new(), tracer }
    }
}

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
                let hint = hint.unwrap_or("a text, a number or a boolean belongs here; pick one out of it");
                self.error("template-value", &expression.range(), message, Some(hint.to_owned()))
            }
        }
    }

    fn evaluate(&mut self, expression: &Expression, scope: &Scope) -> Done<Any> {
        self.reads();
        expression.evaluate(scope).map_err(|failure| self.failure(failure))
    }

    fn node(&mut self, expression: &Expression, scope: &Scope, origin: Origin) -> Done<Node> {
        let value = self.evaluate(expression, scope)?;
        let reads = self.reads();
        let node = to_node(&value, origin, &mut self.budget);
        let node = node.map_err(|unfit| self.unfit(&unfit, expression, scope, None))?;
        Ok(match &self.tracer {
            Some(tracer) => tracer.made(node, &value, reads, origin),
            None => node,
        })
    }

    /// What has been read since this was asked last; nothing where nobody wants to know.
    fn reads(&mut self) -> Vec<Read> {
        self.tracer.as_ref().map(|tracer| tracer.recorder.take()).unwrap_or_default()
    }

    /// How many statements are open.
    fn depth(&self) -> usize {
        self.tracer.as_ref().map_or(0, Tracer::depth)
    }

    fn within(&self, origin: Origin, base: usize) -> Origin {
        self.tracer.as_ref().map_or(origin, |tracer| tracer.within(origin, base))
    }

    fn open(&mut self) {
        if let Some(tracer) = &mut self.tracer {
            tracer.open();
        }
    }

    fn close(&mut self, origin: Origin) -> Origin {
        self.tracer.as_mut().map_or(origin, |tracer| tracer.close(origin))
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
        Ok(match &tree.kind {
            Kind::Scalar(value) => Node { value: value.clone(), origin },
            Kind::Typed(expression) => return self.node(expression, scope, origin),
            Kind::Text(words) => {
                let (text, origin) = self.words(words, scope, origin)?;
                Node { value: Value::String(text), origin }
            }
            Kind::Sequence(items) => {
                let value = self.sequence(items, scope)?;
                Node { value, origin: self.close(origin) }
            }
            Kind::Mapping(items) => {
                let value = self.mapping(items, scope)?;
                Node { value, origin: self.close(origin) }
            }
        })
    }

    fn sequence(&mut self, items: &[Item<Tree>], scope: &Scope) -> Done<Value> {
        let mut nodes = Vec::new();
        let base = self.depth();
        self.open();
        self.items(items, scope, &mut |renderer, tree, scope| {
            let node = renderer.tree(tree, scope)?;
            let origin = renderer.within(node.origin, base);
            nodes.push(node.with_origin(origin));
            Ok(())
        })?;
        Ok(Value::Sequence(Arc::new(nodes)))
    }

    fn mapping(&mut self, items: &[Item<tree::Entry>], scope: &Scope) -> Done<Value> {
        let mut entries: Vec<yaml::Entry> = Vec::new();
        let base = self.depth();
        self.open();
        self.items(items, scope, &mut |renderer, entry, scope| {
            let name = match &entry.key {
                Key::Name(name) => Ok((name.clone(), entry.origin)),
                Key::Text(words) => renderer.words(words, scope, entry.origin),
            };
            let value = renderer.tree(&entry.value, scope);
            let (name, origin) = name?;
            let key = yaml::Key { name, origin: renderer.within(origin, base) };
            entries.push(yaml::Entry { key, value: value? });
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
                    inner = Some(scope.bind(vec![self.bound(binding, scope)?]));
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

    fn bound(&mut self, binding: &tree::Binding, scope: &Scope) -> Done<Bound> {
        let origin = self.source.origin(binding.value.offset);
        let value = self.evaluate(&binding.value, scope)?;
        let reads = self.reads();
        let node = to_node(&value, origin, &mut self.budget);
        let node = node.map_err(|unfit| self.unfit(&unfit, &binding.value, scope, None))?;
        let name = binding.name.clone();
        Ok(match &self.tracer {
            Some(_) => Tracer::bound(name, value, &node, reads, self.source.origin(binding.offset)),
            None => Bound { name, value: to_any(&node), reads },
        })
    }

    fn branches<T>(
        &mut self,
        branches: &[tree::Branch<T>],
        scope: &Scope,
        each: &mut impl FnMut(&mut Self, &T, &Scope) -> Done<()>,
    ) -> Done<()> {
        let base = self.depth();
        let mut done = Ok(());
        for branch in branches {
            let taken = match &branch.condition {
                Some(condition) => self.evaluate(condition, scope)?.is_true(),
                None => true,
            };
            self.given(branch.offset);
            if taken {
                done = self.items(&branch.items, scope, each);
                break;
            }
        }
        self.leave(base);
        done
    }

    /// What follows stands in the statement at a byte, which read what was read last.
    fn given(&mut self, offset: usize) {
        let statement = self.source.origin(offset);
        if let Some(tracer) = &mut self.tracer {
            let reads = tracer.recorder.take();
            tracer.given(statement, reads, true);
        }
    }

    /// Leaves the statements opened since `base`.
    fn leave(&mut self, base: usize) {
        if let Some(tracer) = &mut self.tracer {
            tracer.leave(base);
        }
    }

    fn turns<T>(
        &mut self,
        turn: &Loop<T>,
        scope: &Scope,
        each: &mut impl FnMut(&mut Self, &T, &Scope) -> Done<()>,
    ) -> Done<()> {
        let over = self.evaluate(&turn.over, scope)?;
        let mut reads = self.reads();
        let items = self.list(&over, &turn.over)?;
        reads.extend(self.reads());
        let base = self.depth();
        let statement = self.source.origin(turn.offset);
        let turns = Turns::new(&over, &turn.over.text, reads);
        if let Some(tracer) = &mut self.tracer {
            tracer.given(statement, turns.shape(), true);
            tracer.leave(base);
        }
        let length = items.len();
        for (index, item) in items.into_iter().enumerate() {
            self.budget.turn().map_err(|excess| self.excess(excess, &turn.over.range()))?;
            let values = self.unpack(turn, item)?;
            if let Some(tracer) = &mut self.tracer {
                tracer.given(statement, turns.turn(&values), false);
            }
            let mut bound = match &self.tracer {
                Some(_) => turns.bound(index, values),
                None => values.into_iter().map(|(name, value)| Bound::new(name, value)).collect(),
            };
            bound.push(Bound::new("loop".into(), Any::from_object(Position { index, length })));
            let done = self.items(&turn.items, &scope.bind(bound), each);
            self.leave(base);
            done?;
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
            let unset = || format!("what is unset is null: `{} or []`", expression.text);
            let hint = if over.is_none() { unset() } else { NO_LIST.to_owned() };
            let message = format!("`{}` is {what}: a loop takes a list or a map", expression.text);
            return Err(self.error("template-value", &expression.range(), message, Some(hint)));
        }
        match over.try_iter() {
            Ok(items) => Ok(items.take(MAX_TURNS + 1).collect()),
            Err(error) => {
                let message = format!("`{}` fails: {error}", expression.text);
                Err(self.error("template-value", &expression.range(), message, Some(NO_LIST.to_owned())))
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

    fn words(&mut self, words: &Words, scope: &Scope, origin: Origin) -> Done<(Arc<str>, Origin)> {
        let (items, terminated) = match &words.kind {
            words::Kind::Parts(parts) => return self.text_of(parts, scope, origin),
            words::Kind::Lines(items, terminated) => (items, *terminated),
        };
        let base = self.depth();
        self.begin_text();
        let mut text = String::new();
        let mut first = true;
        self.items(items, scope, &mut |renderer, line, scope| {
            if !std::mem::take(&mut first) {
                text.push('\n');
            }
            renderer.line(renderer.source.origin(line.offset), base);
            renderer.parts(&line.parts, scope, &mut text, None)
        })?;
        if terminated && !first {
            text.push('\n');
        }
        Ok((text.into(), self.end_text(origin)))
    }

    /// The text that parts make, which stand in the file at an origin.
    pub(super) fn text_of(
        &mut self,
        parts: &[Part],
        scope: &Scope,
        origin: Origin,
    ) -> Done<(Arc<str>, Origin)> {
        self.begin_text();
        let first = self.source.block_line(origin.offset as usize, 0);
        self.line(first.map_or(origin, |at| self.source.origin(at)), self.depth());
        let mut text = String::new();
        self.parts(parts, scope, &mut text, Some(origin))?;
        if let (Some(tracer), true) = (&mut self.tracer, text.ends_with('\n')) {
            tracer.unline();
        }
        Ok((text.into(), self.end_text(origin)))
    }

    /// Appends what parts make; `block` is where they stand, if that may be several lines.
    fn parts(&mut self, parts: &[Part], scope: &Scope, text: &mut String, block: Option<Origin>) -> Done<()> {
        let mut result = Ok(());
        let mut lines = 0;
        for part in parts {
            let before = text.len();
            let range = match part {
                Part::Text(part) => {
                    text.push_str(part);
                    if let (Some(_), Some(block)) = (&self.tracer, block) {
                        self.lines(part, block, &mut lines);
                    }
                    0..1
                }
                Part::Expression(expression) => {
                    match self.text(expression, scope) {
                        Ok(part) => {
                            text.push_str(&part);
                            if let Some(tracer) = &mut self.tracer {
                                tracer.wrote(part.matches('\n').count());
                            }
                        }
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

    fn begin_text(&mut self) {
        if let Some(tracer) = &mut self.tracer {
            tracer.begin_text();
        }
    }

    fn line(&mut self, site: Origin, base: usize) {
        if let Some(tracer) = &mut self.tracer {
            tracer.line(site, base);
        }
    }

    /// The lines of a block that a text of it begins.
    fn lines(&mut self, text: &str, block: Origin, lines: &mut usize) {
        for _ in text.matches('\n') {
            *lines += 1;
            let at = self.source.block_line(block.offset as usize, *lines);
            self.line(at.map_or(block, |at| self.source.origin(at)), self.depth());
        }
    }

    fn end_text(&mut self, origin: Origin) -> Origin {
        self.tracer.as_mut().map_or(origin, |tracer| tracer.end_text(origin))
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
