//! `stackloom rename`: what it moves, refuses and leaves alone.

use std::{fs, path::Path};

use serde_json::json;
use stackloom::io::disk;

use super::{
    cli::{ends, json},
    sandbox, support,
};

/// The small fleet. The first cluster has objects of its own, and the folder `red` has other defaults.
fn fleet() -> tempfile::TempDir {
    let root = sandbox::folder();
    sandbox::copy(&support::package().join("tests/fleets/inmemory"), root.path());
    let write = |path: &str, text: &str| sandbox::write(&root.path().join(path), text);
    write(
        "clusters/blue/one.d/quota.yaml",
        "apiVersion: v1\nkind: ResourceQuota\nmetadata:\n  name: own\n  namespace: blue\n",
    );
    write(
        "clusters/red/_defaults.yaml",
        "apiVersion: stackloom.dev/v1alpha1\nkind: ClusterDefaults\nmetadata:\n  labels:\n    color: red\n",
    );
    root
}

fn is_there(root: &Path, path: &str) -> bool {
    root.join(path).symlink_metadata().is_ok()
}

#[test]
fn impossible_moves_are_refused_and_nothing_is_written() {
    let root = fleet();
    sandbox::write(&root.path().join("clusters/blue/three.d/x.yaml"), "# nothing yet\n");
    #[cfg(unix)]
    std::os::unix::fs::symlink("two.yaml", root.path().join("clusters/green/link.yaml")).unwrap();
    let before = sandbox::snapshot(root.path());
    for (subject, new, words) in [
        ("nobody", "other", "there is no cluster `nobody`"),
        ("one", "One", "cannot be the name of a cluster"),
        ("one", "one", "it is already there"),
        ("one", "two", "`rename` never overwrites anything"),
        ("two", "three", "would become part of this cluster"),
        ("one", "clusters/blue/one.txt", "cannot be the file of a definition"),
        ("one", "clusters/blue/_defaults.yaml", "cannot be the file of a definition"),
        ("one", "clusters/.hidden/", "no definition is read from"),
        ("one", "clusters/blue/one.d/", "no definition is read from"),
        ("one", "../one.yaml", "no definition is read from"),
        ("one", "stacks/one.yaml", "no definition is read from"),
        ("one", "clusters/red/", "+     color: red"),
        ("clusters/blue", "clusters/blue/more", "cannot become"),
        ("clusters/blue", "clusters/green", "never overwrites anything"),
        #[cfg(unix)]
        ("clusters/green", "clusters/grey", "this is a link"),
    ] {
        let refused = ends(root.path(), &["rename", subject, new, "--move-file"], 1);
        assert!(refused.err.contains(words), "{subject} {new}: {}", refused.err);
    }
    assert!(before == sandbox::snapshot(root.path()), "something was written");
}

/// What it lacks there is said before it moves, and about the file that exists.
#[test]
fn a_folder_without_the_defaults_that_a_definition_needs_is_refused() {
    let root = fleet();
    let root = root.path();
    fs::rename(root.join("clusters/_defaults.yaml"), root.join("clusters/blue/_defaults.yaml")).unwrap();
    fs::remove_dir_all(root.join("clusters/green")).unwrap();
    let before = sandbox::snapshot(root);
    let refused = ends(root, &["rename", "one", "clusters/red/", "--move-file"], 1).err;
    for words in [
        "error[effect]: the defaults of `clusters/red` lack what this definition needs: no release is set for the cluster\n",
        "--> clusters/blue/one.yaml\n",
        "into `clusters/red/_defaults.yaml`",
    ] {
        assert!(refused.contains(words), "{words}: {refused}");
    }
    assert!(!refused.contains("clusters/red/one.yaml"), "{refused}");
    assert!(before == sandbox::snapshot(root), "something was written");
}

#[test]
fn a_definition_moves_and_its_cluster_stays() {
    let root = fleet();
    let root = root.path();
    ends(root, &["generate"], 0);
    let before = sandbox::snapshot(root);
    let reported = ends(root, &["rename", "one", "uno"], 0);
    for words in [
        "Cluster API cannot rename a cluster: `uno` would be another cluster",
        "(nothing was written)",
        "clusters/blue/one.d -> clusters/blue/uno.d",
        "stackloom rename one uno --move-file",
        "stackloom new cluster uno",
        "stackloom remove one --reason \"uno replaces it\"",
    ] {
        assert!(reported.out.contains(words), "{words}: {}", reported.out);
    }
    assert!(before == sandbox::snapshot(root), "something was written");

    let moved = json(root, &["rename", "one", "clusters/blue/deep/", "--move-file"], 0);
    assert_eq!(moved["cluster"], json!({"managementCluster": "mgmt", "namespace": "blue", "name": "one"}));
    assert_eq!(moved["moves"][0]["to"], "clusters/blue/deep/one.yaml");
    assert_eq!(moved["moves"][1]["to"], "clusters/blue/deep/one.d");
    assert_eq!(moved["written"], true);
    // `generate` finds exactly the announced changes.
    let changed = ends(root, &["generate", "--check"], 3).out;
    let changed: Vec<&str> = changed.lines().filter_map(|line| line.strip_prefix("~ ")).collect();
    assert_eq!(json!(changed), moved["changed"]);
    assert_eq!(changed.len(), 1);
    assert!(!is_there(root, "clusters/blue/one.yaml") && !is_there(root, "clusters/blue/one.d"));

    // Back again, as a whole folder; nothing remains in the old place.
    fs::remove_dir_all(root.join("clusters/red")).unwrap();
    let folder = ends(root, &["rename", "clusters/blue/deep", "clusters/red", "--move-file"], 0);
    assert!(folder.out.contains("the folder moves:\n  clusters/blue/deep -> clusters/red"), "{}", folder.out);
    assert!(is_there(root, "clusters/red/one.d/quota.yaml") && !is_there(root, "clusters/blue/deep"));
    ends(root, &["rename", "one", "clusters/blue/", "--move-file"], 0);
    ends(root, &["generate", "--check"], 0);
}

/// A run that is killed between its two moves: whatever comes next, nothing is lost, and the same command moves both.
#[test]
fn what_a_killed_run_left_half_moved_is_undone_by_the_next() {
    let root = fleet();
    let root = root.path();
    let before = sandbox::snapshot(root);
    let pair = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    let moves = vec![
        pair("clusters/blue/one.d", "clusters/blue/uno.d"),
        pair("clusters/blue/one.yaml", "clusters/blue/uno.yaml"),
    ];
    for killed_after in 0..=2 {
        let mut run = disk::Moves::begin(root, moves.clone()).unwrap();
        for _ in 0..killed_after {
            assert!(run.step().unwrap());
        }
        if killed_after == 1 {
            let refused = ends(root, &["generate"], 1).err;
            assert!(refused.contains("run it again with `--move-file`"), "{refused}");
        }
        drop(run);
        // One that only asks changes nothing but what was left behind.
        let refused = ends(root, &["rename", "nobody", "other", "--move-file"], 1).err;
        assert!(refused.contains("an earlier `rename` was interrupted"), "{refused}");
        assert!(before == sandbox::snapshot(root), "after {killed_after} moves");
    }
    disk::Moves::begin(root, moves).unwrap().step().unwrap();
    ends(root, &["rename", "one", "uno", "--move-file"], 0);
    assert!(is_there(root, "clusters/blue/uno.d/quota.yaml") && is_there(root, "clusters/blue/uno.yaml"));
    assert!(!is_there(root, "clusters/blue/one.yaml") && !is_there(root, "clusters/blue/one.d"));
    assert_eq!(sandbox::snapshot(root).len(), before.len());
}

#[test]
fn a_definition_that_cannot_be_read_is_named() {
    let root = fleet();
    let broken = root.path().join("clusters/blue/two.yaml");
    for (text, words) in [("spec: [", "error[yaml-syntax]"), ("kind: Other", "error[wrong-kind]")] {
        sandbox::write(&broken, text);
        for subject in ["two", "clusters/blue/two.yaml"] {
            let refused = ends(root.path(), &["rename", subject, "other"], 1).err;
            assert!(
                refused.contains(words) && refused.contains("--> clusters/blue/two.yaml:1:"),
                "{refused}"
            );
            assert!(!refused.contains("there is no cluster"), "{refused}");
        }
        let other = ends(root.path(), &["rename", "nobody", "other"], 1).err;
        assert!(other.contains("there is no cluster `nobody`"), "{other}");
        ends(root.path(), &["rename", "one", "other"], 0);
    }
}

#[test]
fn files_with_errors_elsewhere_are_left_out() {
    let root = fleet();
    let root = root.path();
    sandbox::write(&root.join("clusters/green/broken.yaml"), "x: [\n");
    let moved = ends(root, &["rename", "one", "clusters/blue/first.yaml"], 0);
    assert!(
        moved.err.contains("warning[left-out]: skipped because of errors: `clusters/green/broken.yaml`"),
        "{}",
        moved.err
    );
    assert!(!moved.err.contains("error["), "{}", moved.err);
}
