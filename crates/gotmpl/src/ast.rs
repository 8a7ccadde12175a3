//! The syntax tree of a parsed template.

use std::collections::BTreeMap;

use super::functions::Function;
use super::literal::Number;

/// All templates that a source defines, by name.
#[derive(Debug, Default)]
pub(super) struct Trees {
    pub(super) named: BTreeMap<String, List>,
    /// Whether it calls a function that changes maps in place.
    pub(super) changes_data: bool,
}

/// Nodes that are executed in order.
pub(super) type List = Vec<Node>;

/// A node of a template.
#[derive(Debug)]
pub(super) enum Node {
    /// Text that is written unchanged.
    Text(Box<str>),
    /// `{{pipeline}}`
    Action(Pipeline),
    /// `{{if}}` or `{{with}}`; each arm consists of a condition and its body.
    Branch(Branch),
    /// `{{range}}`
    Range(Range),
    /// `{{template "name" pipeline}}`
    Template { name: Box<str>, data: Option<Pipeline>, line: usize },
    /// `{{break}}`
    Break,
    /// `{{continue}}`
    Continue,
}

/// `{{if}} … {{else if}} … {{else}} … {{end}}`, or the same with `with`.
#[derive(Debug)]
pub(super) struct Branch {
    /// Whether the value of the condition becomes the dot.
    pub(super) with: bool,
    pub(super) arms: Vec<(Pipeline, List)>,
    pub(super) otherwise: Option<List>,
}

/// `{{range pipeline}} … {{else}} … {{end}}`
#[derive(Debug)]
pub(super) struct Range {
    pub(super) over: Pipeline,
    pub(super) body: List,
    pub(super) otherwise: Option<List>,
}

/// The index of a variable's name in its template.
pub(super) type Name = usize;

/// A chain of commands. Each receives the value of the previous one as its last argument.
#[derive(Debug)]
pub(super) struct Pipeline {
    pub(super) line: usize,
    /// The variables that receive the value.
    pub(super) variables: Vec<Name>,
    /// Whether it uses `=` instead of `:=`.
    pub(super) assigns: bool,
    pub(super) commands: Vec<Command>,
}

/// An operand and its arguments.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) head: Operand,
    pub(super) arguments: Vec<Operand>,
}

/// One word of a command.
#[derive(Debug)]
pub(super) enum Operand {
    /// `.`
    Dot,
    /// `nil`
    Nil,
    /// `true`, `false`
    Bool(bool),
    /// `1`, `0x1F`, `1.5`, `'a'`
    Number(Number),
    /// `"text"`
    Text(Box<[u8]>),
    /// `.a.b`
    Field(Vec<Box<str>>),
    /// `$x.a.b`
    Variable(Name, Vec<Box<str>>),
    /// `(pipeline)`
    Pipeline(Box<Pipeline>),
    /// `name`
    Function(&'static Function),
    /// `(pipeline).a.b`
    Chain(Box<Operand>, Vec<Box<str>>),
}
