//! Errors in constants, which Kubernetes finds when it compiles an expression: patterns, durations and timestamps that cannot
//! be read, and conversions that fail.
//!
//! Source: `interpreter/decorators.go` and `cel/validator.go` of cel-go.

use gotmpl::{ErrorKind, regexp};
use kube_cel::cel::IdedExpr;
use kube_cel::cel::Value;
use kube_cel::cel::common::ast::{CallExpr, EntryExpr, Expr, LiteralValue};

use super::conversions::{duration_of, is_lax_time, timestamp_of};
use super::functions::{take_not_known, with_functions};
use super::lowering::lower;

/// The functions whose result for a constant is a constant.
const CONVERSIONS: [&str; 10] =
    ["bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"];

/// Checks the constants of a call.
pub(super) fn check(name: &str, call: &CallExpr) -> Result<(), String> {
    literals(name, call)?;
    if !is_conversion(call) || !call.args.iter().all(is_constant) {
        return Ok(());
    }
    let lowered = lower(IdedExpr { id: 0, expr: Expr::Call(call.clone()) });
    if lowered.not_followed.is_some() {
        return Ok(());
    }
    take_not_known();
    let result = with_functions(|context| Value::resolve(&lowered.expression, context));
    match (result, take_not_known()) {
        (Err(_), None) => Err(format!("{name} rejects this constant")),
        _ => Ok(()),
    }
}

fn is_conversion(call: &CallExpr) -> bool {
    call.target.is_none() && call.args.len() == 1 && CONVERSIONS.contains(&call.func_name.as_str())
}

fn is_constant(expression: &IdedExpr) -> bool {
    match &expression.expr {
        Expr::Literal(_) => true,
        Expr::List(list) => list.elements.iter().all(is_constant),
        Expr::Map(map) => map.entries.iter().all(|entry| match &entry.expr {
            EntryExpr::MapEntry(entry) => is_constant(&entry.key) && is_constant(&entry.value),
            EntryExpr::StructField(_) => false,
        }),
        Expr::Call(call) => is_conversion(call) && call.args.iter().all(is_constant),
        _ => false,
    }
}

/// Checks literal patterns, durations and timestamps.
fn literals(name: &str, call: &CallExpr) -> Result<(), String> {
    let at = match name {
        "matches" => usize::from(call.target.is_none()),
        "find" | "findAll" | "duration" | "timestamp" => 0,
        _ => return Ok(()),
    };
    let Some(Expr::Literal(LiteralValue::String(text))) = call.args.get(at).map(|argument| &argument.expr)
    else {
        return Ok(());
    };
    let text = text.inner();
    let right = match name {
        "duration" => duration_of(text).is_some(),
        "timestamp" => timestamp_of(text).is_some() || is_lax_time(text),
        _ => !regexp::compile(text).is_err_and(|error| error.kind == ErrorKind::Exec),
    };
    if right { Ok(()) } else { Err(format!("invalid {name} argument")) }
}
