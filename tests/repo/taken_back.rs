//! What a commit in between deletes, and a later one brings back.

use crate::{
    diff::{ONE, fleet, remove_in_steps, replace, step},
    release::ends,
    sandbox::Sandbox,
};

const GUARDED: [&[&str]; 3] = [
    &["check", "--against", "origin/main"],
    &["diff", "origin/main"],
    &["diff", "origin/main", "--format", "markdown"],
];

/// Both commands warn, and exit with 0.
#[track_caller]
fn warns(sandbox: &Sandbox, words: &[&str]) {
    for arguments in GUARDED {
        let said = ends(sandbox, arguments, 0);
        for words in words {
            assert!(said.contains(words), "{arguments:?}: {words}: {said}");
        }
        assert_eq!(said.matches("warning[removal]").count(), 1, "{said}");
    }
    let comment = ends(sandbox, GUARDED[2], 0);
    assert!(comment.contains("\n**Warning:** in the commit "), "{comment}");
}

#[test]
fn a_removal_that_a_later_commit_takes_back_is_a_warning() {
    let sandbox = fleet();
    let text = sandbox.read(ONE).unwrap();
    let [_, delete] = remove_in_steps(&sandbox);
    std::fs::remove_file(sandbox.root.join(ONE)).unwrap();
    step(&sandbox, "gone");
    sandbox.write(ONE, &text);
    let deleted =
        format!("in the commit {delete} (delete): the cluster `blue/one` is deleted with 3 machines");
    warns(&sandbox, &[&deleted, "the definitions here take it back", "squash the commits"]);
    let back = step(&sandbox, "restored");
    let back = format!("the commit {back} (restored) takes it back");
    warns(&sandbox, &[&deleted, &back, "None of the 3 clusters"][..2]);
    assert!(ends(&sandbox, GUARDED[1], 0).contains("None of the 3 clusters change"));
    // Squashed, there is nothing to warn of.
    sandbox.git(&["checkout", "--quiet", "-b", "squashed", "main"]);
    sandbox.git(&["merge", "--quiet", "--squash", "topic"]);
    for arguments in GUARDED {
        assert!(!ends(&sandbox, arguments, 0).contains("in the commit"));
    }
}

#[test]
fn machines_that_come_back_are_a_warning() {
    let sandbox = fleet();
    sandbox.git(&["checkout", "--quiet", "-b", "topic"]);
    replace(&sandbox, ONE, "replicas: 2", "replicas: 1");
    step(&sandbox, "one");
    replace(&sandbox, ONE, "replicas: 1", "replicas: 0");
    let none = step(&sandbox, "none");
    replace(&sandbox, ONE, "replicas: 0", "replicas: 2");
    let back = step(&sandbox, "two");
    let lost =
        format!("in the commit {none} (none): the node pool `md-0` of `blue/one` loses all its machines");
    warns(&sandbox, &[&lost, &format!("the commit {back} (two) takes it back")]);
    // Fewer machines in the end are part of the change.
    replace(&sandbox, ONE, "replicas: 2", "replicas: 0");
    step(&sandbox, "none again");
    assert!(!ends(&sandbox, GUARDED[1], 0).contains("in the commit"));
}

#[test]
fn a_pool_and_an_addon_that_come_back_are_a_warning() {
    for (arguments, words) in [
        (["--pool", "md-1"], "the node pool `md-1` of `blue/one` "),
        (["--addon", "demo"], "the addon `demo` of `blue/one` is uninstalled"),
    ] {
        let sandbox = fleet();
        let pool = "    - name: md-1\n      class: default-worker\n      replicas: 1\n";
        let more = format!("  addons: {{ extra: {{ enabled: false }} }}\n  nodePools:\n{pool}");
        replace(&sandbox, ONE, "  nodePools:\n", &more);
        step(&sandbox, "another pool");
        sandbox.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
        let text = sandbox.read(ONE).unwrap();
        sandbox.git(&["checkout", "--quiet", "-b", "topic"]);
        for message in ["detach", "delete"] {
            ends(&sandbox, &[&["remove", "one", "--reason", "over"], &arguments[..]].concat(), 0);
            step(&sandbox, message);
        }
        sandbox.write(ONE, &text);
        let back = step(&sandbox, "restored");
        warns(&sandbox, &[words, &format!("the commit {back} (restored) takes it back")]);
    }
}
