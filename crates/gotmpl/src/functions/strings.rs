//! sprig's functions on strings.

use super::super::budget::Context;
use super::super::error::{Outcome, exec};
use super::super::format;
use super::super::unicode;
use super::super::value::{Str, Value};
use super::args::{any, int, text};
use super::lists::texts;
use super::splitting::matches;
use super::{Function, Type};

use Type::{Any, Int, Text};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("hello", &[], hello),
    Function::new("trim", &[Text], trim),
    Function::new("trimAll", &[Text, Text], trim_all),
    Function::new("trimall", &[Text, Text], trim_all),
    Function::new("trimPrefix", &[Text, Text], trim_prefix),
    Function::new("trimSuffix", &[Text, Text], trim_suffix),
    Function::new("contains", &[Text, Text], contains),
    Function::new("hasPrefix", &[Text, Text], has_prefix),
    Function::new("hasSuffix", &[Text, Text], has_suffix),
    Function::new("quote", &[], quote).rest(Any),
    Function::new("squote", &[], squote).rest(Any),
    Function::new("cat", &[], cat).rest(Any),
    Function::new("indent", &[Int, Text], indent),
    Function::new("nindent", &[Int, Text], nindent),
    Function::new("replace", &[Text, Text, Text], replace),
    Function::new("plural", &[Text, Text, Int], plural),
    Function::new("repeat", &[Int, Text], repeat),
    Function::new("substr", &[Int, Int, Text], substr),
    Function::new("trunc", &[Int, Text], trunc),
    Function::new("toString", &[Any], to_string),
    Function::new("toStrings", &[Any], to_strings),
];

fn hello<'a>(_: &mut Context<'a>, _: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::text("Hello!"))
}

/// Removes matching characters from both ends of a text.
fn trimmed<'a>(text: &Str<'a>, cut: impl Fn(char, bool) -> bool) -> Str<'a> {
    let bytes = text.bytes();
    let mut start = 0;
    while let Some((found, len, valid)) = unicode::decode(bytes.get(start..).unwrap_or_default()) {
        if !cut(found, valid) {
            break;
        }
        start += len;
    }
    let mut end = bytes.len();
    while let Some((found, len, valid)) = unicode::decode_last(bytes.get(start..end).unwrap_or_default()) {
        if !cut(found, valid) {
            break;
        }
        end -= len;
    }
    text.part(start..end)
}

fn trim<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let text = text(args, 0)?;
    cx.read(text.bytes().len())?;
    Ok(Value::Str(trimmed(text, |found, valid| valid && unicode::is_space(found))))
}

fn trim_all<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let cutset = unicode::runes(text(args, 0)?.bytes());
    let text = text(args, 1)?;
    cx.spend((text.bytes().len() as u64).saturating_mul(1 + cutset.len() as u64 / 16))?;
    Ok(Value::Str(trimmed(text, |found, _| cutset.contains(&found))))
}

fn trim_prefix<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let (prefix, text) = (text(args, 0)?.bytes(), text(args, 1)?);
    let len = text.bytes().len();
    let cut = if text.bytes().starts_with(prefix) { prefix.len() } else { 0 };
    Ok(Value::Str(if cut == 0 { text.clone() } else { text.part(cut..len) }))
}

fn trim_suffix<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let (suffix, text) = (text(args, 0)?.bytes(), text(args, 1)?);
    let len = text.bytes().len();
    let cut = if text.bytes().ends_with(suffix) { suffix.len() } else { 0 };
    Ok(Value::Str(if cut == 0 { text.clone() } else { text.part(0..len - cut) }))
}

fn contains<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let (needle, text) = (text(args, 0)?.bytes(), text(args, 1)?.bytes());
    Ok(Value::Bool(needle.is_empty() || !matches(cx, text, needle, Some(1))?.is_empty()))
}

fn has_prefix<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::Bool(text(args, 1)?.bytes().starts_with(text(args, 0)?.bytes())))
}

fn has_suffix<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::Bool(text(args, 1)?.bytes().ends_with(text(args, 0)?.bytes())))
}

fn quote<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let mut out = Vec::new();
    for value in args.iter().filter(|value| !value.is_nil()) {
        if !out.is_empty() {
            out.push(b' ');
        }
        let text = format::text(cx, value)?;
        cx.charge(text.bytes().len() as u64)?;
        out.extend_from_slice(&format::quote(text.bytes()));
    }
    cx.text(out)
}

fn squote<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let mut out = Vec::new();
    for value in args.iter().filter(|value| !value.is_nil()) {
        if !out.is_empty() {
            out.push(b' ');
        }
        let text = format::text(cx, value)?;
        out.push(b'\'');
        out.extend_from_slice(text.bytes());
        out.push(b'\'');
    }
    cx.text(out)
}

fn cat<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let mut out = Vec::new();
    for (index, value) in args.iter().filter(|value| !value.is_nil()).enumerate() {
        if index > 0 {
            out.push(b' ');
        }
        out.extend_from_slice(format::text(cx, value)?.bytes());
    }
    cx.text(out)
}

/// Checks and charges a repeat count. Go panics on a negative one.
fn times(cx: &mut Context<'_>, count: i64, len: usize) -> Outcome<usize> {
    let count = usize::try_from(count).map_err(|_| exec("strings: negative Repeat count"))?;
    cx.charge((count as u64).saturating_mul(len as u64))?;
    Ok(if len == 0 { 0 } else { count })
}

fn indented(cx: &mut Context<'_>, args: &[Value<'_>], out: &mut Vec<u8>) -> Outcome<()> {
    let pad = vec![b' '; times(cx, int(args, 0)?, 1)?];
    let bytes = text(args, 1)?.bytes();
    let lines = bytes.split(|byte| *byte == b'\n').count() as u64;
    cx.charge((pad.len() as u64).saturating_mul(lines).saturating_add(bytes.len() as u64))?;
    out.extend_from_slice(&pad);
    for byte in bytes {
        out.push(*byte);
        if *byte == b'\n' {
            out.extend_from_slice(&pad);
        }
    }
    Ok(())
}

fn indent<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let mut out = Vec::new();
    indented(cx, args, &mut out)?;
    Ok(Value::text(out))
}

fn nindent<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let mut out = vec![b'\n'];
    indented(cx, args, &mut out)?;
    Ok(Value::text(out))
}

fn replace<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let (old, new, source) = (text(args, 0)?.bytes(), text(args, 1)?.bytes(), text(args, 2)?);
    let bytes = source.bytes();
    let places = if old.is_empty() { boundaries(bytes) } else { matches(cx, bytes, old, None)? };
    if places.is_empty() {
        return Ok(Value::Str(source.clone()));
    }
    let grown = (places.len() as u64).saturating_mul(new.len() as u64);
    cx.charge(grown.saturating_add(bytes.len() as u64))?;
    let mut out = Vec::new();
    let mut at = 0;
    for place in places {
        out.extend_from_slice(bytes.get(at..place).unwrap_or_default());
        out.extend_from_slice(new);
        at = place + old.len();
    }
    out.extend_from_slice(bytes.get(at..).unwrap_or_default());
    Ok(Value::text(out))
}

/// The start, the end, and every position between two characters.
fn boundaries(bytes: &[u8]) -> Vec<usize> {
    let mut places = vec![0];
    let mut at = 0;
    while let Some((_, len, _)) = unicode::decode(bytes.get(at..).unwrap_or_default()) {
        at += len;
        places.push(at);
    }
    places
}

fn plural<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(any(args, usize::from(int(args, 2)? != 1)).clone())
}

fn repeat<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let bytes = text(args, 1)?.bytes();
    let count = times(cx, int(args, 0)?, bytes.len())?;
    Ok(Value::text(bytes.repeat(count)))
}

/// A part of a text, with Go's bounds check.
fn checked<'a>(text: &Str<'a>, start: i64, end: i64) -> Outcome<Value<'a>> {
    let out_of_range = || exec("runtime error: slice bounds out of range");
    let start = usize::try_from(start).map_err(|_| out_of_range())?;
    let end = usize::try_from(end).map_err(|_| out_of_range())?;
    if start > end || end > text.bytes().len() {
        return Err(out_of_range());
    }
    Ok(Value::Str(text.part(start..end)))
}

fn len_of(text: &Str<'_>) -> i64 {
    i64::try_from(text.bytes().len()).unwrap_or(i64::MAX)
}

fn substr<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let (start, end, text) = (int(args, 0)?, int(args, 1)?, text(args, 2)?);
    cx.charge(text.bytes().len() as u64)?;
    if start < 0 {
        checked(text, 0, end)
    } else if end < 0 || end > len_of(text) {
        checked(text, start, len_of(text))
    } else {
        checked(text, start, end)
    }
}

fn trunc<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let (count, text) = (int(args, 0)?, text(args, 1)?);
    let len = len_of(text);
    cx.charge(text.bytes().len() as u64)?;
    if count < 0 && len.saturating_add(count) > 0 {
        checked(text, len + count, len)
    } else if count >= 0 && len > count {
        checked(text, 0, count)
    } else {
        Ok(Value::Str(text.clone()))
    }
}

fn to_string<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::Str(format::text(cx, any(args, 0))?))
}

fn to_strings<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    texts(cx, any(args, 0))
}
