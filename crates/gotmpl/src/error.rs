//! Errors of parsing and rendering templates, and of reading YAML.

use std::fmt;

/// The reason that a template or a text was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Error {
    /// Whether Go reports an error, too, or its result is unknown.
    pub kind: ErrorKind,
    /// What is wrong, in the wording of Go's packages where they have one.
    pub message: String,
    /// The line, counted from 1, if known.
    pub line: Option<usize>,
}

/// The kind of an error. For the first two kinds, Go also reports an error; for the others, Go's result is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorKind {
    /// The text is not a template, or not YAML.
    Syntax,
    /// Go's engine would also fail while executing the template.
    Exec,
    /// Go's engine produces a result that cannot be determined here.
    Unsupported,
    /// The evaluation exceeds its limits of time or memory.
    Limit,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for Error {}

/// An error that may not know its line yet. It is boxed because every result carries it.
pub(super) type BoxedError = Box<Error>;

/// A result within the engine.
pub(super) type Outcome<T> = Result<T, BoxedError>;

#[expect(clippy::unnecessary_box_returns, reason = "results carry it everywhere")]
fn fault(kind: ErrorKind, message: impl Into<String>) -> BoxedError {
    Box::new(Error { kind, message: message.into(), line: None })
}

/// An error that Go's engine also reports.
#[expect(clippy::unnecessary_box_returns, reason = "results carry it everywhere")]
pub(super) fn exec(message: impl Into<String>) -> BoxedError {
    fault(ErrorKind::Exec, message)
}

/// A result that only the real controller can know.
#[expect(clippy::unnecessary_box_returns, reason = "results carry it everywhere")]
pub(super) fn unsupported(message: impl Into<String>) -> BoxedError {
    fault(ErrorKind::Unsupported, message)
}

/// A time or memory limit was exceeded.
#[expect(clippy::unnecessary_box_returns, reason = "results carry it everywhere")]
pub(super) fn limit(message: impl Into<String>) -> BoxedError {
    fault(ErrorKind::Limit, message)
}

/// A text that cannot be parsed.
#[expect(clippy::unnecessary_box_returns, reason = "results carry it everywhere")]
pub(super) fn syntax(message: impl Into<String>, line: usize) -> BoxedError {
    Box::new(Error { kind: ErrorKind::Syntax, message: message.into(), line: Some(line) })
}
