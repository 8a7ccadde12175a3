//! Searches, splits and joins texts.

use std::collections::BTreeMap;

use super::super::budget::Context;
use super::super::error::Outcome;
use super::super::unicode;
use super::super::value::{Elem, List, Str, Value};
use super::args::{any, int, text};
use super::lists::texts;
use super::{Function, Type};

use Type::{Any, Int, Text};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("join", &[Text, Any], join),
    Function::new("split", &[Text, Text], split),
    Function::new("splitn", &[Text, Int, Text], splitn),
    Function::new("splitList", &[Text, Text], split_list),
];

/// The positions of a non-empty text, without overlaps.
pub(super) fn matches(
    cx: &mut Context<'_>,
    text: &[u8],
    needle: &[u8],
    limit: Option<usize>,
) -> Outcome<Vec<usize>> {
    let mut found = Vec::new();
    let Some(first) = needle.first() else { return Ok(found) };
    let mut at = 0;
    cx.read(text.len())?;
    while limit.is_none_or(|limit| found.len() < limit) {
        let rest = text.get(at..).unwrap_or_default();
        let Some(skip) = rest.iter().position(|byte| byte == first) else { break };
        at += skip;
        if text.get(at..).is_some_and(|tail| tail.starts_with(needle)) {
            found.push(at);
            cx.spend(1)?;
            at += needle.len();
        } else {
            cx.spend(1 + needle.len() as u64 / 64)?;
            at += 1;
        }
    }
    Ok(found)
}

/// `strings.SplitN`. A negative count means all.
fn split_n<'a>(
    cx: &mut Context<'a>,
    text: &Str<'a>,
    separator: &[u8],
    count: i64,
) -> Outcome<Option<Vec<Str<'a>>>> {
    if count == 0 {
        return Ok(None);
    }
    let limit = usize::try_from(count).ok().map(|count| count - 1);
    let bytes = text.bytes();
    let mut parts = Vec::new();
    let mut at = 0;
    if separator.is_empty() {
        while let Some((_, len, _)) = unicode::decode(bytes.get(at..).unwrap_or_default()) {
            if limit == Some(parts.len()) {
                parts.push(text.part(at..bytes.len()));
                break;
            }
            parts.push(text.part(at..at + len));
            at += len;
        }
    } else {
        for found in matches(cx, bytes, separator, limit)? {
            parts.push(text.part(at..found));
            at = found + separator.len();
        }
        parts.push(text.part(at..bytes.len()));
    }
    cx.charge_items(parts.len())?;
    cx.charge(bytes.len() as u64)?;
    Ok(Some(parts))
}

fn join<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let separator = text(args, 0)?.bytes();
    let parts = texts(cx, any(args, 1))?;
    let mut out = Vec::new();
    for index in 0..parts.list_len().unwrap_or(0) {
        if index > 0 {
            cx.charge(separator.len() as u64)?;
            out.extend_from_slice(separator);
        }
        if let Some(Value::Str(part)) = parts.item(index) {
            cx.charge(part.bytes().len() as u64)?;
            out.extend_from_slice(part.bytes());
        }
    }
    cx.text(out)
}

/// A map from `_0`, `_1` … to the parts of a text.
fn numbered<'a>(cx: &mut Context<'a>, parts: Vec<Str<'a>>) -> Outcome<Value<'a>> {
    cx.charge_items(parts.len())?;
    let mut entries = BTreeMap::new();
    for (index, part) in parts.into_iter().enumerate() {
        entries.insert(Str::from(format!("_{index}")), Value::Str(part));
    }
    Ok(cx.map(Elem::Str, entries))
}

fn split<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let parts = split_n(cx, text(args, 1)?, text(args, 0)?.bytes(), -1)?;
    numbered(cx, parts.unwrap_or_default())
}

fn splitn<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let parts = split_n(cx, text(args, 2)?, text(args, 0)?.bytes(), int(args, 1)?)?;
    numbered(cx, parts.unwrap_or_default())
}

fn split_list<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let parts = split_n(cx, text(args, 1)?, text(args, 0)?.bytes(), -1)?.unwrap_or_default();
    List::of(Elem::Str, parts.into_iter().map(Value::Str).collect())
}
