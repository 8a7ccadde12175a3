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

const FOLDER: &str = "generated/management/mgmt/clusters/team-a/dev-2";

/// A fleet in which a commit changed only the Cluster object of `dev-2`, by hand, and whose definition goes with the next one.
fn with_object(change: impl FnOnce(&Path)) -> tempfile::TempDir {
    let root = committed();
    fs::remove_dir_all(root.path().join("clusters/dev/dev-2.d")).unwrap();
    commit(root.path());
    by_hand(root.path(), || change(&root.path().join(FOLDER).join("cluster/cluster.yaml")));
    fs::remove_file(root.path().join("clusters/dev/dev-2.yaml")).unwrap();
    root
}

/// The effects on the cluster `dev-2`, and the errors.
fn against_head(root: &Path) -> (Vec<String>, Vec<String>) {
    let report = super::cli::json(root, &["diff", "HEAD", "--fail-on", "unknown,deletes"], 1);
    let clusters = report["clusters"].as_array().unwrap();
    let changes = clusters.iter().flat_map(|one| one["changes"].as_array().unwrap());
    let effects = changes.filter(|one| one["part"] == "cluster");
    let errors = report["diagnostics"].as_array().unwrap().iter().filter(|one| one["severity"] == "error");
    let of = |one: &serde_json::Value, key: &str| one[key].as_str().unwrap().to_owned();
    (effects.map(|one| of(one, "effect")).collect(), errors.map(|one| of(one, "code")).collect())
}

#[test]
fn a_cluster_whose_object_alone_left_git_by_hand_does_not_end_its_removal() {
    let known = with_object(|file| fs::remove_file(file).unwrap());
    let unknown = with_object(|file| fs::remove_file(file).unwrap());
    // Without history, nothing tells what became of the object.
    git(unknown.path(), &["stash", "--quiet"]);
    git(unknown.path(), &["checkout", "--quiet", "--orphan", "alone"]);
    by_hand(unknown.path(), || {});
    git(unknown.path(), &["stash", "pop", "--quiet"]);
    for (root, effect) in [(&known, "abandoned"), (&unknown, "gone")] {
        let (effects, errors) = against_head(root.path());
        assert_eq!((effects, errors), (vec![effect.to_owned()], vec!["abandoned".to_owned()]));
        let checked = ends(root.path(), &["check", "--against", "HEAD"], 1).err;
        assert!(
            checked.contains("error[abandoned]") && checked.contains("clusters/dev/dev-2.yaml"),
            "{checked}"
        );
        ends(root.path(), &["diff", "HEAD", "--fail-on", "unannounced-deletes"], 1);
    }
}

#[test]
fn a_cluster_that_was_lost_once_can_be_removed_in_steps() {
    let root = committed();
    let root = root.path();
    fs::remove_dir_all(root.join("clusters/dev/dev-2.d")).unwrap();
    commit(root);
    by_hand(root, || {
        fs::remove_file(root.join("clusters/dev/dev-2.yaml")).unwrap();
        fs::remove_dir_all(root.join(FOLDER)).unwrap();
    });
    git(root, &["revert", "--no-edit", "HEAD"]);
    ends(root, &["generate", "--check"], 0);
    for said in ["begins its removal", "is deleted", "ends its removal"] {
        ends(root, &["remove", "dev-2", "--reason", "not needed"], 0);
        ends(root, &["generate", "--commit", "--all"], 0);
        let report = ends(root, &["diff", "HEAD~1"], 0).out;
        assert!(report.contains(said), "{report}");
        ends(root, &["check", "--against", "HEAD~1"], 0);
    }
}

#[test]
fn a_cluster_whose_object_cannot_be_read_does_not_end_its_removal() {
    let root = with_object(|file| {
        let text = fs::read_to_string(file).unwrap();
        sandbox::write(file, text + "<<<<<<< HEAD\n");
    });
    let (effects, errors) = against_head(root.path());
    assert_eq!((effects, errors), (vec!["unknown".to_owned()], vec!["abandoned".to_owned()]));
    #[cfg(unix)]
    {
        let root = with_object(|file| {
            fs::remove_file(file).unwrap();
            std::os::unix::fs::symlink("/nowhere", file).unwrap();
        });
        let (effects, errors) = against_head(root.path());
        assert_eq!((effects, errors), (vec!["gone".to_owned()], vec!["abandoned".to_owned()]));
        ends(root.path(), &["check", "--against", "HEAD"], 1);
    }
}

#[test]
fn files_of_others_in_the_folder_of_clusters_do_not_end_a_removal() {
    let root = committed();
    let foreign = root.path().join("generated/management/mgmt/clusters/zz/foo/x.yaml");
    by_hand(root.path(), || {
        fs::create_dir_all(foreign.parent().unwrap()).unwrap();
        sandbox::write(&foreign, "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: x }\n");
    });
    let (effects, errors) = against_head(root.path());
    assert_eq!((effects, errors), (vec!["gone".to_owned()], Vec::new()));
}

#[test]
fn a_file_of_an_addon_that_cannot_be_read_does_not_block_its_repair() {
    for engine in ["flux", "argocd"] {
        let root = super::cli::fleet();
        let root = root.path();
        let fleet = fs::read_to_string(root.join("stackloom.yaml")).unwrap();
        sandbox::write(
            &root.join("stackloom.yaml"),
            fleet.replace("engine: flux", &format!("engine: {engine}")),
        );
        sandbox::write(&root.join("clusters/dev/dev-2.yaml"), DEFINITION);
        commit(root);
        let file = root.join(FOLDER).join("addons/cilium.yaml");
        let whole = fs::read_to_string(&file).unwrap();
        by_hand(root, || {
            let broken = whole.replacen("\n  namespace: ", "\n<<<<<<< HEAD\n  namespace: ", 1);
            assert_ne!(broken, whole);
            sandbox::write(&file, broken);
        });
        let report = super::cli::json(root, &["diff", "HEAD"], 0);
        assert_eq!(report["clusters"][0]["risk"], "unknown", "{report:#}");
        let reason = report["clusters"][0]["changes"][0]["reasons"][0].as_str().unwrap();
        assert!(reason.starts_with("a file cannot be read (before the change): generated/"), "{reason}");
        ends(root, &["check", "--against", "HEAD"], 0);
        ends(root, &["generate", "--commit", "--all"], 0);
        assert_eq!(fs::read_to_string(&file).unwrap(), whole);
    }
}

#[test]
fn of_equal_clusters_only_what_is_known_is_said() {
    let named = |name: &str| DEFINITION.replace("name: dev-2", &format!("name: {name}"));
    let begin = || {
        let root = committed();
        fs::remove_dir_all(root.path().join("clusters/dev/dev-2.d")).unwrap();
        sandbox::write(&root.path().join("clusters/dev/dev-3.yaml"), named("dev-3"));
        commit(root.path());
        fs::remove_file(root.path().join("clusters/dev/dev-2.yaml")).unwrap();
        root
    };
    // One is deleted, and the other has another name.
    let root = begin();
    let file = root.path().join("clusters/dev/dev-3.yaml");
    sandbox::write(&file, named("dev-4"));
    let said = ends(root.path(), &["generate"], 1).err;
    assert!(said.contains("the definition of `team-a/dev-3` now defines `team-a/dev-4`"), "{said}");
    assert!(!said.contains("the definition of `team-a/dev-2`"), "{said}");
    // Only one of them is gone, and the new one has another namespace, too.
    let root = begin();
    let elsewhere = named("dev-4").replace("name: dev-4 }", "name: dev-4, namespace: team-b }");
    sandbox::write(&root.path().join("clusters/dev/dev-4.yaml"), elsewhere);
    let said = ends(root.path(), &["generate"], 1).err;
    assert!(
        said.contains(
            "`team-a/dev-2` no longer has a definition, and `team-b/dev-4`, which has the same spec"
        ),
        "{said}"
    );
    assert!(said.contains("restore the name `dev-2` and the namespace `team-a`"), "{said}");
    // Both have another name, in other files.
    let root = begin();
    fs::remove_file(root.path().join("clusters/dev/dev-3.yaml")).unwrap();
    for name in ["dev-4", "dev-5"] {
        sandbox::write(&root.path().join(format!("clusters/dev/{name}.yaml")), named(name));
    }
    let said = ends(root.path(), &["generate"], 1).err;
    assert_eq!(said.matches("may have turned into `team-a/dev-4` or `team-a/dev-5`").count(), 2, "{said}");
    assert!(said.contains("error[renamed]") && !said.contains("now defines"), "{said}");
}
