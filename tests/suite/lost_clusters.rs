//! Clusters whose generated files a commit of their own removed: they may still run, whatever their definitions say later.

use std::{fs, path::Path};

use super::{
    cli::ends,
    removal::{DEFINITION, commit, committed, git},
    sandbox,
};

/// A fleet in which a commit removed all generated files, by hand.
fn without_generated() -> tempfile::TempDir {
    let root = committed();
    fs::remove_dir_all(root.path().join("clusters/dev/dev-2.d")).unwrap();
    commit(root.path());
    by_hand(root.path(), || fs::remove_dir_all(root.path().join("generated")).unwrap());
    root
}

fn by_hand(root: &Path, change: impl FnOnce()) {
    change();
    git(root, &["add", "--all"]);
    git(root, &["commit", "--quiet", "--message", "by hand"]);
}

const ALL: [&[&str]; 4] = [&["check"], &["generate"], &["generate", "--commit"], &["generate", "--check"]];

#[test]
fn a_name_or_namespace_that_changes_after_the_files_went_is_refused() {
    let name = DEFINITION.replace("name: dev-2", "name: dev-3").replace("replicas: 2", "replicas: 1");
    let namespace = DEFINITION.replace("name: dev-2 }", "name: dev-2, namespace: team-b }");
    for (text, heir) in [(&name, "team-a/dev-3"), (&namespace, "team-b/dev-2")] {
        for is_committed in [false, true] {
            let root = without_generated();
            let root = root.path();
            let file = root.join("clusters/dev/dev-2.yaml");
            sandbox::write(&file, text);
            if is_committed {
                by_hand(root, || {});
            }
            for arguments in [&["check"][..], &["generate", "--commit"]] {
                let refused = ends(root, arguments, 1).err;
                let why = format!("the definition of `team-a/dev-2` now defines `{heir}`");
                assert!(refused.contains("error[renamed]") && refused.contains(&why), "{refused}");
                assert!(refused.contains("removed its generated files"), "{refused}");
            }
            assert!(!root.join("generated").exists());
            // With its old name, it is what it was.
            sandbox::write(&file, DEFINITION);
            ends(root, &["generate", "--commit", "--all"], 0);
        }
    }
}

#[test]
fn a_name_that_changes_with_the_file_or_before_the_files_go_is_refused() {
    let renamed = DEFINITION.replace("name: dev-2", "name: dev-3");
    let root = without_generated();
    let root = root.path();
    by_hand(root, || {
        fs::remove_file(root.join("clusters/dev/dev-2.yaml")).unwrap();
        sandbox::write(&root.join("clusters/dev/dev-3.yaml"), &renamed);
    });
    for arguments in ALL {
        let refused = ends(root, arguments, 1).err;
        assert!(
            refused.contains("error[renamed]") && refused.contains("clusters/dev/dev-3.yaml:4"),
            "{refused}"
        );
    }

    let root = committed();
    let root = root.path();
    fs::remove_dir_all(root.join("clusters/dev/dev-2.d")).unwrap();
    commit(root);
    by_hand(root, || sandbox::write(&root.join("clusters/dev/dev-2.yaml"), &renamed));
    by_hand(root, || fs::remove_dir_all(root.join("generated")).unwrap());
    assert!(ends(root, &["generate"], 1).err.contains("error[renamed]"));
}

#[test]
fn another_management_cluster_after_the_files_went_is_refused() {
    let root = without_generated();
    let root = root.path();
    let fleet = fs::read_to_string(root.join("stackloom.yaml")).unwrap();
    let with = |second: &str| {
        fleet.replace("    - name: mgmt\n", &format!("    - name: mgmt\n    - name: other{second}\n"))
    };
    sandbox::write(&root.join("stackloom.yaml"), with(""));
    let moved = DEFINITION.replace("spec:\n", "spec:\n  managementCluster: other\n");
    sandbox::write(&root.join("clusters/dev/dev-2.yaml"), &moved);
    for arguments in ALL {
        let refused = ends(root, arguments, 1).err;
        assert!(refused.contains("error[moved]") && refused.contains("built a second time"), "{refused}");
        assert!(refused.contains("removed its generated files"), "{refused}");
    }
    sandbox::write(&root.join("stackloom.yaml"), with("\n      standby: true"));
    let standby = ends(root, &["generate", "--commit", "--all"], 0).err;
    assert!(standby.contains("warning[moved]"), "{standby}");
}

#[test]
fn a_definition_that_goes_after_the_files_is_reported() {
    let root = without_generated();
    let root = root.path();
    ends(root, &["generate", "--commit"], 0);
    let files = root.join("generated/management/mgmt/clusters/team-a/dev-2");
    by_hand(root, || fs::remove_dir_all(&files).unwrap());
    let definition = root.join("clusters/dev/dev-2.yaml");
    fs::remove_file(&definition).unwrap();
    let gone = "warning[abandoned]: the cluster `team-a/dev-2` no longer has a definition";
    let uncommitted = ends(root, &["check"], 0).err;
    assert!(
        uncommitted.contains(gone) && uncommitted.contains("removed its generated files"),
        "{uncommitted}"
    );
    by_hand(root, || {});
    let committed = ends(root, &["check"], 0).err;
    assert!(committed.contains(gone) && committed.contains("removed its generated files"), "{committed}");
    // The run that tells it is the last, once something is generated and committed again.
    sandbox::write(&root.join("clusters/dev/dev-4.yaml"), DEFINITION.replace("name: dev-2", "name: dev-4"));
    let told = ends(root, &["generate", "--commit", "--all"], 0).err;
    assert!(told.contains(gone) && !told.contains("renamed"), "{told}");
    let later = ends(root, &["check"], 0).err;
    assert!(!later.contains("abandoned"), "{later}");
}

#[test]
fn a_cluster_that_was_given_up_leaves_its_file_and_its_name_to_others() {
    let root = committed();
    let root = root.path();
    let definition = root.join("clusters/dev/dev-2.yaml");
    fs::remove_dir_all(root.join("clusters/dev/dev-2.d")).unwrap();
    commit(root);
    fs::remove_file(&definition).unwrap();
    // The run removes the generated files, and a person the definition afterwards.
    assert!(ends(root, &["generate", "--commit"], 0).err.contains("abandoned"));
    sandbox::write(&definition, DEFINITION.replace("name: dev-2", "name: dev-3"));
    assert!(!ends(root, &["check"], 0).err.contains("abandoned"));
    by_hand(root, || fs::remove_file(&definition).unwrap());
    sandbox::write(&definition, DEFINITION.replace("name: dev-2 }", "name: dev-2, namespace: team-b }"));
    assert!(!ends(root, &["generate", "--commit", "--all"], 0).err.contains("renamed"));
}
