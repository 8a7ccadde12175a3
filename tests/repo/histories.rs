//! `stackloom diff` in every kind of checkout. Where history is missing, the message names it, and its command fetches it.

use std::fs;

use crate::{
    diff::{ONE, fleet, remove_in_steps, replace, save, says, step},
    release::ends,
    sandbox::Sandbox,
};

/// A fleet with a branch `topic`, a commit on `main` beside it, and the merge commit of its pull request, which no branch holds.
fn origin() -> Sandbox {
    let sandbox = fleet();
    sandbox.git(&["checkout", "--quiet", "-b", "topic"]);
    for replicas in ["4", "5"] {
        let now = if replicas == "4" { "2" } else { "4" };
        replace(&sandbox, ONE, &format!("replicas: {now}"), &format!("replicas: {replicas}"));
        step(&sandbox, replicas);
    }
    sandbox.git(&["checkout", "--quiet", "main"]);
    sandbox.write("README.md", "words\n");
    save(&sandbox, "meanwhile");
    sandbox.git(&["checkout", "--quiet", "--detach", "main"]);
    sandbox.git(&["merge", "--quiet", "--no-ff", "--message", "merge", "topic"]);
    sandbox.git(&["update-ref", "refs/pull/1/merge", "HEAD"]);
    sandbox.git(&["checkout", "--quiet", "main"]);
    sandbox.git(&["config", "uploadpack.allowFilter", "true"]);
    sandbox.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
    sandbox
}

/// A clone made by these commands of git, as over a network.
fn checkout(origin: &Sandbox, commands: &[&[&str]]) -> Sandbox {
    let clone = Sandbox::new();
    let url = format!("file://{}", origin.root.display());
    clone.git(&["init", "--quiet", "--initial-branch", "none"]);
    clone.git(&["remote", "add", "origin", &url]);
    for (key, value) in [("user.name", "Test"), ("user.email", "test@example.org")] {
        clone.git(&["config", key, value]);
    }
    for command in commands {
        clone.git(command);
    }
    clone
}

/// What `diff` says, and what it says after each command that it asks for, until it has what it needs.
fn until_compared(clone: &Sandbox, arguments: &[&str]) -> Vec<String> {
    let mut said = Vec::new();
    for _ in 0..4 {
        let output = crate::release::stackloom(clone, arguments);
        let text = crate::release::output_of(&output);
        said.push(text.clone());
        if output.status.success() {
            return said;
        }
        let command = text.split('`').find(|part| part.starts_with("git fetch"));
        let command = command.unwrap_or_else(|| panic!("no command: {text}"));
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        clone.git(&[&words[..1], &["--quiet"], &words[1..]].concat());
    }
    panic!("the commands do not help: {said:#?}");
}

const CHANGE: &str = "1 of 3 clusters changes: 1 adds 3 pool machines";
const PULL: &str = "+refs/pull/1/merge:refs/remotes/pull/1/merge";
const AT_PULL: &[&str] = &["checkout", "--quiet", "--detach", "refs/remotes/pull/1/merge"];

#[test]
fn a_checkout_that_has_enough_is_compared_at_once() {
    let origin = origin();
    let all = ["fetch", "--quiet", "origin", "+refs/heads/*:refs/remotes/origin/*", PULL];
    let topic: &[&str] = &["checkout", "--quiet", "--detach", "origin/topic"];
    let merge: &[&str] = &["merge", "--quiet", "--no-ff", "--message", "merge", "origin/main"];
    for (commands, base) in [
        (
            &[&["fetch", "--quiet", "--depth=2", "origin", PULL], AT_PULL][..],
            "first parent of the merge commit",
        ),
        (&[&all[..], AT_PULL], "first parent of the merge commit"),
        (&[&all[..], topic], "merge base with origin/main"),
        // A branch into which `main` was merged.
        (
            &[&all[..], &["checkout", "--quiet", "-b", "topic", "origin/topic"], merge],
            "merge base with origin/main",
        ),
    ] {
        let clone = checkout(&origin, commands);
        says(&clone, &["diff"], 0, base);
        says(&clone, &["diff"], 0, CHANGE);
        assert_eq!(clone.git(&["status", "--porcelain"]), "");
    }
}

#[test]
fn where_history_is_missing_the_command_of_the_message_fetches_it() {
    let origin = origin();
    let parent = origin.git(&["rev-parse", "main"]).trim().to_owned();
    let base = origin.git(&["merge-base", "main", "topic"]).trim().to_owned();
    let at_topic: &[&str] = &["checkout", "--quiet", "-b", "topic", "origin/topic"];
    let shallow = ["fetch", "--quiet", "--depth=1", "origin", "+refs/heads/topic:refs/remotes/origin/topic"];
    let filtered =
        |filter: &'static str| ["fetch", "--quiet", filter, "origin", "+refs/heads/*:refs/remotes/origin/*"];
    let first = format!("HEAD is a merge commit, and its first parent {parent} is not in this shallow clone");
    for (commands, arguments, words) in [
        (
            &[&["fetch", "--quiet", "--depth=1", "origin", PULL][..], AT_PULL][..],
            &["diff"][..],
            vec![&*first],
        ),
        (
            &[&shallow[..], at_topic],
            &["diff"],
            vec![
                "this clone has no remote-tracking branch of this name",
                "this clone is shallow, and lacks the merge base of HEAD and `origin/main`",
            ],
        ),
        // GitLab names the commit.
        (&[&shallow[..], at_topic], &["diff", &base], vec!["git knows no such commit"]),
        (&[&shallow[..], at_topic], &["check", "--against", "origin/main"], vec!["git knows no such commit"]),
        (&[&filtered("--filter=blob:none")[..], at_topic], &["diff"], vec!["in a partial clone"]),
        (&[&filtered("--filter=tree:0")[..], at_topic], &["diff"], vec!["in a partial clone"]),
    ] {
        let clone = checkout(&origin, commands);
        let said = until_compared(&clone, arguments);
        let (last, before) = said.split_last().unwrap();
        assert_eq!(before.len(), words.len(), "{said:#?}");
        for (said, words) in before.iter().zip(words) {
            assert!(said.contains(words), "{said}");
        }
        assert!(arguments[0] == "check" || last.contains(CHANGE), "{last}");
    }
}

/// The commits of a pull request are judged one by one. If they are missing, the message says so.
#[test]
fn a_merge_commit_without_the_commits_of_its_branch_says_what_is_missing() {
    let sandbox = fleet();
    remove_in_steps(&sandbox);
    sandbox.git(&["checkout", "--quiet", "--detach", "main"]);
    sandbox.git(&["merge", "--quiet", "--no-ff", "--message", "merge", "topic"]);
    sandbox.git(&["update-ref", "refs/pull/1/merge", "HEAD"]);
    sandbox.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
    let [parent, tip] = ["main", "topic"].map(|name| sandbox.git(&["rev-parse", name]).trim().to_owned());
    let only = |commit: &str| format!("+{commit}:refs/remotes/only/{commit}");
    let clone = checkout(
        &sandbox,
        &[
            &["fetch", "--quiet", "--depth=1", "origin", PULL],
            &["fetch", "--quiet", "--depth=1", "origin", &only(&parent)],
            AT_PULL,
        ],
    );
    let said = until_compared(&clone, &["diff"]);
    assert_eq!(said.len(), 2, "{said:#?}");
    assert!(said[0].contains(&format!("the commit {}, parent of", &tip[..10])), "{}", said[0]);
    assert!(said[1].contains("warning[announced]"), "{}", said[1]);
}

#[test]
fn a_base_that_misleads_is_named() {
    let sandbox = fleet();
    let warns = |arguments: &[&str], code: &str| says(&sandbox, arguments, 0, &format!("warning[{code}]"));
    sandbox.git(&["checkout", "--quiet", "--orphan", "other"]);
    save(&sandbox, "another history");
    sandbox.git(&["rm", "--quiet", "-r", "generated"]);
    save(&sandbox, "nothing generated");
    sandbox.git(&["checkout", "--quiet", "-f", "main"]);
    warns(&["diff", "other~1"], "unrelated-base");
    warns(&["diff", "other~1", "main"], "unrelated-base");
    warns(&["diff", "other"], "empty-base");
    says(
        &sandbox,
        &["diff", "other", "--format", "markdown"],
        0,
        "\n**Warning:** `other` has no `generated/`",
    );
    says(
        &sandbox,
        &["diff", "other~1", "--format", "markdown"],
        0,
        "\n**Warning:** `other~1` and HEAD have no",
    );
    warns(&["check", "--against", "other~1"], "unrelated-base");
    warns(&["check", "--against", "other"], "empty-base");
    says(&sandbox, &["diff", "other"], 0, "3 of 3 clusters change: 3 in place");
    says(&sandbox, &["diff", "other"], 0, "is defined again");
    // An older program, whose range ends before this one.
    replace(&sandbox, "stackloom.yaml", ">=0.1, <0.2", ">=0.0.1, <0.0.2");
    save(&sandbox, "an older program");
    replace(&sandbox, "stackloom.yaml", ">=0.0.1, <0.0.2", ">=0.1, <0.2");
    save(&sandbox, "this program");
    warns(&["diff", "HEAD~1"], "other-version");
    warns(&["diff", "HEAD~1", "HEAD"], "other-version");
    let quiet = ends(&sandbox, &["diff", "HEAD~2"], 0);
    assert!(!quiet.contains("warning"), "{quiet}");
    // Files of the base that cannot be read.
    let path = "generated/management/mgmt/clusters/blue/one/cluster/cluster.yaml";
    let text = sandbox.read(path).unwrap();
    fs::write(sandbox.root.join(path), b"a: [\n\xff\0").unwrap();
    save(&sandbox, "broken");
    sandbox.write(path, text);
    says(&sandbox, &["diff", "HEAD"], 0, "1 of 3 clusters changes: 1 unknown");
    says(&sandbox, &["diff", "HEAD"], 0, &format!("a file cannot be read (before the change): {path}"));
}
