//! Lists the rules of `cel/*.tsv` for which `cel` and `kube-cel` alone give other answers than Kubernetes, in
//! `upstream.tsv`.
//!
//! A line consists of a topic of UPSTREAM.md, a value for `self`, a rule, Kubernetes' answer and that of the libraries. The
//! test fails once a library answers like Kubernetes: then remove the line, and also the correction in `src/cel/` if no
//! other line needs it. `UPDATE=1` rewrites the file; new lines get the topic `?`.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests own their files and may panic")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::{env, fs, panic};

use kube_cel::KubeCelExt as _;
use kube_cel::cel::parser::Parser;
use kube_cel::cel::{Context, Value};
use serde_json::Value as Json;

/// The types whose values the libraries can handle without a schema.
const PLAIN: [&str; 4] = ["string", "integer", "number", "boolean"];

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The answer of the libraries for a rule.
fn answer(value: &str, rule: &str) -> &'static str {
    let run = || {
        let parser = Parser::new().enable_optional_syntax(true);
        let Ok(expression) = parser.parse(rule) else { return "does not parse" };
        let mut context = Context::default().with_all();
        context.add_variable_from_value("self", plain(value));
        match Value::resolve(&expression, &context) {
            Ok(Value::Bool(true)) => "true",
            Ok(Value::Bool(false)) => "false",
            Ok(_) => "another type",
            Err(_) => "error",
        }
    };
    panic::catch_unwind(run).unwrap_or("panic")
}

fn plain(value: &str) -> Value {
    match serde_json::from_str(value).unwrap() {
        Json::String(text) => Value::String(Arc::new(text)),
        Json::Bool(flag) => Value::Bool(flag),
        Json::Number(number) => {
            number.as_i64().map_or_else(|| Value::Float(number.as_f64().unwrap()), Value::Int)
        }
        _ => Value::Null,
    }
}

/// The value, the rule, and the answers of Kubernetes and the libraries, for each case in which they differ.
fn differences() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cel");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut found = Vec::new();
    for line in files
        .iter()
        .flat_map(|file| fs::read_to_string(file).unwrap().lines().map(str::to_owned).collect::<Vec<_>>())
    {
        let [meant, words, value, rule] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        // A rule that only the type checker refuses is not an error of the evaluator.
        let holds = match meant.split('/').next().unwrap_or_default() {
            "holds" => true,
            "cluster" => false,
            _ => continue,
        };
        if PLAIN.contains(&words) && !rule.contains("oldSelf") {
            let theirs = answer(value, rule);
            if (theirs == "true") != holds {
                let ours = if holds { "true" } else { "false or error" };
                found.push(format!("{value}\t{rule}\t{ours}\t{theirs}"));
            }
        }
    }
    found
}

#[test]
fn differing_answers_of_the_libraries_are_listed() {
    let said = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let found = differences();
    panic::set_hook(said);
    let listed = read("tests/upstream.tsv");
    let topics: BTreeMap<&str, &str> =
        listed.lines().filter_map(|line| line.split_once('\t')).map(|(topic, rest)| (rest, topic)).collect();
    let topic = |rest: &str| topics.get(rest).copied().unwrap_or("?");
    let mut lines: Vec<String> = found.iter().map(|rest| format!("{}\t{rest}\n", topic(rest))).collect();
    lines.sort();
    lines.dedup();
    let text = lines.concat();
    if env::var_os("UPDATE").is_some() {
        fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/upstream.tsv"), &text).unwrap();
    }
    assert!(text == listed, "UPDATE=1 writes tests/upstream.tsv anew; now it would be:\n{text}");
    let document = read("UPSTREAM.md");
    for topic in topics.values() {
        assert!(document.contains(&format!("| `{topic}` |")), "UPSTREAM.md has no row for `{topic}`");
    }
}
