//! `generate --commit` in well-kept repositories.

use std::{fs, os::unix::fs::PermissionsExt as _};

use stackloom::{
    commit_message::generated as message,
    io::{disk::DiskSink, git::CommitSink},
    note::Notes,
    tree::{FileChange, Sink as _},
};

use crate::sandbox::{Sandbox, base, body, cluster, codes, git_in, path, run, yaml};

const ONE: &str = "generated/management/mgmt/clusters/team-a/one";

#[test]
fn the_first_commit_of_an_unborn_branch() {
    let sandbox = Sandbox::repository();
    let changes = sandbox.commit(vec![base(), cluster("one", "a")]).unwrap();
    assert_eq!(changes.commit.as_deref(), Some(sandbox.git(&["rev-parse", "main"]).trim()));
    assert_eq!(
        sandbox.files_of("HEAD"),
        ["generated/.gitattributes".to_owned(), format!("{ONE}/cilium.yaml"), format!("{ONE}/cluster.yaml")]
    );
    let printed =
        sandbox.git(&["log", "-1", "--format=%an <%ae>|%cn|%s|%(trailers:key=Stackloom-Cluster,valueonly)"]);
    assert_eq!(printed.trim(), "Test <test@example.org>|Test|generate: team-a/one added|mgmt/team-a/one");
    assert!(sandbox.git(&["reflog", "main"]).contains("commit (initial): generate: team-a/one added"));
    assert!(sandbox.git(&["reflog", "HEAD"]).contains("commit (initial)"));
}

#[test]
fn nothing_changed_means_no_commit() {
    let sandbox = Sandbox::repository();
    sandbox.commit(vec![base(), cluster("one", "a")]).unwrap();
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    let index = fs::read(sandbox.root.join(".git/index")).unwrap();
    let changes = sandbox.commit(vec![base(), cluster("one", "a")]).unwrap();
    assert!(changes.commit.is_none() && changes.is_empty() && changes.repaired.is_empty());
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(fs::read(sandbox.root.join(".git/index")).unwrap(), index, "the index was written");
}

#[test]
fn changes_follow_one_another() {
    let sandbox = Sandbox::repository();
    sandbox.commit(vec![base(), cluster("one", "a"), cluster("two", "a")]).unwrap();
    let second = sandbox.commit(vec![base(), cluster("one", "b"), cluster("three", "a")]).unwrap();
    let count = |change| second.count(change);
    assert_eq!(
        (
            count(FileChange::Added),
            count(FileChange::Changed),
            count(FileChange::Removed),
            count(FileChange::Unchanged)
        ),
        (2, 2, 2, 1)
    );
    let body = sandbox.git(&["log", "-1", "--format=%B"]);
    assert!(body.contains("Clusters added:\n- team-a/three\n"), "{body}");
    assert!(body.contains("Clusters changed:\n- team-a/one\n"), "{body}");
    assert!(body.contains("Clusters removed:\n- team-a/two\n"), "{body}");
    assert_eq!(sandbox.git(&["rev-list", "--count", "HEAD"]).trim(), "2");
}

#[test]
fn files_that_generate_wrote_before_are_committed_later() {
    let sandbox = Sandbox::repository();
    sandbox.generate(vec![base(), cluster("one", "a")]).unwrap();
    let changes = sandbox.commit(vec![base(), cluster("one", "a")]).unwrap();
    assert_eq!(changes.count(FileChange::Added), 3);
    assert!(changes.commit.is_some());
}

#[test]
fn damage_is_repaired_without_a_commit() {
    let sandbox = Sandbox::repository();
    let parts = || vec![base(), cluster("one", "a"), cluster("two", "a")];
    sandbox.commit(parts()).unwrap();
    sandbox.write(&format!("{ONE}/cilium.yaml"), "damaged");
    fs::remove_file(sandbox.root.join(ONE).join("cluster.yaml")).unwrap();
    sandbox.git(&["rm", "-q", "--cached", "generated/management/mgmt/clusters/team-a/two/cluster.yaml"]);
    sandbox.write("generated/stale.yaml", body("stale"));
    sandbox.git(&["add", "generated/stale.yaml", &format!("{ONE}/cilium.yaml")]);
    let changes = sandbox.commit(parts()).unwrap();
    assert!(changes.commit.is_none() && changes.is_empty());
    let repaired: Vec<_> = changes.repaired.iter().map(ToString::to_string).collect();
    assert_eq!(
        repaired,
        [format!("{ONE}/cilium.yaml"), format!("{ONE}/cluster.yaml"), "generated/stale.yaml".into()]
    );
    assert!(!sandbox.has("generated/stale.yaml"));
}

#[test]
fn other_changes_stay_byte_for_byte() {
    let sandbox = Sandbox::repository();
    for name in ["kept", "edited", "staged", "both", "deleted", "unstaged-delete", "zebra/last"] {
        sandbox.write(&format!("clusters/{name}.yaml"), "a: 1\n");
    }
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-qm", "sources"]);
    sandbox.write("clusters/edited.yaml", "a: 2\n");
    sandbox.write("clusters/staged.yaml", "a: 2\n");
    sandbox.write("clusters/both.yaml", "a: 2\n");
    sandbox.git(&["add", "clusters/staged.yaml", "clusters/both.yaml"]);
    sandbox.write("clusters/both.yaml", "a: 3\n");
    sandbox.git(&["rm", "-q", "clusters/deleted.yaml"]);
    fs::remove_file(sandbox.root.join("clusters/unstaged-delete.yaml")).unwrap();
    sandbox.write("clusters/new.yaml", "a: 1\n");
    sandbox.write("clusters/intended.yaml", "a: 1\n");
    sandbox.git(&["add", "-N", "clusters/intended.yaml"]);
    sandbox.write("clusters/run.sh", "echo\n");
    fs::set_permissions(sandbox.root.join("clusters/run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    sandbox.git(&["add", "clusters/run.sh"]);
    sandbox.git(&["update-index", "--assume-unchanged", "clusters/kept.yaml"]);
    let state = |sandbox: &Sandbox| {
        [
            sandbox.git(&["status", "--porcelain", "clusters"]),
            sandbox.git(&["ls-files", "-s", "-v", "clusters"]),
            sandbox.git(&["diff", "--", "clusters"]),
            sandbox.git(&["diff", "--cached", "--", "clusters"]),
        ]
    };
    let before = state(&sandbox);
    sandbox.commit(vec![base(), cluster("one", "a")]).unwrap();
    assert_eq!(state(&sandbox), before);
    let touched = sandbox.git(&["show", "--format=", "--name-only", "HEAD"]);
    assert!(touched.lines().all(|path| path.starts_with("generated/")), "{touched}");
    sandbox.commit(vec![base(), cluster("one", "b")]).unwrap();
    assert_eq!(state(&sandbox), before);
}

#[test]
fn a_detached_head_moves_itself() {
    let sandbox = Sandbox::repository();
    sandbox.commit(vec![base()]).unwrap();
    let main = sandbox.git(&["rev-parse", "main"]);
    sandbox.git(&["checkout", "-q", "--detach"]);
    let changes = sandbox.commit(vec![base(), cluster("one", "a")]).unwrap();
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]).trim(), changes.commit.unwrap());
    assert_eq!(sandbox.git(&["rev-parse", "main"]), main);
    assert!(!sandbox.try_git(&["symbolic-ref", "-q", "HEAD"]).status.success());
}

#[test]
fn a_sub_folder_of_a_larger_repository() {
    let sandbox = Sandbox::below("platform/fleets/eu");
    let top = sandbox.outside();
    Sandbox::init(&top);
    fs::write(top.join("README.md"), "hello\n").unwrap();
    fs::create_dir_all(top.join("generated")).unwrap();
    fs::write(top.join("generated/other.txt"), "someone else's\n").unwrap();
    fs::write(top.join("platform/fleets.txt"), "x\n").unwrap();
    git_in(&top).args(["add", "."]).status().unwrap();
    sandbox.git(&["commit", "-qm", "first"]);
    sandbox.commit(vec![base(), cluster("one", "a")]).unwrap();
    sandbox.commit(vec![base(), cluster("two", "a")]).unwrap();
    let two = "platform/fleets/eu/generated/management/mgmt/clusters/team-a/two";
    assert_eq!(
        sandbox.files_of("HEAD"),
        [
            "README.md".to_owned(),
            "generated/other.txt".into(),
            "platform/fleets.txt".into(),
            "platform/fleets/eu/generated/.gitattributes".into(),
            format!("{two}/cilium.yaml"),
            format!("{two}/cluster.yaml"),
        ]
    );
    assert_eq!(sandbox.git(&["status", "--porcelain", ":/"]), "");
}

#[test]
fn a_linked_work_tree_has_its_own_branch_and_index() {
    let main = Sandbox::repository();
    main.commit(vec![base()]).unwrap();
    let linked = Sandbox::new();
    fs::remove_dir(&linked.root).unwrap();
    main.git(&["worktree", "add", "-q", "-b", "side", linked.root.to_str().unwrap()]);
    linked.commit(vec![base(), cluster("one", "a")]).unwrap();
    assert_eq!(linked.files_of("side").len(), 3);
    assert_eq!(main.files_of("main").len(), 1);
    assert_eq!(main.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_thousand_objects_go_into_a_pack() {
    let sandbox = Sandbox::repository();
    let parts = |text: &str| {
        let clusters = (0..150).map(|number| cluster(&format!("c{number}"), &format!("{text}{number}")));
        std::iter::once(base()).chain(clusters).collect::<Vec<_>>()
    };
    sandbox.commit(parts("a")).unwrap();
    sandbox.commit(parts("b")).unwrap();
    let packs = fs::read_dir(sandbox.root.join(".git/objects/pack")).unwrap().count();
    assert_eq!(packs, 4, "two packs and their indexes");
    assert_eq!(sandbox.git(&["rev-list", "--count", "HEAD"]).trim(), "2");
}

#[test]
fn numbered_releases_are_left_to_whoever_adds_them() {
    let sandbox = Sandbox::repository();
    let release = |name: &str| format!("generated/releases/docker-scs-1-35-{name}/release.yaml");
    sandbox.write(&release("v1"), "kind: Release\n");
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-qm", "v1"]);
    sandbox.write(&release("v2"), "kind: Release\n");
    sandbox.write(&release("v3"), "kind: Release\n");
    sandbox.git(&["add", &release("v2")]);
    let status = |sandbox: &Sandbox| sandbox.git(&["status", "--porcelain", "-uall"]);
    let before = status(&sandbox);
    let (result, notes) =
        run(&mut CommitSink::open(&sandbox.workspace()).unwrap(), vec![base(), cluster("one", "a")]);
    assert!(notes.is_empty() && result.unwrap().commit.is_some());
    assert_eq!(status(&sandbox), before);
    assert_eq!(sandbox.files_of("HEAD").iter().filter(|path| path.contains("releases")).count(), 1);
}

#[test]
fn kept_folders_stay_as_head_has_them() {
    let sandbox = Sandbox::repository();
    sandbox.commit(vec![base(), cluster("one", "a"), cluster("two", "a")]).unwrap();
    sandbox.write(&format!("{ONE}/cilium.yaml"), "edited");
    let mut sink = CommitSink::open(&sandbox.workspace()).unwrap();
    let mut notes = Notes::new();
    sink.begin(&mut notes).unwrap();
    sink.keep(path(ONE));
    sink.parts(vec![base()]).unwrap();
    sink.parts(vec![cluster("two", "b")]).unwrap();
    sink.commit(&mut notes, &message).unwrap();
    assert!(notes.is_empty(), "{notes:?}");
    assert_eq!(sandbox.git(&["show", &format!("HEAD:{ONE}/cilium.yaml")]), body("a"));
    assert_eq!(sandbox.git(&["status", "--porcelain"]), format!(" M {ONE}/cilium.yaml\n"));
}

#[test]
fn a_file_gives_way_to_a_folder_and_back() {
    let sandbox = Sandbox::repository();
    let deep = |at: &str| {
        let mut part = cluster("one", "a");
        part.files = vec![yaml(&format!("{ONE}/{at}"), "a")];
        part
    };
    for at in ["x", "x/y/z.yaml", "x.yaml", "x/y"] {
        sandbox.commit(vec![base(), deep(at)]).unwrap();
        assert_eq!(sandbox.files_of("HEAD").len(), 2);
    }
}

#[test]
fn foreign_files_stop_the_commit() {
    let sandbox = Sandbox::repository();
    sandbox.write("generated/on-disk.yaml", "kind: ConfigMap\n");
    sandbox.write("generated/in-head.yaml", "kind: ConfigMap\n");
    sandbox.write("generated/in-index.yaml", "kind: ConfigMap\n");
    sandbox.git(&["add", "generated/in-head.yaml"]);
    sandbox.git(&["commit", "-qm", "mine"]);
    sandbox.git(&["add", "generated/in-index.yaml"]);
    let try_it = || {
        let (result, notes) = run(&mut CommitSink::open(&sandbox.workspace()).unwrap(), vec![base()]);
        assert!(result.unwrap().commit.is_none());
        assert!(!sandbox.has(".git/index.lock") && !sandbox.has("generated/.gitattributes"));
        codes(&notes)
    };
    let all = ["in-head", "in-index", "on-disk"].map(|name| format!("foreign-file generated/{name}.yaml"));
    assert_eq!(try_it(), all);
    for name in ["in-head", "in-index", "on-disk"] {
        fs::remove_file(sandbox.root.join(format!("generated/{name}.yaml"))).unwrap();
    }
    assert_eq!(try_it(), all[..2]);
    sandbox.git(&["rm", "-q", "--cached", "generated/in-head.yaml", "generated/in-index.yaml"]);
    sandbox.git(&["commit", "-qm", "gone"]);
    sandbox.commit(vec![base()]).unwrap();
}

#[test]
fn the_disk_sink_needs_no_repository() {
    let sandbox = Sandbox::new();
    let (result, notes) = run(&mut DiskSink::new(&sandbox.workspace()), vec![base()]);
    assert!(notes.is_empty() && result.unwrap().commit.is_none());
    let fault = CommitSink::open(&sandbox.workspace()).unwrap_err();
    assert!(fault.to_string().contains("is not in a git repository"), "{fault}");
}
