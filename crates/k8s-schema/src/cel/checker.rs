//! The type of an expression, and the error that Kubernetes finds in it without a value.
//!
//! Types are unified as in cel-go: a function accepts arguments if its parameters can be replaced so that both sides agree.
//! Parts that are not supported here have type `dyn`, and nothing is reported about the type of the result.
//! Source: `checker/checker.go`, `checker/types.go` and `cel/validator.go` of cel-go.

use std::collections::BTreeMap;

use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, ListExpr, LiteralValue, MapExpr,
};

use super::constants;
use super::macros;
use super::overloads::{self, Overload};
use super::types::Type;
use super::unify::{CelType, Mapping};

/// The result of checking an expression.
#[derive(Debug)]
pub(super) struct CheckedExpression {
    /// Its type; type parameters without a value are `dyn`.
    pub(super) kind: CelType,
    /// Whether it has parts that are not supported here.
    pub(super) lax: bool,
}

/// Checks an expression in which `self` and `oldSelf` have this type.
pub(super) fn check(expression: &IdedExpr, own: &Type) -> Result<CheckedExpression, String> {
    let own = CelType::declared(own, &mut 0);
    let scope = BTreeMap::from([("self".to_owned(), own.clone()), ("oldSelf".to_owned(), own)]);
    let mut checker = Checker { scope, ..Checker::default() };
    let kind = checker.visit(expression)?;
    for (expected, found) in &checker.alike {
        if !checker.lax && checker.mapping.settled(expected) != checker.mapping.settled(found) {
            return Err("elements of a list or map are not of one type".to_owned());
        }
    }
    Ok(CheckedExpression { kind: checker.mapping.settled(&kind), lax: checker.lax })
}

#[derive(Default)]
struct Checker {
    scope: BTreeMap<String, CelType>,
    mapping: Mapping,
    /// Types that must be equal in the end: those of the elements of a list or map.
    alike: Vec<(CelType, CelType)>,
    /// The number of calls of `format` around the expression, whose lists may have elements of several types.
    formats: usize,
    lax: bool,
}

const NAMES_OF_TYPES: [&str; 10] =
    ["int", "uint", "double", "string", "bytes", "bool", "list", "map", "null_type", "type"];

type Found = Result<CelType, String>;

impl Checker {
    fn visit(&mut self, expression: &IdedExpr) -> Found {
        match &expression.expr {
            Expr::Literal(literal) => Ok(of_literal(literal)),
            Expr::Ident(name) => self.ident(name),
            Expr::Select(select) => {
                let operand = self.visit(&select.operand)?;
                let found = self.field(&operand, &select.field, false)?;
                Ok(if select.test { CelType::Named("bool") } else { found })
            }
            Expr::Call(call) => self.call(call),
            Expr::List(list) => self.list(list),
            Expr::Map(map) => self.map(map),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
            Expr::Struct(_) | Expr::Unspecified => Ok(self.unsupported()),
        }
    }

    fn unsupported(&mut self) -> CelType {
        self.lax = true;
        CelType::Dyn
    }

    fn ident(&mut self, name: &str) -> Found {
        match self.scope.get(name) {
            Some(kind) => Ok(kind.clone()),
            None if NAMES_OF_TYPES.contains(&name) => Ok(CelType::Type),
            // The names of some types start with `google`.
            None if name == "google" => Ok(self.unsupported()),
            None => Err(format!("undeclared reference to '{name}'")),
        }
    }

    /// The type of a field. A field of an optional value is optional.
    fn field(&mut self, owner: &CelType, name: &str, optional: bool) -> Found {
        let owner = self.mapping.resolved(owner);
        let (owner, was_optional) = match owner {
            CelType::Of("optional", mut inner) => (inner.pop().unwrap_or(CelType::Dyn), true),
            owner => (owner, false),
        };
        let found = match &owner {
            CelType::Of("map", inner) => inner.get(1).cloned().unwrap_or(CelType::Dyn),
            CelType::Object(object) => {
                object.fields.get(name).cloned().ok_or_else(|| format!("undefined field '{name}'"))?
            }
            CelType::Parameter(_) => {
                self.mapping.assign(&CelType::Dyn, &owner);
                CelType::Dyn
            }
            CelType::Dyn => CelType::Dyn,
            _ => return Err(format!("type does not support field selection of '{name}'")),
        };
        Ok(if was_optional || optional { CelType::optional(found) } else { found })
    }

    fn list(&mut self, list: &ListExpr) -> Found {
        let mut joined = Elements::default();
        for (at, element) in list.elements.iter().enumerate() {
            let mut kind = self.visit(element)?;
            if list.optional_indices.contains(&at) {
                kind = self.content(&kind)?;
            }
            self.join(&mut joined, kind);
        }
        Ok(CelType::list(joined.general.unwrap_or_else(|| self.mapping.parameter())))
    }

    fn map(&mut self, map: &MapExpr) -> Found {
        let (mut keys, mut values) = (Elements::default(), Elements::default());
        for entry in &map.entries {
            let EntryExpr::MapEntry(entry) = &entry.expr else { continue };
            let key = self.visit(&entry.key)?;
            self.join(&mut keys, key);
            let mut value = self.visit(&entry.value)?;
            if entry.optional {
                value = self.content(&value)?;
            }
            self.join(&mut values, value);
        }
        let keys = keys.general.unwrap_or_else(|| self.mapping.parameter());
        let values = values.general.unwrap_or_else(|| self.mapping.parameter());
        Ok(CelType::map(keys, values))
    }

    /// Adds an element to those that a list or map has so far.
    fn join(&mut self, elements: &mut Elements, kind: CelType) {
        let Some(general) = elements.general.take() else {
            elements.first = Some(kind.clone());
            elements.general = Some(kind);
            return;
        };
        let joined = if self.mapping.assign(&general, &kind) {
            CelType::more_general(&general, &kind)
        } else {
            CelType::Dyn
        };
        elements.general = Some(joined);
        if let (0, Some(first)) = (self.formats, &elements.first) {
            self.alike.push((first.clone(), kind));
        }
    }

    /// The content of an optional element.
    fn content(&self, kind: &CelType) -> Found {
        match self.mapping.resolved(kind) {
            CelType::Of("optional", mut inner) => Ok(inner.pop().unwrap_or(CelType::Dyn)),
            CelType::Dyn => Ok(CelType::Dyn),
            _ => Err("an optional element must have an optional value".to_owned()),
        }
    }

    fn comprehension(&mut self, one: &ComprehensionExpr) -> Found {
        let range = self.visit(&one.iter_range)?;
        let init = self.visit(&one.accu_init)?;
        let range = self.mapping.resolved(&range);
        let two = one.iter_var2.is_some();
        let (first, second) = match &range {
            CelType::Of("list", inner) if two => (CelType::Named("int"), inner.first()),
            CelType::Of("list" | "map", inner) => {
                (inner.first().cloned().unwrap_or(CelType::Dyn), inner.get(1))
            }
            CelType::Dyn | CelType::Parameter(_) => {
                self.mapping.assign(&CelType::Dyn, &range);
                (CelType::Dyn, None)
            }
            _ => return Err("expression of this type cannot be range of a comprehension".to_owned()),
        };
        let saved = self.scope.clone();
        self.scope.insert(one.accu_var.clone(), init.clone());
        let around = self.scope.clone();
        self.scope.insert(one.iter_var.clone(), first);
        if let Some(name) = &one.iter_var2 {
            self.scope.insert(name.clone(), second.cloned().unwrap_or(CelType::Dyn));
        }
        let condition = self.visit(&one.loop_cond)?;
        self.expect(&CelType::Named("bool"), &condition)?;
        let step = self.visit(&one.loop_step)?;
        self.expect(&init, &step)?;
        self.scope = around;
        let result = self.visit(&one.result)?;
        self.scope = saved;
        Ok(self.mapping.resolved(&result))
    }

    fn expect(&mut self, expected: &CelType, found: &CelType) -> Result<(), String> {
        if self.mapping.assign(expected, found) {
            return Ok(());
        }
        Err("found no matching overload: the types do not match".to_owned())
    }

    fn call(&mut self, call: &CallExpr) -> Found {
        if let Some(expanded) = macros::expanded(call) {
            return self.visit(&expanded?);
        }
        if let Some(target) = call.target.as_deref().filter(|_| macros::is_optional(call)) {
            return self.optional(call, target);
        }
        if let ("_?._", [owner, name]) = (call.func_name.as_str(), call.args.as_slice()) {
            let Expr::Literal(LiteralValue::String(name)) = &name.expr else {
                return Err("an optional field must be named".to_owned());
            };
            let owner = self.visit(owner)?;
            let found = self.field(&owner, name.inner(), true)?;
            return Ok(self.mapping.resolved(&found));
        }
        let inside_format = usize::from(call.func_name == "format");
        self.formats += inside_format;
        let mut arguments = Vec::new();
        for argument in &call.args {
            arguments.push(self.visit(argument)?);
        }
        let space = overloads::qualified(call).filter(|name| overloads::exists(name));
        let member = call.target.is_some() && space.is_none();
        if let Some(target) = call.target.as_deref().filter(|_| member) {
            let target = self.visit(target)?;
            arguments.insert(0, target);
        }
        self.formats -= inside_format;
        let name = space.as_deref().unwrap_or(call.func_name.as_str());
        constants::check(name, call)?;
        self.resolve(name, member, &arguments)
    }

    /// The type of a call's result: that of all forms of the function that accept the arguments.
    fn resolve(&mut self, name: &str, member: bool, arguments: &[CelType]) -> Found {
        let forms = overloads::forms(name).ok_or_else(|| format!("undeclared reference to '{name}'"))?;
        let mut result: Option<CelType> = None;
        for form in forms.iter().filter(|form| form.is_member() == member) {
            let Overload { parameters, result: made, .. } = form;
            let mut fresh = BTreeMap::new();
            let parameters: Vec<CelType> =
                parameters.iter().map(|one| self.mapping.instance(one, &mut fresh)).collect();
            let made = self.mapping.instance(made, &mut fresh);
            if !self.mapping.assign_all(arguments, &parameters) {
                continue;
            }
            let made = self.mapping.resolved(&made);
            result = Some(match result {
                None => made,
                Some(all) if all == CelType::Dyn || all == made => all,
                Some(_) => CelType::Dyn,
            });
        }
        result.ok_or_else(|| format!("found no matching overload for '{name}'"))
    }

    /// `target.hasValue() ? optional.of(body) : optional.none()`, in which the variable stands for `target.value()`.
    fn optional(&mut self, call: &CallExpr, target: &IdedExpr) -> Found {
        let variable = macros::name(call.args.first())?;
        let body = call.args.get(1).ok_or("an argument is missing")?;
        let target = self.visit(target)?;
        let has_value = self.resolve("hasValue", true, std::slice::from_ref(&target))?;
        let value = self.resolve("value", true, std::slice::from_ref(&target))?;
        let saved = self.scope.clone();
        self.scope.insert(variable, value);
        let body = self.visit(body)?;
        self.scope = saved;
        let some = match call.func_name.as_str() {
            "optMap" => self.resolve("optional.of", false, &[body])?,
            _ => body,
        };
        let none = self.resolve("optional.none", false, &[])?;
        self.resolve("_?_:_", false, &[has_value, some, none])
    }
}

/// The types of the elements of a list or map.
#[derive(Default)]
struct Elements {
    first: Option<CelType>,
    general: Option<CelType>,
}

fn of_literal(literal: &LiteralValue) -> CelType {
    match literal {
        LiteralValue::Boolean(_) => CelType::Named("bool"),
        LiteralValue::Int(_) => CelType::Named("int"),
        LiteralValue::UInt(_) => CelType::Named("uint"),
        LiteralValue::Double(_) => CelType::Named("double"),
        LiteralValue::Null => CelType::Null,
        LiteralValue::String(_) => CelType::Named("string"),
        LiteralValue::Bytes(_) => CelType::Named("bytes"),
    }
}
