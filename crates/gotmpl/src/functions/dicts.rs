//! sprig's functions on maps. Some of them change their argument.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::super::budget::Context;
use super::super::error::{Outcome, exec, limit, unsupported};
use super::super::format;
use super::super::value::{Elem, List, Map, Str, Value};
use super::args::{any, from, text};
use super::defaults::is_empty;
use super::{Function, Type};

use Type::{Any, Dict, Text};

/// The deepest nesting. Only maps that contain themselves are nested deeper.
const MAX_DEPTH: usize = 150;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("dict", &[], dict).rest(Any),
    Function::new("get", &[Dict, Text], get),
    Function::new("set", &[Dict, Text, Any], set).changing(),
    Function::new("unset", &[Dict, Text], unset).changing(),
    Function::new("hasKey", &[Dict, Text], has_key),
    Function::new("pluck", &[Text], pluck).rest(Dict),
    Function::new("keys", &[], keys).rest(Dict),
    Function::new("values", &[Dict], values),
    Function::new("pick", &[Dict], pick).rest(Text),
    Function::new("omit", &[Dict], omit).rest(Text),
    Function::new("dig", &[], dig).rest(Any),
    Function::new("merge", &[Dict], merge).rest(Dict).changing(),
    Function::new("mustMerge", &[Dict], merge).rest(Dict).changing(),
    Function::new("mergeOverwrite", &[Dict], merge_overwrite).rest(Dict).changing(),
    Function::new("mustMergeOverwrite", &[Dict], merge_overwrite).rest(Dict).changing(),
];

fn dict<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    cx.charge_items(args.len())?;
    let mut entries = BTreeMap::new();
    for pair in args.chunks(2) {
        let key = format::text(cx, any(pair, 0))?;
        let value = pair.get(1).cloned().unwrap_or(Value::Str(Str::Ref(b"")));
        entries.insert(key, value);
    }
    Ok(cx.map(Elem::Any, entries))
}

fn get<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let value = any(args, 0).entry(text(args, 1)?.bytes());
    Ok(value.unwrap_or(Value::Str(Str::Ref(b""))))
}

/// The map if it can be written to.
fn writable<'v, 'a>(value: &'v Value<'a>) -> Outcome<&'v Rc<Map<'a>>> {
    match value {
        Value::Map(map) if map.nil => Err(exec("assignment to entry in nil map")),
        Value::Map(map) => Ok(map),
        _ => Err(unsupported("changing this map of the data is not supported")),
    }
}

fn set<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let map = writable(any(args, 0))?;
    cx.charge_items(1)?;
    map.entries.borrow_mut().insert(text(args, 1)?.clone(), any(args, 2).clone());
    Ok(any(args, 0).clone())
}

fn unset<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let value = any(args, 0);
    if let Value::Map(map) = value {
        map.entries.borrow_mut().remove(text(args, 1)?.bytes());
    } else {
        writable(value)?;
    }
    Ok(value.clone())
}

fn has_key<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::Bool(any(args, 0).entry(text(args, 1)?.bytes()).is_some()))
}

fn pluck<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let key = text(args, 0)?.bytes();
    cx.charge_items(args.len())?;
    List::of(Elem::Any, from(args, 1).iter().filter_map(|map| map.entry(key)).collect())
}

/// Go returns the keys in random order, and most templates sort them. Here they are always sorted.
fn keys<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let mut keys = Vec::new();
    for map in args {
        keys.extend(map.entries(cx)?.into_iter().map(|(key, _)| Value::Str(key)));
    }
    List::of(Elem::Str, keys)
}

fn values<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let entries = any(args, 0).entries(cx)?;
    List::of(Elem::Any, entries.into_iter().map(|(_, value)| value).collect())
}

fn pick<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let mut picked = BTreeMap::new();
    cx.charge_items(args.len())?;
    for index in 1..args.len() {
        let key = text(args, index)?;
        if let Some(value) = any(args, 0).entry(key.bytes()) {
            picked.insert(key.clone(), value);
        }
    }
    Ok(cx.map(Elem::Any, picked))
}

fn omit<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let mut kept: BTreeMap<_, _> = any(args, 0).entries(cx)?.into_iter().collect();
    for index in 1..args.len() {
        kept.remove(text(args, index)?.bytes());
    }
    Ok(cx.map(Elem::Any, kept))
}

fn dig<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let [path @ .., default, map] = args else {
        return Err(exec("dig needs at least three arguments"));
    };
    if path.is_empty() {
        return Err(exec("dig needs at least three arguments"));
    }
    let is_dict = |value: &Value<'_>| value.type_name() == "map[string]interface {}";
    if let Some(bad) = path.iter().find(|key| !matches!(key, Value::Str(_))) {
        return Err(exec(format!("interface conversion: {} is not string", bad.type_name())));
    }
    let mut value = map.clone();
    for key in path {
        cx.spend(1)?;
        if !is_dict(&value) {
            let kind = value.type_name();
            return Err(exec(format!("interface conversion: {kind} is not a map")));
        }
        let Value::Str(key) = key else { continue };
        match value.entry(key.bytes()) {
            Some(next) => value = next,
            None => return Ok(default.clone()),
        }
    }
    Ok(value)
}

fn merge<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    merge_all(cx, args, false)
}

fn merge_overwrite<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    merge_all(cx, args, true)
}

fn merge_all<'a>(cx: &mut Context<'a>, args: &[Value<'a>], overwrite: bool) -> Outcome<Value<'a>> {
    let mut target = any(args, 0).clone();
    for source in from(args, 1) {
        let nil = |value: &Value<'_>| matches!(value, Value::Map(map) if map.nil);
        if nil(&target) {
            if nil(source) {
                continue;
            }
            target = cx.map(Elem::Any, BTreeMap::new());
        }
        merge_into(cx, &target, source, overwrite, 0)?;
    }
    Ok(target)
}

/// `mergo.Merge` of two maps: fills missing or empty entries, or overwrites them.
fn merge_into<'a>(
    cx: &mut Context<'a>,
    target: &Value<'a>,
    source: &Value<'a>,
    overwrite: bool,
    depth: usize,
) -> Outcome<()> {
    if depth > MAX_DEPTH {
        return Err(limit("maps are nested too deeply to be merged"));
    }
    let map = match target {
        // mergo cannot replace a nil map inside another map, so it leaves it unchanged.
        Value::Map(map) if map.nil => return Ok(()),
        target => writable(target)?,
    };
    for (key, value) in source.entries(cx)? {
        cx.spend(1)?;
        let old = map.entries.borrow().get(key.bytes()).cloned();
        if value.is_nil() {
            if overwrite {
                map.entries.borrow_mut().insert(key, Value::Nil);
            }
            continue;
        }
        let has_fields = |value: &Value<'_>| matches!(value, Value::Version(..) | Value::Time(_));
        if has_fields(&value) || old.as_ref().is_some_and(has_fields) {
            return Err(unsupported("merging versions and times cannot be predicted"));
        }
        let map_in_map = value.map_len().is_some();
        if map_in_map && let Some(old) = old.as_ref().filter(|old| old.map_len().is_some()) {
            merge_into(cx, old, &value, overwrite, depth + 1)?;
        }
        let list = value.list_len().is_some();
        let keeps =
            |old: &Value<'a>| !is_empty(old) && (list && !overwrite || map_in_map && old.map_len().is_some());
        if old.as_ref().is_some_and(keeps) {
            continue;
        }
        if overwrite || old.as_ref().is_none_or(is_empty) {
            if map.elem == Elem::Str && !matches!(value, Value::Str(_)) {
                return Err(exec("reflect: value is not assignable to type string"));
            }
            map.entries.borrow_mut().insert(key, value);
        }
    }
    Ok(())
}
