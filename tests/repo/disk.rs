//! `generate` and `generate --check` on disk.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
};

use stackloom::{
    commit_message::generated as message,
    io::disk::{CheckSink, DiskSink, Milestone},
    note::{Fault, Notes},
    tree::{FileChange, PartId, Sink},
};

use crate::sandbox::{Sandbox, base, body, cluster, codes, path, run, yaml};

const ONE: &str = "generated/management/mgmt/clusters/team-a/one";

#[test]
fn writes_what_is_meant_and_nothing_twice() {
    let sandbox = Sandbox::new();
    let changes = sandbox.generate(vec![base(), cluster("one", "a"), cluster("two", "a")]).unwrap();
    assert_eq!(changes.count(FileChange::Added), 5);
    assert_eq!(sandbox.read(&format!("{ONE}/cilium.yaml")).unwrap(), body("a"));
    let before = fs::metadata(sandbox.root.join(ONE).join("cilium.yaml")).unwrap().modified().unwrap();

    let again = sandbox.generate(vec![base(), cluster("one", "a"), cluster("two", "b")]).unwrap();
    assert_eq!((again.count(FileChange::Changed), again.count(FileChange::Unchanged)), (2, 3));
    let after = fs::metadata(sandbox.root.join(ONE).join("cilium.yaml")).unwrap().modified().unwrap();
    assert_eq!(before, after, "an unchanged file was written");
    assert!(sandbox.check(vec![base(), cluster("one", "a"), cluster("two", "b")]).is_empty());
    assert!(!sandbox.has("generated/.stackloom-staged"));
}

#[test]
fn removes_its_own_files_and_their_folders() {
    let sandbox = Sandbox::new();
    sandbox.generate(vec![base(), cluster("one", "a"), cluster("two", "a")]).unwrap();
    let changes = sandbox.generate(vec![base(), cluster("two", "a")]).unwrap();
    assert_eq!(changes.count(FileChange::Removed), 2);
    let gone: Vec<_> = changes.removed_parts().into_iter().collect();
    let [PartId::Cluster { cluster: name, .. }] = gone.as_slice() else { panic!("{gone:?}") };
    assert_eq!(name, "one");
    assert!(!sandbox.has(ONE));
    sandbox.generate(vec![base()]).unwrap();
    assert_eq!(sandbox.tree(), [".gitattributes"]);
}

#[test]
fn repairs_what_was_damaged_deleted_or_replaced() {
    let sandbox = Sandbox::new();
    let parts = || vec![base(), cluster("one", "a"), cluster("two", "a")];
    sandbox.generate(parts()).unwrap();
    sandbox.git(&["init", "--quiet"]);
    sandbox.git(&["add", "."]);
    let file = |name: &str| sandbox.root.join(ONE).join(name);
    fs::write(file("cilium.yaml"), "kind: Nonsense").unwrap();
    fs::remove_file(file("cluster.yaml")).unwrap();
    let two = sandbox.root.join("generated/management/mgmt/clusters/team-a/two/cluster.yaml");
    fs::set_permissions(&two, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(sandbox.check(parts()).count(FileChange::Changed), 2);
    assert_eq!(sandbox.check(parts()).count(FileChange::Added), 1);
    assert_eq!(sandbox.generate(parts()).unwrap().count(FileChange::Changed), 2);
    assert_eq!(sandbox.read(&format!("{ONE}/cilium.yaml")).unwrap(), body("a"));
    assert_eq!(fs::metadata(two).unwrap().permissions().mode() & 0o111, 0);
    assert!(sandbox.check(parts()).is_empty());
}

#[test]
fn a_file_gives_way_to_a_folder_and_back() {
    let sandbox = Sandbox::new();
    let deep = |at: &str| {
        let mut part = cluster("one", "a");
        part.files = vec![yaml(&format!("{ONE}/{at}"), "a")];
        part
    };
    sandbox.generate(vec![base(), deep("x")]).unwrap();
    sandbox.generate(vec![base(), deep("x/y/z.yaml")]).unwrap();
    assert!(sandbox.has(&format!("{ONE}/x/y/z.yaml")));
    sandbox.generate(vec![base(), deep("x")]).unwrap();
    assert_eq!(sandbox.read(&format!("{ONE}/x")).unwrap(), body("a"));
}

#[test]
fn a_foreign_file_stops_the_run_and_nothing_is_written() {
    let sandbox = Sandbox::new();
    sandbox.generate(vec![base(), cluster("one", "a")]).unwrap();
    sandbox.write("generated/management/notes.txt", "mine");
    sandbox.write("generated/management/mgmt/own.yaml", "kind: ConfigMap\n");
    let before = sandbox.tree();
    for sink in
        [&mut DiskSink::new(&sandbox.workspace()) as &mut dyn Sink, &mut CheckSink::new(&sandbox.workspace())]
    {
        let (result, notes) = run(sink, vec![base(), cluster("one", "b"), cluster("two", "b")]);
        result.unwrap();
        let foreign = [
            "foreign-file generated/management/mgmt/own.yaml",
            "foreign-file generated/management/notes.txt",
        ];
        assert_eq!(codes(&notes), foreign);
        assert_eq!(sandbox.tree(), before);
        assert_eq!(sandbox.read(&format!("{ONE}/cilium.yaml")).unwrap(), body("a"));
    }
}

#[test]
fn a_foreign_file_where_one_is_meant_stops_the_run() {
    let sandbox = Sandbox::new();
    let path = format!("{ONE}/cilium.yaml");
    sandbox.write(&path, "kind: ConfigMap\n");
    symlink("cilium.yaml", sandbox.root.join(ONE).join("cluster.yaml")).unwrap();
    let (result, notes) = run(&mut DiskSink::new(&sandbox.workspace()), vec![base(), cluster("one", "a")]);
    result.unwrap();
    assert_eq!(codes(&notes), [format!("foreign-file {path}"), format!("linked-output {ONE}/cluster.yaml")]);
    assert_eq!(sandbox.read(&path).unwrap(), "kind: ConfigMap\n");
    // A file tracked by git is the program's own, whatever its content.
    fs::remove_file(sandbox.root.join(ONE).join("cluster.yaml")).unwrap();
    sandbox.git(&["init", "--quiet"]);
    sandbox.git(&["add", "."]);
    sandbox.generate(vec![base(), cluster("one", "a")]).unwrap();
    assert_eq!(sandbox.read(&path).unwrap(), body("a"));
}

#[test]
fn links_stop_the_run() {
    let sandbox = Sandbox::new();
    let elsewhere = sandbox.outside().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::create_dir_all(sandbox.root.join("generated/management/mgmt")).unwrap();
    symlink(&elsewhere, sandbox.root.join("generated/management/mgmt/clusters")).unwrap();
    let (result, notes) = run(&mut DiskSink::new(&sandbox.workspace()), vec![base(), cluster("one", "a")]);
    result.unwrap();
    assert_eq!(codes(&notes), ["linked-output generated/management/mgmt/clusters"]);

    fs::remove_dir_all(sandbox.root.join("generated")).unwrap();
    symlink(&elsewhere, sandbox.root.join("generated")).unwrap();
    for sink in
        [&mut DiskSink::new(&sandbox.workspace()) as &mut dyn Sink, &mut CheckSink::new(&sandbox.workspace())]
    {
        let (result, notes) = run(sink, vec![base(), cluster("one", "a")]);
        result.unwrap();
        assert_eq!(codes(&notes), ["linked-output generated"]);
    }
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[test]
fn numbered_releases_are_left_alone() {
    let sandbox = Sandbox::new();
    let release = "generated/releases/openstack-scs-1-35-v7";
    sandbox.write(&format!("{release}/release.yaml"), "kind: Release\n");
    sandbox.write("generated/releases/openstack-scs-1-35-v0-sha.a1b2c3d/release.yaml", body("old"));
    let changes = sandbox.generate(vec![base()]).unwrap();
    assert_eq!(changes.removed_parts().len(), 1);
    assert_eq!(
        sandbox.tree(),
        [
            ".gitattributes",
            "releases/",
            "releases/openstack-scs-1-35-v7/",
            "releases/openstack-scs-1-35-v7/release.yaml"
        ]
    );
}

#[test]
fn kept_folders_stay_as_they_are() {
    let sandbox = Sandbox::new();
    sandbox.generate(vec![base(), cluster("one", "a"), cluster("two", "a")]).unwrap();
    sandbox.write(&format!("{ONE}/own.txt"), "someone else's");
    let mut sink = DiskSink::new(&sandbox.workspace());
    let mut notes = Notes::new();
    sink.begin(&mut notes).unwrap();
    sink.keep(path(ONE));
    sink.parts(vec![base()]).unwrap();
    let changes = sink.commit(&mut notes, &message).unwrap();
    assert!(notes.is_empty());
    assert_eq!(changes.count(FileChange::Removed), 2);
    assert!(sandbox.has(&format!("{ONE}/own.txt")));
    assert!(!sandbox.has("generated/management/mgmt/clusters/team-a/two"));
}

#[test]
fn a_dropped_run_leaves_nothing() {
    let sandbox = Sandbox::new();
    let mut sink = DiskSink::new(&sandbox.workspace());
    sink.begin(&mut Notes::new()).unwrap();
    sink.parts(vec![cluster("one", "a")]).unwrap();
    drop(sink);
    assert!(!sandbox.has("generated"));
}

#[test]
fn leftovers_of_a_killed_run_are_removed_and_repaired() {
    let sandbox = Sandbox::new();
    let parts = |text: &str| vec![base(), cluster("one", text), cluster("two", text)];
    sandbox.generate(parts("a")).unwrap();
    for stop in 0..7 {
        let mut seen = 0;
        let sink = DiskSink::new(&sandbox.workspace());
        let mut sink = sink.on_milestone(move |step| {
            seen += usize::from(step != Milestone::Staged);
            if seen > stop { Err(Fault::new("killed")) } else { Ok(()) }
        });
        run(&mut sink, parts(&format!("b{stop}"))).0.ok();
        std::mem::forget(sink);
        break_lock(&sandbox);
        sandbox.generate(parts("a")).unwrap();
        assert!(!sandbox.has("generated/.stackloom-staged"));
        assert!(sandbox.check(parts("a")).is_empty());
    }
}

/// A forgotten sink keeps the lock of the folder for the lifetime of this process. A copy of the folder has its own lock.
fn break_lock(sandbox: &Sandbox) {
    let (tree, copy) = (sandbox.root.join("generated"), sandbox.root.join("copy"));
    fs::create_dir(&copy).unwrap();
    for entry in fs::read_dir(&tree).unwrap() {
        let entry = entry.unwrap();
        fs::rename(entry.path(), copy.join(entry.file_name())).unwrap();
    }
    fs::remove_dir(&tree).unwrap();
    fs::rename(copy, tree).unwrap();
}

#[test]
fn two_runs_do_not_mix() {
    let sandbox = Sandbox::new();
    sandbox.generate(vec![base()]).unwrap();
    let mut first = DiskSink::new(&sandbox.workspace());
    first.begin(&mut Notes::new()).unwrap();
    let fault = sandbox.generate(vec![base(), cluster("one", "a")]).unwrap_err();
    assert!(fault.to_string().contains("another stackloom"), "{fault}");
    drop(first);
    sandbox.generate(vec![base(), cluster("one", "a")]).unwrap();
}

#[test]
fn a_file_of_two_parts_is_a_fault() {
    let sandbox = Sandbox::new();
    let fault = sandbox.generate(vec![cluster("one", "a"), cluster("one", "a")]).unwrap_err();
    assert!(fault.to_string().contains("two parts"), "{fault}");
    assert!(!sandbox.has("generated"));
}

#[test]
fn a_full_disk_leaves_the_tree_as_it_was() {
    let sandbox = Sandbox::new();
    sandbox.generate(vec![base(), cluster("one", "a")]).unwrap();
    // A file at the staging path has the same effect as a full disk: nothing can be staged.
    let mut sink = DiskSink::new(&sandbox.workspace());
    sink.begin(&mut Notes::new()).unwrap();
    sandbox.write("generated/.stackloom-staged", "in the way");
    let fault = sink.parts(vec![cluster("one", "b")]).unwrap_err();
    assert!(fault.to_string().contains("cannot create the folder"), "{fault}");
    assert!(!fault.hints().is_empty());
    drop(sink);
    assert_eq!(sandbox.read(&format!("{ONE}/cilium.yaml")).unwrap(), body("a"));
}
