//! `stackloom releases`, `release prune`, and addons from other releases.

use std::fs;

use serde_json::Value as Json;

use crate::{
    release::{commit, edit, ends, fleet, stackloom},
    sandbox::Sandbox,
};

fn json(sandbox: &Sandbox, arguments: &[&str]) -> Json {
    let arguments: Vec<_> = arguments.iter().copied().chain(["--format", "json"]).collect();
    let output = stackloom(sandbox, &arguments);
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A fleet with four releases of one minor.
fn four() -> Sandbox {
    let sandbox = fleet();
    for replicas in 2..6 {
        if replicas > 2 {
            edit(
                &sandbox,
                "addons/net/values.yaml",
                &format!("replicas: {}", replicas - 1),
                &format!("replicas: {replicas}"),
            );
            commit(&sandbox, "an edit");
        }
        ends(&sandbox, &["release", "--kubernetes", "1.35"], 0);
    }
    sandbox
}

fn name(number: usize) -> String {
    format!("test-tiny-1-35-v{number}")
}

fn pin(sandbox: &Sandbox, lines: &str) {
    let text = sandbox.git(&["show", "HEAD:clusters/blue/one.yaml"]);
    let text = text.split("  stack: null").next().unwrap().to_owned();
    sandbox.write("clusters/blue/one.yaml", format!("{text}  stack: null\n  kubernetes: null\n{lines}"));
}

fn generated(sandbox: &Sandbox, message: &str) {
    commit(sandbox, message);
    ends(sandbox, &["generate", "--commit"], 0);
}

fn removed(sandbox: &Sandbox) -> Vec<String> {
    let document = json(sandbox, &["release", "prune", "--dry-run"]);
    document["removed"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect()
}

#[test]
fn used_newest_and_published_releases_are_kept() {
    let sandbox = four();
    assert_eq!(removed(&sandbox), [name(1), name(2), name(3)]);
    pin(&sandbox, "  release: test-tiny-1-35-v1\n");
    assert_eq!(removed(&sandbox), [name(2), name(3)], "used in the work tree");
    generated(&sandbox, "one uses v1");
    sandbox.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    pin(&sandbox, "  release: test-tiny-1-35-v2\n");
    assert_eq!(removed(&sandbox), [name(3)], "HEAD has v1");
    generated(&sandbox, "one uses v2");
    assert_eq!(removed(&sandbox), [name(3)], "what is published has v1");
    sandbox.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    assert_eq!(removed(&sandbox), [name(1), name(3)]);
    let printed = ends(&sandbox, &["release", "prune"], 0);
    assert!(
        printed.contains("delete clusterclass --selector") && printed.contains("release.test-tiny-1-35-v3"),
        "{printed}"
    );
    let touched = sandbox.git(&["show", "--format=", "--name-only", "HEAD"]);
    let own = |path: &str| path.contains("-v1/") || path.contains("-v3/");
    assert!(touched.lines().all(|path| path.starts_with("generated/releases/") && own(path)), "{touched}");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    assert!(ends(&sandbox, &["release", "prune"], 0).contains("no release to remove"));
    ends(&sandbox, &["generate", "--check"], 0);
    ends(&sandbox, &["release"], 0);
}

/// A rebase and a prune, after which the rebase is reverted.
#[test]
fn a_pruned_release_comes_back_from_its_tag() {
    let sandbox = four();
    pin(&sandbox, "  release: test-tiny-1-35-v1\n");
    generated(&sandbox, "one uses v1");
    pin(&sandbox, "  release: test-tiny-1-35-v2\n");
    generated(&sandbox, "one uses v2");
    ends(&sandbox, &["release", "prune"], 0);
    pin(&sandbox, "  release: test-tiny-1-35-v1\n");
    let printed = ends(&sandbox, &["check"], 1);
    let back = "git checkout test-tiny-1-35-v1 -- generated/releases/test-tiny-1-35-v1";
    assert!(printed.contains("unknown-release") && printed.contains(back), "{printed}");
    sandbox.git(&back.split(' ').skip(1).collect::<Vec<_>>());
    generated(&sandbox, "one is back on v1");
    ends(&sandbox, &["generate", "--check"], 0);
}

#[test]
fn the_list_shows_the_users_of_releases_and_since_when_they_are_unused() {
    let sandbox = four();
    pin(&sandbox, "  release: test-tiny-1-35-v3\n");
    commit(&sandbox, "one uses v3");
    pin(&sandbox, "  release: test-tiny-1-35-v4\n");
    sandbox.git(&["add", "."]);
    let day = "2026-05-04T12:00:00Z";
    let made = crate::sandbox::git_in(&sandbox.root)
        .args(["commit", "-qm", "one uses v4"])
        .env("GIT_COMMITTER_DATE", day)
        .status();
    assert!(made.unwrap().success());
    sandbox.git(&["tag", "-d", "test-tiny-1-35-v2"]);
    let document = json(&sandbox, &["releases"]);
    let of = |name: &str| {
        let all = document["releases"].as_array().unwrap();
        all.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("{document:#}")).clone()
    };
    assert_eq!(of(&name(3))["unusedSince"]["day"], "2026-05-04");
    assert_eq!(
        of(&name(4))["clusters"],
        serde_json::json!([{ "managementCluster": "mgmt", "namespace": "blue", "name": "one" }])
    );
    assert_eq!(of(&name(4))["unusedSince"], Json::Null);
    assert_eq!((of(&name(2))["tagged"].clone(), of(&name(1))["tagged"].clone()), (false.into(), true.into()));
    assert_eq!(of(&name(1))["endOfLife"], "2027-02-28");
    assert_eq!(of(&name(1))["addons"]["net"], "1.1.0");
    let printed = ends(&sandbox, &["releases"], 0);
    assert!(printed.contains("unused since 2026-05-04") && printed.contains("blue/one"), "{printed}");
}

#[test]
fn one_addon_comes_from_another_release_without_a_rebase() {
    let sandbox = four();
    pin(&sandbox, "  release: test-tiny-1-35-v1\n");
    generated(&sandbox, "one uses v1");
    pin(&sandbox, "  release: test-tiny-1-35-v1\n  addons: { net: { release: test-tiny-1-35-v3 } }\n");
    generated(&sandbox, "one takes net from v3");
    let touched = sandbox.git(&["show", "--format=", "--name-only", "HEAD"]);
    assert_eq!(touched.lines().count(), 1, "{touched}");
    assert!(touched.contains("/blue/one/addons/") && touched.contains("net"), "{touched}");
    assert!(
        sandbox.git(&["show", "HEAD"]).contains("+      replicas: 4"),
        "{}",
        sandbox.git(&["show", "HEAD"])
    );
    assert_eq!(removed(&sandbox), [name(2)]);
    for (lines, expected) in [
        (
            "  release: test-tiny-1-35-v1\n  addons: { net: { release: test-tiny-1-35-v9 } }\n",
            "unknown-release",
        ),
        (
            "  release: test-tiny-1-35-v1\n  addons: { net: { release: test-tiny-1-36-v1 } }\n",
            "addon-release",
        ),
        (
            "  release: test-tiny-1-35-v1\n  addons: { other: { release: test-tiny-1-35-v3 } }\n",
            "unknown-addon",
        ),
    ] {
        if expected == "addon-release" {
            ends(&sandbox, &["release", "--kubernetes", "1.36"], 0);
        }
        pin(&sandbox, lines);
        let printed = ends(&sandbox, &["check"], 1);
        assert!(
            printed.contains(&format!("error[{expected}]")) && printed.contains("clusters/blue/one.yaml:"),
            "{printed}"
        );
        sandbox.git(&["checkout", "-q", "clusters"]);
    }
    fs::remove_file(sandbox.root.join("generated/releases/test-tiny-1-35-v3/NOTES.md")).unwrap();
    let printed = ends(&sandbox, &["check"], 1);
    assert!(printed.contains("release-refused") && printed.contains("NOTES.md"), "{printed}");
}

/// A definition that cannot be read may use any release.
#[test]
fn nothing_is_pruned_while_a_definition_has_errors() {
    let sandbox = four();
    pin(&sandbox, "  release: test-tiny-1-35-v1\n");
    generated(&sandbox, "one uses the first release");
    let text = fs::read_to_string(sandbox.root.join("clusters/blue/one.yaml")).unwrap();
    sandbox.write("clusters/blue/one.yaml", text.replace("nodePools:", "nodePolos:"));
    commit(&sandbox, "a slip of the pen");
    assert!(ends(&sandbox, &["release", "prune"], 1).contains("nodePolos"));
    assert!(sandbox.root.join("generated/releases/test-tiny-1-35-v1").exists());
    let listed = json(&sandbox, &["releases"]);
    assert_eq!(listed["leftOut"][0]["file"], "clusters/blue/one.yaml", "{listed:#}");
    assert!(ends(&sandbox, &["releases"], 0).contains("not known"));
}
