//! How often a run that skips definitions with errors draws the clusters without errors.

use std::{collections::BTreeMap, fs, sync::Mutex};

use stackloom::{
    generate::{Baseline, generate_changed},
    note::Notes,
    partial::Scope,
    plan::ClusterPlan,
    tree::{MemorySink, Part},
    world::Files,
};

use super::{partial::fleet, sandbox};

/// Counts how often each cluster is drawn, by its definition. All clusters are checked.
#[derive(Default)]
struct Draws(Mutex<BTreeMap<String, usize>>);

impl Baseline for Draws {
    fn contains(&self, plan: &ClusterPlan, _part: &Part) -> bool {
        *self.0.lock().unwrap().entry(plan.cluster.file.to_string()).or_default() += 1;
        false
    }
}

/// A cluster or a file, the old text, and the new text.
type Edit = (&'static str, &'static str, &'static str);

/// The clusters `one` to `three`, and some more with an edit of their definitions each.
fn fleet_with(others: &[Edit]) -> Files {
    let root = fleet();
    fs::remove_dir_all(root.path().join("generated")).unwrap();
    let files = sandbox::snapshot(root.path()).into_iter();
    let files = files.filter_map(|(path, bytes)| Some((path, String::from_utf8(bytes).ok()?)));
    let mut files = Files(files.filter(|(_, text)| text != "folder").collect());
    for (name, from, to) in others {
        let text = files.0["clusters/blue/one.yaml"].replace("name: one", &format!("name: {name}"));
        assert!(text.contains(from), "{text}");
        files.0.insert(format!("clusters/blue/{name}.yaml"), text.replace(from, to));
    }
    files
}

#[test]
fn a_sound_cluster_is_drawn_once_whatever_is_wrong_with_others() {
    let even = ("spec:", "spec:\n  controlPlane: { replicas: 2 }");
    let unread = ("cluster.name }}-facts", "cluster.nope }}-facts");
    let small = "stacks/test/small/cluster/facts.yaml";
    let limits = "stacks/test/small/namespace/limits.yaml";
    let faults: [(&[Edit], &[Edit], &[&str]); 5] = [
        // Objects that a check refuses.
        (&[("four", even.0, even.1), ("five", even.0, even.1)], &[], &["four", "five"]),
        // Files that each stage refuses, one after another.
        (
            &[
                ("four", "replicas: 2", "replicas: : 2"),
                ("five", "replicas: 2", "replicsa: 2"),
                ("six", "class: worker", "class: wrker"),
                ("seven", even.0, even.1),
            ],
            &[],
            &["four", "five", "six", "seven"],
        ),
        // A template of another stack, whose error is reported once for all of its clusters.
        (
            &[("four", "spec:", "spec:\n  stack: test/small"), ("five", even.0, even.1)],
            &[(small, unread.0, unread.1)],
            &["three", "four", "five"],
        ),
        // An object that clusters share.
        (
            &[("four", even.0, even.1)],
            &[
                (limits, "stack.name", "stack.nope"),
                ("clusters/blue/three.yaml", "namespace: blue", "namespace: red"),
            ],
            &["three", "four"],
        ),
        // Two clusters with one object.
        (
            &[("four", "spec:", "spec:\n  stack: test/small"), ("five", even.0, even.1)],
            &[(small, "${{ cluster.name }}-facts", "facts")],
            &["three", "five"],
        ),
    ];
    for (others, edits, left) in faults {
        let mut files = fleet_with(others);
        for (path, from, to) in edits {
            let text = files.0.get_mut(*path).unwrap();
            assert!(text.contains(from), "{path} has no {from}");
            *text = text.replace(from, to);
        }
        let scope = Scope { keep_going: true, ..Scope::default() };
        let (draws, mut sink, mut notes) = (Draws::default(), MemorySink::default(), Notes::new());
        let made = generate_changed(&files, &scope, &draws, &mut sink, &|_, _| {}, &mut notes).unwrap();
        let found: Vec<_> = made.left.iter().map(|left| left.file.clone()).collect();
        let messages = sandbox::messages(&notes);
        let tree: BTreeMap<_, _> =
            sink.files().map(|file| (file.path.to_string(), file.text().to_string())).collect();
        for plan in &made.plan.clusters {
            let file = &*plan.cluster.file;
            assert_eq!(draws.0.lock().unwrap()[file], 1, "{file}: {found:?}\n{messages}");
        }
        for name in left {
            let file = format!("clusters/blue/{name}.yaml");
            assert!(
                files.0.remove(&file).is_some() && found.contains(&file),
                "{name}: {found:?}\n{messages}"
            );
        }
        assert_eq!(found.len(), left.len(), "{messages}");
        assert_eq!(sandbox::differences(&tree, &sandbox::tree(&files)), [""; 0], "{found:?}");
    }
}
