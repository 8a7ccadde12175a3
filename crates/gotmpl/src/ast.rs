//! A parsed template.

use std::collections::BTreeMap;

use super::functions::Function;
use super::literal::Number;

/// Every template that a source defines, by name.
#[derive(Debug, Default)]
pub(super) struct Trees {
    pub(super) named: BTreeMap<String, List>,
    /// Whether a function is called that changes maps in place.
    pub(super) changes_data: bool,
}

/// What is done one after the other.
pub(super) type List = Vec<Node>;

/// One step of a template.
#[derive(Debug)]
pub(super) enum Node {
    /// Text that is written as it is.
    Text(Box<str>),
    /// `{{pipeline}}`
    Action(Pipeline),
    /// `{{if}}` or `{{with}}`, each arm a condition and what it guards.
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
    /// Whether the condition becomes the dot.
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

/// The number of a variable's name in its template.
pub(super) type Name = usize;

/// Commands, each of which gets the value of the one before as its last argument.
#[derive(Debug)]
pub(super) struct Pipeline {
    pub(super) line: usize,
    /// The variables that the value goes to.
    pub(super) variables: Vec<Name>,
    /// `=` rather than `:=`
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
