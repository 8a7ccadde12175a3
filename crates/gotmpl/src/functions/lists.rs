//! sprig's functions on lists.

use super::super::budget::Context;
use super::super::error::{Outcome, exec, unsupported};
use super::super::format;
use super::super::value::{Elem, List, Value};
use super::args::{any, from, int};
use super::deep::deep_equal;
use super::defaults::is_empty;
use super::{Function, Type, cast};
use std::rc::Rc;

use Type::{Any, Int};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("list", &[], list).rest(Any),
    Function::new("tuple", &[], list).rest(Any),
    Function::new("append", &[Any, Any], push),
    Function::new("push", &[Any, Any], push),
    Function::new("mustAppend", &[Any, Any], push),
    Function::new("mustPush", &[Any, Any], push),
    Function::new("prepend", &[Any, Any], prepend),
    Function::new("mustPrepend", &[Any, Any], prepend),
    Function::new("first", &[Any], first),
    Function::new("mustFirst", &[Any], first),
    Function::new("last", &[Any], last),
    Function::new("mustLast", &[Any], last),
    Function::new("rest", &[Any], rest),
    Function::new("mustRest", &[Any], rest),
    Function::new("initial", &[Any], initial),
    Function::new("mustInitial", &[Any], initial),
    Function::new("reverse", &[Any], reverse),
    Function::new("mustReverse", &[Any], reverse),
    Function::new("uniq", &[Any], uniq),
    Function::new("mustUniq", &[Any], uniq),
    Function::new("compact", &[Any], compact),
    Function::new("mustCompact", &[Any], compact),
    Function::new("without", &[Any], without).rest(Any),
    Function::new("mustWithout", &[Any], without).rest(Any),
    Function::new("has", &[Any, Any], has),
    Function::new("mustHas", &[Any, Any], has),
    Function::new("slice", &[Any], slice).rest(Any),
    Function::new("mustSlice", &[Any], slice).rest(Any),
    Function::new("concat", &[], concat).rest(Any),
    Function::new("chunk", &[Int, Any], chunk),
    Function::new("mustChunk", &[Int, Any], chunk),
    Function::new("sortAlpha", &[Any], sort_alpha),
];

/// The items of an argument; an error if it is not a list.
fn items<'a>(cx: &mut Context<'a>, list: &Value<'a>, verb: &str) -> Outcome<Vec<Value<'a>>> {
    match list.items(cx)? {
        Some(items) => Ok(items),
        None => Err(exec(format!("Cannot {verb} type {}", list.kind_name()))),
    }
}

/// The length of an argument; an error if it is not a list.
fn len_of(list: &Value<'_>, verb: &str) -> Outcome<usize> {
    list.list_len().ok_or_else(|| exec(format!("Cannot {verb} type {}", list.kind_name())))
}

fn list<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    cx.charge_items(args.len())?;
    List::of(Elem::Any, args.to_vec())
}

fn push<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let mut items = items(cx, any(args, 0), "push on")?;
    items.push(any(args, 1).clone());
    List::of(Elem::Any, items)
}

fn prepend<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let mut items = items(cx, any(args, 0), "prepend on")?;
    items.insert(0, any(args, 1).clone());
    List::of(Elem::Any, items)
}

fn first<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let list = any(args, 0);
    len_of(list, "find first on")?;
    Ok(list.item(0).unwrap_or(Value::Nil))
}

fn last<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let list = any(args, 0);
    let len = len_of(list, "find last on")?;
    Ok(len.checked_sub(1).and_then(|index| list.item(index)).unwrap_or(Value::Nil))
}

fn rest<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let mut items = items(cx, any(args, 0), "find rest on")?;
    if items.is_empty() {
        return Ok(List::nil(Elem::Any));
    }
    items.remove(0);
    List::of(Elem::Any, items)
}

fn initial<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let mut items = items(cx, any(args, 0), "find initial on")?;
    if items.pop().is_none() {
        return Ok(List::nil(Elem::Any));
    }
    List::of(Elem::Any, items)
}

fn reverse<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let mut items = items(cx, any(args, 0), "find reverse on")?;
    items.reverse();
    List::of(Elem::Any, items)
}

/// Whether a list contains a deeply equal item.
fn within<'a>(cx: &mut Context<'a>, items: &[Value<'a>], value: &Value<'a>) -> Outcome<bool> {
    for item in items {
        if deep_equal(cx, value, item)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn uniq<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let mut kept = Vec::new();
    for item in items(cx, any(args, 0), "find uniq on")? {
        if !within(cx, &kept, &item)? {
            kept.push(item);
        }
    }
    List::of(Elem::Any, kept)
}

fn compact<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let mut kept = Vec::new();
    for item in items(cx, any(args, 0), "compact on")? {
        if !is_empty(&item) {
            kept.push(item);
        }
    }
    List::of(Elem::Any, kept)
}

fn without<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let mut kept = Vec::new();
    for item in items(cx, any(args, 0), "find without on")? {
        if !within(cx, from(args, 1), &item)? {
            kept.push(item);
        }
    }
    List::of(Elem::Any, kept)
}

fn has<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let (needle, haystack) = (any(args, 0), any(args, 1));
    if haystack.is_nil() {
        return Ok(Value::Bool(false));
    }
    let items = items(cx, haystack, "find has on")?;
    Ok(Value::Bool(within(cx, &items, needle)?))
}

/// Replaces the builtin `slice`: accepts only lists, and returns nil for an empty one.
fn slice<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let list = any(args, 0);
    let len = len_of(list, "slice")?;
    if len == 0 {
        return Ok(Value::Nil);
    }
    let start = args.get(1).map_or(0, cast::int64);
    let end = match args.get(2) {
        Some(end) => cast::int64(end),
        None => i64::try_from(len).unwrap_or(i64::MAX),
    };
    let bounds = || exec("reflect.Value.Slice: slice index out of bounds");
    let start = usize::try_from(start).map_err(|_| bounds())?;
    let end = usize::try_from(end).map_err(|_| bounds())?;
    if start > end {
        return Err(bounds());
    }
    match list {
        Value::JsonList(items) => match items.get(start..end) {
            Some(window) => Ok(Value::JsonList(window)),
            None => beyond(len, end),
        },
        Value::List(list) => {
            // As with a Go slice, the window may grow again over items that were cut off.
            let room = list.items.borrow().len() - list.start;
            if end > room {
                return beyond(room, end);
            }
            cx.charge_items(1)?;
            Ok(Value::List(Rc::new(List {
                elem: list.elem,
                nil: false,
                items: Rc::clone(&list.items),
                start: list.start + start,
                len: end - start,
                height: list.height,
            })))
        }
        _ => Err(bounds()),
    }
}

/// Handles a window beyond the end of a list, which Go fills from the list's spare capacity.
fn beyond<'a>(len: usize, end: usize) -> Outcome<Value<'a>> {
    if end <= len.saturating_mul(2).saturating_add(8) {
        return Err(unsupported("slicing beyond the end of a list cannot be predicted"));
    }
    Err(exec("reflect.Value.Slice: slice index out of bounds"))
}

fn concat<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let mut all = Vec::new();
    for list in args {
        all.extend(items(cx, list, "concat")?);
    }
    if all.is_empty() {
        return Ok(List::nil(Elem::Any));
    }
    List::of(Elem::Any, all)
}

fn chunk<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let items = items(cx, any(args, 1), "chunk")?;
    let size = int(args, 0)?;
    let Ok(size) = usize::try_from(size) else {
        return negative_chunks(&items, size);
    };
    if size == 0 {
        return Err(exec("runtime error: makeslice: len out of range"));
    }
    let mut chunks = Vec::new();
    for part in items.chunks(size) {
        cx.charge_items(1)?;
        chunks.push(List::of(Elem::Any, part.to_vec())?);
    }
    List::of(Elem::AnyList, chunks)
}

/// The result of sprig's arithmetic for a negative size: no chunks, one chunk, or a panic.
fn negative_chunks<'a>(items: &[Value<'a>], size: i64) -> Outcome<Value<'a>> {
    let len = i64::try_from(items.len()).unwrap_or(i64::MAX);
    match (1 - len).div_euclid(size.saturating_neg()) + 1 {
        0 => List::of(Elem::AnyList, Vec::new()),
        1 if len % size == 1 => List::of(Elem::AnyList, vec![List::of(Elem::Any, items.to_vec())?]),
        _ => Err(exec("runtime error: makeslice: len out of range")),
    }
}

/// `toStrings`: the texts of all items that are not nil, or of the value itself.
pub(super) fn texts<'a>(cx: &mut Context<'a>, value: &Value<'a>) -> Outcome<Value<'a>> {
    if matches!(value, Value::List(list) if list.elem == Elem::Str) {
        return Ok(value.clone());
    }
    let items = match value.items(cx)? {
        Some(items) => items,
        None if value.is_nil() => Vec::new(),
        None => vec![value.clone()],
    };
    let mut texts = Vec::with_capacity(items.len());
    for item in items.iter().filter(|item| !item.is_nil()) {
        texts.push(Value::Str(format::text(cx, item)?));
    }
    List::of(Elem::Str, texts)
}

/// Sorts texts. A list of texts is sorted in place, as in Go.
fn sort_alpha<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let value = any(args, 0);
    if value.list_len().is_none() {
        let text = format::text(cx, value)?;
        return List::of(Elem::Str, vec![Value::Str(text)]);
    }
    let sorted = texts(cx, value)?;
    if let Value::List(list) = &sorted {
        let len = list.len as u64;
        cx.spend(len * u64::from(len.checked_ilog2().unwrap_or(0) + 1))?;
        let mut items = list.items.borrow_mut();
        if let Some(window) = items.get_mut(list.start..list.start + list.len) {
            window.sort_by(|left, right| match (left, right) {
                (Value::Str(left), Value::Str(right)) => left.cmp(right),
                _ => std::cmp::Ordering::Equal,
            });
        }
    }
    Ok(sorted)
}
