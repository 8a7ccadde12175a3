//! Runs that generate only a part of the tree: anything with errors or not selected stays as it is.

use std::{fs, path::Path};

use serde_json::json as document;

use super::{
    cli::{ends, environment, json},
    sandbox, support,
};

/// The base fleet for faults, with a third cluster on its own stack, and its tree.
pub(super) fn fleet() -> tempfile::TempDir {
    let root = sandbox::folder();
    sandbox::copy(&support::package().join("tests/cases/_base"), root.path());
    sandbox::copy(&root.path().join("stacks/test/tiny"), &root.path().join("stacks/test/small"));
    edit(root.path(), "stacks/test/small/stack.yaml", "name: tiny", "name: small");
    let own = fs::read_to_string(root.path().join("clusters/blue/one.yaml")).unwrap();
    let own = own.replace("name: one", "name: three").replace("spec:\n", "spec:\n  stack: test/small\n");
    sandbox::write(&root.path().join("clusters/blue/three.yaml"), own);
    ends(root.path(), &["generate"], 0);
    root
}

fn edit(root: &Path, path: &str, from: &str, to: &str) {
    let text = fs::read_to_string(root.join(path)).unwrap();
    assert!(text.contains(from), "{path} has no {from}");
    sandbox::write(&root.join(path), text.replacen(from, to, 1));
}

/// The files that a run changes below `generated/`.
fn changed(root: &Path, arguments: &[&str], code: i32) -> (Vec<String>, serde_json::Value) {
    let before = sandbox::snapshot(&root.join("generated"));
    let reported = json(root, arguments, code);
    let after = sandbox::snapshot(&root.join("generated"));
    let paths = before.keys().chain(after.keys()).filter(|path| before.get(*path) != after.get(*path));
    let mut paths: Vec<_> = paths.cloned().collect();
    paths.sort();
    paths.dedup();
    (paths, reported)
}

fn left(reported: &serde_json::Value) -> Vec<String> {
    reported["left"]
        .as_array()
        .unwrap()
        .iter()
        .map(|left| left["file"].as_str().unwrap().to_owned())
        .collect()
}

const TWO: &str = "management/mgmt/clusters/green/two/cluster/cluster.yaml";

/// Faults: file, old text, new text, and the clusters left out because of it.
const FAULTS: [(&str, &str, &str, &[&str]); 7] = [
    ("clusters/blue/one.yaml", "replicas: 2", "replicas: : 2", &["blue/one"]),
    ("clusters/blue/one.yaml", "replicas: 2", "replicsa: 2", &["blue/one"]),
    ("clusters/blue/one.yaml", "class: worker", "class: wrker", &["blue/one"]),
    ("clusters/blue/one.yaml", "spec:", "spec:\n  controlPlane: { replicas: 2 }", &["blue/one"]),
    ("stacks/test/small/stack.yaml", "kind: Stack", "kind: Stak", &["blue/three"]),
    ("stacks/test/small/cluster/facts.yaml", "kind: ConfigMap", "kind: ${{ cluster.nope }}", &["blue/three"]),
    (
        "stacks/test/small/cluster-class/class.yaml",
        "kind: ClusterClass",
        "kind: ${{ nope }}",
        &["blue/three"],
    ),
];

#[test]
fn an_error_stops_only_its_own_cluster() {
    for (path, from, to, clusters) in FAULTS {
        let root = fleet();
        let root = root.path();
        edit(root, path, from, to);
        edit(root, "clusters/green/two.yaml", "replicas: 3", "replicas: 5");
        let (nothing, _) = changed(root, &["generate"], 1);
        assert!(nothing.is_empty(), "{path} {to}: {nothing:?}");
        let (paths, reported) = changed(root, &["generate", "--keep-going"], 1);
        assert_eq!(paths, [TWO], "{path} {to}");
        let files: Vec<_> = clusters.iter().map(|cluster| format!("clusters/{cluster}.yaml")).collect();
        assert_eq!(left(&reported), files, "{path} {to}\n{reported:#}");
        assert!(!reported["diagnostics"].as_array().unwrap().is_empty());
        let (paths, _) = changed(root, &["generate", "--keep-going"], 1);
        assert!(paths.is_empty(), "again: {paths:?}");
    }
}

#[test]
fn a_foreign_file_in_a_clusters_folder_stops_that_cluster_only() {
    let root = fleet();
    let root = root.path();
    let own = root.join("generated/management/mgmt/clusters/blue/one/own.yaml");
    let cluster = root.join("generated").join(TWO);
    for foreign in [true, false] {
        edit(root, "clusters/green/two.yaml", "replicas: 3", "replicas: 5");
        edit(root, "clusters/blue/one.yaml", "replicas: 2", "replicas: 4");
        if foreign {
            sandbox::write(&own, "kind: ConfigMap\n");
        } else {
            fs::remove_file(&own).unwrap();
            std::os::unix::fs::symlink(&cluster, &own).unwrap();
        }
        let (nothing, _) = changed(root, &["generate"], 1);
        assert!(nothing.is_empty(), "{nothing:?}");
        let (paths, reported) = changed(root, &["generate", "--keep-going"], 1);
        assert_eq!(paths, [TWO]);
        assert_eq!(left(&reported), ["clusters/blue/one.yaml"]);
        let codes: Vec<_> =
            reported["diagnostics"].as_array().unwrap().iter().map(|one| &one["code"]).collect();
        assert_eq!(codes, [if foreign { "foreign-file" } else { "linked-output" }]);
        edit(root, "clusters/green/two.yaml", "replicas: 5", "replicas: 3");
        edit(root, "clusters/blue/one.yaml", "replicas: 4", "replicas: 2");
        ends(root, &["generate", "--keep-going"], 1);
    }
    // Files elsewhere do no harm.
    fs::rename(&own, root.join("generated/own.yaml")).unwrap();
    edit(root, "clusters/green/two.yaml", "replicas: 3", "replicas: 5");
    let (paths, _) = changed(root, &["generate", "--keep-going"], 0);
    assert_eq!(paths, [TWO]);
}

#[test]
fn a_fault_of_defaults_leaves_their_folder_and_one_of_the_fleet_stops_all() {
    let root = fleet();
    let root = root.path();
    sandbox::write(
        &root.join("clusters/blue/_defaults.yaml"),
        "apiVersion: stackloom.dev/v1alpha1\nkind: ClusterDefaults\nspec: { replicas: 1 }\n",
    );
    edit(root, "clusters/green/two.yaml", "replicas: 3", "replicas: 5");
    let (paths, reported) = changed(root, &["generate", "--keep-going"], 1);
    assert_eq!(paths, [TWO]);
    assert_eq!(left(&reported), ["clusters/blue/one.yaml", "clusters/blue/three.yaml"]);
    edit(root, "clusters/green/two.yaml", "replicas: 5", "replicas: 7");
    edit(root, "stackloom.yaml", "engine: flux", "engine: fux");
    let (paths, _) = changed(root, &["generate", "--keep-going"], 1);
    assert!(paths.is_empty(), "{paths:?}");
}

#[test]
fn two_definitions_of_one_cluster_are_both_left() {
    let root = fleet();
    let root = root.path();
    fs::copy(root.join("clusters/green/two.yaml"), root.join("clusters/green/again.yaml")).unwrap();
    edit(root, "clusters/green/again.yaml", "replicas: 3", "replicas: 5");
    let (paths, reported) = changed(root, &["generate", "--keep-going"], 1);
    assert!(paths.is_empty(), "{paths:?}");
    assert_eq!(left(&reported), ["clusters/green/again.yaml", "clusters/green/two.yaml"]);
}

#[test]
fn only_what_is_named_is_written_whatever_is_wrong_elsewhere() {
    let root = fleet();
    let root = root.path();
    for only in [
        "two",
        "green/two",
        "mgmt/green/two",
        "clusters/green",
        "./clusters/green/",
        "clusters/green/two.yaml",
    ] {
        edit(
            root,
            "clusters/green/two.yaml",
            "kubernetes: \"1.36\"",
            "kubernetes: \"1.36\"\n  suspend: \"yes\"",
        );
        sandbox::write(&root.join("clusters/blue/one.yaml"), "no: [definition\n");
        let (paths, reported) = changed(root, &["generate", "--only", only], 0);
        assert!(paths.contains(&TWO.to_owned()), "{only} {paths:?}");
        assert!(paths.iter().all(|path| path.contains("/green/two/")), "{only} {paths:?}");
        assert_eq!(reported["clusters"].as_array().unwrap().len(), 1);
        assert!(reported["diagnostics"].as_array().unwrap().is_empty(), "{reported:#}");
        edit(root, "clusters/green/two.yaml", "\n  suspend: \"yes\"", "");
        ends(root, &["generate", "--only", only], 0);
    }
    // Its dependencies are generated, too: a changed stack gives a new release, and the old one stays for the others.
    let values = root.join("stacks/test/tiny/addons/net/values.yaml");
    let text = fs::read_to_string(&values).unwrap();
    sandbox::write(&values, text + "more: true\n");
    let (paths, _) = changed(root, &["generate", "--only", "two"], 0);
    let new = |start: &str| paths.iter().any(|path| path.starts_with(start));
    assert!(
        new("releases/test-tiny-1-36-") && new("management/mgmt/flux/releases/test-tiny-1-36-"),
        "{paths:?}"
    );
    assert_eq!(fs::read_dir(root.join("generated/releases")).unwrap().count(), 4);
    for missing in ["tow", "clusters/red", "blue/two"] {
        let none = ends(root, &["generate", "--only", missing], 1);
        assert!(none.err.contains("names no cluster"), "{}", none.err);
        assert!(none.err.contains("`clusters/blue/one.yaml` is skipped"), "{}", none.err);
        assert!(!none.err.contains("flow-in-block") && !none.err.contains("yaml-syntax"), "{}", none.err);
    }
    // A definition that cannot be read is identified by its file name.
    for broken in ["one", "blue/one", "clusters/blue/one.yaml"] {
        let reported = ends(root, &["generate", "--only", broken], 1);
        assert!(
            reported.err.contains("yaml-syntax") && !reported.err.contains("names no cluster"),
            "{}",
            reported.err
        );
    }
}

#[test]
fn requested_definitions_with_errors_are_reported_and_left_unchanged() {
    let root = fleet();
    let root = root.path();
    edit(root, "clusters/blue/one.yaml", "replicas: 2", "replicsa: 2");
    edit(root, "clusters/blue/three.yaml", "replicas: 2", "replicas: 4");
    let (paths, _) = changed(root, &["generate", "--only", "clusters/blue"], 1);
    assert!(paths.is_empty(), "{paths:?}");
    let (paths, reported) = changed(root, &["generate", "--only", "clusters/blue", "--keep-going"], 1);
    assert_eq!(paths, ["management/mgmt/clusters/blue/three/cluster/cluster.yaml"]);
    assert_eq!(left(&reported), ["clusters/blue/one.yaml"]);
    // Files removed from a generated cluster are deleted. Files of clusters without a definition stay until a full run.
    edit(root, "clusters/blue/three.yaml", "spec:\n", "spec:\n  addons: { notes: { enabled: false } }\n");
    fs::remove_file(root.join("clusters/green/two.yaml")).unwrap();
    let (paths, reported) = changed(root, &["generate", "--keep-going"], 1);
    let left: Vec<_> =
        reported["leftParts"].as_array().unwrap().iter().filter_map(|part| part.as_str()).collect();
    assert!(
        left.contains(&"cluster green/two of mgmt") && left.contains(&"namespace green of mgmt"),
        "{left:?}"
    );
    assert!(!left.contains(&"cluster blue/three of mgmt"), "{left:?}");
    assert!(
        paths.contains(&"management/mgmt/clusters/blue/three/addons/notes.manifests.yaml".to_owned()),
        "{paths:?}"
    );
    assert!(paths.iter().all(|path| path.contains("/blue/three/")), "{paths:?}");
}

/// An error in the `.d` folder of a requested cluster is shown, and one in that of another cluster is not.
#[test]
fn errors_in_own_objects_of_a_requested_cluster_are_shown() {
    let root = fleet();
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: { name: one-token, namespace: blue }\nstringData: { a: b }\n";
    sandbox::write(&root.path().join("clusters/blue/one.d/token.yaml"), secret);
    for more in [&[][..], &["--keep-going"]] {
        let own = ends(root.path(), &[&["generate", "--only", "blue/one"], more].concat(), 1);
        assert!(own.err.contains("--> clusters/blue/one.d/token.yaml:2:7"), "{}{}", own.out, own.err);
    }
    let other = ends(root.path(), &["generate", "--only", "blue/three"], 0);
    assert!(!other.err.contains("one.d"), "{}", other.err);
}

#[test]
fn a_commit_of_a_part_has_the_rest_as_head_has_it() {
    let root = fleet();
    let root = root.path();
    git(root, &["init", "--quiet"]);
    git(root, &["add", "--all"]);
    git(root, &["commit", "--quiet", "--message", "all"]);
    edit(root, "clusters/blue/one.yaml", "replicas: 2", "replicsa: 2");
    edit(root, "clusters/green/two.yaml", "replicas: 3", "replicas: 5");
    let three = "generated/management/mgmt/clusters/blue/three/ready/configmap-three.ready.yaml";
    fs::remove_file(root.join(three)).unwrap();
    ends(root, &["generate", "--only", "green/two", "--commit"], 0);
    assert_eq!(git(root, &["show", "--name-only", "--format="]), format!("generated/{TWO}\n"));
    assert_eq!(git(root, &["status", "--short", "generated"]), format!(" D {three}\n"));
    let reported = ends(root, &["generate", "--keep-going", "--commit"], 1);
    assert!(reported.out.contains("; 1 file put back as committed; nothing to commit"), "{}", reported.out);
    assert_eq!(git(root, &["status", "--short", "generated"]), "");
}

fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut command = std::process::Command::new("git");
    environment(command.current_dir(folder).args(arguments));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{arguments:?} {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn commands_that_look_go_on_with_what_is_sound() {
    let root = fleet();
    let root = root.path();
    edit(root, "clusters/blue/one.yaml", "replicas: 2", "replicsa: 2");
    let sound: [&[&str]; 6] = [
        &["topology", "two"],
        &["explain", "two"],
        &["explain", "generated/management/mgmt/clusters/green/two/cluster/cluster.yaml:5"],
        &["affects", "clusters/green/two.yaml"],
        &["releases"],
        &["remove", "two", "--reason", "the project ended", "--dry-run"],
    ];
    for arguments in sound {
        let ran = ends(root, arguments, 0);
        assert!(
            ran.err.contains("skipped because of errors") && ran.err.contains("clusters/blue/one.yaml"),
            "{}",
            ran.err
        );
        assert!(!ran.out.is_empty(), "{arguments:?}");
    }
    let reported = json(root, &["affects", "clusters/green/two.yaml"], 0);
    assert_eq!(reported["leftOut"][0]["file"], "clusters/blue/one.yaml", "{reported:#}");
    let broken: [&[&str]; 4] = [
        &["topology", "one"],
        &["explain", "blue/one"],
        &["affects", "clusters/blue/one.yaml"],
        &["remove", "one", "--reason", "the project ended"],
    ];
    for arguments in broken {
        let ran = ends(root, arguments, 1);
        assert!(ran.err.contains("replicsa"), "{arguments:?}: {}", ran.err);
    }
}

/// A cluster that depends on something faulty is faulty, too, and the message names the cause.
#[test]
fn a_cluster_of_a_broken_stack_is_left_out_and_says_why() {
    let root = fleet();
    let root = root.path();
    edit(root, "stacks/test/small/stack.yaml", "kind: Stack", "kind: Stak");
    let ran = ends(root, &["explain", "two"], 0);
    assert!(ran.err.contains("clusters/blue/three.yaml"), "{}", ran.err);
    let ran = ends(root, &["explain", "three"], 1);
    assert!(ran.err.contains("wrong-kind"), "{}", ran.err);
}

/// A step that would break another cluster's definition is refused, but errors that existed before do not count.
#[test]
fn a_faulty_neighbour_does_not_stop_a_removal() {
    let root = fleet();
    let root = root.path();
    edit(root, "clusters/blue/one.yaml", "replicas: 2", "replicsa: 2");
    ends(root, &["remove", "two", "--reason", "the project ended"], 0);
    let text = fs::read_to_string(root.join("clusters/green/two.yaml")).unwrap();
    assert!(text.contains("step: detach"), "{text}");
}

/// A cause shared by many clusters is reported once; machine-readable output names all clusters.
#[test]
fn a_cause_is_reported_once_and_names_its_clusters() {
    let root = fleet();
    let root = root.path();
    edit(root, "clusters/_defaults.yaml", "release: head", "release: test-tiny-1-35-v7");
    sandbox::write(&root.join("clusters/blue/three.yaml"), {
        let own = fs::read_to_string(root.join("clusters/blue/three.yaml")).unwrap();
        own.replace("  stack: test/small\n", "")
    });
    let reported = json(root, &["check"], 1);
    let errors = reported["diagnostics"].as_array().unwrap();
    assert_eq!(errors.len(), 1, "{reported:#}");
    assert_eq!(errors[0]["code"], "unknown-release");
    let cluster = |namespace: &str, name: &str| document!({ "managementCluster": "mgmt", "namespace": namespace, "name": name });
    assert_eq!(
        errors[0]["clusters"],
        document!([cluster("blue", "one"), cluster("blue", "three"), cluster("green", "two")])
    );
    let text = ends(root, &["check"], 1).err;
    assert!(text.contains("affects 3 clusters: blue/one, blue/three, green/two"), "{text}");
    assert!(text.ends_with("1 error\n"), "{text}");
}

#[test]
fn projects_allow_what_left_out_clusters_need() {
    let root = fleet();
    let root = root.path();
    edit(root, "stackloom.yaml", "engine: flux", "engine: argocd");
    let addon = "stacks/test/small/addons/net/addon.yaml";
    edit(root, addon, "https://charts.example.org", "https://charts.example.com");
    // There is no tree of Flux to take over from.
    fs::remove_dir_all(root.join("generated")).unwrap();
    ends(root, &["generate"], 0);
    let project = root.join("generated/management/mgmt/argocd/fleet/projects/blue/addons.yaml");
    let whole = fs::read_to_string(&project).unwrap();
    assert!(
        whole.contains("https://charts.example.com") && whole.contains("https://charts.example.org"),
        "{whole}"
    );
    for only in ["blue/one", "green/two"] {
        let (paths, _) = changed(root, &["generate", "--only", only], 0);
        assert!(paths.is_empty(), "{only}: {paths:?}");
    }
    edit(root, "clusters/blue/three.yaml", "replicas: 2", "replicas: : 2");
    let (paths, _) = changed(root, &["generate", "--keep-going"], 1);
    assert!(paths.is_empty(), "{paths:?}");
    // What no cluster needs any more goes with the next whole run.
    edit(root, "clusters/blue/three.yaml", "replicas: : 2", "replicas: 2");
    edit(root, addon, "https://charts.example.com", "https://charts.example.org");
    ends(root, &["generate", "--keep-going"], 0);
    let whole = fs::read_to_string(&project).unwrap();
    assert!(!whole.contains("https://charts.example.com"), "{whole}");
}

#[test]
fn a_broken_stack_does_not_keep_clusters_of_others_from_being_removed() {
    let root = fleet();
    let root = root.path();
    edit(root, "stacks/test/small/stack.yaml", "kind: Stack", "kind: Stak");
    let removed = ends(root, &["remove", "one", "--reason", "its project ended", "--dry-run"], 0);
    assert!(!removed.err.contains("error["), "{}", removed.err);
    let left = "warning[left-out]: skipped because of errors: `stacks/test/small/stack.yaml` and `clusters/blue/three.yaml`, which depends on it";
    assert!(removed.err.contains(left), "{}", removed.err);
    let broken = ends(root, &["remove", "three", "--reason", "its project ended"], 1);
    assert!(broken.err.contains("error[wrong-kind]"), "{}", broken.err);
}

#[test]
fn a_broken_rollout_does_not_keep_new_from_writing() {
    let root = fleet();
    let root = root.path();
    sandbox::write(&root.join("rollouts/a.yaml"), "x: [\n");
    for arguments in [
        &["new", "cluster", "four", "--folder", "clusters/blue"][..],
        &["new", "pool", "one", "md-1"],
        &["new", "folder", "clusters/red", "--namespace", "red"],
    ] {
        let made = ends(root, arguments, 0);
        let left = "warning[left-out]: skipped because of errors: `rollouts/a.yaml`";
        assert!(made.err.contains(left), "{arguments:?}: {}", made.err);
        assert!(!made.err.contains("error["), "{}", made.err);
    }
    ends(root, &["check"], 1);
}
