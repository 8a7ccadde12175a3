//! The workflows of this repository, whose scripts users copy: run like in a CI service, against real repositories.

use std::{fs, path::Path, process::Output};

use crate::{
    release::{commit, ends, fleet, output_of},
    sandbox::{Sandbox, git_in},
};

/// The script of a step.
fn script(workflow: &str, step: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/workflows").join(workflow);
    let text = fs::read_to_string(path).unwrap();
    let (_, rest) = text.split_once(&format!("- name: {step}\n")).unwrap();
    let (_, rest) = rest.split_once("run: |\n").unwrap();
    let lines = rest.lines().take_while(|line| line.is_empty() || line.starts_with("          "));
    lines.flat_map(|line| [line.trim_start_matches("          "), "\n"]).collect()
}

fn run(sandbox: &Sandbox, workflow: &str, step: &str) -> Output {
    let programs = Path::new(env!("CARGO_BIN_EXE_stackloom")).parent().unwrap().to_owned();
    let path = std::env::join_paths(
        std::iter::once(programs).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    std::process::Command::new("bash")
        .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", &script(workflow, step)])
        .current_dir(&sandbox.root)
        .env("PATH", path.unwrap())
        .env("FLEET", ".")
        .env("TOKEN", "none")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap()
}

/// The result of the check for a pull request, in its merge commit.
fn merged(sandbox: &Sandbox, change: impl Fn()) -> (Option<i32>, String) {
    sandbox.git(&["checkout", "-qB", "pull-request", "main"]);
    change();
    commit(sandbox, "a pull request");
    sandbox.git(&["checkout", "-q", "--detach", "main"]);
    sandbox.git(&["merge", "-q", "--no-ff", "-m", "merged", "pull-request"]);
    let output = run(sandbox, "released.yml", "releases are unchanged");
    sandbox.git(&["checkout", "-q", "main"]);
    (output.status.code(), output_of(&output))
}

#[test]
fn a_pull_request_that_edits_a_released_folder_is_refused() {
    let sandbox = fleet();
    sandbox.git(&["branch", "-M", "main"]);
    ends(&sandbox, &["release"], 0);
    let folder = "generated/releases/test-tiny-1-35-v1";
    let notes = sandbox.read(&format!("{folder}/NOTES.md")).unwrap();
    let (code, printed) = merged(&sandbox, || sandbox.write(&format!("{folder}/NOTES.md"), "other notes\n"));
    assert_eq!(code, Some(1), "{printed}");
    assert!(
        printed.contains(&format!("M\t{folder}/NOTES.md")) && printed.contains("git checkout"),
        "{printed}"
    );
    let (code, printed) = merged(&sandbox, || sandbox.write(&format!("{folder}/more.yaml"), "a: 1\n"));
    assert!(code == Some(1) && printed.contains(&format!("A\t{folder}/more.yaml")), "{printed}");
    let (code, printed) = merged(&sandbox, || {
        sandbox.write("generated/releases/test-tiny-1-35-v2/release.yaml", "a: 1\n");
        sandbox.write("generated/releases/test-tiny-1-35-v0-sha.abc/release.yaml", "a: 1\n");
        sandbox.write("README.md", "words\n");
    });
    assert_eq!(code, Some(0), "{printed}");
    let gone = || fs::remove_dir_all(sandbox.root.join(folder)).unwrap();
    let (code, printed) = merged(&sandbox, gone);
    assert!(code == Some(0) && printed.contains("is removed; its tag keeps it"), "{printed}");
    gone();
    commit(&sandbox, "pruned");
    let (code, printed) = merged(&sandbox, || sandbox.write(&format!("{folder}/NOTES.md"), &notes));
    assert!(code == Some(1) && printed.contains("differs from its tag test-tiny-1-35-v1"), "{printed}");
    let back = || drop(sandbox.git(&["checkout", "test-tiny-1-35-v1", "--", folder]));
    let (code, printed) = merged(&sandbox, back);
    assert_eq!(code, Some(0), "{printed}");
}

/// A bare repository next to the fleet, which has the fleet's branch `main`.
fn published(sandbox: &Sandbox) -> std::path::PathBuf {
    let remote = sandbox.outside().join("remote.git");
    sandbox.git(&["branch", "-M", "main"]);
    sandbox.git(&["init", "-q", "--bare", "-b", "main", remote.to_str().unwrap()]);
    sandbox.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
    sandbox.git(&["push", "-q", "-u", "origin", "main"]);
    remote
}

#[test]
fn the_release_workflow_publishes_the_commit_and_its_tags_or_nothing() {
    let sandbox = fleet();
    let remote = published(&sandbox);
    let cut = run(&sandbox, "release.yml", "cut");
    assert_eq!(cut.status.code(), Some(0), "{}", output_of(&cut));
    let read = |arguments: &[&str]| output_of(&git_in(&remote).args(arguments).output().unwrap());
    assert_eq!(read(&["tag", "--list"]), "");
    let other = sandbox.git(&["commit-tree", "-p", "main~1", "-m", "somebody was faster", "main~1^{tree}"]);
    sandbox.git(&["push", "-q", "origin", &format!("{}:main", other.trim())]);
    let lost = run(&sandbox, "release.yml", "publish");
    assert_ne!(lost.status.code(), Some(0), "{}", output_of(&lost));
    assert_eq!(read(&["tag", "--list"]), "", "tags without their commit");
    sandbox.git(&["push", "-q", "--force", "origin", "main~1:main"]);
    let won = run(&sandbox, "release.yml", "publish");
    assert_eq!(won.status.code(), Some(0), "{}", output_of(&won));
    assert_eq!(read(&["rev-parse", "main"]), sandbox.git(&["rev-parse", "HEAD"]));
    assert_eq!(read(&["tag", "--list"]), "test-tiny-1-35-v1\ntest-tiny-1-36-v1\n");
    let again = run(&sandbox, "release.yml", "cut");
    assert!(output_of(&again).contains("nothing to release"), "{}", output_of(&again));
}
