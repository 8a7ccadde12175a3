//! Links, pipes, sockets and folders in the place of generated files: none of them is followed, waited for or replaced.

use std::{fs, os::unix::fs::symlink, os::unix::net::UnixListener, process::Command};

use stackloom::{
    io::{
        disk::{CheckSink, DiskSink},
        git::CommitSink,
    },
    tree::Sink,
};

use crate::sandbox::{Sandbox, base, cluster, codes, run};

const CLUSTER: &str = "generated/management/mgmt/clusters/team-a/one/cluster.yaml";
const ATTRIBUTES: &str = "generated/.gitattributes";

/// Puts something in the place of a file.
fn replace(sandbox: &Sandbox, path: &str, kind: &str) {
    let file = sandbox.root.join(path);
    fs::remove_file(&file).ok();
    match kind {
        "link" => {
            let elsewhere = sandbox.outside().join("elsewhere");
            fs::write(&elsewhere, "mine\n").unwrap();
            symlink(elsewhere, file).unwrap();
        }
        "broken link" => symlink("nowhere", file).unwrap(),
        "loop" => symlink(file.file_name().unwrap(), &file).unwrap(),
        "socket" => drop(UnixListener::bind(file).unwrap()),
        _ => assert!(Command::new("mkfifo").arg(file).status().unwrap().success()),
    }
}

#[test]
fn what_is_no_file_in_the_place_of_one_stops_the_run_though_git_knows_the_file() {
    let sandbox = Sandbox::repository();
    let parts = |text: &str| vec![base(), cluster("one", text)];
    sandbox.commit(parts("a")).unwrap();
    for path in [CLUSTER, ATTRIBUTES] {
        for kind in ["link", "broken link", "loop", "socket", "pipe"] {
            replace(&sandbox, path, kind);
            let before = sandbox.root.join(path).symlink_metadata().unwrap().file_type();
            let world = sandbox.workspace();
            let sinks: [Box<dyn Sink>; 3] = [
                Box::new(DiskSink::new(&world)),
                Box::new(CheckSink::new(&world)),
                Box::new(CommitSink::open(&world).unwrap()),
            ];
            for mut sink in sinks {
                let (result, notes) = run(sink.as_mut(), parts("b"));
                result.unwrap();
                let code = if kind == "socket" || kind == "pipe" { "foreign-file" } else { "linked-output" };
                assert_eq!(codes(&notes), [format!("{code} {path}")], "{kind}");
            }
            assert_eq!(sandbox.root.join(path).symlink_metadata().unwrap().file_type(), before);
            assert!(!sandbox.has(".git/index.lock"));
            fs::remove_file(sandbox.root.join(path)).unwrap();
            sandbox.git(&["checkout", "-q", "--", path]);
        }
    }
    assert_eq!(fs::read_to_string(sandbox.outside().join("elsewhere")).unwrap(), "mine\n");
    assert_eq!(sandbox.git(&["rev-list", "--count", "HEAD"]).trim(), "1");
    sandbox.commit(parts("b")).unwrap();
}

#[test]
fn a_pipe_in_the_place_of_the_lock_of_the_index_is_not_waited_for() {
    let sandbox = Sandbox::repository();
    replace(&sandbox, ".git/index.lock", "pipe");
    let mut sink = CommitSink::open(&sandbox.workspace()).unwrap();
    let fault = run(&mut sink, vec![base()]).0.unwrap_err();
    assert!(fault.to_string().contains("the index is locked"), "{fault}");
    assert!(sandbox.has(".git/index.lock"));
}

#[test]
fn a_release_does_not_replace_linked_attributes() {
    let sandbox = crate::release::fleet();
    let elsewhere = sandbox.outside().join("elsewhere");
    fs::write(&elsewhere, stackloom::tree::GITATTRIBUTES).unwrap();
    fs::create_dir_all(sandbox.root.join("generated")).unwrap();
    symlink(&elsewhere, sandbox.root.join(ATTRIBUTES)).unwrap();
    let told = crate::release::ends(&sandbox, &["release", "--kubernetes", "1.35"], 4);
    assert!(told.contains("`generated/.gitattributes` is a symbolic link"), "{told}");
    assert!(sandbox.root.join(ATTRIBUTES).is_symlink());
}
