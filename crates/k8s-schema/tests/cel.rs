//! Compares answers for rules with those of Kubernetes' own code, stored in `cel/*.tsv`.
//!
//! A line consists of an answer, a schema (or the name of a type), a value and a rule. The answer is `holds`, `class` if the
//! class is refused, or `cluster` if the value is refused. A suffix `/opaque` means that this program has no answer and says
//! so. `class/holds` marks cases in which its estimate of costs knows less about a class than Kubernetes' (docs/topology-model.md).
#![expect(clippy::disallowed_methods, reason = "tests own their files and may panic")]

use std::fs;
use std::path::Path;

use k8s_schema::Rules;
use k8s_schema::cel::{self, RULE_LIMIT};
use serde_json::{Value, json};

fn schema(words: &str, rule: &str) -> Value {
    let mut schema: Value = match words {
        "string" => json!({ "type": "string", "maxLength": 40 }),
        _ if words.starts_with('{') => serde_json::from_str(words).expect(words),
        _ => json!({ "type": words }),
    };
    schema["x-kubernetes-validations"] = json!([{ "rule": rule }]);
    schema
}

/// The answer of this program. A list is wrapped in an object, because upstream accepts no rules for lists at the root.
fn answer(words: &str, value: &str, rule: &str) -> String {
    let mut schema = schema(words, rule);
    let mut value: Value = serde_json::from_str(value).expect(value);
    let mut context = cel::Context::root(&schema);
    if schema["type"] == "array" {
        let owner = json!({ "type": "object", "properties": { "l": schema } });
        context = cel::Context::root(&owner).property(&owner["properties"]["l"]);
        schema = owner;
        value = json!({ "l": value });
    }
    let checked = cel::check(&json!({ "rule": rule }), &context);
    if !checked.faults.is_empty() || checked.costs.iter().any(|(_, cost)| *cost > RULE_LIMIT) {
        return "class".to_owned();
    }
    let judgement = Rules::read(&schema).judge(&value, None, "v");
    let answer = match (judgement.errors.as_slice(), judgement.opaque.as_slice()) {
        ([], []) => "holds",
        ([], _) => "opaque",
        (_, _) => "cluster",
    };
    answer.to_owned()
}

#[test]
fn rules_are_judged_as_kubernetes_judges_them() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cel");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut lines = 0;
    let mut faults = Vec::new();
    for file in files {
        for line in fs::read_to_string(&file).unwrap().lines() {
            let columns: Vec<&str> = line.split('\t').collect();
            let [meant, words, value, rule] = columns[..] else { panic!("{line}") };
            lines += 1;
            let said = answer(words, value, rule);
            let (meant, said_of) = meant.split_once('/').unwrap_or((meant, meant));
            if said != said_of {
                faults.push(format!("{said}, not {said_of} ({meant}): {words} {value} {rule}"));
            }
        }
    }
    assert!(lines > 300, "{lines}");
    assert!(faults.is_empty(), "{} of {lines}:\n{}", faults.len(), faults.join("\n"));
}
