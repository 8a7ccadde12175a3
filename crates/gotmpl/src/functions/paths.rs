//! sprig's functions on paths. On Linux, the operating system variants are identical.

use super::super::budget::Context;
use super::super::error::Outcome;
use super::super::value::{Str, Value};
use super::args::text;
use super::{Function, Type};

use Type::Text;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("base", &[Text], base),
    Function::new("osBase", &[Text], base),
    Function::new("dir", &[Text], dir),
    Function::new("osDir", &[Text], dir),
    Function::new("clean", &[Text], clean),
    Function::new("osClean", &[Text], clean),
    Function::new("ext", &[Text], ext),
    Function::new("osExt", &[Text], ext),
    Function::new("isAbs", &[Text], is_abs),
    Function::new("osIsAbs", &[Text], is_abs),
];

fn base<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let path = text(args, 0)?.bytes();
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |at| at + 1);
    let trimmed = path.get(..end).unwrap_or_default();
    if trimmed.is_empty() {
        return Ok(Value::text(if path.is_empty() { "." } else { "/" }));
    }
    let start = trimmed.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    cx.text(trimmed.get(start..).unwrap_or_default())
}

fn dir<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let path = text(args, 0)?.bytes();
    let end = path.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    cx.text(cleaned(path.get(..end).unwrap_or_default()))
}

fn clean<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let path = text(args, 0)?.bytes();
    cx.charge(path.len() as u64)?;
    cx.text(cleaned(path))
}

/// `path.Clean`: the shortest equivalent path.
fn cleaned(path: &[u8]) -> Vec<u8> {
    let rooted = path.starts_with(b"/");
    let mut kept: Vec<&[u8]> = Vec::new();
    for part in path.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => match kept.last() {
                Some(last) if *last != b".." => {
                    kept.pop();
                }
                _ if rooted => {}
                _ => kept.push(part),
            },
            _ => kept.push(part),
        }
    }
    let joined = kept.join(&b'/');
    match (rooted, joined.is_empty()) {
        (true, _) => [b"/", joined.as_slice()].concat(),
        (false, true) => b".".to_vec(),
        (false, false) => joined,
    }
}

fn ext<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let path = text(args, 0)?;
    let bytes = path.bytes();
    match bytes.iter().rposition(|byte| *byte == b'.' || *byte == b'/') {
        Some(at) if bytes.get(at) == Some(&b'.') => Ok(Value::Str(path.part(at..bytes.len()))),
        _ => Ok(Value::Str(Str::Ref(b""))),
    }
}

fn is_abs<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::Bool(text(args, 0)?.bytes().starts_with(b"/")))
}
