//! Properties that hold for every fleet.

mod disk;
mod edits;
mod engines;
mod impact;
mod releases;
mod shuffle;
mod size;
mod yaml;

use std::collections::{BTreeMap, BTreeSet};

use stackloom::{
    io::disk::Workspace,
    note::{Fault, Notes},
    world::{Files, Input, World},
    yaml::Sources,
};

use super::{
    sandbox::{self, differences, tree},
    support::{self, random::Random},
};

/// The fleets used for testing properties: the repository's own, and the small one.
fn fleets() -> [Files; 2] {
    [support::own(), support::inmemory()]
}

/// A world that lists its files in another order, so that they have other numbers.
struct Scrambled {
    files: Files,
    seed: u64,
}

impl World for Scrambled {
    fn read(&self, notes: &mut Notes) -> Result<Input, Fault> {
        let input = self.files.read(notes)?;
        let mut all: Vec<_> = input.sources.iter().cloned().collect();
        Random::new(self.seed).shuffle(&mut all);
        let mut sources = Sources::default();
        for source in all {
            sources.add(&source.path, source.text);
        }
        Ok(Input { sources, ..input })
    }
}

/// The fleet with the keys of every file in random order.
fn shuffled(files: &Files, seed: u64) -> Files {
    let mut random = Random::new(seed);
    let text = |path: &String, text: &String| {
        let yaml = path.rsplit('.').next() == Some("yaml") && !path.contains(".d/");
        (path.clone(), if yaml { shuffle::shuffled(text, &mut random) } else { text.clone() })
    };
    let mut text = text;
    Files(files.0.iter().map(|(path, old)| text(path, old)).collect())
}

#[test]
fn the_order_of_files_and_keys_is_no_content() {
    for files in fleets() {
        let expected = tree(&files);
        for seed in 0..3 {
            let other = shuffled(&files, seed);
            let touched = files.0.iter().filter(|(path, text)| other.0[*path] != **text).count();
            assert!(touched * 2 > files.0.len(), "{touched} of {} files are in another order", files.0.len());
            let found = tree(&Scrambled { files: other, seed });
            assert_eq!(differences(&expected, &found), Vec::<String>::new(), "seed {seed}");
        }
    }
}

#[test]
fn the_number_of_cores_is_no_content() {
    let files = support::many(40);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| tree(&files))
    };
    let one = with(1);
    assert_eq!(differences(&one, &with(4)), Vec::<String>::new());
    assert_eq!(differences(&one, &with(1)), Vec::<String>::new());
}

#[test]
fn generating_again_changes_nothing() {
    for fleet in [support::package(), support::package().join("tests/fleets/inmemory")] {
        let root = sandbox::folder();
        sandbox::copy_fleet(&fleet, root.path());
        let first = sandbox::to_disk(root.path());
        assert!(!first.changes.is_empty());
        assert!(sandbox::compared(root.path()).changes.is_empty());
        assert!(sandbox::to_disk(root.path()).changes.is_empty());
        let on_disk = sandbox::snapshot(&root.path().join("generated"));
        let files = on_disk.into_iter().filter(|(_, bytes)| bytes != b"folder");
        let files: BTreeMap<_, _> = files
            .map(|(path, bytes)| (format!("generated/{path}"), String::from_utf8(bytes).unwrap()))
            .filter(|(path, _)| !path.starts_with("generated/releases/") || path.contains("-v0-sha."))
            .collect();
        let in_memory = tree(&Workspace::open(root.path()).unwrap());
        assert_eq!(differences(&files, &in_memory), Vec::<String>::new(), "the disk and memory");
    }
}

/// Applies a function to a definition, and writes it back as JSON, which is also YAML.
fn changed(files: &Files, path: &str, change: impl Fn(&mut serde_json::Value)) -> Files {
    let mut files = files.clone();
    let mut json: serde_json::Value = serde_yaml::from_str(&files.0[path]).unwrap();
    change(&mut json);
    files.0.insert(path.to_owned(), serde_json::to_string_pretty(&json).unwrap());
    files
}

/// The paths of cluster definitions, each with the folders that belong only to that cluster.
fn clusters(files: &Files) -> Vec<(String, [String; 3])> {
    let (mut notes, mut found) = (Notes::new(), Vec::new());
    let plan = stackloom::generate::prepare(files, &mut notes).unwrap().plan;
    for plan in plan.clusters {
        let cluster = &plan.cluster;
        let base = format!("generated/management/{}", cluster.management.name);
        let own = |kind: &str| format!("{base}/{kind}/{}/{}/", cluster.namespace, cluster.name);
        found.push((
            cluster.file.to_string(),
            [own("clusters"), own("flux/clusters"), own("argocd/clusters")],
        ));
    }
    found
}

#[test]
fn a_change_to_one_cluster_touches_that_cluster_alone() {
    for files in fleets() {
        let before = tree(&files);
        for (path, own) in clusters(&files) {
            let after = changed(&files, &path, |json| {
                json["metadata"]["annotations"]["example.org/touched"] = "2026-01-01".into();
                json["spec"]["suspend"] = "a test".into();
            });
            let touched = differences(&before, &tree(&after));
            assert!(!touched.is_empty(), "{path}: nothing changed");
            for file in touched {
                assert!(own.iter().any(|folder| file.starts_with(folder)), "{path} touched {file}");
            }
        }
    }
}

#[test]
fn a_removed_cluster_takes_only_files_that_no_other_shares() {
    for files in fleets() {
        let before = tree(&files);
        for (path, own) in clusters(&files) {
            let mut after = files.clone();
            let companion = format!("{}.d/", path.trim_end_matches(".yaml"));
            after.0.retain(|other, _| *other != path && !other.starts_with(&companion));
            let after = tree(&after);
            for file in differences(&before, &after) {
                let shared = [
                    "generated/releases/",
                    "/namespaces/",
                    "/argocd/fleet/",
                    "/flux/charts/",
                    "/flux/releases/",
                ];
                let may_go = shared.iter().any(|part| file.contains(part));
                let goes = !after.contains_key(&file);
                let is_own = own.iter().any(|folder| file.starts_with(folder));
                assert!(goes && (is_own || may_go), "{path}: {file}");
            }
            let left = after.keys().filter(|file| own.iter().any(|folder| file.starts_with(folder)));
            assert_eq!(left.collect::<BTreeSet<_>>(), BTreeSet::new());
        }
    }
}
