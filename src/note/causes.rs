//! Merges equal messages and sorts causes before their possible consequences.

use std::collections::{BTreeMap, BTreeSet};

use super::{Diagnostic, LEFT_OUT, Place, Severity, names};

/// A message, and the other places with exactly the same fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The message, with the first of its places.
    pub note: Diagnostic,
    /// The other places, each in a different file; empty for most messages.
    pub alike: Vec<Place>,
}

/// Up to this many names or definitions are listed one by one; more are counted.
const SHOWN: usize = 3;

/// Sorts messages and merges equal ones. A warning that an error repeats is dropped.
pub(super) fn merged(list: &[Diagnostic]) -> Vec<Diagnostic> {
    let is_error = |note: &&Diagnostic| note.severity == Severity::Error;
    let errors: BTreeSet<_> = list.iter().filter(is_error).map(content).collect();
    let is_repeated = |note: &&Diagnostic| !is_error(note) && errors.contains(&content(note));
    let mut all: Vec<&Diagnostic> = list.iter().filter(|note| !is_repeated(note)).collect();
    // A message that counts others comes after those that are shown for the file.
    let order = |note: &Diagnostic| (rank(note), file(note), note.more > 0);
    all.sort_by_cached_key(|note| (order(note), note.key()));
    let mut merged: Vec<Diagnostic> = Vec::with_capacity(all.len());
    for note in all {
        match merged.last_mut() {
            Some(last) if last.says_as(note) => last.clusters.extend(note.clusters.iter().cloned()),
            _ => merged.push(note.clone()),
        }
    }
    merged
}

/// What a message says, whatever its severity.
fn content(note: &Diagnostic) -> (&'static str, &Option<Place>, &str) {
    (note.code, &note.place, &note.message)
}

/// Combines messages that report the same fault of many files or clusters. If a file has a fault twice, there are two things to
/// fix: the first ones of all files are combined, and so are the second ones.
pub(super) fn causes(sorted: Vec<Diagnostic>) -> Vec<Cause> {
    let mut occurrences: BTreeMap<(Wording, String), usize> = BTreeMap::new();
    let mut files: BTreeMap<(Wording, usize), usize> = BTreeMap::new();
    let mut numbered = Vec::with_capacity(sorted.len());
    for note in sorted {
        let cluster = names::subject(&note);
        let fault = wording(&note, cluster.as_deref()).map(|words| {
            let owner = cluster.clone().unwrap_or_else(|| file(&note));
            let occurrence = occurrences.entry((words.clone(), owner)).or_default();
            *occurrence += 1;
            (words, *occurrence)
        });
        if let Some(fault) = &fault {
            *files.entry(fault.clone()).or_default() += 1;
        }
        numbered.push((note, cluster, fault));
    }
    let mut causes: Vec<Cause> = Vec::new();
    let mut first: BTreeMap<(Wording, usize), usize> = BTreeMap::new();
    for (mut note, cluster, fault) in numbered {
        let Some(fault) = fault.filter(|fault| files[fault] > SHOWN) else {
            causes.push(Cause { note, alike: Vec::new() });
            continue;
        };
        note.clusters.extend(cluster);
        match first.get(&fault) {
            Some(at) => {
                let cause = &mut causes[*at];
                cause.note.clusters.extend(note.clusters);
                cause.alike.extend(note.place.filter(|place| cause.note.place.as_ref() != Some(place)));
            }
            None => {
                first.insert(fault, causes.len());
                causes.push(Cause { note, alike: Vec::new() });
            }
        }
    }
    causes
}

/// The content of a message without its place, unless it is that of all, and without the name of its cluster: code, message,
/// related places, hints, and the shared place.
type Wording = (&'static str, String, Vec<(String, Option<Place>)>, Vec<String>, Option<Place>);

/// The content of a message that may be combined with others: a fault of one cluster, or of a file that has no clusters yet.
fn wording(note: &Diagnostic, cluster: Option<&str>) -> Option<Wording> {
    let place = note.place.as_ref().filter(|_| note.more == 0)?;
    let is_own = is_definition(&place.file) || place.line == 0;
    if cluster.is_none() && (!note.clusters.is_empty() || place.line == 0) {
        return None;
    }
    let neutral = |text: &String| cluster.map_or_else(|| text.clone(), |full| names::neutral(text, full));
    // A place of the cluster's own files differs from cluster to cluster.
    let shared = |place: &Place| (cluster.is_none() || place.line > 0).then(|| place.clone());
    let related = note.related.iter().map(|(what, place)| (neutral(what), shared(place))).collect();
    let place = (!is_own && cluster.is_some()).then(|| place.clone());
    Some((note.code, neutral(&note.message), related, note.hints.iter().map(neutral).collect(), place))
}

fn file(note: &Diagnostic) -> String {
    note.place.as_ref().map_or_else(String::new, |place| place.file.clone())
}

/// Whether a file is the definition of one cluster, as opposed to defaults or a file of its `.d` folder.
fn is_definition(file: &str) -> bool {
    file.starts_with("clusters/") && !file.contains(".d/") && !is_defaults(file)
}

fn is_defaults(file: &str) -> bool {
    file.rsplit('/').next().is_some_and(|name| name.starts_with("_defaults."))
}

/// The position of a file in the order of causes: upstream files come first.
fn rank(note: &Diagnostic) -> u8 {
    if note.code == LEFT_OUT && note.severity == Severity::Warning {
        return 8;
    }
    let Some(place) = &note.place else { return 0 };
    match place.file.split('/').next().unwrap_or_default() {
        "stackloom.yaml" => 1,
        "stackloom.lock" => 2,
        "stacks" => 3,
        "generated" if place.file.starts_with("generated/releases/") => 4,
        "clusters" if is_defaults(&place.file) => 5,
        "clusters" => 6,
        _ => 7,
    }
}

impl Cause {
    /// A sentence that names the affected clusters or definitions; none if the place already says so.
    pub fn concerns(&self, all: bool) -> Option<String> {
        let note = &self.note;
        let is_own = |place: &Place| is_definition(&place.file);
        let are_clusters = note.clusters.len() > self.alike.len() && !self.alike.iter().all(is_own);
        if !self.alike.is_empty() && !are_clusters {
            let files: Vec<_> = self.alike.iter().map(ToString::to_string).collect();
            let are_definitions = self.alike.iter().all(is_own);
            let what = if are_definitions { "definitions" } else { "files" };
            return Some(format!("the same in {} more {what}: {}", files.len(), listed(&files, all)));
        }
        let own = note.place.as_ref().is_some_and(is_own);
        if note.clusters.is_empty() || own && note.clusters.len() == 1 {
            return None;
        }
        let names: Vec<_> = note.clusters.iter().map(|name| short(name)).collect();
        Some(match names.as_slice() {
            [only] => format!("affected cluster: {only}"),
            several => format!("affects {} clusters: {}", several.len(), listed(several, all)),
        })
    }
}

/// A cluster's name without its management cluster.
fn short(name: &str) -> String {
    name.split_once('/').map_or(name, |(_, rest)| rest).to_owned()
}

fn listed(names: &[String], all: bool) -> String {
    if all || names.len() <= SHOWN {
        return names.join(", ");
    }
    format!("{} … (`--verbose` lists all)", names[..SHOWN].join(", "))
}

#[cfg(test)]
mod tests {
    use crate::note::{Notes, Place};

    fn place(file: &str, line: usize) -> Place {
        Place { line, column: 1, ..Place::file(file) }
    }

    /// Four equal messages about one place, each for a different cluster.
    fn twice() -> Notes {
        let mut notes = Notes::new();
        for name in ["b", "a", "c", "d"] {
            let mut own = Notes::new();
            own.error("x", place("clusters/_defaults.yaml", 3), "it is wrong").hint("mend it");
            own.concern(&format!("mgmt/team/{name}"));
            notes.append(own);
        }
        notes
    }

    #[test]
    fn equal_messages_about_one_place_are_one_that_names_its_clusters() {
        let causes = twice().causes();
        assert_eq!(causes.len(), 1);
        let short = "affects 4 clusters: team/a, team/b, team/c … (`--verbose` lists all)";
        assert_eq!(causes[0].concerns(false).as_deref(), Some(short));
        let long = "affects 4 clusters: team/a, team/b, team/c, team/d";
        assert_eq!(causes[0].concerns(true).as_deref(), Some(long));
        assert_eq!(twice().sorted()[0].clusters.len(), 4);
    }

    #[test]
    fn messages_with_other_words_places_or_hints_stay_separate() {
        let mut notes = twice();
        notes.error("x", place("clusters/_defaults.yaml", 4), "it is wrong").hint("mend it");
        notes.error("x", place("clusters/_defaults.yaml", 3), "it is wrong").hint("leave it");
        notes.error("x", place("clusters/_defaults.yaml", 3), "it is odd").hint("mend it");
        assert_eq!(notes.causes().len(), 4);
    }

    #[test]
    fn the_same_error_of_many_definitions_is_shown_once_and_kept_separate_in_json() {
        let fleet = |count: usize| {
            let mut notes = Notes::new();
            for at in 0..count {
                let mut own = Notes::new();
                own.error("x", place(&format!("clusters/{at}.yaml"), 3), "it is wrong");
                own.concern(&format!("mgmt/team/{at}"));
                notes.append(own);
            }
            notes
        };
        assert_eq!(fleet(3).causes().len(), 3);
        let many = fleet(5);
        assert_eq!((many.causes().len(), many.sorted().len()), (1, 5));
        let expected = "the same in 4 more definitions: clusters/1.yaml:3:1, clusters/2.yaml:3:1, clusters/3.yaml:3:1 … (`--verbose` lists all)";
        assert_eq!(many.causes()[0].concerns(false).as_deref(), Some(expected));
    }

    #[test]
    fn what_happens_to_each_cluster_of_a_folder_is_shown_once() {
        let mut notes = Notes::new();
        for name in ["a", "b", "c", "d"] {
            let generated = format!("generated/management/m/clusters/team/{name}/cluster/cluster.yaml");
            let one = format!("`team/{name}` would be replaced");
            notes
                .error("x", place("clusters/_defaults.yaml", 3), one.as_str())
                .related("generated from it", Place::file(generated.as_str()))
                .hint(format!("restore `{name}`"));
            notes.warning("y", Place::file(generated), format!("`team/{name}` has no definition"));
            // Another word than the name, so another message.
            notes.error("z", place("clusters/_defaults.yaml", 3), format!("`{name}{name}` is wrong"));
        }
        let causes = notes.causes();
        let concerns = |code: &str| {
            let of_code = causes.iter().filter(|cause| cause.note.code == code);
            of_code.map(|cause| cause.concerns(false).unwrap_or_default()).collect::<Vec<_>>()
        };
        let all = "affects 4 clusters: team/a, team/b, team/c … (`--verbose` lists all)";
        assert_eq!((concerns("x"), concerns("y")), (vec![all.to_owned()], vec![all.to_owned()]));
        assert_eq!(concerns("z"), vec![""; 4]);
        assert_eq!(notes.sorted().len(), 12);
    }

    #[test]
    fn the_same_error_of_many_files_is_shown_once_for_each_time_that_a_file_has_it() {
        let mut notes = Notes::new();
        for at in 0..3000 {
            for line in [3, 7] {
                notes
                    .error("x", place(&format!("clusters/{at:04}.yaml"), line), "unknown key")
                    .hint("mend it");
            }
            notes.error("y", place(&format!("stacks/a/b/{at:04}.yaml"), 1), "unknown key");
        }
        let causes = notes.causes();
        let said: Vec<_> = causes.iter().map(|cause| cause.concerns(false).unwrap()).collect();
        assert_eq!(
            said,
            [
                "the same in 2999 more files: stacks/a/b/0001.yaml:1:1, stacks/a/b/0002.yaml:1:1, stacks/a/b/0003.yaml:1:1 … (`--verbose` lists all)",
                "the same in 2999 more definitions: clusters/0001.yaml:3:1, clusters/0002.yaml:3:1, clusters/0003.yaml:3:1 … (`--verbose` lists all)",
                "the same in 2999 more definitions: clusters/0001.yaml:7:1, clusters/0002.yaml:7:1, clusters/0003.yaml:7:1 … (`--verbose` lists all)",
            ]
        );
    }

    #[test]
    fn causes_come_before_what_they_lead_to() {
        let mut notes = Notes::new();
        let files = [
            "clusters/a.yaml",
            "clusters/z/_defaults.yaml",
            "generated/releases/r-v1/release.yaml",
            "stacks/docker/scs/stack.yaml",
            "stackloom.yaml",
        ];
        for file in files {
            notes.error("x", place(file, 1), "it is wrong");
        }
        let sorted = notes.sorted();
        let order: Vec<_> = sorted.iter().map(|note| note.place.as_ref().unwrap().file.as_str()).collect();
        assert_eq!(order, files.into_iter().rev().collect::<Vec<_>>());
    }
}
