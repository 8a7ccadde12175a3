//! Runs of `upgrade next --commit` that are killed: the next run leaves what an undisturbed one leaves.

use std::{
    fs,
    path::Path,
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use stackloom::io::{
    disk::Workspace,
    git::{RecordedEdit, Repository},
};

use super::{
    cli::{ends, stackloom},
    next::{git, laid},
    sandbox, support,
};

const STEP: [&str; 7] = ["upgrade", "next", "blue/one", "blue/two", "--to-kubernetes", "1.35", "--commit"];

fn fleet() -> tempfile::TempDir {
    laid(&support::package().join("tests/upgrade-next/errors-elsewhere"))
}

/// What a run leaves: the tree of HEAD, and that the work tree and the index are like it.
fn left(root: &Path) -> String {
    assert_eq!(git(root, &["status", "--porcelain"]), "");
    assert!(!root.join(".git/stackloom-step").exists() && !root.join(".git/index.lock").exists());
    assert_eq!(git(root, &["rev-list", "--count", "HEAD"]), "2\n");
    git(root, &["rev-parse", "HEAD^{tree}"])
}

fn undisturbed() -> (tempfile::TempDir, String, Duration) {
    let root = fleet();
    let started = Instant::now();
    ends(root.path(), &STEP, 0);
    let took = started.elapsed();
    let tree = left(root.path());
    (root, tree, took)
}

/// The definitions that the step edits, with their texts before and after.
fn edits(root: &Path) -> Vec<(String, String, String)> {
    let files = git(root, &["diff", "--name-only", "HEAD^", "HEAD", "--", "clusters"]);
    let text = |revision: &str, file: &str| git(root, &["show", &format!("{revision}:{file}")]);
    files.lines().map(|file| (file.to_owned(), text("HEAD^", file), text("HEAD", file))).collect()
}

/// Leaves the record of a run that was killed.
fn record(root: &Path, edits: &[(String, String, String)]) {
    let repository = Repository::discover(&Workspace::open(root).unwrap()).unwrap();
    let recorded = edits.iter().map(|(path, before, after)| RecordedEdit {
        path: path.clone(),
        before: before.clone(),
        after: after.clone(),
    });
    drop(repository.record_step(recorded).unwrap());
}

#[test]
fn edits_that_were_not_committed_are_taken_back() {
    let (whole, tree, _) = undisturbed();
    let edits = edits(whole.path());
    assert!(edits.len() > 1, "{edits:?}");
    for made in 0..=edits.len() {
        let root = fleet();
        let root = root.path();
        record(root, &edits);
        for (path, _, after) in &edits[..made] {
            sandbox::write(&root.join(path), after.clone());
        }
        fs::write(root.join(".git/index.lock"), "locked by stackloom, process 1\n").unwrap();
        fs::create_dir(root.join("generated/.stackloom-staged")).unwrap();
        let ran = ends(root, &STEP, 0);
        assert!(ran.err.contains("interrupted before its commit"), "{}{}", ran.out, ran.err);
        let restored = edits[..made].iter().map(|(path, ..)| path.as_str()).collect::<Vec<_>>().join(", ");
        assert!(ran.err.contains(&restored), "{restored}: {}", ran.err);
        assert_eq!(left(root), tree, "after {made} edits");
    }
}

/// An edit that someone has changed since is theirs.
#[test]
fn what_someone_changed_since_stays() {
    let (whole, ..) = undisturbed();
    let (path, before, after) = edits(whole.path()).remove(0);
    let root = fleet();
    let root = root.path();
    record(root, &[(path.clone(), before, after.clone())]);
    sandbox::write(&root.join(&path), format!("{after}# mine\n"));
    let ran = ends(root, &STEP, 1);
    assert!(ran.err.contains("error[uncommitted]"), "{}{}", ran.out, ran.err);
    assert!(fs::read_to_string(root.join(&path)).unwrap().ends_with("# mine\n"));
}

#[test]
fn a_step_that_was_committed_is_finished() {
    let (root, tree, _) = undisturbed();
    let root = root.path();
    let edits = edits(root);
    // The commit is there, but the index and generated/ are as before.
    git(root, &["update-ref", "refs/heads/kept", "HEAD"]);
    git(root, &["reset", "--quiet", "--hard", "HEAD^"]);
    record(root, &edits);
    for (path, _, after) in &edits {
        sandbox::write(&root.join(path), after.clone());
    }
    git(root, &["update-ref", "HEAD", "kept"]);
    git(root, &["update-ref", "-d", "refs/heads/kept"]);
    let ran = ends(root, &STEP, 0);
    assert!(ran.err.contains("interrupted after its commit"), "{}{}", ran.out, ran.err);
    assert_eq!(left(root), tree);
}

/// What someone has changed after the commit is not committed by the run that finishes the step.
#[test]
fn other_changes_are_not_committed_with_a_step_that_is_finished() {
    let (root, ..) = undisturbed();
    let root = root.path();
    let (head, before) = (git(root, &["rev-parse", "HEAD"]), git(root, &["rev-parse", "HEAD^"]));
    let record = format!("{{\"head\":\"{}\",\"edits\":[]}}", before.trim());
    fs::write(root.join(".git/stackloom-step"), record).unwrap();
    let defaults = root.join("clusters/_defaults.yaml");
    let mine = format!("{}# mine\n", fs::read_to_string(&defaults).unwrap());
    sandbox::write(&defaults, mine);
    let ran = ends(root, &["generate"], 0);
    assert!(ran.err.contains("`stackloom generate --commit` updates the work tree"), "{}", ran.err);
    assert_eq!(git(root, &["rev-parse", "HEAD"]), head);
    assert_eq!(git(root, &["status", "--porcelain"]), " M clusters/_defaults.yaml\n");
}

/// A run that is killed while it moves the branch leaves the lock of the branch. The next run removes it, but no lock of others.
#[test]
fn the_lock_of_a_branch_that_was_left_is_removed() {
    const COMMIT: &str = "1111111111111111111111111111111111111111";
    let (_root, tree, _) = undisturbed();
    for (text, code) in [(format!("{COMMIT}\n"), 0), (String::new(), 0), (COMMIT.replace('1', "2"), 4)] {
        let root = fleet();
        let root = root.path();
        let lock = root.join(".git/refs/heads/main.lock");
        fs::write(root.join(".git/stackloom-move"), format!("refs/heads/main {COMMIT}\n")).unwrap();
        fs::write(&lock, &text).unwrap();
        let ran = ends(root, &STEP, code);
        if code == 0 {
            assert_eq!(left(root), tree, "{text}");
            assert!(!root.join(".git/stackloom-move").exists());
        } else {
            assert!(ran.err.contains("cannot move `refs/heads/main`"), "{}", ran.err);
            assert_eq!(fs::read_to_string(&lock).unwrap(), text);
        }
    }
}

#[test]
fn a_run_that_is_killed_at_any_moment_is_finished_by_the_next() {
    const KILLS: u32 = 8;
    let (_root, tree, took) = undisturbed();
    for at in 0..KILLS {
        let root = fleet();
        let root = root.path();
        let mut run = stackloom(root)
            .args(STEP)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(took * at / KILLS);
        run.kill().unwrap();
        run.wait().unwrap();
        let ran = ends(root, &STEP, 0);
        assert_eq!(left(root), tree, "killed at {at} of {KILLS}: {}", ran.out);
    }
}
