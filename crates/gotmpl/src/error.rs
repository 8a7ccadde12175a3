//! What can go wrong while a template is parsed or rendered, or YAML is read.

use std::fmt;

/// Why a template or a text was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Error {
    /// Whose fault it is.
    pub kind: ErrorKind,
    /// What is wrong, in the words of Go's packages where they have some.
    pub message: String,
    /// The line, counted from 1, where it is known.
    pub line: Option<usize>,
}

/// Why there is no result. After the first two, Go would report an error, too; after the others, its result is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorKind {
    /// The text is not a template, or not YAML.
    Syntax,
    /// Go's engine would stop with an error while it executes the template.
    Exec,
    /// Go's engine has a result, but it cannot be known here.
    Unsupported,
    /// The evaluation takes more time or memory than is granted to it.
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

/// An error that does not know its line yet; boxed, because results carry it everywhere.
pub(super) type Fault = Box<Error>;

/// A result inside of the engine.
pub(super) type Outcome<T> = Result<T, Fault>;

#[expect(clippy::unnecessary_box_returns, reason = "results carry it everywhere")]
fn fault(kind: ErrorKind, message: impl Into<String>) -> Fault {
    Box::new(Error { kind, message: message.into(), line: None })
}

/// An error that Go's engine reports too.
#[expect(clippy::unnecessary_box_returns, reason = "results carry it everywhere")]
pub(super) fn exec(message: impl Into<String>) -> Fault {
    fault(ErrorKind::Exec, message)
}

/// Something whose result only the real controller can know.
#[expect(clippy::unnecessary_box_returns, reason = "results carry it everywhere")]
pub(super) fn unsupported(message: impl Into<String>) -> Fault {
    fault(ErrorKind::Unsupported, message)
}

/// Too much time or memory.
#[expect(clippy::unnecessary_box_returns, reason = "results carry it everywhere")]
pub(super) fn limit(message: impl Into<String>) -> Fault {
    fault(ErrorKind::Limit, message)
}

/// A text that cannot be parsed.
#[expect(clippy::unnecessary_box_returns, reason = "results carry it everywhere")]
pub(super) fn syntax(message: impl Into<String>, line: usize) -> Fault {
    Box::new(Error { kind: ErrorKind::Syntax, message: message.into(), line: Some(line) })
}
