//! Messages name the user's input exactly once, and point at the line to change.

use std::fs;

use super::{
    cli::{ends, fleet, json},
    mistakes::{DEV, append, committed, git, refused},
    sandbox,
};

#[test]
fn wrong_options_are_named_not_files_that_were_never_written() {
    let root = fleet();
    let root = root.path();
    let stack = &["--stack", "docker/scs", "--release", "head"];
    for (arguments, words) in [
        (&["new", "folder", "clusters/z", "--pods", "10.0.0.0"][..], &["`--pods 10.0.0.0`: "][..]),
        (&["new", "cluster", "d-1", "--management-cluster", "nope"], &["`--management-cluster nope`: "]),
        (
            &["new", "cluster", "d-1", "--namespace", "Bad_NS"],
            &["`--namespace` cannot be the name of a namespace"],
        ),
        (
            &["new", "cluster", "d-1", "--kubernetes", "1.30"],
            &["`--kubernetes`: ", "it supports 1.36, 1.35, 1.34"],
        ),
        (&[&["new", "cluster", "d-1", "--kubernetes", "1.30"][..], stack].concat(), &["it supports 1.36"]),
        (&["new", "pool", "dev-1", "gpu", "--failure-domain", ""], &["`--failure-domain ''`: "]),
        (
            &[
                "new",
                "addon",
                "docker/scs",
                "a",
                "--chart",
                "oci://r.example.org/a",
                "--chart-version",
                "latest",
            ],
            &["`--chart-version latest`: "],
        ),
        (&["new", "addon", "docker/sc", "a"], &["did you mean `docker/scs`?"]),
    ] {
        let reported = json(root, arguments, 1);
        let all = reported["diagnostics"].as_array().unwrap();
        assert!(all.iter().all(|one| one["place"].is_null()), "{reported:#}");
        refused(root, arguments, words);
        assert!(!ends(root, arguments, 1).err.contains("stackloom release"), "{arguments:?}");
    }
    let outside = sandbox::folder();
    refused(outside.path(), &["init", "--name", "a", "--source", "nonsense"], &["`--source nonsense`: "]);
    let reported = json(outside.path(), &["init", "--name", "a", "--source", "nonsense"], 1);
    assert!(reported["diagnostics"][0]["place"].is_null(), "{reported:#}");
}

#[test]
fn every_command_reports_an_unknown_cluster_in_the_same_way() {
    let root = fleet();
    let root = root.path();
    let commands = [
        &["explain", "dve-1"][..],
        &["secrets", "dve-1"],
        &["topology", "dve-1"],
        &["remove", "dve-1", "--reason", "why"],
        &["new", "pool", "dve-1", "gpu"],
    ];
    for arguments in commands {
        refused(
            root,
            arguments,
            &["error[unknown-cluster]: there is no cluster `dve-1`", "did you mean `dev-1`?"],
        );
    }
    // A different number means a different cluster, which nobody should remove by mistake.
    let reported = ends(root, &["remove", "dev-2", "--reason", "why"], 1).err;
    assert!(!reported.contains("did you mean"), "{reported}");
    refused(root, &["variables", "docker"], &["the provider `docker` has the stacks `docker/scs`"]);
}

#[test]
fn a_generated_file_of_a_faulty_cluster_is_not_called_unknown() {
    let root = committed();
    let root = root.path();
    append(root, DEV, "a: [");
    let file = "generated/management/mgmt/clusters/team-a/dev-1/cluster/cluster.yaml";
    refused(root, &["explain", file], &["error[yaml-syntax]", DEV]);
    let reported = ends(root, &["explain", file], 1).err;
    assert!(!reported.contains("no definition produces"), "{reported}");
    // Its error is enough.
    assert!(!reported.contains("left-out"), "{reported}");
    sandbox::write(&root.join("clusters/dev/dev-2.yaml"), "kind: [");
    let reported = ends(root, &["explain", file], 1).err;
    let (error, warning) = (
        reported.find("error[yaml-syntax]"),
        reported.find("warning[left-out]: skipped because of errors: "),
    );
    assert!(error.is_some() && error < warning, "{reported}");
}

#[test]
fn all_errors_of_variables_are_reported_at_once() {
    let root = fleet();
    let root = root.path();
    append(
        root,
        DEV,
        "  variables:
    unheard: 1
    certSANs: one
    podSecurityStandard: { enforce: most }
",
    );
    refused(
        root,
        &["check"],
        &[
            "no variable `unheard`",
            "does not accept the variable `certSANs`",
            "does not accept the variable `podSecurityStandard.enforce`",
        ],
    );
    assert_eq!(json(root, &["check"], 1)["diagnostics"].as_array().unwrap().len(), 3);
}

#[test]
fn unknown_commands_have_one_answer() {
    let root = sandbox::folder();
    for (word, answer) in [
        ("list", "tip: `stackloom clusters`"),
        ("add", "tip: `stackloom new cluster NAME`"),
        ("create", "tip: `stackloom new cluster NAME`"),
        ("lint", "tip: `stackloom check`"),
        ("pin", "tip: `release: RELEASE`"),
        ("describe", "tip: `stackloom explain CLUSTER`"),
    ] {
        let reported = ends(root.path(), &[word], 2).err;
        assert!(reported.contains(answer) && reported.matches("tip:").count() == 1, "{reported}");
    }
    assert!(
        ends(root.path(), &["upgrade", "dev-1"], 2).err.contains("tip: `stackloom upgrade plan CLUSTER`")
    );
    assert!(ends(root.path(), &["new", "dev-2"], 2).err.contains("tip: `stackloom new cluster NAME`"));
    assert!(ends(root.path(), &["chek"], 2).err.contains("'check'"));
    assert!(ends(root.path(), &["topology"], 2).err.contains("tip: `stackloom clusters`"));
    assert!(ends(root.path(), &["schema"], 2).err.contains("tip: `stackloom schema --help`"));
}

#[test]
fn the_version_of_an_addon_comes_from_the_addon() {
    let root = fleet();
    let root = root.path();
    let reported = json(root, &["explain", "dev-1", "addons.cilium.version"], 0);
    let version = reported["values"][0]["value"].as_str().unwrap();
    let list = ends(root, &["explain", "dev-1"], 0).out;
    let line = list.lines().find(|line| line.starts_with("spec.addons.cilium.version ")).unwrap();
    let place = line.rsplit(' ').next().unwrap();
    let (file, number) = place.rsplit_once(':').unwrap();
    let text = fs::read_to_string(root.join(file)).unwrap();
    let source = text.lines().nth(number.parse::<usize>().unwrap() - 1).unwrap();
    assert!(source.contains(version), "{line}: {source}");
}

#[test]
fn a_stack_that_is_not_committed_is_one_error() {
    let root = fleet();
    let root = root.path();
    git(root, &["commit", "--quiet", "--allow-empty", "-m", "begin"]);
    let reported = json(root, &["release", "--kubernetes", "1.35"], 1);
    let all = reported["diagnostics"].as_array().unwrap();
    let found: Vec<_> = all.iter().filter(|one| one["code"] == "not-committed").collect();
    assert_eq!(found.len(), 1, "{reported:#}");
    assert_eq!(found[0]["place"]["file"], "stacks/docker/scs");
    assert!(found[0]["message"].as_str().unwrap().contains(" and 9 more"), "{reported:#}");
}

#[test]
fn the_list_of_what_keep_going_skips_is_abridged() {
    let root = fleet();
    let root = root.path();
    for number in 10..25 {
        sandbox::write(&root.join(format!("clusters/dev/x-{number}.yaml")), "kind: [");
    }
    let reported = ends(root, &["generate", "--keep-going"], 1).err;
    assert_eq!(reported.matches("it has errors").count(), 10, "{reported}");
    assert!(reported.contains("  … and 5 more (`--verbose` lists all)"), "{reported}");
    let reported = ends(root, &["generate", "--keep-going", "--verbose"], 1).err;
    assert_eq!(reported.matches("it has errors").count(), 15, "{reported}");
}
