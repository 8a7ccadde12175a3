//! Types and costs of an expression, as the API server's checker determines them before there is any value.
//!
//! If this program knows less than upstream, it reports nothing. Source: `checker/cost.go` of cel-go, and
//! `pkg/cel/library/cost.go` of k8s.io/apiserver.

use std::collections::BTreeMap;

use gotmpl::{ErrorKind, regexp};
use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, ListExpr, LiteralValue, MapExpr,
};

use super::conversions::{duration_of, is_lax_time, timestamp_of};
use super::function_cost::{element, function, tenth};
use super::macros;
use super::overloads;
use super::types::{Size, Type, Typed};

/// The result of checking an expression.
#[derive(Debug, Clone)]
pub(super) struct Looked {
    /// Its type.
    pub(super) typed: Typed,
    /// Its maximum cost.
    pub(super) cost: u64,
    /// Whether it is a list built by the expression. Upstream does not know the size of its elements.
    pub(super) made: bool,
}

impl Looked {
    pub(super) fn new(typed: Typed, cost: u64) -> Self {
        Self { typed, cost, made: false }
    }
}

/// Checks an expression with these variables. Upstream reports every error that this returns.
pub(super) fn look(expression: &IdedExpr, variables: &BTreeMap<String, Typed>) -> Result<Looked, String> {
    Visitor { variables: variables.clone() }.visit(expression)
}

/// Visits an expression with the variables that are in scope.
pub(super) struct Visitor {
    pub(super) variables: BTreeMap<String, Typed>,
}

const NAMES_OF_TYPES: [&str; 10] =
    ["int", "uint", "double", "string", "bytes", "bool", "list", "map", "null_type", "type"];

impl Visitor {
    pub(super) fn visit(&mut self, expression: &IdedExpr) -> Result<Looked, String> {
        match &expression.expr {
            Expr::Literal(literal) => Ok(Looked::new(literal_type(literal), 0)),
            Expr::Ident(name) => self.ident(name),
            Expr::Select(select) => {
                let operand = self.visit(&select.operand)?;
                if select.test {
                    field(&operand.typed, &select.field)?;
                    let cost = operand.cost.saturating_add(1);
                    return Ok(Looked::new(Typed::scalar(Type::Bool), cost));
                }
                let typed = field(&operand.typed, &select.field)?;
                let counts = matches!(operand.typed.kind, Type::Map(_) | Type::Object(_));
                Ok(Looked::new(typed, operand.cost.saturating_add(u64::from(counts))))
            }
            Expr::Call(call) => self.call(call),
            Expr::List(list) => self.list(list, false),
            Expr::Map(map) => self.map(map),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
            Expr::Struct(_) | Expr::Unspecified => Ok(Looked::new(Typed::anything(), 30)),
        }
    }

    /// Checks a list. Its elements must have the same type, except in arguments of `format`.
    fn list(&mut self, list: &ListExpr, mixed: bool) -> Result<Looked, String> {
        let mut cost = 10_u64;
        let mut inner: Option<Typed> = None;
        for (at, element) in list.elements.iter().enumerate() {
            let mut looked = self.visit(element)?;
            if let (true, Type::Optional(value)) = (list.optional_indices.contains(&at), &looked.typed.kind) {
                looked.typed = (**value).clone();
            }
            cost = cost.saturating_add(looked.cost);
            inner = Some(if mixed { Typed::anything() } else { same(inner, looked.typed)? });
        }
        let count = u64::try_from(list.elements.len()).unwrap_or(u64::MAX);
        let inner = Box::new(inner.unwrap_or_else(Typed::anything));
        let typed = Typed::sized(Type::List(inner), Size { min: count, max: count });
        Ok(Looked { typed, cost, made: true })
    }

    fn map(&mut self, map: &MapExpr) -> Result<Looked, String> {
        let mut cost = 30_u64;
        let (mut keys, mut values) = (None, None);
        for entry in &map.entries {
            let EntryExpr::MapEntry(entry) = &entry.expr else { continue };
            let (key, value) = (self.visit(&entry.key)?, self.visit(&entry.value)?);
            cost = cost.saturating_add(key.cost).saturating_add(value.cost);
            keys = Some(same(keys, key.typed)?);
            if !entry.optional {
                values = Some(same(values, value.typed)?);
            }
        }
        let mut typed = Typed::anything();
        if map.entries.is_empty() {
            typed = Typed::sized(Type::Map(Box::new(Typed::anything())), Size::up_to(0));
        }
        // The keys of maps are assumed to be strings.
        if let (Some(Type::Text), Some(values)) = (keys.map(|keys| keys.kind), values) {
            let count = u64::try_from(map.entries.len()).unwrap_or(u64::MAX);
            typed = Typed::sized(Type::Map(Box::new(values)), Size { min: 0, max: count });
        }
        Ok(Looked::new(typed, cost))
    }

    fn ident(&self, name: &str) -> Result<Looked, String> {
        let typed = match self.variables.get(name) {
            Some(typed) => typed.clone(),
            None if NAMES_OF_TYPES.contains(&name) => Typed::scalar(Type::Named("type")),
            // The names of some types start with `google`.
            None if name.contains('@') || name == "google" => Typed::anything(),
            None => return Err(format!("undeclared reference to '{name}'")),
        };
        Ok(Looked::new(typed, 1))
    }

    fn comprehension(&mut self, one: &ComprehensionExpr) -> Result<Looked, String> {
        let range = self.visit(&one.iter_range)?;
        let init = self.visit(&one.accu_init)?;
        let (key, value) = match &range.typed.kind {
            Type::List(items) => (Typed::scalar(Type::Int), (**items).clone()),
            Type::Map(values) => (Typed::sized(Type::Text, Size::up_to(0)), (**values).clone()),
            Type::Dyn => (Typed::anything(), Typed::anything()),
            _ => {
                return Err("expression of this type cannot be range of a comprehension".to_owned());
            }
        };
        let saved = self.variables.clone();
        if let Some(second) = &one.iter_var2 {
            self.variables.insert(one.iter_var.clone(), key);
            self.variables.insert(second.clone(), value);
        } else {
            let over_map = matches!(range.typed.kind, Type::Map(_));
            let item = if over_map { key } else { value };
            self.variables.insert(one.iter_var.clone(), item);
        }
        self.variables.insert(one.accu_var.clone(), init.typed.clone());
        let condition = self.visit(&one.loop_cond)?;
        let step = self.visit(&one.loop_step)?;
        let makes_list = matches!(init.typed.kind, Type::List(_) | Type::Map(_));
        let accumulated = if makes_list {
            Typed { size: range.typed.size, ..step.typed.clone() }
        } else {
            init.typed.clone()
        };
        self.variables.insert(one.accu_var.clone(), accumulated);
        let result = self.visit(&one.result)?;
        self.variables = saved;
        let each = condition.cost.saturating_add(step.cost);
        let loops = range.typed.size.max.saturating_mul(each);
        let cost = [range.cost, init.cost, loops, result.cost].into_iter().fold(0, u64::saturating_add);
        let made = matches!(result.typed.kind, Type::List(_));
        Ok(Looked { typed: result.typed, cost, made })
    }

    fn call(&mut self, call: &CallExpr) -> Result<Looked, String> {
        if let Some(expanded) = macros::expanded(call) {
            return self.visit(&expanded?);
        }
        if let Some(target) = call.target.as_deref().filter(|_| macros::is_optional(call)) {
            return self.optional(call, target);
        }
        let mut arguments = Vec::new();
        for argument in &call.args {
            arguments.push(match &argument.expr {
                Expr::List(list) if call.func_name == "format" => self.list(list, true)?,
                // The name of an optional field is a string literal, not a variable.
                _ => self.visit(argument)?,
            });
        }
        if let ("_?_:_", [condition, yes, no]) = (call.func_name.as_str(), arguments.as_slice()) {
            return conditional(condition, yes, no);
        }
        let space = self.namespace(call);
        let qualified = space.map(|space| format!("{space}.{}", call.func_name));
        let target = match &call.target {
            Some(target) if space.is_none() => Some(self.visit(target)?),
            _ => None,
        };
        let mut cost = target.as_ref().map_or(0, |target| target.cost);
        let name = qualified.as_deref().unwrap_or(call.func_name.as_str());
        let mut made = false;
        let (typed, own) = match (name, arguments.as_slice()) {
            ("_&&_" | "_||_", [left, right]) => {
                boolean(&left.typed)?;
                boolean(&right.typed)?;
                (Typed::scalar(Type::Bool), 0)
            }
            ("_[_]" | "_[?_]", [container, key]) => {
                let found = indexed(name, &container.typed, &key.typed)?;
                (if name == "_[_]" { found } else { Typed::optional(found) }, 1)
            }
            ("_?._", [owner, _]) => {
                let found = literal(call, 1).map(|name| field(&owner.typed, name)).transpose()?;
                (Typed::optional(found.unwrap_or_else(Typed::anything)), 1)
            }
            (macros::INSERT, arguments) => macros::inserted(arguments)?,
            _ if name.starts_with('_') || name.starts_with(['!', '-', '@']) => operator(name, &arguments)?,
            _ => {
                let (typed, own) = checked_function(name, target.as_ref(), &arguments)?;
                literals(name, call)?;
                made = matches!(typed.kind, Type::List(_));
                (typed, own)
            }
        };
        for argument in &arguments {
            cost = cost.saturating_add(argument.cost);
        }
        let joined = name == "_+_" && arguments.iter().any(|one| one.made);
        Ok(Looked { typed, cost: cost.saturating_add(own), made: made || joined })
    }

    /// The namespace of a function such as `sets.contains`.
    fn namespace<'c>(&self, call: &'c CallExpr) -> Option<&'c str> {
        match call.target.as_deref().map(|target| &target.expr) {
            Some(Expr::Ident(space))
                if !self.variables.contains_key(space)
                    && overloads::exists(&format!("{space}.{}", call.func_name)) =>
            {
                Some(space)
            }
            _ => None,
        }
    }
}

pub(super) fn conditional(condition: &Looked, yes: &Looked, no: &Looked) -> Result<Looked, String> {
    boolean(&condition.typed)?;
    if yes.typed.kind.clashes(&no.typed.kind) {
        return Err(no_overload("_?_:_"));
    }
    let cost = condition.cost.saturating_add(yes.cost.max(no.cost));
    Ok(Looked::new(union(yes.typed.clone(), no.typed.clone()), cost))
}

/// The string literal at an argument position, if it is one.
fn literal(call: &CallExpr, at: usize) -> Option<&str> {
    match &call.args.get(at)?.expr {
        Expr::Literal(LiteralValue::String(text)) => Some(text.inner()),
        _ => None,
    }
}

fn no_overload(name: &str) -> String {
    format!("found no matching overload for '{name}'")
}

/// Unifies the type of the previous elements of a list with that of the next one.
fn same(all: Option<Typed>, one: Typed) -> Result<Typed, String> {
    match all {
        Some(all) if all.kind.clashes(&one.kind) => {
            Err("elements of a list or map are not of one type".to_owned())
        }
        Some(all) => Ok(union(all, one)),
        None => Ok(one),
    }
}

/// The type of an index expression's result.
fn indexed(name: &str, container: &Typed, key: &Typed) -> Result<Typed, String> {
    let fits = match &container.kind {
        Type::Dyn => true,
        Type::List(_) => matches!(key.kind, Type::Int | Type::Dyn),
        Type::Map(_) => matches!(key.kind, Type::Text | Type::Dyn),
        Type::Optional(value) => return indexed(name, value, key).map(Typed::optional),
        _ => false,
    };
    if fits { Ok(element(container)) } else { Err(no_overload(name)) }
}

/// Checks a function call: the function must exist and accept these types.
fn checked_function(
    name: &str,
    target: Option<&Looked>,
    arguments: &[Looked],
) -> Result<(Typed, u64), String> {
    let types: Vec<&Typed> = arguments.iter().map(|argument| &argument.typed).collect();
    let result = overloads::result(name, target.map(|target| &target.typed), &types)?;
    let (typed, cost) = function(name, target, arguments);
    Ok((if typed == Typed::anything() { result } else { typed }, cost))
}

/// Checks literal patterns, durations and timestamps.
fn literals(name: &str, call: &CallExpr) -> Result<(), String> {
    let at = match name {
        "matches" => usize::from(call.target.is_none()),
        "find" | "findAll" | "duration" | "timestamp" => 0,
        _ => return Ok(()),
    };
    let Some(text) = literal(call, at) else { return Ok(()) };
    let right = match name {
        "duration" => duration_of(text).is_some(),
        "timestamp" => timestamp_of(text).is_some() || is_lax_time(text),
        _ => !regexp::compile(text).is_err_and(|error| error.kind == ErrorKind::Exec),
    };
    if right { Ok(()) } else { Err(format!("invalid {name} argument")) }
}

fn literal_type(literal: &LiteralValue) -> Typed {
    match literal {
        LiteralValue::Boolean(_) => Typed::scalar(Type::Bool),
        LiteralValue::Int(_) => Typed::scalar(Type::Int),
        LiteralValue::UInt(_) => Typed::scalar(Type::Uint),
        LiteralValue::Double(_) => Typed::scalar(Type::Double),
        LiteralValue::Null => Typed::scalar(Type::Null),
        LiteralValue::String(text) => {
            let length = u64::try_from(text.inner().len()).unwrap_or(u64::MAX);
            Typed::sized(Type::Text, Size { min: length, max: length })
        }
        LiteralValue::Bytes(_) => Typed::sized(Type::Bytes, Size::up_to(0)),
    }
}

fn field(owner: &Typed, name: &str) -> Result<Typed, String> {
    match &owner.kind {
        Type::Object(fields) => fields.get(name).cloned().ok_or_else(|| format!("undefined field '{name}'")),
        Type::Map(values) => Ok((**values).clone()),
        Type::Dyn => Ok(Typed::anything()),
        Type::Optional(value) => field(value, name).map(Typed::optional),
        _ => Err(format!("type does not support field selection of '{name}'")),
    }
}

fn union(left: Typed, right: Typed) -> Typed {
    let size = left.size.or(right.size);
    let holds = matches!(
        (&left.kind, &right.kind),
        (Type::List(_), Type::List(_))
            | (Type::Map(_), Type::Map(_))
            | (Type::Optional(_), Type::Optional(_))
    );
    if left.kind == right.kind || holds {
        let empty = |one: &Typed| match &one.kind {
            Type::List(inner) | Type::Map(inner) | Type::Optional(inner) => inner.kind == Type::Dyn,
            _ => false,
        };
        let kind = if empty(&left) { right.kind } else { left.kind };
        return Typed { kind, size, min_bytes: left.min_bytes };
    }
    Typed { kind: Type::Dyn, size, min_bytes: 1 }
}

fn boolean(typed: &Typed) -> Result<(), String> {
    match typed.kind {
        Type::Bool | Type::Dyn => Ok(()),
        _ => Err("found no matching overload: a boolean is expected".to_owned()),
    }
}

/// Whether a type is a plain scalar.
fn is_plain(kind: &Type) -> bool {
    matches!(kind, Type::Bool | Type::Int | Type::Uint | Type::Double | Type::Text | Type::Bytes)
}

fn is_number(kind: &Type) -> bool {
    matches!(kind, Type::Int | Type::Uint | Type::Double)
}

fn operator(name: &str, arguments: &[Looked]) -> Result<(Typed, u64), String> {
    let none = || format!("found no matching overload for '{name}'");
    let flag = Typed::scalar(Type::Bool);
    match (name, arguments) {
        ("!_", [one]) => boolean(&one.typed).map(|()| (flag, 1)),
        ("-_", [one]) if matches!(one.typed.kind, Type::Int | Type::Double | Type::Dyn) => {
            Ok((one.typed.clone(), 1))
        }
        ("-_", [_]) => Err(none()),
        ("@in", [item, list]) => {
            let fits = match &list.typed.kind {
                Type::Dyn => true,
                Type::List(inner) => !item.typed.kind.clashes(&inner.kind),
                Type::Map(_) => matches!(item.typed.kind, Type::Text | Type::Dyn),
                _ => false,
            };
            if !fits {
                return Err(none());
            }
            let over_map = matches!(list.typed.kind, Type::Map(_) | Type::Dyn);
            Ok((flag, if over_map { 1 } else { list.typed.size.max }))
        }
        ("@not_strictly_false", [_]) => Ok((flag, 1)),
        (_, [left, right]) => {
            let (a, b) = (&left.typed.kind, &right.typed.kind);
            let clash = a.clashes(b);
            let shorter = left.typed.size.max.min(right.typed.size.max);
            let both = left.typed.size.plus(right.typed.size);
            match name {
                "_==_" | "_!=_" if clash => Err(none()),
                "_==_" | "_!=_" => Ok((flag, tenth(shorter))),
                "_<_" | "_<=_" | "_>_" | "_>=_" => {
                    let ordered = |kind: &Type| {
                        let named = matches!(kind, Type::Named("timestamp" | "duration"));
                        is_plain(kind) || named || matches!(kind, Type::Dyn | Type::Null)
                    };
                    if clash && !(is_number(a) && is_number(b)) || !ordered(a) || !ordered(b) {
                        return Err(none());
                    }
                    let texts = matches!(a, Type::Text | Type::Bytes);
                    Ok((flag, if texts { tenth(shorter) } else { 1 }))
                }
                // A duration and a timestamp can be added in either order.
                "_+_" | "_-_" if matches!((a, b), (Type::Named(_), Type::Named(_))) => {
                    Ok((Typed::anything(), 1))
                }
                "_+_" if clash || matches!((a, b), (Type::Bool, Type::Bool)) => Err(none()),
                "_+_" => match a {
                    Type::Text | Type::Bytes => Ok((Typed::sized(a.clone(), both), tenth(both.max))),
                    Type::List(_) => {
                        let joined = union(left.typed.clone(), right.typed.clone());
                        Ok((Typed { size: both, ..joined }, 1))
                    }
                    _ => Ok((left.typed.clone(), 1)),
                },
                "_-_" | "_*_" | "_/_" | "_%_" => {
                    let holds = |kind: &Type| matches!(kind, Type::List(_) | Type::Map(_) | Type::Object(_));
                    let text = |kind: &Type| is_plain(kind) && !is_number(kind) || holds(kind);
                    if clash || text(a) || text(b) {
                        return Err(none());
                    }
                    Ok((left.typed.clone(), 1))
                }
                _ => Ok((Typed::anything(), 1)),
            }
        }
        _ => Ok((Typed::anything(), 1)),
    }
}
