//! Runs that make a part of the tree: some clusters only, or what is not at fault.
//!
//! A fault is blamed on the smallest thing that can be left out: a definition, a folder's defaults, a stack, a release,
//! with the clusters that are made from it. What is left out is taken from the input, and the run begins anew, until
//! what remains is sound. What nobody in particular is to blame for stops the run as it always does.

mod excluded;
mod left_out;

use std::collections::BTreeSet;

use crate::{
    definition::{Definitions, Identity, closest},
    model::is_called,
    note::{Diagnostic, Notes, Severity},
    world::Input,
};

pub use excluded::Excluded;
pub use left_out::LeftOut;

/// The code of a message on an `--only` that nothing answers to.
const UNKNOWN: &str = "unknown-cluster";

/// Which part of the tree a run makes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// Clusters (`<name>`, `<namespace>/<name>`, `<management cluster>/<namespace>/<name>`), definitions and folders;
    /// everything where there are none.
    pub only: Vec<String>,
    /// Whether what is at fault is left as it is, and everything else made.
    pub keep_going: bool,
}

impl Scope {
    /// Whether the whole tree is made, or nothing.
    pub fn is_whole(&self) -> bool {
        self.only.is_empty() && !self.keep_going
    }

    /// Whether a definition is meant by its path.
    fn means_path(&self, file: &str) -> bool {
        self.only.iter().any(|only| within(file, only))
    }

    /// Whether a cluster is meant.
    fn means(&self, identity: &Identity) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| names(only, identity))
    }
}

fn names(only: &str, identity: &Identity) -> bool {
    is_called(&identity.name, only) || within(&identity.file, only)
}

/// Whether a file is at a path, or below it.
fn within(file: &str, path: &str) -> bool {
    let path = path.trim_start_matches("./").trim_end_matches('/');
    file.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A definition that was left as it was, and why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Left {
    /// Its file.
    pub file: String,
    /// What is at fault.
    pub why: String,
}

/// Takes from the definitions the clusters that are not meant, and those made from what is left out.
pub fn narrow(definitions: &mut Definitions, scope: &Scope, excluded: &mut Excluded, notes: &mut Notes) {
    definitions.broken.extend(excluded.stacks().map(|stack| format!("stacks/{stack}/stack.yaml")));
    let all: Vec<_> = definitions.clusters.iter().map(|layer| Identity::new(definitions, layer)).collect();
    let mut meant: BTreeSet<String> = BTreeSet::new();
    for identity in all.iter().filter(|identity| scope.means(identity)) {
        excluded.meant.insert(identity.file.clone());
        if !excluded.takes_base_of(identity) {
            meant.insert(identity.file.clone());
        }
    }
    // Another definition of the same cluster must not be overlooked: which of the two counts is not known.
    let named: BTreeSet<&str> = all
        .iter()
        .filter(|identity| meant.contains(&identity.file))
        .map(|identity| &*identity.name)
        .collect();
    let twins = all.iter().filter(|identity| named.contains(&*identity.name));
    let meant: BTreeSet<&str> = twins.map(|identity| &*identity.file).collect();
    // What is at fault may be what is asked for: that is reported first.
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
            "`{}`{more} is left out for a fault of its own: `stackloom check` says which",
            first.file
        ));
    }
}

/// A definition whose part is at fault once it is drawn, and why.
pub type Faulty = (String, String);

/// Tries again and again, each time without what was at fault before, until something sound is made of the rest.
///
/// `attempt` makes it from an input, or nothing, and names the definitions whose parts are at fault; `faulty` are known
/// to be before. What was found goes to `notes`; faults of what the run is not about are left out of them.
pub fn settle<T>(
    input: &Input,
    scope: &Scope,
    read: Notes,
    faulty: &[Faulty],
    notes: &mut Notes,
    mut attempt: impl FnMut(Input, &mut Excluded, &mut Notes) -> (Option<T>, Vec<Faulty>),
) -> Option<(T, Vec<Left>)> {
    let mut excluded = Excluded::default();
    for (file, why) in faulty {
        excluded.add_cluster(file, why);
    }
    let (mut reported, mut found) = (Notes::new(), read);
    loop {
        excluded.learn(input);
        let (made, faulty) = attempt(excluded.without(input), &mut excluded, &mut found);
        let sound = found.errors() == 0;
        let blamed = sound || blame(&found, &faulty, &mut excluded);
        reported.append(std::mem::take(&mut found));
        let concerns =
            |file: &str| scope.only.is_empty() || excluded.meant.contains(file) || scope.means_path(file);
        if !sound && blamed {
            continue;
        }
        let left: Vec<_> = excluded.left().into_iter().filter(|left| concerns(&left.file)).collect();
        let fails = !sound || !left.is_empty() && !scope.keep_going;
        let silent = !fails && left.is_empty() && !scope.only.is_empty();
        // Where the run ends without a tree, what is asked for may be what could not be read.
        let known = sound || reported.iter().any(|note| note.code == UNKNOWN && note.place.is_none());
        for note in reported.iter() {
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

/// Leaves out what errors are to blame on; false where some of them concern everything.
fn blame(notes: &Notes, faulty: &[(String, String)], excluded: &mut Excluded) -> bool {
    let reported: Vec<&Diagnostic> = notes.iter().filter(|note| note.severity == Severity::Error).collect();
    let before = excluded.clone();
    if faulty.is_empty() {
        for note in reported {
            let places = note.place.iter().chain(
                // Which of two things of one name the tree was made from is not known.
                note.related.iter().filter(|_| note.code == "duplicate").map(|(_, place)| place),
            );
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
