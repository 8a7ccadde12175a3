//! Executes a template and writes its output.

use super::ast::{Branch, List, Name, Node, Pipeline, Range, Trees};
use super::budget::Context;
use super::error::{Outcome, exec, limit};
use super::format;
use super::value::Value;

/// The deepest nesting of template calls and blocks.
const MAX_DEPTH: usize = 120;
/// The longest output in bytes, well above what an API server stores.
const MAX_OUTPUT: usize = 8 << 20;

/// How a list of nodes ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    Next,
    Break,
    Continue,
}

pub(super) struct Renderer<'a> {
    trees: &'a Trees,
    pub(super) cx: Context<'a>,
    out: Vec<u8>,
    variables: Vec<(Name, Value<'a>)>,
    /// The index of the first variable of the current template; earlier ones belong to its caller.
    frame: usize,
    depth: usize,
    /// The arguments of the calls in progress.
    pub(super) stack: Vec<Value<'a>>,
    /// The line of the current pipeline.
    pub(super) line: usize,
}

impl<'a> Renderer<'a> {
    pub(super) fn new(trees: &'a Trees, cx: Context<'a>) -> Renderer<'a> {
        Renderer {
            trees,
            cx,
            out: Vec::new(),
            variables: Vec::new(),
            frame: 0,
            depth: 0,
            stack: Vec::new(),
            line: 1,
        }
    }

    /// Renders a named template with its data.
    pub(super) fn run(&mut self, name: &str, data: &Value<'a>) -> Outcome<Vec<u8>> {
        let trees = self.trees;
        let Some(root) = trees.named.get(name) else {
            return Err(exec(format!("{name:?} is an incomplete or empty template")));
        };
        self.variables.push((0, data.clone()));
        self.list(data, root)?;
        Ok(std::mem::take(&mut self.out))
    }

    fn list(&mut self, dot: &Value<'a>, list: &'a List) -> Outcome<Flow> {
        for node in list {
            let flow = self.node(dot, node)?;
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    fn node(&mut self, dot: &Value<'a>, node: &'a Node) -> Outcome<Flow> {
        self.cx.spend(1)?;
        match node {
            Node::Text(text) => self.write(text.as_bytes())?,
            Node::Action(pipeline) => {
                let value = self.pipeline(dot, pipeline)?;
                if pipeline.variables.is_empty() {
                    self.print(&value)?;
                }
            }
            Node::Branch(branch) => return self.deeper(|this| this.branch(dot, branch)),
            Node::Range(range) => return self.deeper(|this| this.range(dot, range)),
            Node::Template { name, data, line } => {
                self.line = *line;
                self.deeper(|this| this.template(dot, name, data.as_ref()))?;
            }
            Node::Break => return Ok(Flow::Break),
            Node::Continue => return Ok(Flow::Continue),
        }
        Ok(Flow::Next)
    }

    fn deeper<T>(&mut self, walk: impl FnOnce(&mut Self) -> Outcome<T>) -> Outcome<T> {
        if self.depth >= MAX_DEPTH {
            return Err(limit("exceeded maximum template depth"));
        }
        self.depth += 1;
        let result = walk(self);
        self.depth -= 1;
        result
    }

    fn write(&mut self, bytes: &[u8]) -> Outcome<()> {
        if self.out.len() + bytes.len() > MAX_OUTPUT {
            return Err(limit("the template writes too much"));
        }
        self.out.extend_from_slice(bytes);
        self.cx.read(bytes.len())
    }

    fn print(&mut self, value: &Value<'a>) -> Outcome<()> {
        match value {
            Value::Str(text) => self.write(text.bytes()),
            Value::Invalid => self.write(b"<no value>"),
            other => {
                let mut text = Vec::new();
                format::print(&mut self.cx, &mut text, other)?;
                self.write(&text)
            }
        }
    }

    fn branch(&mut self, dot: &Value<'a>, branch: &'a Branch) -> Outcome<Flow> {
        let mark = self.variables.len();
        let mut flow = Flow::Next;
        let mut taken = false;
        for (condition, body) in &branch.arms {
            let value = self.pipeline(dot, condition)?;
            if value.truth() {
                flow = self.list(if branch.with { &value } else { dot }, body)?;
                taken = true;
                break;
            }
        }
        if let (false, Some(otherwise)) = (taken, &branch.otherwise) {
            flow = self.list(dot, otherwise)?;
        }
        self.variables.truncate(mark);
        Ok(flow)
    }

    fn template(&mut self, dot: &Value<'a>, name: &str, data: Option<&'a Pipeline>) -> Outcome<()> {
        let trees = self.trees;
        let Some(body) = trees.named.get(name) else {
            return Err(exec(format!("template {name:?} not defined")));
        };
        let dot = match data {
            Some(pipeline) => self.pipeline(dot, pipeline)?,
            None => Value::Invalid,
        };
        let frame = std::mem::replace(&mut self.frame, self.variables.len());
        self.variables.push((0, dot.clone()));
        self.list(&dot, body)?;
        self.variables.truncate(self.frame);
        self.frame = frame;
        Ok(())
    }

    fn range(&mut self, dot: &Value<'a>, range: &'a Range) -> Outcome<Flow> {
        let mark = self.variables.len();
        let over = self.pipeline(dot, &range.over)?;
        let ran = match &over {
            Value::Int(..) | Value::Uint(..) => self.count(range, &over)?,
            Value::JsonList(_) | Value::List(_) => self.each_item(range, &over)?,
            Value::JsonMap(_) | Value::Map(_) => self.each_entry(range, &over)?,
            Value::Invalid | Value::Nil => false,
            other => {
                let kind = other.type_name();
                return Err(exec(format!("range can't iterate over a value of type {kind}")));
            }
        };
        let mut flow = Flow::Next;
        if let (false, Some(otherwise)) = (ran, &range.otherwise) {
            flow = self.list(dot, otherwise)?;
        }
        self.variables.truncate(mark);
        // As in Go, a `break` in the else branch ends this range, but a `continue` applies to the outer one.
        Ok(if flow == Flow::Break { Flow::Next } else { flow })
    }

    fn count(&mut self, range: &'a Range, over: &Value<'a>) -> Outcome<bool> {
        if range.over.variables.len() > 1 {
            return Err(exec("can't use an integer to iterate over more than one variable"));
        }
        let end = match over {
            Value::Int(_, end) => u64::try_from(*end).unwrap_or(0),
            Value::Uint(_, end) => *end,
            _ => 0,
        };
        for index in 0..end {
            let number = match over {
                Value::Uint(kind, _) => Value::Uint(*kind, index),
                Value::Int(kind, _) => Value::Int(*kind, i64::try_from(index).unwrap_or(i64::MAX)),
                _ => Value::Invalid,
            };
            if self.iteration(range, Value::Invalid, &number)? == Flow::Break {
                break;
            }
        }
        Ok(end > 0)
    }

    fn each_item(&mut self, range: &'a Range, over: &Value<'a>) -> Outcome<bool> {
        let len = over.list_len().unwrap_or(0);
        for index in 0..len {
            let Some(item) = over.item(index) else { break };
            if self.iteration(range, Value::len_int(index), &item)? == Flow::Break {
                break;
            }
        }
        Ok(len > 0)
    }

    fn each_entry(&mut self, range: &'a Range, over: &Value<'a>) -> Outcome<bool> {
        let entries = over.entries(&mut self.cx)?;
        let ran = !entries.is_empty();
        for (key, value) in entries {
            if self.iteration(range, Value::Str(key), &value)? == Flow::Break {
                break;
            }
        }
        Ok(ran)
    }

    fn iteration(&mut self, range: &'a Range, index: Value<'a>, item: &Value<'a>) -> Outcome<Flow> {
        self.cx.spend(1)?;
        let mark = self.variables.len();
        let targets = &range.over.variables;
        let (first, second) =
            if targets.len() > 1 { (Some(index), Some(item.clone())) } else { (Some(item.clone()), None) };
        let count = targets.len();
        for (at, (name, value)) in targets.iter().zip([first, second]).enumerate() {
            let Some(value) = value else { continue };
            if range.over.assigns {
                self.assign(*name, value)?;
            } else if let Some(slot) =
                self.variables.len().checked_sub(count - at).and_then(|at| self.variables.get_mut(at))
            {
                slot.1 = value;
            }
        }
        let flow = self.list(item, &range.body)?;
        self.variables.truncate(mark);
        Ok(flow)
    }

    /// Evaluates a pipeline and assigns its value to the pipeline's variables.
    pub(super) fn pipeline(&mut self, dot: &Value<'a>, pipeline: &'a Pipeline) -> Outcome<Value<'a>> {
        self.line = pipeline.line;
        let mut value = None;
        for command in &pipeline.commands {
            self.cx.spend(1)?;
            value = Some(self.command(dot, command, value)?.unwrapped());
        }
        let value = value.unwrap_or(Value::Invalid);
        for name in &pipeline.variables {
            if pipeline.assigns {
                self.assign(*name, value.clone())?;
            } else {
                self.variables.push((*name, value.clone()));
            }
        }
        Ok(value)
    }

    fn assign(&mut self, name: Name, value: Value<'a>) -> Outcome<()> {
        let visible = self.variables.get_mut(self.frame..).unwrap_or_default();
        match visible.iter_mut().rev().find(|variable| variable.0 == name) {
            Some(variable) => {
                variable.1 = value;
                Ok(())
            }
            None => Err(exec("undefined variable")),
        }
    }

    pub(super) fn variable(&self, name: Name) -> Outcome<Value<'a>> {
        let visible = self.variables.get(self.frame..).unwrap_or_default();
        match visible.iter().rev().find(|variable| variable.0 == name) {
            Some(variable) => Ok(variable.1.clone()),
            None => Err(exec("undefined variable")),
        }
    }
}
