//! `stackloom topology` on the command line. Each folder below `tests/topology/commands` contains some files to lay over
//! `_base`, the arguments in `command.txt`, and the output and exit code in `expected.txt`. `UPDATE=1` rewrites the latter.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

use rayon::prelude::*;

use super::{cli, sandbox, support};

#[test]
fn files_of_any_kind_are_predicted() {
    let all = support::package().join("tests/topology/commands");
    let cases: Vec<_> =
        sandbox::folders(&all).into_iter().filter(|path| sandbox::name(path) != "_base").collect();
    assert!(cases.len() >= 30, "{} cases", cases.len());
    let judged = cases.par_iter().filter_map(|case| {
        let mut wrong = String::new();
        sandbox::expect_file(&case.join("expected.txt"), &printed(&all.join("_base"), case), &mut wrong);
        (!wrong.is_empty()).then(|| format!("{}: {wrong}\n", sandbox::name(case)))
    });
    let wrong: String = judged.collect();
    assert!(wrong.is_empty(), "{wrong}");
}

fn printed(base: &Path, case: &Path) -> String {
    let root = sandbox::folder();
    sandbox::copy(base, root.path());
    sandbox::copy(case, root.path());
    let command = fs::read_to_string(case.join("command.txt")).unwrap();
    let output =
        cli::stackloom(root.path()).arg("topology").args(command.split_whitespace()).output().unwrap();
    let mut text = format!("exit {}\n", output.status.code().unwrap());
    for (name, bytes) in [("stdout", output.stdout), ("stderr", output.stderr)] {
        if !bytes.is_empty() {
            writeln!(text, "-- {name} --\n{}", String::from_utf8(bytes).unwrap().trim_end()).unwrap();
        }
    }
    text
}

/// The fleet made by `init`, generated and committed.
fn committed() -> tempfile::TempDir {
    let root = sandbox::folder();
    let done = |arguments: &[&str]| {
        let output = cli::stackloom(root.path()).args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    };
    done(&["init", "--name", "demo"]);
    done(&["generate", "--commit"]);
    root
}

fn verdicts(root: &Path, arguments: &[&str], code: i32) -> BTreeMap<String, String> {
    let all = ["topology", "dev-1", "--format", "json"];
    let output = cli::stackloom(root).args(all).args(arguments).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(code), "{text}");
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let found = document["clusters"][0]["verdicts"].as_array().cloned().unwrap_or_default();
    let word = |one: &serde_json::Value, key: &str| one[key].as_str().unwrap().to_owned();
    found.iter().map(|one| (word(one, "subject"), word(one, "verdict"))).collect()
}

fn edit(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{} has no {from}", path.display());
    fs::write(path, text.replacen(from, to, 1)).unwrap();
}

#[test]
fn definitions_are_compared_with_what_a_revision_has_generated() {
    let root = committed();
    let words = |found: BTreeMap<String, String>| found.into_values().collect::<Vec<_>>();
    assert_eq!(words(verdicts(root.path(), &["--against", "HEAD"], 0)), ["no-change"; 3]);
    let definition = root.path().join("clusters/dev/dev-1.yaml");
    edit(&definition, "      replicas: 1", "      replicas: 3");
    let scaled = verdicts(root.path(), &["--against", "HEAD"], 0);
    assert_eq!(scaled["md.md-0"], "scale");
    assert_eq!(scaled["control-plane"], "no-change");
    let class = root.path().join("stacks/docker/scs/cluster-class/cluster-class.yaml");
    edit(&class, "kind: ClusterClass", "kind: ClusterClass # comments are not content");
    assert_eq!(verdicts(root.path(), &["--against", "HEAD"], 0)["control-plane"], "no-change");
}

#[test]
fn a_cluster_that_a_revision_does_not_have_is_new_and_an_unknown_revision_is_a_fault() {
    let root = committed();
    edit(&root.path().join("clusters/dev/dev-1.yaml"), "name: dev-1", "name: dev-1\n  namespace: elsewhere");
    edit(&root.path().join("clusters/dev/dev-1.yaml"), "      replicas: 1", "      replicas: 2");
    let found = verdicts(root.path(), &["--against", "HEAD"], 0);
    assert!(found.values().all(|verdict| verdict == "create"), "{found:?}");
    assert_eq!(found.len(), 3);
    verdicts(root.path(), &["--against", "nowhere"], 1);
}

/// `topology --against` pairs clusters as `diff` does: one that moved is not merely new.
#[test]
fn a_cluster_that_moved_is_compared_with_what_it_was() {
    let root = committed();
    let text = |arguments: &[&str]| {
        let output = cli::stackloom(root.path()).args(arguments).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let definition = root.path().join("clusters/dev/dev-1.yaml");
    let as_it_was = fs::read_to_string(&definition).unwrap();
    edit(&definition, "name: dev-1", "name: dev-1\n  namespace: elsewhere");
    let found = text(&["topology", "dev-1", "--against", "HEAD"]);
    assert!(found.contains("compared with HEAD, where it was `mgmt/team-a/dev-1`"), "{found}");
    assert!(
        found.contains("note: Cluster API cannot move or rename a cluster: it builds a new one"),
        "{found}"
    );
    assert!(verdicts(root.path(), &["--against", "HEAD"], 0).values().all(|verdict| verdict == "create"));
    let moved = text(&["diff", "HEAD"]);
    assert!(moved.contains("was `mgmt/team-a/dev-1` before"), "{moved}");

    fs::write(&definition, as_it_was).unwrap();
    edit(
        &root.path().join("stackloom.yaml"),
        "  managementClusters:\n",
        "  managementClusters:\n    - { name: second, standby: true }\n",
    );
    edit(&definition, "spec:\n", "spec:\n  managementCluster: second\n");
    edit(&definition, "      replicas: 1", "      replicas: 3");
    let found = verdicts(root.path(), &["--against", "HEAD"], 0);
    assert_eq!((found["control-plane"].as_str(), found["md.md-0"].as_str()), ("no-change", "scale"));
    let found = text(&["topology", "dev-1", "--against", "HEAD"]);
    assert!(found.contains("compared with HEAD, where it was `mgmt/team-a/dev-1`"), "{found}");
    assert!(found.contains("note: git moves only files: the cluster keeps running in `mgmt`"), "{found}");
}

#[test]
fn a_rebase_to_a_release_of_another_minor_is_an_upgrade() {
    let root = committed();
    let clusters = root.path().join("clusters/dev");
    fs::copy(clusters.join("dev-1.yaml"), clusters.join("dev-2.yaml")).unwrap();
    edit(&clusters.join("dev-2.yaml"), "name: dev-1", "name: dev-2");
    for (cluster, minor) in [("dev-1.yaml", "1.35"), ("dev-2.yaml", "1.36")] {
        edit(&clusters.join(cluster), "spec:\n", &format!("spec:\n  kubernetes: \"{minor}\"\n"));
    }
    let found = verdicts(root.path(), &["--release", "docker-scs-1-36"], 0);
    assert_eq!(found["control-plane"], "upgrade", "{found:?}");
    assert!(verdicts(root.path(), &["--release", "docker-scs-9-99"], 1).is_empty());
    let same = verdicts(root.path(), &["--release", "docker-scs-1-35"], 0);
    assert!(same.values().all(|verdict| verdict == "no-change"), "{same:?}");
}
