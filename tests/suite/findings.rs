//! Messages for editors, hooks and forges: `check FILE…`, annotations, SARIF.

use std::{fs, path::Path};

use serde_json::{Value as Json, json};

use super::{cli, sandbox, support};

const ONE: &str = "clusters/blue/one.yaml";
const TWO: &str = "clusters/green/two.yaml";

/// A fleet with an error in the definition of `one`, and a README.
fn faulty() -> tempfile::TempDir {
    let root = sandbox::folder();
    sandbox::copy(&support::package().join("tests/cases/_base"), root.path());
    let text = fs::read_to_string(root.path().join(ONE)).unwrap();
    fs::write(root.path().join(ONE), text + "  replicsa: 1\n").unwrap();
    fs::write(root.path().join("README.md"), "words\n").unwrap();
    root
}

#[test]
fn check_with_files_shows_and_counts_what_concerns_them() {
    let root = faulty();
    let at = root.path();
    let own = cli::ends(at, &["check", ONE], 1);
    assert!(own.err.contains("unknown-key"), "{}", own.err);
    let other = cli::ends(at, &["check", TWO, "stacks"], 0);
    assert_eq!(other.out, "2 files checked, no errors found\n");
    assert_eq!(
        other.err,
        "1 error elsewhere in the fleet, which may hide others: `stackloom check` shows all\n"
    );
    let folder = cli::json(at, &["check", "clusters/blue/"], 1);
    assert_eq!(folder["diagnostics"][0]["code"], "unknown-key");
    let elsewhere = cli::json(at, &["check", TWO], 0);
    assert_eq!(elsewhere["elsewhere"], json!({ "errors": 1, "warnings": 0 }));
    assert_eq!(elsewhere["diagnostics"], json!([]));
    // From another folder, and with paths as passed by a hook if the fleet is in a subfolder.
    cli::ends(&at.join("clusters/blue"), &["check", "one.yaml"], 1);
    cli::ends(at, &["-C", "clusters", "check", ONE], 1);
    cli::ends(at, &["check", at.join(ONE).to_str().unwrap()], 1);
    cli::ends(at, &["check", "."], 1);
}

#[test]
fn a_related_place_concerns_a_file_too() {
    let root = faulty();
    let at = root.path();
    fs::write(at.join(ONE), fs::read_to_string(at.join(TWO)).unwrap()).unwrap();
    let whole = cli::json(at, &["check"], 1);
    let files = |note: &Json| {
        let related = note["related"].as_array().into_iter().flatten().map(|pair| pair[1]["file"].clone());
        related.chain([note["place"]["file"].clone()]).collect::<Vec<_>>()
    };
    let both =
        whole["diagnostics"].as_array().unwrap().iter().find(|note| files(note).len() > 1).unwrap().clone();
    for file in files(&both) {
        let own = cli::json(at, &["check", file.as_str().unwrap()], 1);
        assert!(own["diagnostics"].as_array().unwrap().contains(&both), "{file}");
    }
}

#[test]
fn files_that_are_no_sources_have_no_messages_and_missing_paths_are_wrong_usage() {
    let root = faulty();
    let at = root.path();
    let readme = cli::ends(at, &["check", "README.md", "stackloom.yaml"], 0);
    assert!(
        readme.err.starts_with("not a source of the fleet, so nothing to check: README.md\n"),
        "{}",
        readme.err
    );
    let only = cli::json(at, &["check", "README.md"], 0);
    assert_eq!((&only["notSources"], &only["elsewhere"]), (&json!(["README.md"]), &Json::Null));
    cli::ends(at, &["generate", "--keep-going"], 1);
    let generated = "generated/.gitattributes";
    let reported = cli::ends(at, &["check", generated], 0);
    assert!(reported.err.contains("`stackloom generate --check` compares it"), "{}", reported.err);
    for wrong in ["clusters/blue/tow.yaml", "nowhere"] {
        let missing = cli::ends(at, &["check", wrong, ONE], 2);
        assert!(missing.err.contains(&format!("there is no file `{wrong}`")), "{}", missing.err);
    }
}

#[test]
fn messages_are_annotations_for_github() {
    let root = faulty();
    fs::create_dir_all(root.path().join(".git")).unwrap();
    let run = cli::ends(root.path(), &["check", "--format", "github"], 1);
    let first = run.out.lines().next().unwrap();
    let begin = format!("::error file={ONE},line=");
    assert!(
        first.starts_with(&begin) && first.contains(",title=unknown-key::`spec` has no key `replicsa`"),
        "{first}"
    );
    assert!(first.contains("%0Ahelp: "), "{first}");
    assert_eq!(run.err, "1 error\n");
    let stale = cli::ends(root.path(), &["generate", "--check", "--format", "github", "-C", "."], 1);
    assert!(stale.out.starts_with(&begin), "{}", stale.out);
}

/// The fleet is in a subfolder of a repository, and its tree is outdated.
#[test]
fn an_outdated_tree_is_a_finding_and_paths_are_those_of_the_repository() {
    let outer = sandbox::folder();
    fs::create_dir_all(outer.path().join(".git")).unwrap();
    let fleet = outer.path().join("fleets/eu");
    sandbox::copy(&support::package().join("tests/cases/_base"), &fleet);
    let text = fs::read_to_string(fleet.join("stackloom.yaml")).unwrap();
    fs::write(fleet.join("stackloom.yaml"), text.replace("  source:\n", "  source:\n    path: fleets/eu\n"))
        .unwrap();
    let run = cli::ends(&fleet, &["generate", "--check", "--format", "github"], 3);
    let line = run.out.lines().find(|line| line.contains("title=out-of-date")).unwrap();
    assert!(line.starts_with("::error file=fleets/eu/generated/"), "{line}");
    let sarif = sarif(&fleet, &["generate", "--check"], 3);
    let found = &sarif["runs"][0]["results"][0];
    assert_eq!(found["ruleId"], "out-of-date");
    let uri = found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].as_str().unwrap();
    assert!(uri.starts_with("fleets/eu/generated/"), "{uri}");
    cli::ends(&fleet, &["generate"], 0);
    assert_eq!(sarif_results(&fleet, &["generate", "--check"], 0), json!([]));
}

fn sarif(folder: &Path, arguments: &[&str], code: i32) -> Json {
    let run = cli::ends(folder, &[arguments, &["--format", "sarif"]].concat(), code);
    let document: Json = serde_json::from_str(&run.out).unwrap();
    assert_sarif(&document, code);
    document
}

fn sarif_results(folder: &Path, arguments: &[&str], code: i32) -> Json {
    sarif(folder, arguments, code)["runs"][0]["results"].clone()
}

/// Checks the requirements of the standard for the parts in use, and the additional ones of code scanning.
fn assert_sarif(document: &Json, code: i32) {
    let keys = |value: &Json| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let within = |value: &Json, known: &[&str]| {
        let unknown: Vec<_> = keys(value).into_iter().filter(|key| !known.contains(&key.as_str())).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    };
    assert_eq!(document["version"], "2.1.0");
    within(document, &["$schema", "version", "runs"]);
    let run = &document["runs"][0];
    within(run, &["tool", "invocations", "originalUriBaseIds", "columnKind", "results"]);
    assert_eq!(run["invocations"], json!([{ "executionSuccessful": true, "exitCode": code }]));
    assert_eq!(run["columnKind"], "unicodeCodePoints");
    let driver = &run["tool"]["driver"];
    within(driver, &["name", "version", "semanticVersion", "rules"]);
    let rules = driver["rules"].as_array().unwrap();
    let ids: Vec<_> = rules.iter().map(|rule| rule["id"].as_str().unwrap()).collect();
    assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "{ids:?}");
    for rule in rules {
        within(rule, &["id", "fullDescription"]);
    }
    let location = |location: &Json| {
        let at = &location["physicalLocation"];
        within(at, &["artifactLocation", "region"]);
        within(&at["artifactLocation"], &["uri", "uriBaseId"]);
        let uri = at["artifactLocation"]["uri"].as_str().unwrap();
        assert!(!uri.starts_with('/') && !uri.contains(['\\', ' ', ':']), "{uri}");
        let base = at["artifactLocation"]["uriBaseId"].as_str().unwrap();
        assert!(run["originalUriBaseIds"][base].is_object());
        if let Some(region) = at.get("region") {
            within(region, &["startLine", "startColumn", "endColumn", "snippet"]);
            assert!(region["startLine"].as_u64().unwrap() > 0);
            if let Some(start) = region.get("startColumn") {
                assert!(region["endColumn"].as_u64() > start.as_u64());
            }
        }
    };
    for result in run["results"].as_array().unwrap() {
        let known = [
            "ruleId",
            "ruleIndex",
            "level",
            "message",
            "locations",
            "relatedLocations",
            "partialFingerprints",
            "properties",
        ];
        within(result, &known);
        assert!(["error", "warning"].contains(&result["level"].as_str().unwrap()));
        assert!(!result["message"]["text"].as_str().unwrap().is_empty());
        let rule = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(ids[rule], result["ruleId"]);
        assert!(result["partialFingerprints"].as_object().is_some_and(|prints| prints.len() == 1));
        result["locations"].as_array().into_iter().flatten().for_each(location);
        result["relatedLocations"].as_array().into_iter().flatten().for_each(location);
    }
}

#[test]
fn messages_are_findings_of_sarif_with_fingerprints_that_stay() {
    let root = faulty();
    let before = sarif_results(root.path(), &["check"], 1);
    let text = fs::read_to_string(root.path().join(ONE)).unwrap();
    fs::write(root.path().join(ONE), format!("# moved\n\n{text}")).unwrap();
    let after = sarif_results(root.path(), &["check"], 1);
    let line = |results: &Json| {
        results[0]["locations"][0]["physicalLocation"]["region"]["startLine"].as_u64().unwrap()
    };
    assert_eq!(line(&before) + 2, line(&after));
    assert_eq!(before[0]["partialFingerprints"], after[0]["partialFingerprints"]);
    // Only commands that print nothing but messages support it; others would lose data.
    for arguments in [&["generate"][..], &["check", ONE]] {
        assert!(!sarif_results(root.path(), arguments, 1).as_array().unwrap().is_empty(), "{arguments:?}");
    }
    let refused = cli::ends(root.path(), &["clusters", "--format", "sarif"], 2);
    assert!(refused.err.contains("`--format json` for the result of this command"), "{}", refused.err);
}

#[test]
fn failed_operations_are_reported_in_every_format() {
    let root = sandbox::folder();
    sandbox::copy(&support::package().join("tests/cases/_base"), root.path());
    let arguments = ["generate", "--commit", "--format"];
    let run = cli::ends(root.path(), &[&arguments[..], &["sarif"]].concat(), 4);
    let document: Json = serde_json::from_str(&run.out).unwrap();
    let invocation = &document["runs"][0]["invocations"][0];
    assert_eq!((&invocation["executionSuccessful"], &invocation["exitCode"]), (&json!(false), &json!(4)));
    let reported = invocation["toolExecutionNotifications"][0]["message"]["text"].as_str().unwrap();
    assert!(reported.contains("is not in a git repository"), "{reported}");
    let run = cli::ends(root.path(), &[&arguments[..], &["github"]].concat(), 4);
    assert!(run.out.starts_with("::error title=stackloom::") && run.out.contains("%0Ahelp: "), "{}", run.out);
}

/// Does what pre-commit does: selects files by the regular expression, and runs the entry with them.
#[test]
fn the_hooks_for_pre_commit_run() {
    let text = fs::read_to_string(support::package().join(".pre-commit-hooks.yaml")).unwrap();
    let hooks: Vec<serde_yaml::Value> = serde_yaml::from_str(&text).unwrap();
    let root = faulty();
    let mut ids = Vec::new();
    for hook in &hooks {
        let word = |key: &str| hook[key].as_str().unwrap_or_default().to_owned();
        ids.push(word("id"));
        assert_eq!(word("language"), "system");
        assert!(!word("name").is_empty() && !word("description").is_empty());
        let entry = word("entry");
        let mut words = entry.split(' ');
        assert_eq!(words.next(), Some("stackloom"));
        let arguments: Vec<_> = words.collect();
        let passes = hook["pass_filenames"].as_bool() != Some(false);
        if !passes {
            // It must stop a push, whatever the reason.
            cli::ends(root.path(), &arguments, 1);
            continue;
        }
        let pattern = word("files");
        for (file, is_taken) in [(ONE, true), ("fleets/eu/stackloom.lock", true), ("README.md", false)] {
            assert_eq!(takes(&pattern, file), is_taken, "{file}");
        }
        cli::ends(root.path(), &[&arguments[..], &[ONE]].concat(), 1);
        cli::ends(root.path(), &[&arguments[..], &[TWO, "README.md"]].concat(), 0);
    }
    assert_eq!(ids, ["stackloom-check", "stackloom-generate-check"]);
}

/// Whether a text matches a regular expression, using `grep`, which exists everywhere.
fn takes(pattern: &str, text: &str) -> bool {
    use std::{
        io::Write as _,
        process::{Command, Stdio},
    };
    let mut grep = Command::new("grep").args(["-Eq", pattern]).stdin(Stdio::piped()).spawn().unwrap();
    grep.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    grep.wait().unwrap().success()
}
