//! Common mistakes: the answer names the cause and suggests what to do.

use std::{fs, path::Path, process::Command};

use super::{
    cli::{ends, environment, fleet, json},
    sandbox,
};

/// Replaces a text in a file.
fn edit(root: &Path, path: &str, from: &str, to: &str) {
    let file = root.join(path);
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains(from), "{path} does not say `{from}`:\n{text}");
    fs::write(&file, text.replace(from, to)).unwrap();
}

pub(super) fn append(root: &Path, path: &str, more: &str) {
    let file = root.join(path);
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text + more).unwrap();
}

pub(super) fn git(root: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    environment(&mut command);
    assert!(command.args(arguments).current_dir(root).status().unwrap().success(), "{arguments:?}");
}

/// A fleet with a committed tree.
pub(super) fn committed() -> tempfile::TempDir {
    let root = fleet();
    ends(root.path(), &["generate", "--commit"], 0);
    git(root.path(), &["add", "."]);
    git(root.path(), &["commit", "--quiet", "-m", "begin"]);
    root
}

/// Runs a command that must be refused, and looks for words in its messages.
pub(super) fn refused(root: &Path, arguments: &[&str], words: &[&str]) {
    let reported = ends(root, arguments, 1).err;
    for word in words {
        assert!(reported.contains(word), "{arguments:?} does not say `{word}`:\n{reported}");
    }
}

pub(super) const DEV: &str = "clusters/dev/dev-1.yaml";
const DEFAULTS: &str = "clusters/dev/_defaults.yaml";
const STACK: &str = "stacks/docker/scs/stack.yaml";

#[test]
fn variables_of_a_cluster_that_cannot_be_planned_name_the_error() {
    let root = fleet();
    let root = root.path();
    // Only the content contains the name.
    fs::rename(root.join(DEV), root.join("clusters/dev/one.yaml")).unwrap();
    edit(root, "clusters/dev/one.yaml", "default-worker", "none-such");
    refused(root, &["variables", "dev-1"], &["error[unknown-class]", "clusters/dev/one.yaml:"]);
    edit(root, "clusters/dev/one.yaml", "none-such", "default-worker");
    // A cluster with the same name and with errors must not make the other one unambiguous.
    edit(root, "stackloom.yaml", "    - name: mgmt\n", "    - name: mgmt\n    - name: other\n");
    ends(
        root,
        &["new", "folder", "clusters/other", "--namespace", "team-a", "--management-cluster", "other"],
        0,
    );
    ends(root, &["new", "cluster", "dev-1", "--folder", "clusters/other"], 0);
    edit(root, "clusters/other/dev-1.yaml", "default-worker", "none-such");
    refused(root, &["variables", "dev-1"], &["error[several-clusters]", "`other/team-a/dev-1`"]);
    refused(root, &["variables", "other/team-a/dev-1"], &["error[unknown-class]"]);
    ends(root, &["variables", "mgmt/team-a/dev-1"], 0);
}

#[test]
fn a_value_of_a_variable_is_in_its_own_row() {
    let root = fleet();
    let root = root.path();
    let class = "stacks/docker/scs/cluster-class/cluster-class.yaml";
    // An object with a single property.
    let variable = "  variables:\n    - name: registry\n      required: false\n      schema:\n        openAPIV3Schema:\n          \
                    type: object\n          properties:\n            host: { type: string }\n";
    edit(root, class, "  variables:\n", variable);
    append(root, DEV, "  variables:\n    registry: { host: r.example.org }\n");
    let reported = ends(root, &["variables", "dev-1"], 0).out;
    let row = |name: &str| reported.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    assert!(row("registry.host ").contains("r.example.org"), "{reported}");
    assert!(!row("registry ").contains("r.example.org"), "{reported}");
}

#[test]
fn new_refuses_what_cannot_be_checked() {
    let root = fleet();
    let root = root.path();
    edit(
        root,
        DEFAULTS,
        "  stack: docker/scs\n  kubernetes: '1.35'\n  release: head\n",
        "  release: docker-scs-1-35-v9\n",
    );
    let before = sandbox::snapshot(&root.join("clusters"));
    refused(
        root,
        &["new", "cluster", "dev-2"],
        &["there is no release `docker-scs-1-35-v9`", "nothing was written"],
    );
    refused(root, &["new", "pool", "dev-1", "gpu"], &["there is no release `docker-scs-1-35-v9`"]);
    assert!(before == sandbox::snapshot(&root.join("clusters")));
    // Commands that do not need the release still write, with a warning.
    let other = ends(root, &["new", "cluster", "x-1", "--folder", "clusters/x"], 0);
    assert!(other.err.contains("warning[left-out]"), "{}", other.err);

    let root = fleet();
    let root = root.path();
    edit(root, STACK, "kind: Stack\n", "kind: Stak\n");
    let before = sandbox::snapshot(root);
    refused(root, &["new", "cluster", "dev-2"], &["its stack `docker/scs` has errors", "error[wrong-kind]"]);
    refused(root, &["new", "addon", "docker/scs", "more"], &["error[wrong-kind]", "nothing was written"]);
    assert!(before == sandbox::snapshot(root));
    ends(root, &["new", "folder", "clusters/y"], 0);
}

#[test]
fn a_new_pool_reports_the_errors_of_its_cluster() {
    for (file, more) in [(DEV, "a: ["), (DEFAULTS, "a: [")] {
        let root = fleet();
        let root = root.path();
        append(root, file, more);
        refused(root, &["new", "pool", "dev-1", "gpu"], &["error[yaml-syntax]", file]);
        let reported = ends(root, &["new", "pool", "dev-1", "gpu"], 1).err;
        assert!(!reported.contains("unknown-cluster"), "{reported}");
    }
    let root = fleet();
    refused(
        root.path(),
        &["new", "pool", "dev-9", "gpu"],
        &["error[unknown-cluster]", "did you mean `dev-1`?"],
    );
}

#[test]
fn a_list_without_the_faulty_ones_is_not_called_empty() {
    let root = fleet();
    let root = root.path();
    append(root, DEV, "a: [");
    for command in ["clusters", "releases"] {
        let reported = ends(root, &[command], 0);
        assert!(!reported.out.contains(" yet"), "{}", reported.out);
        assert!(reported.out.contains("definitions with errors were skipped"), "{}", reported.out);
    }
    fs::remove_file(root.join(DEV)).unwrap();
    assert!(ends(root, &["clusters"], 0).out.contains("no cluster yet"));
}

#[test]
fn check_refuses_what_generate_refuses() {
    let root = committed();
    let root = root.path();
    let cluster = "generated/management/mgmt/clusters/team-a/dev-1/cluster/cluster.yaml";
    let as_it_was = fs::read_to_string(root.join(DEFAULTS)).unwrap();
    let definition = fs::read_to_string(root.join(DEV)).unwrap();
    for (code, file, from, to) in [
        ("network-changed", DEFAULTS, "192.168.0.0/16", "10.0.0.0/16"),
        ("replaced", DEFAULTS, "kubernetes: '1.35'", "kubernetes: '1.34'"),
        ("removal", DEV, "- name: md-0", "- name: md-1"),
    ] {
        edit(root, file, from, to);
        let reported = json(root, &["check"], 1);
        let found = &reported["diagnostics"][0];
        // The message points to the line in the definition, and mentions the generated file.
        assert_eq!((&found["code"], &found["place"]["file"]), (&code.into(), &file.into()), "{reported:#}");
        assert_eq!(found["related"][0][1]["file"], cluster, "{reported:#}");
        assert_eq!(ends(root, &["generate"], 1).out, "", "{code}");
        fs::write(root.join(DEFAULTS), &as_it_was).unwrap();
        fs::write(root.join(DEV), &definition).unwrap();
    }
    // A change that was never applied is reverted; otherwise the applied one must be committed.
    edit(root, DEFAULTS, "kubernetes: '1.35'", "kubernetes: '1.34'");
    refused(root, &["check"], &["restore and commit the applied one", "&& git commit -- "]);
    fs::write(root.join(DEFAULTS), &as_it_was).unwrap();
    sandbox::write(&root.join("generated/mine.txt"), "mine\n");
    refused(root, &["check"], &["error[foreign-file]", "generated/mine.txt"]);
    fs::remove_file(root.join("generated/mine.txt")).unwrap();
    fs::remove_file(root.join(DEV)).unwrap();
    let abandoned = ends(root, &["check"], 0);
    assert!(abandoned.err.contains("warning[abandoned]"), "{}", abandoned.err);
    fs::write(root.join(DEV), definition).unwrap();
    let before = sandbox::snapshot(root);
    assert!(ends(root, &["check"], 0).err.is_empty());
    assert!(before == sandbox::snapshot(root), "`check` wrote something");
}

#[cfg(unix)]
#[test]
fn check_refuses_absolute_links_and_links_in_the_output() {
    let root = committed();
    let root = &root.path().canonicalize().unwrap();
    std::os::unix::fs::symlink(root.join(DEV), root.join("clusters/linked.yaml")).unwrap();
    refused(root, &["check"], &["error[link-outside]: this link has an absolute path"]);
    fs::remove_file(root.join("clusters/linked.yaml")).unwrap();
    fs::rename(root.join("generated"), root.join("elsewhere")).unwrap();
    std::os::unix::fs::symlink("elsewhere", root.join("generated")).unwrap();
    refused(root, &["check"], &["error[linked-output]"]);
}

#[test]
fn a_folder_whose_name_is_no_namespace_needs_one() {
    let root = fleet();
    let root = root.path();
    let why = &["`Prod_EU` cannot be the name of a namespace", "`--namespace`"];
    refused(root, &["new", "folder", "clusters/Prod_EU"], why);
    refused(root, &["new", "cluster", "prod-1", "--folder", "clusters/Prod_EU"], why);
    assert!(!root.join("clusters/Prod_EU").exists());
    for (folder, next) in [
        ("clusters/Prod_EU", "stackloom new cluster prod-1 --folder clusters/Prod_EU\n"),
        ("clusters/of a team", "stackloom new cluster prod-1 --folder 'clusters/of a team'\n"),
    ] {
        let made = ends(root, &["new", "folder", folder, "--namespace", "prod"], 0);
        assert!(made.err.contains(next), "{}", made.err);
        ends(root, &["new", "cluster", "prod-1", "--folder", folder], 0);
        fs::remove_dir_all(root.join(folder)).unwrap();
    }
}

#[test]
fn a_folder_that_cannot_be_one_says_why() {
    let root = fleet();
    let root = root.path();
    for (folder, words, not) in [
        ("clusters/x.d", &["objects beside a cluster"][..], "did you mean"),
        ("../x", &["`../x` is outside of the fleet"], "did you mean"),
        ("x", &["did you mean `clusters/x`?"], "outside"),
        ("clusters/.x", &["is hidden"], "did you mean"),
        ("clusters/a.yaml", &["has the name of a file"], "did you mean"),
    ] {
        refused(root, &["new", "folder", folder], words);
        let reported = ends(root, &["new", "folder", folder], 1).err;
        assert!(!reported.contains(not), "{folder}: {reported}");
    }
    ends(&root.join("clusters"), &["new", "folder", "clusters/prod"], 0);
    assert!(root.join("clusters/prod/_defaults.yaml").is_file());
}

#[test]
fn broken_defaults_concern_their_own_folder() {
    let root = fleet();
    let root = root.path();
    sandbox::write(&root.join("clusters/prod/_defaults.yaml"), "kind: [");
    // Finding the folder requires the defaults of all folders.
    refused(root, &["new", "cluster", "dev-2"], &["clusters/prod/_defaults.yaml:1:7", "`--folder FOLDER`"]);
    refused(root, &["new", "cluster", "p-1", "--folder", "clusters/prod"], &["error[yaml-syntax]"]);
    refused(root, &["new", "folder", "clusters/prod/eu"], &["error[yaml-syntax]"]);
    ends(root, &["new", "cluster", "dev-2", "--folder", "clusters/dev"], 0);
    ends(&root.join("clusters/dev"), &["new", "cluster", "dev-3"], 0);
    ends(root, &["new", "folder", "clusters/team-b"], 0);
    ends(root, &["new", "pool", "dev-1", "gpu"], 0);
}

#[test]
fn a_fleet_does_not_begin_inside_another() {
    let root = fleet();
    let root = root.path();
    for (folder, arguments) in [("", &["init", "sub"][..]), ("clusters", &["init"]), ("", &["init", "a/b/c"])]
    {
        refused(&root.join(folder), arguments, &["error[fleet-in-fleet]", "`stackloom new`"]);
    }
    assert!(!root.join("sub").exists() && !root.join("clusters/stackloom.yaml").exists());
    // A nested repository is a separate place, as for every other command.
    fs::create_dir(root.join("sub")).unwrap();
    git(&root.join("sub"), &["init", "--quiet"]);
    ends(root, &["init", "sub"], 0);
}

#[test]
fn outside_a_fleet_messages_do_not_mention_git() {
    let root = sandbox::folder();
    for arguments in [
        &["generate", "--commit"][..],
        &["release"],
        &["release", "prune"],
        &["release", "tag"],
        &["watch"],
        &["watch", "--commit"],
    ] {
        refused(root.path(), arguments, &["error[no-fleet]", "`stackloom init`"]);
        let reported = ends(root.path(), arguments, 1).err;
        assert!(!reported.contains("git"), "{reported}");
        assert_eq!(json(root.path(), arguments, 1)["diagnostics"][0]["code"], "no-fleet");
    }
}

#[test]
fn topology_points_at_the_line_that_chose() {
    let root = committed();
    let root = root.path();
    ends(root, &["new", "stack", "openstack/scs"], 0);
    let as_it_was = fs::read_to_string(root.join(DEFAULTS)).unwrap();
    for (from, to, line, text) in [
        ("kubernetes: '1.35'", "kubernetes: '1.34'", 12, "version cannot be decreased"),
        ("stack: docker/scs", "stack: openstack/scs", 11, "kind cannot be changed"),
    ] {
        edit(root, DEFAULTS, from, to);
        let reported = json(root, &["topology", "dev-1", "--against", "HEAD"], 1);
        let all = reported["diagnostics"].as_array().unwrap();
        assert!(!all.is_empty());
        for found in all {
            assert!(found["message"].as_str().unwrap().contains(text), "{found:#}");
            assert_eq!(
                (&found["place"]["file"], &found["place"]["line"]),
                (&DEFAULTS.into(), &line.into()),
                "{found:#}"
            );
        }
        fs::write(root.join(DEFAULTS), &as_it_was).unwrap();
    }
    let reported = json(root, &["topology", "dev-1", "--release", "docker-scs-1-34"], 1);
    let found = &reported["diagnostics"][0];
    assert!(found["place"].is_null(), "{found:#}");
    assert!(found["message"].as_str().unwrap().starts_with("`--release docker-scs-1-34`: "), "{found:#}");
}

#[test]
fn topology_warns_about_a_changed_network() {
    let root = committed();
    let root = root.path();
    edit(root, DEFAULTS, "pods: [192.168.0.0/16]", "pods: [10.0.0.0/16]");
    let reported = json(root, &["topology", "dev-1", "--against", "HEAD"], 0);
    let found = &reported["diagnostics"][0];
    assert_eq!(
        (&found["code"], &found["severity"]),
        (&"network-changed".into(), &"warning".into()),
        "{reported:#}"
    );
    assert_eq!((&found["place"]["file"], &found["place"]["line"]), (&DEFAULTS.into(), &15.into()));
    assert!(
        found["message"].as_str().unwrap().contains("from [192.168.0.0/16] to [10.0.0.0/16]"),
        "{found:#}"
    );
    edit(root, DEFAULTS, "pods: [10.0.0.0/16]", "pods: [192.168.0.0/16]");
    assert_eq!(
        json(root, &["topology", "dev-1", "--against", "HEAD"], 0)["diagnostics"],
        serde_json::json!([])
    );
    refused(root, &["topology", "dev-1", "--against", "nope"], &["`--against nope`", "origin/main"]);
    let unknown = ends(root, &["topology", "dev-1", "--release", "docker-scs-1-53"], 1).err;
    assert!(unknown.contains("error[unknown-release]") && !unknown.contains("a cluster uses"), "{unknown}");
}

#[test]
fn a_file_outside_of_any_fleet_is_not_checked_in_silence() {
    let root = sandbox::folder();
    let inner = root.path().join("fleets/eu");
    fs::create_dir_all(inner.parent().unwrap()).unwrap();
    sandbox::copy(fleet().path(), &inner);
    let refused = ends(root.path(), &["check", "fleets/eu/clusters/dev/dev-1.yaml"], 1);
    assert!(refused.err.contains("error[no-fleet]") && refused.err.contains("-C DIR"), "{}", refused.err);
    let directory = inner.to_str().unwrap();
    ends(root.path(), &["-C", directory, "check", "clusters/dev/dev-1.yaml"], 0);
}

#[test]
fn a_folder_with_a_fleet_is_one_error_for_init() {
    let root = fleet();
    let refused = ends(root.path(), &["init", ".", "--name", "x"], 1);
    assert_eq!(refused.err.matches("error[").count(), 1, "{}", refused.err);
    assert!(refused.err.contains("this folder already holds a fleet"), "{}", refused.err);
}

#[test]
fn a_cluster_of_a_numbered_release_inherits_neither_stack_nor_minor() {
    let root = fleet();
    for command in [&["add", "-A"][..], &["commit", "-qm", "begin"]] {
        git(root.path(), command);
    }
    ends(root.path(), &["release", "docker/scs", "--kubernetes", "1.36", "--channel", "beta"], 0);
    let made = ends(
        root.path(),
        &["new", "cluster", "x", "--folder", "clusters/dev", "--release", "docker-scs-1-36-v0-beta.1"],
        0,
    );
    assert!(made.err.contains("docker-scs-1-36-v0-beta.1, which is not a stable one"), "{}", made.err);
    assert!(made.err.contains("spec.network.pods") && !made.err.contains("spec.kubernetes"), "{}", made.err);
}

#[test]
fn what_was_skipped_names_the_files_with_errors_and_counts_the_others() {
    let root = fleet();
    let root = root.path();
    ends(root, &["new", "cluster", "dev-2"], 0);
    ends(root, &["new", "folder", "clusters/prod", "--namespace", "team-b"], 0);
    ends(root, &["new", "cluster", "prod-1", "--folder", "clusters/prod"], 0);
    let skipped = |words: &str| {
        let reported = ends(root, &["clusters"], 0).err;
        let line = reported.lines().find(|line| line.starts_with("warning[left-out]")).unwrap().to_owned();
        assert_eq!(line, format!("warning[left-out]: skipped because of errors: {words}"));
    };
    // Defaults that cannot be read, defaults that do not fit, and a definition.
    edit(root, DEFAULTS, "env: dev", "env: [dev]");
    skipped("`clusters/dev/_defaults.yaml` and 2 definitions that depend on it");
    edit(root, DEFAULTS, "env: [dev]", "env: dev");
    edit(root, DEFAULTS, "kubernetes: '1.35'", "kubernetes: '1.99'");
    skipped("`clusters/dev/dev-1.yaml`, `clusters/dev/dev-2.yaml`");
    edit(root, DEFAULTS, "kubernetes: '1.99'", "kubernetes: '1.35'");
    edit(root, DEV, "default-worker", "[]");
    skipped("`clusters/dev/dev-1.yaml`");
}

#[test]
fn schemas_of_releases_need_no_cluster() {
    let root = fleet();
    let root = root.path();
    edit(root, DEV, "replicas: 1\n  nodePools", "replicas: one\n  nodePools");
    ends(root, &["schema", "--stack", "docker/scs"], 0);
    ends(root, &["schema", "--stacks", "--write", "schemas/stacks"], 0);
    refused(root, &["schema", "--stack", "docker/sc"], &["there is no stack `docker/sc`"]);
    edit(root, STACK, "kind: Stack\n", "kind: Stak\n");
    refused(root, &["schema", "--stack", "docker/scs"], &["error[wrong-kind]"]);
    refused(root, &["schema", "--stacks", "--write", "schemas/stacks"], &["error[wrong-kind]"]);
}

#[test]
fn errors_of_its_defaults_concern_a_file_that_is_checked() {
    let root = fleet();
    let root = root.path();
    ends(root, &["new", "cluster", "dev-2"], 0);
    ends(root, &["new", "folder", "clusters/prod", "--namespace", "team-b"], 0);
    ends(root, &["new", "cluster", "prod-1", "--folder", "clusters/prod"], 0);
    let prod = ["check", "clusters/prod/prod-1.yaml"];
    edit(root, DEFAULTS, "env: dev", "env: [dev]");
    refused(root, &["check", DEV], &["error[wrong-value]", DEFAULTS]);
    let elsewhere = ends(root, &prod, 0);
    assert!(elsewhere.err.contains("1 error elsewhere in the fleet"), "{}", elsewhere.err);
    // These defaults fit one of their clusters.
    edit(root, DEFAULTS, "env: [dev]", "env: dev");
    edit(root, DEFAULTS, "kubernetes: '1.35'", "kubernetes: '1.99'");
    edit(root, "clusters/dev/dev-2.yaml", "spec:\n", "spec:\n  kubernetes: '1.35'\n");
    refused(root, &["check", DEV], &["error[unknown-minor]", DEFAULTS]);
    ends(root, &["check", "clusters/dev/dev-2.yaml"], 0);
    ends(root, &prod, 0);
}

#[test]
fn commands_of_other_programs_lead_to_those_of_this_one() {
    let root = fleet();
    for (words, advice) in [
        (&["version"][..], "stackloom --version"),
        (&["history"], "git log -- clusters"),
        (&["log"], "git log -- clusters"),
        (&["fmt"], "stackloom check"),
        (&["lint"], "stackloom check"),
        (&["validate"], "stackloom check"),
        (&["render"], "stackloom generate"),
        (&["template"], "stackloom generate"),
        (&["apply"], "stackloom generate --commit"),
        (&["get"], "stackloom clusters"),
        (&["edit"], "stackloom explain CLUSTER"),
        (&["delete"], "stackloom remove CLUSTER"),
        (&["destroy"], "stackloom remove CLUSTER"),
        (&["kubeconfig", "dev-1"], "clusterctl get kubeconfig CLUSTER --namespace NAMESPACE"),
        (&["new", "release"], "stackloom release PROVIDER/STACK"),
        (&["new", "secret"], "stackloom secrets"),
        (&["new", "fleet"], "stackloom init"),
    ] {
        let reported = ends(root.path(), words, 2).err;
        assert!(reported.contains(&format!("`{advice}")), "{words:?}: {reported}");
        assert!(!reported.contains("similar subcommand"), "{words:?}: {reported}");
    }
}

#[test]
fn folders_in_capitals_are_named_even_if_the_right_ones_exist() {
    let root = fleet();
    let root = root.path();
    for name in ["Clusters", "Rollouts", "STACKS"] {
        fs::create_dir(root.join(name)).unwrap();
    }
    fs::write(root.join("Stackloom.lock"), "").unwrap();
    let reported = ends(root, &["check"], 1).err;
    assert_eq!(reported.matches("warning[bad-file-name]").count(), 3, "{reported}");
    for words in [
        "`git mv Rollouts rollouts`",
        "into `clusters`",
        "error[bad-file-name]: this is not called `stackloom.lock`",
    ] {
        assert!(reported.contains(words), "{words}: {reported}");
    }
}

#[test]
fn a_definition_that_is_no_text_hides_no_change_of_others() {
    let root = committed();
    edit(root.path(), DEV, "replicas: 1", "replicas: 3");
    std::fs::write(root.path().join("clusters/dev/other.yaml"), b"\xff\xfe").unwrap();
    let ran = ends(root.path(), &["diff", "HEAD"], 1);
    assert!(
        ran.err.contains("error[not-utf8]") && ran.err.contains("clusters/dev/other.yaml"),
        "{}",
        ran.err
    );
    assert!(ran.out.contains("1 of 1 cluster changes"), "{}", ran.out);
}
