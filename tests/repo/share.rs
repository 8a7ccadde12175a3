//! Releases transferred between repositories with git, and the checks of a repository that pulled one.

use std::fs;

use serde_json::Value as Json;

use crate::{
    release::{commit, edit, ends, fleet, stackloom},
    sandbox::Sandbox,
};

pub(crate) const NAME: &str = "test-tiny-1-35-v1";
const NEXT: &str = "test-tiny-1-35-v2";

/// A repository that has cut a release for each minor.
pub(crate) fn publisher() -> Sandbox {
    let sandbox = fleet();
    ends(&sandbox, &["release"], 0);
    sandbox
}

/// A repository whose releases have the same names as those of [`publisher`], but other content.
pub(crate) fn other_publisher() -> Sandbox {
    let sandbox = fleet();
    edit(&sandbox, "addons/net/values.yaml", "replicas: 2", "replicas: 9");
    commit(&sandbox, "an edit");
    ends(&sandbox, &["release"], 0);
    sandbox
}

/// Cuts [`NEXT`], which follows [`NAME`].
fn release_again(from: &Sandbox) {
    edit(from, "addons/net/values.yaml", "replicas: 2", "replicas: 3");
    commit(from, "an edit");
    ends(from, &["release", "--kubernetes", "1.35"], 0);
}

/// A publisher of two releases, and a repository that pulled both and pruned the older one.
pub(crate) fn pruned() -> (Sandbox, Sandbox) {
    let (from, to) = (publisher(), fleet());
    release_again(&from);
    ends(&to, &["pull", &address(&from, NAME), &address(&from, NEXT)], 0);
    ends(&to, &["release", "prune"], 0);
    (from, to)
}

/// The address of a repository, with a tag.
pub(crate) fn address(from: &Sandbox, tag: &str) -> String {
    format!("git+file://{}#{tag}", from.root.display())
}

/// Pins the cluster `blue/one` to the release.
pub(crate) fn pin(sandbox: &Sandbox) {
    let text = sandbox.read("clusters/blue/one.yaml").unwrap();
    sandbox.write("clusters/blue/one.yaml", format!("{text}  release: {NAME}\n"));
    commit(sandbox, "one uses v1");
    ends(sandbox, &["generate", "--commit"], 0);
}

pub(crate) fn json(sandbox: &Sandbox, arguments: &[&str]) -> (Option<i32>, Json) {
    let arguments: Vec<_> = arguments.iter().copied().chain(["--format", "json"]).collect();
    let output = stackloom(sandbox, &arguments);
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap())
}

/// The object ID of a path in HEAD.
pub(crate) fn id(sandbox: &Sandbox, path: &str) -> String {
    sandbox.git(&["rev-parse", &format!("HEAD:{path}")])
}

/// Checks that two repositories generate the same tree with the same release.
pub(crate) fn generate_the_same(one: &Sandbox, other: &Sandbox) {
    pin(one);
    pin(other);
    for path in ["generated/management", &format!("generated/releases/{NAME}")] {
        assert_eq!(id(one, path), id(other, path), "{path}");
    }
}

#[test]
fn a_release_that_came_by_git_generates_the_same_bytes() {
    let (from, to) = (publisher(), fleet());
    to.write("README.md", "words\n");
    to.git(&["add", "README.md"]);
    let source = address(&from, NAME);
    let printed = ends(&to, &["pull", "--dry-run", &source], 0);
    assert!(printed.contains("dry run") && !to.has("stackloom.lock") && !to.has("generated"), "{printed}");
    ends(&to, &["pull", &source], 0);
    assert_eq!(to.git(&["status", "--porcelain"]), "A  README.md\n");
    let touched = to.git(&["show", "--format=", "--name-only", "HEAD"]);
    let is_own = |path: &str| {
        ["stackloom.lock", "generated/.gitattributes"].contains(&path)
            || path.starts_with(&format!("generated/releases/{NAME}/"))
    };
    assert!(touched.lines().all(is_own) && touched.contains("stackloom.lock"), "{touched}");
    let trailers = to.git(&["log", "-1", "--format=%(trailers:key=Stackloom-Source,valueonly)"]);
    assert_eq!(trailers.trim(), source);
    assert!(to.git(&["tag"]).is_empty(), "a tag is made where a release is cut");
    to.git(&["fsck", "--strict"]);
    assert!(ends(&to, &["pull", &source], 0).contains("is already in this repository"));
    let (_, listed) = json(&to, &["releases"]);
    assert_eq!(listed["releases"][0]["source"], source);
    // If the stack is elsewhere, the maturity of its minors is unknown here.
    fs::rename(to.root.join("stacks"), to.outside().join("stacks")).unwrap();
    fs::rename(to.root.join("clusters"), to.outside().join("clusters")).unwrap();
    let printed = ends(&to, &["releases"], 0);
    assert!(printed.contains("not known") && !printed.contains("not served"), "{printed}");
    for folder in ["stacks", "clusters"] {
        fs::rename(to.outside().join(folder), to.root.join(folder)).unwrap();
    }
    generate_the_same(&from, &to);
}

/// A clone with the release in a folder of a larger repository, and with its commit, but without its tags.
#[test]
fn the_fleet_may_lie_anywhere_in_its_repository() {
    let from = Sandbox::below("platform/fleet");
    let top = from.outside();
    Sandbox::init(&top);
    let flat = fleet();
    for path in ["stackloom.yaml", "stacks", "clusters"] {
        let status =
            std::process::Command::new("cp").arg("-r").arg(flat.root.join(path)).arg(&from.root).status();
        assert!(status.unwrap().success());
    }
    let fleet_file = from.read("stackloom.yaml").unwrap();
    from.write(
        "stackloom.yaml",
        fleet_file.replace("    branch: main", "    branch: main\n    path: platform/fleet"),
    );
    commit(&from, "sources");
    ends(&from, &["release"], 0);
    let to = fleet();
    let source = format!("git+file://{}#{NAME}", top.display());
    ends(&to, &["pull", &source], 0);
    assert!(to.has(&format!("generated/releases/{NAME}/release.yaml")));
}

#[test]
fn unavailable_releases_are_reported() {
    let (from, to) = (publisher(), fleet());
    let printed = ends(&to, &["pull", &address(&from, "test-tiny-1-35-v9")], 4);
    assert!(printed.contains("cannot fetch the tag `test-tiny-1-35-v9`"), "{printed}");
    from.git(&["tag", "test-tiny-1-35-v8"]);
    let printed = ends(&to, &["pull", &address(&from, "test-tiny-1-35-v8")], 4);
    assert!(printed.contains("has no release"), "{printed}");
    let printed = ends(&to, &["pull", "git+https://me:word@git.example.org/r#x"], 2);
    assert!(printed.contains("must not contain credentials"), "{printed}");
    assert!(!to.has("generated") && !to.has("stackloom.lock"));
}

/// A publisher that someone tampered with, and the address of its tag.
fn tampered(change: impl Fn(&Sandbox, &str)) -> (Sandbox, String) {
    let from = publisher();
    change(&from, &format!("generated/releases/{NAME}"));
    from.git(&["add", "--force", "generated"]);
    from.git(&["commit", "-qm", "tampered"]);
    from.git(&["tag", "--force", NAME]);
    let source = address(&from, NAME);
    (from, source)
}

fn replace(sandbox: &Sandbox, path: &str, old: &str, new: &str) {
    let text = sandbox.read(path).unwrap();
    assert!(text.contains(old), "{path} has no {old}");
    sandbox.write(path, text.replace(old, new));
}

#[test]
fn changes_made_after_publishing_are_refused_by_file() {
    type Change = Box<dyn Fn(&Sandbox, &str)>;
    let changes: [(Change, &str, &str); 6] = [
        (
            Box::new(|from, at| {
                replace(from, &format!("{at}/addons/net/values.yaml"), "replicas: 2", "replicas: 3");
            }),
            "release-changed",
            "addons/net/values.yaml",
        ),
        (
            Box::new(|from, at| replace(from, &format!("{at}/release.yaml"), "version: v1", "version: v2")),
            "wrong-name",
            "release.yaml",
        ),
        (
            Box::new(|from, at| {
                replace(from, &format!("{at}/release.yaml"), "whole: sha256:", "whole: sha256:0");
            }),
            "release-changed",
            "release.yaml",
        ),
        (
            Box::new(|from, at| from.write(&format!("{at}/more.yaml"), "a: 1\n")),
            "release-changed",
            "more.yaml",
        ),
        (Box::new(|from, at| from.write(&format!("{at}/.hidden"), "a: 1\n")), "no-release", ".hidden"),
        (
            Box::new(|from, at| fs::remove_file(from.root.join(at).join("NOTES.md")).unwrap()),
            "release-changed",
            "NOTES.md",
        ),
    ];
    for (change, code, file) in changes {
        let (_from, source) = tampered(change);
        let to = fleet();
        let printed = ends(&to, &["pull", &source], 1);
        assert!(
            printed.contains(code) && printed.contains(file) && printed.contains("nothing was pulled"),
            "{printed}"
        );
        assert!(!to.has("generated") && !to.has("stackloom.lock"), "{printed}");
    }
    #[cfg(unix)]
    {
        let link = |from: &Sandbox, at: &str| {
            std::os::unix::fs::symlink("/etc/passwd", from.root.join(at).join("link.yaml")).unwrap();
        };
        let (_from, source) = tampered(link);
        let printed = ends(&fleet(), &["pull", &source], 4);
        assert!(printed.contains("link.yaml") && printed.contains("not a plain file"), "{printed}");
    }
}

/// A repository that pulled the release.
pub(crate) fn taken() -> Sandbox {
    let (from, to) = (publisher(), fleet());
    ends(&to, &["pull", &address(&from, NAME)], 0);
    pin(&to);
    to
}

#[test]
fn local_changes_are_refused_and_named() {
    let notes = format!("generated/releases/{NAME}/NOTES.md");
    let digest = |to: &Sandbox| {
        let lock = to.read("stackloom.lock").unwrap();
        lock.lines().find_map(|line| line.trim().strip_prefix("digest: ").map(str::to_owned)).unwrap()
    };
    let other = format!("sha256:{}", "0".repeat(64));

    let to = taken();
    to.write(&notes, "other words\n");
    let printed = ends(&to, &["check"], 1);
    assert!(
        printed.contains("release-lock")
            && printed.contains("release-changed")
            && printed.contains("NOTES.md"),
        "{printed}"
    );
    assert!(printed.contains("release-refused") && printed.contains("clusters/blue/one.yaml"), "{printed}");

    let to = taken();
    let found = digest(&to);
    replace(&to, "stackloom.lock", &found, &other);
    let printed = ends(&to, &["generate"], 1);
    assert!(
        printed.contains("release-lock")
            && printed.contains(&format!("the digest of its folder is `{found}`")),
        "{printed}"
    );
    assert!(printed.contains(":./stackloom.lock`") && printed.contains("stackloom.lock:"), "{printed}");
    commit(&to, "tampered");
    assert!(ends(&to, &["check"], 1).contains("release-lock"), "committed or not");

    let to = taken();
    let found = digest(&to);
    to.write(&notes, "other words\n");
    replace(&to, "stackloom.lock", &found, &other);
    commit(&to, "tampered with both");
    let printed = ends(&to, &["check"], 1);
    assert!(printed.contains("release-lock") && printed.contains("release-changed"), "{printed}");
}

#[test]
fn pulled_releases_stay_in_the_lock() {
    let without = |to: &Sandbox| {
        let lock = to.read("stackloom.lock").unwrap();
        let (before, _) = lock.split_once("  releases:").unwrap();
        to.write("stackloom.lock", format!("{}\n  releases: []\n", before.trim_end()));
    };
    let gone = |to: &Sandbox| fs::remove_file(to.root.join("stackloom.lock")).unwrap();
    for take_out in [&without as &dyn Fn(&Sandbox), &gone] {
        let to = taken();
        take_out(&to);
        for committed in [false, true] {
            if committed {
                commit(&to, "out of the lock");
            }
            let printed = ends(&to, &["check"], 1);
            assert!(
                printed.contains("release-lock") && printed.contains("is no longer in the lock"),
                "{printed}"
            );
            assert!(
                printed.contains("release-refused") && printed.contains("clusters/blue/one.yaml"),
                "{printed}"
            );
        }
        // A tag created here points to the commit that added the release, which contains the entry of the lock.
        to.git(&["tag", NAME, "HEAD~1"]);
        let printed = ends(&to, &["check"], 1);
        let added = format!("generated/releases/{NAME}/release.yaml");
        let added = to.git(&["log", "-1", "--format=%H", "--diff-filter=A", "--", &added]);
        let file = format!("{}:./stackloom.lock", &added[..12]);
        assert!(printed.contains(&format!("`git show {file}`")), "{printed}");
        let lock = to.git(&["show", &file]);
        to.write("stackloom.lock", lock);
        ends(&to, &["check"], 0);
    }
    // A release that was cut here never had an entry.
    let from = publisher();
    from.git(&["tag", "-d", NAME]);
    ends(&from, &["check"], 0);
}

#[test]
fn a_name_never_means_two_things() {
    let (from, to) = (publisher(), fleet());
    edit(&to, "addons/net/values.yaml", "replicas: 2", "replicas: 3");
    commit(&to, "an edit");
    ends(&to, &["release"], 0);
    let printed = ends(&to, &["pull", &address(&from, NAME)], 1);
    assert!(printed.contains("release-exists") && printed.contains("addons/net/values.yaml"), "{printed}");
    to.git(&["rm", "-rq", "generated/releases"]);
    to.git(&["commit", "-qm", "gone"]);
    let printed = ends(&to, &["pull", &address(&from, NAME)], 1);
    assert!(printed.contains("release-tag") && printed.contains(NAME), "its tag is here: {printed}");
    to.git(&["tag", "-d", NAME]);
    let printed = ends(&to, &["pull", &address(&from, NAME)], 1);
    assert!(printed.contains("release-exists") && printed.contains("git show"), "it was here: {printed}");

    let to = taken();
    to.git(&["rm", "-rq", &format!("generated/releases/{NAME}")]);
    to.git(&["commit", "-qm", "gone"]);
    let printed = ends(&to, &["check"], 1);
    assert!(
        printed.contains("release-missing") && printed.contains("stackloom pull git+file://"),
        "{printed}"
    );
    let (_other, source) = tampered(|from, at| from.write(&format!("{at}/NOTES.md"), "other words\n"));
    let printed = ends(&to, &["pull", &source], 1);
    assert!(printed.contains("release-lock") && printed.contains("but the lock has"), "{printed}");
    let again = other_publisher();
    ends(&to, &["pull", &address(&again, NAME)], 1);
}

#[test]
fn a_lock_that_is_being_edited_is_not_committed() {
    let (from, to) = (publisher(), fleet());
    to.write("stackloom.lock", "apiVersion: stackloom.dev/v1alpha1\nkind: Lock\nspec: {}\n");
    let printed = ends(&to, &["pull", &address(&from, NAME)], 4);
    assert!(printed.contains("`stackloom.lock` differs from HEAD"), "{printed}");
    assert!(!to.has("generated") && !to.has(".git/index.lock"));
    commit(&to, "a lock");
    ends(&to, &["pull", &address(&from, NAME), &address(&from, "test-tiny-1-36-v1")], 0);
    let lock = to.read("stackloom.lock").unwrap();
    assert!(lock.contains(NAME) && lock.contains("test-tiny-1-36-v1"), "{lock}");
    assert_eq!(to.git(&["rev-list", "--count", "HEAD"]).trim(), "3", "both are one commit");
    assert_eq!(to.git(&["status", "--porcelain"]), "");
}

#[test]
fn pruned_releases_leave_the_lock_too() {
    let (_from, to) = pruned();
    let lock = to.read("stackloom.lock").unwrap();
    assert!(!lock.contains(NAME) && lock.contains(NEXT), "{lock}");
    assert_eq!(to.git(&["status", "--porcelain"]), "");
    ends(&to, &["check"], 0);
}

fn with_sources(sandbox: &Sandbox, sources: &str) {
    let text = sandbox.read("stackloom.yaml").unwrap();
    sandbox.write("stackloom.yaml", format!("{text}  releases:\n    sources:\n{sources}"));
    commit(sandbox, "sources of releases");
}

#[test]
fn newer_releases_are_listed_with_the_clusters_they_are_for() {
    let (from, to) = (publisher(), taken());
    release_again(&from);
    from.git(&["tag", "v1.2.3"]);
    let url = format!("git+file://{}", from.root.display());
    assert!(ends(&to, &["releases", "--check"], 0).contains("no source of releases"));
    with_sources(&to, &format!("      - url: {url}\n      - url: git+file:///nowhere/at-all\n"));
    let before = to.git(&["rev-parse", "HEAD"]);
    let printed = ends(&to, &["releases", "--check"], 4);
    assert!(
        printed.contains("test-tiny-1-35-v2: newer than test-tiny-1-35-v1; for mgmt/blue/one"),
        "{printed}"
    );
    assert!(
        printed.contains("test-tiny-1-36-v1: no release of test/tiny 1.36 in its channel is here"),
        "{printed}"
    );
    assert!(printed.contains(&format!("stackloom pull {url}#test-tiny-1-35-v2")), "{printed}");
    assert!(
        printed.contains("/nowhere/at-all")
            && !printed.contains("v1.2.3")
            && !printed.contains("test-tiny-1-35-v1:"),
        "{printed}"
    );
    let (code, document) = json(&to, &["releases", "--check"]);
    assert_eq!(code, Some(4));
    let first = &document["sources"][0]["releases"][0];
    assert_eq!((&first["name"], &first["here"]), (&Json::from(NEXT), &Json::from(NAME)));
    assert!(document["sources"][1]["fault"].as_str().unwrap().contains("cannot list the tags"));
    replace(
        &to,
        "stackloom.yaml",
        "      - url: git+file:///nowhere/at-all\n",
        "        stacks: [test/other]\n",
    );
    assert!(ends(&to, &["releases", "--check"], 0).contains("nothing newer"));
    replace(&to, "stackloom.yaml", "test/other", "test/tiny");
    ends(&to, &["releases", "--check"], 3);
    assert_eq!(to.git(&["rev-parse", "HEAD"]), before);
}

#[test]
fn only_what_is_whole_and_tagged_is_published() {
    let from = publisher();
    // Nothing listens there; the registry is only contacted once everything is known to be valid.
    let to = "oci://127.0.0.1:1/releases";
    from.git(&["tag", "-d", NAME]);
    let printed = ends(&from, &["release", "push", to], 1);
    assert!(printed.contains("not-tagged") && printed.contains("stackloom release tag"), "{printed}");
    ends(&from, &["release", "tag"], 0);
    from.write(&format!("generated/releases/{NAME}/NOTES.md"), "other words\n");
    let printed = ends(&from, &["release", "push", to, NAME], 1);
    assert!(printed.contains("release-changed") && printed.contains("NOTES.md"), "{printed}");
    from.git(&["checkout", "-q", "generated"]);
    let printed = ends(&from, &["release", "push", to, NEXT], 1);
    assert!(
        printed.contains("unknown-release") && printed.contains(&format!("did you mean `{NAME}`")),
        "{printed}"
    );
    let printed = ends(&from, &["release", "push", to], 4);
    assert!(printed.contains("127.0.0.1:1"), "{printed}");
}

#[test]
fn an_entry_of_the_lock_that_a_merge_lost_is_missed() {
    let (from, to) = (publisher(), fleet());
    let other = "test-tiny-1-36-v1";
    to.git(&["checkout", "-qb", "other"]);
    ends(&to, &["pull", &address(&from, other)], 0);
    to.git(&["checkout", "-q", "main"]);
    ends(&to, &["pull", &address(&from, NAME)], 0);
    to.try_git(&["merge", "-q", "other"]);
    to.git(&["checkout", "-q", "--ours", "stackloom.lock"]);
    commit(&to, "merged");
    let printed = ends(&to, &["check"], 1);
    assert!(
        printed.contains("[release-lock")
            && printed.contains(other)
            && printed.contains("no longer in the lock"),
        "{printed}"
    );
    let pulled = to.git(&["rev-parse", "other"]);
    assert!(printed.contains(&format!("git show {}:./stackloom.lock", &pulled[..12])), "{printed}");
}
