//! Releases never change: detects edits, their place, and the affected clusters.

use std::fs;

use crate::{
    release::{commit, edit, ends, fleet},
    sandbox::Sandbox,
};

pub(crate) const RELEASE: &str = "generated/releases/test-tiny-1-35-v1";

/// A fleet in which only one cluster uses a numbered release.
pub(crate) fn pinned() -> Sandbox {
    let sandbox = fleet();
    ends(&sandbox, &["release", "--kubernetes", "1.35"], 0);
    let one = sandbox.read("clusters/blue/one.yaml").unwrap();
    sandbox.write(
        "clusters/blue/one.yaml",
        format!("{one}  release: test-tiny-1-35-v1\n  stack: null\n  kubernetes: null\n"),
    );
    commit(&sandbox, "one is pinned");
    ends(&sandbox, &["generate", "--commit"], 0);
    sandbox
}

/// The messages must name this file and the cluster that uses the release, but not the other cluster.
pub(crate) fn refused(sandbox: &Sandbox, code: &str, file: &str) -> String {
    let printed = ends(sandbox, &["generate"], 1);
    assert!(printed.contains(&format!("error[{code}")) && printed.contains(file), "{printed}");
    assert!(
        printed.contains("error[release-refused]") && printed.contains("clusters/blue/one.yaml:"),
        "{printed}"
    );
    assert!(!printed.contains("two.yaml"), "{printed}");
    printed
}

/// Restores the release as a commit added it, and checks that its tag is created there again and nothing is wrong.
pub(crate) fn put_back(sandbox: &Sandbox, added: &str) {
    sandbox.git(&["checkout", "-q", added.trim(), "--", RELEASE]);
    commit(sandbox, "put back");
    ends(sandbox, &["release", "tag"], 0);
    assert_eq!(sandbox.git(&["rev-parse", "test-tiny-1-35-v1^{commit}"]), added);
    ends(sandbox, &["check"], 0);
}

pub(crate) fn tamper(sandbox: &Sandbox, path: &str) {
    let path = format!("{RELEASE}/{path}");
    let text = sandbox.read(&path).unwrap();
    sandbox.write(&path, format!("{text}# one more line\n"));
}

const FILES: [&str; 6] = [
    "metadata.yaml",
    "release.yaml",
    "NOTES.md",
    "addons/net/values.yaml",
    "cluster-class/clusterclass.yaml",
    "cluster/facts.yaml",
];

#[test]
fn an_edit_of_any_file_is_refused_with_the_command_that_reverts_it() {
    let sandbox = pinned();
    for file in FILES {
        tamper(&sandbox, file);
        let printed = refused(&sandbox, "release-changed", &format!("{RELEASE}/{file}"));
        let put_back = format!("git checkout test-tiny-1-35-v1 -- {RELEASE}/{file}");
        assert!(printed.contains(&put_back), "{printed}");
        let words: Vec<_> = put_back.split(' ').skip(1).collect();
        sandbox.git(&words);
        ends(&sandbox, &["generate", "--check"], 0);
    }
}

#[test]
fn an_edit_in_a_commit_since_the_tag_is_refused() {
    let sandbox = pinned();
    for file in ["release.yaml", "addons/net/values.yaml"] {
        tamper(&sandbox, file);
        commit(&sandbox, "an edit of a release");
        refused(&sandbox, "release-changed", &format!("{RELEASE}/{file}"));
    }
}

#[test]
fn files_that_are_missing_or_added_are_refused() {
    let sandbox = pinned();
    fs::remove_file(sandbox.root.join(RELEASE).join("NOTES.md")).unwrap();
    assert!(refused(&sandbox, "release-changed", "NOTES.md").contains("is missing"));
    sandbox.git(&["checkout", "-q", "."]);
    sandbox.write(&format!("{RELEASE}/cluster-class/more.yaml"), "a: 1\n");
    assert!(refused(&sandbox, "release-changed", "cluster-class/more.yaml").contains("was added"));
    fs::remove_file(sandbox.root.join(RELEASE).join("cluster-class/more.yaml")).unwrap();
    sandbox.write(&format!("{RELEASE}/cluster-class/more.yaml"), "");
    refused(&sandbox, "release-changed", "cluster-class/more.yaml");
}

#[test]
fn a_tag_that_names_something_else_is_refused() {
    let sandbox = pinned();
    sandbox.git(&["tag", "-f", "test-tiny-1-35-v1", "HEAD~3"]);
    let printed = refused(&sandbox, "release-tag", RELEASE);
    assert!(printed.contains("git fetch --force origin tag test-tiny-1-35-v1"), "{printed}");
    let blob = sandbox.git(&["hash-object", "-w", "stackloom.yaml"]);
    sandbox.git(&["tag", "-f", "test-tiny-1-35-v1", blob.trim()]);
    refused(&sandbox, "release-tag", RELEASE);
}

#[test]
fn without_its_tag_a_release_is_verified_from_the_branch_and_from_files() {
    let sandbox = pinned();
    assert!(!ends(&sandbox, &["check"], 0).contains("no tag here"));
    sandbox.git(&["tag", "-d", "test-tiny-1-35-v1"]);
    assert!(!ends(&sandbox, &["check"], 0).contains("no tag here"));
    for file in FILES {
        tamper(&sandbox, file);
        let printed = refused(&sandbox, "release-changed", &format!("{RELEASE}/{file}"));
        assert!(printed.contains(&format!("git checkout HEAD -- {RELEASE}/{file}")), "{printed}");
        sandbox.git(&["checkout", "HEAD", "--", RELEASE]);
    }
    // Without git, only the release's own digests are left.
    tamper(&sandbox, "addons/net/values.yaml");
    commit(&sandbox, "an edit of a release");
    refused(&sandbox, "release-changed", "addons/net/values.yaml");
    fs::remove_dir_all(sandbox.root.join(".git")).unwrap();
    refused(&sandbox, "release-changed", "addons/net/values.yaml");
}

#[test]
fn an_edit_that_no_file_digest_reveals_is_reverted_from_the_commit_that_cut_it() {
    let sandbox = pinned();
    let file = format!("{RELEASE}/release.yaml");
    let text = sandbox.read(&file).unwrap();
    let edited = text.replacen("aaaa", "aaab", 1);
    assert_ne!(text, edited);
    sandbox.write(&file, edited);
    commit(&sandbox, "another image");
    fs::remove_dir_all(sandbox.root.join(".git")).unwrap();
    let printed = refused(&sandbox, "release-changed", &file);
    assert!(
        printed.contains("the node images of the release") && printed.contains("git log --oneline --"),
        "{printed}"
    );
    assert!(!printed.contains("git checkout -- "), "{printed}");
}

#[test]
fn an_edited_unused_release_is_only_a_warning() {
    let sandbox = pinned();
    edit(&sandbox, "addons/net/values.yaml", "replicas: 2", "replicas: 3");
    commit(&sandbox, "an edit");
    ends(&sandbox, &["release", "--kubernetes", "1.35"], 0);
    sandbox.write("generated/releases/test-tiny-1-35-v2/metadata.yaml", "nothing\n");
    let printed = ends(&sandbox, &["generate"], 0);
    assert!(printed.contains("warning[release-changed]") && !printed.contains("error["), "{printed}");
    edit(&sandbox, "addons/net/values.yaml", "replicas: 3", "replicas: 4");
    let printed = ends(&sandbox, &["release", "--dry-run", "--kubernetes", "1.35"], 1);
    assert!(
        printed.contains("release-refused") && printed.contains("test-tiny-1-35-v2/metadata.yaml"),
        "{printed}"
    );
}

#[test]
fn checks_fail_on_an_edited_unused_release() {
    let sandbox = fleet();
    ends(&sandbox, &["release", "--kubernetes", "1.35"], 0);
    ends(&sandbox, &["generate", "--commit"], 0);
    ends(&sandbox, &["check"], 0);
    ends(&sandbox, &["generate", "--check"], 0);
    for file in FILES {
        tamper(&sandbox, file);
        for checks in [&["check"][..], &["generate", "--check"], &["generate", "--check", "--only", "one"]] {
            let printed = ends(&sandbox, checks, 1);
            assert!(
                printed.contains("error[release-changed") && printed.contains(file),
                "{checks:?}: {printed}"
            );
            assert!(!printed.contains("warning[release-changed"), "printed twice: {printed}");
        }
        let (_, document) = crate::share::json(&sandbox, &["check"]);
        assert_eq!(document["exit"], 1, "{document}");
        // Other commands still work, and warn.
        let others: [&[&str]; 12] = [
            &["generate"],
            &["explain", "one"],
            &["releases"],
            &["clusters"],
            &["matrix"],
            &["upgrade", "plan"],
            &["upgrade", "next", "--dry-run"],
            &["variables", "one"],
            &["migrate"],
            &["schema", "--stack", "test/tiny"],
            &["topology", "one"],
            &["secrets"],
        ];
        for others in others {
            let printed = ends(&sandbox, others, 0);
            assert!(printed.contains("warning[release-changed]"), "{others:?}: {printed}");
        }
        sandbox.git(&["checkout", "-q", "--", RELEASE]);
        ends(&sandbox, &["check"], 0);
    }
}

/// The release is there, so "there is no release" would send its user in the wrong direction.
#[test]
fn commands_that_name_an_edited_release_say_that_it_was_edited() {
    let sandbox = fleet();
    ends(&sandbox, &["release", "--kubernetes", "1.35"], 0);
    ends(&sandbox, &["generate", "--commit"], 0);
    let name = "test-tiny-1-35-v1";
    let ask = |path: &str| {
        let named: [&[&str]; 5] = [
            &["topology", "one", "--release", name],
            &["upgrade", "plan", "--to-release", name],
            &["schema", "--release", name],
            &["variables", name],
            &["new", "cluster", "three", "--folder", "clusters/blue", "--release", name, "--dry-run"],
        ];
        for named in named {
            let printed = ends(&sandbox, named, 1);
            assert!(
                printed.contains("error[release-changed]") && printed.contains(path),
                "{named:?}: {printed}"
            );
            assert!(!printed.contains("there is no"), "{named:?}: {printed}");
        }
    };
    tamper(&sandbox, "NOTES.md");
    ask(&format!("{RELEASE}/NOTES.md"));
    fs::remove_dir_all(sandbox.root.join(RELEASE)).unwrap();
    ask(&format!("git checkout HEAD -- {RELEASE}"));
}

#[test]
fn a_release_that_was_deleted_by_hand_is_noticed() {
    let sandbox = fleet();
    ends(&sandbox, &["release", "--kubernetes", "1.35"], 0);
    ends(&sandbox, &["generate", "--commit"], 0);
    let is_noticed = |sandbox: &Sandbox| {
        for checks in [&["check"][..], &["generate", "--check"]] {
            let printed = ends(sandbox, checks, 1);
            assert!(
                printed.contains("error[release-changed]")
                    && printed.contains("the release `test-tiny-1-35-v1` was deleted here, but is in HEAD")
                    && printed.contains("stackloom release prune"),
                "{checks:?}: {printed}"
            );
        }
    };
    fs::remove_dir_all(sandbox.root.join(RELEASE)).unwrap();
    is_noticed(&sandbox);
    for others in [&["generate"][..], &["releases"]] {
        assert!(ends(&sandbox, others, 0).contains("warning[release-changed]"));
    }
    sandbox.git(&["checkout", "-q", "HEAD", "--", RELEASE]);
    ends(&sandbox, &["check"], 0);
    // Nor is it enough to tell git.
    sandbox.git(&["rm", "-rq", RELEASE]);
    is_noticed(&sandbox);
    sandbox.git(&["reset", "-q", "--hard"]);
    // The right way to remove a release stays possible.
    edit(&sandbox, "addons/net/values.yaml", "replicas: 2", "replicas: 3");
    commit(&sandbox, "an edit");
    ends(&sandbox, &["release", "--kubernetes", "1.35"], 0);
    ends(&sandbox, &["release", "prune"], 0);
    assert!(!sandbox.root.join(RELEASE).exists());
    assert!(!ends(&sandbox, &["check"], 0).contains("release-changed"));
}

#[test]
fn a_used_release_that_was_deleted_by_hand_is_not_called_unknown() {
    let sandbox = pinned();
    fs::remove_dir_all(sandbox.root.join(RELEASE)).unwrap();
    let printed = refused(&sandbox, "release-changed", RELEASE);
    assert!(printed.contains(&format!("git checkout HEAD -- {RELEASE}")), "{printed}");
    assert!(!printed.contains("there is no release"), "{printed}");
    sandbox.git(&["checkout", "-q", "HEAD", "--", RELEASE]);
    ends(&sandbox, &["check"], 0);
}

/// Puts something unreadable in the place of a release's file, or next to it.
fn damage(sandbox: &Sandbox, kind: &str) -> &'static str {
    let at = |path: &str| sandbox.root.join(RELEASE).join(path);
    match kind {
        "a link" => {
            fs::remove_file(at("NOTES.md")).unwrap();
            std::os::unix::fs::symlink("metadata.yaml", at("NOTES.md")).unwrap();
            "NOTES.md"
        }
        "a linked folder" => {
            fs::rename(at("cluster-class"), sandbox.outside().join("cluster-class")).unwrap();
            std::os::unix::fs::symlink(sandbox.outside().join("cluster-class"), at("cluster-class")).unwrap();
            "cluster-class"
        }
        "no UTF-8" => {
            sandbox.write(&format!("{RELEASE}/metadata.yaml"), b"name: caf\xe9\n");
            "metadata.yaml"
        }
        _ => {
            sandbox.write(&format!("{RELEASE}/cluster-class/more.bin"), b"\xff\n");
            "cluster-class/more.bin"
        }
    }
}

const DAMAGES: [&str; 4] = ["a link", "a linked folder", "no UTF-8", "a file beside it"];

#[test]
fn an_unreadable_release_concerns_only_its_clusters() {
    let sandbox = pinned();
    for kind in DAMAGES {
        let path = damage(&sandbox, kind);
        let printed = refused(&sandbox, if path.contains('.') { "" } else { "linked-output" }, path);
        let put_back = format!("git checkout test-tiny-1-35-v1 -- {RELEASE}/{path}");
        if kind == "a file beside it" {
            assert!(printed.contains("not part of the release") && !printed.contains(&put_back), "{printed}");
            fs::remove_file(sandbox.root.join(RELEASE).join(path)).unwrap();
        } else {
            assert!(printed.contains(&put_back) && !printed.contains("is missing"), "{printed}");
            sandbox.git(&put_back.split(' ').skip(1).collect::<Vec<_>>());
        }
        ends(&sandbox, &["generate", "--check"], 0);
    }
}

#[test]
fn an_unreadable_file_of_an_unused_release_stops_no_cluster() {
    let sandbox = pinned();
    let one = sandbox.read("clusters/blue/one.yaml").unwrap();
    sandbox.write(
        "clusters/blue/one.yaml",
        one.replace("  release: test-tiny-1-35-v1\n  stack: null\n  kubernetes: null\n", ""),
    );
    for kind in DAMAGES {
        let path = damage(&sandbox, kind);
        let printed = ends(&sandbox, &["generate"], 0);
        assert!(
            printed.contains(path) && printed.contains("warning[") && !printed.contains("error["),
            "{printed}"
        );
        sandbox.git(&["checkout", "HEAD", "--", RELEASE]);
        sandbox.git(&["clean", "-q", "-f", RELEASE]);
    }
}
