//! Runtime versions of macros. An error in one element only fails the whole macro if no other element decides the result.
//!
//! Their names start with `@`, so rules cannot use them; [`super::lowering`] inserts them. The arguments are the range, the
//! names of one or two variables, and the expressions for each element. Source: `interpreter/interpretable.go` of cel-go,
//! `evalFold` and `evalOr`.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube_cel::cel::common::ast::{Expr, LiteralValue};
use kube_cel::cel::objects::{Key, Map, OptionalValue};
use kube_cel::cel::{Context, ExecutionError, FunctionContext, IdedExpr, Value};

use super::functions::{Outcome, failed, not_known};

pub(super) fn register(context: &mut Context<'_>) {
    add_functions!(context, {
        "@all" => |ftx: &FunctionContext<'_, '_>| quantified(ftx, false),
        "@exists" => |ftx: &FunctionContext<'_, '_>| quantified(ftx, true),
        "@existsOne" => exists_one,
        "@transformList" => list,
        "@transformMap" => |ftx: &FunctionContext<'_, '_>| map(ftx, false),
        "@transformMapEntry" => |ftx: &FunctionContext<'_, '_>| map(ftx, true),
        "@optMap" => |ftx: &FunctionContext<'_, '_>| optional(ftx, false),
        "@optFlatMap" => |ftx: &FunctionContext<'_, '_>| optional(ftx, true),
        "@or" => |ftx: &FunctionContext<'_, '_>| either(ftx, true),
        "@orValue" => |ftx: &FunctionContext<'_, '_>| either(ftx, false),
    });
}

fn no_overload() -> ExecutionError {
    failed("", "no such overload")
}

/// A loop: its elements with their keys or indices, the variable names, and the expressions for each element.
struct Loop<'e> {
    entries: Vec<(Value, Value)>,
    first: &'e str,
    second: &'e str,
    body: &'e [IdedExpr],
}

fn text(expression: Option<&IdedExpr>) -> &str {
    match expression.map(|expression| &expression.expr) {
        Some(Expr::Literal(LiteralValue::String(text))) => text.inner(),
        _ => "",
    }
}

impl<'e> Loop<'e> {
    fn read(ftx: &FunctionContext<'_, 'e>) -> Result<Self, ExecutionError> {
        let [range, first, second, body @ ..] = ftx.args else { return Err(no_overload()) };
        let (first, second) = (text(Some(first)), text(Some(second)));
        let alone = second.is_empty();
        let entries = match Value::resolve(range, ftx.ptx)? {
            Value::List(items) => {
                let places = (0_i64..).map(Value::Int);
                places
                    .zip(items.iter().cloned())
                    .map(|(at, item)| if alone { (item, at) } else { (at, item) })
                    .collect()
            }
            // Upstream's order is random; here it is always the same.
            Value::Map(map) => {
                let sorted: BTreeMap<&Key, &Value> = map.map.iter().collect();
                sorted.into_iter().map(|(key, value)| (value_of(key), value.clone())).collect()
            }
            _ => return Err(no_overload()),
        };
        Ok(Self { entries, first, second, body })
    }

    /// Evaluates one part of the body for an entry.
    fn run(&self, part: usize, (first, second): &(Value, Value), base: &Context<'_>) -> Outcome {
        let body = self.body.get(part).ok_or_else(no_overload)?;
        let mut scope = base.new_inner_scope();
        bind(&mut scope, self.first, first)?;
        if !self.second.is_empty() {
            bind(&mut scope, self.second, second)?;
        }
        Value::resolve(body, &scope)
    }

    /// The value for an entry, unless a filter excludes it.
    fn chosen(&self, entry: &(Value, Value), base: &Context<'_>) -> Result<Option<Value>, ExecutionError> {
        let last = self.body.len().saturating_sub(1);
        if last > 0 && !truth(&self.run(0, entry, base)?)? {
            return Ok(None);
        }
        self.run(last, entry, base).and_then(plain).map(Some)
    }
}

fn truth(value: &Value) -> Result<bool, ExecutionError> {
    match value {
        Value::Bool(flag) => Ok(*flag),
        _ => Err(no_overload()),
    }
}

/// The key of a map as a value.
pub(super) fn value_of(key: &Key) -> Value {
    match key {
        Key::Int(whole) => Value::Int(*whole),
        Key::Uint(whole) => Value::UInt(*whole),
        Key::Bool(flag) => Value::Bool(*flag),
        Key::String(text) => Value::String(Arc::clone(text)),
    }
}

fn key_of(value: &Value) -> Result<Key, ExecutionError> {
    match value {
        Value::Int(whole) => Ok(Key::Int(*whole)),
        Value::UInt(whole) => Ok(Key::Uint(*whole)),
        Value::Bool(flag) => Ok(Key::Bool(*flag)),
        Value::String(text) => Ok(Key::String(Arc::clone(text))),
        _ => Err(no_overload()),
    }
}

/// Refuses optional values: in lists, maps and variables, our evaluator would treat them like their content.
fn plain(value: Value) -> Outcome {
    match &value {
        Value::Opaque(opaque) if opaque.downcast_ref::<OptionalValue>().is_some() => {
            Err(not_known("an optional value within another value"))
        }
        _ => Ok(value),
    }
}

fn bind(scope: &mut Context<'_>, name: &str, value: &Value) -> Result<(), ExecutionError> {
    scope.add_variable_from_value(name, plain(value.clone())?);
    Ok(())
}

/// Whether any element has the deciding value. An error only counts if no element decides.
fn quantified(ftx: &FunctionContext<'_, '_>, deciding: bool) -> Outcome {
    let it = Loop::read(ftx)?;
    let mut error = None;
    for entry in &it.entries {
        match it.run(0, entry, ftx.ptx).and_then(|value| truth(&value)) {
            Ok(found) if found == deciding => return Ok(Value::Bool(deciding)),
            Ok(_) => {}
            Err(ExecutionError::UndeclaredReference(name)) => {
                error = Some(not_known(&name));
            }
            Err(other) => error = error.or(Some(other)),
        }
    }
    error.map_or(Ok(Value::Bool(!deciding)), Err)
}

fn exists_one(ftx: &FunctionContext<'_, '_>) -> Outcome {
    let it = Loop::read(ftx)?;
    let mut count = 0_usize;
    for entry in &it.entries {
        count += usize::from(truth(&it.run(0, entry, ftx.ptx)?)?);
    }
    Ok(Value::Bool(count == 1))
}

fn list(ftx: &FunctionContext<'_, '_>) -> Outcome {
    let it = Loop::read(ftx)?;
    let mut items = Vec::new();
    for entry in &it.entries {
        items.extend(it.chosen(entry, ftx.ptx)?);
    }
    Ok(Value::List(Arc::new(items)))
}

fn map(ftx: &FunctionContext<'_, '_>, of_entries: bool) -> Outcome {
    let it = Loop::read(ftx)?;
    let mut made: BTreeMap<Key, Value> = BTreeMap::new();
    for entry in &it.entries {
        let Some(value) = it.chosen(entry, ftx.ptx)? else { continue };
        if of_entries {
            let Value::Map(more) = value else { return Err(no_overload()) };
            let sorted: BTreeMap<&Key, &Value> = more.map.iter().collect();
            for (key, value) in sorted {
                insert(&mut made, key.clone(), value.clone())?;
            }
        } else {
            insert(&mut made, key_of(&entry.0)?, value)?;
        }
    }
    Ok(Value::Map(Map { map: Arc::new(made.into_iter().collect()) }))
}

fn insert(map: &mut BTreeMap<Key, Value>, key: Key, value: Value) -> Result<(), ExecutionError> {
    let other = map.keys().next().map(std::mem::discriminant);
    if other.is_some_and(|other| other != std::mem::discriminant(&key)) {
        return Err(not_known("a map with keys of several types"));
    }
    match map.insert(key, value) {
        None => Ok(()),
        Some(_) => Err(failed("cel.@mapInsert", "insert failed: key already exists")),
    }
}

/// The content of an optional value, if it has any. Other values are errors.
fn content(expression: Option<&IdedExpr>, scope: &Context<'_>) -> Result<Option<Value>, ExecutionError> {
    let value = Value::resolve(expression.ok_or_else(no_overload)?, scope)?;
    let Value::Opaque(opaque) = &value else { return Err(no_overload()) };
    let optional = opaque.downcast_ref::<OptionalValue>().ok_or_else(no_overload)?;
    Ok(optional.value().cloned())
}

fn some(value: Value) -> Value {
    Value::Opaque(Arc::new(OptionalValue::of(value)))
}

fn none() -> Value {
    Value::Opaque(Arc::new(OptionalValue::none()))
}

fn optional(ftx: &FunctionContext<'_, '_>, flat: bool) -> Outcome {
    let Some(value) = content(ftx.args.first(), ftx.ptx)? else { return Ok(none()) };
    let mut scope = ftx.ptx.new_inner_scope();
    bind(&mut scope, text(ftx.args.get(1)), &value)?;
    if flat {
        return Ok(content(ftx.args.get(2), &scope)?.map_or_else(none, some));
    }
    let body = ftx.args.get(2).ok_or_else(no_overload)?;
    Value::resolve(body, &scope).and_then(plain).map(some)
}

/// The second argument is evaluated only if the first one is empty.
fn either(ftx: &FunctionContext<'_, '_>, keep_optional: bool) -> Outcome {
    let other = ftx.args.get(1);
    match content(ftx.args.first(), ftx.ptx)? {
        Some(value) => Ok(if keep_optional { some(value) } else { value }),
        None if keep_optional => Ok(content(other, ftx.ptx)?.map_or_else(none, some)),
        None => Value::resolve(other.ok_or_else(no_overload)?, ftx.ptx),
    }
}
