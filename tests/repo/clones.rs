//! `generate --commit` in realistic repositories: submodules, partial clones, hooks, other owners.

use std::{fs, path::Path};

use stackloom::{io::git::CommitSink, note::Fault};

use crate::sandbox::{self, Sandbox, base, cluster, git_in, run};

fn git(folder: &Path, arguments: &[&str]) {
    let output = git_in(folder).args(arguments).output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A fleet with a history of three commits, two of them by the program.
fn origin() -> Sandbox {
    let sandbox = Sandbox::repository();
    sandbox.write("clusters/a.yaml", "a: 1\n");
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-qm", "sources"]);
    sandbox.commit(vec![base(), cluster("one", "a")]).unwrap();
    sandbox.commit(vec![base(), cluster("one", "b"), cluster("two", "b")]).unwrap();
    sandbox.git(&["config", "uploadpack.allowFilter", "true"]);
    sandbox.git(&["config", "receive.denyCurrentBranch", "ignore"]);
    sandbox
}

/// A clone, made with the `file://` transport as over a network.
fn cloned(origin: &Sandbox, options: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new();
    fs::remove_dir(&sandbox.root).unwrap();
    let url = format!("file://{}", origin.root.display());
    let into = sandbox.root.to_str().unwrap().to_owned();
    git(&sandbox.outside(), &[&["clone", "-q"], options, &[&url, &into]].concat());
    for (key, value) in [("user.name", "Test"), ("user.email", "test@example.org")] {
        sandbox.git(&["config", key, value]);
    }
    sandbox
}

fn fault(sandbox: &Sandbox, clusters: &[&str]) -> (Fault, String) {
    let parts = std::iter::once(base()).chain(clusters.iter().map(|name| cluster(name, "c"))).collect();
    let fault = match CommitSink::open(&sandbox.workspace()) {
        Err(fault) => fault,
        Ok(mut sink) => run(&mut sink, parts).0.unwrap_err(),
    };
    let hints = fault.hints().join("; ");
    (fault, hints)
}

#[test]
fn a_shallow_clone_is_committed_to_and_pushed() {
    let origin = origin();
    let clone = cloned(&origin, &["--depth", "1"]);
    assert_eq!(clone.git(&["rev-list", "--count", "HEAD"]).trim(), "1");
    let changes = clone.commit(vec![base(), cluster("one", "c"), cluster("two", "b")]).unwrap();
    clone.git(&["push", "-q", "origin", "main"]);
    assert_eq!(origin.git(&["rev-parse", "main"]).trim(), changes.commit.unwrap());
    assert_eq!(origin.git(&["rev-list", "--count", "main"]).trim(), "4");
    origin.git(&["fsck", "--strict"]);
}

#[test]
fn a_partial_clone_is_committed_to_and_pushed() {
    for filter in ["blob:none", "tree:0"] {
        let origin = origin();
        let clone = cloned(&origin, &[&format!("--filter={filter}")]);
        let changes = clone.commit(vec![base(), cluster("one", "c")]).unwrap();
        clone.git(&["push", "-q", "origin", "main"]);
        assert_eq!(origin.git(&["rev-parse", "main"]).trim(), changes.commit.unwrap(), "{filter}");
        origin.git(&["fsck", "--strict"]);
    }
}

/// A file to be deleted must be read first, since it may not be the program's own.
#[test]
fn missing_objects_of_a_partial_clone_are_reported() {
    let origin = origin();
    let clone = cloned(&origin, &["--filter=blob:none", "--no-checkout"]);
    clone.git(&["sparse-checkout", "set", "clusters"]);
    clone.git(&["checkout", "-q", "main"]);
    assert!(!clone.has("generated/management"));
    let (fault, hints) = fault(&clone, &["one"]);
    assert!(fault.to_string().contains("is missing from this partial clone"), "{fault}");
    assert!(hints.contains("git sparse-checkout add generated"), "{hints}");
    clone.git(&["sparse-checkout", "add", "generated"]);
    clone.commit(vec![base(), cluster("one", "c")]).unwrap();
}

#[test]
fn a_fleet_can_be_a_submodule_and_can_hold_one() {
    let stacks = Sandbox::repository();
    stacks.write("scs/stack.yaml", "kind: Stack\n");
    stacks.git(&["add", "."]);
    stacks.git(&["commit", "-qm", "stacks"]);
    let origin = origin();
    let outer = Sandbox::repository();
    let add = |sandbox: &Sandbox, what: &Sandbox, at: &str| {
        let from = what.root.to_str().unwrap();
        sandbox.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", from, at]);
        sandbox.git(&["commit", "-qm", at]);
    };
    add(&origin, &stacks, "stacks/docker");
    add(&outer, &origin, "platform/fleet");

    let mut inner = Sandbox::new();
    inner.root = outer.root.join("platform/fleet");
    for (key, value) in [("user.name", "Test"), ("user.email", "test@example.org")] {
        inner.git(&["config", key, value]);
    }
    let changes = inner.commit(vec![base(), cluster("one", "c")]).unwrap();
    assert_eq!(inner.git(&["rev-parse", "main"]).trim(), changes.commit.unwrap());
    assert!(inner.git(&["ls-tree", "HEAD", "stacks/"]).starts_with("160000 commit "));
    assert_eq!(outer.git(&["status", "--porcelain"]), " M platform/fleet\n");
    assert!(!outer.has(".git/index.lock") && !outer.has(".git/modules/platform/fleet/index.lock"));
}

#[test]
fn a_work_tree_of_a_bare_repository() {
    let origin = origin();
    let clone = cloned(&origin, &["--bare"]);
    let (refused, hints) = fault(&clone, &["one"]);
    assert!(
        refused.to_string().contains("has no work tree") && hints.contains("git worktree add"),
        "{refused}"
    );
    let mut linked = Sandbox::new();
    linked.root = linked.outside().join("main");
    clone.git(&["worktree", "add", "-q", linked.root.to_str().unwrap(), "main"]);
    let changes = linked.commit(vec![base(), cluster("one", "c")]).unwrap();
    assert_eq!(clone.git(&["rev-parse", "main"]).trim(), changes.commit.unwrap());
}

/// The checkout of a CI service: one commit, by ID, without a branch.
#[test]
fn a_checkout_as_ci_makes_it() {
    let origin = origin();
    let clone = cloned(&origin, &["--depth", "1"]);
    clone.git(&["checkout", "-q", "--detach"]);
    clone.git(&["branch", "-qD", "main"]);
    let changes = clone.commit(vec![base(), cluster("one", "c")]).unwrap();
    clone.git(&["push", "-q", "origin", "HEAD:refs/heads/bot"]);
    assert_eq!(origin.git(&["rev-parse", "bot"]).trim(), changes.commit.unwrap());
}

#[test]
fn hooks_are_not_run() {
    let sandbox = Sandbox::repository();
    let hooks = [
        "pre-commit",
        "prepare-commit-msg",
        "commit-msg",
        "post-commit",
        "reference-transaction",
        "post-index-change",
    ];
    for hook in hooks {
        let file = sandbox.root.join(".git/hooks").join(hook);
        sandbox::program(&file, "#!/bin/sh\ntouch \"$(dirname \"$0\")/was-run\"\nexit 1\n");
    }
    let (result, _) =
        run(&mut CommitSink::open(&sandbox.workspace()).unwrap(), vec![base(), cluster("one", "a")]);
    assert!(result.unwrap().commit.is_some());
    assert!(!sandbox.has(".git/hooks/was-run"));
}

/// Runs the program in one of git's hooks.
#[test]
fn inside_a_hook_nothing_is_committed_unasked() {
    let sandbox = Sandbox::repository();
    let program = env!("CARGO_BIN_EXE_stackloom");
    let hook = |name: &str, command: &str| {
        sandbox::program(
            &sandbox.root.join(".git/hooks").join(name),
            &format!("#!/bin/sh\nexec {command}\n"),
        );
    };
    git_in(&sandbox.root).args(["commit", "-qm", "first", "--allow-empty"]).status().unwrap();
    let mut init = std::process::Command::new(program);
    let init = init.args(["init", "--name", "demo"]).current_dir(&sandbox.root).output().unwrap();
    assert!(init.status.success(), "{init:?}");
    sandbox.git(&["add", "."]);
    hook("pre-commit", &format!("{program} generate --commit"));
    for arguments in [&["commit", "-qm", "mine"][..], &["commit", "-qam", "mine"]] {
        let output = sandbox.try_git(arguments);
        let printed = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && printed.contains("`GIT_INDEX_FILE` is set"), "{printed}");
        assert_eq!(sandbox.git(&["rev-list", "--count", "HEAD"]).trim(), "1");
    }
    fs::remove_file(sandbox.root.join(".git/hooks/pre-commit")).unwrap();
    hook("post-commit", &format!("env -u GIT_INDEX_FILE {program} generate --commit"));
    sandbox.git(&["commit", "-qm", "mine"]);
    assert_eq!(sandbox.git(&["rev-list", "--count", "HEAD"]).trim(), "3");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}
