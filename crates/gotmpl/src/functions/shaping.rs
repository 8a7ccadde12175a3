//! Shortens and wraps texts byte by byte, like sprig's library.

use super::super::budget::Context;
use super::super::error::Outcome;
use super::super::unicode;
use super::super::value::Value;
use super::args::{int, text};
use super::{Function, Type};

use Type::{Int, Text};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("abbrev", &[Int, Text], abbrev),
    Function::new("abbrevboth", &[Int, Int, Text], abbrev_both),
    Function::new("nospace", &[Text], nospace),
    Function::new("wrap", &[Int, Text], wrap),
    Function::new("wrapWith", &[Int, Text, Text], wrap_with),
];

/// Shortens a text to `width` bytes around `offset`, with three dots at each cut; empty if the width is too small.
fn abbreviated(text: &[u8], offset: usize, width: usize) -> Vec<u8> {
    let len = text.len();
    if len <= width {
        return text.to_vec();
    }
    let kept = width.saturating_sub(3);
    let mut offset = offset.min(len);
    if len - offset < kept {
        offset = len - kept;
    }
    if offset <= 4 {
        return [text.get(..kept).unwrap_or_default(), b"..."].concat();
    }
    if width < 7 {
        return Vec::new();
    }
    let tail = if offset + width - 3 < len {
        abbreviated(text.get(offset..).unwrap_or_default(), 0, kept)
    } else {
        text.get(len - kept..).unwrap_or_default().to_vec()
    };
    [b"...", tail.as_slice()].concat()
}

fn abbrev<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let (width, text) = (int(args, 0)?, text(args, 1)?);
    match usize::try_from(width) {
        Ok(width) if width >= 4 => cx.text(abbreviated(text.bytes(), 0, width)),
        _ => Ok(Value::Str(text.clone())),
    }
}

fn abbrev_both<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let (left, right, text) = (int(args, 0)?, int(args, 1)?, text(args, 2)?);
    if right < 4 || left > 0 && right < 7 {
        return Ok(Value::Str(text.clone()));
    }
    let width = usize::try_from(right).unwrap_or(usize::MAX);
    if left < 0 && text.bytes().len() > width {
        // A negative offset counts as one within the first five bytes, so the start of the text is kept.
        return cx.text(abbreviated(text.bytes(), 0, width));
    }
    cx.text(abbreviated(text.bytes(), usize::try_from(left).unwrap_or(0), width))
}

/// Removes blanks byte by byte, which corrupts text outside of ASCII, as in sprig.
fn nospace<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let source = text(args, 0)?;
    let blank = |byte: &u8| unicode::is_space(char::from(*byte));
    if !source.bytes().iter().any(blank) {
        return Ok(Value::Str(source.clone()));
    }
    let kept: String =
        source.bytes().iter().filter(|byte| !blank(byte)).map(|byte| char::from(*byte)).collect();
    cx.text(kept)
}

fn wrapped(
    cx: &mut Context<'_>,
    text: &[u8],
    width: i64,
    separator: &[u8],
    cut_words: bool,
) -> Outcome<Vec<u8>> {
    let separator = if separator.is_empty() { b"\n" } else { separator };
    let width = usize::try_from(width.max(1)).unwrap_or(usize::MAX);
    let mut out = Vec::new();
    let mut at = 0;
    while text.len() - at > width {
        cx.charge(1 + separator.len() as u64)?;
        if text.get(at) == Some(&b' ') {
            at += 1;
            continue;
        }
        let line = text.get(at..=at + width).unwrap_or_default();
        let rest = text.get(at + width..).unwrap_or_default();
        let space = match line.iter().rposition(|byte| *byte == b' ') {
            Some(space) => Some((at + space, 1)),
            None if cut_words => Some((at + width, 0)),
            None => rest.iter().position(|byte| *byte == b' ').map(|space| (at + width + space, 1)),
        };
        let Some((end, skip)) = space else { break };
        out.extend_from_slice(text.get(at..end).unwrap_or_default());
        out.extend_from_slice(separator);
        at = end + skip;
    }
    out.extend_from_slice(text.get(at..).unwrap_or_default());
    Ok(out)
}

fn wrap<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let lines = wrapped(cx, text(args, 1)?.bytes(), int(args, 0)?, b"", false)?;
    cx.text(lines)
}

fn wrap_with<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let separator = text(args, 1)?.bytes();
    let lines = wrapped(cx, text(args, 2)?.bytes(), int(args, 0)?, separator, true)?;
    cx.text(lines)
}
