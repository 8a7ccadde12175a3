//! `stackloom upgrade next`: one folder per case, laid over a small fleet in a real repository.
//!
//! Each line of `commands.txt` is done in turn: `next …` runs the program, `commit` commits everything, `push` has the remote
//! follow, `touch FILE` puts a file of someone else there. `told.txt` has what the runs print, and `after/` the definitions in
//! the end, byte for byte. `UPDATE=1` writes both.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use rayon::prelude::*;

use super::{
    cli::{environment, ran},
    overlay, sandbox, support,
};

fn git(root: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    environment(command.current_dir(root).args(arguments));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{arguments:?} {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn commit(root: &Path) {
    git(root, &["add", "--all"]);
    git(root, &["commit", "--quiet", "--message", "all of it"]);
}

/// The case over the small fleet, generated and committed.
fn laid(case: &Path) -> tempfile::TempDir {
    let tests = support::package().join("tests");
    let base = sandbox::folder();
    overlay::apply(&tests.join("cases/_base"), &tests.join("upgrade/_base"), base.path()).unwrap();
    let root = sandbox::folder();
    overlay::apply(base.path(), case, root.path())
        .unwrap_or_else(|error| panic!("{}: {error}", case.display()));
    for own in ["commands.txt", "told.txt"] {
        fs::remove_file(root.path().join(own)).ok();
    }
    fs::remove_dir_all(root.path().join("after")).ok();
    git(root.path(), &["init", "--quiet", "--initial-branch", "main"]);
    let done = ran(root.path(), &["generate"]);
    assert_eq!(done.code, 0, "{}: {}", case.display(), done.err);
    commit(root.path());
    root
}

/// The remote of a fleet, in the fleet's own `.git`.
fn push(root: &Path) {
    let remote = root.join(".git/remote");
    if !remote.exists() {
        git(root, &["init", "--quiet", "--bare", ".git/remote"]);
        git(root, &["remote", "add", "origin", remote.to_str().unwrap()]);
    }
    git(root, &["push", "--quiet", "origin", "main"]);
}

/// Runs the program, and says what it printed and whether something is left that is not committed.
fn next(root: &Path, line: &str) -> String {
    let arguments: Vec<&str> = ["upgrade"].into_iter().chain(line.split(' ')).collect();
    let before = git(root, &["status", "--porcelain"]);
    let told = ran(root, &arguments);
    let mut after = git(root, &["status", "--porcelain"]);
    if line.contains("--dry-run") || told.code != 0 && told.out.contains("nothing was written") {
        assert_eq!(before, after, "{line}: {}", told.out);
    }
    if line.contains("--commit") && told.out.contains("committed as") {
        after.insert_str(0, &git(root, &["log", "-1", "--format=%B"]));
    }
    let own = |line: &&str| !line.contains("generated/");
    let left: Vec<&str> = after.lines().filter(own).collect();
    let arguments = arguments.join(" ");
    format!("$ stackloom {arguments}\n{}{}exit {}\n{}\n", told.out, told.err, told.code, left.join("\n"))
}

fn run(root: &Path, commands: &str) -> String {
    let mut told = String::new();
    for line in commands.lines() {
        match line.split_once(' ') {
            Some(("next", _)) => told.push_str(&next(root, line)),
            None if line == "next" => told.push_str(&next(root, line)),
            None if line == "commit" => commit(root),
            None if line == "push" => push(root),
            Some(("touch", file)) => sandbox::write(&root.join(file), "not the program's\n"),
            _ => panic!("`{line}` is no command of a case"),
        }
        let end = if line.starts_with("next") { String::new() } else { format!("# {line}\n") };
        told.extend([end.as_str(), "\n"]);
    }
    told
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
    let cases = sandbox::folders(&support::package().join("tests/upgrade-next"));
    let hashes = regex::Regex::new("v0-sha\\.[a-z0-9]{8}|committed as [0-9a-f]{12}").unwrap();
    let done: Vec<_> = cases
        .into_par_iter()
        .map(|case| {
            let root = laid(&case);
            let commands = fs::read_to_string(case.join("commands.txt")).unwrap();
            let told = run(root.path(), &commands);
            let masked = hashes.replace_all(&told, |found: &regex::Captures<'_>| {
                let zeros =
                    if found[0].starts_with('v') { "v0-sha.00000000" } else { "committed as 000000000000" };
                zeros.to_owned()
            });
            (case, root, masked.into_owned())
        })
        .collect();
    let mut wrong = String::new();
    for (case, root, told) in done {
        sandbox::expect_file(&case.join("told.txt"), &told, &mut wrong);
        let (mut found, mut expected) = (Vec::new(), Vec::new());
        definitions(&root.path().join("clusters"), &mut found);
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
