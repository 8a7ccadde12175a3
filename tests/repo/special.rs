//! Links, pipes, sockets and folders in the place of generated files: none of them is followed, waited for or replaced.

use std::{fs, os::unix::fs::symlink, os::unix::net::UnixListener, process::Command};

use stackloom::{
    io::{
        disk::{CheckSink, DiskSink},
        git::CommitSink,
    },
    tree::Sink,
};

use crate::sandbox::{self, Sandbox, base, cluster, codes, run};

const CLUSTER: &str = "generated/management/mgmt/clusters/team-a/one/cluster.yaml";
const ATTRIBUTES: &str = "generated/.gitattributes";

/// Replaces a file with something else.
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
fn a_link_or_pipe_in_place_of_a_tracked_file_stops_the_run() {
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

/// Runs the program as a user with limited permissions. If the test runs as root, who can read every file, that user is
/// nobody.
fn as_nobody(sandbox: &Sandbox, arguments: &[&str]) -> (Option<i32>, String) {
    use std::os::unix::{fs::PermissionsExt as _, process::CommandExt as _};
    let program = sandbox.outside().join("stackloom");
    let mut command = Command::new(env!("CARGO_BIN_EXE_stackloom"));
    if fs::metadata("/proc/self").is_ok_and(|found| std::os::unix::fs::MetadataExt::uid(&found) == 0) {
        for folder in [&sandbox.root, &sandbox.outside()] {
            for above in folder.ancestors().filter(|above| above.starts_with(std::env::temp_dir())) {
                let mode = fs::metadata(above).unwrap().permissions().mode();
                fs::set_permissions(above, fs::Permissions::from_mode(mode | 0o055)).unwrap();
            }
        }
        if !program.exists() {
            sandbox::copy_program(env!("CARGO_BIN_EXE_stackloom").as_ref(), &program);
        }
        command = Command::new(&program);
        command.uid(65534).gid(65534);
    }
    command
        .current_dir(&sandbox.root)
        .args(arguments)
        .env("NO_COLOR", "1")
        .env("STACKLOOM_TODAY", "2026-11-23")
        .env("HOME", "/nowhere");
    let output = command.output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn unreadable_files_are_reported_with_all_other_errors() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = Sandbox::new();
    let base = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/_base");
    crate::release::copy(&base, &sandbox.root);
    let (code, printed) = as_nobody(&sandbox, &["check"]);
    assert_eq!(code, Some(0), "{printed}");
    let one = "clusters/blue/one.yaml";
    sandbox.write("clusters/green/two.yaml", "kind: Nothing\n");
    for (path, mode, reason) in [
        (one, 0o000, "error[unreadable]: cannot read this: permission denied"),
        ("stacks/test/tiny/addons", 0o000, "error[unreadable]: cannot read this: permission denied"),
        ("stacks/test/tiny/addons/net", 0o444, "error[unreadable]"),
        ("stackloom.yaml", 0o000, "error[unreadable]: cannot read this: permission denied"),
    ] {
        let file = sandbox.root.join(path);
        let was = fs::metadata(&file).unwrap().permissions();
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let (code, printed) = as_nobody(&sandbox, &["check"]);
        fs::set_permissions(&file, was).unwrap();
        assert_eq!(code, Some(1), "{path}\n{printed}");
        assert!(printed.to_lowercase().contains(reason) && printed.contains(path), "{path}\n{printed}");
        assert!(printed.contains("make it readable"), "{printed}");
        assert!(printed.contains("clusters/green/two.yaml"), "{path} hides another error\n{printed}");
    }
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
    fs::write(&elsewhere, stackloom::render::GITATTRIBUTES).unwrap();
    fs::create_dir_all(sandbox.root.join("generated")).unwrap();
    symlink(&elsewhere, sandbox.root.join(ATTRIBUTES)).unwrap();
    let printed = crate::release::ends(&sandbox, &["release", "--kubernetes", "1.35"], 4);
    assert!(printed.contains("`generated/.gitattributes` is a symbolic link"), "{printed}");
    assert!(sandbox.root.join(ATTRIBUTES).is_symlink());
}
