//! sprig's functions for values that may be missing.

use super::super::budget::Context;
use super::super::error::{Outcome, exec};
use super::super::value::Value;
use super::args::{any, flag};
use super::{Function, Type};

use Type::{Any, Bool, Text};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("default", &[Any], default).rest(Any),
    Function::new("empty", &[Any], empty),
    Function::new("coalesce", &[], coalesce).rest(Any),
    Function::new("all", &[], all).rest(Any),
    Function::new("any", &[], some).rest(Any),
    Function::new("ternary", &[Any, Any, Bool], ternary),
    Function::new("fail", &[Text], fail),
    Function::new("typeOf", &[Any], type_of),
    Function::new("typeIs", &[Text, Any], type_is),
    Function::new("typeIsLike", &[Text, Any], type_is_like),
    Function::new("kindOf", &[Any], kind_of),
    Function::new("kindIs", &[Text, Any], kind_is),
];

/// Whether sprig considers a value unset.
pub(super) fn is_empty(value: &Value<'_>) -> bool {
    !value.truth()
}

fn default<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    match args.get(1) {
        Some(given) if !is_empty(given) => Ok(given.clone()),
        _ => Ok(any(args, 0).clone()),
    }
}

fn empty<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::Bool(is_empty(any(args, 0))))
}

fn coalesce<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    for value in args {
        if !is_empty(value) {
            return Ok(value.clone());
        }
    }
    Ok(Value::Nil)
}

fn all<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::Bool(args.iter().all(Value::truth)))
}

fn some<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::Bool(args.iter().any(Value::truth)))
}

fn ternary<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(any(args, usize::from(!flag(args, 2)?)).clone())
}

fn fail<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    match args.first() {
        Some(Value::Str(message)) => Err(exec(message.lossy().into_owned())),
        _ => Err(exec("fail")),
    }
}

fn type_of<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::text(any(args, 0).type_name()))
}

/// Whether the name in the first argument is one of `names`.
fn named<'a>(args: &[Value<'a>], names: &[&str]) -> Value<'a> {
    let Some(Value::Str(wanted)) = args.first() else { return Value::Bool(false) };
    Value::Bool(names.iter().any(|name| name.as_bytes() == wanted.bytes()))
}

fn type_is<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(named(args, &[any(args, 1).type_name()]))
}

fn type_is_like<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let name = any(args, 1).type_name();
    Ok(named(args, &[name, name.strip_prefix('*').unwrap_or(name)]))
}

fn kind_of<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::text(any(args, 0).kind_name()))
}

fn kind_is<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(named(args, &[any(args, 1).kind_name()]))
}
