//! The structure of the code itself: layers, sizes, complete tables.

mod cycles;
mod layers;
mod message_text;
mod seam;
mod size;
mod type_names;

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{sandbox, support};

/// All Rust files below a folder of the package, with their texts, in order.
fn rust_files(folder: &str) -> Vec<(String, String)> {
    files(folder, |path| path.extension().is_some_and(|extension| extension == "rs"))
}

fn files(folder: &str, wanted: impl Fn(&Path) -> bool) -> Vec<(String, String)> {
    let root = support::package();
    let entries =
        walkdir::WalkDir::new(root.join(folder)).sort_by_file_name().into_iter().map(Result::unwrap);
    let paths: Vec<PathBuf> =
        entries.filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path).collect();
    let text = |path: &PathBuf| {
        let inside = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
        (inside, fs::read_to_string(path).unwrap())
    };
    paths.iter().filter(|path| wanted(path)).map(text).collect()
}

#[test]
fn every_module_says_what_it_is_for() {
    for (path, text) in ["src", "crates"].into_iter().flat_map(rust_files) {
        let first = text.lines().next().unwrap_or_default();
        assert!(first.starts_with("//! ") && first.len() > 8, "{path} begins with {first:?}");
    }
}

#[test]
fn nothing_is_left_for_later() {
    let marks =
        [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X:"), concat!("unimplemented", "!(")];
    let folders = ["src", "crates", "tests/suite", "tests/support", "benches", "stacks", "clusters"];
    let own = folders.into_iter().flat_map(|folder| files(folder, |_| true));
    // Third-party files stay unchanged.
    for (path, text) in own.filter(|(path, _)| !path.starts_with("src/check/secret_scan/data/")) {
        for mark in marks {
            assert!(!text.contains(mark), "{path} has a {mark}");
        }
    }
}

#[test]
fn every_rule_is_in_the_table() {
    let table = fs::read_to_string(support::package().join("src/check/mod.rs")).unwrap();
    let table = table.split_once("pub static RULES").unwrap().1.split_once("];").unwrap().0.to_owned();
    let mut rules = rust_files("src/check");
    // Code shared by several rules is not a rule.
    let shared = [
        "src/check/beside_engine.rs",
        "src/check/beside_files.rs",
        "src/check/class_lints/",
        "src/check/index.rs",
        "src/check/kustomize_build.rs",
        "src/check/kustomize_fields.rs",
        "src/check/kustomize_file.rs",
        "src/check/kustomize_folder.rs",
        "src/check/kustomize_generator.rs",
        "src/check/kustomize_targets.rs",
        "src/check/metadata.rs",
        "src/check/other_cluster.rs",
        "src/check/own_object.rs",
        "src/check/secret_scan/",
        "src/check/object_schema.rs",
        "src/check/served_kind.rs",
        "src/check/text_data.rs",
    ];
    rules.retain(|(path, _)| {
        !path.ends_with("/mod.rs") && !shared.iter().any(|folder| path.starts_with(folder))
    });
    let mut names = Vec::new();
    for (path, text) in &rules {
        let stem = Path::new(path).file_stem().unwrap().to_str().unwrap();
        assert!(text.contains("static RULE: Rule"), "{path} holds no rule");
        let name = format!("name: \"{}\"", stem.replace('_', "-"));
        assert!(text.contains(&name), "{path} is not named after its rule");
        assert!(table.contains(&format!("&{stem}::RULE")), "the rule of {path} is not in RULES");
        names.push(stem.to_owned());
    }
    // A rule that checks several things is in the table once for each.
    let mut table: Vec<_> = stackloom::check::RULES.iter().map(|rule| rule.name).collect();
    table.dedup();
    assert_eq!(table.len(), names.len());
}

#[test]
fn every_lint_is_in_its_table_and_in_the_documents() {
    let documents = fs::read_to_string(support::package().join("docs/checks.md")).unwrap();
    let lints = rust_files("src/check/class_lints");
    let count = lints.iter().filter(|(_, text)| text.contains("pub(super) static LINT: Lint")).count();
    assert_eq!(stackloom::check::class_lints::LINTS.len(), count);
    for lint in stackloom::check::class_lints::LINTS {
        let file = format!("src/check/class_lints/{}.rs", lint.name.replace('-', "_"));
        assert!(lints.iter().any(|(path, _)| *path == file), "{file} is not there");
        assert!(
            documents.contains(&format!("| `{}` |", lint.name)),
            "docs/checks.md does not name {}",
            lint.name
        );
        for case in ["", "-allowed"] {
            let case = format!("tests/cases/lint-{}{case}", lint.name);
            assert!(support::package().join(&case).is_dir(), "{case} is not there");
        }
    }
}

/// `init` and `new` start with copies of our own stacks; new files there must not be forgotten here.
#[test]
fn embedded_stacks_are_whole() {
    let scaffold = fs::read_to_string(support::package().join("src/cli/scaffold.rs")).unwrap();
    for stack in ["docker/scs", "openstack/scs"] {
        let list = scaffold.split_once(&format!("\"{stack}\",\n")).unwrap().1.split_once(");").unwrap().0;
        let mut embedded: Vec<_> =
            list.lines().map(|line| line.trim().trim_end_matches(',').trim_matches('"')).collect();
        embedded.retain(|line| !line.is_empty());
        let folder = format!("stacks/{stack}");
        let there = files(&folder, |_| true);
        let there: Vec<_> = there.iter().map(|(path, _)| &path[folder.len() + 1..]).collect();
        let mut sorted = embedded.clone();
        sorted.sort_by_key(|path| path.split('/').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(sorted, there, "what is embedded of {stack}, and what is there");
    }
}

/// A case without expected results, or a folder that no test runs, would look like a test without being one.
#[test]
fn no_case_is_forgotten() {
    let tests = support::package().join("tests");
    for case in sandbox::folders(&tests.join("cases")) {
        let named = sandbox::name(&case);
        if named == "_base" {
            continue;
        }
        assert!(case.join("notes.txt").is_file() || sandbox::updating(), "{named} has no notes.txt");
        assert!(fs::read_dir(&case).unwrap().count() >= 2, "{named} changes nothing");
    }
    for case in sandbox::folders(&tests.join("cases-good")) {
        let expects = case.join("out").is_dir()
            || ["gone.txt", "notes.txt"].iter().any(|file| case.join(file).is_file());
        let whole = case.join("in").is_dir() && expects;
        assert!(whole || sandbox::updating(), "{} lacks `in`, or anything that it expects", case.display());
    }
    let known = [
        "cases",
        "cases-good",
        "conformance",
        "diff",
        "fleets",
        "language",
        "proptest-regressions",
        "repo",
        "suite",
        "support",
        "topology",
        "upgrade",
        "rollout",
        "upgrade-next",
    ];
    for folder in sandbox::folders(&tests) {
        assert!(known.contains(&sandbox::name(&folder)), "nobody runs {}", folder.display());
    }
}
