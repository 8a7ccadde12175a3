//! Good fleets with their results. Each folder below `tests/cases-good` contains `in/`, an overlay on `tests/cases/_base`,
//! and `out/` with every generated file that differs from the base's tree. `gone.txt` lists files that only the base has,
//! and `notes.txt` the warnings. The case `plain` changes nothing and contains the whole tree.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use stackloom::{io::disk::Workspace, tree::MemorySink};

use super::{overlay, sandbox, support};

/// The tree of a case, and its warnings.
fn tree_of(case: &Path) -> (BTreeMap<String, String>, String) {
    let root = sandbox::folder();
    let base = support::package().join("tests/cases/_base");
    overlay::apply(&base, &case.join("in"), root.path()).unwrap();
    let world = Workspace::open(root.path()).unwrap();
    let (_, notes) = sandbox::run(&world, &mut MemorySink::default());
    (sandbox::tree(&world), sandbox::messages(&notes))
}

#[test]
fn good_fleets_give_the_trees_that_were_agreed_on() {
    let all = support::package().join("tests/cases-good");
    let (plain, _) = tree_of(&all.join("plain"));
    let mut wrong = String::new();
    let cases = sandbox::folders(&all);
    assert!(cases.len() >= 10, "{} cases", cases.len());
    for case in cases {
        let (tree, warnings) = tree_of(&case);
        let whole = sandbox::name(&case) == "plain";
        let differs = |path: &&String| whole || tree.get(*path) != plain.get(*path);
        let out: BTreeMap<_, _> =
            tree.keys().filter(differs).map(|path| (path.clone(), tree[path].clone())).collect();
        let gone: Vec<_> = plain.keys().filter(|path| !tree.contains_key(*path)).cloned().collect();
        compare(&case, &out, &gone, &mut wrong);
        let expected = case.join("notes.txt");
        if !warnings.is_empty() || expected.exists() {
            sandbox::expect_file(&expected, &warnings, &mut wrong);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

fn compare(case: &Path, out: &BTreeMap<String, String>, gone: &[String], wrong: &mut String) {
    let folder = case.join("out");
    let expected: Vec<PathBuf> = walkdir::WalkDir::new(&folder)
        .into_iter()
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| entry.path().strip_prefix(&folder).unwrap().to_owned())
        .collect();
    for path in expected.iter().filter(|path| !out.contains_key(path.to_str().unwrap())) {
        if sandbox::updating() {
            fs::remove_file(folder.join(path)).unwrap();
        } else {
            writeln!(wrong, "{}: {} was not made", case.display(), path.display()).unwrap();
        }
    }
    for (path, text) in out {
        sandbox::expect_file(&folder.join(path), text, wrong);
    }
    let listed: String = gone.iter().flat_map(|path| [path.as_str(), "\n"]).collect();
    if !listed.is_empty() || case.join("gone.txt").exists() {
        sandbox::expect_file(&case.join("gone.txt"), &listed, wrong);
    }
}
