//! Validates a value against its schema, with the errors of the API server in the same order.
//!
//! Source: `pkg/validation/validate` of kube-openapi.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};

use serde_json::Value;

use super::formats;
use super::schema::Schema;
use super::trail::Trail;
use crate::error::{ErrorType, FieldError};
use crate::value::{compact, field, same};

/// The result of checking a value: its errors and the number of checks. The best of several alternatives is the one with the
/// most checks.
#[derive(Debug, Default)]
struct Outcome {
    errors: Vec<FieldError>,
    checks: usize,
}

impl Outcome {
    fn add(&mut self, error: FieldError) {
        self.errors.push(error);
    }

    fn merge(&mut self, other: Self) {
        self.checks += other.checks;
        self.errors.extend(other.errors);
    }

    fn one(error: FieldError) -> Self {
        Self { errors: vec![error], checks: 0 }
    }
}

/// The field that holds the validated value.
struct Place<'a> {
    field: &'a dyn fmt::Display,
}

/// The largest number outside `int64` that can count as whole (`swag.IsFloat64AJSONInteger`).
const MAX_SAFE: f64 = 9_007_199_254_740_991.0;

/// Whether a number counts as whole, including deviations too small for upstream to notice.
fn is_whole(number: f64) -> bool {
    let near = number >= 1.0 && number.fract() / (number + number.trunc()) < 1e-9;
    number.abs() <= MAX_SAFE && (number.fract() == 0.0 || near)
}

/// Whether a number fits the type and format of a schema. Like upstream, this depends on its digits.
fn in_range(number: f64, schema: &Schema) -> bool {
    if schema.types.as_slice() != ["integer"] {
        let single = matches!(schema.format.as_str(), "float" | "float32");
        return !single || number.to_string().parse::<f32>().is_ok_and(f32::is_finite);
    }
    let (least, most) = match schema.format.as_str() {
        "int32" => (f64::from(i32::MIN), f64::from(i32::MAX)),
        "uint32" => (0.0, f64::from(u32::MAX)),
        "uint64" => (0.0, 18_446_744_073_709_549_568.0),
        // The greatest `float64` below 2^63.
        _ => (-9_223_372_036_854_774_784.0, 9_223_372_036_854_774_784.0),
    };
    number.fract() == 0.0 && (least..=most).contains(&number)
}

/// All errors of a value; `field` is its path. Empty if the schema is not supported.
pub fn validate(value: &Value, schema: &Schema, field: &dyn fmt::Display) -> Vec<FieldError> {
    if schema.obstacle.is_some() {
        return Vec::new();
    }
    let mut errors = Place { field }.check(value, schema, &Trail::start("")).errors;
    // Upstream drops repeated errors as it merges them. The result is the same, and a list may have many.
    let mut known = BTreeSet::new();
    errors.retain(|error| known.insert(error.clone()));
    errors
}

impl Place<'_> {
    fn at(&self, path: &Trail<'_>) -> String {
        let path = path.to_string();
        let path = path.strip_prefix('.').unwrap_or(&path);
        if path.is_empty() { self.field.to_string() } else { format!("{}.{path}", self.field) }
    }

    fn fail(&self, kind: ErrorType, path: &Trail<'_>, detail: &str) -> Outcome {
        Outcome::one(FieldError::new(kind, self.at(path), detail))
    }

    fn check(&self, value: &Value, schema: &Schema, path: &Trail<'_>) -> Outcome {
        let mut all = Outcome::default();
        if value.is_null() {
            all.merge(self.check_type(value, schema, path));
            all.merge(self.check_enum(value, schema, path));
            return all;
        }
        if !schema.types.is_empty() || !schema.format.is_empty() {
            all.merge(self.check_type(value, schema, path));
            all.checks += 1;
        }
        if schema.is_composed() {
            all.merge(self.check_composition(value, schema, path));
        } else {
            all.checks += 1;
        }
        all.checks += 1;
        match value {
            Value::String(text) => all.merge(self.check_text(text, schema, path)),
            Value::Number(number) => {
                all.merge(self.check_number(number.as_f64(), schema, path));
            }
            Value::Array(items) => all.merge(self.check_list(items, schema, path)),
            _ => {}
        }
        all.merge(self.check_enum(value, schema, path));
        all.checks += 2;
        if let Value::Object(fields) = value {
            all.merge(self.check_map(fields, schema, path));
            all.checks += 1;
        }
        all
    }

    fn check_type(&self, value: &Value, schema: &Schema, path: &Trail<'_>) -> Outcome {
        let passed = Outcome { errors: Vec::new(), checks: 1 };
        let fail = |expected: &str, found: &str| {
            let detail = format!("{path} in body must be of type {expected}: {found:?}");
            self.fail(ErrorType::TypeInvalid, path, &detail)
        };
        let expected = || schema.types.join(",");
        if value.is_null() {
            let refused = !schema.types.is_empty() && !schema.nullable;
            return if refused { fail(&expected(), "null") } else { passed };
        }
        let whole = value.as_f64().is_some_and(is_whole);
        let actual = match type_name(value) {
            "integer" if !value.is_i64() => "number",
            name => name,
        };
        let fits = schema.accepts(actual)
            || (actual == "number" && whole && schema.accepts("integer"))
            || (actual == "integer" && schema.accepts("number"));
        let text_or_list = matches!(value, Value::String(_) | Value::Array(_));
        if !schema.format.is_empty() {
            if !text_or_list && !fits {
                return fail(&schema.format, actual);
            }
            let numeric = schema.accepts("number") || schema.accepts("integer");
            if text_or_list && !numeric {
                return passed;
            }
        }
        if fits || schema.types.is_empty() { passed } else { fail(&expected(), actual) }
    }

    fn check_enum(&self, value: &Value, schema: &Schema, path: &Trail<'_>) -> Outcome {
        if schema.accepted.is_empty() || schema.accepted.iter().any(|one| equals(value, one)) {
            return Outcome::default();
        }
        let mut detail = "Unsupported value, supported values: ".to_owned();
        for (at, accepted) in schema.accepted.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            // Writing to a String cannot fail.
            let _ = write!(detail, "{comma}{}", compact(accepted));
        }
        self.fail(ErrorType::NotSupported, path, &detail)
    }

    fn check_text(&self, text: &str, schema: &Schema, path: &Trail<'_>) -> Outcome {
        let mut all = Outcome { errors: Vec::new(), checks: 1 };
        let limits = &schema.limits;
        let length = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
        if let Some(most) = limits.max_length.filter(|most| length > *most) {
            let detail = format!("Too long: may not be more than {most} bytes");
            all.merge(self.fail(ErrorType::TooLong, path, &detail));
        } else if let Some(least) = limits.min_length.filter(|least| length < *least) {
            let detail = format!("{path} in body should be at least {least} chars long");
            all.merge(self.fail(ErrorType::Invalid, path, &detail));
        } else if let Some((pattern, compiled)) = &limits.pattern
            && !compiled.matches(text)
        {
            let detail = format!("{path} in body should match '{pattern}'");
            all.merge(self.fail(ErrorType::Invalid, path, &detail));
        }
        if !schema.format.is_empty() && !formats::matches(&schema.format, text) {
            let detail = format!("{path} in body must be of type {}: {text:?}", schema.format);
            all.merge(self.fail(ErrorType::TypeInvalid, path, &detail));
        }
        all
    }

    fn check_number(&self, number: Option<f64>, schema: &Schema, path: &Trail<'_>) -> Outcome {
        let mut all = Outcome { errors: Vec::new(), checks: 2 };
        let Some(number) = number else { return all };
        let limits = &schema.limits;
        let boundary = |limit: Option<(f64, bool)>| limit.map(|(limit, _)| limit);
        let checked = [
            ("Checked", Some(number)),
            ("MultipleOf", limits.multiple_of),
            ("Maximum boundary", boundary(limits.maximum)),
            ("Minimum boundary", boundary(limits.minimum)),
        ];
        for (what, number) in checked {
            if number.is_some_and(|number| !in_range(number, schema)) {
                // Upstream's range check does not know the field, so the error refers to the whole value.
                let kind = schema.types.first().map_or("number", String::as_str);
                let format = match schema.format.as_str() {
                    "" => String::new(),
                    format => format!(" with format {format}"),
                };
                let detail = format!("{what} value must be of type {kind}{format} in {path}");
                all.merge(Outcome::one(FieldError::invalid(self.field.to_string(), detail)));
            }
        }
        let mut fail = |words: &str, limit: f64| {
            let detail = format!("{path} in body should be {words} {limit}");
            all.merge(self.fail(ErrorType::Invalid, path, &detail));
        };
        if let Some(factor) = limits.multiple_of {
            let quotient = number / factor;
            if quotient.fract() != 0.0 {
                fail("a multiple of", factor);
            }
        }
        match limits.minimum {
            Some((limit, true)) if number <= limit => fail("greater than", limit),
            Some((limit, false)) if number < limit => {
                fail("greater than or equal to", limit);
            }
            _ => {}
        }
        match limits.maximum {
            Some((limit, true)) if number >= limit => fail("less than", limit),
            Some((limit, false)) if number > limit => {
                fail("less than or equal to", limit);
            }
            _ => {}
        }
        all
    }

    fn check_list(&self, items: &[Value], schema: &Schema, path: &Trail<'_>) -> Outcome {
        let mut all = Outcome { errors: Vec::new(), checks: 2 };
        if let Some(item_schema) = &schema.items {
            for (at, item) in items.iter().enumerate() {
                all.merge(self.check(item, item_schema, &path.item(at)));
            }
        }
        let count = u64::try_from(items.len()).unwrap_or(u64::MAX);
        let limits = &schema.limits;
        if let Some(least) = limits.min_items.filter(|least| count < *least) {
            let detail = format!("{path} in body should have at least {least} items");
            all.merge(self.fail(ErrorType::Invalid, path, &detail));
        }
        if let Some(most) = limits.max_items.filter(|most| count > *most) {
            let detail = format!("Too many: {count}: must have at most {most} items");
            all.merge(self.fail(ErrorType::TooMany, path, &detail));
        }
        if limits.unique_items && has_twins(items) {
            let detail = format!("{path} in body shouldn't contain duplicates");
            all.merge(self.fail(ErrorType::Invalid, path, &detail));
        }
        all
    }

    fn check_map(
        &self,
        fields: &serde_json::Map<String, Value>,
        schema: &Schema,
        path: &Trail<'_>,
    ) -> Outcome {
        let mut all = Outcome::default();
        let count = u64::try_from(fields.len()).unwrap_or(u64::MAX);
        if let Some(least) = schema.limits.min_properties.filter(|least| count < *least) {
            let detail = format!("{path} in body should have at least {least} properties");
            all.merge(self.fail(ErrorType::Invalid, path, &detail));
        }
        if let Some(most) = schema.limits.max_properties.filter(|most| count > *most) {
            let detail = format!("Too many: {count}: must have at most {most} items");
            all.merge(self.fail(ErrorType::TooMany, path, &detail));
        }
        if let Some(additional) = &schema.additional {
            for (name, value) in fields {
                if !schema.properties.contains_key(name) {
                    all.merge(self.check(value, additional, &path.dotted(name)));
                }
            }
        }
        for (name, property) in &schema.properties {
            if let Some(value) = field(fields, name) {
                all.merge(self.check(value, property, &path.field(name)));
            }
        }
        for name in schema.required.iter().filter(|name| field(fields, name).is_none()) {
            all.merge(self.fail(ErrorType::Required, &path.dotted(name), "Required value"));
        }
        all
    }

    fn check_composition(&self, value: &Value, schema: &Schema, path: &Trail<'_>) -> Outcome {
        let mut all = Outcome { errors: Vec::new(), checks: 1 };
        let whole = |words: &str| {
            let detail = format!("\"{path}\" {words}");
            FieldError::invalid(self.field.to_string(), detail)
        };
        if !schema.any_of.is_empty() {
            self.check_any_of(value, schema, path, &mut all);
        }
        if !schema.one_of.is_empty() {
            self.check_one_of(value, schema, path, &mut all);
        }
        let mut passed = 0;
        for part in &schema.all_of {
            let outcome = self.check(value, part, path);
            passed += usize::from(outcome.errors.is_empty());
            all.merge(outcome);
        }
        if passed != schema.all_of.len() {
            let none = if passed == 0 { ". None validated" } else { "" };
            all.add(whole(&format!("must validate all the schemas (allOf){none}")));
        }
        if let Some(not) = &schema.not
            && self.check(value, not, path).errors.is_empty()
        {
            all.add(whole("must not validate the schema (not)"));
        }
        all
    }

    fn check_any_of(&self, value: &Value, schema: &Schema, path: &Trail<'_>, all: &mut Outcome) {
        let mut best: Option<Outcome> = None;
        for part in &schema.any_of {
            let outcome = self.check(value, part, path);
            if outcome.errors.is_empty() {
                all.merge(outcome);
                return;
            }
            if best.as_ref().is_none_or(|best| outcome.checks > best.checks) {
                best = Some(outcome);
            }
        }
        let detail = format!("\"{path}\" must validate at least one schema (anyOf)");
        all.add(FieldError::invalid(self.field.to_string(), detail));
        all.merge(best.unwrap_or_default());
    }

    fn check_one_of(&self, value: &Value, schema: &Schema, path: &Trail<'_>, all: &mut Outcome) {
        let mut best: Option<Outcome> = None;
        let mut first: Option<Outcome> = None;
        let mut passed = 0_usize;
        for part in &schema.one_of {
            let outcome = self.check(value, part, path);
            if outcome.errors.is_empty() {
                passed += 1;
                best = None;
                first.get_or_insert(outcome);
            } else if passed == 0 && best.as_ref().is_none_or(|best| outcome.checks > best.checks) {
                best = Some(outcome);
            }
        }
        if passed == 1 {
            all.merge(first.unwrap_or_default());
            return;
        }
        let found = match passed {
            0 => "Found none valid".to_owned(),
            many => format!("Found {many} valid alternatives"),
        };
        let words = "must validate one and only one schema (oneOf).";
        all.add(FieldError::invalid(self.field.to_string(), format!("\"{path}\" {words} {found}")));
        all.merge(best.unwrap_or_default());
    }
}

/// Whether a list contains two equal items. Items are equal if their texts match after all numbers become floats, as
/// upstream.
fn has_twins(items: &[Value]) -> bool {
    fn plain(value: &Value) -> Value {
        match value {
            // Negative zero has a sign as text, but numeric comparison ignores the sign.
            Value::Number(number) => {
                number.as_f64().map_or_else(|| value.clone(), |float| Value::from(float + 0.0))
            }
            Value::Array(items) => items.iter().map(plain).collect(),
            Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), plain(value))).collect(),
            _ => value.clone(),
        }
    }
    let mut seen = BTreeSet::new();
    !items.iter().all(|item| seen.insert(compact(&plain(item))))
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Whether a value equals an enum entry. Upstream converts the value to the entry's type, so a fraction is truncated if the
/// entry is an integer.
fn equals(value: &Value, accepted: &Value) -> bool {
    match (value, accepted) {
        (Value::Number(given), Value::Number(entry)) if given.is_f64() && !entry.is_f64() => {
            given.as_f64().map(f64::trunc) == entry.as_f64()
        }
        _ => same(value, accepted),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kinds(value: &Value, schema: &Value) -> Vec<&'static str> {
        let schema = Schema::read(schema).unwrap();
        validate(value, &schema, &"v").into_iter().map(|error| error.kind.as_str()).collect()
    }

    #[test]
    fn whole_numbers_are_those_that_fit() {
        let schema = json!({ "type": "integer" });
        assert!(kinds(&json!(9_007_199_254_740_993_i64), &schema).is_empty());
        assert!(kinds(&json!(2.0), &schema).is_empty());
        assert_eq!(kinds(&json!(2.5), &schema), ["FieldValueTypeInvalid", "FieldValueInvalid"]);
        assert_eq!(kinds(&json!(u64::MAX), &schema), ["FieldValueTypeInvalid", "FieldValueInvalid"]);
        assert_eq!(kinds(&json!(-9_223_372_036_854_775_808.0), &schema).len(), 2);
    }

    #[test]
    fn items_are_compared_by_what_they_mean_however_many_there_are() {
        let schema = json!({ "type": "array", "uniqueItems": true, "items": { "x-kubernetes-preserve-unknown-fields": true } });
        let many: Vec<Value> = (0..50_000).map(|number| json!({ "a": number })).collect();
        assert!(kinds(&json!(many), &schema).is_empty());
        assert_eq!(kinds(&json!([{ "a": 1, "b": 2 }, { "b": 2.0, "a": 1 }]), &schema), ["FieldValueInvalid"]);
        assert_eq!(kinds(&json!([0, -0.0]), &schema), ["FieldValueInvalid"]);
    }
}
