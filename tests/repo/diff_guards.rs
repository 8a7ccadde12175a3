//! What `stackloom diff` and `check --against` refuse, announce and accept.

use std::fs;

use serde_json::Value as Json;

use crate::{
    diff::{ONE, THREE, fleet, generate_unguarded, remove_in_steps, replace, save, says, step},
    release::{ends, stackloom},
    sandbox::{Sandbox, git_in},
};

const GUARDED: [&[&str]; 2] = [
    &["check", "--against", "origin/main"],
    &["diff", "origin/main", "--fail-on", "refused,unannounced-deletes"],
];

#[test]
fn a_removal_with_all_its_steps_in_one_change_is_announced() {
    let sandbox = fleet();
    let text = sandbox.read(ONE).unwrap();
    let [first, _] = remove_in_steps(&sandbox);
    fs::remove_file(sandbox.root.join(ONE)).unwrap();
    // The last step is not committed yet.
    for arguments in GUARDED {
        says(&sandbox, arguments, 0, "warning[announced]");
        says(&sandbox, arguments, 0, &first);
        says(&sandbox, arguments, 0, ONE);
    }
    says(
        &sandbox,
        GUARDED[1],
        0,
        "is deleted with 3 machines (control plane: 1, pool md-0: 2), as the `removal` in its definition announced",
    );
    step(&sandbox, "gone");
    says(&sandbox, GUARDED[0], 0, "warning[announced]");
    says(&sandbox, &["diff", "main", "topic", "--fail-on", "unannounced-deletes"], 0, "warning[announced]");
    says(
        &sandbox,
        &["diff", "main", "topic", "--format", "markdown"],
        0,
        "**Warning:** the cluster `blue/one` is removed in steps, and this change contains all of them; merge and apply the commits one by one",
    );
    // The checkout in CI, with a new commit on the branch in the meantime.
    sandbox.git(&["checkout", "--quiet", "--detach", "main"]);
    sandbox.git(&["commit", "--quiet", "--allow-empty", "--message", "meanwhile"]);
    sandbox.git(&["merge", "--quiet", "--no-ff", "--message", "merge", "topic"]);
    says(&sandbox, &["diff", "--fail-on", "unannounced-deletes"], 0, "warning[announced]");
    // The same changes in one commit are not announced.
    sandbox.git(&["checkout", "--quiet", "-b", "squashed", "main"]);
    sandbox.git(&["merge", "--quiet", "--squash", "topic"]);
    sandbox.git(&["commit", "--quiet", "--message", "squashed"]);
    says(&sandbox, GUARDED[1], 1, "abandoned");
    // Neither are they if a step is skipped.
    sandbox.git(&["checkout", "--quiet", "-b", "jump", "main"]);
    sandbox.write(ONE, format!("{text}  removal: {{ reason: over, step: detach }}\n"));
    step(&sandbox, "detach");
    fs::remove_file(sandbox.root.join(ONE)).unwrap();
    fs::remove_dir_all(sandbox.root.join("generated/management/mgmt/clusters/blue/one")).unwrap();
    says(&sandbox, GUARDED[1], 1, "abandoned");
}

/// A definition that is deleted by mistake and restored later. The cluster kept running.
#[test]
fn a_lost_cluster_that_comes_back_is_not_a_new_one() {
    let sandbox = fleet();
    let text = sandbox.read(ONE).unwrap();
    fs::remove_file(sandbox.root.join(ONE)).unwrap();
    let lost = step(&sandbox, "lost");
    sandbox.git(&["commit", "--quiet", "--allow-empty", "--message", "meanwhile"]);
    sandbox.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    sandbox.git(&["checkout", "--quiet", "-b", "topic"]);
    sandbox.write(ONE, &text);
    let same = format!(
        "is defined again, as it was before {lost} removed its files: if it still runs, nothing changes"
    );
    says(&sandbox, &["diff"], 0, &same);
    says(&sandbox, &["diff", "--fail-on", "unknown"], 0, "in place");
    sandbox.write(ONE, text.replace("replicas: 2", "replicas: 3"));
    says(&sandbox, &["diff"], 0, &format!("is defined again, but differs from what {lost} removed"));
    says(&sandbox, &["diff", "--fail-on", "unknown"], 1, "1 unknown");
    // Without its history, a cluster is new.
    sandbox.git(&["checkout", "--quiet", "--orphan", "fresh"]);
    sandbox.git(&["commit", "--quiet", "--message", "fresh"]);
    says(&sandbox, &["diff", "HEAD"], 0, "is created with 4 machines");
}

/// A move that was merged by mistake, and its revert. The cluster that was left behind kept running.
#[test]
fn a_cluster_that_moves_back_is_not_built_anew() {
    let sandbox = fleet();
    let text = sandbox.read(ONE).unwrap();
    sandbox.write(ONE, text.replace("namespace: blue", "namespace: red"));
    generate_unguarded(&sandbox);
    save(&sandbox, "moved");
    let lost = sandbox.git(&["rev-parse", "HEAD"]).trim()[..10].to_owned();
    sandbox.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    sandbox.write(ONE, &text);
    let same = format!(
        "is defined again, as it was before {lost} removed its files: if it still runs, nothing changes"
    );
    says(&sandbox, &["diff"], 1, &same);
    says(&sandbox, &["diff"], 1, "red/one\n    cluster: is abandoned: its files leave git");
}

#[test]
fn a_shallow_clone_says_which_history_it_lacks() {
    let sandbox = fleet();
    remove_in_steps(&sandbox);
    let lost = sandbox.git(&["rev-parse", "HEAD~1"]).trim()[..10].to_owned();
    let clone = Sandbox::new();
    fs::remove_dir(&clone.root).unwrap();
    let url = format!("file://{}", sandbox.root.display());
    let into = clone.root.to_str().unwrap();
    let depth = ["clone", "--quiet", "--depth", "1", "--no-single-branch", "--branch", "topic", &url, into];
    assert!(git_in(&clone.outside()).args(depth).status().unwrap().success());
    let check = ["check", "--against", "origin/main"];
    says(&clone, &check, 1, &format!("the commit {lost}, parent of"));
    says(&clone, &check, 1, "git fetch --unshallow");
    clone.git(&["fetch", "--quiet", "--unshallow"]);
    says(&clone, &check, 0, "warning[announced]");
}

#[test]
fn a_refusal_that_a_later_commit_undoes_is_a_warning_and_others_are_errors() {
    let sandbox = fleet();
    sandbox.git(&["checkout", "--quiet", "-b", "topic"]);
    let commit = |from: &str, to: &str, message: &str| {
        replace(&sandbox, THREE, from, to);
        generate_unguarded(&sandbox);
        save(&sandbox, message);
    };
    commit("kubernetes: \"1.36\"", "kubernetes: \"1.35\"", "down");
    says(&sandbox, &["check", "--against", "origin/main"], 1, "error[replaced]");
    says(&sandbox, &["check", "--against", "origin/main"], 1, &format!("--> {THREE}:"));
    commit("kubernetes: \"1.35\"", "kubernetes: \"1.36\"", "up");
    for arguments in GUARDED {
        says(&sandbox, arguments, 0, "warning[replaced]");
        says(&sandbox, arguments, 0, "(down): ");
        says(&sandbox, arguments, 0, "squash the commits");
    }
    says(&sandbox, &["diff", "--format", "markdown"], 0, "\n**Warning:** in the commit ");
}

#[test]
fn a_revert_is_not_said_to_be_undone_by_a_later_commit() {
    let sandbox = fleet();
    sandbox.git(&["checkout", "--quiet", "-b", "topic"]);
    for (from, to, message) in [("1.35", "1.36", "up"), ("1.36", "1.35", "back")] {
        let quoted = |version: &str| format!("kubernetes: \"{version}\"");
        replace(&sandbox, ONE, &quoted(from), &quoted(to));
        generate_unguarded(&sandbox);
        save(&sandbox, message);
    }
    for arguments in GUARDED {
        says(&sandbox, arguments, 0, "(back): ");
        says(&sandbox, arguments, 0, "it undoes an earlier commit of this change");
        assert!(!ends(&sandbox, arguments, 0).contains("a later commit"));
    }
}

/// The ID of a part's change in the JSON report.
pub(crate) fn id_of(sandbox: &Sandbox, part: &str, risk: &str) -> String {
    let output = stackloom(sandbox, &["diff", "origin/main", "--format", "json"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let changes = document["clusters"][0]["changes"].as_array().unwrap();
    let found = changes.iter().find(|one| one["part"] == part && one["risk"] == risk);
    found.unwrap_or_else(|| panic!("{document:#}"))["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_risk_that_is_accepted_passes_and_any_other_change_voids_that() {
    let sandbox = fleet();
    sandbox.git(&["checkout", "--quiet", "-b", "topic"]);
    replace(&sandbox, ONE, "name: md-0", "name: md-1");
    fs::remove_dir_all(sandbox.root.join("generated/management")).unwrap();
    let text = sandbox.read(ONE).unwrap();
    let check = ["check", "--against", "origin/main"];
    let diff = ["diff", "origin/main", "--fail-on", "refused,deletes,unannounced-deletes"];
    says(&sandbox, &check, 1, "error[removal]");
    says(&sandbox, &diff, 1, "error[removal]");
    let (refused, deletes) = (id_of(&sandbox, "cluster", "refused"), id_of(&sandbox, "md.md-0", "deletes"));
    let accept = |deletes: &str| {
        let both = format!(
            "  accept:\n    - {{ risk: refused, reason: it is empty, change: {refused} }}\n    - {{ risk: {deletes}, reason: it is empty, change: {} }}\n",
            id_of(&sandbox, "md.md-0", "deletes")
        );
        sandbox.write(ONE, format!("{text}{both}"));
    };
    accept("deletes");
    assert_eq!(id_of(&sandbox, "md.md-0", "deletes"), deletes);
    says(&sandbox, &check, 0, "this risk is accepted: it is empty");
    says(&sandbox, &diff, 0, "does not write this change; accepted: it is empty");
    says(&sandbox, &["diff", "origin/main", "--fail-on", "in-place"], 1, "accepted");
    // A different risk than that of the change.
    accept("pools");
    says(&sandbox, &diff, 1, "has the risk `deletes`, not `pools`");
    accept("deletes");
    // A different change of the cluster.
    let accepted = sandbox.read(ONE).unwrap();
    sandbox.write(ONE, accepted.replace("replicas: 2", "replicas: 3"));
    says(&sandbox, &diff, 1, "warning[unused-acceptance]");
    // Once it is in the base, the acceptance is no longer needed. Another cluster's definition cannot accept the change.
    sandbox.write(ONE, text.clone());
    let other = sandbox.read(THREE).unwrap();
    let own = format!("  accept: [{{ risk: refused, reason: it is empty, change: {refused} }}]\n");
    sandbox.write(THREE, format!("{other}{own}"));
    says(&sandbox, &check, 1, "this file cannot accept the change");
    sandbox.git(&["checkout", "--quiet", "."]);
    sandbox.write(THREE, format!("{other}{own}"));
    says(&sandbox, &check, 0, "nothing needs this acceptance");
}

/// The ID of a new cluster or of an upgrade stays while nothing about it changes, and only then.
#[test]
fn ids_of_new_clusters_and_upgrades_are_bound_to_all_that_is_new() {
    const FOUR: &str = "clusters/green/four.yaml";
    let sandbox = fleet();
    sandbox.git(&["checkout", "--quiet", "-b", "topic"]);
    let four = "apiVersion: stackloom.dev/v1alpha1\nkind: ClusterDefinition\nmetadata:\n  name: four\n  namespace: green\nspec:\n  kubernetes: \"1.36\"\n";
    sandbox.write(FOUR, four);
    let created = || id_of(&sandbox, "cluster", "in-place");
    let id = created();
    sandbox.write(
        FOUR,
        format!("# a comment\n{four}  accept: [{{ risk: in-place, reason: new, change: {id} }}]\n"),
    );
    assert_eq!(created(), id);
    says(&sandbox, &["diff", "origin/main"], 0, "accepted: new");
    for more in [
        "  addons: { extra: { values: { replicas: 9 } } }\n",
        "  addons: { extra: { enabled: false } }\n",
        "  controlPlane: { replicas: 3 }\n",
        "  variables: { motd: other }\n",
    ] {
        sandbox.write(FOUR, format!("{four}{more}"));
        assert_ne!(created(), id, "{more}");
    }
    fs::remove_file(sandbox.root.join(FOUR)).unwrap();
    replace(&sandbox, ONE, "kubernetes: \"1.35\"", "kubernetes: \"1.36\"");
    let upgraded = || {
        [("control-plane", "control-plane"), ("md.md-0", "pools")]
            .map(|(part, risk)| id_of(&sandbox, part, risk))
    };
    let ids = upgraded();
    let one = sandbox.read(ONE).unwrap();
    // Neither the other clusters nor the addons are part of it.
    sandbox.write(ONE, format!("{one}  addons: {{ extra: {{ values: {{ replicas: 9 }} }} }}\n"));
    replace(&sandbox, THREE, "spec:", "spec:\n  variables: { motd: other }");
    assert_eq!(upgraded(), ids);
    sandbox.write(ONE, one.replace("replicas: 2", "replicas: 3"));
    let [control_plane, pool] = upgraded();
    assert!(control_plane != ids[0] && pool != ids[1]);
    sandbox.write(ONE, one);
    let worker = "stacks/dev/inmemory/cluster-class/templates.yaml";
    replace(&sandbox, worker, "path: /etc/node-image", "path: /etc/image");
    let [control_plane, pool] = upgraded();
    assert!(control_plane != ids[0] && pool != ids[1]);
}

/// A release renames a variable: messages name the lines that no longer fit, and `migrate` changes them.
#[test]
fn migrate_mends_what_the_move_to_a_release_with_other_variables_breaks() {
    const TWO: &str = "clusters/blue/two.yaml";
    const STACK: &str = "stacks/dev/inmemory";
    let sandbox = fleet();
    ends(&sandbox, &["release", "--no-tag", "--kubernetes", "1.36"], 0);
    replace(&sandbox, TWO, "  kubernetes: \"1.36\"", "  release: dev-inmemory-1-36-v1");
    ends(&sandbox, &["generate"], 0);
    save(&sandbox, "v1");
    sandbox.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    sandbox.git(&["checkout", "--quiet", "-b", "topic"]);
    let class = format!("{STACK}/cluster-class/cluster-class.yaml");
    replace(&sandbox, &class, "- name: motd\n      required", "- name: banner\n      required");
    replace(&sandbox, &class, ".motd", ".banner");
    let notes = format!("{STACK}/addons/notes/manifests/notes.yaml");
    replace(&sandbox, &notes, "cluster.variables.motd", "cluster.variables.banner");
    let stack = sandbox.read(&format!("{STACK}/stack.yaml")).unwrap();
    let migrations = "  migrations:\n    - variable: motd\n      renameTo: banner\n";
    sandbox.write(&format!("{STACK}/stack.yaml"), stack + migrations);
    save(&sandbox, "banner");
    let released = ends(&sandbox, &["release", "--no-tag", "--kubernetes", "1.36"], 0);
    assert!(released.contains("the variable `motd` is called `banner`"), "{released}");
    replace(&sandbox, TWO, "1-36-v1", "1-36-v2");
    let why = "clusters/blue/two.yaml:18:11: the variable `motd` is called `banner` in dev-inmemory-1-36-v2: `stackloom migrate` changes it";
    says(&sandbox, &["diff"], 1, why);
    says(&sandbox, &["check"], 1, "it is called `banner` now: `stackloom migrate` renames it");
    let before = sandbox.read(TWO).unwrap();
    says(&sandbox, &["migrate", "two"], 0, "  -     motd: \"yes\"\n  +     banner: \"yes\"\n");
    says(&sandbox, &["migrate", "--selector", "env=prod"], 0, "no definition needs a change");
    assert_eq!(sandbox.read(TWO).unwrap(), before);
    ends(&sandbox, &["migrate", "--selector", "env!=prod", "--write"], 0);
    assert_eq!(sandbox.read(TWO).unwrap(), before.replace("motd:", "banner:"));
    says(&sandbox, &["diff"], 0, "the variable `motd` is called `banner` in dev-inmemory-1-36-v2");
    says(&sandbox, &["migrate"], 0, "no definition needs a change");
}

/// Pools and addons leave in steps of their own, all in one change or one after the other.
#[test]
fn removals_in_steps_are_announced() {
    let sandbox = fleet();
    let unannounced = GUARDED[1];
    let replaced = |from: &str, to: &str| replace(&sandbox, ONE, from, to);
    let publish = || drop(sandbox.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]));
    let pool = "    - name: md-1\n      class: default-worker\n      replicas: 1\n";
    replaced("  nodePools:\n", &format!("  addons: {{ extra: {{ enabled: false }} }}\n  nodePools:\n{pool}"));
    step(&sandbox, "another pool");
    publish();
    let text = sandbox.read(ONE).unwrap();
    sandbox.git(&["checkout", "--quiet", "-b", "topic"]);
    for (one, what, arguments) in [
        ("pool md-1", "the node pool `md-1` of `blue/one`", ["--pool", "md-1"]),
        ("addon demo", "the addon `demo` of `blue/one`", ["--addon", "demo"]),
    ] {
        sandbox.git(&["checkout", "--quiet", "-B", "topic", "origin/main"]);
        let remove = || {
            let reason = ["--reason", "over"];
            ends(&sandbox, &[&["remove", "one"], &arguments[..], &reason[..]].concat(), 0);
        };
        remove();
        step(&sandbox, "detach");
        remove();
        step(&sandbox, "delete");
        remove();
        step(&sandbox, "gone");
        says(&sandbox, unannounced, 0, "warning[announced]");
        says(&sandbox, unannounced, 0, what);
        says(&sandbox, unannounced, 0, one);
        // If the earlier steps were merged, the last ones alone are enough.
        let later = ["diff", "topic~2", "topic", "--fail-on", "refused,unannounced-deletes"];
        says(&sandbox, &later, 0, one);
        sandbox.git(&["checkout", "--quiet", "-B", "squashed", "origin/main"]);
        sandbox.git(&["merge", "--quiet", "--squash", "topic"]);
        sandbox.git(&["commit", "--quiet", "--message", "squashed"]);
        ends(&sandbox, unannounced, 1);
    }
    assert_eq!(sandbox.git(&["show", &format!("origin/main:{ONE}")]), text);
}

#[test]
fn folder_defaults_accept_for_what_is_below_and_beside() {
    const DEFAULTS: &str = "clusters/_defaults.yaml";
    let sandbox = fleet();
    sandbox.git(&["checkout", "--quiet", "-b", "topic"]);
    replace(&sandbox, ONE, "name: md-0", "name: md-1");
    fs::remove_dir_all(sandbox.root.join("clusters/green/three.d")).unwrap();
    fs::remove_dir_all(sandbox.root.join("generated/management")).unwrap();
    let fails = ["diff", "origin/main", "--fail-on", "refused,deletes"];
    let output = stackloom(&sandbox, &["diff", "origin/main", "--format", "json"]);
    let document: Json = serde_json::from_slice(&output.stdout).unwrap();
    let own = document["beside"].as_array().unwrap().iter().find(|one| one["kind"] == "own").unwrap();
    assert_eq!(own["objects"][0]["effect"], "removed");
    let ids = [
        ("refused", id_of(&sandbox, "cluster", "refused")),
        ("deletes", id_of(&sandbox, "md.md-0", "deletes")),
        ("deletes", own["id"].as_str().unwrap().to_owned()),
    ];
    let defaults = sandbox.read(DEFAULTS).unwrap();
    let accepting = |ids: &[(&str, String)]| {
        let all = ids
            .iter()
            .map(|(risk, id)| format!("    - {{ risk: {risk}, reason: as agreed, change: {id} }}\n"));
        format!("  accept:\n{}", all.collect::<String>())
    };
    sandbox.write(DEFAULTS, defaults.clone() + &accepting(&ids[..2]));
    says(&sandbox, &fails, 1, "does not write this change; accepted: as agreed");
    sandbox.write(DEFAULTS, defaults.clone() + &accepting(&ids));
    says(
        &sandbox,
        &fails,
        0,
        "ConfigMap green/three-settings stays unmanaged (1 file is removed); accepted: as agreed",
    );
    says(&sandbox, &["check", "--against", "origin/main"], 0, "this risk is accepted: as agreed");
    // The definition of another cluster cannot accept changes of the folder.
    sandbox.write(DEFAULTS, defaults + &accepting(&ids[..2]));
    let one = sandbox.read(ONE).unwrap();
    sandbox.write(ONE, one + &accepting(&ids[2..]));
    says(&sandbox, &fails, 1, "this file cannot accept the change");
}

/// A cluster that leaves without any step, with its namespace and its own objects, and one whose name changes.
#[test]
fn a_lost_cluster_is_refused_and_can_be_accepted() {
    const DEFAULTS: &str = "clusters/_defaults.yaml";
    let sandbox = fleet();
    sandbox.git(&["checkout", "--quiet", "-b", "topic"]);
    let fails = ["diff", "origin/main", "--fail-on", "refused,deletes"];
    replace(&sandbox, THREE, "name: three", "name: drei");
    says(&sandbox, GUARDED[0], 1, "error[abandoned]");
    says(&sandbox, &["diff", "origin/main"], 1, "green/drei\n    cluster: was `mgmt/green/three` before");
    says(
        &sandbox,
        &["diff", "origin/main"],
        1,
        "1 of 3 clusters changes: 1 is abandoned and rebuilt as a new cluster",
    );
    sandbox.git(&["checkout", "--quiet", "."]);
    fs::remove_file(sandbox.root.join(THREE)).unwrap();
    fs::remove_dir_all(sandbox.root.join("clusters/green/three.d")).unwrap();
    says(&sandbox, GUARDED[0], 1, "error[abandoned]");
    // Said once, as a finding.
    let annotated = ends(&sandbox, &["diff", "origin/main", "--format", "github"], 1);
    assert_eq!(annotated.matches("::error file=clusters/green/three.yaml").count(), 1, "{annotated}");
    assert!(!annotated.contains("title=abandoned"), "{annotated}");
    says(
        &sandbox,
        &["diff", "origin/main"],
        1,
        "1 of 3 clusters changes: 1 is abandoned; changes outside clusters: 2 abandon objects",
    );
    let output = stackloom(&sandbox, &["diff", "origin/main", "--format", "json"]);
    let document: Json = serde_json::from_slice(&output.stdout).unwrap();
    let beside = document["beside"].as_array().unwrap().iter().filter(|one| one["risk"] == "deletes");
    let own = document["clusters"][0]["changes"].as_array().unwrap().iter();
    assert_eq!(own.len(), 1, "{document:#}");
    let accepts = own.chain(beside).map(|one| {
        format!("    - {{ risk: deletes, reason: as agreed, change: {} }}\n", one["id"].as_str().unwrap())
    });
    let accept = format!("  accept:\n{}", accepts.collect::<String>());
    let defaults = sandbox.read(DEFAULTS).unwrap();
    sandbox.write(DEFAULTS, defaults.clone() + &accept);
    says(&sandbox, GUARDED[0], 0, "this risk is accepted: as agreed");
    says(&sandbox, &fails, 0, "unmanaged; accepted: as agreed");
    says(
        &sandbox,
        &fails,
        0,
        "the namespace itself stays, unmanaged (3 files are removed); accepted: as agreed",
    );
    assert!(!ends(&sandbox, GUARDED[0], 0).contains("unused-acceptance"));
    says(&sandbox, &["explain", "two", "accept"], 0, "clusters/_defaults.yaml");
    // The defaults of another folder say nothing about this cluster.
    sandbox.write(DEFAULTS, defaults);
    let header = "apiVersion: stackloom.dev/v1alpha1\nkind: ClusterDefaults\nspec:\n";
    sandbox.write("clusters/blue/_defaults.yaml", format!("{header}{accept}"));
    says(&sandbox, &fails, 1, "this file cannot accept the change");
}

/// An addon that only applies manifests leaves in steps, too, whatever installs it.
#[test]
fn an_addon_of_manifests_leaves_in_steps_with_each_delivery() {
    for settings in ["engine: flux", "engine: argocd", "engine: flux\n  addonDelivery: sveltos-profile"] {
        let sandbox = fleet();
        replace(&sandbox, "stackloom.yaml", "engine: flux", settings);
        replace(
            &sandbox,
            "stacks/dev/inmemory/addons/notes/addon.yaml",
            "stage: default",
            "stage: bootstrap",
        );
        generate_unguarded(&sandbox);
        save(&sandbox, settings);
        sandbox.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
        sandbox.git(&["checkout", "--quiet", "-b", "topic"]);
        for message in ["detach", "delete", "gone"] {
            ends(&sandbox, &["remove", "one", "--addon", "notes", "--reason", "over"], 0);
            step(&sandbox, message);
        }
        says(&sandbox, GUARDED[1], 0, "warning[announced]");
        says(&sandbox, GUARDED[1], 0, "the addon `notes` of `blue/one` is removed in steps");
        // The earlier steps are merged already.
        says(
            &sandbox,
            &["diff", "topic~2", "topic", "--fail-on", "refused,unannounced-deletes"],
            0,
            "addon notes: is removed",
        );
        sandbox.git(&["checkout", "--quiet", "-b", "squashed", "origin/main"]);
        sandbox.git(&["merge", "--quiet", "--squash", "topic"]);
        sandbox.git(&["commit", "--quiet", "--message", "squashed"]);
        for guarded in GUARDED {
            let said = ends(&sandbox, guarded, 1);
            assert_eq!(said.matches("error[abandoned]").count(), 1, "{settings}: {said}");
            assert!(said.contains("nothing defines the addon `notes` of `blue/one` any more"), "{said}");
        }
        says(&sandbox, &["diff", "origin/main"], 1, "addon notes: is abandoned, version");
    }
}
