//! Renders the templates of sprig's own tests and compares the output with Go's.
//!
//! `go run . sprig FILE` in `tests/corpus/oracle` writes the cases, and `GOTMPL_SPRIG_CASES` names the file.

#![expect(clippy::disallowed_methods, reason = "the cases are made outside, and the environment names them")]

use std::{collections::BTreeSet, env, fs, path::PathBuf};

use gotmpl::{ErrorKind, Template};
use serde_json::Value;

/// Functions that sprig's tests call only from Go, or not at all. `tests/corpus/` has cases for each of them.
const FROM_GO: [&str; 38] = [
    "atoi",
    "ceil",
    "deepEqual",
    "float64",
    "floor",
    "int",
    "int64",
    "lower",
    "mod",
    "mustDateModify",
    "mustFromJson",
    "mustMerge",
    "mustMergeOverwrite",
    "mustRegexFind",
    "mustRegexFindAll",
    "mustRegexMatch",
    "mustRegexReplaceAll",
    "mustRegexReplaceAllLiteral",
    "mustRegexSplit",
    "mustToDate",
    "mustToJson",
    "mustToPrettyJson",
    "mustToRawJson",
    "must_date_modify",
    "push",
    "regexFind",
    "regexFindAll",
    "regexMatch",
    "regexReplaceAll",
    "regexReplaceAllLiteral",
    "repeat",
    "round",
    "splitList",
    "swapcase",
    "title",
    "toDecimal",
    "trimall",
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
    assert!(cases.len() > 300, "{} cases", cases.len());
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

#[test]
fn every_function_is_in_a_case_of_sprig_or_listed() {
    let Some(cases) = cases() else { return };
    let mut found = BTreeSet::new();
    for case in &cases {
        found.extend(words(case));
    }
    let all = include_str!("corpus/functions.txt").lines().filter(|name| !OF_GO.contains(name));
    let missing: BTreeSet<&str> = all.filter(|name| !found.contains(name)).collect();
    assert_eq!(missing, FROM_GO.into_iter().collect());
}

#[test]
fn functions_without_a_case_of_sprigs_have_one_of_ours() {
    let ours: Value =
        serde_json::from_str(include_str!("corpus/templates.json")).expect("the corpus is JSON");
    let ours = ours.as_array().expect("a list");
    for name in FROM_GO {
        let calls = |case: &Value| words(case).any(|word| word == name);
        assert!(ours.iter().any(calls), "{name}");
    }
}
