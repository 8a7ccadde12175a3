//! `explain` and `affects` are right: every line has an explanation, and changing a source has exactly the effects they
//! predict.

mod mutate;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use rayon::prelude::*;
use stackloom::{
    definition::Channel,
    explain::{Explained, RecordedFleet, Role, SourcePlace},
    model::{AddonDelivery, Minor},
    note::Notes,
    release,
    render::{self, PartSubject},
    world::{Files, World},
};

use super::{
    cli, overlay,
    sandbox::{self, tree},
    support::{self, random::Random},
};

/// The explained lines of all files of a tree, by path.
type Lines = BTreeMap<String, Vec<Explained>>;

fn read(world: &dyn World) -> RecordedFleet {
    let mut notes = Notes::new();
    let read = RecordedFleet::read(world, &mut notes);
    let (fleet, _) = read.unwrap_or_else(|failure| panic!("{failure:?}: {}", sandbox::messages(&notes)));
    fleet
}

fn explained(fleet: &RecordedFleet) -> Lines {
    explained_of(fleet, |_| true)
}

fn explained_of(fleet: &RecordedFleet, is_meant: impl Fn(&PartSubject<'_>) -> bool) -> Lines {
    let subjects = render::subjects(fleet.plan()).into_iter().filter(is_meant);
    subjects.flat_map(|subject| fleet.part(subject, &mut Notes::new())).collect()
}

/// The small fleet with a template that uses every language feature.
fn looping() -> Files {
    let mut files = support::inmemory();
    for (path, text) in [
        ("stacks/dev/inmemory/cluster/looping.yaml", include_str!("looping.yaml")),
        ("clusters/blue/_defaults.yaml", include_str!("defaults.yaml")),
    ] {
        files.0.insert(path.to_owned(), text.to_owned());
    }
    files
}

/// The same fleet, with a cluster on a numbered release.
fn numbered() -> Files {
    let mut files = looping();
    let request = release::CutRequest {
        stack: None,
        minor: Minor::parse("1.36"),
        channel: Channel::Stable,
        version: None,
        taken: BTreeSet::new(),
        tagged: std::collections::BTreeMap::new(),
        commit: None,
    };
    let considered = stackloom::generate::cut(&files, &request, &mut Notes::new()).unwrap();
    let cut = considered[0].cut.as_ref().unwrap();
    let name = "dev-inmemory-1-36-v1";
    assert_eq!(cut.release.name, name);
    for (path, text) in &cut.files {
        files.0.insert(format!("generated/releases/{name}/{path}"), text.clone());
    }
    let two = files.0.get_mut("clusters/blue/two.yaml").unwrap();
    *two = two.replace("  kubernetes: \"1.36\"\n", &format!("  stack: null\n  release: {name}\n"));
    files
}

/// The repository's own fleet, the small ones, and all good cases.
fn fleets() -> Vec<(String, Files)> {
    let mut fleets = vec![
        ("demo".to_owned(), support::own()),
        ("inmemory".to_owned(), support::inmemory()),
        ("looping".to_owned(), looping()),
        ("numbered".to_owned(), numbered()),
    ];
    for case in sandbox::folders(&support::package().join("tests/cases-good")) {
        let root = sandbox::folder();
        let base = support::package().join("tests/cases/_base");
        overlay::apply(&base, &case.join("in"), root.path()).unwrap();
        if root.path().join("stackloom.yaml").exists() {
            fleets.push((sandbox::name(&case).to_owned(), support::fleet(root.path())));
        }
    }
    fleets
}

#[test]
fn every_line_of_every_file_has_an_answer_in_a_source() {
    let faults: Vec<_> = fleets().par_iter().map(|(name, files)| faults_of(name, files)).collect();
    let wrong = faults.concat();
    assert!(wrong.is_empty(), "{wrong}");
}

fn faults_of(name: &str, files: &Files) -> String {
    let mut wrong = String::new();
    let (lines, tree) = (explained(&read(files)), tree(files));
    let paths: BTreeSet<_> = lines.keys().collect();
    assert_eq!(paths, tree.keys().collect(), "{name}");
    for (path, explained) in &lines {
        let text: String = explained.iter().flat_map(|line| [line.text.as_str(), "\n"]).collect();
        assert_eq!(text, tree[path], "{name}: {path}");
        for (at, line) in explained.iter().enumerate() {
            if let Some(fault) = fault(line, files) {
                writeln!(wrong, "{name}: {path}:{}: {}: {fault}", at + 1, line.text).unwrap();
            }
        }
    }
    wrong
}

fn fault(line: &Explained, files: &Files) -> Option<String> {
    if line.sources.is_empty() {
        return Some("no answer".to_owned());
    }
    line.sources.iter().find_map(|source| {
        let Some(text) = files.0.get(&*source.file) else { return Some(format!("no file {}", source.file)) };
        let lines: Vec<_> = text.lines().collect();
        let sound = source.line >= 1 && source.line <= source.end && source.end <= lines.len();
        if !sound {
            return Some(format!("{}:{}-{} of {}", source.file, source.line, source.end, lines.len()));
        }
        let shown = lines[source.line - 1].trim();
        (*shown != *source.text)
            .then(|| format!("{}:{} is `{shown}`, not `{}`", source.file, source.line, source.text))
    })
}

/// The number of lines to change. The variable `MUTATIONS` increases it for more certainty.
fn count() -> usize {
    std::env::var("MUTATIONS").ok().and_then(|count| count.parse().ok()).unwrap_or(16)
}

/// Names of more than 63 characters are cut, so they no longer contain the name of the addon.
#[test]
fn a_long_name_changes_no_explanation() {
    let mut files = support::inmemory();
    let long = "a-cluster-with-so-long-a-name-that-others-are-cut";
    let definition = files.0["clusters/blue/one.yaml"].replace("name: one", &format!("name: {long}"));
    files.0.insert(format!("clusters/blue/{long}.yaml"), definition);
    let lines = explained_of(&read(&files), |subject| matches!(subject, PartSubject::Cluster(_)));
    let manifests = |cluster: &str| {
        let path = format!("generated/management/mgmt/clusters/blue/{cluster}/addons/notes.manifests.yaml");
        &lines[&path]
    };
    let sources = |cluster: &str| -> Vec<BTreeSet<(String, usize)>> {
        let own = format!("/{cluster}.yaml");
        let of = |line: &Explained| {
            line.sources.iter().map(|one| (one.file.replace(&own, "/cluster.yaml"), one.line)).collect()
        };
        manifests(cluster).iter().map(of).collect()
    };
    assert!(!manifests(long).iter().any(|line| line.text.contains(".addon.notes")), "the name is cut");
    assert_eq!(sources(long), sources("one"));
}

#[test]
fn explanations_predict_changes() {
    hold("demo", &support::own());
}

#[test]
fn explanations_predict_changes_in_a_small_fleet() {
    hold("inmemory", &support::inmemory());
}

#[test]
fn explanations_predict_changes_in_loops() {
    hold("looping", &looping());
}

#[test]
fn explanations_predict_changes_in_a_numbered_release() {
    let mut files = numbered();
    let is_cluster = |path: &String| path.starts_with("clusters/blue/") || path == "stackloom.yaml";
    hold_where("numbered", &files, is_cluster);
    // A numbered release never changes, but is named as a source anyway.
    files.0.retain(|path, _| !path.starts_with("clusters/green/"));
    let fleet = read(&files);
    let line = "generated/releases/dev-inmemory-1-36-v1/cluster/looping.yaml";
    let reached = fleet.affects(line, Some(11), &|_, _| {}, &mut Notes::new());
    assert_eq!(reached.clusters.iter().map(ToString::to_string).collect::<Vec<_>>(), ["blue/two"]);
}

/// Definitions and addons, with each delivery that has its own kinds of objects.
#[test]
fn explanations_predict_changes_in_deliveries() {
    let with_files = AddonDelivery::of_word("argocd-multi-source-application").unwrap();
    for delivery in sandbox::chart_deliveries().chain([with_files]) {
        let mut files = support::fleet(&support::package().join("tests/cases/_base"));
        let fleet = files.0.get_mut("stackloom.yaml").unwrap();
        let engine = if delivery.needs().is_some() { "argocd" } else { "flux" };
        let delivery = delivery.as_str();
        *fleet = fleet.replace("engine: flux", &format!("engine: {engine}\n  addonDelivery: {delivery}"));
        let is_content = |path: &String| path.ends_with("values.yaml") || path.contains("/manifests/");
        hold_where(delivery, &files, |path| is_content(path) || path == "clusters/green/two.yaml");
        let line = |line: &str| line.starts_with("  addonDelivery: ");
        let line = files.0["stackloom.yaml"].lines().position(line).unwrap() + 1;
        let reached = read(&files).affects("stackloom.yaml", Some(line), &|_, _| {}, &mut Notes::new());
        assert_eq!(reached.clusters.len(), 2, "{delivery}");
    }
}

/// The settings of the fleet, if Argo CD reads a branch and if it reads a tag. The fleet is named like the object that brings in
/// all others, which is not named after it.
#[test]
fn explanations_predict_changes_of_settings() {
    for reference in ["branch: main", "tag: v1"] {
        let mut files = support::fleet(&support::package().join("tests/cases/_base"));
        let fleet = files.0.get_mut("stackloom.yaml").unwrap();
        let settings = "argocd: { namespace: argo, destination: mgmt, project: platform }\n      classNamespace: classes";
        *fleet = fleet.replace("engine: flux", "engine: argocd").replace("branch: main", reference);
        *fleet = fleet.replace("classNamespace: classes", settings).replacen("name: base", "name: fleet", 1);
        assert!(fleet.contains("\n  name: fleet\n"));
        hold_where(reference, &files, |path| path == "stackloom.yaml");
        let line = files.0["stackloom.yaml"].lines().position(|line| line.trim() == reference).unwrap() + 1;
        let reached = read(&files).affects("stackloom.yaml", Some(line), &|_, _| {}, &mut Notes::new());
        assert_eq!(reached.clusters.len(), 2, "{reference}");
        let line = files.0["stackloom.yaml"].lines().position(|line| line == "  engine: argocd").unwrap() + 1;
        let reached = read(&files).affects("stackloom.yaml", Some(line), &|_, _| {}, &mut Notes::new());
        assert_eq!(reached.clusters.len(), 2, "{reference}");
    }
}

/// Typical questions on the command line, with the expected answers.
#[test]
fn answers_are_as_agreed() {
    let root = sandbox::folder();
    for (path, text) in &numbered().0 {
        sandbox::write(&root.path().join(path), text);
    }
    sandbox::to_disk(root.path());
    let (mut wrong, mut reported) = (String::new(), String::new());
    for question in include_str!("questions.txt").lines() {
        let arguments = question.split(' ').map(|word| word.trim_matches('\''));
        let output = cli::stackloom(root.path()).args(arguments).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let (out, err) = (text(output.stdout), text(output.stderr));
        writeln!(reported, "$ stackloom {question}\n{out}{err}").unwrap();
    }
    let file = support::package().join("tests/suite/origins/answers.txt");
    sandbox::expect_file(&file, &reported, &mut wrong);
    assert!(wrong.is_empty(), "{wrong}");
}

/// Changes some lines, and compares the effects with the predictions for each.
fn hold(name: &str, files: &Files) {
    hold_where(name, files, |_| true);
}

fn hold_where(name: &str, files: &Files, is_meant: impl Fn(&String) -> bool) {
    let mut wrong = String::new();
    let fleet = read(files);
    let (lines, before) = (explained(&fleet), tree(files));
    let mut random = Random::new(7);
    let mut places = mutate::places(files);
    places.retain(|place| is_meant(&place.file));
    random.shuffle(&mut places);
    places.truncate(count());
    let changed: Vec<_> = places.par_iter().map(|place| mutate::changed(files, place)).collect();
    let mut seen = 0;
    for (place, changed) in places.iter().zip(changed) {
        let Some((new, after)) = changed else { continue };
        seen += 1;
        let law = Law { fleet: &fleet, lines: &lines, before: &before, file: &place.file, line: place.line };
        let mut faults = String::new();
        law.hold(&after, &mut faults);
        for path in law.beside(&after) {
            writeln!(faults, "  {path} is the same").unwrap();
        }
        if !faults.is_empty() {
            writeln!(wrong, "{name}: {}:{} `{}`\n{faults}", place.file, place.line, new.trim()).unwrap();
        }
    }
    assert!(seen > places.len() / 4, "{name}: only {seen} of {} could be changed", places.len());
    assert!(wrong.is_empty(), "{wrong}");
}

/// A changed line of a source.
struct Law<'a> {
    fleet: &'a RecordedFleet,
    lines: &'a Lines,
    before: &'a BTreeMap<String, String>,
    file: &'a str,
    line: usize,
}

impl Law<'_> {
    fn names(&self, explained: &Explained) -> bool {
        let decides =
            |source: &SourcePlace| source.decides && self.fleet.covers(source, self.file, self.line);
        explained.sources.iter().any(decides)
    }

    /// The lines of a file that it was predicted to affect.
    fn explained(&self, path: &str) -> Vec<usize> {
        let lines = self.lines[path].iter().enumerate();
        lines.filter(|(_, explained)| self.names(explained)).map(|(at, _)| at + 1).collect()
    }

    /// Checks that every changed line was predicted.
    fn hold(&self, after: &BTreeMap<String, String>, wrong: &mut String) {
        for (path, old) in self.before {
            let explained = self.explained(path);
            let Some(new) = after.get(path) else {
                if explained.first() != Some(&1) {
                    writeln!(wrong, "  {path} goes, and its first line does not say so").unwrap();
                }
                continue;
            };
            for line in mutate::gone(old, new) {
                if !explained.contains(&line) {
                    let text = old.lines().nth(line - 1).unwrap_or_default();
                    writeln!(wrong, "  {path}:{line} changes: {text}").unwrap();
                }
            }
            if old != new && explained.is_empty() {
                writeln!(wrong, "  {path} changes").unwrap();
            }
        }
    }

    /// The files that were predicted to change but did not, unless a decision in between explains that: an expression or
    /// statement of a template, or the selection of a release or of an addon's version.
    fn beside(&self, after: &BTreeMap<String, String>) -> Vec<String> {
        let anew = |source: &SourcePlace| {
            matches!(
                source.role,
                Role::Template | Role::Statement | Role::Release | Role::Version | Role::Content
            )
        };
        let direct = |line: &usize, path: &str| !self.lines[path][line - 1].sources.iter().any(anew);
        let same = |path: &&String| {
            let explained = || self.explained(path);
            self.before.get(*path) == after.get(*path) && explained().iter().any(|line| direct(line, path))
        };
        self.lines.keys().filter(same).cloned().collect()
    }
}
