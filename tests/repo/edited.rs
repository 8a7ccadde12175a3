//! `stackloom diff` where someone edited the generated tree by hand, or merged branches.

use crate::{
    diff::{ONE, fleet, generate_unguarded, replace, save, says},
    diff_guards::id_of,
    release::ends,
    sandbox::Sandbox,
};

const CLUSTER: &str = "generated/management/mgmt/clusters/blue/one/cluster/cluster.yaml";

/// Publishes HEAD as the branch that the engine reads.
fn publish(sandbox: &Sandbox) {
    sandbox.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
}

#[test]
fn a_merge_of_the_published_branch_into_another_is_not_the_merge_of_a_pull_request() {
    let sandbox = fleet();
    sandbox.git(&["checkout", "--quiet", "-b", "topic"]);
    replace(&sandbox, ONE, "replicas: 2", "replicas: 4");
    ends(&sandbox, &["generate"], 0);
    save(&sandbox, "more machines");
    sandbox.git(&["checkout", "--quiet", "main"]);
    sandbox.write("README.md", "words\n");
    save(&sandbox, "meanwhile");
    publish(&sandbox);
    sandbox.git(&["checkout", "--quiet", "--detach", "topic"]);
    sandbox.git(&["merge", "--quiet", "--no-ff", "--message", "update", "main"]);
    says(&sandbox, &["diff"], 0, "1 of 3 clusters changes: 1 adds 2 pool machines");
    says(&sandbox, &["diff"], 0, "merge base with origin/main");
    // The other way round, as CI merges, even if the branch has moved on.
    sandbox.git(&["checkout", "--quiet", "--detach", "main"]);
    sandbox.git(&["merge", "--quiet", "--no-ff", "--message", "merge", "topic"]);
    says(&sandbox, &["diff"], 0, "first parent of the merge commit");
}

#[test]
fn a_cluster_without_a_class_ends_no_comparison() {
    for class in ["", "      name: ''\n", "      name: ../../x\n"] {
        let sandbox = fleet();
        let whole = sandbox.read(CLUSTER).unwrap();
        let line = whole.lines().skip_while(|line| !line.contains("classRef:")).nth(1).unwrap();
        sandbox.write(CLUSTER, whole.replacen(&format!("{line}\n"), class, 1));
        save(&sandbox, "an edit");
        publish(&sandbox);
        sandbox.write(CLUSTER, whole);
        save(&sandbox, "as it was");
        says(&sandbox, &["diff"], 0, "1 of 3 clusters changes: 1 unknown");
        says(&sandbox, &["diff", "HEAD", "HEAD~1"], 0, "1 of 3 clusters changes: 1 unknown");
    }
}

#[test]
fn a_pool_that_leaves_with_its_whole_cluster_is_not_announced() {
    let sandbox = fleet();
    sandbox.git(&["rm", "-r", "--quiet", "generated/management"]);
    sandbox.git(&["commit", "--quiet", "--message", "empty"]);
    replace(&sandbox, ONE, "name: md-0", "name: md-9");
    generate_unguarded(&sandbox);
    save(&sandbox, "again");
    says(&sandbox, &["diff", "--fail-on", "unannounced-deletes"], 1, "error[removal]");
    says(&sandbox, &["check", "--against", "origin/main"], 1, "no step of a removal does that");
}

#[test]
fn an_addon_whose_files_were_removed_by_hand_is_not_announced() {
    let sandbox = fleet();
    let addons = "generated/management/mgmt/clusters/blue/one/addons";
    let files: Vec<String> = std::fs::read_dir(sandbox.root.join(addons))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("demo."))
        .collect();
    assert!(!files.is_empty());
    for name in files {
        sandbox.git(&["rm", "--quiet", &format!("{addons}/{name}")]);
    }
    sandbox.git(&["commit", "--quiet", "--message", "by hand"]);
    replace(
        &sandbox,
        ONE,
        "spec:\n",
        "spec:\n  addons:\n    demo: { enabled: false }\n    extra: { enabled: false }\n",
    );
    generate_unguarded(&sandbox);
    save(&sandbox, "turned off");
    says(&sandbox, &["diff", "--fail-on", "unannounced-deletes"], 1, "error[abandoned]");
    says(&sandbox, &["check", "--against", "origin/main"], 1, "error[abandoned]");
}

#[test]
fn an_addon_that_changes_its_stage_before_it_is_turned_off_is_not_announced() {
    let sandbox = fleet();
    let addon = "stacks/dev/inmemory/addons/demo/addon.yaml";
    assert!(sandbox.read(addon).unwrap().contains("stage: bootstrap"));
    replace(&sandbox, addon, "stage: bootstrap", "stage: default");
    generate_unguarded(&sandbox);
    says(&sandbox, &["diff", "HEAD"], 0, "addon demo: changes");
    says(
        &sandbox,
        &["diff", "HEAD"],
        0,
        "nothing protects it from deletion any more: as soon as it leaves git",
    );
    save(&sandbox, "another stage");
    let off = "spec:\n  addons:\n    demo: { enabled: false }\n    extra: { enabled: false }\n";
    replace(&sandbox, ONE, "spec:\n", off);
    generate_unguarded(&sandbox);
    save(&sandbox, "turned off");
    says(
        &sandbox,
        &["diff", "--fail-on", "unannounced-deletes"],
        1,
        "no commit of this change is a step of its removal",
    );
    says(&sandbox, &["check", "--against", "origin/main"], 1, "error[abandoned]");
}

#[test]
fn a_generated_file_that_the_definitions_do_not_generate_is_in_the_report() {
    let sandbox = fleet();
    let whole = sandbox.read(CLUSTER).unwrap();
    sandbox.write(CLUSTER, whole.replacen("replicas: 2", "replicas: 7", 1));
    save(&sandbox, "by hand");
    says(&sandbox, &["diff"], 0, "warning[stale-tree]: `generated/` of HEAD does not match its definitions");
    says(&sandbox, &["diff", "--format", "markdown"], 0, "clusters that differ: `blue/one`.");
    // What is not committed yet is still to be generated.
    replace(&sandbox, ONE, "replicas: 2", "replicas: 4");
    let printed = ends(&sandbox, &["diff"], 0);
    assert!(!printed.contains("stale-tree"), "{printed}");
    // A forgotten `generate`.
    sandbox.write(CLUSTER, whole);
    save(&sandbox, "more machines");
    says(&sandbox, &["diff"], 0, "clusters that differ: `blue/one`");
    ends(&sandbox, &["generate", "--commit"], 0);
    let printed = ends(&sandbox, &["diff"], 0);
    assert!(!printed.contains("stale-tree"), "{printed}");
}

#[test]
fn errors_of_no_cluster_are_in_the_report() {
    let sandbox = fleet();
    sandbox.write("clusters/blue/new.yaml", "apiVersion: [\n");
    let first = "None of the 3 clusters change; 1 error in the definitions stops `generate`";
    says(&sandbox, &["diff"], 1, first);
    says(&sandbox, &["diff", "--format", "markdown"], 1, "- `clusters/blue/new.yaml:");
    says(&sandbox, &["diff", "--format", "json"], 1, "\"count\": 1");
}

#[test]
fn a_change_does_not_choose_what_it_is_compared_with() {
    let sandbox = fleet();
    sandbox.git(&["checkout", "--quiet", "-b", "topic"]);
    replace(&sandbox, "stackloom.yaml", "branch: main", "branch: topic");
    ends(&sandbox, &["generate"], 0);
    save(&sandbox, "another branch");
    let publish = |commit: &str| sandbox.git(&["update-ref", "refs/remotes/origin/topic", commit]);
    // The branch on the remote is where this one began, so the base has the old settings.
    publish("HEAD~1");
    says(&sandbox, &["diff"], 1, "error[changed-branch]");
    // The branch on the remote has the change already, so the base is the change.
    publish("HEAD");
    sandbox.git(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main"]);
    says(
        &sandbox,
        &["diff"],
        1,
        "this change makes engines read `topic` instead of `main`, so it would choose its own base",
    );
    says(&sandbox, &["diff", "origin/main"], 0, "None of the 3 clusters change");
}

#[test]
fn a_cluster_whose_cluster_object_alone_the_base_lacks_is_not_a_new_one() {
    let sandbox = fleet();
    let whole = sandbox.read(CLUSTER).unwrap();
    sandbox.git(&["rm", "--quiet", CLUSTER]);
    sandbox.git(&["commit", "--quiet", "--message", "by hand"]);
    publish(&sandbox);
    sandbox.write(CLUSTER, &whole);
    save(&sandbox, "as it was");
    says(&sandbox, &["diff"], 0, "cluster: is defined again, as it was before");
    assert!(!ends(&sandbox, &["diff"], 0).contains("is created with"));
    // No commit tells what became of it.
    sandbox.git(&["checkout", "--quiet", "--orphan", "other"]);
    sandbox.git(&["rm", "--quiet", "--cached", CLUSTER]);
    sandbox.git(&["commit", "--quiet", "--message", "all but one"]);
    says(&sandbox, &["diff", "HEAD"], 0, "1 of 3 clusters changes: 1 unknown");
    says(&sandbox, &["diff", "HEAD"], 0, "the base has files of this cluster, but not its Cluster object");
    assert!(!ends(&sandbox, &["diff", "HEAD"], 0).contains("is created with"));
    // Nor is it new while its deletion goes on.
    sandbox.write(CLUSTER, whole);
    save(&sandbox, "back");
    for step in ["detach", "delete"] {
        ends(&sandbox, &["remove", "one", "--reason", "old"], 0);
        ends(&sandbox, &["generate"], 0);
        save(&sandbox, step);
    }
    sandbox.git(&["checkout", "--quiet", "HEAD~2", "--", ONE]);
    says(&sandbox, &["diff", "HEAD"], 0, "if it is being deleted, the deletion goes on");
}

#[test]
fn generated_files_that_are_lost_are_not_said_to_lack_a_definition() {
    let sandbox = fleet();
    sandbox.git(&["rm", "-r", "--quiet", "generated/management/mgmt/clusters/blue/one"]);
    sandbox.git(&["commit", "--quiet", "--message", "lost"]);
    let compared = ["diff", "origin/main", "HEAD"];
    says(&sandbox, &compared, 1, "the cluster `blue/one` no longer has generated files");
    says(&sandbox, &compared, 1, "it still has a definition: run `stackloom generate`");
    let printed = ends(&sandbox, &compared, 1);
    assert!(
        !printed.contains("restore the definition") && !printed.contains("nothing defines it"),
        "{printed}"
    );
    ends(&sandbox, &["generate"], 0);
    save(&sandbox, "generated again");
    says(
        &sandbox,
        &["check", "--against", "origin/main"],
        0,
        "(lost): the cluster `blue/one` no longer has generated",
    );
    // Without a definition, that is what is missing.
    sandbox.git(&["rm", "--quiet", ONE]);
    ends(&sandbox, &["generate"], 0);
    save(&sandbox, "gone");
    says(&sandbox, &["diff", "HEAD~1", "HEAD"], 1, "the cluster `blue/one` no longer has a definition");
}

#[test]
fn an_acceptance_of_the_base_accepts_nothing_new() {
    let sandbox = fleet();
    let text = sandbox.read(ONE).unwrap();
    let shrink = |sandbox: &Sandbox, accept: &str| {
        sandbox.write(ONE, text.replace("replicas: 2", "replicas: 1") + accept);
    };
    shrink(&sandbox, "");
    let fails = ["diff", "origin/main", "--fail-on", "scale-down"];
    ends(&sandbox, &fails, 1);
    let accept = format!(
        "  accept: [{{ risk: scale-down, reason: it is idle, change: {} }}]\n",
        id_of(&sandbox, "md.md-0", "scale-down")
    );
    shrink(&sandbox, &accept);
    says(&sandbox, &fails, 0, "accepted: it is idle");
    generate_unguarded(&sandbox);
    save(&sandbox, "fewer machines");
    publish(&sandbox);
    says(&sandbox, &["diff"], 0, "nothing needs this acceptance");
    // The way back, which the acceptance outlives, and the same change again.
    sandbox.write(ONE, text.clone() + &accept);
    generate_unguarded(&sandbox);
    save(&sandbox, "more machines");
    publish(&sandbox);
    shrink(&sandbox, &accept);
    says(&sandbox, &fails, 1, "the base has this acceptance of the change");
    shrink(&sandbox, &accept.replace("it is idle", "it is idle again"));
    says(&sandbox, &fails, 0, "accepted: it is idle again");
}

/// A run that waits for its input for ever has already replaced what an earlier run wrote.
#[cfg(unix)]
#[test]
fn a_run_that_is_killed_leaves_no_older_report() {
    let sandbox = fleet();
    let (pipe, report) = (sandbox.outside().join("live"), sandbox.outside().join("report.md"));
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    std::fs::write(&report, "an older report\n").unwrap();
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_stackloom"))
        .args(["diff", "HEAD", "--before"])
        .arg(&pipe)
        .arg(format!("--write=markdown={}", report.display()))
        .current_dir(&sandbox.root)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let replaced = (0..600).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        std::fs::read_to_string(&report).unwrap().contains("the comparison began and did not end")
    });
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(replaced);
}

#[test]
fn what_engines_note_on_running_objects_is_no_change() {
    let sandbox = fleet();
    let mut live = String::new();
    let mut files: Vec<String> = sandbox.tree().iter().map(|path| format!("generated/{path}")).collect();
    files.retain(|path| path.contains("/cluster-class/") && !path.ends_with('/') || path == CLUSTER);
    for path in files {
        for object in sandbox.read(&path).unwrap().split("\n---\n") {
            let namespace =
                if object.contains("\n  namespace: ") { "" } else { "\n  namespace: cluster-classes" };
            let noted = "  labels:\n    kustomize.toolkit.fluxcd.io/name: release\n    kustomize.toolkit.fluxcd.io/namespace: flux-system\n";
            let object = if object.contains("\n  labels:\n") {
                object.replacen("\n  labels:\n", &format!("\n{noted}"), 1)
            } else {
                object.replacen("\nmetadata:\n", &format!("\nmetadata:\n{noted}"), 1)
            };
            let annotations = "\n  annotations:\n    argocd.argoproj.io/tracking-id: a\n";
            // Flux adds them to the objects of a release, too.
            let of_release = "    kustomize.toolkit.fluxcd.io/prune: disabled\n    kustomize.toolkit.fluxcd.io/substitute: disabled\n";
            let object = if object.contains("\n  annotations:\n") {
                object.replacen("\n  annotations:\n", annotations, 1)
            } else {
                object.replacen("\nmetadata:\n", &format!("\nmetadata:{annotations}{of_release}"), 1)
            };
            let object = object.replacen("\nmetadata:", &format!("\nmetadata:{namespace}"), 1);
            live.extend(["---\n", &object, "\n"]);
        }
    }
    sandbox.write("live.yaml", live);
    replace(&sandbox, ONE, "replicas: 2", "replicas: 4");
    let printed = ends(&sandbox, &["diff", "HEAD", "--before", "live.yaml"], 0);
    assert!(printed.contains("scale from 2 to 4"), "{printed}");
    assert!(!printed.contains("labels and annotations only"), "{printed}");
}

/// The defaults of a folder set what is overridden, and a guard must not blame them.
#[test]
fn refusals_and_findings_point_to_the_line_that_decides() {
    let sandbox = fleet();
    ends(&sandbox, &["release", "--no-tag"], 0);
    let defaults = sandbox.read("clusters/_defaults.yaml").unwrap();
    sandbox.write("clusters/_defaults.yaml", defaults + "  kubernetes: \"1.36\"\n");
    replace(&sandbox, ONE, "  kubernetes: \"1.35\"", "  release: dev-inmemory-1-36-v1");
    ends(&sandbox, &["generate"], 0);
    save(&sandbox, "a numbered release");
    publish(&sandbox);
    replace(&sandbox, ONE, "1-36-v1", "1-35-v1");
    says(&sandbox, &["diff"], 1, "--> clusters/blue/one.yaml:8:12");
    says(&sandbox, &["diff", "--format", "github"], 1, "::error file=clusters/blue/one.yaml,line=8,");
    sandbox.git(&["checkout", "--quiet", "."]);
    // The definition has a line for the version, but the refusal is about the pool, which is missing in the list.
    replace(
        &sandbox,
        ONE,
        "1-36-v1",
        "1-36-v1\n  nodePools:\n    - name: md-9\n      class: default-worker\n      replicas: 2\nx",
    );
    let text = sandbox.read(ONE).unwrap();
    sandbox.write(ONE, text.split("\nx").next().unwrap());
    says(&sandbox, &["diff", "--format", "github"], 1, "::error file=clusters/blue/one.yaml,line=9,");
    // What is refused does not happen, so a revert has nothing to undo.
    let printed = ends(&sandbox, &["diff", "--format", "json"], 1);
    assert!(printed.contains("\"nothing-to-undo\"") && !printed.contains("\"creates-new\""), "{printed}");
    sandbox.git(&["checkout", "--quiet", "."]);
    replace(&sandbox, "stackloom.yaml", "engine: flux", "engine: argocd");
    says(&sandbox, &["diff"], 1, "--> stackloom.yaml:");
}
