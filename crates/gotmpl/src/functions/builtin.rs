//! The functions of `text/template` itself.

use std::rc::Rc;

use super::super::budget::Context;
use super::super::error::{Outcome, exec};
use super::super::format;
use super::super::unicode;
use super::super::value::{Elem, Str, UintType, Value};
use super::{Function, Lazy, Type};

use Type::{Any, Reflect, Text};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("and", &[Reflect], first_argument).rest(Reflect).lazy(Lazy::And),
    Function::new("or", &[Reflect], first_argument).rest(Reflect).lazy(Lazy::Or),
    Function::new("not", &[Reflect], not),
    Function::new("eq", &[Reflect], equal).rest(Reflect),
    Function::new("ne", &[Reflect, Reflect], not_equal),
    Function::new("lt", &[Reflect, Reflect], less),
    Function::new("le", &[Reflect, Reflect], less_or_equal),
    Function::new("gt", &[Reflect, Reflect], greater),
    Function::new("ge", &[Reflect, Reflect], greater_or_equal),
    Function::new("len", &[Reflect], len),
    Function::new("index", &[Reflect], index).rest(Reflect),
    Function::new("call", &[Reflect], call).rest(Reflect),
    Function::new("print", &[], print).rest(Any),
    Function::new("printf", &[Text], printf).rest(Any),
    Function::new("println", &[], println).rest(Any),
    Function::new("html", &[], html).rest(Any),
    Function::new("js", &[], js).rest(Any),
    Function::new("urlquery", &[], url_query).rest(Any),
];

/// Separate from the others because sprig has its own `slice`.
pub(super) static SLICE: Function = Function::new("slice", &[Reflect], slice).rest(Reflect);

/// The body of `and` and `or`, as if they were ordinary functions.
fn first_argument<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(args.first().cloned().unwrap_or(Value::Invalid))
}

fn not<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::Bool(!args.first().is_some_and(Value::truth)))
}

/// The groups of values that can be compared with each other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Basic {
    None,
    Bool,
    Int,
    Uint,
    Float,
    Text,
}

fn basic(value: &Value<'_>) -> Basic {
    match value {
        Value::Bool(_) => Basic::Bool,
        Value::Int(..) => Basic::Int,
        Value::Uint(..) => Basic::Uint,
        Value::Float(_) => Basic::Float,
        Value::Str(_) => Basic::Text,
        _ => Basic::None,
    }
}

fn incompatible<T>(left: &Value<'_>, right: &Value<'_>) -> Outcome<T> {
    let (left, right) = (left.type_name(), right.type_name());
    Err(exec(format!("incompatible types for comparison: {left} and {right}")))
}

/// Compares two values the way `eq` does.
fn same(left: &Value<'_>, right: &Value<'_>) -> Outcome<bool> {
    Ok(match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => left == right,
        (Value::Int(_, left), Value::Int(_, right)) => left == right,
        (Value::Uint(_, left), Value::Uint(_, right)) => left == right,
        (Value::Int(_, int), Value::Uint(_, uint)) | (Value::Uint(_, uint), Value::Int(_, int)) => {
            u64::try_from(*int) == Ok(*uint)
        }
        #[expect(clippy::float_cmp, reason = "Go compares floats exactly")]
        (Value::Float(left), Value::Float(right)) => left == right,
        (Value::Str(left), Value::Str(right)) => left == right,
        _ if basic(left) != basic(right) => {
            if !left.is_nil() && !right.is_nil() {
                return incompatible(left, right);
            }
            false
        }
        _ => return same_reference(left, right),
    })
}

fn same_reference(left: &Value<'_>, right: &Value<'_>) -> Outcome<bool> {
    let nil = |value: &Value<'_>| match value {
        Value::Invalid | Value::Nil => true,
        Value::List(list) => list.nil,
        Value::Map(map) => map.nil,
        _ => false,
    };
    if !left.is_nil() && !right.is_nil() && left.kind_name() != right.kind_name() {
        return Err(exec("non-comparable types"));
    }
    if nil(left) || nil(right) {
        return Ok(nil(left) == nil(right));
    }
    match (left, right) {
        (Value::Version(left, true), Value::Version(right, true)) => Ok(Rc::ptr_eq(left, right)),
        (Value::Version(left, false), Value::Version(right, false)) => Ok(left == right),
        (Value::Time(left), Value::Time(right)) => Ok(left == right),
        _ => Err(exec(format!("non-comparable type {}", right.type_name()))),
    }
}

fn equal<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let Some((left, rest)) = args.split_first() else {
        return Err(exec("missing argument for comparison"));
    };
    if rest.is_empty() {
        return Err(exec("missing argument for comparison"));
    }
    for right in rest {
        if same(left, right)? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

fn pair<'v, 'a>(args: &'v [Value<'a>]) -> Outcome<(&'v Value<'a>, &'v Value<'a>)> {
    match args {
        [left, right] => Ok((left, right)),
        _ => Err(exec("wrong number of args for a comparison")),
    }
}

fn not_equal<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let (left, right) = pair(args)?;
    Ok(Value::Bool(!same(left, right)?))
}

fn is_less(left: &Value<'_>, right: &Value<'_>) -> Outcome<bool> {
    let bad = || exec("invalid type for comparison");
    Ok(match (left, right) {
        (Value::Int(_, left), Value::Int(_, right)) => left < right,
        (Value::Uint(_, left), Value::Uint(_, right)) => left < right,
        (Value::Int(_, int), Value::Uint(_, uint)) => u64::try_from(*int).map_or(true, |int| int < *uint),
        (Value::Uint(_, uint), Value::Int(_, int)) => u64::try_from(*int).is_ok_and(|int| *uint < int),
        (Value::Float(left), Value::Float(right)) => left < right,
        (Value::Str(left), Value::Str(right)) => left < right,
        _ if basic(left) == Basic::None || basic(right) == Basic::None => {
            return Err(bad());
        }
        _ if basic(left) != basic(right) => return incompatible(left, right),
        _ => return Err(bad()),
    })
}

fn less<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let (left, right) = pair(args)?;
    Ok(Value::Bool(is_less(left, right)?))
}

fn less_or_equal<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let (left, right) = pair(args)?;
    Ok(Value::Bool(is_less(left, right)? || same(left, right)?))
}

fn greater<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let (left, right) = pair(args)?;
    Ok(Value::Bool(!(is_less(left, right)? || same(left, right)?)))
}

fn greater_or_equal<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let (left, right) = pair(args)?;
    Ok(Value::Bool(!is_less(left, right)?))
}

fn len<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let value = args.first().unwrap_or(&Value::Invalid);
    let len = match value {
        Value::Str(text) => Some(text.bytes().len()),
        value => value.list_len().or_else(|| value.map_len()),
    };
    match len {
        Some(len) => Ok(Value::len_int(len)),
        None if value.is_nil() => Err(exec("len of nil pointer")),
        None => Err(exec(format!("len of type {}", value.type_name()))),
    }
}

fn index<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let Some((first, indexes)) = args.split_first() else {
        return Err(exec("index of untyped nil"));
    };
    if first.is_nil() {
        return Err(exec("index of untyped nil"));
    }
    let mut item = first.clone();
    for index in indexes {
        item = match &item {
            Value::Invalid | Value::Nil => return Err(exec("index of nil pointer")),
            Value::Str(text) => {
                let at = position(index, text.bytes().len())?;
                let byte = text.bytes().get(at).copied().unwrap_or_default();
                Value::Uint(UintType::Uint8, u64::from(byte))
            }
            Value::JsonList(_) | Value::List(_) => {
                let at = position(index, item.list_len().unwrap_or(0))?;
                item.item(at).ok_or_else(|| exec("index out of range"))?
            }
            Value::JsonMap(_) | Value::Map(_) => {
                let key = match index {
                    Value::Str(key) => key,
                    Value::Invalid | Value::Nil => {
                        return Err(exec("value is nil; should be of type string"));
                    }
                    other => {
                        let kind = other.type_name();
                        let message = format!("value has type {kind}; should be string");
                        return Err(exec(message));
                    }
                };
                item.entry(key.bytes()).unwrap_or_else(|| zero_entry(&item))
            }
            other => {
                let kind = other.type_name();
                return Err(exec(format!("can't index item of type {kind}")));
            }
        };
    }
    Ok(item)
}

/// Slices a text. Lists cannot occur here: only sprig provides them, and sprig has its own `slice`.
fn slice<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let (text, indexes) = match args.split_first() {
        Some((Value::Str(text), indexes)) => (text.bytes(), indexes),
        None | Some((Value::Invalid | Value::Nil, _)) => return Err(exec("slice of untyped nil")),
        Some((other, _)) => return Err(exec(format!("can't slice item of type {}", other.type_name()))),
    };
    if indexes.len() > 2 {
        return Err(exec("cannot 3-index slice a string"));
    }
    // The end may be after the last byte.
    let at = |index: &Value<'_>| position(index, text.len() + 1);
    let start = indexes.first().map_or(Ok(0), at)?;
    let end = indexes.get(1).map_or(Ok(text.len()), at)?;
    match text.get(start..end) {
        Some(part) => cx.text(part.to_vec()),
        None => Err(exec(format!("invalid slice index: {start} > {end}"))),
    }
}

/// The value that a map yields for a missing key.
fn zero_entry<'a>(map: &Value<'a>) -> Value<'a> {
    match map {
        Value::Map(map) if map.elem == Elem::Str => Value::Str(Str::Ref(b"")),
        _ => Value::Nil,
    }
}

fn position(index: &Value<'_>, len: usize) -> Outcome<usize> {
    let at = match index {
        Value::Int(_, at) => usize::try_from(*at).ok(),
        Value::Uint(_, at) => usize::try_from(*at).ok(),
        Value::Invalid | Value::Nil => {
            return Err(exec("cannot index slice/array with nil"));
        }
        other => {
            let kind = other.type_name();
            return Err(exec(format!("cannot index slice/array with type {kind}")));
        }
    };
    at.filter(|at| *at < len).ok_or_else(|| exec("index out of range"))
}

fn call<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    match args.first() {
        None | Some(Value::Invalid | Value::Nil) => Err(exec("call of nil")),
        Some(other) => Err(exec(format!("call of a non-function of type {}", other.type_name()))),
    }
}

fn print<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let text = format::sprint(cx, args)?;
    cx.text(text)
}

fn printf<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let Some((Value::Str(format), values)) = args.split_first() else {
        return Err(exec("printf needs a format"));
    };
    let text = format::printf(cx, format.bytes(), values)?;
    cx.text(text)
}

fn println<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let text = format::sprintln(cx, args)?;
    cx.text(text)
}

/// Joins the operands into one text for the escaping functions.
fn operands<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Vec<u8>> {
    let shown: Vec<Value<'a>> = args
        .iter()
        .map(|value| if value.is_nil() { Value::text("<no value>") } else { value.clone() })
        .collect();
    format::sprint(cx, &shown)
}

fn html<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let mut out = Vec::new();
    for byte in operands(cx, args)? {
        match byte {
            0 => out.extend_from_slice("\u{fffd}".as_bytes()),
            b'"' => out.extend_from_slice(b"&#34;"),
            b'\'' => out.extend_from_slice(b"&#39;"),
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            other => out.push(other),
        }
    }
    cx.text(out)
}

fn js<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let text = operands(cx, args)?;
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_slice();
    while let Some((found, len, _)) = unicode::decode(rest) {
        let (bytes, tail) = rest.split_at(len);
        match found {
            '\\' => out.extend_from_slice(b"\\\\"),
            '\'' => out.extend_from_slice(b"\\'"),
            '"' => out.extend_from_slice(b"\\\""),
            '<' | '>' | '&' | '=' | '\0'..='\x1f' => {
                out.extend_from_slice(format!("\\u{:04X}", u32::from(found)).as_bytes());
            }
            _ if found.is_ascii() || unicode::is_print(found) => {
                out.extend_from_slice(bytes);
            }
            _ => out.extend_from_slice(format!("\\u{:04X}", u32::from(found)).as_bytes()),
        }
        rest = tail;
    }
    cx.text(out)
}

fn url_query<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let text = operands(cx, args)?;
    let mut out = Vec::with_capacity(text.len());
    for byte in text {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(byte);
            }
            b' ' => out.push(b'+'),
            other => out.extend_from_slice(format!("%{other:02X}").as_bytes()),
        }
    }
    cx.text(out)
}
