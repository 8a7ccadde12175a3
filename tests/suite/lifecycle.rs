//! The maturity of a stack's Kubernetes minors, and the end of their patches: warnings that depend on the date, and a tree
//! that does not.

use std::{fs, path::Path};

use super::{
    cli::{ends, fleet, json, stackloom},
    sandbox,
};

fn edit(root: &Path, path: &str, from: &str, to: &str) {
    let file = root.join(path);
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(file, text.replacen(from, to, 1)).unwrap();
}

/// The codes and messages of a run.
fn reported(root: &Path, arguments: &[&str], code: i32) -> Vec<String> {
    let document = json(root, arguments, code);
    let notes = document["diagnostics"].as_array().unwrap().iter();
    notes
        .map(|note| format!("{}: {}", note["code"].as_str().unwrap(), note["message"].as_str().unwrap()))
        .collect()
}

const STACK: &str = "stacks/docker/scs/stack.yaml";
const OLD: &str = "maturity: deprecated\n      endOfLife: '2026-10-27'";

#[test]
fn kubernetes_versions_that_end_are_warned_about() {
    let made = fleet();
    let root = made.path();
    assert_eq!(reported(root, &["check"], 0), Vec::<String>::new());
    let of_day = |day: &str| reported(root, &["check", "--today", day], 0);
    let minor = "Kubernetes 1.35 of `docker/scs`";
    for (day, says) in [
        ("2026-11-29", None),
        ("2026-11-30", Some("gets patches for 90 more days, until 2027-02-28")),
        ("2027-02-27", Some("gets patches for 1 more day, until 2027-02-28")),
        ("2027-02-28", Some("gets its last patches today, 2027-02-28")),
        ("2027-03-01", Some("has had no patches since 2027-02-28")),
    ] {
        let expected: Vec<_> = says.map(|says| format!("end-of-life: {minor} {says}")).into_iter().collect();
        assert_eq!(of_day(day), expected, "{day}");
    }
    let warned = ends(root, &["check", "--today", "2027-03-01"], 0).err;
    for part in ["stacks/docker/scs/stack.yaml:1", "version: 1.35.8", "team-a/dev-1", "newer-minors` shows"] {
        assert!(warned.contains(part), "{part}: {warned}");
    }
    let summary =
        "end-of-life: 1 cluster has a Kubernetes version whose patches end within 90 days, or have ended";
    assert_eq!(reported(root, &["clusters", "--today", "2026-11-30"], 0), [summary]);
    assert_eq!(reported(root, &["clusters", "--today", "2026-11-29"], 0), Vec::<String>::new());
    // The maturity set by the stack itself.
    edit(root, STACK, "1.35.8\n      maturity: supported", "1.35.8\n      maturity: deprecated");
    assert_eq!(of_day("2026-11-23"), [format!("deprecated: {minor} is deprecated")]);
    edit(root, STACK, "1.35.8\n      maturity: deprecated", "1.35.8\n      maturity: expired");
    let expired = "expired: the stack `docker/scs` no longer maintains Kubernetes 1.35: `maturity: expired`";
    assert_eq!(of_day("2026-11-23"), [expired]);

    // The tree does not depend on the date.
    let tree = |day: &str| {
        let mut command = stackloom(root);
        assert!(command.env("STACKLOOM_TODAY", day).arg("generate").output().unwrap().status.success());
        sandbox::snapshot(&root.join("generated"))
    };
    assert!(tree("2020-01-01") == tree("2040-01-01"));
    let wrong = stackloom(root).env("STACKLOOM_TODAY", "tomorrow").arg("check").output().unwrap();
    assert_eq!(wrong.status.code(), Some(4), "{wrong:?}");
}

#[test]
fn new_clusters_and_releases_heed_the_maturity() {
    let made = fleet();
    let root = made.path();
    let new = |name: &str, minor: &str| {
        ["new", "cluster", name, "--kubernetes", minor, "--release", "head"].map(str::to_owned)
    };
    let run = |arguments: &[String], code| {
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        reported(root, &arguments, code)
    };
    assert_eq!(
        run(&new("a", "1.34"), 0),
        ["end-of-life: Kubernetes 1.34 of `docker/scs` has had no patches since 2026-10-27"]
    );
    let soon = [&new("b", "1.35")[..], &["--today".to_owned(), "2027-01-01".to_owned()]].concat();
    assert_eq!(
        run(&soon, 0),
        ["end-of-life: Kubernetes 1.35 of `docker/scs` gets patches for 58 more days, until 2027-02-28"]
    );
    edit(root, STACK, "1.36.4\n      maturity: supported", "1.36.4\n      maturity: preview");
    let preview = "preview: Kubernetes 1.36 of `docker/scs` is a preview: for tests, not for production";
    assert_eq!(run(&new("c", "1.36"), 0), [preview]);
    edit(root, STACK, OLD, "maturity: expired");
    let refused =
        "expired: cannot create a cluster with Kubernetes 1.34: its maturity in `docker/scs` is `expired`";
    assert_eq!(run(&new("d", "1.34"), 1), [refused]);
    assert!(!root.join("clusters/dev/d.yaml").exists());

    let dry = ["release", "--dry-run"];
    let skipped = "expired: cannot release Kubernetes 1.34 of `docker/scs`: its maturity is `expired`";
    let early = "preview: Kubernetes 1.36 of `docker/scs` is a preview, but this is a stable release";
    assert_eq!(reported(root, &dry, 0), [early, skipped]);
    assert_eq!(reported(root, &[&dry[..], &["--kubernetes", "1.34"]].concat(), 1), [skipped]);
    assert_eq!(
        reported(root, &[&dry[..], &["--kubernetes", "1.36", "--channel", "beta"]].concat(), 0),
        Vec::<String>::new()
    );
    let soon = reported(root, &[&dry[..], &["--kubernetes", "1.35", "--today", "2027-03-01"]].concat(), 0);
    assert_eq!(soon, ["end-of-life: Kubernetes 1.35 of `docker/scs` has had no patches since 2027-02-28"]);
}

#[test]
fn a_hold_counts_until_its_day() {
    let root = fleet();
    let hold = "spec:\n  upgrades: { hold: { reason: the fair is on, until: '2026-12-01' } }\n";
    edit(root.path(), "clusters/dev/dev-1.yaml", "spec:\n", hold);
    let state = |day: &str| {
        let listed = ends(root.path(), &["clusters", "--today", day, "-o", "name,state,reason"], 0).out;
        listed.lines().last().unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(state("2026-11-30"), "dev-1 held the fair is on");
    assert_eq!(state("2026-12-01"), "dev-1 active –");
    assert!(!ends(root.path(), &["check", "--today", "2026-11-30"], 0).err.contains("hold-over"));
    let warned = ends(root.path(), &["check", "--today", "2026-12-01"], 0).err;
    assert!(warned.contains("ended on 2026-12-01: the fair is on"), "{warned}");
    assert!(warned.contains("--> clusters/dev/dev-1.yaml:7:"), "{warned}");
}
