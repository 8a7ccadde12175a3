//! The macros that our parser leaves as calls: those with two variables, and those for optional values.
//!
//! This module expands them to check them without a value; [`super::folds`] runs them. Source: `ext/comprehensions.go` and `cel/library.go`
//! of cel-go.

use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{CallExpr, ComprehensionExpr, Expr, ListExpr, LiteralValue, MapExpr};

use super::cost::{CheckedCost, Visitor, conditional};
use super::lowering::{call, ided};
use super::tokens::EXISTS_ONE;
use super::types::{Type, Typed};

/// The variable for the result of a running loop. Rules cannot use this name.
const RESULT: &str = "@result";
/// The function that inserts an entry into a map.
pub(super) const INSERT: &str = "cel.@mapInsert";

/// The operation of a macro with two variables.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    All,
    Exists,
    ExistsOne,
    List,
    Map,
    Entries,
}

fn kind(name: &str, arguments: usize) -> Option<Kind> {
    match (name, arguments) {
        ("all", 3) => Some(Kind::All),
        ("exists", 3) => Some(Kind::Exists),
        ("exists_one" | EXISTS_ONE, 3) => Some(Kind::ExistsOne),
        ("transformList", 3 | 4) => Some(Kind::List),
        ("transformMap", 3 | 4) => Some(Kind::Map),
        ("transformMapEntry", 3 | 4) => Some(Kind::Entries),
        _ => None,
    }
}

/// Whether a call is a macro with two variables.
pub(super) fn has_two_variables(it: &CallExpr) -> bool {
    it.target.is_some() && kind(&it.func_name, it.args.len()).is_some()
}

/// Whether a call is `optMap` or `optFlatMap`.
pub(super) fn is_optional(it: &CallExpr) -> bool {
    it.target.is_some() && it.args.len() == 2 && matches!(it.func_name.as_str(), "optMap" | "optFlatMap")
}

/// The name that a macro gives to a variable.
pub(super) fn name(argument: Option<&IdedExpr>) -> Result<String, String> {
    match argument.map(|argument| &argument.expr) {
        Some(Expr::Ident(name)) => Ok(name.clone()),
        _ => Err("argument must be a simple name".to_owned()),
    }
}

/// The loop that a macro with two variables expands to.
pub(super) fn expanded(it: &CallExpr) -> Option<Result<IdedExpr, String>> {
    let (range, kind) = (it.target.as_deref()?, kind(&it.func_name, it.args.len())?);
    let names = name(it.args.first()).and_then(|first| Ok((first, name(it.args.get(1))?)));
    let (body, filter) = match it.args.get(2..)? {
        [body] => (body, None),
        [filter, body] => (body, Some(filter)),
        _ => return None,
    };
    Some(names.and_then(|(first, second)| {
        if first == second {
            return Err(format!("duplicate variable name: {first}"));
        }
        Ok(repeated(kind, range, (first, second), body, filter))
    }))
}

fn repeated(
    kind: Kind,
    range: &IdedExpr,
    (first, second): (String, String),
    body: &IdedExpr,
    filter: Option<&IdedExpr>,
) -> IdedExpr {
    let literal = |value: bool| ided(Expr::Literal(LiteralValue::Boolean(value.into())));
    let number = |value: i64| ided(Expr::Literal(LiteralValue::Int(value.into())));
    let result = || ided(Expr::Ident(RESULT.to_owned()));
    let calls = |name: &str, arguments| ided(call(name, arguments));
    let going_on = |value| calls("@not_strictly_false", vec![value]);
    let body = body.clone();
    let (init, condition, step) = match kind {
        Kind::All => (literal(true), going_on(result()), calls("_&&_", vec![result(), body])),
        Kind::Exists => {
            (literal(false), going_on(calls("!_", vec![result()])), calls("_||_", vec![result(), body]))
        }
        Kind::ExistsOne => {
            let more = calls("_+_", vec![result(), number(1)]);
            (number(0), literal(true), calls("_?_:_", vec![body, more, result()]))
        }
        Kind::List => {
            let one = ided(Expr::List(ListExpr::new(vec![body])));
            (ided(Expr::List(ListExpr::new(Vec::new()))), literal(true), calls("_+_", vec![result(), one]))
        }
        Kind::Map | Kind::Entries => {
            let mut arguments = vec![result(), body];
            if kind == Kind::Map {
                arguments.insert(1, ided(Expr::Ident(first.clone())));
            }
            (ided(Expr::Map(MapExpr::default())), literal(true), calls(INSERT, arguments))
        }
    };
    let step = match filter {
        Some(filter) => calls("_?_:_", vec![filter.clone(), step, result()]),
        None => step,
    };
    let result = if kind == Kind::ExistsOne { calls("_==_", vec![result(), number(1)]) } else { result() };
    ided(Expr::Comprehension(Box::new(ComprehensionExpr {
        iter_range: range.clone(),
        iter_var: first,
        iter_var2: Some(second),
        accu_var: RESULT.to_owned(),
        accu_init: init,
        loop_cond: condition,
        loop_step: step,
        result,
    })))
}

/// The type and cost of inserting one entry, or all entries of another map, into a map.
pub(super) fn inserted(arguments: &[CheckedCost]) -> (Typed, u64) {
    let typed = match arguments {
        [_, key, value] if key.typed.kind == Type::Text => {
            Typed { min_bytes: 1, ..Typed::sized(Type::Map(Box::new(value.typed.clone())), value.typed.size) }
        }
        [_, CheckedCost { typed: entries @ Typed { kind: Type::Map(_), .. }, .. }] => entries.clone(),
        _ => Typed::anything(),
    };
    (typed, 1)
}

impl Visitor {
    /// The cost of `target.hasValue() ? optional.of(…) : optional.none()`, in which the variable stands for `target.value()`.
    pub(super) fn optional(&mut self, it: &CallExpr, target: &IdedExpr) -> CheckedCost {
        let (Ok(variable), Some(body)) = (name(it.args.first()), it.args.get(1)) else {
            return CheckedCost::new(Typed::anything(), 0);
        };
        let target = self.visit(target);
        let value = match &target.typed.kind {
            Type::Optional(value) => (**value).clone(),
            _ => Typed::anything(),
        };
        let saved = self.variables.clone();
        self.variables.insert(variable, value);
        let looked = self.visit(body);
        self.variables = saved;
        // The cost of binding a variable: an empty list to iterate over, the value, and the expression that uses it.
        let bound = target.cost.saturating_add(11).saturating_add(looked.cost);
        let some = match it.func_name.as_str() {
            "optMap" => CheckedCost::new(Typed::optional(looked.typed), bound.saturating_add(1)),
            _ => CheckedCost { cost: bound, ..looked },
        };
        let (typed, cost) = super::function_cost::function("optional.none", None, &[]);
        let condition = CheckedCost::new(Typed::scalar(Type::Bool), target.cost.saturating_add(1));
        conditional(&condition, &some, &CheckedCost::new(typed, cost))
    }
}
