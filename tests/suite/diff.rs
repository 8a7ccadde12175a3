//! `stackloom diff`: each folder is a change, with the fleet before and after it, and the expected report.
//!
//! `before/` is laid over the small fleet, `after/` over the result (see [`overlay`]); each may be missing. With `live.txt`, an
//! export judges the cluster `blue/one`: the objects of the fleet before, with the edits of that file. `report.txt` has the
//! messages and the text, `report.md` the comment, `findings.txt` the annotations, if there are any, and `report.html` the
//! page, in cases that have one. `UPDATE=1` writes the expected files.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use stackloom::{
    compare::{Archive as _, Export, MemoryArchive},
    generate::{self, Failure},
    io::disk::Workspace,
    note::Notes,
    report::{self, Finding, Page, Places, Report, Risk},
    topology::import::Objects,
    world::{Files, Input, Snapshot, World},
};

use super::{overlay, page, sandbox, support};

fn archive(world: &dyn World, root: Option<&Path>) -> MemoryArchive {
    let mut memory = MemoryArchive::default();
    for (path, text) in sandbox::tree(world) {
        memory.add(&path, &text);
    }
    for source in world.read(&mut Notes::new()).unwrap().sources.iter() {
        memory.add(&source.path, &source.text);
    }
    let own = root.map(|root| sandbox::snapshot(&root.join("clusters"))).unwrap_or_default();
    for (path, bytes) in &own {
        memory.add(&format!("clusters/{path}"), std::str::from_utf8(bytes).unwrap());
    }
    memory
}

fn drawn(before: &MemoryArchive, after: &dyn World, notes: &mut Notes) -> Result<Report, Failure> {
    judged(before, after, &[], notes)
}

fn judged(
    before: &MemoryArchive,
    after: &dyn World,
    exports: &[Export],
    notes: &mut Notes,
) -> Result<Report, Failure> {
    report::drawn([before, before], &Snapshot::read(after).unwrap(), None, exports, &|_, _| {}, notes)
}

/// The cluster `blue/one` of a tree and all classes, as if exported from the only management cluster after the edits of `live.txt`:
/// lines of `old => new`.
fn exported(tree: &MemoryArchive, fleet: &Snapshot, edits: &Path) -> Vec<Export> {
    let Ok(edits) = fs::read_to_string(edits) else { return Vec::new() };
    let mut text = String::new();
    for folder in ["generated/releases", "generated/management/mgmt/clusters/blue/one/cluster"] {
        for (path, id) in tree.list(folder).unwrap() {
            if path.contains("/cluster-class/") || path.ends_with("/cluster.yaml") {
                let object = tree.read(&id).unwrap();
                let in_namespace = "metadata:\n  namespace: cluster-classes\n";
                let has_one = object.contains("\n  namespace: ");
                let object = if has_one { object } else { object.replacen("metadata:\n", in_namespace, 1) };
                text.extend(["---\n", &object]);
            }
        }
    }
    for line in edits.lines() {
        let (old, new) = line.split_once(" => ").unwrap();
        assert!(text.contains(old), "live.txt: `{old}` is not in the tree");
        text = text.replace(old, new);
    }
    let mut objects = Objects::default();
    objects.read("live.yaml", &text).unwrap();
    let fleet = generate::fleet(&fleet.input, &mut Notes::new()).unwrap();
    vec![Export { management: fleet.management_clusters[0].clone(), objects }]
}

fn laid(base: &Path, case: &Path) -> tempfile::TempDir {
    let root = sandbox::folder();
    if case.is_dir() {
        overlay::apply(base, case, root.path()).unwrap_or_else(|error| panic!("{}: {error}", case.display()));
    } else {
        sandbox::copy(base, root.path());
    }
    root
}

fn text(report: &Report) -> String {
    let lines = report::lines(report, false).into_iter().map(|line| line.text);
    lines.chain([String::new()]).collect::<Vec<_>>().join("\n")
}

/// The result of a case.
pub(super) struct Made {
    /// The folder of the case.
    pub(super) case: PathBuf,
    pub(super) report: Report,
    pub(super) notes: Notes,
    before: Input,
    after: Input,
}

/// The name of the earlier commit, in pages and comments.
pub(super) const COMPARED: &str = "the fleet before";

impl Made {
    pub(super) fn html(&self) -> String {
        report::html(&Page { report: Some(&self.report), compared: COMPARED, notes: &self.notes })
    }

    /// One line for each finding, followed by the grouped ones.
    fn findings(&self) -> String {
        let places = Places::new(&self.before, &self.after);
        let line = |one: Finding| {
            let level = if one.is_error { "error" } else { "warning" };
            let head = format!("{level} {} {}: {}", one.risk.as_str(), one.place, one.text);
            [vec![head], one.reasons].concat().join("\n    ") + "\n"
        };
        let each: String = Finding::each(&self.report, &places).into_iter().map(line).collect();
        let folded: String = Finding::folded(&self.report, &places).into_iter().map(line).collect();
        if each == folded { each } else { format!("{each}\nFolded:\n{folded}") }
    }
}

/// Runs all cases.
pub(super) fn cases() -> impl Iterator<Item = Made> {
    let folder = support::package().join("tests/diff");
    let mut cases: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    cases.into_iter().map(made)
}

/// Runs one case.
pub(super) fn case(name: &str) -> Made {
    made(support::package().join("tests/diff").join(name))
}

fn made(case: PathBuf) -> Made {
    let before = laid(&support::package().join("tests/fleets/inmemory"), &case.join("before"));
    let after = laid(before.path(), &case.join("after"));
    let tree = archive(&Workspace::open(before.path()).unwrap(), Some(before.path()));
    let [old, new] = [&before, &after].map(|root| Workspace::open(root.path()).unwrap());
    let mut notes = Notes::new();
    let exports = exported(&tree, &Snapshot::read(&old).unwrap(), &case.join("live.txt"));
    let Ok(report) = judged(&tree, &new, &exports, &mut notes) else {
        panic!("{}: {}", case.display(), sandbox::messages(&notes))
    };
    let [before, after] = [&old, &new].map(|world| Snapshot::read(world).unwrap().input);
    Made { case, report, notes, before, after }
}

#[test]
fn every_change_is_reported_as_expected() {
    let mut wrong = String::new();
    let mut seen: BTreeSet<Risk> = BTreeSet::new();
    for made in cases() {
        let Made { case, report, notes, .. } = &made;
        seen.extend(report.risks());
        let mut found = sandbox::messages(notes);
        if !found.is_empty() {
            found.push('\n');
        }
        found.push_str(&text(report));
        sandbox::expect_file(&case.join("report.txt"), &found, &mut wrong);
        let comment = report::markdown(report, COMPARED);
        sandbox::expect_file(&case.join("report.md"), &comment, &mut wrong);
        let findings = made.findings();
        if case.join("findings.txt").exists() || !findings.is_empty() {
            sandbox::expect_file(&case.join("findings.txt"), &findings, &mut wrong);
        }
        if case.join("report.html").exists() {
            sandbox::expect_file(&case.join("report.html"), &made.html(), &mut wrong);
        }
        if case.join("report.json").exists() || case.ends_with("everything") {
            let mut json = serde_json::to_string_pretty(&report::document(report)).unwrap();
            json.push('\n');
            sandbox::expect_file(&case.join("report.json"), &json, &mut wrong);
        }
    }
    assert!(wrong.trim().is_empty(), "{wrong}");
    let all: BTreeSet<Risk> = Risk::ALL.into_iter().filter(|risk| *risk != Risk::Nothing).collect();
    assert_eq!(seen, all, "every class has a case");
}

#[test]
fn a_fleet_does_not_differ_from_itself() {
    let files = support::many(12);
    let report = drawn(&archive(&files, None), &files, &mut Notes::new()).unwrap();
    assert!(report.is_empty(), "{}", text(&report));
    assert_eq!(report::summary(&report), "None of the 12 clusters change");
}

/// The report on each single cluster equals its part of the report on all of them.
#[test]
fn a_change_split_by_cluster_gives_the_same() {
    let before = support::many(9);
    let tree = archive(&before, None);
    let paths: Vec<String> = before.0.keys().filter(|path| path.contains("/cluster-")).cloned().collect();
    let mut after = before.clone();
    let edits = [
        ("motd: cluster", "motd: klaster"),
        ("kubernetes: \"1.35\"", "kubernetes: \"1.36\""),
        ("number:", "nummer:"),
    ];
    for (at, path) in paths.iter().enumerate() {
        let (from, to) = edits[at % edits.len()];
        let changed = before.0[path].replace(from, to);
        after.0.insert(path.clone(), changed);
    }
    let all = drawn(&tree, &after, &mut Notes::new()).unwrap();
    let mut changes = Vec::new();
    for path in &paths {
        let mut one = before.clone();
        one.0.insert(path.clone(), after.0[path].clone());
        let alone = drawn(&tree, &one, &mut Notes::new()).unwrap();
        changes.extend(alone.clusters);
    }
    changes.sort_by(|a, b| a.cluster.cmp(&b.cluster));
    assert!(changes.len() > 5, "{changes:#?}");
    assert_eq!(all.clusters, changes);
    let risks = |clusters: &[report::ClusterReport]| -> BTreeSet<Risk> {
        clusters.iter().flat_map(|one| one.changes.iter().map(|change| change.risk)).collect()
    };
    assert_eq!(risks(&changes), all.risks());
    let grouped: usize = all.groups.iter().map(|group| group.clusters.len()).sum();
    assert_eq!(grouped, changes.len());
}

/// The errors that the checks find of a cluster are reported if the change touches it, and only then.
#[test]
fn only_clusters_that_a_change_touches_are_checked() {
    let before = support::many(4);
    let paths: Vec<String> = before.0.keys().filter(|path| path.contains("/cluster-")).cloned().collect();
    let edit = |world: &Files, path: &str, edit: &dyn Fn(&str) -> String| {
        let mut world = world.clone();
        let text = edit(&world.0[path]);
        world.0.insert(path.to_owned(), text);
        world
    };
    let add_token = |text: &str| format!("{text}# ghp_{}\n", "a1B2c3".repeat(6));
    let faulty = edit(&before, &paths[0], &add_token);
    let errors = |tree: &MemoryArchive, world: &Files| {
        let mut notes = Notes::new();
        let report = drawn(tree, world, &mut notes).unwrap();
        (notes.errors(), report.clusters.iter().map(|one| one.cluster.name.to_string()).collect::<Vec<_>>())
    };
    // The base contains the error: a program with fewer rules accepted it.
    let mut tree = archive(&before, None);
    tree.add(&paths[0], &faulty.0[&paths[0]]);
    let nothing = Vec::<String>::new();
    assert_eq!(errors(&tree, &faulty), (0, nothing.clone()));
    let other = change(&faulty, &paths[1]);
    assert_eq!(errors(&tree, &other), (0, vec!["cluster-00001".to_owned()]));
    assert_eq!(errors(&tree, &change(&faulty, &paths[0])).0, 1);
    let defaults = edit(&faulty, "clusters/_defaults.yaml", &|text| format!("{text}# a comment\n"));
    assert_eq!(errors(&tree, &defaults).0, 1);
    let fleet = edit(&faulty, "stackloom.yaml", &|text| format!("{text}# a comment\n"));
    assert_eq!(errors(&tree, &fleet).0, 1);
    // The change adds the error, and nothing that is generated differs.
    assert_eq!(errors(&archive(&before, None), &faulty).0, 1);
    // The tree of the base is older than its definitions.
    let mut old = archive(&change(&before, &paths[0]), None);
    for (path, text) in &faulty.0 {
        old.add(path, text);
    }
    assert_eq!(errors(&old, &faulty).0, 1);
}

fn change(world: &Files, path: &str) -> Files {
    let mut changed = world.clone();
    changed.0.insert(path.to_owned(), world.0[path].replace("motd: cluster", "motd: klaster"));
    changed
}

/// The digest depends neither on the order in which a tree is read nor on the order of definition files.
#[test]
fn the_digest_does_not_depend_on_the_order_of_files() {
    let before = support::many(9);
    let tree = archive(&before, None);
    let mut reversed = MemoryArchive::default();
    for (path, text) in sandbox::tree(&before).into_iter().rev() {
        reversed.add(&path, &text);
    }
    let mut after = before.clone();
    for (path, text) in &before.0 {
        let text = text.replace("motd: cluster", "motd: klaster").replace("number:", "nummer:");
        after.0.insert(path.clone(), text);
    }
    let mut renamed = after.clone();
    let paths: Vec<String> = after.0.keys().filter(|path| path.contains("/cluster-")).cloned().collect();
    for (at, path) in paths.iter().enumerate() {
        let (folder, _) = path.rsplit_once('/').unwrap();
        let text = renamed.0.remove(path).unwrap();
        renamed.0.insert(format!("{folder}/{:03}.yaml", paths.len() - at), text);
    }
    let digest = |tree: &MemoryArchive, world: &dyn World| {
        let report = drawn(tree, world, &mut Notes::new()).unwrap();
        assert!(!report.is_empty());
        report::digest(&report)
    };
    let first = digest(&tree, &after);
    assert_eq!(digest(&reversed, &after), first);
    assert_eq!(digest(&tree, &renamed), first);
    assert_ne!(
        digest(&tree, &{
            let mut other = after.clone();
            other.0.remove(&paths[0]);
            other
        }),
        first
    );
}

/// Fleets and changes too large for a comment: whatever is folded is counted, and no risk class is lost.
#[test]
fn a_comment_fits_whatever_changes() {
    let before = support::many(1_000);
    let tree = archive(&before, None);
    let mut after = before.clone();
    for (at, path) in before.0.keys().filter(|path| path.contains("/cluster-")).enumerate() {
        let text = &before.0[path];
        // A different change for each of many clusters, so that they cannot be grouped.
        let color = format!("color: \"changed{at}\"");
        let text = match at % 4 {
            0 => text.replace("motd: cluster", "motd: klaster"),
            1 => text.replace("color: \"0", &format!("{color}\n        other: \"0")),
            2 => text.replace("number:", "nummer:"),
            _ => continue,
        };
        after.0.insert(path.clone(), text);
    }
    let gone = "clusters/team-000/cluster-00003.yaml";
    after.0.remove(gone);
    let report = drawn(&tree, &after, &mut Notes::new()).unwrap();
    page::is_sound(&report, "a large fleet");
    let comment = report::markdown(&report, "the fleet before");
    assert!(comment.len() <= report::LIMIT, "{}", comment.len());
    assert!(
        comment.len() > report::LIMIT / 2,
        "it is large enough that something is folded: {}",
        comment.len()
    );
    assert!(comment.starts_with(&format!("### {}", report::summary(&report))), "{comment}");
    for risk in report.clusters.iter().map(|one| one.risk).collect::<BTreeSet<_>>() {
        let count = report.clusters.iter().filter(|one| one.risk == risk).count();
        assert!(comment.contains(&format!("| {} | {count} |", risk.title())), "{risk:?} {comment}");
    }
    assert!(comment.contains("cluster-00003"), "the worst is named");
    let last = comment.lines().last().unwrap();
    assert_eq!(last, format!("<!-- stackloom-diff sha256:{} -->", report::digest(&report)));
}
