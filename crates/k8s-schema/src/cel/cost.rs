//! The cost of an expression, as the API server estimates it before there is any value.
//!
//! [`super::checker`] has found no fault in its types. Types here have sizes, and are `dyn` where that makes no difference. Source: `checker/cost.go` of cel-go, and
//! `pkg/cel/library/cost.go` of k8s.io/apiserver.

use std::collections::BTreeMap;

use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, ListExpr, LiteralValue, MapExpr,
};

use super::function_cost::{element, function, tenth};
use super::macros;
use super::overloads;
use super::types::{Size, Type, Typed};

/// The result of checking an expression.
#[derive(Debug, Clone)]
pub(super) struct CheckedCost {
    /// Its type.
    pub(super) typed: Typed,
    /// Its maximum cost.
    pub(super) cost: u64,
    /// Whether it is a list built by the expression. Upstream does not know the size of its elements.
    pub(super) made: bool,
}

impl CheckedCost {
    pub(super) fn new(typed: Typed, cost: u64) -> Self {
        Self { typed, cost, made: false }
    }
}

/// The cost of an expression with these variables.
pub(super) fn look(expression: &IdedExpr, variables: &BTreeMap<String, Typed>) -> CheckedCost {
    Visitor { variables: variables.clone() }.visit(expression)
}

/// Visits an expression with the variables that are in scope.
pub(super) struct Visitor {
    pub(super) variables: BTreeMap<String, Typed>,
}

const NAMES_OF_TYPES: [&str; 10] =
    ["int", "uint", "double", "string", "bytes", "bool", "list", "map", "null_type", "type"];

impl Visitor {
    pub(super) fn visit(&mut self, expression: &IdedExpr) -> CheckedCost {
        match &expression.expr {
            Expr::Literal(literal) => CheckedCost::new(literal_type(literal), 0),
            Expr::Ident(name) => self.ident(name),
            Expr::Select(select) => {
                let operand = self.visit(&select.operand);
                if select.test {
                    return CheckedCost::new(Typed::scalar(Type::Bool), operand.cost.saturating_add(1));
                }
                let counts = matches!(operand.typed.kind, Type::Map(_) | Type::Object(_));
                let typed = field(&operand.typed, &select.field);
                CheckedCost::new(typed, operand.cost.saturating_add(u64::from(counts)))
            }
            Expr::Call(call) => self.call(call),
            Expr::List(list) => self.list(list),
            Expr::Map(map) => self.map(map),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
            Expr::Struct(_) | Expr::Unspecified => CheckedCost::new(Typed::anything(), 30),
        }
    }

    fn list(&mut self, list: &ListExpr) -> CheckedCost {
        let mut cost = 10_u64;
        let mut inner: Option<Typed> = None;
        for (at, element) in list.elements.iter().enumerate() {
            let mut looked = self.visit(element);
            if let (true, Type::Optional(value)) = (list.optional_indices.contains(&at), &looked.typed.kind) {
                looked.typed = (**value).clone();
            }
            cost = cost.saturating_add(looked.cost);
            inner = Some(joined(inner, looked.typed));
        }
        let count = u64::try_from(list.elements.len()).unwrap_or(u64::MAX);
        let inner = Box::new(inner.unwrap_or_else(Typed::anything));
        let typed = Typed::sized(Type::List(inner), Size { min: count, max: count });
        CheckedCost { typed, cost, made: true }
    }

    fn map(&mut self, map: &MapExpr) -> CheckedCost {
        let mut cost = 30_u64;
        let (mut keys, mut values) = (None, None);
        for entry in &map.entries {
            let EntryExpr::MapEntry(entry) = &entry.expr else { continue };
            let (key, value) = (self.visit(&entry.key), self.visit(&entry.value));
            cost = cost.saturating_add(key.cost).saturating_add(value.cost);
            keys = Some(joined(keys, key.typed));
            if !entry.optional {
                values = Some(joined(values, value.typed));
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
        CheckedCost::new(typed, cost)
    }

    fn ident(&self, name: &str) -> CheckedCost {
        let typed = match self.variables.get(name) {
            Some(typed) => typed.clone(),
            None if NAMES_OF_TYPES.contains(&name) => Typed::scalar(Type::Named("type")),
            None => Typed::anything(),
        };
        CheckedCost::new(typed, 1)
    }

    fn comprehension(&mut self, one: &ComprehensionExpr) -> CheckedCost {
        let range = self.visit(&one.iter_range);
        let init = self.visit(&one.accu_init);
        let (key, value) = match &range.typed.kind {
            Type::List(items) => (Typed::scalar(Type::Int), (**items).clone()),
            Type::Map(values) => (Typed::sized(Type::Text, Size::up_to(0)), (**values).clone()),
            _ => (Typed::anything(), Typed::anything()),
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
        let condition = self.visit(&one.loop_cond);
        let step = self.visit(&one.loop_step);
        let makes_list = matches!(init.typed.kind, Type::List(_) | Type::Map(_));
        let accumulated = if makes_list {
            Typed { size: range.typed.size, ..step.typed.clone() }
        } else {
            init.typed.clone()
        };
        self.variables.insert(one.accu_var.clone(), accumulated);
        let result = self.visit(&one.result);
        self.variables = saved;
        let each = condition.cost.saturating_add(step.cost);
        let loops = range.typed.size.max.saturating_mul(each);
        let cost = [range.cost, init.cost, loops, result.cost].into_iter().fold(0, u64::saturating_add);
        let made = matches!(result.typed.kind, Type::List(_));
        CheckedCost { typed: result.typed, cost, made }
    }

    fn call(&mut self, call: &CallExpr) -> CheckedCost {
        if let Some(expanded) = macros::expanded(call) {
            return expanded
                .map_or_else(|_| CheckedCost::new(Typed::anything(), 0), |loops| self.visit(&loops));
        }
        if let Some(target) = call.target.as_deref().filter(|_| macros::is_optional(call)) {
            return self.optional(call, target);
        }
        let arguments: Vec<CheckedCost> = call.args.iter().map(|argument| self.visit(argument)).collect();
        if let ("_?_:_", [condition, yes, no]) = (call.func_name.as_str(), arguments.as_slice()) {
            return conditional(condition, yes, no);
        }
        let qualified = overloads::qualified(call).filter(|name| overloads::exists(name));
        let target = call.target.as_deref().filter(|_| qualified.is_none()).map(|target| self.visit(target));
        let mut cost = target.as_ref().map_or(0, |target| target.cost);
        let name = qualified.as_deref().unwrap_or(call.func_name.as_str());
        let mut made = false;
        let (typed, own) = match (name, arguments.as_slice()) {
            ("_&&_" | "_||_", [_, _]) => (Typed::scalar(Type::Bool), 0),
            ("_[_]", [container, _]) => (indexed(&container.typed), 1),
            ("_[?_]", [container, _]) => (Typed::optional(indexed(&container.typed)), 1),
            ("_?._", [owner, _]) => {
                let found = literal(call, 1).map(|name| field(&owner.typed, name));
                (Typed::optional(found.unwrap_or_else(Typed::anything)), 1)
            }
            (macros::INSERT, arguments) => macros::inserted(arguments),
            _ if name.starts_with('_') || name.starts_with(['!', '-', '@']) => operator(name, &arguments),
            _ => {
                let (typed, own) = known_function(name, target.as_ref(), &arguments);
                made = matches!(typed.kind, Type::List(_));
                (typed, own)
            }
        };
        for argument in &arguments {
            cost = cost.saturating_add(argument.cost);
        }
        let joined = name == "_+_" && arguments.iter().any(|one| one.made);
        CheckedCost { typed, cost: cost.saturating_add(own), made: made || joined }
    }
}

pub(super) fn conditional(condition: &CheckedCost, yes: &CheckedCost, no: &CheckedCost) -> CheckedCost {
    let cost = condition.cost.saturating_add(yes.cost.max(no.cost));
    CheckedCost::new(union(yes.typed.clone(), no.typed.clone()), cost)
}

/// The string literal at an argument position, if it is one.
fn literal(call: &CallExpr, at: usize) -> Option<&str> {
    match &call.args.get(at)?.expr {
        Expr::Literal(LiteralValue::String(text)) => Some(text.inner()),
        _ => None,
    }
}

/// The type of the elements so far and of the next one.
fn joined(all: Option<Typed>, one: Typed) -> Typed {
    match all {
        Some(all) => union(all, one),
        None => one,
    }
}

/// The type of an index expression's result.
fn indexed(container: &Typed) -> Typed {
    match &container.kind {
        Type::Optional(value) => Typed::optional(indexed(value)),
        _ => element(container),
    }
}

/// The result type of a function and its own cost.
fn known_function(name: &str, target: Option<&CheckedCost>, arguments: &[CheckedCost]) -> (Typed, u64) {
    let (typed, cost) = function(name, target, arguments);
    if typed != Typed::anything() {
        return (typed, cost);
    }
    let count = arguments.len() + usize::from(target.is_some());
    let forms = overloads::forms(name).unwrap_or_default().iter();
    let mut fitting = forms
        .filter(|form| form.is_member() == target.is_some() && form.parameters.len() == count)
        .map(|form| Typed::result(&form.result));
    let first = fitting.next().unwrap_or_else(Typed::anything);
    let alike = fitting.all(|other| other == first);
    (if alike { first } else { Typed::anything() }, cost)
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

fn field(owner: &Typed, name: &str) -> Typed {
    match &owner.kind {
        Type::Object(fields) => fields.get(name).cloned().unwrap_or_else(Typed::anything),
        Type::Map(values) => (**values).clone(),
        Type::Optional(value) => Typed::optional(field(value, name)),
        _ => Typed::anything(),
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

fn operator(name: &str, arguments: &[CheckedCost]) -> (Typed, u64) {
    let flag = Typed::scalar(Type::Bool);
    match (name, arguments) {
        ("-_", [one]) => (one.typed.clone(), 1),
        ("@in", [_, list]) => {
            let over_map = matches!(list.typed.kind, Type::Map(_) | Type::Dyn);
            (flag, if over_map { 1 } else { list.typed.size.max })
        }
        ("!_" | "@not_strictly_false", [_]) => (flag, 1),
        (_, [left, right]) => {
            let (a, b) = (&left.typed.kind, &right.typed.kind);
            let shorter = left.typed.size.max.min(right.typed.size.max);
            let both = left.typed.size.plus(right.typed.size);
            match name {
                // Upstream has a cost for equal addresses, quantities and the like, but none for different ones.
                "_==_" if matches!(a, Type::Named(_)) => (flag, 1),
                "_==_" | "_!=_" => (flag, tenth(shorter)),
                "_<_" | "_<=_" | "_>_" | "_>=_" => {
                    let texts = matches!(a, Type::Text | Type::Bytes);
                    (flag, if texts { tenth(shorter) } else { 1 })
                }
                // A duration and a timestamp can be added in either order.
                "_+_" | "_-_" if matches!((a, b), (Type::Named(_), Type::Named(_))) => (Typed::anything(), 1),
                "_+_" => match a {
                    Type::Text | Type::Bytes => (Typed::sized(a.clone(), both), tenth(both.max)),
                    Type::List(_) => {
                        let joined = union(left.typed.clone(), right.typed.clone());
                        (Typed { size: both, ..joined }, 1)
                    }
                    _ => (left.typed.clone(), 1),
                },
                "_-_" | "_*_" | "_/_" | "_%_" => (left.typed.clone(), 1),
                _ => (Typed::anything(), 1),
            }
        }
        _ => (Typed::anything(), 1),
    }
}
