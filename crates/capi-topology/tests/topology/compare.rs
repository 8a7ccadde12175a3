//! Compares an expected file with the actual output.

use std::collections::BTreeSet;

use k8s_schema::value::same;
use serde_json::{Value, json};

pub(crate) fn compare(path: &str, expected: &Value, actual: &Value, differences: &mut Vec<String>) {
    if path == "expected/errors.yaml" {
        let details = actual.clone();
        let (expected, actual) = (kinds(expected), kinds(actual));
        if expected != actual {
            let lines = |all: &[String]| all.join("\n      ");
            differences.push(format!(
                "  {path}:\n    expected\n      {}\n    actual\n      {}\n",
                lines(&expected),
                lines(&actual)
            ));
            for error in details.as_array().into_iter().flatten() {
                differences.push(format!("    in words: {}\n", show(error.get("detail"))));
            }
        }
    } else if path == "expected/change.yaml" {
        let mut actual = actual.clone();
        let mut expected = expected.clone();
        for side in [&mut actual, &mut expected] {
            let errors = kinds(&side["errors"]);
            side["errors"] = json!(errors);
            drop_words(side);
        }
        walk(path, "", &expected, &actual, differences);
    } else {
        walk(path, "", expected, actual, differences);
    }
}

/// Removes Cluster API's own wording, which need not match.
fn drop_words(change: &mut Value) {
    for rollout in change["rollouts"].as_array_mut().into_iter().flatten() {
        if let Some(fields) = rollout.as_object_mut() {
            fields.retain(|name, _| name != "reasons" && name != "note");
        }
    }
    if let Some(condition) = change.get_mut("topologyReconciled").and_then(Value::as_object_mut) {
        condition.remove("message");
    }
}

/// The relevant fields of errors, sorted.
fn kinds(errors: &Value) -> Vec<String> {
    let word = |error: &Value, name: &str| error[name].as_str().unwrap_or("-").to_owned();
    let mut all: Vec<String> = errors
        .as_array()
        .into_iter()
        .flatten()
        .map(|error| ["stage", "by", "object", "field", "type"].map(|name| word(error, name)).join(" "))
        .collect();
    all.sort();
    all
}

pub(crate) fn walk(path: &str, at: &str, expected: &Value, actual: &Value, all: &mut Vec<String>) {
    match (expected, actual) {
        (Value::Object(one), Value::Object(other)) => {
            let keys: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            for key in keys {
                match (one.get(key), other.get(key)) {
                    (Some(one), Some(other)) => {
                        walk(path, &format!("{at}.{key}"), one, other, all);
                    }
                    (one, other) => all.push(format!(
                        "  {path}{at}.{key}: expected {}, actual {}\n",
                        show(one),
                        show(other)
                    )),
                }
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (number, (one, other)) in one.iter().zip(other).enumerate() {
                walk(path, &format!("{at}[{number}]"), one, other, all);
            }
        }
        _ if same(expected, actual) => {}
        _ => all.push(format!(
            "  {path}{at}: expected {}, actual {}\n",
            show(Some(expected)),
            show(Some(actual))
        )),
    }
}

pub(crate) fn show(value: Option<&Value>) -> String {
    let text = value.map_or_else(|| "nothing".to_owned(), Value::to_string);
    text.chars().take(400).collect()
}
