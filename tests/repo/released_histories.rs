//! What a release is, by its tag, the commits that added it, and its files.

use std::fs;

use crate::{
    release::{commit, edit, ends, fleet},
    released::{RELEASE, pinned, put_back, refused, tamper},
    sandbox::{Sandbox, git_in},
};

#[test]
fn a_hidden_file_is_no_part_of_a_release_wherever_it_is() {
    let sandbox = pinned();
    let path = format!("{RELEASE}/cluster-class/.more.yaml");
    sandbox.write(&path, "a: 1\n");
    for committed in [false, true] {
        if committed {
            commit(&sandbox, "a hidden file");
        }
        let printed = refused(&sandbox, "release-changed", &path);
        assert!(printed.contains("was added, and is not in the tag"), "{printed}");
    }
    sandbox.git(&["tag", "-d", "test-tiny-1-35-v1"]);
    assert!(refused(&sandbox, "release-changed", &path).contains("was added, and is not in"));
    sandbox.git(&["rm", "-q", &path]);
    commit(&sandbox, "gone again");
    ends(&sandbox, &["check"], 0);
}

#[test]
fn without_its_tag_a_release_is_held_against_the_commit_that_added_it() {
    let sandbox = pinned();
    sandbox.git(&["tag", "-d", "test-tiny-1-35-v1"]);
    let added =
        sandbox.git(&["log", "--format=%H", "--diff-filter=A", "--", &format!("{RELEASE}/release.yaml")]);
    let text = sandbox.read(&format!("{RELEASE}/release.yaml")).unwrap();
    sandbox.write(
        &format!("{RELEASE}/release.yaml"),
        text.replace("provider: test\n", "provider: test\n# words\n"),
    );
    commit(&sandbox, "an edit of what no digest is of");
    let printed = refused(&sandbox, "release-changed", &format!("{RELEASE}/release.yaml"));
    let put_back = format!("git checkout {} -- {RELEASE}/release.yaml", &added[..12]);
    assert!(printed.contains(&put_back) && printed.contains("which added the release"), "{printed}");
    sandbox.git(&put_back.split(' ').skip(1).collect::<Vec<_>>());
    commit(&sandbox, "put back");
    ends(&sandbox, &["check"], 0);

    // A release that was pruned and restored has a new start.
    sandbox.git(&["rm", "-rq", RELEASE]);
    sandbox.git(&["commit", "-qm", "gone"]);
    sandbox.git(&["checkout", &added[..12], "--", RELEASE]);
    sandbox.git(&["commit", "-qm", "and back"]);
    assert!(!ends(&sandbox, &["check"], 0).contains("from files only"));
}

#[test]
fn a_shallow_clone_says_that_it_knows_no_more_than_the_files() {
    let sandbox = pinned();
    sandbox.git(&["tag", "-d", "test-tiny-1-35-v1"]);
    let clone = Sandbox::new();
    fs::remove_dir(&clone.root).unwrap();
    let url = format!("file://{}", sandbox.root.display());
    let path = clone.root.display().to_string();
    sandbox.git(&["clone", "-q", "--depth", "1", &url, &path]);
    let printed = ends(&clone, &["check"], 0);
    assert!(
        printed
            .contains("1 release verified from files only, because there is no tag here: test-tiny-1-35-v1"),
        "{printed}"
    );
    // It is unknown since when a release is unused; even the next version number may be taken.
    for (key, value) in [("user.name", "Test"), ("user.email", "test@example.org")] {
        clone.git(&["config", key, value]);
    }
    for arguments in [&["release", "--dry-run"][..], &["release"]] {
        let printed = ends(&clone, arguments, 0);
        assert!(
            printed.contains("warning[shallow-clone]") && printed.contains("git fetch --unshallow"),
            "{printed}"
        );
    }
    clone.git(&["reset", "-q", "--hard", "HEAD~1"]);
    clone.write(
        "clusters/blue/one.yaml",
        clone.read("clusters/green/two.yaml").unwrap().replace("two", "one"),
    );
    let (_, printed) = crate::share::json(&clone, &["releases"]);
    let list = printed["releases"].as_array().unwrap();
    let one = list.iter().find(|one| one["name"] == "test-tiny-1-35-v1").unwrap();
    assert!(one["clusters"].as_array().unwrap().is_empty() && one["unusedSince"].is_null(), "{printed}");
}

#[cfg(unix)]
#[test]
fn a_released_file_that_may_be_run_is_another() {
    use std::os::unix::fs::PermissionsExt as _;

    let sandbox = pinned();
    let path = format!("{RELEASE}/metadata.yaml");
    let set = |mode| {
        fs::set_permissions(sandbox.root.join(&path), fs::Permissions::from_mode(mode)).unwrap();
    };
    set(0o755);
    let printed = refused(&sandbox, "release-changed", &path);
    assert!(printed.contains("has another mode"), "{printed}");
    sandbox.git(&["config", "core.fileMode", "false"]);
    ends(&sandbox, &["check"], 0);
    sandbox.git(&["config", "core.fileMode", "true"]);
    commit(&sandbox, "may be run");
    let printed = refused(&sandbox, "release-changed", &path);
    assert!(printed.contains("has another mode"), "{printed}");
    set(0o644);
    assert!(refused(&sandbox, "release-changed", &path).contains("has another mode"));
    sandbox.git(&["checkout", "-q", "test-tiny-1-35-v1", "--", &path]);
    commit(&sandbox, "put back");
    ends(&sandbox, &["check"], 0);
    set(0o755);
    sandbox.git(&["checkout", "-q", "test-tiny-1-35-v1", "--", &path]);
    ends(&sandbox, &["check"], 0);
}

/// Replaces the files of the first release with those of another with the same name, varied by a number. All digests are
/// correct.
fn rewrite(sandbox: &Sandbox, replicas: u8) {
    let other = fleet();
    edit(&other, "addons/net/values.yaml", "replicas: 2", &format!("replicas: {replicas}"));
    commit(&other, "another stack");
    ends(&other, &["release", "--kubernetes", "1.35"], 0);
    sandbox.git(&["rm", "-rqf", "--ignore-unmatch", RELEASE]);
    crate::release::copy(&other.root.join(RELEASE), &sandbox.root.join(RELEASE));
}

#[test]
fn a_moved_tag_makes_no_other_release_of_it() {
    let sandbox = pinned();
    let added = sandbox.git(&["rev-parse", "test-tiny-1-35-v1^{commit}"]);
    rewrite(&sandbox, 5);
    commit(&sandbox, "another content");
    sandbox.git(&["tag", "-f", "test-tiny-1-35-v1", "HEAD"]);
    let printed = refused(&sandbox, "release-tag", RELEASE);
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    assert!(printed.contains(&head[..12]) && printed.contains(&added[..12]), "{printed}");
    ends(&sandbox, &["release", "push", "oci://localhost:1/x"], 1);
    // A tag on a commit outside the branch does not help either.
    sandbox.git(&["checkout", "-qb", "side", "HEAD~4"]);
    assert!(!sandbox.has(RELEASE));
    rewrite(&sandbox, 6);
    commit(&sandbox, "the release, otherwise");
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.git(&["tag", "-f", "test-tiny-1-35-v1", "side"]);
    let printed = refused(&sandbox, "release-tag", RELEASE);
    assert!(printed.contains("git tag --delete test-tiny-1-35-v1"), "{printed}");
    // Once a merge brings that commit in, the release was added twice: the tag decides, with a warning.
    sandbox.git(&["merge", "-q", "-s", "ours", "-m", "merged", "side"]);
    refused(&sandbox, "release-changed", RELEASE);
    sandbox.git(&["checkout", "-q", "side", "--", RELEASE]);
    commit(&sandbox, "as the tag has it");
    let printed = ends(&sandbox, &["check"], 0);
    let words = format!("and the commit {} added the other", &added[..12]);
    assert!(printed.contains("warning[release-tag]") && printed.contains(&words), "{printed}");
    // Follows the messages.
    sandbox.git(&["tag", "--delete", "test-tiny-1-35-v1"]);
    let printed = ends(&sandbox, &["check"], 0);
    assert!(printed.contains("warning[release-tag]") && printed.contains("added the other"), "{printed}");
    put_back(&sandbox, &added);
}

/// Adds a release on a separate branch, in a commit with this date.
fn add_aside(sandbox: &Sandbox, branch: &str, replicas: u8, date: &str) -> String {
    sandbox.git(&["checkout", "-q", "-b", branch, "base"]);
    rewrite(sandbox, replicas);
    sandbox.git(&["add", "."]);
    let mut git = git_in(&sandbox.root);
    git.env("GIT_COMMITTER_DATE", date).env("GIT_AUTHOR_DATE", date);
    assert!(git.args(["commit", "-qm", branch]).status().unwrap().success());
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.git(&["rev-parse", branch])
}

#[test]
fn of_two_merged_releases_the_first_one_counts_whatever_the_clocks() {
    let (early, late) = ("2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z");
    for (first, second) in [(early, late), (late, early), (early, early)] {
        let sandbox = fleet();
        sandbox.git(&["tag", "base"]);
        let one = add_aside(&sandbox, "one", 5, first);
        let two = add_aside(&sandbox, "two", 6, second);
        sandbox.git(&["merge", "-q", "--no-ff", "-m", "merged one", "one"]);
        sandbox.git(&["merge", "-q", "-s", "ours", "-m", "merged two", "two"]);
        rewrite(&sandbox, 7);
        commit(&sandbox, "a third content");
        let printed = ends(&sandbox, &["check"], 1);
        let put_back = format!("git checkout {} -- {RELEASE}", &one[..12]);
        assert!(
            printed.contains(&put_back) && !printed.contains(&format!("git checkout {}", &two[..12])),
            "{printed}"
        );
    }
}

#[test]
fn a_tag_that_cannot_be_read_concerns_its_release_alone() {
    let sandbox = pinned();
    ends(&sandbox, &["release"], 0);
    let id = "1234567890123456789012345678901234567890\n";
    sandbox.write(".git/refs/tags/test-tiny-1-36-v1", id);
    ends(&sandbox, &["check"], 1);
    let printed = ends(&sandbox, &["generate"], 0);
    assert!(
        printed.contains("warning[release-tag]") && printed.contains("about the release `test-tiny-1-36-v1`"),
        "{printed}"
    );
    tamper(&sandbox, "release.yaml");
    commit(&sandbox, "an edit of a release");
    refused(&sandbox, "release-changed", &format!("{RELEASE}/release.yaml"));
    sandbox.git(&["reset", "-q", "--hard", "HEAD~1"]);
    sandbox.write(".git/refs/tags/test-tiny-1-35-v1", id);
    let printed = refused(&sandbox, "release-tag", RELEASE);
    assert!(printed.contains("git tag --delete test-tiny-1-35-v1"), "{printed}");
    sandbox.git(&["tag", "--delete", "test-tiny-1-35-v1", "test-tiny-1-36-v1"]);
    // Unrelated tags are ignored.
    sandbox.write(".git/refs/tags/v1", id);
    sandbox.write(".git/refs/tags/some/v1", id);
    ends(&sandbox, &["check"], 0);
    assert!(ends(&sandbox, &["release"], 0).contains("nothing to release"));
    ends(&sandbox, &["release", "tag"], 0);
}

#[test]
fn a_clone_without_trees_says_what_it_cannot_verify() {
    let sandbox = pinned();
    sandbox.git(&["config", "uploadpack.allowFilter", "true"]);
    sandbox.git(&["tag", "other", "HEAD~1"]);
    let clone = Sandbox::new();
    fs::remove_dir(&clone.root).unwrap();
    let url = format!("file://{}", sandbox.root.display());
    sandbox.git(&["clone", "-q", "--filter=tree:0", &url, clone.root.to_str().unwrap()]);
    for (key, value) in [("user.name", "Test"), ("user.email", "test@example.org")] {
        clone.git(&["config", key, value]);
    }
    let printed = ends(&clone, &["check"], 0);
    assert!(printed.contains("warning[release-tag]") && printed.contains("partial clone lacks"), "{printed}");
    assert!(!printed.contains("no tag here"), "{printed}");
    assert!(ends(&clone, &["release", "--kubernetes", "1.35"], 0).contains("nothing to release"));
    tamper(&clone, "release.yaml");
    refused(&clone, "release-changed", &format!("{RELEASE}/release.yaml"));
    clone.git(&["checkout", "-q", "HEAD", "--", RELEASE]);
    clone.git(&["fetch", "-q", "--refetch", "--filter=blob:none"]);
    let printed = ends(&clone, &["check"], 0);
    assert!(!printed.contains("warning["), "{printed}");
}

#[test]
fn a_release_that_came_back_must_equal_its_first_version() {
    let sandbox = pinned();
    let added = sandbox.git(&["rev-parse", "test-tiny-1-35-v1^{commit}"]);
    sandbox.git(&["tag", "-d", "test-tiny-1-35-v1"]);
    sandbox.git(&["rm", "-rq", RELEASE]);
    sandbox.git(&["commit", "-qm", "gone"]);
    rewrite(&sandbox, 5);
    commit(&sandbox, "and back, changed");
    let printed = refused(&sandbox, "release-changed", &format!("{RELEASE}/release.yaml"));
    assert!(printed.contains(&format!("git checkout {} --", &added[..12])), "{printed}");
    let printed = ends(&sandbox, &["release", "tag"], 1);
    assert!(!printed.contains("does not have all of it"), "{printed}");
    put_back(&sandbox, &added);
}

#[test]
fn a_name_that_was_taken_back_before_it_was_tagged_is_not_given_again() {
    let sandbox = fleet();
    ends(&sandbox, &["release", "--no-tag", "--kubernetes", "1.35"], 0);
    sandbox.git(&["revert", "--no-edit", "HEAD"]);
    edit(&sandbox, "addons/net/values.yaml", "replicas: 2", "replicas: 3");
    commit(&sandbox, "an edit");
    ends(&sandbox, &["release", "--no-tag", "--kubernetes", "1.35"], 0);
    assert!(sandbox.has("generated/releases/test-tiny-1-35-v2") && !sandbox.has(RELEASE));
    ends(&sandbox, &["check"], 0);
}

#[test]
fn a_file_that_git_ignores_is_restored_by_the_shown_command() {
    let sandbox = pinned();
    let file = format!("{RELEASE}/NOTES.md");
    sandbox.git(&["update-index", "--skip-worktree", &file]);
    tamper(&sandbox, "NOTES.md");
    let printed = refused(&sandbox, "release-changed", &file);
    for command in [
        format!("git update-index --no-skip-worktree {file}"),
        format!("git checkout test-tiny-1-35-v1 -- {file}"),
    ] {
        assert!(printed.contains(&command), "{printed}");
        sandbox.git(&command.split(' ').skip(1).collect::<Vec<_>>());
    }
    ends(&sandbox, &["check"], 0);
}

#[test]
fn a_tag_on_the_commit_that_added_a_release_again_makes_no_other_of_it() {
    let sandbox = pinned();
    let name = "test-tiny-1-35-v1";
    let added = sandbox.git(&["rev-parse", "test-tiny-1-35-v1^{commit}"]);
    sandbox.git(&["rm", "-rq", RELEASE]);
    sandbox.git(&["commit", "-qm", "gone"]);
    rewrite(&sandbox, 5);
    commit(&sandbox, "and back, changed");
    sandbox.git(&["tag", "-f", name, "HEAD"]);
    let printed = refused(&sandbox, "release-tag", RELEASE);
    assert!(printed.contains(&format!("the commit {} added", &added[..12])), "{printed}");
    // The same files are the same release, wherever its tag is.
    sandbox.git(&["checkout", "-q", added.trim(), "--", RELEASE]);
    commit(&sandbox, "put back");
    sandbox.git(&["rm", "-rq", RELEASE]);
    sandbox.git(&["commit", "-qm", "gone again"]);
    sandbox.git(&["checkout", "-q", added.trim(), "--", RELEASE]);
    commit(&sandbox, "and back, as it was");
    sandbox.git(&["tag", "-f", name, "HEAD"]);
    ends(&sandbox, &["check"], 0);
}
