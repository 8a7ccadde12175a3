//! Evaluates templates. Nothing is parsed here, and every fault has the place of its expression.

mod statements;
mod texts;

use std::{collections::BTreeSet, ops::Range, sync::Arc};

use minijinja::Value as Any;

use super::{
    context::{Context, Scope},
    expression::{Expression, Failure},
    limits::{Budget, Excess},
    record::Read,
    tracer::Tracer,
    tree::{self, Item, Key, NodeKind, Tree},
    value::{Unfit, to_node},
};
use crate::{
    note::Notes,
    yaml::{self, Node, Origin, Source, Value},
};

/// One rendering of one template.
pub(super) struct Renderer<'a> {
    pub(super) source: &'a Source,
    pub(super) notes: &'a mut Notes,
    budget: Budget,
    /// Present if reads are recorded.
    tracer: Option<Tracer>,
}

/// The reason that there is no value. The details are in the notes.
pub(super) enum Failed {
    /// Only this entry failed; the others can still be checked.
    Here,
    /// A limit was exceeded; continuing is pointless.
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
            NodeKind::Scalar(value) => Node { value: value.clone(), origin },
            NodeKind::Typed(expression) => return self.node(expression, scope, origin),
            NodeKind::Text(words) => {
                let (text, origin) = self.words(words, scope, origin)?;
                Node { value: Value::String(text), origin }
            }
            NodeKind::Sequence(items) => {
                let value = self.sequence(items, scope)?;
                Node { value, origin: self.close(origin) }
            }
            NodeKind::Mapping(items) => {
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
            format!("the template produces the key `{}` twice in one map", twice.key.name),
        );
        if let Some(first) = first.filter(|first| first.key.origin != twice.key.origin) {
            note.related("first here", self.source.word(first.key.origin.offset as usize));
        }
        note.hint("produce it once: YAML readers differ on which one counts");
        Err(Failed::Here)
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

    fn evaluate(&mut self, expression: &Expression, scope: &Scope) -> Done<Any> {
        self.reads();
        expression.evaluate(scope).map_err(|failure| self.failure(failure))
    }

    /// The reads since the last call; empty if reads are not recorded.
    fn reads(&mut self) -> Vec<Read> {
        self.tracer.as_ref().map(|tracer| tracer.recorder.take()).unwrap_or_default()
    }

    /// The number of open statements.
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

    fn failure(&mut self, failure: Failure) -> Failed {
        self.error(failure.code, &failure.range, failure.message, failure.hint)
    }

    fn excess(&mut self, excess: Excess, range: &Range<usize>) -> Failed {
        let hint = "check the loops: one may run over more than intended".to_owned();
        self.error("template-limit", range, excess.to_string(), Some(hint))
    }

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
}
