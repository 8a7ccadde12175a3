//! The guards of `generate` for clusters whose generated files an earlier commit removed. They may still run.

use std::fs;

use crate::{
    diff::{ONE, THREE, fleet, remove_in_steps, replace, save, says, step},
    release::ends,
    sandbox::Sandbox,
};

/// Commits the removal of files, and returns the short commit ID used in messages.
fn lose(sandbox: &Sandbox, path: &str) -> String {
    sandbox.git(&["rm", "-r", "--quiet", path]);
    save(sandbox, "lost");
    sandbox.git(&["rev-parse", "HEAD"]).trim()[..10].to_owned()
}

const TWO: &str = "clusters/blue/two.yaml";

fn downgrade(sandbox: &Sandbox) {
    replace(sandbox, THREE, "kubernetes: \"1.36\"", "kubernetes: \"1.35\"");
}

#[test]
fn a_commit_that_removes_generated_files_does_not_turn_the_guards_off() {
    let cluster = "generated/management/mgmt/clusters/green/three";
    for path in ["generated", "generated/management", cluster, &format!("{cluster}/cluster")] {
        let sandbox = fleet();
        let lost = lose(&sandbox, path);
        sandbox.git(&["commit", "--quiet", "--allow-empty", "--message", "meanwhile"]);
        downgrade(&sandbox);
        for command in [&["generate"][..], &["check"], &["generate", "--commit", "--all"]] {
            let said = ends(&sandbox, command, 1);
            assert!(said.contains("would be downgraded from Kubernetes 1.36."), "{path}: {said}");
            assert!(
                said.contains(&format!("the commit {lost} removed its generated files")),
                "{path}: {said}"
            );
            assert!(said.contains(&format!("--> {THREE}:")), "{path}: {said}");
        }
        // So that is true.
        let refused = "is refused: `stackloom generate` does not write this change";
        says(&sandbox, &["diff", "HEAD~2"], 1, refused);
        says(&sandbox, &["diff", "HEAD"], 1, refused);
        says(&sandbox, &["check", "--against", "HEAD"], 1, &lost);
        sandbox.git(&["checkout", "--quiet", THREE]);
        ends(&sandbox, &["generate"], 0);
    }
}

#[test]
fn a_cluster_that_was_abandoned_is_guarded_when_it_is_defined_again() {
    let sandbox = fleet();
    let text = sandbox.read(TWO).unwrap();
    fs::remove_file(sandbox.root.join(TWO)).unwrap();
    let lost = step(&sandbox, "abandoned");
    replace(&sandbox, ONE, "replicas: 2", "replicas: 3");
    step(&sandbox, "meanwhile");
    sandbox.write(TWO, &text);
    ends(&sandbox, &["generate", "--check"], 3);
    for (from, to, words) in [
        ("kubernetes: \"1.36\"", "kubernetes: \"1.35\"", "error[replaced]"),
        ("spec:", "spec:\n  network: { pods: [10.9.0.0/16] }", "error[network-changed]"),
        ("name: md-0", "name: md-9", "error[removal]"),
        (
            "    demo:",
            "    extra:\n      enabled: false\n    demo:\n      enabled: false",
            "warning[abandoned]",
        ),
    ] {
        replace(&sandbox, TWO, from, to);
        let exit = if words.starts_with("error") { 1 } else { 3 };
        says(&sandbox, &["generate", "--check"], exit, words);
        says(&sandbox, &["generate", "--check"], exit, &format!("the commit {lost} removed"));
        sandbox.write(TWO, &text);
    }
    // With its files in the work tree, these count.
    ends(&sandbox, &["generate"], 0);
    says(&sandbox, &["generate", "--check"], 0, "up to date");
}

#[test]
fn a_cluster_that_left_by_its_steps_is_new_when_it_is_defined_again() {
    let sandbox = fleet();
    let text = sandbox.read(ONE).unwrap();
    remove_in_steps(&sandbox);
    fs::remove_file(sandbox.root.join(ONE)).unwrap();
    step(&sandbox, "gone");
    sandbox.write(ONE, text.replace("spec:", "spec:\n  network: { pods: [10.9.0.0/16] }"));
    ends(&sandbox, &["generate"], 0);
}

#[test]
fn a_cluster_whose_definition_and_files_were_deleted_by_hand_is_abandoned() {
    let sandbox = fleet();
    fs::remove_file(sandbox.root.join(TWO)).unwrap();
    fs::remove_dir_all(sandbox.root.join("generated/management/mgmt/clusters/blue/two")).unwrap();
    says(&sandbox, &["generate"], 0, "`blue/two` no longer has a definition");
}
