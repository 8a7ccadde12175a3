//! `stackloom upgrade next` and `stackloom rollout`: each folder is a case, laid over a small fleet in a real repository.
//!
//! The lines of `commands.txt` run in order. `next …` and `plan …` (of `upgrade`), `rollout …`, `release …`, `check …` and `clusters …` run the program. `commit` commits
//! everything, `push` updates the remote, `detach` detaches HEAD, `unborn` takes all commits away, `revert` takes the last commit back, `touch FILE` creates an unrelated file, `edit FILE BEFORE AFTER` replaces text in one, `break
//! FILE` makes one that cannot be read, `mend FILE` restores it, `crlf FILE` gives one the line ends of Windows, which git converts, `generate` generates, `at TIME` sets the clock, and `health
//! CLUSTER true` writes a report for the current commit.
//!
//! `output.txt` contains the output of the runs, and `after/` the final definitions, byte for byte. `UPDATE=1` rewrites both.
//! `CASES=TEXT` runs only the cases whose path contains the text.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use rayon::prelude::*;
use serde_json::{Value as Json, json};

use super::{
    cli::{environment, ran, stackloom},
    overlay, sandbox, support,
};

pub(super) fn git(root: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    environment(command.current_dir(root).args(arguments));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{arguments:?} {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Commits everything, at a time of the case or at the time of the run.
fn commit_at(root: &Path, now: Option<&str>) {
    git(root, &["add", "--all"]);
    let mut command = Command::new("git");
    environment(command.current_dir(root).args(["commit", "--quiet", "--message", "all of it"]));
    for name in ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"] {
        command.envs(now.map(|now| (name, now)));
    }
    assert!(command.status().unwrap().success());
}

/// The case laid over the small fleet, generated and committed.
pub(super) fn laid(case: &Path) -> tempfile::TempDir {
    let tests = support::package().join("tests");
    let base = sandbox::folder();
    overlay::apply(&tests.join("cases/_base"), &tests.join("upgrade/_base"), base.path()).unwrap();
    let root = sandbox::folder();
    overlay::apply(base.path(), case, root.path())
        .unwrap_or_else(|error| panic!("{}: {error}", case.display()));
    for own in ["commands.txt", "output.txt", "plan.txt"] {
        fs::remove_file(root.path().join(own)).ok();
    }
    fs::remove_dir_all(root.path().join("after")).ok();
    git(root.path(), &["init", "--quiet", "--initial-branch", "main"]);
    let done = ran(root.path(), &["generate"]);
    assert_eq!(done.code, 0, "{}: {}", case.display(), done.err);
    commit_at(root.path(), Some("2026-10-01T12:00:00Z"));
    root
}

/// Pushes to a remote, which is inside the fleet's own `.git`.
fn push(root: &Path) {
    let remote = root.join(".git/remote");
    if !remote.exists() {
        git(root, &["init", "--quiet", "--bare", ".git/remote"]);
        git(root, &["remote", "add", "origin", remote.to_str().unwrap()]);
    }
    git(root, &["push", "--quiet", "origin", "main"]);
}

/// A fleet, and the time of its clock.
struct Case<'a> {
    root: &'a Path,
    now: String,
}

/// Splits a line into words; quoted words stay together.
fn words(line: &str) -> Vec<String> {
    let part = |(at, part): (usize, &str)| -> Vec<String> {
        if at % 2 == 1 { vec![part.to_owned()] } else { part.split_whitespace().map(str::to_owned).collect() }
    };
    line.split('"').enumerate().flat_map(part).collect()
}

impl Case<'_> {
    /// Runs the program. The result is its output, and whether it left uncommitted changes.
    fn program(&self, line: &str) -> String {
        let root = self.root;
        let before = git(root, &["status", "--porcelain"]);
        let mut command = stackloom(root);
        command.args(words(line)).env("STACKLOOM_NOW", &self.now);
        for name in ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"] {
            command.env(name, &self.now);
        }
        let output = command.output().unwrap();
        let (out, err) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        let code = output.status.code().unwrap();
        let mut after = git(root, &["status", "--porcelain"]);
        if line.contains("--dry-run") || code != 0 && out.contains("nothing was written") {
            assert_eq!(before, after, "{line}: {out}");
        }
        if line.contains("--commit") && out.contains("committed as") {
            after.insert_str(0, &git(root, &["log", "-1", "--format=%B"]));
        }
        let own = |line: &&str| !line.contains("generated/");
        let left: Vec<&str> = after.lines().filter(own).collect();
        format!("$ stackloom {line}\n{out}{err}exit {code}\n{}\n\n", left.join("\n"))
    }

    fn step(&mut self, line: &str) -> String {
        let root = self.root;
        match line.split_once(' ').unwrap_or((line, "")) {
            ("next" | "plan", _) => return self.program(&format!("upgrade {line}")),
            ("rollout" | "release" | "check" | "clusters", _) => return self.program(line),
            ("commit", "") => commit_at(root, Some(&self.now)),
            ("push", "") => push(root),
            ("revert", "") => drop(git(root, &["revert", "--no-edit", "HEAD"])),
            ("unborn", "") => drop(git(root, &["update-ref", "-d", "HEAD"])),
            ("detach", "") => drop(git(root, &["checkout", "--quiet", "--detach"])),
            ("break", file) => {
                let path = root.join(file);
                let text = fs::read_to_string(&path).unwrap();
                sandbox::write(&path, format!("{text}nonsense: true\n"));
            }
            ("crlf", file) => {
                sandbox::write(&root.join(".gitattributes"), "* text=auto eol=lf\n");
                let text = fs::read_to_string(root.join(file)).unwrap();
                sandbox::write(&root.join(file), text.replace('\n', "\r\n"));
            }
            // `\n` in the text after is a line end.
            ("edit", what) => {
                let [file, before, after] = <[String; 3]>::try_from(words(what)).unwrap();
                let text = fs::read_to_string(root.join(&file)).unwrap();
                assert!(text.contains(&before), "{line}");
                sandbox::write(&root.join(&file), text.replace(&before, &after.replace("\\n", "\n")));
            }
            // To the commit before, as if somebody else had pushed the last one.
            ("back", "") => drop(git(root, &["reset", "--quiet", "--hard", "HEAD^"])),
            ("rename", what) => {
                let (before, after) = what.split_once(' ').unwrap();
                fs::rename(root.join(before), root.join(after)).unwrap();
            }
            ("generate", "") => assert_eq!(ran(root, &["generate"]).code, 0),
            ("mend", file) => drop(git(root, &["checkout", "--quiet", "--", file])),
            ("touch", file) => sandbox::write(&root.join(file), "not the program's\n"),
            ("at", now) => now.clone_into(&mut self.now),
            ("health", what) => {
                let (name, is_healthy) = what.split_once(' ').unwrap();
                let head = git(root, &["rev-parse", "HEAD"]);
                let revision = format!("main@sha1:{}", head.trim());
                let one = json!({ "name": name, "healthy": is_healthy == "true", "revision": revision });
                sandbox::write(&root.join("health.json"), json!({ "clusters": [one] }).to_string());
            }
            _ => panic!("`{line}` is not a command of a case"),
        }
        format!("# {line}\n\n")
    }
}

fn definitions(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            definitions(&path, found);
        } else {
            found.push(path);
        }
    }
    found.sort();
}

#[test]
fn steps_are_taken_as_expected() {
    let tests = support::package().join("tests");
    let mut cases = sandbox::folders(&tests.join("upgrade-next"));
    cases.extend(sandbox::folders(&tests.join("rollout")));
    if let Ok(part) = std::env::var("CASES") {
        cases.retain(|case| case.to_string_lossy().contains(&part));
        assert!(!cases.is_empty(), "no case contains `{part}`");
    }
    // The hash of a release differs with the format of releases, and commits with it.
    let known = ["committed as ", "to origin: ", "Compared with ", "sha256:", "stackloom-step "].join("|");
    let hashes = regex::Regex::new(&format!("(v0-sha\\.)[a-z0-9]{{8}}|({known})[0-9a-f]{{12,64}}")).unwrap();
    let done: Vec<_> = cases
        .into_par_iter()
        .map(|case| {
            let root = laid(&case);
            let commands = fs::read_to_string(case.join("commands.txt")).unwrap();
            let mut one = Case { root: root.path(), now: "2026-11-23T12:00:00Z".to_owned() };
            let reported: String = commands.lines().map(|line| one.step(line)).collect();
            let masked = hashes.replace_all(&reported, |found: &regex::Captures<'_>| {
                let (before, zeros) = match found.get(1) {
                    Some(release) => (release.as_str(), 8),
                    None => (&found[2], 12),
                };
                format!("{before}{}", "0".repeat(zeros))
            });
            (case, root, masked.into_owned())
        })
        .collect();
    let mut wrong = String::new();
    for (case, root, reported) in done {
        sandbox::expect_file(&case.join("output.txt"), &reported, &mut wrong);
        let (mut found, mut expected) = (Vec::new(), Vec::new());
        for folder in ["clusters", "rollouts"] {
            definitions(&root.path().join(folder), &mut found);
        }
        for file in found {
            let path = file.strip_prefix(root.path()).unwrap();
            sandbox::expect_file(
                &case.join("after").join(path),
                &fs::read_to_string(&file).unwrap(),
                &mut wrong,
            );
        }
        definitions(&case.join("after"), &mut expected);
        for file in expected {
            let path = file.strip_prefix(case.join("after")).unwrap();
            assert!(root.path().join(path).exists(), "{} is not there any more", file.display());
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// What each step of a plan does.
fn steps(root: &Path, target: &str) -> Vec<Json> {
    let planned = ran(root, &["upgrade", "plan", "--to-kubernetes", target, "--format", "json"]);
    assert_eq!(planned.code, 0, "{}{}", planned.out, planned.err);
    let document: Json = serde_json::from_str(&planned.out).unwrap();
    let [group] = document["groups"].as_array().unwrap().as_slice() else { panic!("{document}") };
    let meant = ["change", "keeps", "follows", "arrives", "leaves", "pins", "machines", "rollouts"];
    let one = |step: &Json| meant.iter().map(|key| (*key, step[key].clone())).collect::<Json>();
    group["steps"].as_array().unwrap().iter().map(one).collect()
}

/// Once its turn has come, a step does what the first plan forecast for it.
#[test]
fn later_steps_are_what_the_first_plan_forecast() {
    let tests = support::package().join("tests");
    let cases = [
        ("upgrade-next/ten-steps", "1.36", 9),
        ("upgrade/minor-by-minor", "1.36", 4),
        ("upgrade/ranges-overlap-in-the-middle", "1.36", 3),
        ("upgrade/pinned", "1.36", 3),
        ("upgrade/order-of-addons", "1.35", 3),
    ];
    cases.into_par_iter().for_each(|(case, target, count)| {
        let root = laid(&tests.join(case));
        let mut forecast = steps(root.path(), target);
        assert_eq!(forecast.len(), count, "{case}");
        while !forecast.is_empty() {
            let taken = ran(root.path(), &["upgrade", "next", "--to-kubernetes", target, "--commit"]);
            assert_eq!(taken.code, 0, "{case}: {}{}", taken.out, taken.err);
            forecast.remove(0);
            assert_eq!(steps(root.path(), target), forecast, "{case}");
        }
    });
}

/// Without the whole history, it is unknown which clusters are in progress.
#[test]
fn a_shallow_clone_is_refused() {
    let root = laid(&support::package().join("tests/rollout/other-changes"));
    let mut one = Case { root: root.path(), now: "2026-11-23T08:00:00Z".to_owned() };
    for line in ["rollout next --commit", "push", "touch NOTES.md", "commit", "push"] {
        one.step(line);
    }
    let remote = format!("file://{}", root.path().join(".git/remote").display());
    let shallow = sandbox::folder();
    git(shallow.path(), &["clone", "--quiet", "--depth", "1", "--branch", "main", &remote, "."]);
    let refused = ran(shallow.path(), &["rollout", "next", "--dry-run"]);
    assert_eq!(refused.code, 4, "{}{}", refused.out, refused.err);
    assert!(refused.err.contains("this clone is shallow"), "{}", refused.err);
    git(shallow.path(), &["fetch", "--quiet", "--unshallow"]);
    let taken = ran(shallow.path(), &["rollout", "next", "--dry-run"]);
    assert_eq!(taken.code, 0, "{}{}", taken.out, taken.err);
}
