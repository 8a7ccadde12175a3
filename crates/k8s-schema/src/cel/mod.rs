//! Checks that the class webhook makes of a CEL rule without a value: that it compiles, that it yields a boolean, and its
//! estimated cost.
//!
//! Types come from the schema. Nothing is reported about parts that are not supported here. Source: `pkg/apiserver/schema/cel` of
//! apiextensions-apiserver.
//!
//! ```
//! use k8s_schema::cel::{Context, RULE_LIMIT, check};
//! use serde_json::json;
//!
//! let context = Context::root(&json!({ "type": "string", "maxLength": 63 }));
//! let checked = check(&json!({ "rule": "self.startsWith('md-')" }), &context);
//! assert!(checked.faults.is_empty() && checked.costs[0].1 < RULE_LIMIT);
//!
//! let checked = check(&json!({ "rule": "size(self)" }), &context);
//! assert_eq!(checked.faults[0].detail, "cel expression must evaluate to a bool");
//! ```

/// Adds functions to a context by name. Each function has a type of its own, so a list cannot hold them.
macro_rules! add_functions {
    ($context:expr, { $($name:literal => $function:expr),+ $(,)? }) => {
        $($context.add_function($name, $function);)+
    };
}

mod checker;
mod constants;
mod conversions;
mod cost;
mod folds;
mod function_cost;
mod functions;
mod lowering;
mod macros;
mod overloads;
mod parse;
mod quantity;
mod tokens;
mod types;
mod unify;
mod urls;
mod value;

use std::collections::BTreeMap;

use serde_json::Value;

use self::cost::look;
pub(crate) use self::functions::{take_not_known, with_functions};
pub(crate) use self::lowering::{Lowered, lower};
pub(crate) use self::parse::parse;
use self::parse::{ParseError, is_too_large};
use self::types::{MAX_REQUEST, Typed};
use self::unify::CelType;
pub(crate) use self::value::Shape;
use super::error::FieldError;
use super::value::{get, text};

/// The highest cost of a single rule.
pub const RULE_LIMIT: u64 = 10_000_000;
/// The highest total cost of all rules of a schema.
pub const SCHEMA_LIMIT: u64 = 100_000_000;

/// The position of a rule: its schema, and how often it may run.
#[derive(Debug, Clone)]
pub struct Context {
    schema: Value,
    /// The largest possible number of values; none if unlimited.
    cardinality: Option<u64>,
    root: bool,
}

impl Context {
    /// The position at the root of a variable's schema.
    pub fn root(schema: &Value) -> Self {
        Self { schema: schema.clone(), cardinality: Some(1), root: true }
    }

    /// The position of a property.
    #[must_use]
    pub fn property(&self, schema: &Value) -> Self {
        Self { schema: schema.clone(), cardinality: self.cardinality, root: false }
    }

    /// The position of a list's items.
    #[must_use]
    pub fn items(&self, schema: &Value) -> Self {
        self.many(schema, "maxItems")
    }

    /// The position of a map's values.
    #[must_use]
    pub fn additional(&self, schema: &Value) -> Self {
        self.many(schema, "maxProperties")
    }

    fn many(&self, schema: &Value, limit: &str) -> Self {
        let limit = get(&self.schema, &[limit]).and_then(Value::as_u64);
        let cardinality = self.cardinality.zip(limit).map(|(all, each)| all.saturating_mul(each));
        Self { schema: schema.clone(), cardinality, root: false }
    }

    /// Reports whether upstream can declare a type for the schema, which it cannot for a list at the root.
    pub fn has_type(&self) -> bool {
        !(self.root && text(&self.schema, &["type"]) == "array")
    }
}

/// A fault in the `rule` or `messageExpression` of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuleFault {
    /// The field of the rule.
    pub part: &'static str,
    /// What is wrong.
    pub detail: String,
}

/// The result of checking a rule.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Checked {
    /// The faults.
    pub faults: Vec<RuleFault>,
    /// The estimated costs by field.
    pub costs: Vec<(&'static str, u64)>,
    /// Whether the rule uses the old value.
    pub uses_old_self: bool,
}

/// Checks a rule of `x-kubernetes-validations`.
pub fn check(rule: &Value, context: &Context) -> Checked {
    let mut checked = Checked::default();
    if is_too_large(text(rule, &["rule"])) {
        return checked;
    }
    let own = Typed::of(&context.schema);
    let times = context.cardinality.unwrap_or(MAX_REQUEST / (own.min_bytes + 1));
    let variables = BTreeMap::from(["self", "oldSelf"].map(|name| (name.to_owned(), own.clone())));
    let fault = |part, detail: &str| RuleFault { part, detail: detail.to_owned() };
    let fields = [
        ("rule", CelType::Named("bool"), "cel expression must evaluate to a bool", times),
        ("messageExpression", CelType::Named("string"), "messageExpression must evaluate to a string", 1),
    ];
    for (part, expected, mismatch, times) in fields {
        let source = text(rule, &[part]);
        if part != "rule" && source.is_empty() || !checked.faults.is_empty() {
            break;
        }
        let expression = match parse(source) {
            Ok(expression) => expression,
            Err(ParseError::TooLarge) => continue,
            Err(error) => {
                checked.faults.push(fault(part, &format!("compilation failed: {error}")));
                continue;
            }
        };
        checked.uses_old_self |= part == "rule" && expression.references().has_variable("oldSelf");
        if has_unknown_macro(source) {
            continue;
        }
        match checker::check(&expression, &own.kind) {
            Err(error) => {
                let error = error.replace(tokens::EXISTS_ONE, "existsOne");
                checked.faults.push(fault(part, &format!("compilation failed: {error}")));
            }
            Ok(found) if found.kind != expected && !(found.lax && found.kind == CelType::Dyn) => {
                checked.faults.push(fault(part, mismatch));
            }
            Ok(_) => {
                let cost = look(&expression, &variables).cost;
                checked.costs.push((part, cost.saturating_mul(times)));
            }
        }
    }
    checked
}

/// Whether the expression contains a macro that is not supported here. Nothing is reported about such rules.
fn has_unknown_macro(expression: &str) -> bool {
    expression.contains("sortBy")
}

/// The message if the cost exceeds the limit of a single rule.
pub fn over_budget(name: &str, cost: u64) -> Option<String> {
    (cost > RULE_LIMIT).then(|| too_expensive(name, cost, RULE_LIMIT))
}

fn too_expensive(name: &str, cost: u64, limit: u64) -> String {
    let hundredths = u128::from(cost) * 100 / u128::from(limit);
    let factor = if hundredths > 10_000 {
        "more than 100x".to_owned()
    } else {
        format!("{}.{}x", hundredths / 100, hundredths % 100 / 10)
    };
    format!(
        "{name} exceeds budget by factor of {factor} (try simplifying the rule, or adding \
         maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
    )
}

/// The total cost of all rules of a schema.
#[derive(Debug, Default)]
pub struct Total {
    sum: u64,
    parts: Vec<(String, u64)>,
}

impl Total {
    /// Adds the cost of one expression.
    pub fn observe(&mut self, field: String, cost: u64) {
        self.sum = self.sum.saturating_add(cost);
        if cost < SCHEMA_LIMIT / 100 {
            return;
        }
        self.parts.push((field, cost));
        // Upstream names the four most expensive expressions.
        self.parts.sort_by_key(|(_, cost)| std::cmp::Reverse(*cost));
        self.parts.truncate(4);
    }

    /// The errors if the total exceeds its limit.
    pub fn errors(&self, path: &str) -> Vec<FieldError> {
        if self.sum <= SCHEMA_LIMIT {
            return Vec::new();
        }
        let detail = "contributed to estimated rule & messageExpression cost total exceeding \
                      cost limit for entire OpenAPIv3 schema";
        let mut errors: Vec<FieldError> =
            self.parts.iter().map(|(field, _)| FieldError::forbidden(field, detail)).collect();
        let name = "x-kubernetes-validations estimated rule & messageExpression cost total for \
                    entire OpenAPIv3 schema";
        errors.push(FieldError::forbidden(path, too_expensive(name, self.sum, SCHEMA_LIMIT)));
        errors
    }
}
