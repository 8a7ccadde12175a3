//! `semver`, `semverCompare`, and the methods of versions.

use std::cmp::Ordering;
use std::rc::Rc;

use super::super::budget::Context;
use super::super::constraint::Constraint;
use super::super::error::{Outcome, exec};
use super::super::value::{Str, UintType, Value};
use super::super::version::{Version, valid_identifiers, valid_prerelease};
use super::args::{any, text};
use super::{Function, Type};

use Type::Text;

/// The longest text that is considered a version.
const MAX_LEN: usize = 16 << 10;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("semver", &[Text], semver),
    Function::new("semverCompare", &[Text, Text], semver_compare),
];

/// Methods of both values and pointers.
pub(in super::super) const METHODS: &[Function] = &[
    Function::new("Major", &[], major),
    Function::new("Minor", &[], minor),
    Function::new("Patch", &[], patch),
    Function::new("Prerelease", &[], prerelease),
    Function::new("Metadata", &[], metadata),
    Function::new("String", &[], string),
    Function::new("IncMajor", &[], inc_major),
    Function::new("IncMinor", &[], inc_minor),
    Function::new("IncPatch", &[], inc_patch),
    Function::new("SetPrerelease", &[Text], set_prerelease),
    Function::new("SetMetadata", &[Text], set_metadata),
];

/// Methods of pointers only.
pub(in super::super) const POINTER_METHODS: &[Function] = &[
    Function::new("Original", &[], original),
    Function::new("LessThan", &[Type::Version], less_than),
    Function::new("LessThanEqual", &[Type::Version], less_than_equal),
    Function::new("GreaterThan", &[Type::Version], greater_than),
    Function::new("GreaterThanEqual", &[Type::Version], greater_than_equal),
    Function::new("Equal", &[Type::Version], equal),
    Function::new("Compare", &[Type::Version], compare),
];

fn parse<'a>(cx: &mut Context<'a>, text: &Str<'a>) -> Outcome<Version> {
    let bytes = text.bytes();
    cx.charge(bytes.len() as u64 * 4)?;
    if bytes.len() > MAX_LEN {
        return Err(super::super::error::limit("a version is too long"));
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Err(exec("invalid semantic version"));
    };
    Version::parse(text).map_err(exec)
}

fn semver<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::Version(Rc::new(parse(cx, text(args, 0)?)?), true))
}

fn semver_compare<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let bytes = text(args, 0)?.bytes();
    cx.spend(50 + bytes.len() as u64)?;
    if bytes.len() > MAX_LEN {
        return Err(super::super::error::limit("a version constraint is too long"));
    }
    let Ok(constraint) = std::str::from_utf8(bytes) else {
        return Err(exec("improper constraint"));
    };
    let constraint = Constraint::parse(constraint).map_err(exec)?;
    let version = parse(cx, text(args, 1)?)?;
    Ok(Value::Bool(constraint.check(&version)))
}

/// The version that a method is called on, or that it receives as an argument.
fn version<'v>(args: &'v [Value<'_>], index: usize) -> Outcome<&'v Version> {
    match any(args, index) {
        Value::Version(version, _) => Ok(version),
        _ => Err(exec("runtime error: invalid memory address or nil pointer dereference")),
    }
}

fn number<'a>(number: u64) -> Value<'a> {
    Value::Uint(UintType::Uint64, number)
}

fn major<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(number(version(args, 0)?.major))
}

fn minor<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(number(version(args, 0)?.minor))
}

fn patch<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(number(version(args, 0)?.patch))
}

fn prerelease<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    cx.text(version(args, 0)?.pre.clone())
}

fn metadata<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    cx.text(version(args, 0)?.metadata.clone())
}

fn original<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    cx.text(version(args, 0)?.original.clone())
}

fn string<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    cx.text(version(args, 0)?.to_string())
}

/// A version as a value instead of a pointer.
fn plain<'a>(version: Version) -> Outcome<Value<'a>> {
    Ok(Value::Version(Rc::new(version), false))
}

fn inc_major<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let version = version(args, 0)?;
    plain(version.next(version.major.wrapping_add(1), 0, 0))
}

fn inc_minor<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let version = version(args, 0)?;
    plain(version.next(version.major, version.minor.wrapping_add(1), 0))
}

fn inc_patch<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let version = version(args, 0)?;
    let step = u64::from(version.pre.is_empty());
    plain(version.next(version.major, version.minor, version.patch.wrapping_add(step)))
}

fn set_prerelease<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let pre = text(args, 1)?.lossy().into_owned();
    if !valid_prerelease(&pre) {
        return Err(exec("invalid prerelease string"));
    }
    plain(Version { pre, ..version(args, 0)?.clone() }.with_original())
}

fn set_metadata<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let metadata = text(args, 1)?.lossy().into_owned();
    if !valid_identifiers(&metadata) {
        return Err(exec("invalid metadata string"));
    }
    plain(Version { metadata, ..version(args, 0)?.clone() }.with_original())
}

fn order(args: &[Value<'_>]) -> Outcome<Ordering> {
    Ok(version(args, 0)?.compare(version(args, 1)?))
}

fn less_than<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::Bool(order(args)?.is_lt()))
}

fn less_than_equal<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::Bool(order(args)?.is_le()))
}

fn greater_than<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::Bool(order(args)?.is_gt()))
}

fn greater_than_equal<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::Bool(order(args)?.is_ge()))
}

fn equal<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    if any(args, 1).is_nil() {
        return Ok(Value::Bool(false));
    }
    Ok(Value::Bool(order(args)?.is_eq()))
}

fn compare<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::int(match order(args)? {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    }))
}
