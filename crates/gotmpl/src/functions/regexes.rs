//! sprig's regular expression functions.

use super::super::budget::Context;
use super::super::error::{ErrorKind, Outcome};
use super::super::regexp::{Pattern, Patterns};
use super::super::unicode;
use super::super::value::{Elem, List, Str, Value};
use super::args::{int, text};
use super::{Function, Type};

use Type::{Int, Text};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("regexMatch", &[Text, Text], regex_match),
    Function::new("mustRegexMatch", &[Text, Text], must_regex_match),
    Function::new("regexFind", &[Text, Text], find),
    Function::new("mustRegexFind", &[Text, Text], find),
    Function::new("regexFindAll", &[Text, Text, Int], find_all),
    Function::new("mustRegexFindAll", &[Text, Text, Int], find_all),
    Function::new("regexReplaceAll", &[Text, Text, Text], replace_all),
    Function::new("mustRegexReplaceAll", &[Text, Text, Text], replace_all),
    Function::new("regexReplaceAllLiteral", &[Text, Text, Text], replace_all_literal),
    Function::new("mustRegexReplaceAllLiteral", &[Text, Text, Text], replace_all_literal),
    Function::new("regexSplit", &[Text, Text, Int], split),
    Function::new("mustRegexSplit", &[Text, Text, Int], split),
    Function::new("regexQuoteMeta", &[Text], quote_meta),
];

fn must_regex_match<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let pattern = Patterns::get(cx, text(args, 0)?)?;
    let subject = Pattern::text(text(args, 1)?)?;
    Ok(Value::Bool(pattern.is_match(cx, subject)?))
}

/// Here, an invalid expression matches nothing.
fn regex_match<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    match must_regex_match(cx, args) {
        Err(fault) if fault.kind == ErrorKind::Exec => Ok(Value::Bool(false)),
        other => other,
    }
}

fn part<'a>(source: &Str<'a>, found: Option<regex::Match<'_>>) -> Value<'a> {
    Value::Str(found.map_or(Str::Ref(b""), |found| source.part(found.range())))
}

fn find<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let pattern = Patterns::get(cx, text(args, 0)?)?;
    let source = text(args, 1)?;
    let found = pattern.matches(cx, Pattern::text(source)?, 1)?;
    cx.charge(source.bytes().len() as u64)?;
    Ok(part(source, found.first().and_then(|captures| captures.get(0))))
}

/// Converts a match count. A negative count means all.
fn most(count: i64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

fn find_all<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let pattern = Patterns::get(cx, text(args, 0)?)?;
    let source = text(args, 1)?;
    let found = pattern.matches(cx, Pattern::text(source)?, most(int(args, 2)?))?;
    if found.is_empty() {
        return Ok(List::nil(Elem::Str));
    }
    cx.charge(source.bytes().len() as u64)?;
    let parts = found.iter().map(|captures| part(source, captures.get(0)));
    List::of(Elem::Str, parts.collect())
}

/// Replaces every match with the output of `write`.
fn replaced<'a>(
    cx: &mut Context<'a>,
    args: &[Value<'a>],
    mut write: impl FnMut(&mut Context<'a>, &Pattern, &regex::Captures<'_>, &mut Vec<u8>) -> Outcome<()>,
) -> Outcome<Value<'a>> {
    let pattern = Patterns::get(cx, text(args, 0)?)?;
    let source = Pattern::text(text(args, 1)?)?;
    let mut out = Vec::new();
    let mut at = 0;
    for captures in pattern.matches(cx, source, usize::MAX)? {
        let Some(whole) = captures.get(0) else { continue };
        out.extend_from_slice(source.as_bytes().get(at..whole.start()).unwrap_or_default());
        write(cx, &pattern, &captures, &mut out)?;
        at = whole.end();
    }
    out.extend_from_slice(source.as_bytes().get(at..).unwrap_or_default());
    cx.text(out)
}

fn replace_all<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let template = text(args, 2)?.clone();
    replaced(cx, args, |cx, pattern, captures, out| {
        let before = out.len();
        expand(template.bytes(), pattern, captures, out);
        cx.charge((out.len() - before) as u64)
    })
}

fn replace_all_literal<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let literal = text(args, 2)?.clone();
    replaced(cx, args, |cx, _, _, out| {
        out.extend_from_slice(literal.bytes());
        cx.charge(literal.bytes().len() as u64)
    })
}

/// Appends a replacement with `$1`, `${name}` and `$$` expanded.
fn expand(template: &[u8], pattern: &Pattern, captures: &regex::Captures<'_>, out: &mut Vec<u8>) {
    let mut rest = template;
    while let Some(dollar) = rest.iter().position(|byte| *byte == b'$') {
        let (before, after) = rest.split_at(dollar);
        out.extend_from_slice(before);
        rest = after.get(1..).unwrap_or_default();
        if let Some(tail) = rest.strip_prefix(b"$") {
            out.push(b'$');
            rest = tail;
            continue;
        }
        let Some((name, tail)) = reference(rest) else {
            out.push(b'$');
            continue;
        };
        rest = tail;
        let found = match number(name) {
            Some(index) => captures.get(index),
            None => named(name, pattern, captures),
        };
        if let Some(found) = found {
            out.extend_from_slice(found.as_str().as_bytes());
        }
    }
    out.extend_from_slice(rest);
}

/// The first group with this name that took part in the match.
fn named<'t>(name: &[u8], pattern: &Pattern, captures: &regex::Captures<'t>) -> Option<regex::Match<'t>> {
    let names = pattern.names.iter().enumerate();
    names
        .filter(|(_, known)| known.as_ref().is_some_and(|known| known.as_bytes() == name))
        .find_map(|(index, _)| captures.get(index))
}

/// The name after a dollar sign, and the text after the name.
fn reference(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (body, braces) = match text.strip_prefix(b"{") {
        Some(body) => (body, true),
        None => (text, false),
    };
    let mut len = 0;
    while let Some((found, width, _)) = unicode::decode(body.get(len..)?) {
        if !unicode::is_alphanumeric(found) {
            break;
        }
        len += width;
    }
    if len == 0 {
        return None;
    }
    let (name, tail) = body.split_at(len);
    if braces { tail.strip_prefix(b"}").map(|tail| (name, tail)) } else { Some((name, tail)) }
}

/// Parses a group number. Numbers with leading zeros or more than nine digits count as names.
fn number(name: &[u8]) -> Option<usize> {
    let padded = name.len() > 1 && name.first() == Some(&b'0');
    if padded || name.len() > 9 || !name.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(name).ok()?.parse().ok()
}

fn split<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let pattern = Patterns::get(cx, text(args, 0)?)?;
    let source = text(args, 1)?;
    let subject = Pattern::text(source)?;
    let count = int(args, 2)?;
    if count == 0 {
        return Ok(List::nil(Elem::Str));
    }
    if subject.is_empty() && !text(args, 0)?.bytes().is_empty() {
        return List::of(Elem::Str, vec![Value::text("")]);
    }
    cx.charge(subject.len() as u64)?;
    let mut parts = Vec::new();
    let (mut start, mut end) = (0, 0);
    for captures in pattern.matches(cx, subject, most(count))? {
        if count > 0 && parts.len() + 1 == most(count) {
            break;
        }
        let Some(whole) = captures.get(0) else { continue };
        end = whole.start();
        if whole.end() != 0 {
            parts.push(Value::Str(source.part(start..end)));
        }
        start = whole.end();
    }
    if end != subject.len() {
        parts.push(Value::Str(source.part(start..subject.len())));
    }
    List::of(Elem::Str, parts)
}

fn quote_meta<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let mut out = Vec::new();
    for byte in text(args, 0)?.bytes() {
        if b"\\.+*?()|[]{}^$".contains(byte) {
            out.push(b'\\');
        }
        out.push(*byte);
    }
    cx.text(out)
}
