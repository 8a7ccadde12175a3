//! `stackloom clusters`: the state of each cluster, and selecting clusters. `stackloom matrix`: compatible versions.

use std::{fs, path::Path, process::Command};

use super::{
    cli::{ends, environment, fleet, json},
    sandbox,
};

const DEFAULTS: &str = "apiVersion: stackloom.dev/v1alpha1\nkind: ClusterDefaults\nmetadata:\n  namespace: team-p\n  labels: { env: prod }\n\
                        spec:\n  managementCluster: mgmt\n  controlPlane: { replicas: 3 }\n  network: { pods: [10.0.0.0/16] }\n";

const TABLE: &str = "\
name  release             kubernetes  end of life  newest release      newer minors  addons              state      reason
p-1   docker-scs-1-35-v1  1.35.8      2027-02-28   docker-scs-1-35-v2  1.36          metrics-server off  active     –
p-2   docker-scs-1-35-v2  1.35.8      2027-02-28   docker-scs-1-35-v2  1.36          –                   suspended  freeze
p-3   head                1.34.11     2026-10-27   –                   1.35, 1.36    –                   active     –
p-4   docker-scs-1-36-v1  1.36.4      2027-06-28   docker-scs-1-36-v1  –             –                   active     –
";

fn cluster(root: &Path, name: &str, more: &str) {
    let text = format!(
        "apiVersion: stackloom.dev/v1alpha1\nkind: ClusterDefinition\nmetadata:\n  name: {name}\n{more}  nodePools:\n    \
         - name: md-0\n      class: default-worker\n      replicas: 1\n"
    );
    sandbox::write(&root.join(format!("clusters/prod/{name}.yaml")), &text);
}

fn commit(root: &Path) {
    for arguments in [&["add", "."][..], &["commit", "--quiet", "--allow-empty", "-m", "change"]] {
        let mut command = Command::new("git");
        environment(&mut command);
        assert!(command.args(arguments).current_dir(root).status().unwrap().success());
    }
}

/// Four clusters in different states.
fn four() -> tempfile::TempDir {
    let made = fleet();
    let root = made.path();
    commit(root);
    ends(root, &["release", "--no-tag", "--kubernetes", "1.35"], 0);
    let values = root.join("stacks/docker/scs/addons/cilium/values.yaml");
    let text = fs::read_to_string(&values).unwrap();
    assert!(text.contains("replicas: 1"), "{text}");
    fs::write(&values, text.replace("replicas: 1", "replicas: 2")).unwrap();
    commit(root);
    ends(root, &["release", "--no-tag", "--kubernetes", "1.35"], 0);
    ends(root, &["release", "--no-tag", "--kubernetes", "1.36"], 0);
    sandbox::write(&root.join("clusters/prod/_defaults.yaml"), DEFAULTS);
    let own = "spec:\n  release: docker-scs-1-35-v1\n  addons: { metrics-server: { enabled: false } }\n";
    cluster(root, "p-1", own);
    cluster(root, "p-2", "spec:\n  release: docker-scs-1-35-v2\n  suspend: freeze\n");
    let head = "spec:\n  stack: docker/scs\n  kubernetes: '1.34'\n  release: head\n";
    cluster(root, "p-3", &format!("  labels: {{ legacy: yes-it-is }}\n{head}"));
    cluster(root, "p-4", "spec:\n  release: docker-scs-1-36-v1\n");
    made
}

#[test]
fn clusters_show_their_state() {
    let made = four();
    let root = made.path();
    let columns = "name,release,kubernetes,end-of-life,newest-release,newer-minors,addons,state,reason";
    let listed = ends(root, &["clusters", "--namespace", "team-p", "-o", columns], 0);
    assert_eq!(listed.out, TABLE);
    let all = ends(root, &["clusters"], 0).out;
    let head = "name   namespace  management cluster  stack       release             kubernetes  end of life  newest release      state";
    assert_eq!(all.lines().next(), Some(head), "{all}");

    // Long before its end of life, the stack has deprecated a minor.
    let early = ends(root, &["clusters", "--namespace", "team-p", "--today", "2026-05-01"], 0).err;
    let deprecated = "warning[deprecated]: 1 cluster has a Kubernetes version that its stack has deprecated or no longer maintains";
    assert!(early.contains(deprecated) && !early.contains("end-of-life"), "{early}");

    let reported = json(root, &["clusters", "--selector", "env=prod", "-o", "name"], 0);
    let first = serde_json::json!({
        "cluster": { "managementCluster": "mgmt", "namespace": "team-p", "name": "p-1" },
        "stack": "docker/scs",
        "release": "docker-scs-1-35-v1",
        "kubernetes": "1.35.8",
        "endOfLife": "2027-02-28",
        "newestRelease": "docker-scs-1-35-v2",
        "newerMinors": ["1.36"],
        "addons": [{
            "name": "metrics-server",
            "released": reported["clusters"][0]["addons"][0]["released"],
            "version": null,
            "enabled": false,
            "release": null,
            "removal": null,
        }],
        "state": "active",
        "reason": null,
        "rollout": null,
        "file": "clusters/prod/p-1.yaml",
    });
    assert_eq!(reported["clusters"][0], first);
    assert!(first["addons"][0]["released"].is_string());

    let ways: &[(&[&str], &[&str])] = &[
        (&["--behind"], &["p-1"]),
        (&["--selector", "env=prod,!legacy"], &["p-1", "p-2", "p-4"]),
        (&["--selector", "env in (dev,prod)", "--release", "head"], &["p-3"]),
        // Versions past their end of life are listed, too; the last day counts.
        (&["--eol-within", "96d", "--today", "2026-11-23"], &["p-3"]),
        (&["--eol-within", "97d", "--today", "2026-11-23"], &["p-1", "p-2", "p-3"]),
        (&["--eol-within", "97d", "--today", "2026-11-23", "--behind"], &["p-1"]),
    ];
    for (more, expected) in ways {
        let reported = json(root, &[&["clusters", "--namespace", "team-p"], *more].concat(), 0);
        let found = reported["clusters"].as_array().unwrap().iter();
        let names: Vec<_> = found.map(|one| one["cluster"]["name"].as_str().unwrap()).collect();
        assert_eq!(names, *expected, "{more:?}");
    }
    for (wrong, says) in [
        (&["--eol-within", "90"][..], "as in `90d`"),
        (&["--eol-within", "90d", "--today", "2026-2-3"], "write it as YYYY-MM-DD"),
        (&["--selector", "env>3"], "no label contains `>`"),
        (&["-o", "age"], "possible values: name, namespace"),
    ] {
        let refused = ends(root, &[&["clusters"], wrong].concat(), 2);
        assert!(refused.err.contains(says), "{wrong:?}: {}", refused.err);
    }
    let none = ends(root, &["clusters", "--stack", "docker/nope"], 0);
    assert_eq!(none.out, "no cluster has the stack `docker/nope`; the clusters have docker/scs\n");
    assert_eq!(ends(root, &["clusters", "--selector", "env=nope"], 0).out, "no cluster matches\n");
    matrix_of_fleet(root);
    matrix_of_stack(root);
}

const FLEET: &str = "\
kubernetes  stack       maturity    end of life               clusters
1.34.11     docker/scs  deprecated  2026-10-27   27 days ago  1
1.35.8      docker/scs  supported   2027-02-28   in 97 days   3
1.36.4      docker/scs  supported   2027-06-28   in 217 days  1
";

fn matrix_of_fleet(root: &Path) {
    let of_day = ["matrix", "--today", "2026-11-23"];
    assert_eq!(ends(root, &of_day, 0).out, FLEET);
    let reported = json(root, &of_day, 0);
    let first = serde_json::json!({
        "kubernetes": "1.34.11",
        "stack": "docker/scs",
        "maturity": "deprecated",
        "endOfLife": "2026-10-27",
        "daysLeft": -27,
        "clusters": [{ "managementCluster": "mgmt", "namespace": "team-p", "name": "p-3" }],
    });
    assert_eq!((&reported["versions"][0], &reported["today"]), (&first, &"2026-11-23".into()));
    let turn = json(root, &["matrix", "--today", "2027-02-27"], 0);
    assert_eq!(turn["versions"][1]["daysLeft"], 1);
}

const STACK: &str = "\
addon               version  1.34.11           1.35.8            1.36.4
                             deprecated        supported         supported
                             until 2026-10-27  until 2027-02-28  until 2027-06-28
cilium              1.20.2   –                 – (v2)            – (v1)
cilium              1.19.8   fits (head)       fits (head)       untested (head)
metrics-server      3.13.1   fits (head)       fits (v2, head)   fits (v1, head)
metrics-server      3.12.2   fits              fits              fits
namespace-defaults  1.0.0    fits (head)       fits (v2, head)   fits (v1, head)

rules:
  no-1-19: cilium <1.20.0 with Kubernetes 1.33.x: it leaks
";

/// Edits the stack: the matrix loses a version that releases pin, and gains a rule.
fn matrix_of_stack(root: &Path) {
    let stack = root.join("stacks/docker/scs");
    let edit = |path: &str, from: &str, to: &str| {
        let text = fs::read_to_string(stack.join(path)).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(stack.join(path), text.replace(from, to)).unwrap();
    };
    let rule = "compatibility:\n    - name: no-1-19\n      when: { addon: cilium, version: \"<1.20.0\", kubernetes: 1.34.x }\n      \
                deny: it leaks\n      upgradeTo: 1.20.2\n";
    edit("stack.yaml", "  versioning:", &format!("  {rule}  versioning:"));
    let reported = json(root, &["matrix", "docker/scs"], 0);
    let fits = |row: usize| {
        let cells = reported["addons"][row]["kubernetes"].as_array().unwrap().iter();
        cells.map(|cell| cell["fit"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!((fits(0), fits(1)), ("fits fits fits".to_owned(), "denied fits outOfRange".to_owned()));
    let denied = &reported["addons"][1]["kubernetes"];
    assert_eq!((&denied[0]["rule"], &denied[2]["range"]), (&"no-1-19".into(), &">=1.32 <1.36".into()));
    assert_eq!(reported["addons"][0]["kubernetes"][2]["pinnedBy"][0], "docker-scs-1-36-v1");
    assert_eq!(reported["rules"][0]["upgradeTo"], "1.20.2");
    // Releases keep their pinned versions when the stack drops them.
    edit("addons/cilium/addon.yaml", "    - version: 1.20.2\n      kubernetes: \">=1.33 <1.37\"\n", "");
    edit("addons/cilium/addon.yaml", "<1.36", "<1.37");
    edit("stack.yaml", "      upgradeTo: 1.20.2\n", "");
    edit("stack.yaml", "1.34.x", "1.33.x");
    assert_eq!(ends(root, &["matrix", "docker/scs"], 0).out, STACK);
    let untested = &json(root, &["matrix", "docker/scs"], 0)["addons"][1]["kubernetes"][2];
    assert_eq!((&untested["fit"], &untested["range"]), (&"untested".into(), &">=1.32 <1.36".into()));
    assert!(untested["source"].as_str().unwrap().starts_with("https://github.com/cilium/"), "{untested}");
    // What the fleet says counts instead.
    let fleet = root.join("stackloom.yaml");
    let text = fs::read_to_string(&fleet).unwrap();
    let said = "  compatibility:\n    - { component: cilium, versions: 1.19.x, kubernetes: \"<1.35\", reason: it leaks }\n";
    fs::write(&fleet, text.replace("  clusterApi:", &format!("{said}  clusterApi:"))).unwrap();
    let row = &json(root, &["matrix", "docker/scs"], 0)["addons"][1]["kubernetes"];
    assert_eq!((&row[0]["fit"], &row[1]["fit"]), (&"fits".into(), &"untested".into()));
    assert_eq!((&row[1]["range"], &row[1]["source"]), (&"<1.35".into(), &serde_json::Value::Null));
    fs::write(&fleet, text).unwrap();
    let unknown = ends(root, &["matrix", "docker/scss"], 1);
    assert!(unknown.err.contains("did you mean `docker/scs`?"), "{}", unknown.err);
    edit("stack.yaml", "1.35.8", "1.35");
    let broken = ends(root, &["matrix", "docker/scs"], 1);
    assert!(broken.err.contains("stacks/docker/scs/stack.yaml"), "{}", broken.err);
}
