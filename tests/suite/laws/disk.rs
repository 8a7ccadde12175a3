//! The tree on disk is written completely or not at all, and damage is repaired.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use stackloom::{
    generate::Failure,
    io::disk::{DiskSink, Workspace},
    note::Fault,
    world::Files,
};

use super::super::{sandbox, support};

fn lay(files: &Files) -> tempfile::TempDir {
    let root = sandbox::folder();
    for (path, text) in &files.0 {
        sandbox::write(&root.path().join(path), text);
    }
    root
}

#[test]
fn a_fault_in_the_last_of_a_thousand_leaves_the_first_as_it_was() {
    const COUNT: usize = 1000;
    let root = lay(&support::many(COUNT));
    sandbox::to_disk(root.path());
    let before = sandbox::snapshot(&root.path().join("generated"));
    let (first, text) = support::cluster(0);
    sandbox::write(&root.path().join(first), text.replace("motd: cluster 0", "motd: another text"));
    let (last, text) = support::cluster(COUNT - 1);
    sandbox::write(&root.path().join(last), text.replace("motd: ", "modt: "));
    let world = Workspace::open(root.path()).unwrap();
    let (done, notes) = sandbox::run(&world, &mut DiskSink::new(&world));
    assert!(matches!(done, Err(Failure::Input)), "{}", sandbox::messages(&notes));
    assert_eq!(notes.errors(), 1, "{}", sandbox::messages(&notes));
    let after = sandbox::snapshot(&root.path().join("generated"));
    assert!(before == after, "something was written");
}

#[test]
fn damaged_and_missing_files_are_repaired() {
    let root = lay(&support::inmemory());
    sandbox::to_disk(root.path());
    let generated = root.path().join("generated");
    let before = sandbox::snapshot(&generated);
    let files: Vec<_> = before.keys().filter(|path| generated.join(path).is_file()).collect();
    for (at, path) in files.iter().enumerate() {
        let file = generated.join(path);
        match at % 4 {
            0 => fs::remove_file(file).unwrap(),
            1 => fs::write(file, "").unwrap(),
            2 => fs::write(file, &before[*path][..before[*path].len() - 1]).unwrap(),
            _ => {}
        }
    }
    let generation = sandbox::to_disk(root.path());
    assert_eq!(generation.changes.files.len(), files.len() - files.len() / 4);
    assert!(before == sandbox::snapshot(&generated));
    fs::remove_dir_all(generated.join("management/mgmt/clusters")).unwrap();
    sandbox::to_disk(root.path());
    assert!(before == sandbox::snapshot(&generated));
}

/// Ends a run at a step, as if the process were killed there.
fn killed_at(root: &std::path::Path, step: usize) -> bool {
    let world = Workspace::open(root).unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let mut sink = DiskSink::new(&world).on_milestone(move |_| {
        if count.fetch_add(1, Ordering::Relaxed) == step { Err(Fault::new("killed")) } else { Ok(()) }
    });
    let (done, _) = sandbox::run(&world, &mut sink);
    matches!(done, Err(Failure::World(_)))
}

#[test]
fn a_run_that_was_killed_is_repaired_by_the_next() {
    let files = support::inmemory();
    let expected = super::tree(&files);
    let (mut step, mut killed) = (0, 0);
    loop {
        let root = lay(&files);
        let ended = killed_at(root.path(), step);
        sandbox::to_disk(root.path());
        let found = sandbox::snapshot(root.path());
        for (path, text) in &expected {
            assert_eq!(
                found.get(path).map(Vec::as_slice),
                Some(text.as_bytes()),
                "{path}, killed at step {step}"
            );
        }
        assert!(!found.keys().any(|path| path.contains("staged")), "killed at step {step}");
        if !ended {
            break;
        }
        killed += 1;
        step += 7;
    }
    assert!(killed > 5, "killed {killed} times");
}
