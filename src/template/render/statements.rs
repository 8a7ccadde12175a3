//! Evaluates `if`, `for` and `set` and the items between them.

use std::sync::Arc;

use minijinja::{
    Value as Any,
    value::{Object, ValueKind},
};

use super::{Done, Failed, Renderer};
use crate::template::{
    context::{Bound, Scope},
    expression::Expression,
    limits::MAX_TURNS,
    tracer::{LoopSource, Tracer},
    tree::{self, Item, Loop},
    value::{to_any, to_node},
};

const NO_LIST: &str = "for a number of turns write `range(n)`, for one item `[item]`";

impl Renderer<'_> {
    /// Visits items with the names that statements bind. Continues after a fault to find all of them.
    pub(super) fn items<T>(
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
        let turns = LoopSource::new(&over, &turn.over.text, reads);
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

    /// The items of a list or the keys of a map.
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
        let message = format!("an item of `{}` is not a list of {}", turn.over.text, turn.names.len());
        let hint = "for the entries of a map write `#% for key, value in map | items`".to_owned();
        Err(self.error("template-value", &turn.over.range(), message, Some(hint)))
    }

    /// Enters the statement at a byte; its reads are the most recent ones.
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
}

/// The value of `loop`: the position of a loop.
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
