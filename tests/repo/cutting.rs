//! Cutting releases: the versions, the release to compare with, and when nothing is cut.

use crate::release::{ONE_MINOR, STACK, commit, edit, ends, fleet, versions};

fn custom(version: &str) -> [&str; 8] {
    ["release", "test/tiny", "--kubernetes", "1.35", "--channel", "custom", "--version", version]
}

#[test]
fn a_component_version_never_has_two_contents() {
    let sandbox = fleet();
    ends(&sandbox, &ONE_MINOR, 0);
    edit(&sandbox, "addons/net/values.yaml", "replicas: 2", "replicas: 3");
    commit(&sandbox, "an edit");
    ends(&sandbox, &ONE_MINOR, 0);
    assert_eq!(versions(&sandbox, "test-tiny-1-35-v2"), ["v2", "v2", "v1"]);
    // After a revert, the release is gone, but its tag stays; then another change follows.
    sandbox.git(&["revert", "--no-edit", "HEAD"]);
    sandbox.git(&["revert", "--no-edit", "HEAD~2"]);
    edit(&sandbox, "addons/net/values.yaml", "replicas: 2", "replicas: 4");
    commit(&sandbox, "another edit");
    ends(&sandbox, &ONE_MINOR, 0);
    assert_eq!(versions(&sandbox, "test-tiny-1-35-v3"), ["v3", "v3", "v1"]);
}

#[test]
fn files_that_git_ignores_are_not_released_uncommitted() {
    for flag in ["assume-unchanged", "skip-worktree"] {
        let sandbox = fleet();
        let path = format!("{STACK}/addons/net/values.yaml");
        sandbox.git(&["update-index", &format!("--{flag}"), &path]);
        ends(&sandbox, &["release", "--kubernetes", "1.36"], 0);
        edit(&sandbox, "addons/net/values.yaml", "replicas: 2", "replicas: 3");
        assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
        let printed = ends(&sandbox, &ONE_MINOR, 1);
        assert!(printed.contains("not-committed") && printed.contains(&format!("--> {path}")), "{printed}");
        let look = format!("git update-index --no-{flag} {path}");
        assert!(printed.contains(&format!("`{look}`")), "{printed}");
        sandbox.git(&look.split(' ').skip(1).collect::<Vec<_>>());
        commit(&sandbox, "an edit");
        ends(&sandbox, &ONE_MINOR, 0);
    }
}

#[test]
fn a_custom_release_follows_what_its_name_says() {
    let sandbox = fleet();
    ends(&sandbox, &ONE_MINOR, 0);
    let printed = ends(&sandbox, &custom("v1-hotfix.1"), 0);
    assert!(printed.contains("nothing changed since test-tiny-1-35-v1\n"), "{printed}");
    edit(&sandbox, "addons/net/values.yaml", "replicas: 2", "replicas: 3");
    commit(&sandbox, "an edit");
    let printed = ends(&sandbox, &custom("v1-hotfix.1"), 0);
    assert!(printed.contains("after test-tiny-1-35-v1: addons change"), "{printed}");
    assert_eq!(versions(&sandbox, "test-tiny-1-35-v1-hotfix.1"), ["v1-hotfix.1", "v1-hotfix.1", "v1"]);
    assert!(
        ends(&sandbox, &custom("v1-hotfix.1"), 0)
            .contains("nothing changed since test-tiny-1-35-v1-hotfix.1")
    );
    assert!(
        ends(&sandbox, &custom("v1-hotfix.2"), 0)
            .contains("nothing changed since test-tiny-1-35-v1-hotfix.1")
    );

    // Another channel word with a higher number, which is unrelated.
    edit(&sandbox, "cluster-class/class.yaml", "default: 20", "default: 30");
    commit(&sandbox, "an edit");
    ends(&sandbox, &custom("v2-canary.1"), 0);
    assert!(ends(&sandbox, &custom("v1-hotfix.1"), 1).contains("release-exists"));
    sandbox.git(&["revert", "--no-edit", "HEAD~1"]);
    let printed = ends(&sandbox, &custom("v1-hotfix.2"), 0);
    assert!(printed.contains("nothing changed since test-tiny-1-35-v1-hotfix.1"), "{printed}");

    let printed = ends(&sandbox, &["release", "prune", "--dry-run"], 0);
    assert!(printed.contains("no release to remove"), "each word has a newest one: {printed}");
}

#[test]
fn content_that_would_not_read_back_is_reported_with_its_file() {
    let sandbox = fleet();
    let object = |kind: &str| {
        format!(
            "apiVersion: example.org/v1\nkind: {kind}\nmetadata:\n  name: ${{{{ release.name }}}}\nspec: {{}}\n"
        )
    };
    sandbox.write(
        &format!("{STACK}/cluster-class/more.yaml"),
        format!("{}---\n{}", object("Extra"), object("EXTRA")),
    );
    commit(&sandbox, "two objects, one file");
    let printed = ends(&sandbox, &ONE_MINOR, 1);
    assert!(
        printed.contains("release-unreadable") && printed.contains(&format!("--> {STACK}\n")),
        "{printed}"
    );
    assert!(
        printed.contains("`test-tiny-1-35-v1` (its `release.yaml`)") && printed.contains("capitals"),
        "{printed}"
    );
}

#[test]
fn a_changed_addon_is_listed_once_and_a_push_without_a_branch_names_one() {
    let sandbox = fleet();
    ends(&sandbox, &ONE_MINOR, 0);
    edit(&sandbox, "addons/net/addon.yaml", ">=1.34 <1.37", ">=1.33 <1.37");
    edit(&sandbox, "addons/net/addon.yaml", "stage: bootstrap", "stage: default");
    commit(&sandbox, "an edit");
    sandbox.git(&["checkout", "-q", "--detach"]);
    let printed = ends(&sandbox, &ONE_MINOR, 0);
    assert!(printed.contains("addons change: net") && !printed.contains("in place"), "{printed}");
    let recorded = sandbox.read("generated/releases/test-tiny-1-35-v2/release.yaml").unwrap();
    assert!(recorded.contains("addonsChanged:") && !recorded.contains("inPlace:"), "{recorded}");
    let push = "git push --atomic origin HEAD:refs/heads/<branch> test-tiny-1-35-v2";
    assert!(printed.contains(push), "{printed}");
    // More choices for the future have no effect on a cluster that moves.
    edit(&sandbox, "addons/net/addon.yaml", ">=1.33 <1.37", ">=1.32 <1.37");
    commit(&sandbox, "a wider range");
    let printed = ends(&sandbox, &ONE_MINOR, 0);
    assert!(printed.contains("only names change") && printed.contains(">=1.32 <1.37"), "{printed}");
    let recorded = sandbox.read("generated/releases/test-tiny-1-35-v3/release.yaml").unwrap();
    assert!(!recorded.contains("inPlace:"), "{recorded}");
}

/// A release can no longer change once it is cut, so each cluster that uses it hears of its health check.
#[test]
fn the_health_check_of_a_release_is_reported_where_clusters_choose_the_release() {
    let sandbox = fleet();
    let check =
        "checks: { unhealthyNodeConditions: [{ type: Ready, status: \"True\", timeoutSeconds: 600 }] }";
    let with_check = format!("- class: worker\n        healthCheck:\n          {check}\n");
    edit(&sandbox, "cluster-class/class.yaml", "- class: worker\n", &with_check);
    commit(&sandbox, "a check");
    let class = format!("{STACK}/cluster-class/class.yaml:");
    let printed = ends(&sandbox, &ONE_MINOR, 0);
    assert!(printed.contains("warning[health-check]") && printed.contains(&class), "{printed}");
    let release = "release: test-tiny-1-35-v1";
    let one = sandbox.read("clusters/blue/one.yaml").unwrap();
    sandbox.write("clusters/blue/one.yaml", one.replace("spec:\n", &format!("spec:\n  {release}\n")));
    let printed = ends(&sandbox, &["check", "clusters/blue/one.yaml"], 0);
    let words = "the health check that `test-tiny-1-35-v1` gives pool `md-0` replaces healthy machines";
    assert!(printed.contains(words) && printed.contains("clusters/blue/one.yaml:7:12"), "{printed}");
    sandbox.write(
        "clusters/blue/one.yaml",
        one.replace("spec:\n", &format!("spec:\n  {release}\n"))
            .replace("replicas: 2", "replicas: 2\n      healthCheck: { enabled: false }"),
    );
    let printed = ends(&sandbox, &["check", "clusters/blue/one.yaml"], 0);
    assert!(!printed.contains("health-check"), "{printed}");
}
