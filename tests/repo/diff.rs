//! `stackloom diff` and `check --against`: which commit a change is compared with, and how a run ends.

use std::{fs, path::Path};

use crate::{
    release::ends,
    sandbox::{Sandbox, git_in},
};

/// The small fleet, generated and committed, and published as `origin/main`.
fn fleet() -> Sandbox {
    let sandbox = Sandbox::repository();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fleets/inmemory");
    for entry in walkdir::WalkDir::new(&from) {
        let entry = entry.unwrap();
        if entry.file_type().is_file() {
            let path = entry.path().strip_prefix(&from).unwrap().to_str().unwrap();
            sandbox.write(path, fs::read(entry.path()).unwrap());
        }
    }
    ends(&sandbox, &["generate"], 0);
    save(&sandbox, "base");
    sandbox.git(&["remote", "add", "origin", "https://git.example.org/fleet.git"]);
    sandbox.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    sandbox
}

fn save(sandbox: &Sandbox, message: &str) {
    sandbox.git(&["add", "--all"]);
    sandbox.git(&["commit", "--quiet", "--message", message]);
}

fn replace(sandbox: &Sandbox, path: &str, from: &str, to: &str) {
    let text = sandbox.read(path).unwrap();
    assert!(text.contains(from), "{text}");
    sandbox.write(path, text.replace(from, to));
}

const ONE: &str = "clusters/blue/one.yaml";
const THREE: &str = "clusters/green/three.yaml";

#[track_caller]
fn says(sandbox: &Sandbox, arguments: &[&str], exit: i32, words: &str) {
    let said = ends(sandbox, arguments, exit);
    assert!(said.contains(words), "{arguments:?}: {said}");
}

#[test]
fn a_change_is_compared_with_where_it_left_the_branch_that_the_engine_reads() {
    let sandbox = fleet();
    says(&sandbox, &["diff", "--exit-code"], 0, "None of 3 clusters changes");
    sandbox.git(&["checkout", "--quiet", "-b", "topic"]);
    replace(&sandbox, ONE, "replicas: 2", "replicas: 4");
    says(&sandbox, &["diff"], 0, "merge base with origin/main");
    says(&sandbox, &["diff", "--exit-code"], 3, "1 of 3 clusters changes: 1 in place");
    // What is committed is still a change, though it is what HEAD has.
    ends(&sandbox, &["generate"], 0);
    save(&sandbox, "topic");
    says(&sandbox, &["diff", "--exit-code"], 3, "1 of 3 clusters changes: 1 in place");
    says(&sandbox, &["diff", "HEAD", "--exit-code"], 0, "None of 3");
    says(
        &sandbox,
        &["diff", "origin/main", "topic", "--exit-code"],
        3,
        "1 of 3 clusters changes: 1 in place",
    );
    says(&sandbox, &["diff", "--fail-on", "deletes,refused"], 0, "1 in place");
    says(&sandbox, &["diff", "--fail-on", "deletes,in-place"], 1, "1 in place");
    says(&sandbox, &["diff", "--fail-on", "everything"], 2, "unannounced-deletes");
    // As CI checks out a pull request: a merge commit, and no branch.
    sandbox.git(&["update-ref", "-d", "refs/remotes/origin/main"]);
    sandbox.git(&["checkout", "--quiet", "--detach", "main"]);
    sandbox.git(&["merge", "--quiet", "--no-ff", "--message", "merge", "topic"]);
    says(&sandbox, &["diff", "--exit-code"], 3, "first parent of the merge commit");
}

#[test]
fn without_a_commit_to_compare_with_the_way_out_is_named() {
    let sandbox = fleet();
    sandbox.git(&["update-ref", "-d", "refs/remotes/origin/main"]);
    says(&sandbox, &["diff"], 4, "git fetch origin main:refs/remotes/origin/main");
    says(&sandbox, &["diff"], 4, "stackloom diff <BASE>");
    says(&sandbox, &["diff", "nowhere"], 1, "error[unknown-revision]: `nowhere`: git knows no such commit");
    says(&sandbox, &["diff", "HEAD", "nowhere"], 1, "error[unknown-revision]: `nowhere`");
    says(&sandbox, &["check", "--against", "nowhere"], 1, "error[unknown-revision]: `--against nowhere`");
    // A history that has nothing to do with this one.
    sandbox.git(&["checkout", "--quiet", "--orphan", "other"]);
    sandbox.git(&["commit", "--quiet", "--message", "other"]);
    sandbox.git(&["update-ref", "refs/remotes/origin/main", "main"]);
    says(&sandbox, &["diff"], 4, "no commit in common");
    let clone = Sandbox::new();
    fs::remove_dir(&clone.root).unwrap();
    let url = format!("file://{}", sandbox.root.display());
    sandbox.git(&["checkout", "--quiet", "main"]);
    replace(&sandbox, ONE, "replicas: 2", "replicas: 4");
    save(&sandbox, "more");
    let into = clone.root.to_str().unwrap();
    let cloned = git_in(&clone.outside())
        .args(["clone", "--quiet", "--depth", "1", "--no-single-branch", &url, into])
        .status()
        .unwrap();
    assert!(cloned.success());
    clone.git(&["checkout", "--quiet", "other"]);
    says(&clone, &["diff"], 4, "git fetch --unshallow");
}

#[test]
fn what_generate_would_refuse_is_refused_against_a_base() {
    let sandbox = fleet();
    replace(&sandbox, THREE, "kubernetes: \"1.36\"", "kubernetes: \"1.35\"");
    says(&sandbox, &["check"], 1, "error[replaced]");
    // A tree that is already as the change makes it, or is not there, hides that.
    fs::remove_dir_all(sandbox.root.join("generated/management")).unwrap();
    says(&sandbox, &["check"], 0, "no fault found");
    says(&sandbox, &["check", "--against", "HEAD"], 1, "error[replaced]");
    says(&sandbox, &["diff"], 1, "1 of 3 clusters changes: 1 refused");
    says(&sandbox, &["diff", "--format", "markdown"], 1, "| Refused or stuck | 1 |");
    says(&sandbox, &["check", "--format", "markdown"], 2, "stackloom diff");
    sandbox.git(&["checkout", "--quiet", "."]);
    says(&sandbox, &["check", "--against", "HEAD"], 0, "no fault found");
}
