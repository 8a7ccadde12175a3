//! Runs that generate a part of the tree: only some clusters, or only those without errors.
//!
//! An error is attributed to the smallest unit that can be left out: a definition, a folder's defaults, a stack or a
//! release, each with the clusters that depend on it. Defaults that do not fit some clusters leave out only these. The unit is removed from the input and the run starts again, until the
//! remaining input has no errors. An error that can't be attributed to a unit stops the run as usual.

mod excluded;
mod left_out;

use std::collections::BTreeSet;

use crate::{
    definition::{Definitions, Identity, closest, misnamed_defaults},
    model::{ClusterId, is_called},
    note::{Diagnostic, Notes, Severity},
    world::{Input, definitions_of},
};

pub use excluded::Excluded;
pub use left_out::LeftOut;

/// The code of messages about an `--only` that matches nothing.
const UNKNOWN: &str = "unknown-cluster";

/// The part of the tree that a run generates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// Clusters (`<name>`, `<namespace>/<name>`, `<management cluster>/<namespace>/<name>`), definitions and folders;
    /// everything if empty.
    pub only: Vec<String>,
    /// Whether units with errors are left unchanged and everything else is generated.
    pub keep_going: bool,
    /// Clusters that must be generated: if one of them has errors, nothing is.
    pub required: BTreeSet<ClusterId>,
}

impl Scope {
    /// Reports whether the run generates either the whole tree or nothing.
    pub fn is_whole(&self) -> bool {
        self.only.is_empty() && !self.keep_going
    }

    /// Reports whether the scope includes the path of a definition.
    fn means_path(&self, file: &str) -> bool {
        self.only.iter().any(|only| within(file, only))
    }

    /// Reports whether the scope includes a cluster.
    fn means(&self, identity: &Identity) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| names(only, identity))
    }
}

fn names(only: &str, identity: &Identity) -> bool {
    is_called(&identity.name, only) || within(&identity.file, only)
}

/// Reports whether a file is at a path or below it.
fn within(file: &str, path: &str) -> bool {
    let path = path.trim_start_matches("./").trim_end_matches('/');
    file.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A definition that was skipped, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SkippedDefinition {
    /// The path of the definition.
    pub file: String,
    /// The reason.
    pub why: String,
    /// The file with the defaults that do not fit it, if that is the reason.
    pub unfit: Option<String>,
}

/// Removes clusters outside the scope, and those that depend on excluded units, from the definitions.
pub fn narrow(definitions: &mut Definitions, scope: &Scope, excluded: &mut Excluded, notes: &mut Notes) {
    definitions.broken.extend(excluded.stacks().map(|stack| format!("stacks/{stack}/stack.yaml")));
    let all = Identity::all(definitions);
    let mut meant: BTreeSet<String> = BTreeSet::new();
    excluded.defined.extend(all.iter().map(|one| (one.name.clone(), one.file.clone())));
    for identity in all.iter().filter(|identity| scope.means(identity)) {
        excluded.meant.insert(identity.file.clone());
        if !excluded.takes_base_of(identity) {
            meant.insert(identity.file.clone());
        }
    }
    // Keeps other definitions of the same cluster, because it is unknown which one counts.
    let named: BTreeSet<&str> = all
        .iter()
        .filter(|identity| meant.contains(&identity.file))
        .map(|identity| &*identity.name)
        .collect();
    let twins = all.iter().filter(|identity| named.contains(&*identity.name));
    let meant: BTreeSet<&str> = twins.map(|identity| &*identity.file).collect();
    // The user may have asked for something with errors. Those errors are reported first.
    let unsound = notes.errors() > 0;
    for only in scope.only.iter().filter(|_| !unsound) {
        if !all.iter().any(|identity| names(only, identity)) && !excluded.mean(only) {
            unknown(only, &all, excluded, notes);
        }
    }
    definitions.clusters.retain(|layer| meant.contains(&*layer.source.path));
}

fn unknown(only: &str, all: &[Identity], excluded: &Excluded, notes: &mut Notes) {
    let note = notes.error(UNKNOWN, None, format!("`--only {only}` names no cluster"));
    let known = all.iter().map(|identity| identity.name.rsplit('/').next().unwrap_or_default());
    match closest(only, known) {
        Some(similar) => note.hint(format!("did you mean `{similar}`?")),
        None => note.hint("give a cluster's name, its definition, or a folder below `clusters`"),
    };
    let left = excluded.left();
    if let Some(first) = left.first() {
        let more = if left.len() > 1 { format!(" and {} more", left.len() - 1) } else { String::new() };
        note.hint(format!(
            "`{}`{more} is skipped because of its own errors: run `stackloom check` to see them",
            first.file
        ));
    }
}

/// The path of a definition whose part has errors after drawing, and the reason.
pub type Faulty = (String, String);

/// Repeats attempts, each without the units that had errors before, until the rest has none.
///
/// `attempt` makes a result, if possible, from an input, and returns the definitions whose parts have errors. `faulty` lists
/// those known in advance. The messages go to `notes`, except for errors of definitions outside the scope.
pub fn settle<T>(
    input: &Input,
    scope: &Scope,
    read: Notes,
    faulty: &[Faulty],
    notes: &mut Notes,
    mut attempt: impl FnMut(Input, &mut Excluded, &mut Notes) -> (Option<T>, Vec<Faulty>),
) -> Option<(T, Vec<SkippedDefinition>)> {
    let mut excluded = Excluded::default();
    for (file, why) in faulty {
        excluded.add_cluster(file, why);
    }
    let (mut all, mut found) = (Notes::new(), read);
    loop {
        excluded.learn(input);
        let (made, faulty) = attempt(excluded.without(input), &mut excluded, &mut found);
        let sound = found.errors() == 0;
        let blamed = sound || blame(&found, &faulty, &mut excluded);
        all.append(std::mem::take(&mut found));
        let is_meant = |file: &String| excluded.meant.contains(file);
        let concerns = |file: &str| {
            scope.only.is_empty() || scope.means_path(file) || definitions_of(file).iter().any(is_meant)
        };
        if !sound && blamed {
            continue;
        }
        let left: Vec<_> = excluded.left().into_iter().filter(|left| concerns(&left.file)).collect();
        let fails = !sound || !left.is_empty() && !scope.keep_going;
        let silent = !fails && left.is_empty() && !scope.only.is_empty();
        // If the run ends without a tree, the unreadable file may be what the user asked for.
        let known = sound || all.iter().any(|note| note.code == UNKNOWN && note.place.is_none());
        for note in all.iter() {
            let place = note.place.as_ref().map_or("", |place| &place.file);
            let other = place.starts_with("clusters/") && !place.contains("/_defaults.") && !concerns(place);
            let beside = known && other;
            if note.severity == Severity::Warning || !silent && !beside {
                notes.push(note.clone());
            }
        }
        return if fails { None } else { Some((made?, left)) };
    }
}

/// Excludes the units that errors are attributed to; false if some errors concern everything.
fn blame(notes: &Notes, faulty: &[(String, String)], excluded: &mut Excluded) -> bool {
    let errors: Vec<&Diagnostic> = notes.iter().filter(|note| note.severity == Severity::Error).collect();
    let before = excluded.clone();
    if faulty.is_empty() {
        for note in errors {
            if note.place.as_ref().is_some_and(|place| excluded.add_unfit(&place.file, &note.clusters)) {
                continue;
            }
            let places = note.place.iter().chain(
                // It is unknown which of two definitions with the same name the tree was made from.
                note.related.iter().filter(|_| note.code == "duplicate").map(|(_, place)| place),
            );
            // The definitions that these defaults are for are left out, too.
            if let Some(file) = misnamed_defaults(note) {
                excluded.add(&file);
            }
            let blamed: Vec<bool> = places.map(|place| excluded.add(&place.file)).collect();
            if blamed.is_empty() || blamed.contains(&false) {
                return false;
            }
            let twin = note.place.as_ref().and_then(|place| place.file.strip_suffix(".yml"));
            if let Some(twin) = twin.filter(|_| note.code == "duplicate" && note.related.is_empty()) {
                excluded.add(&format!("{twin}.yaml"));
            }
        }
    }
    for (file, why) in faulty {
        excluded.add_cluster(file, why);
    }
    *excluded != before
}
