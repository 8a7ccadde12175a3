//! Types and costs of an expression: what the API server's checker finds before any value is
//! there.
//!
//! Where this program knows less than upstream, it says nothing. Source: `checker/cost.go` of
//! cel-go, and `pkg/cel/library/cost.go` of k8s.io/apiserver.

use std::collections::BTreeMap;

use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{CallExpr, ComprehensionExpr, Expr, LiteralValue};

use super::types::{Size, Type, Typed};

/// An expression that was looked at.
#[derive(Debug, Clone)]
pub(super) struct Looked {
    /// Its type.
    pub(super) typed: Typed,
    /// The most that it costs.
    pub(super) cost: u64,
}

/// Looks at an expression with these variables; an error is one that upstream finds, too.
pub(super) fn look(expression: &IdedExpr, variables: &BTreeMap<String, Typed>) -> Result<Looked, String> {
    Visitor { variables: variables.clone() }.visit(expression)
}

/// A tenth of a size, rounded up: what going through a text costs.
fn tenth(size: u64) -> u64 {
    if size == u64::MAX { u64::MAX } else { size.div_ceil(10) }
}

fn scaled(size: u64, numerator: u64, denominator: u64) -> u64 {
    if size == u64::MAX {
        return u64::MAX;
    }
    size.saturating_mul(numerator).div_ceil(denominator)
}

struct Visitor {
    variables: BTreeMap<String, Typed>,
}

const NAMES_OF_TYPES: [&str; 10] =
    ["int", "uint", "double", "string", "bytes", "bool", "list", "map", "null_type", "type"];

/// What functions are called by: `math.greatest(…)`.
const NAMESPACES: [&str; 10] =
    ["cel", "optional", "sets", "math", "base64", "ip", "format", "jsonpatch", "strings", "google"];

impl Visitor {
    fn visit(&mut self, expression: &IdedExpr) -> Result<Looked, String> {
        match &expression.expr {
            Expr::Literal(literal) => Ok(Looked { typed: literal_type(literal), cost: 0 }),
            Expr::Ident(name) => self.ident(name),
            Expr::Select(select) => {
                let operand = self.visit(&select.operand)?;
                if select.test {
                    field(&operand.typed, &select.field)?;
                    let cost = operand.cost.saturating_add(1);
                    return Ok(Looked { typed: Typed::scalar(Type::Bool), cost });
                }
                let typed = field(&operand.typed, &select.field)?;
                let counts = matches!(operand.typed.kind, Type::Map(_) | Type::Object(_));
                let cost = operand.cost.saturating_add(u64::from(counts));
                Ok(Looked { typed, cost })
            }
            Expr::Call(call) => self.call(call),
            Expr::List(elements) => {
                let mut cost = 10_u64;
                let mut inner: Option<Typed> = None;
                for element in &elements.elements {
                    let looked = self.visit(element)?;
                    cost = cost.saturating_add(looked.cost);
                    inner = Some(match inner {
                        Some(inner) => union(inner, looked.typed),
                        None => looked.typed,
                    });
                }
                let count = u64::try_from(elements.elements.len()).unwrap_or(u64::MAX);
                let inner = Box::new(inner.unwrap_or_else(Typed::anything));
                let typed = Typed::sized(Type::List(inner), Size { min: count, max: count });
                Ok(Looked { typed, cost })
            }
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
            Expr::Map(_) | Expr::Struct(_) | Expr::Unspecified => {
                Ok(Looked { typed: Typed::anything(), cost: 30 })
            }
        }
    }

    fn ident(&self, name: &str) -> Result<Looked, String> {
        let typed = match self.variables.get(name) {
            Some(typed) => typed.clone(),
            None if NAMES_OF_TYPES.contains(&name) => Typed::scalar(Type::Other),
            None if name.contains('@') || NAMESPACES.contains(&name) => Typed::anything(),
            None => return Err(format!("undeclared reference to '{name}'")),
        };
        Ok(Looked { typed, cost: 1 })
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
        let makes_list = matches!(init.typed.kind, Type::List(_));
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
        Ok(Looked { typed: result.typed, cost })
    }

    fn call(&mut self, call: &CallExpr) -> Result<Looked, String> {
        let mut arguments = Vec::new();
        for argument in &call.args {
            // An optional field is named by a text that is no variable.
            arguments.push(self.visit(argument)?);
        }
        let target = call.target.as_ref().map(|target| self.visit(target)).transpose()?;
        let mut cost = target.as_ref().map_or(0, |target| target.cost);
        let name = call.func_name.as_str();
        let (typed, own) = match (name, arguments.as_slice()) {
            ("_&&_" | "_||_", [left, right]) => {
                boolean(&left.typed)?;
                boolean(&right.typed)?;
                (Typed::scalar(Type::Bool), 0)
            }
            ("_?_:_", [condition, yes, no]) => {
                boolean(&condition.typed)?;
                cost = cost.saturating_add(condition.cost).saturating_add(yes.cost.max(no.cost));
                return Ok(Looked { typed: union(yes.typed.clone(), no.typed.clone()), cost });
            }
            ("_[_]", [container, _]) => (element(&container.typed), 1),
            _ if name.starts_with('_') || name.starts_with(['!', '-', '@']) => operator(name, &arguments)?,
            _ => function(name, target.as_ref(), &arguments),
        };
        for argument in &arguments {
            cost = cost.saturating_add(argument.cost);
        }
        Ok(Looked { typed, cost: cost.saturating_add(own) })
    }
}

fn literal_type(literal: &LiteralValue) -> Typed {
    match literal {
        LiteralValue::Boolean(_) => Typed::scalar(Type::Bool),
        LiteralValue::Int(_) => Typed::scalar(Type::Int),
        LiteralValue::UInt(_) => Typed::scalar(Type::Uint),
        LiteralValue::Double(_) => Typed::scalar(Type::Double),
        LiteralValue::Null => Typed::anything(),
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
        _ => Err(format!("type does not support field selection of '{name}'")),
    }
}

fn element(container: &Typed) -> Typed {
    match &container.kind {
        Type::List(inner) | Type::Map(inner) => (**inner).clone(),
        _ => Typed::anything(),
    }
}

fn union(left: Typed, right: Typed) -> Typed {
    let size = left.size.or(right.size);
    let is_list = |one: &Typed| matches!(one.kind, Type::List(_));
    if left.kind == right.kind || (is_list(&left) && is_list(&right)) {
        let empty = |one: &Typed| match &one.kind {
            Type::List(inner) => inner.kind == Type::Dyn,
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

/// Types of which it is clear that they do not go together.
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
        ("-_", [one]) => Ok((one.typed.clone(), 1)),
        ("@in", [_, list]) => {
            let over_map = matches!(list.typed.kind, Type::Map(_) | Type::Dyn);
            Ok((flag, if over_map { 1 } else { list.typed.size.max }))
        }
        ("@not_strictly_false", [_]) => Ok((flag, 1)),
        (_, [left, right]) => {
            let (a, b) = (&left.typed.kind, &right.typed.kind);
            let clash = is_plain(a) && is_plain(b) && a != b;
            let shorter = left.typed.size.max.min(right.typed.size.max);
            let both = left.typed.size.plus(right.typed.size);
            match name {
                "_==_" | "_!=_" if clash => Err(none()),
                "_==_" | "_!=_" => Ok((flag, tenth(shorter))),
                "_<_" | "_<=_" | "_>_" | "_>=_" => {
                    if clash && !(is_number(a) && is_number(b)) {
                        return Err(none());
                    }
                    let texts = matches!(a, Type::Text | Type::Bytes);
                    Ok((flag, if texts { tenth(shorter) } else { 1 }))
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
                    let text = |kind: &Type| is_plain(kind) && !is_number(kind);
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

/// Type and own cost of a function.
fn function(name: &str, target: Option<&Looked>, arguments: &[Looked]) -> (Typed, u64) {
    let first = arguments.first();
    let subject = target.or(first).map_or_else(Typed::anything, |one| one.typed.clone());
    let size = subject.size;
    let argument = |at: usize| arguments.get(at).map_or(0, |one| one.typed.size.max);
    let flag = Typed::scalar(Type::Bool);
    let words = |size: Size| Typed::sized(Type::Text, size);
    match name {
        "size" | "int" | "getDayOfMonth" | "compareTo" | "asInteger" | "prefixLength" => {
            (Typed::scalar(Type::Int), 1)
        }
        "double" | "asApproximateFloat" => (Typed::scalar(Type::Double), 1),
        "uint" => (Typed::scalar(Type::Uint), 1),
        "bool" | "isGreaterThan" | "isLessThan" | "isInteger" | "isLoopback" => (flag, 1),
        "string" => match subject.kind {
            Type::Text => (subject, 1),
            Type::Int | Type::Uint | Type::Double | Type::Bool => (words(Size::UNKNOWN), 1),
            _ => (words(Size::up_to(0)), 1),
        },
        "startsWith" | "endsWith" => (flag, tenth(argument(0))),
        "contains" => (flag, tenth(size.max).saturating_mul(tenth(argument(0)))),
        "matches" => {
            let at = usize::from(target.is_none());
            let regex = scaled(argument(at), 1, 4);
            (flag, tenth(size.max.saturating_add(1)).saturating_mul(regex))
        }
        "find" | "findAll" => {
            let regex = scaled(argument(0), 1, 4);
            let cost = tenth(size.max.saturating_add(1)).saturating_mul(regex);
            let found = words(Size::up_to(size.max));
            if name == "find" {
                return (found, cost);
            }
            let list = Type::List(Box::new(words(Size::up_to(0))));
            (Typed::sized(list, Size::up_to(size.max)), cost)
        }
        "lowerAscii" | "upperAscii" | "substring" | "trim" => (words(size), tenth(size.max)),
        "split" => {
            let list = Type::List(Box::new(words(Size::up_to(0))));
            (Typed::sized(list, Size::up_to(size.max)), scaled(size.max, 1, 5))
        }
        "isSorted" => (flag, elements_cost(&subject)),
        "sum" | "min" | "max" => (element(&subject), elements_cost(&subject)),
        "indexOf" | "lastIndexOf" => (Typed::scalar(Type::Int), elements_cost(&subject)),
        "isIP" | "isCIDR" | "isQuantity" | "isURL" | "isSemver" => (flag, tenth(size.max)),
        "ip" | "cidr" | "quantity" | "url" | "semver" => (Typed::scalar(Type::Other), tenth(size.max)),
        _ => (Typed::anything(), 1),
    }
}

fn elements_cost(subject: &Typed) -> u64 {
    match &subject.kind {
        Type::List(inner) => {
            let texts = matches!(inner.kind, Type::Text | Type::Bytes);
            let each = if texts { tenth(inner.size.max).saturating_add(1) } else { 1 };
            subject.size.max.saturating_mul(each)
        }
        _ => tenth(subject.size.max),
    }
}
