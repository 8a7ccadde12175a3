//! Variables of a class: names, schemas, defaults, enums, examples and rules.
//!
//! Source: `internal/topology/variables/clusterclass_variable_validation.go`.

use serde_json::Value;

use super::structural;
use crate::refusal::{ErrorType, FieldError};
use k8s_schema::Rules;
use k8s_schema::cel::{self, RuleFault};
use k8s_schema::unknown_fields;
use k8s_schema::validate as validate_value;
use k8s_schema::value::{get, list, map, text};
use k8s_schema::{MAX_DEPTH, Schema};

const VARIABLES: &str = "spec.variables";

/// Validates the variables of a class. Upstream compiles new rules with the functions of the previous Kubernetes minor
/// version; all functions known here are older.
pub fn validate(class: &Value) -> Vec<FieldError> {
    let variables = list(class, &["spec", "variables"]);
    let mut errors = Vec::new();
    for (at, variable) in variables.iter().enumerate() {
        let name = text(variable, &["name"]);
        if variables.iter().take(at).any(|one| text(one, &["name"]) == name) {
            let detail = format!("variable name must be unique: {name:?} is there twice");
            errors.push(FieldError::invalid(format!("{VARIABLES}[{name}].name"), detail));
        }
    }
    for variable in variables {
        errors.extend(validate_variable(variable));
    }
    errors
}

fn validate_variable(variable: &Value) -> Vec<FieldError> {
    let name = text(variable, &["name"]);
    let field = format!("{VARIABLES}[{name}].name");
    let mut errors = Vec::new();
    if name.is_empty() {
        errors.push(FieldError::required(&field, "variable name must be defined"));
    }
    if name == "builtin" {
        errors.push(FieldError::invalid(&field, "\"builtin\" is a reserved variable name"));
    }
    if name.contains('.') {
        errors.push(FieldError::invalid(&field, "variable name cannot contain \".\""));
    }
    let schema = get(variable, &["schema", "openAPIV3Schema"]).unwrap_or(&Value::Null);
    let path = format!("{VARIABLES}[{name}].schema.openAPIV3Schema");
    errors.extend(validate_root(schema, &path));
    errors
}

fn validate_root(schema: &Value, path: &str) -> Vec<FieldError> {
    let errors = structural::validate(schema, path);
    if !errors.is_empty() {
        return errors;
    }
    let Some(read) = Schema::read(schema) else {
        let detail = format!("it nests more than {MAX_DEPTH} levels deep, which is not supported");
        return vec![FieldError::new(ErrorType::Internal, path, detail)];
    };
    let mut errors = Vec::new();
    validate_defaults(schema, &read, path, Rules::of_root_default, &mut errors);
    if !errors.is_empty() {
        return errors;
    }
    let mut walk = Walk { costs: cel::Total::default() };
    let mut found = Found::default();
    walk.schema(schema, path, Some(&cel::Context::root(schema)), None, &mut found);
    errors.extend(found.schema);
    errors.extend(found.rules);
    errors.extend(walk.costs.errors(path));
    errors
}

/// Checks that defaults fit their own schema, have no unknown fields, and pass its rules.
fn validate_defaults(
    source: &Value,
    schema: &Schema,
    path: &str,
    rules: fn(&Value) -> Rules,
    errors: &mut Vec<FieldError>,
) {
    if let Some(default) = schema.default_value() {
        let field = format!("{path}.default");
        if !unknown_fields(default, schema, "").is_empty() {
            errors.push(FieldError::invalid(&field, "must not have unknown fields"));
        }
        let wrong = validate_value(default, schema, &field);
        if wrong.is_empty() {
            let rules = rules(source);
            let broken = rules.judge(default, Some(default), &field).errors;
            let fits = broken.is_empty();
            errors.extend(broken);
            if fits {
                errors.extend(rules.judge(default, None, &field).errors);
            }
        }
        errors.extend(wrong);
    }
    if let (Some(items), Some(inner)) = (schema.items(), source.get("items")) {
        validate_defaults(inner, items, &format!("{path}.items"), Rules::read, errors);
    }
    for (name, property) in schema.properties() {
        if let Some(inner) = get(source, &["properties", name]) {
            let field = format!("{path}.properties[{name}]");
            validate_defaults(inner, property, &field, Rules::read, errors);
        }
    }
}

#[derive(Default)]
struct Found {
    schema: Vec<FieldError>,
    rules: Vec<FieldError>,
}

impl Found {
    fn is_empty(&self) -> bool {
        self.schema.is_empty() && self.rules.is_empty()
    }

    fn append(&mut self, other: Self) {
        self.schema.extend(other.schema);
        self.rules.extend(other.rules);
    }
}

/// A walk over a schema that checks examples, enums and rules.
struct Walk {
    costs: cel::Total,
}

impl Walk {
    fn schema(
        &mut self,
        schema: &Value,
        path: &str,
        context: Option<&cel::Context>,
        uncorrelatable: Option<&str>,
        all: &mut Found,
    ) {
        let mut found = Found::default();
        let Some(read) = Schema::read(schema) else { return };
        for (value, field) in samples(schema, path) {
            found.schema.extend(validate_value(value, &read, &field));
        }
        self.children(schema, path, context, uncorrelatable, &mut found);
        let rules = list(schema, &["x-kubernetes-validations"]);
        if !rules.is_empty() {
            for (at, rule) in rules.iter().enumerate() {
                let field = format!("{path}.x-kubernetes-validations[{at}]");
                rule_text(rule, schema, &field, &mut found.schema);
            }
            if let (true, Some(context)) = (found.schema.is_empty(), context) {
                self.compile(rules, path, context, uncorrelatable, &mut found);
            }
            if found.is_empty() {
                let compiled = Rules::read(schema);
                for (value, field) in samples(schema, path) {
                    found.rules.extend(compiled.judge(value, None, &field).errors);
                }
            }
        }
        all.append(found);
    }

    fn children(
        &mut self,
        schema: &Value,
        path: &str,
        context: Option<&cel::Context>,
        uncorrelatable: Option<&str>,
        found: &mut Found,
    ) {
        if let Some(additional @ Value::Object(_)) = schema.get("additionalProperties") {
            if map(schema, &["properties"]).is_some_and(|all| !all.is_empty()) {
                let detail = "additionalProperties and properties are mutually exclusive";
                found.schema.push(FieldError::forbidden(path, detail));
            }
            let inner = format!("{path}.additionalProperties");
            let context = context.map(|context| context.additional(additional));
            self.schema(additional, &inner, context.as_ref(), uncorrelatable, found);
        }
        for (name, property) in map(schema, &["properties"]).into_iter().flatten() {
            let inner = format!("{path}.properties[{name}]");
            let context = context.map(|context| context.property(property));
            self.schema(property, &inner, context.as_ref(), uncorrelatable, found);
        }
        if let Some(items) = schema.get("items").filter(|items| items.is_object()) {
            let inner = format!("{path}.items");
            let context = context.map(|context| context.items(items));
            let from = uncorrelatable.unwrap_or(&inner).to_owned();
            self.schema(items, &inner, context.as_ref(), Some(&from), found);
        }
        if let Some(not) = schema.get("not").filter(|not| not.is_object()) {
            self.schema(not, &format!("{path}.not"), None, uncorrelatable, found);
        }
        for keyword in ["allOf", "oneOf", "anyOf"] {
            for (at, part) in list(schema, &[keyword]).iter().enumerate() {
                let inner = format!("{path}.{keyword}[{at}]");
                self.schema(part, &inner, None, uncorrelatable, found);
            }
        }
    }

    fn compile(
        &mut self,
        rules: &[Value],
        path: &str,
        context: &cel::Context,
        uncorrelatable: Option<&str>,
        found: &mut Found,
    ) {
        let list_path = format!("{path}.x-kubernetes-validations");
        if !context.has_type() {
            let detail = "internal error: failed to construct type information";
            found.rules.push(FieldError::new(ErrorType::Internal, list_path, detail));
            return;
        }
        for (at, rule) in rules.iter().enumerate() {
            let field = format!("{list_path}[{at}]");
            let checked = cel::check(rule, context);
            for (part, cost) in checked.costs {
                let field = format!("{field}.{part}");
                if let Some(detail) = cel::over_budget(&format!("estimated {part} cost"), cost) {
                    found.rules.push(FieldError::forbidden(&field, detail));
                }
                self.costs.observe(field, cost);
            }
            for RuleFault { part, detail, .. } in checked.faults {
                found.rules.push(FieldError::invalid(format!("{field}.{part}"), detail));
            }
            if let (true, Some(from)) = (checked.uses_old_self, uncorrelatable) {
                let detail = format!(
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within \
                     {from}"
                );
                found.rules.push(FieldError::invalid(format!("{field}.rule"), detail));
            }
        }
    }
}

/// The example and the enum of a schema, which must fit it.
fn samples<'a>(schema: &'a Value, path: &str) -> Vec<(&'a Value, String)> {
    let mut samples = Vec::new();
    if let Some(example) = schema.get("example").filter(|value| !value.is_null()) {
        samples.push((example, format!("{path}.example")));
    }
    for (at, value) in list(schema, &["enum"]).iter().enumerate() {
        if !value.is_null() {
            samples.push((value, format!("{path}.enum[{at}]")));
        }
    }
    samples
}

fn rule_text(rule: &Value, schema: &Value, field: &str, errors: &mut Vec<FieldError>) {
    let [expression, message, message_expression, field_path] =
        ["rule", "message", "messageExpression", "fieldPath"].map(|name| text(rule, &[name]));
    let broken = |text: &str| text.contains(['\n', '\r']);
    let place = |name: &str| format!("{field}.{name}");
    if expression.trim().is_empty() {
        errors.push(FieldError::required(place("rule"), "rule is not specified"));
    } else if !message.is_empty() && message.trim().is_empty() {
        let detail = "message must be non-empty if specified";
        errors.push(FieldError::invalid(place("message"), detail));
    } else if message.len() > 2048 {
        let detail = "message must have a maximum length of 2048 characters";
        errors.push(FieldError::invalid(place("message"), detail));
    } else if broken(message.trim()) {
        let detail = "message must not contain line breaks";
        errors.push(FieldError::invalid(place("message"), detail));
    } else if broken(expression.trim()) && message.trim().is_empty() {
        let detail = "message must be specified if rule contains line breaks";
        errors.push(FieldError::required(place("message"), detail));
    }
    if !message_expression.is_empty() && message_expression.trim().is_empty() {
        let detail = "messageExpression must be non-empty if specified";
        errors.push(FieldError::required(place("messageExpression"), detail));
    }
    if !field_path.is_empty() && field_path.trim().is_empty() {
        let detail = "fieldPath must be non-empty if specified";
        errors.push(FieldError::invalid(place("fieldPath"), detail));
    }
    if broken(field_path) {
        let detail = "fieldPath must not contain line breaks";
        errors.push(FieldError::invalid(place("fieldPath"), detail));
    }
    if let (false, Err(error)) = (field_path.is_empty(), k8s_schema::field_path(field_path, schema)) {
        let detail = format!("fieldPath must be a valid path: {error}");
        errors.push(FieldError::invalid(place("fieldPath"), detail));
    }
}
