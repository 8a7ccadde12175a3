//! Addons that a cluster takes from another release than its own.

use std::{fs, path::Path};

use super::{
    cli::{ends, environment},
    sandbox, support,
};

fn edit(root: &Path, path: &str, from: &str, to: &str) {
    let text = fs::read_to_string(root.join(path)).unwrap();
    assert!(text.contains(from), "{path} has no {from}");
    sandbox::write(&root.join(path), text.replacen(from, to, 1));
}

fn git(root: &Path, arguments: &[&str]) {
    let mut command = std::process::Command::new("git");
    environment(command.current_dir(root).args(arguments));
    assert!(command.output().unwrap().status.success(), "{arguments:?}");
}

fn cut(root: &Path) {
    git(root, &["add", "--all"]);
    git(root, &["commit", "--quiet", "--message", "stacks"]);
    ends(root, &["release", "--no-tag"], 0);
}

/// A fleet whose cluster `one` uses `test-tiny-1-35-v1`, and takes the addon `net` from `v2`, where it is newer and off by default.
fn fleet() -> tempfile::TempDir {
    let folder = sandbox::folder();
    let root = folder.path();
    sandbox::copy(&support::package().join("tests/cases/_base"), root);
    git(root, &["init", "--quiet"]);
    cut(root);
    let addon = "stacks/test/tiny/addons/net/addon.yaml";
    edit(root, addon, "version: 1.1.0", "version: 1.2.0");
    edit(root, addon, "  stage:", "  enabled: false\n  stage:");
    cut(root);
    edit(root, "clusters/_defaults.yaml", "release: head", "release: test-tiny-1-35-v1");
    edit(root, "clusters/_defaults.yaml", "  stack: test/tiny\n  kubernetes: \"1.35\"\n", "");
    edit(root, "clusters/green/two.yaml", "  kubernetes: \"1.36\"\n", "");
    let supplied = "spec:\n  addons: { net: { release: test-tiny-1-35-v2 } }";
    edit(root, "clusters/blue/one.yaml", "spec:", supplied);
    folder
}

#[test]
fn the_release_that_supplies_an_addon_decides_about_it() {
    let folder = fleet();
    let root = folder.path();
    let net = root.join("generated/management/mgmt/clusters/blue/one/addons/net.yaml");
    let list = &["clusters", "--columns", "name,addons"];
    ends(root, &["generate"], 0);
    assert!(!net.exists());
    let listed = ends(root, list, 0).out;
    assert!(listed.contains("net off"), "{listed}");

    edit(root, "clusters/blue/one.yaml", "v2 }", "v2, enabled: true }");
    ends(root, &["generate"], 0);
    assert!(fs::read_to_string(net).unwrap().contains("net-1.2.0-"));
    let listed = ends(root, list, 0).out;
    assert!(listed.contains("net 1.2.0 of test-tiny-1-35-v2"), "{listed}");
    let explained = ends(root, &["explain", "blue/one", "spec.addons.net.version"], 0).out;
    let own = "generated/releases/test-tiny-1-35-v1/";
    assert!(explained.contains("net 1.2.0: the newest that test-tiny-1-35-v2 may have"), "{explained}");
    assert!(explained.contains("clusters/blue/one.yaml:7") && !explained.contains(own), "{explained}");
    let explained = ends(root, &["explain", "blue/one", "spec.addons.net.enabled"], 0).out;
    assert!(explained.contains("test-tiny-1-35-v2/release.yaml") && !explained.contains(own), "{explained}");
}
