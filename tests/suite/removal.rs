//! Removals step by step, as seen by people and git.

use std::{fs, path::Path, process::Command};

use super::{
    cli::{ends, environment, fleet, json},
    sandbox,
};

pub(super) const DEFINITION: &str = "\
# The cluster of the second team.
apiVersion: stackloom.dev/v1alpha1
kind: ClusterDefinition
metadata: { name: dev-2 }   # no other name

spec:
  controlPlane:
    replicas: 1  # small
  nodePools:
    # for everyone
    - name: md-0
      class: default-worker
      replicas: 2

    # for builds
    - name: builds
      class: \"default-worker\"
      replicas: 3
";

pub(super) fn git(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    environment(command.current_dir(folder).args(arguments));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{arguments:?} {}", String::from_utf8_lossy(&output.stderr));
}

/// A fleet of two clusters in a repository, fully committed.
pub(super) fn committed() -> tempfile::TempDir {
    let root = fleet();
    sandbox::write(&root.path().join("clusters/dev/dev-2.yaml"), DEFINITION);
    sandbox::write(
        &root.path().join("clusters/dev/dev-2.d/quota.yaml"),
        "apiVersion: v1\nkind: ResourceQuota\nmetadata:\n  name: dev-2\n  namespace: team-a\n",
    );
    commit(root.path());
    root
}

pub(super) fn commit(root: &Path) {
    ends(root, &["generate", "--commit"], 0);
    git(root, &["add", "--all"]);
    git(root, &["commit", "--quiet", "--allow-empty", "--message", "step"]);
}

fn commit_definitions(root: &Path) {
    git(root, &["add", "clusters"]);
    git(root, &["commit", "--quiet", "--message", "the definition alone"]);
}

fn definition(root: &Path) -> String {
    fs::read_to_string(root.join("clusters/dev/dev-2.yaml")).unwrap()
}

fn generated(root: &Path, path: &str) -> Option<String> {
    fs::read_to_string(root.join("generated/management/mgmt").join(path)).ok()
}

const CLUSTER: &str = "clusters/team-a/dev-2/cluster/cluster.yaml";
const REMOVE: [&str; 4] = ["remove", "dev-2", "--reason", "the team: gone"];

#[test]
fn a_cluster_leaves_in_three_commits_and_the_definition_stays_as_it_was_written() {
    let root = committed();
    let root = root.path();
    let refused = ends(root, &["remove", "dev-2"], 1);
    assert!(refused.err.contains("--reason"), "{}", refused.err);
    let shown = ends(root, &[REMOVE.as_slice(), &["--dry-run"]].concat(), 0);
    assert!(shown.out.contains("+     step: detach"), "{}", shown.out);
    assert_eq!(definition(root), DEFINITION);

    ends(root, &REMOVE, 0);
    let detached = format!("{DEFINITION}  removal:\n    reason: 'the team: gone'\n    step: detach\n");
    assert_eq!(definition(root), detached);
    let early = ends(root, &REMOVE, 1);
    assert!(early.err.contains("the step `detach` is not committed yet"), "{}", early.err);
    git(root, &["commit", "--quiet", "--all", "--message", "the definition alone"]);
    let early = ends(root, &REMOVE, 1);
    assert!(early.err.contains("the tree of the step `detach` is not committed yet"), "{}", early.err);
    commit(root);
    let object = generated(root, CLUSTER).unwrap();
    assert!(!object.contains("prune: disabled") && object.contains("stackloom.dev/removal: "), "{object}");
    for addon in ["cilium", "metrics-server"] {
        let helm = generated(root, &format!("clusters/team-a/dev-2/addons/{addon}.yaml")).unwrap();
        assert!(helm.contains("suspend: true") && !helm.contains("prune: disabled"), "{helm}");
    }

    let reported = json(root, &["remove", "team-a/dev-2"], 0);
    assert_eq!(reported["step"], "delete");
    assert!(
        reported["waitFor"][0].as_str().unwrap().contains("wait cluster/dev-2 --for=delete"),
        "{reported}"
    );
    assert_eq!(definition(root), detached.replace("step: detach", "step: delete"));
    commit(root);
    assert_eq!(generated(root, CLUSTER), None);
    for stays in ["clusters/team-a/dev-2/addons/cilium.yaml", "flux/clusters/team-a/dev-2/cluster.yaml"] {
        assert!(generated(root, stays).is_some(), "{stays}");
    }
    assert!(
        generated(root, "flux/clusters/team-a/dev-2/objects.yaml")
            .unwrap()
            .contains("deletionPolicy: Delete")
    );

    let reported = ends(root, &["remove", "dev-2"], 0);
    assert!(reported.out.contains("delete `clusters/dev/dev-2.d` in the same commit"), "{}", reported.out);
    assert!(!root.join("clusters/dev/dev-2.yaml").exists());
    ends(root, &["generate"], 1);
    fs::remove_dir_all(root.join("clusters/dev/dev-2.d")).unwrap();
    let last = ends(root, &["generate", "--commit"], 0);
    assert!(!last.err.contains("abandoned"), "{}", last.err);
    assert!(!root.join("generated/management/mgmt/clusters/team-a/dev-2").exists());
    assert!(!root.join("generated/management/mgmt/flux/clusters/team-a/dev-2").exists());
}

#[test]
fn removing_a_definition_or_skipping_a_step_warns_or_is_refused_by_its_effect() {
    let root = committed();
    let root = root.path();
    let file = root.join("clusters/dev/dev-2.yaml");
    fs::remove_dir_all(root.join("clusters/dev/dev-2.d")).unwrap();
    commit(root);
    let before = sandbox::snapshot(&root.join("generated"));

    fs::remove_file(&file).unwrap();
    let gone = ends(root, &["generate", "--check"], 3);
    assert!(gone.err.contains("warning[abandoned]"), "{}", gone.err);
    sandbox::write(&root.join("clusters/dev/dev-3.yaml"), DEFINITION.replace("name: dev-2", "name: dev-3"));
    let renamed = ends(root, &["check"], 1);
    assert!(
        renamed.err.contains("error[renamed]") && renamed.err.contains("clusters/dev/dev-3.yaml:4"),
        "{}",
        renamed.err
    );
    let another = DEFINITION.replace("name: dev-2", "name: dev-3").replace("replicas: 3", "replicas: 2");
    sandbox::write(&root.join("clusters/dev/dev-3.yaml"), another);
    let new = ends(root, &["check"], 0);
    assert!(new.err.contains("cannot be renamed: `dev-3` is a new cluster"), "{}", new.err);
    fs::remove_file(root.join("clusters/dev/dev-3.yaml")).unwrap();
    let gone = ends(root, &["generate", "--commit"], 0);
    assert!(gone.err.contains("unmanaged") && !gone.err.contains("renamed"), "{}", gone.err);
    sandbox::write(&file, DEFINITION);
    commit(root);
    assert!(before == sandbox::snapshot(&root.join("generated")), "put back, it is another tree");

    let step = |step: &str| format!("{DEFINITION}  removal: {{ reason: over, step: {step} }}\n");
    sandbox::write(&file, step("delete"));
    for arguments in [&["generate"][..], &["generate", "--commit"], &["generate", "--check"]] {
        let jumped = ends(root, arguments, 1);
        assert!(jumped.err.contains("without being detached first"), "{}", jumped.err);
    }
    sandbox::write(&file, step("detach"));
    commit(root);
    fs::remove_file(&file).unwrap();
    for arguments in [&["generate"][..], &["generate", "--commit"], &["generate", "--check"]] {
        let early = ends(root, arguments, 1);
        assert!(early.err.contains("gone before its step `delete`"), "{}", early.err);
    }
}

#[test]
fn a_cluster_moves_to_another_management_cluster_only_while_that_is_on_standby() {
    let root = committed();
    let root = root.path();
    let fleet = fs::read_to_string(root.join("stackloom.yaml")).unwrap();
    let with = |second: &str| {
        assert_eq!(fleet.matches("    - name: mgmt\n").count(), 1);
        fleet.replace("    - name: mgmt\n", &format!("    - name: mgmt\n    - name: other{second}\n"))
    };
    sandbox::write(&root.join("stackloom.yaml"), with(""));
    commit(root);
    let before = sandbox::snapshot(&root.join("generated"));

    let moved = DEFINITION.replace("spec:\n", "spec:\n  managementCluster: other\n");
    sandbox::write(&root.join("clusters/dev/dev-2.yaml"), &moved);
    for arguments in [&["generate"][..], &["generate", "--commit"], &["generate", "--check"]] {
        let twice = ends(root, arguments, 1);
        assert!(
            twice.err.contains("error[moved]") && twice.err.contains("built a second time"),
            "{}",
            twice.err
        );
        assert!(before == sandbox::snapshot(&root.join("generated")));
    }

    sandbox::write(&root.join("stackloom.yaml"), with("\n      standby: true"));
    let gone = ends(root, &["generate", "--commit"], 0);
    assert!(gone.err.contains("warning[moved]"), "{}", gone.err);
    assert!(gone.err.contains("it keeps running in `mgmt`"), "{}", gone.err);
    assert!(root.join("generated/management/other/clusters/team-a/dev-2").exists());
    assert!(!root.join("generated/management/mgmt/clusters/team-a/dev-2").exists());
    sandbox::write(&root.join("stackloom.yaml"), with(""));
    let runs = ends(root, &["generate", "--commit"], 0);
    assert!(!runs.err.contains("moved"), "{}", runs.err);
}

#[test]
fn removing_a_pool_without_its_steps_is_refused_and_an_addon_warns() {
    let root = committed();
    let root = root.path();
    let file = root.join("clusters/dev/dev-2.yaml");
    let before = sandbox::snapshot(&root.join("generated"));
    let gone =
        DEFINITION.replace("    - name: builds\n      class: \"default-worker\"\n      replicas: 3\n", "");
    let renamed = DEFINITION.replace("name: builds", "name: builders");
    for text in [&gone, &renamed] {
        sandbox::write(&file, text);
        for arguments in [&["generate"][..], &["generate", "--commit"], &["generate", "--check"]] {
            let refused = ends(root, arguments, 1);
            let why = "the node pool `builds` of `team-a/dev-2` would be deleted with its 3 machines";
            assert!(refused.err.contains(why), "{}", refused.err);
            assert!(before == sandbox::snapshot(&root.join("generated")));
        }
    }
    sandbox::write(&file, DEFINITION.replace("replicas: 3", "replicas: 0"));
    commit(root);
    sandbox::write(&file, &gone);
    commit(root);

    sandbox::write(&file, format!("{gone}  addons:\n    cilium:\n      enabled: false\n"));
    let reported = ends(root, &["generate", "--check"], 3);
    assert!(
        reported.err.contains("warning[abandoned]") && reported.err.contains("`cilium`"),
        "{}",
        reported.err
    );
}

/// Argo CD's file for a cluster named `cluster` has a path that ends like that of a Cluster.
#[test]
fn a_cluster_named_like_its_file_is_guarded() {
    let root = sandbox::folder();
    let root = root.path();
    ends(root, &["init", "--name", "demo", "--engine", "argocd"], 0);
    let file = root.join("clusters/dev/cluster.yaml");
    let definition = DEFINITION.replace("name: dev-2", "name: cluster");
    sandbox::write(&file, &definition);
    ends(root, &["generate"], 0);
    sandbox::write(&file, definition.replace("name: builds", "name: builders"));
    let refused = ends(root, &["generate"], 1);
    let why = "the node pool `builds` of `team-a/cluster` would be deleted with its 3 machines";
    assert!(refused.err.contains(why), "{}", refused.err);
}

#[test]
fn a_changed_name_or_namespace_is_refused_and_a_moved_file_is_not() {
    let root = committed();
    let root = root.path();
    let file = root.join("clusters/dev/dev-2.yaml");
    fs::remove_dir_all(root.join("clusters/dev/dev-2.d")).unwrap();
    commit(root);
    let before = sandbox::snapshot(&root.join("generated"));
    let renamed = DEFINITION.replace("name: dev-2", "name: dev-3");
    let edited = renamed.replace("replicas: 3", "replicas: 2");
    let moved = DEFINITION.replace("name: dev-2 }", "name: dev-2, namespace: team-b }");
    assert!(moved != DEFINITION && edited != renamed);
    for (text, heir, restore) in [
        (&renamed, "team-a/dev-3", "restore the name `dev-2`"),
        (&edited, "team-a/dev-3", "restore the name `dev-2`"),
        (&moved, "team-b/dev-2", "restore the namespace `team-a`"),
    ] {
        sandbox::write(&file, text);
        for arguments in [&["check"][..], &["generate"], &["generate", "--commit"], &["generate", "--check"]]
        {
            let refused = ends(root, arguments, 1).err;
            let why = format!("the definition of `team-a/dev-2` now defines `{heir}`");
            assert!(
                refused.contains("error[renamed]") && refused.contains("clusters/dev/dev-2.yaml:4"),
                "{refused}"
            );
            assert!(refused.contains(&why) && refused.contains(restore), "{refused}");
            assert!(refused.contains("stackloom remove dev-2 --reason"), "{refused}");
        }
        assert!(before == sandbox::snapshot(&root.join("generated")));
    }
    // The file itself may move.
    fs::rename(&file, root.join("clusters/dev/other.yaml")).unwrap();
    sandbox::write(&root.join("clusters/dev/other.yaml"), DEFINITION);
    assert!(!ends(root, &["generate", "--commit", "--all"], 0).err.contains("renamed"));
    // To leave the cluster alone takes a commit of its own.
    fs::remove_file(root.join("clusters/dev/other.yaml")).unwrap();
    assert!(ends(root, &["generate", "--commit", "--all"], 0).err.contains("warning[abandoned]"));
    sandbox::write(&file, renamed);
    ends(root, &["generate", "--commit", "--all"], 0);
}

/// Git cannot restore files that are on no branch. They may have reached an engine some other way, so they are guarded like
/// any others.
#[test]
fn a_cluster_that_was_never_committed_is_guarded_and_its_warning_says_so() {
    let root = fleet();
    let root = root.path();
    git(root, &["init", "--quiet"]);
    git(root, &["config", "user.name", "Test"]);
    git(root, &["config", "user.email", "test@example.org"]);
    commit(root);
    let file = root.join("clusters/dev/dev-2.yaml");
    sandbox::write(&file, DEFINITION);
    ends(root, &["generate"], 0);
    sandbox::write(&file, DEFINITION.replace("name: builds", "name: builders"));
    for command in ["check", "generate"] {
        assert!(ends(root, &[command], 1).err.contains("the node pool `builds`"), "{command}");
    }
    fs::remove_file(&file).unwrap();
    for arguments in [&["check"][..], &["generate", "--check"], &["generate"]] {
        let code = if arguments.contains(&"--check") { 3 } else { 0 };
        let gone = ends(root, arguments, code).err;
        assert!(gone.contains("warning[never-committed]") && !gone.contains("abandoned"), "{gone}");
        assert!(
            gone.contains("no branch or tag contains its files") && gone.contains("git cannot restore it"),
            "{gone}"
        );
    }
    assert!(!root.join("generated/management/mgmt/clusters/team-a/dev-2").exists());

    // An engine may apply another branch.
    sandbox::write(&file, DEFINITION);
    git(root, &["checkout", "--quiet", "-b", "other"]);
    commit(root);
    git(root, &["checkout", "--quiet", "-"]);
    sandbox::write(&file, DEFINITION);
    ends(root, &["generate"], 0);
    fs::remove_file(&file).unwrap();
    let gone = ends(root, &["check"], 0).err;
    assert!(gone.contains("warning[abandoned]"), "{gone}");
}

#[test]
fn a_pool_and_an_addon_that_nodes_need_leave_in_steps() {
    let root = committed();
    let root = root.path();
    let pool = ["remove", "dev-2", "--pool", "builds", "--reason", "none"];
    ends(root, &["remove", "dev-2", "--pool", "nope", "--reason", "none"], 1);
    ends(root, &pool, 0);
    ends(root, &pool, 1);
    commit_definitions(root);
    assert!(ends(root, &pool, 1).err.contains("the tree of the step `detach` is not committed yet"));
    commit(root);
    assert!(
        generated(root, CLUSTER)
            .unwrap()
            .contains("name: builds\n          class: default-worker\n          replicas: 0")
    );
    ends(root, &pool, 0);
    commit(root);
    assert!(!generated(root, CLUSTER).unwrap().contains("builds"));
    ends(root, &pool, 0);
    let gone = "    - name: builds\n      class: \"default-worker\"\n      replicas: 3\n";
    assert_eq!(definition(root), DEFINITION.replace(gone, ""));
    assert!(ends(root, &["generate", "--commit"], 0).out.contains("nothing to commit"));

    let helm = "clusters/team-a/dev-2/addons/cilium.yaml";
    let addon = ["remove", "dev-2", "--addon", "cilium", "--reason", "another"];
    assert!(generated(root, helm).unwrap().contains("prune: disabled"));
    ends(root, &addon, 0);
    commit_definitions(root);
    assert!(ends(root, &addon, 1).err.contains("the tree of the step `detach` is not committed yet"));
    commit(root);
    let detached = generated(root, helm).unwrap();
    assert!(!detached.contains("prune: disabled") && !detached.contains("suspend"), "{detached}");
    ends(root, &addon, 0);
    commit(root);
    assert_eq!(generated(root, helm), None);
    ends(root, &addon, 0);
    assert!(
        definition(root).contains("  addons:\n    cilium:\n      enabled: false\n"),
        "{}",
        definition(root)
    );
    assert!(ends(root, &["generate", "--commit"], 0).out.contains("nothing to commit"));
    ends(root, &["remove", "dev-2", "--addon", "metrics-server"], 0);
    assert!(definition(root).contains("    metrics-server:\n      enabled: false\n"), "{}", definition(root));
}

#[test]
fn a_removal_that_makes_no_sound_fleet_writes_nothing() {
    let root = committed();
    let root = root.path();
    let fleet = fs::read_to_string(root.join("stackloom.yaml")).unwrap();
    sandbox::write(
        &root.join("stackloom.yaml"),
        fleet.replace("    - name: mgmt\n", "    - name: mgmt\n      standby: true\n"),
    );
    let waits = ends(root, &REMOVE, 1);
    assert!(waits.err.contains("is on standby"), "{}", waits.err);
    sandbox::write(&root.join("stackloom.yaml"), fleet);
    sandbox::write(
        &root.join("clusters/dev/dev-2.yaml"),
        DEFINITION.replace("spec:\n", "spec:\n  suspend: a while\n"),
    );
    ends(root, &REMOVE, 0);
    commit(root);
    let paused = ends(root, &REMOVE, 1);
    assert!(paused.err.contains("is suspended, so it cannot be deleted"), "{}", paused.err);
    let detached = fs::read_to_string(root.join("clusters/dev/dev-2.yaml")).unwrap();
    let annotated = detached
        .replace("  suspend: a while\n", "")
        .replace("{ name: dev-2 }", "{ name: dev-2, annotations: { cluster.x-k8s.io/paused: \"\" } }");
    sandbox::write(&root.join("clusters/dev/dev-2.yaml"), annotated);
    commit(root);
    let paused = ends(root, &REMOVE, 1);
    assert!(
        paused.err.contains("the cluster is paused by the annotation `cluster.x-k8s.io/paused`"),
        "{}",
        paused.err
    );
    let unknown = ends(root, &["remove", "dev-3", "--reason", "x"], 1);
    // A name that differs only in its number is another cluster, so the message suggests none.
    assert!(unknown.err.contains("run `stackloom clusters` for a list"), "{}", unknown.err);
}

#[test]
fn with_manual_syncs_and_on_a_hub_each_step_says_what_a_person_does() {
    let root = sandbox::folder();
    ends(root.path(), &["init", "demo", "--engine", "argocd"], 0);
    let root = root.path().join("demo");
    let settings = fs::read_to_string(root.join("stackloom.yaml")).unwrap();
    let by_hand =
        settings.replacen("argocd:", "argocd:\n        automated: false\n        destination: eu", 1);
    assert_ne!(by_hand, settings);
    sandbox::write(&root.join("stackloom.yaml"), by_hand);
    commit(&root);
    let remove = ["remove", "dev-1", "--reason", "over"];
    let syncs = |text: &str| {
        let lines = text.lines().filter_map(|line| line.split_once("`argocd app sync "));
        lines.map(|(_, rest)| rest.trim_end_matches('`').to_owned()).collect::<Vec<_>>()
    };
    let detach = ends(&root, &remove, 0).out;
    assert_eq!(syncs(&detach), ["mgmt.cluster.team-a.dev-1", "mgmt.cluster.team-a.dev-1.addons"]);
    assert!(detach.contains("Argo CD runs in another cluster"), "{detach}");
    commit(&root);
    assert_eq!(syncs(&ends(&root, &remove, 0).out), ["mgmt.cluster.team-a.dev-1 --prune"]);
    commit(&root);
    assert_eq!(syncs(&ends(&root, &remove, 0).out), ["mgmt.clusters.team-a --prune"]);
}

#[test]
fn a_removed_pool_or_addon_asks_for_pruning_only_where_objects_leave() {
    let root = sandbox::folder();
    ends(root.path(), &["init", "demo", "--engine", "argocd"], 0);
    let root = root.path().join("demo");
    let settings = fs::read_to_string(root.join("stackloom.yaml")).unwrap();
    sandbox::write(
        &root.join("stackloom.yaml"),
        settings.replacen("argocd:", "argocd:\n        automated: false", 1),
    );
    commit(&root);
    let pool = ["remove", "dev-1", "--pool", "md-0", "--reason", "over"];
    for sync in ["sync mgmt.cluster.team-a.dev-1`", "sync mgmt.cluster.team-a.dev-1`"] {
        let printed = ends(&root, &pool, 0).out;
        assert!(printed.contains(sync) && !printed.contains("--prune"), "{printed}");
        commit(&root);
    }
    let last = ends(&root, &pool, 0).out;
    assert!(!last.contains("app sync"), "{last}");
    commit(&root);
    let addon = ends(&root, &["remove", "dev-1", "--addon", "metrics-server"], 0).out;
    assert!(addon.contains("sync mgmt.cluster.team-a.dev-1.addons --prune`"), "{addon}");
}
