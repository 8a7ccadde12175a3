//! Unpacks checked arguments. A wrong type here means a mistake in the function table.

use super::super::error::{Outcome, exec};
use super::super::value::{Str, Value};

/// An argument of any type, or nil if it is missing.
pub(super) fn any<'v, 'a>(args: &'v [Value<'a>], index: usize) -> &'v Value<'a> {
    args.get(index).unwrap_or(&Value::Nil)
}

/// A `string` argument.
pub(super) fn text<'v, 'a>(args: &'v [Value<'a>], index: usize) -> Outcome<&'v Str<'a>> {
    match args.get(index) {
        Some(Value::Str(text)) => Ok(text),
        _ => Err(exec("expected string")),
    }
}

/// An `int` argument.
pub(super) fn int(args: &[Value<'_>], index: usize) -> Outcome<i64> {
    match args.get(index) {
        Some(Value::Int(_, number)) => Ok(*number),
        _ => Err(exec("expected integer")),
    }
}

/// A `bool` argument.
pub(super) fn flag(args: &[Value<'_>], index: usize) -> Outcome<bool> {
    match args.get(index) {
        Some(Value::Bool(flag)) => Ok(*flag),
        _ => Err(exec("expected bool")),
    }
}

/// The arguments starting at an index.
pub(super) fn from<'v, 'a>(args: &'v [Value<'a>], index: usize) -> &'v [Value<'a>] {
    args.get(index..).unwrap_or_default()
}
