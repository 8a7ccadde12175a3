//! The tests of the language, used after `is`. All except `defined` and `undefined` refuse undefined values.

use minijinja::{Error, ErrorKind, Value as Any, value::ValueKind};

use super::lists::shown;

fn kind(value: &Any) -> Result<ValueKind, Error> {
    match value.kind() {
        ValueKind::Undefined => Err(Error::from(ErrorKind::UndefinedError)),
        kind => Ok(kind),
    }
}

/// Defines tests of a value's kind.
macro_rules! kinds {
    ($($name:ident: $pattern:pat,)*) => {
        $(pub(super) fn $name(value: &Any) -> Result<bool, Error> {
            Ok(matches!(kind(value)?, $pattern))
        })*
    };
}

kinds! {
    boolean: ValueKind::Bool,
    none: ValueKind::None,
    number: ValueKind::Number,
    string: ValueKind::String,
    mapping: ValueKind::Map,
    sequence: ValueKind::Seq | ValueKind::Iterable,
    iterable: ValueKind::Seq | ValueKind::Iterable | ValueKind::Map,
}

/// Defines tests that compare two values.
macro_rules! comparisons {
    ($($name:ident: $sign:tt,)*) => {
        $(pub(super) fn $name(value: &Any, other: &Any) -> Result<bool, Error> {
            kind(value)?;
            kind(other)?;
            Ok(value $sign other)
        })*
    };
}

comparisons! { eq: ==, ne: !=, lt: <, le: <=, gt: >, ge: >=, }

pub(super) fn integer(value: &Any) -> Result<bool, Error> {
    Ok(kind(value)? == ValueKind::Number && value.is_integer())
}

pub(super) fn float(value: &Any) -> Result<bool, Error> {
    Ok(kind(value)? == ValueKind::Number && !value.is_integer())
}

pub(super) fn is_true(value: &Any) -> Result<bool, Error> {
    Ok(kind(value)? == ValueKind::Bool && value.is_true())
}

pub(super) fn is_false(value: &Any) -> Result<bool, Error> {
    Ok(kind(value)? == ValueKind::Bool && !value.is_true())
}

pub(super) fn even(value: &Any) -> Result<bool, Error> {
    Ok(whole(value)? % 2 == 0)
}

pub(super) fn odd(value: &Any) -> Result<bool, Error> {
    Ok(whole(value)? % 2 != 0)
}

fn whole(value: &Any) -> Result<i64, Error> {
    let wrong = || Error::new(ErrorKind::InvalidOperation, format!("{} is not a whole number", shown(value)));
    if integer(value)? { value.as_i64().ok_or_else(wrong) } else { Err(wrong()) }
}

pub(super) fn is_in(value: &Any, container: &Any) -> Result<bool, Error> {
    kind(value)?;
    match kind(container)? {
        ValueKind::Seq | ValueKind::Iterable => Ok(container.try_iter()?.any(|item| item == *value)),
        ValueKind::Map => Ok(!container.get_item(value)?.is_undefined()),
        ValueKind::String => Ok(text(container)?.contains(text(value)?)),
        other => Err(Error::new(ErrorKind::InvalidOperation, format!("{other} holds nothing"))),
    }
}

pub(super) fn startingwith(value: &Any, start: &Any) -> Result<bool, Error> {
    Ok(text(value)?.starts_with(text(start)?))
}

pub(super) fn endingwith(value: &Any, end: &Any) -> Result<bool, Error> {
    Ok(text(value)?.ends_with(text(end)?))
}

fn text(value: &Any) -> Result<&str, Error> {
    kind(value)?;
    value
        .as_str()
        .ok_or_else(|| Error::new(ErrorKind::InvalidOperation, format!("{} is not text", shown(value))))
}
