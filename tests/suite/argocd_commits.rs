//! The life of a fleet as commits, one folder each in `target/argocd`. `tests/conformance/cmd/argocd` syncs them as Argo CD would.

use stackloom::{generate::generate, note::Notes, tree::MemorySink, world::Files};

use super::{sandbox, support};

/// A change of a file: its path, and the texts before and after.
type Change = (&'static str, &'static str, &'static str);

const CREDENTIALS: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one-ca\n  namespace: blue\ndata:\n  ca: none\n";

/// The commits after the first one, each with what it changes.
const COMMITS: [(&str, &[Change]); 4] = [
    ("upgraded", &[("clusters/blue/one.yaml", "spec:\n", "spec:\n  kubernetes: '1.36'\n")]),
    (
        "addon-off",
        &[("clusters/blue/one.yaml", "spec:\n", "spec:\n  addons: { notes: { enabled: false } }\n")],
    ),
    (
        "detached",
        &[("clusters/green/two.yaml", "spec:\n", "spec:\n  removal: { reason: done, step: detach }\n")],
    ),
    ("deleted", &[("clusters/green/two.yaml", "detach", "delete")]),
];

fn commit(name: &str, files: &Files) -> usize {
    let (mut tree, mut notes) = (MemorySink::default(), Notes::new());
    let done = generate(files, &mut tree, &|_, _| {}, &mut notes);
    assert!(done.is_ok(), "{name}: {}", sandbox::messages(&notes));
    sandbox::export(&format!("argocd/{name}"), files, &tree);
    tree.files().count()
}

#[test]
fn the_life_of_a_fleet_is_written_for_argo_cd() {
    let mut files: Files = support::fleet(&support::package().join("tests/cases/_base"));
    let fleet = files.0.get_mut("stackloom.yaml").unwrap();
    *fleet = fleet.replace("engine: flux", "engine: argocd");
    files.0.insert("clusters/blue/one.d/ca.yaml".to_owned(), CREDENTIALS.to_owned());
    let count = commit("first", &files);
    for (name, changes) in COMMITS {
        for (path, before, after) in changes {
            let text = files.0.get_mut(*path).unwrap();
            assert!(text.contains(before), "{name}");
            *text = text.replacen(before, after, 1);
        }
        commit(name, &files);
        if name == "upgraded" {
            // By mistake, a definition is lost with its namespace. The guards of `generate` see no tree that was there before.
            let mut lost = files.clone();
            lost.0.remove("clusters/green/two.yaml");
            assert!(commit("lost", &lost) < count);
        }
    }
    files.0.remove("clusters/green/two.yaml");
    commit("gone", &files);
}
