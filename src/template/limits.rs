//! Limits on the output of a template: a template bomb ends in an error that names the template, not in exhausted memory.

use std::fmt;

use crate::yaml::{Node, Value};

/// The most nodes of one rendering, including substituted ones.
pub(super) const MAX_NODES: usize = 200_000;
/// The most bytes of text of one rendering.
pub(super) const MAX_TEXT: usize = 8 << 20;
/// The most iterations of all loops of one rendering.
pub(super) const MAX_TURNS: usize = 200_000;
/// The deepest nesting of a rendering's output.
pub(super) const MAX_DEPTH: usize = 200;
/// The most interpreter steps of one expression.
pub(super) const FUEL: u64 = 100_000;
/// The most expressions and statements of one file. Each takes about 16 KiB once compiled.
pub(super) const MAX_EXPRESSIONS: usize = 10_000;
/// The deepest nesting of blocks, and of brackets.
pub(super) const MAX_NESTING: usize = 50;

/// An exceeded limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Excess {
    Nodes,
    Text,
    Turns,
    Depth,
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nodes => write!(f, "the template produces more than {MAX_NODES} nodes"),
            Self::Text => write!(f, "the template produces more than {} MiB of text", MAX_TEXT >> 20),
            Self::Turns => write!(f, "the loops of the template run more than {MAX_TURNS} times"),
            Self::Depth => write!(f, "the template is nested more than {MAX_DEPTH} levels deep"),
        }
    }
}

/// The remaining budget of one rendering.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    nodes: usize,
    text: usize,
    turns: usize,
    depth: usize,
}

impl Budget {
    pub(super) fn new() -> Self {
        Self { nodes: MAX_NODES, text: MAX_TEXT, turns: MAX_TURNS, depth: MAX_DEPTH }
    }

    pub(super) fn nodes(&mut self, count: usize) -> Result<(), Excess> {
        take(&mut self.nodes, count, Excess::Nodes)
    }

    pub(super) fn text(&mut self, bytes: usize) -> Result<(), Excess> {
        take(&mut self.text, bytes, Excess::Text)
    }

    pub(super) fn turn(&mut self) -> Result<(), Excess> {
        take(&mut self.turns, 1, Excess::Turns)
    }

    /// Runs `what` one level deeper.
    pub(super) fn deeper<T, E: From<Excess>>(
        &mut self,
        what: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        take(&mut self.depth, 1, Excess::Depth)?;
        let result = what(self);
        self.depth += 1;
        result
    }

    /// Charges the budget for a whole tree.
    pub(super) fn take_tree(&mut self, node: &Node) -> Result<(), Excess> {
        self.nodes(1)?;
        match &node.value {
            Value::String(text) => self.text(text.len()),
            Value::Sequence(items) => {
                self.deeper(|budget| items.iter().try_for_each(|item| budget.take_tree(item)))
            }
            Value::Mapping(mapping) => self.deeper(|budget| {
                mapping.iter().try_for_each(|entry| {
                    budget.text(entry.key.name.len())?;
                    budget.take_tree(&entry.value)
                })
            }),
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => Ok(()),
        }
    }
}

fn take(left: &mut usize, count: usize, excess: Excess) -> Result<(), Excess> {
    *left = left.checked_sub(count).ok_or(excess)?;
    Ok(())
}
