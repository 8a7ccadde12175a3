//! `stackloom.lock` and releases: what a release records, what is not part of its content, and a lock that contradicts it.

use crate::{
    release::{commit, edit, ends, fleet},
    sandbox::Sandbox,
};

const RELEASE: &str = "generated/releases/test-tiny-1-35-v1/release.yaml";

fn digest(digit: char) -> String {
    format!("sha256:{}", digit.to_string().repeat(64))
}

fn lock(sandbox: &Sandbox, digit: char, replaces: Option<char>) {
    let replaces = replaces.map(|digit| format!("      replaces: ['{}']\n", digest(digit)));
    sandbox.write(
        "stackloom.lock",
        format!(
            "apiVersion: stackloom.dev/v1alpha1\nkind: Lock\nspec:\n  charts:\n    \
             - repository: https://charts.example.org\n      name: net\n      version: 1.1.0\n      \
             digest: {}\n{}  images:\n    - {{image: registry.example.org/net:1, digest: '{}'}}\n",
            digest(digit),
            replaces.unwrap_or_default(),
            digest('f'),
        ),
    );
}

/// Pins the base's cluster to the release instead of the head of its stack.
fn pin(sandbox: &Sandbox, release: &str) {
    let text = sandbox.read("clusters/blue/one.yaml").unwrap();
    let text = text.split("  stack: null").next().unwrap().to_owned();
    let lines = format!("  stack: null\n  kubernetes: null\n  release: {release}\n");
    sandbox.write("clusters/blue/one.yaml", text + &lines);
}

const CUT: [&str; 4] = ["release", "test/tiny", "--kubernetes", "1.35"];

#[test]
fn a_release_records_what_the_lock_says_and_is_not_another_one_for_it() {
    let with = fleet();
    lock(&with, 'a', None);
    commit(&with, "lock");
    ends(&with, &CUT, 0);
    let recorded = with.read(RELEASE).unwrap();
    assert!(recorded.contains(&digest('a')), "{recorded}");
    let without = fleet();
    ends(&without, &CUT, 0);
    let bare = without.read(RELEASE).unwrap();
    let whole = |text: &str| text.lines().find(|line| line.contains("whole:")).unwrap().to_owned();
    assert_eq!(whole(&recorded), whole(&bare), "digests are not content");
    // A later lookup changes nothing.
    lock(&without, 'a', None);
    commit(&without, "lock");
    assert!(ends(&without, &CUT, 0).contains("nothing changed since test-tiny-1-35-v1"));
}

#[test]
fn a_lock_that_contradicts_a_release_in_use_is_refused_until_it_says_so_itself() {
    let sandbox = fleet();
    lock(&sandbox, 'a', None);
    commit(&sandbox, "lock");
    ends(&sandbox, &CUT, 0);
    pin(&sandbox, "test-tiny-1-35-v1");
    ends(&sandbox, &["generate"], 0);
    lock(&sandbox, 'b', None);
    let printed = ends(&sandbox, &["check"], 1);
    for word in
        ["lock-contradicts", "test-tiny-1-35-v1", &digest('a'), &digest('b'), "stackloom.lock:8", "one"]
    {
        assert!(printed.contains(word), "{word}: {printed}");
    }
    // It does not get into the next release either.
    commit(&sandbox, "taken without a word");
    assert!(ends(&sandbox, &CUT, 1).contains("lock-contradicts"));
    lock(&sandbox, 'b', Some('a'));
    ends(&sandbox, &["check"], 0);
    // Other bytes under the same version make another release, which says what changed.
    commit(&sandbox, "accepted");
    let printed = ends(&sandbox, &CUT, 0);
    assert!(printed.contains("test-tiny-1-35-v2") && printed.contains("digest of 1.1.0"), "{printed}");
    assert!(printed.contains("clusterAddon"), "{printed}");
    pin(&sandbox, "test-tiny-1-35-v2");
    ends(&sandbox, &["check"], 0);
}

#[test]
fn a_missing_lock_causes_no_message() {
    let sandbox = fleet();
    let printed = ends(&sandbox, &["check"], 0);
    assert!(!printed.contains("lock") && !printed.contains("warning"), "{printed}");
}

#[test]
fn a_chart_of_a_registry_is_held_to_its_digest_and_one_of_a_mirror_is_not() {
    let sandbox = fleet();
    edit(
        &sandbox,
        "addons/net/addon.yaml",
        "https://charts.example.org/",
        "oci://registry.example.org/charts",
    );
    lock(&sandbox, 'a', None);
    let text = sandbox.read("stackloom.lock").unwrap();
    sandbox.write(
        "stackloom.lock",
        text.replace("https://charts.example.org", "oci://registry.example.org/charts"),
    );
    let sources = || {
        ends(&sandbox, &["generate"], 0);
        let folder = std::fs::read_dir(sandbox.root.join("generated/management/mgmt/flux/charts")).unwrap();
        folder.map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap()).collect::<String>()
    };
    assert!(sources().contains(&format!("digest: {}", digest('a'))));
    let fleet = sandbox.read("stackloom.yaml").unwrap();
    let mirrors = "      mirrors: {'oci://registry.example.org': 'oci://mirror.example.org'}\n";
    sandbox.write("stackloom.yaml", format!("{}\n{mirrors}", fleet.trim_end()));
    let mirrored = sources();
    assert!(
        mirrored.contains("oci://mirror.example.org/charts/net") && !mirrored.contains("digest"),
        "{mirrored}"
    );
}

#[test]
fn features_that_the_cluster_stack_operator_lacks_are_refused_and_not_released() {
    let sandbox = fleet();
    let printed = ends(&sandbox, &[&CUT[..], &["--assets", "out"]].concat(), 1);
    for word in [
        "the operator creates no objects next to a Cluster",
        "cluster.network.pods",
        "stacks/test/tiny/addons/net/values.yaml",
        "nothing was released",
    ] {
        assert!(printed.contains(word), "{word}: {printed}");
    }
    assert!(!sandbox.has("out") && !sandbox.has(RELEASE));
    let dry = ends(&sandbox, &[&CUT[..], &["--assets", "out", "--dry-run"]].concat(), 1);
    assert!(dry.contains("cannot be converted for the cluster stack operator"), "{dry}");
}
