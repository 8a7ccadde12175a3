//! Many clusters: the flow works, and the size of the tree depends only on their number.

use std::collections::BTreeMap;

use super::{
    super::{sandbox, support},
    tree,
};

/// The number of files below folders of each name in `generated/management/mgmt/`.
fn counts(tree: &BTreeMap<String, String>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for path in tree.keys() {
        let Some(inside) = path.strip_prefix("generated/management/mgmt/") else { continue };
        let folder = match inside.split('/').collect::<Vec<_>>().as_slice() {
            ["flux", second, _, ..] => format!("flux/{second}"),
            [first, ..] => (*first).to_owned(),
            [] => continue,
        };
        *counts.entry(folder).or_insert(0) += 1;
    }
    counts
}

#[test]
fn a_thousand_clusters_are_ten_times_a_hundred() {
    let [hundred, thousand] = [100, 1000].map(|count| counts(&tree(&support::many(count))));
    assert_eq!(thousand.keys().collect::<Vec<_>>(), hundred.keys().collect::<Vec<_>>());
    for folder in ["clusters", "flux/clusters"] {
        assert_eq!(thousand[folder], 10 * hundred[folder], "{folder}");
    }
    for folder in ["flux/charts", "flux/releases"] {
        assert_eq!(thousand[folder], hundred[folder], "{folder} is shared");
    }
    assert!(thousand["namespaces"] <= 10 * hundred["namespaces"]);
}

/// The same fault in the first and the last cluster gives the same message.
#[test]
fn a_fault_is_found_wherever_it_is() {
    for at in [0, 299] {
        let mut files = support::many(300);
        let (path, text) = support::cluster(at);
        files.0.insert(path.clone(), text.replace("class: default-worker", "class: default-wrker"));
        let (done, notes) = sandbox::run(&files, &mut stackloom::tree::MemorySink::default());
        assert!(done.is_err());
        let messages = sandbox::messages(&notes);
        assert!(messages.contains(&format!("error[unknown-class] {path}:12:14")), "{messages}");
        assert_eq!(notes.errors(), 1);
    }
}
