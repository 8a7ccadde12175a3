//! Evaluates the CEL rules of a schema (`x-kubernetes-validations`).
//!
//! The parser and the evaluator are those of `cel`, and Kubernetes' functions those of `kube-cel`. This crate walks the
//! value and assigns the types itself: `kube-cel` treats a whole number as an integer even if the schema says `number`,
//! spells `a_b` as `a__b`, and lacks optional syntax. For other differences, see [`crate::cel`].

use std::collections::BTreeMap;

use kube_cel::cel::{Context, ExecutionError, Value as CelValue};
use serde_json::Value;

use super::field_path;
use super::schema::MAX_DEPTH;
use crate::cel::{self, Lowered, Shape, lower, parse, take_not_known, with_functions};
use crate::error::{ErrorType, FieldError};
use crate::value::{list, text};

/// The compiled rules of a schema and of everything inside it.
#[derive(Debug, Default)]
pub struct Rules {
    own: Vec<Rule>,
    /// The reason that none of its own rules compile.
    uncompiled: Option<&'static str>,
    shape: Shape,
    properties: BTreeMap<String, Rules>,
    additional: Option<Box<Rules>>,
    items: Option<Box<Rules>>,
}

#[derive(Debug)]
struct Rule {
    source: String,
    expression: Result<Lowered, String>,
    /// The reason that upstream refuses to compile it.
    fault: Option<String>,
    uses_old: bool,
    message: String,
    message_expression: Option<Lowered>,
    reason: ErrorType,
    /// The path as printed; empty for the value itself.
    field_path: String,
}

/// The result of running rules on a value.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Judgement {
    /// The rules that the value breaks.
    pub errors: Vec<FieldError>,
    /// The rules that cannot be run here, with the reason.
    pub opaque: Vec<String>,
}

impl Judgement {
    /// Creates a judgement for a refused value.
    pub fn refused(errors: Vec<FieldError>) -> Self {
        Self { errors, opaque: Vec::new() }
    }

    /// Creates a judgement for a value that cannot be judged.
    pub fn unknown(reason: String) -> Self {
        Self { errors: Vec::new(), opaque: vec![reason] }
    }
}

impl Rules {
    /// Compiles the rules of a schema. The result is empty if there are none.
    pub fn read(schema: &Value) -> Self {
        Self::at(schema, 0)
    }

    /// Compiles the rules for the default of a whole variable. Upstream cannot declare a type for a list at the root, so
    /// none of the rules inside it compile, and those of properties inside it are skipped.
    pub fn of_root_default(schema: &Value) -> Self {
        let rules = Self::read(schema);
        if text(schema, &["type"]) == "array" { rules.without_type() } else { rules }
    }

    fn without_type(self) -> Self {
        let inner = |rules: Option<Box<Self>>| {
            rules.map(|rules| rules.without_type()).filter(|rules| !rules.is_empty()).map(Box::new)
        };
        let failed = "rule compiler initialization error: failed to convert to declType";
        Self {
            uncompiled: (!self.own.is_empty()).then_some(failed),
            own: Vec::new(),
            shape: Shape::default(),
            properties: BTreeMap::new(),
            additional: inner(self.additional),
            items: inner(self.items),
        }
    }

    fn at(schema: &Value, depth: usize) -> Self {
        if depth > MAX_DEPTH {
            return Self::default();
        }
        let child = |key: &str| {
            schema
                .get(key)
                .filter(|child| child.is_object())
                .map(|child| Self::at(child, depth + 1))
                .filter(|rules| !rules.is_empty())
                .map(Box::new)
        };
        let named = schema.get("properties").and_then(Value::as_object);
        let properties = named
            .into_iter()
            .flatten()
            .map(|(name, property)| (name.clone(), Self::at(property, depth + 1)))
            .filter(|(_, rules)| !rules.is_empty())
            .collect();
        let own: Vec<Rule> =
            list(schema, &["x-kubernetes-validations"]).iter().map(|rule| Rule::read(rule, schema)).collect();
        Self {
            uncompiled: None,
            shape: if own.is_empty() { Shape::default() } else { Shape::read(schema, depth) },
            own,
            properties,
            additional: child("additionalProperties"),
            items: child("items"),
        }
    }

    /// Reports whether there are no rules at all.
    pub fn is_empty(&self) -> bool {
        let own = self.own.is_empty() && self.uncompiled.is_none();
        own && self.properties.is_empty() && self.additional.is_none() && self.items.is_none()
    }

    /// Runs all rules. Transition rules only run if there is an old value.
    pub fn judge(&self, value: &Value, old: Option<&Value>, field: &str) -> Judgement {
        let mut judgement = Judgement::default();
        if !self.is_empty() {
            with_functions(|base| self.walk(value, old, field, base, &mut judgement));
        }
        judgement
    }

    fn walk(&self, value: &Value, old: Option<&Value>, field: &str, base: &Context<'_>, all: &mut Judgement) {
        if value.is_null() {
            return;
        }
        if let Some(failed) = self.uncompiled {
            all.errors.push(FieldError::invalid(field, failed));
        }
        if !self.own.is_empty() {
            let mut context = base.new_inner_scope();
            context.add_variable_from_value("self", self.shape.value(value, base));
            if let Some(old) = old {
                context.add_variable_from_value("oldSelf", self.shape.value(old, base));
            }
            for rule in &self.own {
                rule.judge(&context, old.is_some(), field, all);
            }
        }
        match value {
            Value::Object(fields) => {
                for (name, child) in fields {
                    let old = old.and_then(|old| old.get(name));
                    if let Some(rules) = self.properties.get(name) {
                        rules.walk(child, old, &format!("{field}.{name}"), base, all);
                    } else if let Some(rules) = &self.additional {
                        rules.walk(child, old, &format!("{field}[{name}]"), base, all);
                    }
                }
            }
            Value::Array(items) => {
                let Some(rules) = &self.items else { return };
                for (at, child) in items.iter().enumerate() {
                    rules.walk(child, None, &format!("{field}[{at}]"), base, all);
                }
            }
            _ => {}
        }
    }
}

/// Refuses rules that may take too long. No `ClusterClass` could contain them, so they are not run.
fn affordable(checked: &cel::Checked) -> Result<(), String> {
    match checked.costs.iter().find(|(_, cost)| *cost > cel::RULE_LIMIT) {
        Some((part, _)) => Err(format!("its {part} may take too long")),
        None => Ok(()),
    }
}

impl Rule {
    fn read(rule: &Value, schema: &Value) -> Self {
        let source = text(rule, &["rule"]);
        let checked = cel::check(rule, &cel::Context::root(schema));
        let parsed = || parse(source).map_err(|error| error.to_string());
        let expression = affordable(&checked).and_then(|()| parsed()).map(lower);
        let message_expression = text(rule, &["messageExpression"]);
        Self {
            uses_old: checked.uses_old_self,
            fault: checked.faults.into_iter().find(|fault| fault.part == "rule").map(|fault| fault.detail),
            expression,
            message: text(rule, &["message"]).to_owned(),
            message_expression: Some(message_expression)
                .filter(|source| !source.is_empty())
                .and_then(|source| parse(source).ok())
                .map(lower),
            reason: match text(rule, &["reason"]) {
                "FieldValueForbidden" => ErrorType::Forbidden,
                "FieldValueRequired" => ErrorType::Required,
                "FieldValueDuplicate" => ErrorType::Duplicate,
                _ => ErrorType::Invalid,
            },
            field_path: field_path::normalized(text(rule, &["fieldPath"]), schema).unwrap_or_default(),
            source: source.to_owned(),
        }
    }

    fn judge(&self, context: &Context<'_>, has_old: bool, field: &str, all: &mut Judgement) {
        if let Some(fault) = &self.fault {
            all.errors.push(FieldError::invalid(field, format!("rule compile error: {fault}")));
            return;
        }
        if self.uses_old && !has_old {
            return;
        }
        let expression = match &self.expression {
            Ok(expression) => expression,
            Err(error) => {
                all.opaque.push(format!("rule `{}` cannot be evaluated offline: {error}", self.source));
                return;
            }
        };
        drop(take_not_known());
        match CelValue::resolve(&expression.expression, context) {
            Ok(CelValue::Bool(true)) => {}
            Ok(CelValue::Bool(false)) => {
                all.errors.push(FieldError::new(self.reason, self.place(field), self.words(context)));
            }
            Ok(_) => {
                let detail = format!("rule `{}` does not return a boolean", self.source);
                all.errors.push(FieldError::invalid(self.place(field), detail));
            }
            Err(ExecutionError::UndeclaredReference(name)) => {
                let reason = format!("rule `{}` cannot be evaluated offline: it uses {name}", self.source);
                all.opaque.push(reason);
            }
            // If something unknown was involved, the result is unknown, whichever error came first.
            Err(error) => match take_not_known().or_else(|| expression.not_followed.clone()) {
                Some(what) => {
                    all.opaque
                        .push(format!("rule `{}` cannot be evaluated offline: it uses {what}", self.source));
                }
                None => {
                    let detail = format!("rule `{}` failed: {error}", self.source);
                    all.errors.push(FieldError::invalid(field, detail));
                }
            },
        }
    }

    /// The field that a broken rule reports.
    fn place(&self, field: &str) -> String {
        match self.field_path.as_str() {
            "" => field.to_owned(),
            inner => format!("{field}.{inner}"),
        }
    }

    fn words(&self, context: &Context<'_>) -> String {
        let made = self.message_expression.as_ref().and_then(|expression| {
            match CelValue::resolve(&expression.expression, context) {
                Ok(CelValue::String(text)) => Some(text.trim().to_owned()),
                _ => None,
            }
        });
        let fits = |text: &String| !text.is_empty() && !text.contains(['\n', '\r']);
        made.filter(fits).unwrap_or_else(|| match self.message.trim() {
            "" => format!("failed rule: {}", self.source.trim()),
            message => message.to_owned(),
        })
    }
}
