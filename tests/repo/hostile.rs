//! `generate --commit` despite adverse settings, other programs, and a killed process.

use std::{fs, process::Command};

use stackloom::{
    io::{
        disk::Milestone,
        git::{CommitSink, Repository},
    },
    note::{Fault, Notes},
    render::GITATTRIBUTES,
    tree::{Part, Sink as _},
};

use crate::sandbox::{Sandbox, base, cluster, git_in, is_killed, run, to_be_killed};

const ONE: &str = "generated/management/mgmt/clusters/team-a/one";

fn parts(text: &str) -> Vec<Part> {
    vec![base(), cluster("one", text), cluster("two", text)]
}

/// The message of a refused commit in this folder, which must leave nothing behind.
fn refused(sandbox: &Sandbox, text: &str) -> String {
    let fault = match CommitSink::open(&sandbox.workspace()) {
        Err(fault) => fault,
        Ok(mut sink) => run(&mut sink, parts(text)).0.unwrap_err(),
    };
    assert!(!fault.hints().is_empty(), "{fault} says no next step");
    let cause = std::error::Error::source(&fault).map(|cause| format!(": {cause}")).unwrap_or_default();
    format!("{fault}{cause}; {}", fault.hints().join("; "))
}

#[test]
fn line_endings_and_filters_change_nothing() {
    let sandbox = Sandbox::repository();
    let hostile = "\
* text=auto eol=crlf
*.yaml text filter=shout ident working-tree-encoding=UTF-16 merge=union
";
    sandbox.write(".gitattributes", hostile);
    for (key, value) in [
        ("core.autocrlf", "true"),
        ("core.safecrlf", "warn"),
        ("core.eol", "crlf"),
        ("filter.shout.clean", "tr a-z A-Z"),
        ("filter.shout.smudge", "tr A-Z a-z"),
        ("filter.shout.required", "true"),
    ] {
        sandbox.git(&["config", key, value]);
    }
    sandbox.git(&["add", ".gitattributes"]);
    sandbox.git(&["commit", "-qm", "attributes"]);
    let text = "identity: $Id$\r\nlines: both\n";
    sandbox.commit(parts(text)).unwrap();
    // Git must get the same result without its index cache, and when it writes the files itself.
    fs::remove_file(sandbox.root.join(".git/index")).unwrap();
    sandbox.git(&["reset", "-q"]);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    fs::remove_dir_all(sandbox.root.join("generated")).unwrap();
    sandbox.git(&["checkout", "-q", "--", "generated"]);
    assert!(sandbox.check(parts(text)).is_empty());
    sandbox.git(&["rm", "-rq", "--cached", "generated"]);
    sandbox.git(&["add", "generated"]);
    assert_eq!(sandbox.git(&["diff", "--cached", "--name-only"]), "");
    for (path, folded) in [
        ("management/mgmt/clusters/team/one/cluster/cluster.yaml", false),
        ("management/mgmt/clusters/team/one/addons/cilium.yaml", false),
        ("management/mgmt/clusters/team/one/addons/configmap-one.addons.yaml", true),
        ("management/mgmt/clusters/team/one/manifests/x/namespace-y.yaml", false),
        ("management/mgmt/clusters/team/one/ready/configmap-one.ready.yaml", true),
        ("management/mgmt/flux/clusters/team/one/cluster.yaml", true),
        ("management/mgmt/namespaces/team/namespace.yaml", false),
        ("releases/docker-scs-1-35-v1/NOTES.md", false),
        ("releases/docker-scs-1-35-v1/cluster-class/class.yaml", true),
        ("releases/docker-scs-1-35-v1/release.yaml", true),
    ] {
        let attributes = sandbox.git(&["check-attr", "-a", &format!("generated/{path}")]);
        assert_eq!(attributes.contains("linguist-generated: set"), folded, "{path}: {attributes}");
        assert!(attributes.contains(": text: unset"), "{path}: {attributes}");
    }
    assert!(GITATTRIBUTES.ends_with('\n'));
}

#[test]
fn a_locked_index_is_a_fault() {
    let sandbox = Sandbox::repository();
    sandbox.commit(parts("a")).unwrap();
    fs::write(sandbox.root.join(".git/index.lock"), "").unwrap();
    let printed = refused(&sandbox, "b");
    assert!(printed.contains("the index is locked") && printed.contains("delete that file"), "{printed}");
    assert!(sandbox.has(".git/index.lock"), "someone else's lock was removed");
    fs::remove_file(sandbox.root.join(".git/index.lock")).unwrap();
    sandbox.commit(parts("b")).unwrap();
}

#[test]
fn git_waits_for_us_and_we_let_go() {
    let sandbox = Sandbox::repository();
    sandbox.write("clusters/a.yaml", "a: 1\n");
    let mut sink = CommitSink::open(&sandbox.workspace()).unwrap();
    sink.begin(&mut Notes::new()).unwrap();
    assert!(!sandbox.try_git(&["add", "clusters"]).status.success());
    let printed = refused(&sandbox, "b");
    assert!(printed.contains("the index is locked"), "{printed}");
    drop(sink);
    sandbox.git(&["add", "clusters"]);
    assert!(!sandbox.has(".git/index.lock") && !sandbox.has("generated"));
}

#[test]
fn a_lost_race_is_a_fault_and_changes_nothing() {
    for detached in [false, true] {
        let sandbox = Sandbox::repository();
        sandbox.commit(parts("a")).unwrap();
        if detached {
            sandbox.git(&["checkout", "-q", "--detach"]);
        }
        let root = sandbox.root.clone();
        let move_it = move |step| {
            if step == Milestone::Objects {
                let git = |arguments: &[&str]| {
                    let output = git_in(&root).args(arguments).output().unwrap();
                    assert!(output.status.success(), "{output:?}");
                    String::from_utf8(output.stdout).unwrap().trim().to_owned()
                };
                let other = git(&["commit-tree", "-m", "other", "-p", "HEAD", "HEAD^{tree}"]);
                git(&["update-ref", "HEAD", &other]);
            }
            Ok(())
        };
        let mut sink = CommitSink::open(&sandbox.workspace()).unwrap().on_milestone(move_it);
        let fault = run(&mut sink, parts("b")).0.unwrap_err();
        assert!(fault.to_string().contains("moved while this ran"), "{fault}");
        drop(sink);
        assert_eq!(sandbox.git(&["log", "-1", "--format=%s"]).trim(), "other");
        assert!(sandbox.check(parts("a")).is_empty());
        assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
        sandbox.commit(parts("b")).unwrap();
    }
}

#[test]
fn a_lost_race_for_the_first_commit() {
    let sandbox = Sandbox::repository();
    let root = sandbox.root.clone();
    let move_it = move |step| {
        if step == Milestone::Objects {
            let script =
                "git update-ref HEAD $(git commit-tree -m other $(git hash-object -t tree -w /dev/null))";
            let mut shell = Command::new("sh");
            assert!(shell.args(["-c", script]).current_dir(&root).status().unwrap().success());
        }
        Ok(())
    };
    let mut sink = CommitSink::open(&sandbox.workspace()).unwrap().on_milestone(move_it);
    let fault = run(&mut sink, parts("a")).0.unwrap_err();
    assert!(fault.to_string().contains("moved while this ran"), "{fault}");
    drop(sink);
    assert!(!sandbox.has("generated"));
    sandbox.commit(parts("a")).unwrap();
}

#[test]
fn an_end_after_any_step_leaves_the_old_or_the_new() {
    let all = [
        Milestone::Locked,
        Milestone::Staged,
        Milestone::Objects,
        Milestone::Reference,
        Milestone::File,
        Milestone::WorkTree,
        Milestone::Index,
    ];
    for stop in all {
        let sandbox = Sandbox::repository();
        sandbox.commit(parts("a")).unwrap();
        let before = sandbox.git(&["rev-parse", "HEAD"]);
        let end = move |step| if step == stop { Err(Fault::new("the end")) } else { Ok(()) };
        let mut sink = CommitSink::open(&sandbox.workspace()).unwrap().on_milestone(end);
        run(&mut sink, parts("b")).0.unwrap_err();
        drop(sink);
        let moved = sandbox.git(&["rev-parse", "HEAD"]) != before;
        assert_eq!(moved, stop >= Milestone::Reference, "{stop:?}");
        if !moved {
            assert_eq!(sandbox.git(&["status", "--porcelain"]), "", "{stop:?}");
        }
        let again = sandbox.commit(parts("b")).unwrap();
        assert_eq!(again.commit.is_some(), !moved, "{stop:?}");
        assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    }
}

/// Not a test of its own: the process killed by [`a_killed_process_is_followed_by_a_repair`].
#[test]
fn the_process_that_is_killed() {
    let Some((workspace, end)) = to_be_killed() else { return };
    let mut sink = CommitSink::open(&workspace).unwrap().on_milestone(end);
    run(&mut sink, parts("b")).0.unwrap();
}

#[test]
fn a_killed_process_is_followed_by_a_repair() {
    let mut stop = 1;
    loop {
        let sandbox = Sandbox::repository();
        sandbox.commit(parts("a")).unwrap();
        let killed = is_killed("hostile::the_process_that_is_killed", &sandbox, stop);
        assert_eq!(sandbox.has(".git/index.lock"), killed);
        sandbox.git(&["fsck", "--strict"]);
        sandbox.commit(parts("b")).unwrap();
        assert_eq!(sandbox.git(&["status", "--porcelain", "--ignored"]), "");
        assert_eq!(sandbox.git(&["rev-list", "--count", "HEAD"]).trim(), "2");
        let left: Vec<_> = fs::read_dir(sandbox.root.join(".git"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.starts_with("index"))
            .collect();
        assert_eq!(left, ["index"]);
        if !killed {
            break;
        }
        stop += 1;
    }
    assert!(stop > 8, "it was killed at {stop} steps only");
}

#[test]
fn something_in_progress_is_refused() {
    let sandbox = Sandbox::repository();
    sandbox.write("a.txt", "1\n");
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-qm", "first"]);
    sandbox.git(&["checkout", "-qb", "side"]);
    sandbox.write("a.txt", "2\n");
    sandbox.git(&["commit", "-qam", "side"]);
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.write("a.txt", "3\n");
    sandbox.git(&["commit", "-qam", "main"]);
    for (command, what) in [("merge", "a merge"), ("rebase", "a rebase"), ("cherry-pick", "a cherry-pick")] {
        assert!(!sandbox.try_git(&[command, "side"]).status.success());
        let printed = refused(&sandbox, "a");
        assert!(printed.contains(what) && printed.contains("git add generated"), "{printed}");
        sandbox.git(&[command, "--abort"]);
    }
    assert!(!sandbox.has("generated"));
}

#[test]
fn a_conflict_in_the_tree_is_solved() {
    let sandbox = Sandbox::repository();
    sandbox.commit(parts("a")).unwrap();
    sandbox.generate(parts("mine")).unwrap();
    sandbox.git(&["stash", "-q"]);
    sandbox.commit(parts("b")).unwrap();
    assert!(!sandbox.try_git(&["stash", "pop", "-q"]).status.success());
    assert!(sandbox.git(&["status", "--porcelain"]).contains("UU "));
    sandbox.commit(parts("c")).unwrap();
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

#[test]
fn odd_entries_of_the_tree_become_plain() {
    let sandbox = Sandbox::repository();
    sandbox.generate(parts("a")).unwrap();
    sandbox.git(&["add", "-N", &format!("{ONE}/cluster.yaml")]);
    sandbox.git(&["add", &format!("{ONE}/cilium.yaml")]);
    sandbox.git(&["update-index", "--chmod=+x", &format!("{ONE}/cilium.yaml")]);
    sandbox.git(&["commit", "-qm", "by hand"]);
    let changes = sandbox.commit(parts("a")).unwrap();
    assert!(changes.commit.is_some());
    let modes = sandbox.git(&["ls-tree", "-r", "HEAD", "generated"]);
    assert!(modes.lines().all(|line| line.starts_with("100644")), "{modes}");
}

#[test]
fn kinds_of_index() {
    let sandbox = Sandbox::repository();
    sandbox.write("a.txt", "1\n");
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-qm", "first"]);
    sandbox.git(&["update-index", "--index-version", "4"]);
    sandbox.git(&["update-index", "--force-untracked-cache"]);
    sandbox.commit(parts("a")).unwrap();
    sandbox.git(&["config", "index.skipHash", "true"]);
    sandbox.write("a.txt", "2\n");
    sandbox.git(&["commit", "-qam", "second"]);
    sandbox.commit(parts("b")).unwrap();
    sandbox.git(&["update-index", "--split-index"]);
    let printed = refused(&sandbox, "c");
    assert!(printed.contains("--no-split-index"), "{printed}");
    sandbox.git(&["update-index", "--no-split-index"]);
    sandbox.commit(parts("c")).unwrap();
}

#[test]
fn sparse_checkouts() {
    let sandbox = Sandbox::repository();
    sandbox.write("clusters/a.yaml", "a: 1\n");
    sandbox.write("docs/a.md", "a\n");
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-qm", "first"]);
    sandbox.commit(parts("a")).unwrap();
    sandbox.git(&["sparse-checkout", "set", "clusters"]);
    assert!(!sandbox.has("generated/management"));
    sandbox.commit(parts("b")).unwrap();
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    assert!(sandbox.git(&["ls-files", "-v", "docs"]).starts_with("S "));
    sandbox.git(&["sparse-checkout", "set", "generated"]);
    let printed = refused(&sandbox, "c");
    assert!(printed.contains("leaves out the source `clusters/a.yaml`"), "{printed}");
    sandbox.git(&["sparse-checkout", "set", "--sparse-index", "generated"]);
    let printed = refused(&sandbox, "c");
    assert!(printed.contains("--no-sparse-index"), "{printed}");
}

#[test]
fn repositories_that_cannot_be_committed_to() {
    let bare = Sandbox::new();
    bare.git(&["init", "-q", "--bare"]);
    let printed = refused(&bare, "a");
    assert!(printed.contains("has no work tree"), "{printed}");

    let sha256 = Sandbox::new();
    sha256.git(&["init", "-q", "--object-format=sha256"]);
    let printed = refused(&sha256, "a");
    assert!(printed.contains("sha256 objects are not supported"), "{printed}");
}

#[test]
fn an_ignored_tree_is_committed_all_the_same() {
    let sandbox = Sandbox::repository();
    sandbox.write(".gitignore", "generated/\n*.yaml\n");
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-qm", "first"]);
    sandbox.commit(parts("a")).unwrap();
}

#[test]
fn a_new_repository_and_its_first_commit() {
    let sandbox = Sandbox::new();
    let workspace = sandbox.workspace();
    assert!(Repository::find(&workspace).unwrap().is_none());
    let repository = Repository::init(&workspace).unwrap();
    assert_eq!(repository.work_tree(), sandbox.root);
    sandbox.git(&["config", "user.name", "Test"]);
    sandbox.git(&["config", "user.email", "test@example.org"]);
    sandbox.git(&["config", "commit.gpgsign", "false"]);
    assert!(Repository::find(&workspace).unwrap().is_some());
    assert!(Repository::init(&workspace).is_err(), "made twice");
    sandbox.commit(parts("a")).unwrap();
}
