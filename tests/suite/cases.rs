//! Faulty fleets. Each folder below `tests/cases` is a small overlay on the good fleet `_base`, with the expected messages
//! in `notes.txt`. `UPDATE=1` rewrites these.
//!
//! A case consists of files to add or replace, and of further changes in `edits.txt`, `remove.txt` and `links.txt`: see
//! [`super::overlay`].

use std::{collections::BTreeSet, fmt::Write as _, fs, panic, path::Path};

use rayon::prelude::*;
use stackloom::{
    generate::{self, Failure},
    io::disk::{CheckSink, DiskSink, Workspace},
    model::Cluster,
    note::{Diagnostic, Notes, Severity},
};

use super::{overlay, sandbox, support};

const CASES: &str = "tests/cases";

/// Errors without a hint in some cases: an expression of a template can fail in too many ways to suggest a next step.
const WITHOUT_HINT: [&str; 2] = ["template-value", "undefined-name"];

#[test]
fn the_base_is_good() {
    let root = sandbox::folder();
    sandbox::copy(&support::package().join(CASES).join("_base"), root.path());
    let generation = sandbox::to_disk(root.path());
    assert_eq!(generation.plan.clusters.len(), 2);
    assert!(sandbox::compared(root.path()).changes.is_empty());
}

#[test]
fn every_fault_is_reported_with_its_place_and_leaves_the_tree_unchanged() {
    let all = support::package().join(CASES);
    let base = all.join("_base");
    let cases: Vec<_> =
        sandbox::folders(&all).into_iter().filter(|path| sandbox::name(path) != "_base").collect();
    assert!(cases.len() >= 80, "{} cases", cases.len());
    let judged = cases.par_iter().filter_map(|case| {
        let judged =
            panic::catch_unwind(|| judge(&base, case)).unwrap_or_else(|panic| Err(panic_text(&*panic)));
        judged.err().map(|wrong| format!("{}: {wrong}\n", sandbox::name(case)))
    });
    let wrong: String = judged.collect();
    assert!(wrong.is_empty(), "{wrong}");
}

/// What is said about a definition that is checked alone is what a check of the whole fleet says about it. A check of the whole
/// fleet does not look at what `generate` would refuse once it has found other errors, so it may say less.
#[test]
fn a_definition_that_is_checked_alone_gets_the_same_messages() {
    let all = support::package().join(CASES);
    let base = all.join("_base");
    let wrong = sandbox::folders(&all)
        .into_par_iter()
        .filter(|case| sandbox::name(case) != "_base")
        .flat_map(|case| {
            let root = sandbox::folder();
            overlay::apply(&base, &case, root.path()).unwrap();
            let world = Workspace::open(root.path()).unwrap();
            let (mut whole, name) = (Notes::new(), sandbox::name(&case));
            generate::check_against(&world, &mut CheckSink::new(&world), &|_, _| {}, &mut whole).ok();
            let files: Vec<_> = ["blue/one", "green/two"].map(|one| format!("clusters/{one}.yaml")).into();
            let judge = |file: &String| {
                let mut alone = Notes::new();
                let is_near = |cluster: &Cluster| *cluster.file == **file;
                generate::check_near(&world, &is_near, &mut CheckSink::new(&world), &mut alone).ok();
                let (whole_said, alone_said) = (about(file, &whole), about(file, &alone));
                let is_stopped = whole.errors() > 0;
                let is_right =
                    if is_stopped { whole_said.is_subset(&alone_said) } else { whole_said == alone_said };
                (!is_right).then(|| format!("{name}: {file}:\n{whole_said:#?}\nbut alone\n{alone_said:#?}\n"))
            };
            files.iter().filter_map(judge).collect::<Vec<_>>()
        });
    let wrong: String = wrong.collect();
    assert!(wrong.is_empty(), "{wrong}");
}

/// The messages about a file.
fn about(file: &str, notes: &Notes) -> BTreeSet<String> {
    let is_about = |note: &&Diagnostic| {
        let related = note.related.iter().map(|(_, place)| place);
        note.place.iter().chain(related).any(|place| place.file == file)
    };
    let said = notes.iter().filter(is_about);
    said.map(|note| format!("{:?} {:?} {} {:?}", note.severity, note.place, note.message, note.hints))
        .collect()
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    format!("panicked: {}", text.unwrap_or_default())
}

fn judge(base: &Path, case: &Path) -> Result<(), String> {
    let root = sandbox::folder();
    overlay::apply(base, case, root.path())?;
    let before = sandbox::snapshot(root.path());
    let world = Workspace::open(root.path()).unwrap();
    let (done, notes) = sandbox::run(&world, &mut DiskSink::new(&world));
    let found = sandbox::messages(&notes);
    let mut wrong = String::new();
    match done {
        Err(Failure::Input) => {}
        other => writeln!(wrong, "ended with {:?}", other.map(|_| "a tree")).unwrap(),
    }
    if sandbox::snapshot(root.path()) != before {
        wrong += "something was written\n";
    }
    for note in notes.iter().filter(|note| note.severity == Severity::Error) {
        check_error(root.path(), note, &mut wrong);
    }
    if notes.errors() == 0 {
        wrong += "no error was reported\n";
    }
    sandbox::expect_file(&case.join("notes.txt"), &found, &mut wrong);
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

/// Every error must name a place, show the line there, and suggest the next step.
fn check_error(root: &Path, note: &Diagnostic, wrong: &mut String) {
    let Some(place) = &note.place else {
        writeln!(wrong, "no place: {}", note.message).unwrap();
        return;
    };
    if note.hints.is_empty() && !WITHOUT_HINT.contains(&note.code) {
        writeln!(wrong, "no hint: {place}: {}", note.message).unwrap();
    }
    if note.message.ends_with('.') {
        writeln!(wrong, "a full stop: {place}: {}", note.message).unwrap();
    }
    if place.line == 0 {
        return;
    }
    let bytes = fs::read(root.join(&place.file)).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let line = text.split('\n').nth(place.line - 1).map(|line| line.trim_end_matches('\r'));
    // A line with a secret is shown only up to its key. Nothing is shown from a folder in which any line may be a secret.
    let secret = matches!(note.code, "plaintext-secret" | "unencrypted-secret");
    let masked = secret && line.is_some_and(|line| is_masked(line, &place.source));
    let hidden = masked || place.source.is_empty() && (note.code == "secret" || place.file.contains(".d/"));
    if line != Some(&*place.source) && !hidden && note.code != "not-utf8" {
        writeln!(wrong, "not the line at {place}: {:?}, but {line:?}", place.source).unwrap();
    }
    if line.is_some_and(|line| place.column > line.chars().count() + 1) {
        writeln!(wrong, "a column behind the end of the line: {place}").unwrap();
    }
}

/// Whether a text is a line with its value masked by asterisks.
fn is_masked(line: &str, shown: &str) -> bool {
    let same = line.chars().count() == shown.chars().count();
    same && shown.contains('*') && line.chars().zip(shown.chars()).all(|(was, is)| is == was || is == '*')
}
