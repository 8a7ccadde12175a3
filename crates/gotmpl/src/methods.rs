//! The methods that templates may call on values.

use super::error::{Outcome, unsupported};
use super::functions::{Function, OTHER_TIME_METHODS, POINTER_METHODS, TIME_METHODS, VERSION_METHODS};
use super::value::Value;

/// Methods of versions that templates have no use for.
const OTHER_VERSION_METHODS: &[&str] =
    &["MarshalJSON", "MarshalText", "Scan", "UnmarshalJSON", "UnmarshalText", "Value"];

/// Finds a method of the value's type.
pub(super) fn find(receiver: &Value<'_>, name: &str) -> Outcome<Option<&'static Function>> {
    let (groups, others): (&[&[Function]], &[&str]) = match receiver {
        Value::Version(_, true) => (&[VERSION_METHODS, POINTER_METHODS], OTHER_VERSION_METHODS),
        Value::Version(_, false) => (&[VERSION_METHODS], OTHER_VERSION_METHODS),
        Value::Time(_) => (&[TIME_METHODS], OTHER_TIME_METHODS),
        _ => (&[], &[]),
    };
    if others.contains(&name) {
        return Err(unsupported(format!("the method {name} of {} is not supported", receiver.type_name())));
    }
    Ok(groups.iter().copied().flatten().find(|method| method.name == name))
}
