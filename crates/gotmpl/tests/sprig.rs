//! Renders the templates of sprig's own tests and compares the output with Go's.
//!
//! `go run . sprig FILE` in `tests/corpus/oracle` writes the cases, and `GOTMPL_SPRIG_CASES` names the file.

#![expect(clippy::disallowed_methods, reason = "the cases are made outside, and the environment names them")]

use std::{collections::BTreeSet, env, fs, path::PathBuf};

use gotmpl::{ErrorKind, Template};
use serde_json::Value;

/// Functions that sprig's tests do not call, or only with a time of Go's (`unixEpoch`). `tests/corpus/` has cases for each of
/// them.
const UNTESTED: [&str; 11] = [
    "atoi",
    "deepEqual",
    "mod",
    "mustDateModify",
    "must_date_modify",
    "repeat",
    "splitList",
    "swapcase",
    "title",
    "unixEpoch",
    "upper",
];

/// The functions of `text/template` itself.
const OF_GO: [&str; 18] = [
    "and", "call", "eq", "ge", "gt", "html", "index", "js", "le", "len", "lt", "ne", "not", "or", "print",
    "printf", "println", "urlquery",
];

/// The cases. CI always provides them; elsewhere, the tests are skipped if they are missing.
fn cases() -> Option<Vec<Value>> {
    let Some(path) = env::var_os("GOTMPL_SPRIG_CASES").map(PathBuf::from) else {
        let is_ci = env::var("CI").is_ok_and(|value| !value.is_empty() && value != "false");
        assert!(!is_ci, "GOTMPL_SPRIG_CASES is missing: `bash .ci/run test` sets it");
        return None;
    };
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let cases: Value = serde_json::from_str(&text).expect("the cases are JSON");
    Some(cases.as_array().expect("a list").clone())
}

fn words(case: &Value) -> impl Iterator<Item = &str> {
    let template = case["template"].as_str().expect("a template");
    template.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
}

#[test]
fn templates_of_sprigs_tests_render_as_in_go() {
    let Some(cases) = cases() else { return };
    assert!(cases.len() > 500, "{} cases", cases.len());
    let (mut different, mut unknown) = (Vec::new(), Vec::new());
    for case in &cases {
        let template = case["template"].as_str().expect("a template");
        let found = Template::parse(template).and_then(|template| template.render(&case["data"]));
        match (found, case["output"].as_str()) {
            (Ok(found), Some(wanted)) if found == wanted => {}
            (Err(error), None) if error.kind <= ErrorKind::Exec => {}
            (Err(error), _) if error.kind > ErrorKind::Exec => unknown.push(error.message),
            (found, _) => different.push(format!("{case}\n   found {found:?}")),
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
    // These are functions with random results or results that depend on the clock.
    unknown.retain(|message| !message.contains("cannot be predicted"));
    assert!(unknown.is_empty(), "{unknown:#?}");
}

/// Whether Go renders the template, or fails as the test of `fail` wants.
fn is_run(case: &Value) -> bool {
    case["output"].is_string() || words(case).any(|word| word == "fail")
}

#[test]
fn every_function_that_sprig_tests_has_a_case() {
    let Some(cases) = cases() else { return };
    let run: BTreeSet<&str> = cases.iter().filter(|case| is_run(case)).flat_map(words).collect();
    let all = include_str!("corpus/functions.txt").lines().filter(|name| !OF_GO.contains(name));
    let missing: BTreeSet<&str> = all.filter(|name| !run.contains(name)).collect();
    assert_eq!(missing, UNTESTED.into_iter().collect());
}

#[test]
fn functions_that_sprig_does_not_test_have_a_case_of_ours() {
    let ours: Value =
        serde_json::from_str(include_str!("corpus/templates.json")).expect("the corpus is JSON");
    let ours = ours.as_array().expect("a list");
    for name in UNTESTED {
        let calls = |case: &Value| case["output"].is_string() && words(case).any(|word| word == name);
        assert!(ours.iter().any(calls), "{name}");
    }
}
