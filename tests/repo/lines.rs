//! Releases added on more than one line of history.

use std::fs;

use crate::{
    release::{commit, edit, ends, output_of, stackloom},
    released::pinned,
    sandbox::Sandbox,
};

/// Two clones that cut the same version; the first publishes it.
fn raced() -> (Sandbox, Sandbox) {
    let (first, second) = (pinned(), Sandbox::new());
    first.git(&["init", "-q", "--bare", "-b", "main", "../origin.git"]);
    first.git(&["remote", "add", "origin", "../origin.git"]);
    first.git(&["push", "-q", "--tags", "-u", "origin", "main"]);
    fs::remove_dir(&second.root).unwrap();
    let origin = first.outside().join("origin.git");
    first.git(&["clone", "-q", origin.to_str().unwrap(), second.root.to_str().unwrap()]);
    for (key, value) in
        [("user.name", "Test"), ("user.email", "test@example.org"), ("commit.gpgSign", "false")]
    {
        second.git(&["config", key, value]);
    }
    for (sandbox, replicas) in [(&first, "replicas: 3"), (&second, "replicas: 4")] {
        edit(sandbox, "addons/net/values.yaml", "replicas: 2", replicas);
        commit(sandbox, "an edit");
        ends(sandbox, &["release", "--kubernetes", "1.35"], 0);
    }
    first.git(&["push", "-q", "--atomic", "origin", "HEAD", "test-tiny-1-35-v2"]);
    (first, second)
}

/// The output of `check`, whether it passes or not.
fn checked(sandbox: &Sandbox) -> String {
    output_of(&stackloom(sandbox, &["check"]))
}

#[test]
fn a_race_that_a_merge_ends_leaves_the_release_that_was_published() {
    let (first, second) = raced();
    let own = second.git(&["rev-parse", "HEAD"]);
    second.git(&["fetch", "-q", "origin", "main"]);
    second.try_git(&["merge", "-q", "FETCH_HEAD"]);
    second.git(&["checkout", "-q", "--theirs", "."]);
    commit(&second, "merged");
    let name = "test-tiny-1-35-v2";
    // While the clone's own tag exists, it decides what the release was cut as. Following it would undo the published
    // release.
    let printed = checked(&second);
    assert!(printed.contains("release-changed") && printed.contains("warning[release-tag]"), "{printed}");
    let fetch = format!("`git fetch --force origin tag {name}`");
    assert!(printed.contains(&fetch) && printed.contains("first make sure that the tag"), "{printed}");
    let clone = second.git(&["rev-parse", "HEAD"]);
    second.git(&["checkout", "-q", name, "--", &format!("generated/releases/{name}")]);
    commit(&second, "as the own tag has it");
    let printed = checked(&second);
    assert!(!printed.contains("release-changed") && printed.contains("warning[release-tag]"), "{printed}");
    second.git(&["reset", "-q", "--hard", clone.trim()]);
    // Without a tag, it is unknown which one was published.
    second.git(&["tag", "-d", name]);
    let printed = checked(&second);
    assert!(printed.contains("warning[release-tag]") && printed.contains(&own[..12]), "{printed}");
    second.git(&["fetch", "-q", "origin", "tag", name]);
    let printed = checked(&second);
    assert!(!printed.contains("release-"), "{printed}");
    second.git(&["push", "-q", "origin", "HEAD"]);
    first.git(&["pull", "-q"]);
    let printed = checked(&first);
    assert!(!printed.contains("release-"), "{printed}");
    // A later edit is still detected.
    let path = format!("generated/releases/{name}/NOTES.md");
    first.write(&path, "other words\n");
    commit(&first, "an edit of a release");
    let printed = checked(&first);
    assert!(printed.contains("release-changed") && printed.contains(&path), "{printed}");
    first.git(&["tag", "-f", name, "HEAD"]);
    let printed = checked(&first);
    assert!(printed.contains("release-tag") && printed.contains(name), "{printed}");
}

#[test]
fn a_name_that_another_line_used_is_not_given_again() {
    let sandbox = pinned();
    sandbox.git(&["checkout", "-qb", "dev"]);
    sandbox.write("README.md", "words\n");
    commit(&sandbox, "words");
    sandbox.git(&["checkout", "-q", "main"]);
    edit(&sandbox, "addons/net/values.yaml", "replicas: 2", "replicas: 3");
    commit(&sandbox, "an edit");
    ends(&sandbox, &["release", "--no-tag", "--kubernetes", "1.35"], 0);
    sandbox.git(&["revert", "--no-edit", "HEAD"]);
    sandbox.git(&["checkout", "-q", "dev"]);
    sandbox.git(&["merge", "-q", "--no-edit", "main"]);
    edit(&sandbox, "addons/net/values.yaml", "replicas: 3", "replicas: 4");
    commit(&sandbox, "another edit");
    ends(&sandbox, &["release", "--no-tag", "--kubernetes", "1.35"], 0);
    assert!(sandbox.has("generated/releases/test-tiny-1-35-v3"));
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.git(&["merge", "-q", "--no-ff", "-m", "merged", "dev"]);
    let printed = ends(&sandbox, &["check"], 0);
    assert!(!printed.contains("release-"), "{printed}");
}

#[test]
fn a_branch_with_a_different_release_is_reported_whichever_is_merged() {
    for (strategy, kept) in [("ours", "main"), ("theirs", "other")] {
        let sandbox = pinned();
        sandbox.git(&["checkout", "-qb", "other"]);
        for (branch, replicas) in [("other", "replicas: 3"), ("main", "replicas: 4")] {
            sandbox.git(&["checkout", "-q", branch]);
            edit(&sandbox, "addons/net/values.yaml", "replicas: 2", replicas);
            if branch == "other" {
                let text =
                    "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: more, namespace: kube-system }\n";
                sandbox.write("stacks/test/tiny/addons/net/manifests/more.yaml", text);
            }
            commit(&sandbox, "an edit");
            ends(&sandbox, &["release", "--no-tag", "--kubernetes", "1.35"], 0);
        }
        sandbox.git(&["merge", "-q", "-X", strategy, "-m", "merged", "other"]);
        let printed = checked(&sandbox);
        let added = |branch: &str| sandbox.git(&["rev-parse", "--short=12", branch]).trim().to_owned();
        let (main, other) = (added("HEAD^1"), added("other"));
        let (here, there) = if kept == "main" { (main, other) } else { (other, main) };
        let words = format!("here is the one of the commit {here}, and the commit {there} added the other");
        assert!(
            printed.contains("warning[release-tag]") && printed.contains(&words),
            "{strategy}: {printed}"
        );
        // Follows the message, assuming that the other one was published.
        let folder = "generated/releases/test-tiny-1-35-v2";
        let take = format!("git restore --source={there} --staged --worktree -- {folder}");
        assert!(printed.contains(&take), "{printed}");
        sandbox.git(&take.split(' ').skip(1).collect::<Vec<_>>());
        commit(&sandbox, "the other one");
        let printed = checked(&sandbox);
        let words = format!("here is the one of the commit {there}, and the commit {here} added the other");
        assert!(printed.contains(&words) && !printed.contains("release-changed"), "{strategy}: {printed}");
        ends(&sandbox, &["release", "tag"], 0);
        let printed = checked(&sandbox);
        assert!(
            printed.contains("its tag has the one of the commit") && !printed.contains("error["),
            "{printed}"
        );
        sandbox.git(&["checkout", "-q", &here, "--", folder]);
        let printed = checked(&sandbox);
        assert!(printed.contains("release-changed"), "{printed}");
    }
}

#[test]
fn the_tag_says_which_of_two_lines_counts() {
    let (first, second) = raced();
    let name = "test-tiny-1-35-v2";
    let folder = format!("generated/releases/{name}");
    let published = first.git(&["rev-parse", "--short=12", "HEAD"]);
    second.git(&["fetch", "-q", "--no-tags", "origin", "main"]);
    second.git(&["merge", "-q", "-X", "ours", "-m", "merged", "FETCH_HEAD"]);
    second.git(&["push", "-q", "origin", "HEAD"]);
    first.git(&["pull", "-q"]);
    let own = second.git(&["rev-parse", "--short=12", "HEAD^1"]);
    let words = format!(
        "its tag has the one of the commit {}, and the commit {} added the other",
        published.trim(),
        own.trim()
    );
    let printed = checked(&first);
    assert!(printed.contains("warning[release-tag]") && printed.contains(&words), "{printed}");
    let put_back = format!("git checkout {name} -- {folder}/release.yaml");
    assert!(printed.contains("release-changed") && printed.contains(&put_back), "{printed}");
    // Follows the message, which settles it for good.
    first.git(&["checkout", "-q", name, "--", &folder]);
    commit(&first, "what was published");
    let printed = checked(&first);
    assert!(!printed.contains("release-changed") && printed.contains(&words), "{printed}");
    ends(&first, &["release"], 0);
    // In the losing clone, its own tag matches its own release.
    let printed = checked(&second);
    assert!(!printed.contains("release-"), "{printed}");
    // A tag that matches neither must have been moved.
    first.write(&format!("{folder}/NOTES.md"), "other words\n");
    commit(&first, "an edit of a release");
    first.git(&["tag", "-f", name, "HEAD"]);
    let printed = checked(&first);
    assert!(
        printed.contains("release-tag") && printed.contains("whose release differs from the one"),
        "{printed}"
    );
}

#[test]
fn releases_beyond_a_shallow_clone_belong_to_no_commit() {
    let sandbox = pinned();
    let name = "test-tiny-1-35-v1";
    sandbox.git(&["checkout", "-qb", "side", "HEAD~3"]);
    assert!(!sandbox.has(&format!("generated/releases/{name}")));
    edit(&sandbox, "addons/net/values.yaml", "replicas: 2", "replicas: 5");
    commit(&sandbox, "another stack");
    ends(&sandbox, &["release", "--no-tag", "--kubernetes", "1.35"], 0);
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.git(&["merge", "-q", "-s", "ours", "-m", "merged", "side"]);
    for options in [&["--depth", "3"][..], &["--depth", "3", "--no-tags"]] {
        let clone = Sandbox::new();
        fs::remove_dir(&clone.root).unwrap();
        let url = format!("file://{}", sandbox.root.display());
        sandbox.git(&[&["clone", "-q"], options, &[&url, clone.root.to_str().unwrap()]].concat());
        let printed = ends(&clone, &["check"], 0);
        let errors = printed.contains("error[") || printed.contains("warning[release-tag]");
        assert!(!errors, "{options:?}: {printed}");
    }
}

/// As with pull requests: both cut the same name, and one is squash-merged and tagged.
#[test]
fn a_branch_whose_release_name_is_taken_shows_what_to_do() {
    let sandbox = pinned();
    let name = "test-tiny-1-35-v2";
    for (branch, replicas) in [("one", "replicas: 3"), ("two", "replicas: 4")] {
        sandbox.git(&["checkout", "-q", "-b", branch, "main"]);
        edit(&sandbox, "addons/net/values.yaml", "replicas: 2", replicas);
        commit(&sandbox, "an edit");
        ends(&sandbox, &["release", "--no-tag", "--kubernetes", "1.35"], 0);
    }
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.git(&["merge", "-q", "--squash", "one"]);
    sandbox.git(&["commit", "-qm", "squashed"]);
    ends(&sandbox, &["release", "tag"], 0);
    let published = sandbox.git(&["rev-parse", "main"]);
    sandbox.git(&["checkout", "-q", "two"]);
    let printed = checked(&sandbox);
    let merge = format!("git merge {}", &published[..12]);
    let take = format!("git restore --source={name} --staged --worktree -- generated/releases/{name}");
    let go_on = format!("`{merge}`, `{take}` if the two conflict, commit, and release again");
    assert!(printed.contains("release-tag") && printed.contains(&go_on), "{printed}");
    sandbox.try_git(&merge.split(' ').skip(1).collect::<Vec<_>>());
    sandbox.git(&take.split(' ').skip(1).collect::<Vec<_>>());
    sandbox.git(&["checkout", "-q", "--ours", "--", "stacks"]);
    commit(&sandbox, "merged");
    let printed = checked(&sandbox);
    assert!(!printed.contains("release-"), "{printed}");
    let printed = ends(&sandbox, &["release", "--no-tag", "--kubernetes", "1.35"], 0);
    assert!(printed.contains("test-tiny-1-35-v3"), "{printed}");
}
