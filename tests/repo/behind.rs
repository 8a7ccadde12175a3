//! A change that lacks later commits of its base, and a commit whose generated files do something else than its definitions.

use crate::{
    diff::{ONE, fleet, replace, says, step},
    release::ends,
};

const COMMANDS: [&[&str]; 2] = [&["check", "--against", "origin/main"], &["diff", "origin/main"]];

#[test]
fn a_branch_that_lacks_a_cluster_of_its_base_is_said_to_be_behind() {
    let sandbox = fleet();
    let fork = sandbox.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let four = "clusters/blue/four.yaml";
    let text = sandbox.read(ONE).unwrap().replace("name: one", "name: four");
    sandbox.write(four, text);
    step(&sandbox, "four");
    sandbox.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    sandbox.git(&["checkout", "--quiet", "-b", "topic", &fork]);
    replace(&sandbox, ONE, "replicas: 2", "replicas: 3");
    step(&sandbox, "three");
    for arguments in COMMANDS {
        let said = ends(&sandbox, arguments, 1);
        let short = &fork[..10];
        assert!(said.contains("HEAD is behind the base"), "{said}");
        assert!(said.contains(&format!("where they parted, the commit {short}")), "{said}");
        assert!(!said.contains("restore the definition"), "{said}");
    }
    // A cluster that the change itself removes is lost all the same.
    std::fs::remove_file(sandbox.root.join("clusters/blue/two.yaml")).unwrap();
    for arguments in COMMANDS {
        says(&sandbox, arguments, 1, "to keep it, restore the definition");
    }
    sandbox.git(&["checkout", "--quiet", "."]);
    sandbox.git(&["rebase", "--quiet", "main"]);
    for arguments in COMMANDS {
        ends(&sandbox, arguments, 0);
    }
}

#[test]
fn a_tree_that_generate_refuses_to_leave_is_restored_from_the_base() {
    let sandbox = fleet();
    let base = sandbox.git(&["rev-parse", "HEAD"]).trim()[..10].to_owned();
    sandbox.git(&["checkout", "--quiet", "-b", "topic"]);
    replace(&sandbox, ONE, "kubernetes: \"1.35\"", "kubernetes: \"1.36\"");
    step(&sandbox, "upgrade");
    sandbox.git(&["checkout", "--quiet", "main", "--", "clusters"]);
    sandbox.git(&["commit", "--quiet", "--message", "back again"]);
    let folder = "generated/management/mgmt/clusters/blue/one";
    let said = ends(&sandbox, &["diff"], 0);
    assert!(said.contains("None of the 3 clusters change\nHEAD does something else"), "{said}");
    assert!(said.contains("warning[stale-tree]"), "{said}");
    assert!(said.contains("would be downgraded from Kubernetes 1.36."), "{said}");
    assert!(said.contains(&format!("`git checkout {base} -- {folder} && git commit`")), "{said}");
    says(&sandbox, &["diff", "--format", "markdown"], 0, "merging HEAD does what its `generated/` has");
    ends(&sandbox, &["generate", "--commit"], 1);
    sandbox.git(&["checkout", "--quiet", &base, "--", folder]);
    sandbox.git(&["commit", "--quiet", "--message", "restored"]);
    ends(&sandbox, &["generate", "--commit"], 0);
    let said = ends(&sandbox, &["diff"], 0);
    assert!(!said.contains("stale-tree") && !said.contains("something else"), "{said}");
    assert_eq!(sandbox.git(&["diff", "main", "--", "generated"]), "");
}
