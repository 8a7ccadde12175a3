//! The program's output, for any input and any destination.

use std::process::{Command, Output};

use serde_json::Value as Json;

use super::{cli, sandbox, support};

fn base() -> tempfile::TempDir {
    let root = sandbox::folder();
    sandbox::copy(&support::package().join("tests/cases/_base"), root.path());
    root
}

fn printed(command: &mut Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_behind_standard_output_is_reported() {
    let root = base();
    let commands: &[&[&str]] = &[
        &["--version"],
        &["--help"],
        &["check"],
        &["check", "--format", "json"],
        &["generate", "--format", "yaml"],
        &["releases"],
        &["schema", "stack"],
        &["completions", "bash"],
        &["explain", "one"],
        &["topology", "one"],
    ];
    for arguments in commands {
        let full = std::fs::File::create("/dev/full").unwrap();
        let output = cli::stackloom(root.path()).args(*arguments).stdout(full).output().unwrap();
        let reported = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(4), "{arguments:?}: {reported}");
        assert!(reported.contains("cannot write to standard output"), "{arguments:?}: {reported}");
    }
}

#[test]
fn a_reader_that_has_gone_is_no_fault() {
    let root = base();
    let mut command = cli::stackloom(root.path());
    let mut child = command
        .args(["explain", "one"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Color, a bell, bidirectional control, invisible characters, a line break, a tag.
const HIDDEN: [char; 12] = [
    '\u{1b}',
    '\u{7}',
    '\u{9b}',
    '\u{7f}',
    '\u{202e}',
    '\u{2066}',
    '\u{200b}',
    '\u{200d}',
    '\u{feff}',
    '\u{2028}',
    '\u{ad}',
    '\u{e0041}',
];

#[test]
fn no_message_contains_an_invisible_character() {
    let root = base();
    let name = "clusters/blue/three\u{202e}\u{200b}.yaml";
    let escapes: Vec<String> = HIDDEN.iter().map(|c| format!("\\U{:08X}", u32::from(*c))).collect();
    let escapes = escapes.concat();
    let raw: String = HIDDEN.iter().filter(|c| !c.is_control() && **c != '\u{feff}').collect();
    let text = format!(
        "apiVersion: stackloom.dev/v1alpha1\nkind: ClusterDefinition\nmetadata:\n  name: \"a{escapes}b\"\n  namespace: 'n{raw}'\n\
         spec:\n  a{raw}b: 1\n  stack: \"x{escapes}/y\"\n"
    );
    sandbox::write(&root.path().join(name), text);
    sandbox::write(&root.path().join("clusters/blue/four\u{1b}[31m.yaml"), "a: 1\n");
    for arguments in [
        &["check"][..],
        &["generate", "--check"],
        &["check", "--format", "json"],
        &["check", "--format", "yaml"],
        &["check", "--color", "never"],
        &["explain", "a\u{202e}\u{1b}[31mb"],
        &["topology", "a\u{202e}\u{1b}[31mb", "--format", "json"],
        &["affects", "a\u{202e}\u{1b}[31mb:1"],
    ] {
        let (code, out, err) = printed(cli::stackloom(root.path()).args(arguments));
        assert_ne!(code, Some(0), "{arguments:?}");
        for text in [&out, &err] {
            let found = HIDDEN.iter().find(|c| text.contains(**c));
            assert_eq!(found, None, "{arguments:?}: {}", text.escape_debug());
        }
    }
    let (_, out, _) = printed(cli::stackloom(root.path()).args(["check", "--format", "json"]));
    let document: Json = serde_json::from_str(&out).unwrap();
    let files = document["diagnostics"].as_array().unwrap().iter().map(|note| &note["place"]["file"]);
    assert!(files.into_iter().any(|file| file == name), "the escapes mean what stands there: {out}");
    let (_, _, err) = printed(cli::stackloom(root.path()).arg("check"));
    assert!(err.contains("three\\u{202e}\\u{200b}.yaml"), "{err}");
}

/// The file that `tests/conformance` runs in Argo CD's Lua engine is current. Both output formats contain the same scripts.
#[test]
fn health_scripts_are_those_that_are_tested() {
    let root = sandbox::folder();
    let print = |arguments: &[&str]| {
        let (code, out, err) =
            printed(cli::stackloom(root.path()).args(["argocd", "health"]).args(arguments));
        assert_eq!((code, err.as_str()), (Some(0), ""), "{arguments:?}");
        out
    };
    let config_map = print(&[]);
    let mut wrong = String::new();
    let tested = support::package().join("tests/conformance/internal/argohealth/testdata/argocd-cm.yaml");
    sandbox::expect_file(&tested, &config_map, &mut wrong);
    assert!(wrong.is_empty(), "{wrong}");
    let read = |text: &str| serde_yaml::from_str::<Json>(text).unwrap();
    let config_map = read(&config_map);
    assert_eq!(read(&print(&["--as", "helm-values"]))["configs"]["cm"], config_map["data"]);
    assert_eq!(read(&print(&["--namespace", "argo"]))["metadata"]["namespace"], "argo");
    let document = read(&print(&["--format", "json"]));
    for script in document["scripts"].as_array().unwrap() {
        assert_eq!(config_map["data"][script["key"].as_str().unwrap()], script["script"]);
    }
    assert_eq!(document["scripts"].as_array().unwrap().len(), config_map["data"].as_object().unwrap().len());
}

#[test]
fn what_explain_left_out_is_in_its_document() {
    let root = cli::fleet();
    sandbox::write(&root.path().join("clusters/dev/broken.yaml"), "spec: [");
    for (subject, exit) in [("dev-1", 0), ("broken", 1)] {
        let document = cli::json(root.path(), &["explain", subject], exit);
        assert_eq!(document["leftOut"][0]["file"], "clusters/dev/broken.yaml", "{document}");
    }
}

#[test]
fn a_dry_run_of_new_shows_what_it_would_write() {
    let root = cli::fleet();
    let before = sandbox::snapshot(root.path());
    let shown = cli::ends(root.path(), &["new", "cluster", "dev-2", "--dry-run"], 0);
    assert!(shown.out.starts_with("clusters/dev/dev-2.yaml:\n"), "{}", shown.out);
    assert!(shown.out.contains("\n    name: dev-2\n"), "{}", shown.out);
    assert!(shown.err.contains("nothing was written"), "{}", shown.err);
    let pool = cli::ends(root.path(), &["new", "--dry-run", "pool", "dev-1", "gpu"], 0);
    assert!(pool.out.contains('+') && pool.out.contains("name: gpu"), "{}", pool.out);
    cli::ends(root.path(), &["new", "cluster", "dev-1", "--dry-run"], 1);
    let document = cli::json(root.path(), &["new", "cluster", "dev-2", "--dry-run"], 0);
    assert_eq!(
        (&document["written"], &document["files"][0]),
        (&false.into(), &"clusters/dev/dev-2.yaml".into())
    );
    assert!(before == sandbox::snapshot(root.path()), "something was written");
}
