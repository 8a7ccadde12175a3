//! Rewrites forms that our evaluator treats differently from cel-go into forms that both treat alike.
//!
//! Names with `@`, which rules cannot use, are functions of [`super::functions`].

use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue};

use super::macros;
use super::tokens::EXISTS_ONE;

/// An expression ready for evaluation.
#[derive(Debug)]
pub(crate) struct Lowered {
    /// The rewritten expression.
    pub(crate) expression: IdedExpr,
    /// An unsupported part of the expression. If there is one, an error means nothing.
    pub(crate) not_followed: Option<String>,
}

/// Functions and macros without a counterpart here.
const NOT_FOLLOWED: [&str; 3] = ["sortBy", "unwrapOpt", "unwrap"];

/// Rewrites a checked expression.
pub(crate) fn lower(expression: IdedExpr) -> Lowered {
    let mut lowered = Lowered { expression, not_followed: None };
    let mut expression = std::mem::take(&mut lowered.expression);
    lowered.visit(&mut expression);
    lowered.expression = expression;
    lowered
}

impl Lowered {
    fn visit(&mut self, expression: &mut IdedExpr) {
        match &mut expression.expr {
            Expr::Call(call) => {
                call.target.iter_mut().for_each(|target| self.visit(target));
                call.args.iter_mut().for_each(|argument| self.visit(argument));
                self.watch(call);
                if let Some(made) = call_form(call) {
                    expression.expr = made;
                }
            }
            Expr::Select(select) => {
                self.visit(&mut select.operand);
                let operand = std::mem::take(&mut *select.operand);
                let field = text(&select.field);
                if !select.test {
                    expression.expr = call("_[_]", vec![operand, field]);
                } else if is_optional(&operand) {
                    let value = ided(call("_[?_]", vec![operand, field]));
                    expression.expr = method("hasValue", value, Vec::new());
                } else {
                    *select.operand = operand;
                }
            }
            Expr::List(list) => list.elements.iter_mut().for_each(|element| self.visit(element)),
            Expr::Map(map) => {
                for entry in &mut map.entries {
                    if let EntryExpr::MapEntry(entry) = &mut entry.expr {
                        self.visit(&mut entry.key);
                        self.visit(&mut entry.value);
                    }
                }
            }
            Expr::Comprehension(one) => {
                if let Some(mut made) = macro_call(one) {
                    if let Expr::Call(call) = &mut made {
                        call.args.iter_mut().for_each(|argument| self.visit(argument));
                    }
                    expression.expr = made;
                } else {
                    self.not_followed = Some("an unsupported kind of loop".to_owned());
                    expression.expr = call("@notKnown", Vec::new());
                }
            }
            Expr::Struct(message) => {
                self.not_followed = Some(format!("the message type {}", message.type_name));
                expression.expr = call("@notKnown", Vec::new());
            }
            Expr::Unspecified => {
                self.not_followed = Some("an unsupported construct".to_owned());
                expression.expr = call("@notKnown", Vec::new());
            }
            Expr::Ident(name) if name == "google" => {
                self.not_followed = Some("the name of a type".to_owned());
            }
            Expr::Ident(_) | Expr::Literal(_) => {}
        }
    }

    fn watch(&mut self, call: &CallExpr) {
        let name = call.func_name.as_str();
        let form = match name {
            // Upstream accepts whole numbers of any type as list indices.
            "_[_]" | "_[?_]" => call.args.get(1).is_some_and(|index| called(index, "@dyn").is_some()),
            _ => NOT_FOLLOWED.contains(&name),
        };
        if form {
            self.not_followed = Some(name.to_owned());
        }
    }
}

/// The rewritten form of a call, if it needs one.
fn call_form(it: &mut CallExpr) -> Option<Expr> {
    let name = it.func_name.clone();
    let global = it.target.is_none();
    if macros::has_two_variables(it) {
        return two_variables(it);
    }
    match (name.as_str(), it.args.len()) {
        ("_?._", 2) => "_[?_]".clone_into(&mut it.func_name),
        ("or" | "orValue", 1) if !global => return on_target(it, &name),
        ("optMap" | "optFlatMap", 2) if !global => {
            let Expr::Ident(variable) = &it.args.first()?.expr else { return None };
            it.args[0] = text(variable);
            return on_target(it, &name);
        }
        ("_==_", 2) => "@equal".clone_into(&mut it.func_name),
        ("@in", 2) => "@contains".clone_into(&mut it.func_name),
        ("_!=_", 2) => {
            let equal = ided(call("@equal", std::mem::take(&mut it.args)));
            return Some(call("!_", vec![equal]));
        }
        ("dyn", 1) if global => "@dyn".clone_into(&mut it.func_name),
        ("string", 1) if global => "@string".clone_into(&mut it.func_name),
        ("quantity", 1) if global => wrap(&mut it.args[0], "@bounded"),
        ("semver" | "isSemver", 1 | 2) if global => {
            if it.args.len() == 2 {
                let arguments = std::mem::take(&mut it.args);
                it.args = vec![ided(call("@normalized", arguments))];
            }
            if name == "semver" {
                wrap(&mut it.args[0], "@unbuilt");
            }
        }
        ("cidr" | "isCIDR", 1) if global => wrap(&mut it.args[0], "@network"),
        ("containsCIDR", 1) if !global => wrap(&mut it.args[0], "@network"),
        ("format", 1) if !global => "@format".clone_into(&mut it.func_name),
        ("isInteger" | "asInteger", 0) => {
            let bounded = called(it.target.as_deref()?, "quantity")?.first()?;
            let source = called(bounded, "@bounded")?.first()?.clone();
            return Some(call(&format!("@{name}"), vec![source]));
        }
        ("named", 1) if it.target.as_deref().is_some_and(|target| is_ident(target, "format")) => {
            let optional = |name, values| method(name, ided(Expr::Ident("optional".to_owned())), values);
            let known = ided(call("@isFormat", it.args.clone()));
            let some = ided(optional("of", vec![ided(Expr::Call(it.clone()))]));
            return Some(call("_?_:_", vec![known, some, ided(optional("none", Vec::new()))]));
        }
        _ => {}
    }
    None
}

/// Turns a method into one of our functions, which decides which arguments are evaluated.
fn on_target(it: &mut CallExpr, name: &str) -> Option<Expr> {
    let mut arguments = vec![*it.target.take()?];
    arguments.append(&mut it.args);
    Some(call(&format!("@{name}"), arguments))
}

/// Turns a macro with two variables into one of our functions.
fn two_variables(it: &mut CallExpr) -> Option<Expr> {
    for argument in it.args.iter_mut().take(2) {
        let Expr::Ident(variable) = &argument.expr else { return None };
        *argument = text(variable);
    }
    let name = match it.func_name.as_str() {
        "exists_one" | EXISTS_ONE => "existsOne".to_owned(),
        name => name.to_owned(),
    };
    on_target(it, &name)
}

/// Turns a macro with one variable, which the parser has expanded into a loop, into one of our functions.
fn macro_call(one: &mut ComprehensionExpr) -> Option<Expr> {
    let range = std::mem::take(&mut one.iter_range);
    let mut arguments = vec![range, text(&one.iter_var), text("")];
    let Expr::Call(step) = &mut one.loop_step.expr else { return None };
    let name = match (&one.accu_init.expr, step.func_name.as_str()) {
        (Expr::Literal(LiteralValue::Boolean(_)), "_&&_") => "@all",
        (Expr::Literal(LiteralValue::Boolean(_)), "_||_") => "@exists",
        (Expr::Literal(LiteralValue::Int(_)), "_?_:_") => "@existsOne",
        (Expr::List(_), "_+_" | "_?_:_") => "@transformList",
        _ => return None,
    };
    match name {
        "@all" | "@exists" => arguments.push(step.args.pop()?),
        "@existsOne" => arguments.push(std::mem::take(step.args.first_mut()?)),
        _ if step.func_name == "_+_" => arguments.push(appended(step)?),
        _ => {
            arguments.push(std::mem::take(step.args.first_mut()?));
            let Expr::Call(sum) = &mut step.args.get_mut(1)?.expr else { return None };
            arguments.push(appended(sum)?);
        }
    }
    Some(call(name, arguments))
}

/// The element that a sum appends to a list.
fn appended(sum: &mut CallExpr) -> Option<IdedExpr> {
    match &mut sum.args.get_mut(1)?.expr {
        Expr::List(list) => list.elements.pop(),
        _ => None,
    }
}

fn wrap(argument: &mut IdedExpr, name: &str) {
    let inner = std::mem::take(argument);
    *argument = ided(call(name, vec![inner]));
}

/// The arguments of an expression that calls this global function.
fn called<'e>(expression: &'e IdedExpr, name: &str) -> Option<&'e [IdedExpr]> {
    match &expression.expr {
        Expr::Call(call) if call.target.is_none() && call.func_name == name => Some(&call.args),
        _ => None,
    }
}

fn is_ident(expression: &IdedExpr, name: &str) -> bool {
    matches!(&expression.expr, Expr::Ident(found) if found == name)
}

/// Whether an expression certainly yields an optional value.
fn is_optional(expression: &IdedExpr) -> bool {
    let Expr::Call(call) = &expression.expr else { return false };
    match call.func_name.as_str() {
        "_[?_]" | "@or" | "@optMap" | "@optFlatMap" => true,
        "_[_]" => call.args.first().is_some_and(is_optional),
        "of" | "none" | "ofNonZeroValue" => {
            call.target.as_deref().is_some_and(|target| is_ident(target, "optional"))
        }
        _ => false,
    }
}

pub(super) fn ided(expr: Expr) -> IdedExpr {
    IdedExpr { id: 0, expr }
}

fn text(words: &str) -> IdedExpr {
    ided(Expr::Literal(LiteralValue::String(words.into())))
}

pub(super) fn call(name: &str, args: Vec<IdedExpr>) -> Expr {
    Expr::Call(CallExpr { func_name: name.to_owned(), target: None, args })
}

fn method(name: &str, target: IdedExpr, args: Vec<IdedExpr>) -> Expr {
    Expr::Call(CallExpr { func_name: name.to_owned(), target: Some(Box::new(target)), args })
}
