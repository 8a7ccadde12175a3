//! Compares and copies nested values.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::super::budget::Context;
use super::super::error::{Outcome, exec, limit, unsupported};
use super::super::value::{Elem, List, Value};
use super::args::any;
use super::{Function, Type};

use Type::Any;

/// The deepest nesting. Only values that contain themselves are nested deeper.
const MAX_DEPTH: usize = 150;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("deepEqual", &[Any, Any], deep_equal_function),
    Function::new("deepCopy", &[Any], deep_copy_function),
    Function::new("mustDeepCopy", &[Any], deep_copy_function),
];

fn deep_equal_function<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::Bool(deep_equal(cx, any(args, 0), any(args, 1))?))
}

fn deep_copy_function<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    if any(args, 0).is_nil() {
        return Err(exec("reflect: call of reflect.Value.Type on zero Value"));
    }
    copy(cx, any(args, 0), 0)
}

/// `reflect.DeepEqual`: types matter, and nil differs from empty.
pub(super) fn deep_equal<'a>(cx: &mut Context<'a>, left: &Value<'a>, right: &Value<'a>) -> Outcome<bool> {
    equal(cx, left, right, 0)
}

fn check(cx: &mut Context<'_>, depth: usize) -> Outcome<()> {
    cx.spend(1)?;
    if depth > MAX_DEPTH { Err(limit("a value is nested too deeply")) } else { Ok(()) }
}

fn equal<'a>(cx: &mut Context<'a>, left: &Value<'a>, right: &Value<'a>, depth: usize) -> Outcome<bool> {
    check(cx, depth)?;
    #[expect(clippy::float_cmp, reason = "Go compares floats exactly")]
    Ok(match (left, right) {
        (Value::Invalid | Value::Nil, Value::Invalid | Value::Nil) => true,
        (Value::Bool(left), Value::Bool(right)) => left == right,
        (Value::Int(kind, left), Value::Int(other, right)) => kind == other && left == right,
        (Value::Uint(kind, left), Value::Uint(other, right)) => kind == other && left == right,
        (Value::Float(left), Value::Float(right)) => left == right,
        (Value::Str(left), Value::Str(right)) => left == right,
        (Value::Version(left, kind), Value::Version(right, other)) => kind == other && left == right,
        (Value::Time(left), Value::Time(right)) => left == right,
        _ if left.type_name() != right.type_name() => false,
        _ if left.list_len().is_some() => return equal_lists(cx, left, right, depth),
        _ if left.map_len().is_some() => return equal_maps(cx, left, right, depth),
        _ => false,
    })
}

fn equal_lists<'a>(cx: &mut Context<'a>, left: &Value<'a>, right: &Value<'a>, depth: usize) -> Outcome<bool> {
    let nil = |value: &Value<'_>| matches!(value, Value::List(list) if list.nil);
    let len = left.list_len().unwrap_or(0);
    if nil(left) != nil(right) || right.list_len() != Some(len) {
        return Ok(false);
    }
    for index in 0..len {
        match (left.item(index), right.item(index)) {
            (Some(left), Some(right)) if equal(cx, &left, &right, depth + 1)? => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

fn equal_maps<'a>(cx: &mut Context<'a>, left: &Value<'a>, right: &Value<'a>, depth: usize) -> Outcome<bool> {
    let nil = |value: &Value<'_>| matches!(value, Value::Map(map) if map.nil);
    if nil(left) != nil(right) || left.map_len() != right.map_len() {
        return Ok(false);
    }
    if let (Value::Map(left), Value::Map(right)) = (left, right)
        && Rc::ptr_eq(left, right)
    {
        return Ok(true);
    }
    for (key, value) in left.entries(cx)? {
        match right.entry(key.bytes()) {
            Some(other) if equal(cx, &value, &other, depth + 1)? => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

fn copy<'a>(cx: &mut Context<'a>, value: &Value<'a>, depth: usize) -> Outcome<Value<'a>> {
    check(cx, depth)?;
    match value {
        Value::List(list) if list.nil => Ok(value.clone()),
        Value::List(list) => {
            let mut copies = cx.vec(list.len)?;
            for item in list.to_vec() {
                copies.push(copy(cx, &item, depth + 1)?);
            }
            List::of(list.elem, copies)
        }
        Value::Map(map) if map.nil => Ok(value.clone()),
        Value::Map(map) => copy_entries(cx, value, map.elem, depth),
        Value::JsonMap(_) | Value::JsonList(_) => {
            // The data never changes while it is borrowed, so it can serve as its own copy.
            Ok(value.clone())
        }
        Value::Version(..) | Value::Time(_) => {
            let kind = value.type_name();
            Err(unsupported(format!("a deep copy of a {kind} cannot be predicted")))
        }
        other => Ok(other.clone()),
    }
}

fn copy_entries<'a>(cx: &mut Context<'a>, value: &Value<'a>, elem: Elem, depth: usize) -> Outcome<Value<'a>> {
    let mut copies = BTreeMap::new();
    for (key, item) in value.entries(cx)? {
        copies.insert(key, copy(cx, &item, depth + 1)?);
    }
    Ok(cx.map(elem, copies))
}
