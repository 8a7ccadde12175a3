//! Messages about the input, each with its place and the next step.
//!
//! A stage collects every fault it finds in [`Notes`] and returns its value alongside. [`Halted`] means that the errors
//! are already in the notes. It carries no message of its own, and only this module can create one.

mod causes;
mod fault;
mod names;
mod origin;
mod report;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde::Serialize;

pub use causes::Cause;
pub use fault::Fault;
pub use names::{in_words, short_commit};
pub use origin::{At, FileId, Origin};
pub use report::{Extent, MissingCommit, RepeatedId};

/// How severe a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The run cannot continue with this input.
    Error,
    /// The run continues, but someone should take a look.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
        })
    }
}

/// A place in a file, together with the text of its line, so that a message can be shown without the file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    /// The file, relative to the root of the fleet.
    pub file: String,
    /// The line, counted from 1; 0 if the message is about the whole file.
    pub line: usize,
    /// The column in characters, counted from 1; 0 if the message is about the whole line or file.
    pub column: usize,
    /// The length in characters, at least 1.
    pub length: usize,
    /// The text of the line.
    #[serde(rename = "text")]
    pub source: String,
}

impl Place {
    /// Creates a place that stands for a whole file.
    pub fn file(path: impl Into<String>) -> Self {
        Self { file: path.into(), line: 0, column: 0, length: 1, source: String::new() }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.column) {
            (0, _) => f.write_str(&self.file),
            (line, 0) => write!(f, "{}:{line}", self.file),
            (line, column) => write!(f, "{}:{line}:{column}", self.file),
        }
    }
}

/// A message about the input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// How severe it is.
    pub severity: Severity,
    /// A stable name for this kind of message, such as `unknown-key`.
    pub code: &'static str,
    /// The place, if it is about one.
    pub place: Option<Place>,
    /// What is wrong: lower case, no full stop, literals in backticks.
    pub message: String,
    /// Related places, each with a description.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related: Vec<(String, Place)>,
    /// The hints about the next steps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
    /// The affected clusters, as `<management cluster>/<namespace>/<name>`; empty for a fault of the whole fleet.
    #[serde(skip_serializing_if = "BTreeSet::is_empty", serialize_with = "names::write")]
    pub clusters: BTreeSet<String>,
    /// How many messages with the same code about the same file it stands for; 0 if it stands only for itself.
    #[serde(skip_serializing_if = "stands_for_itself")]
    pub more: usize,
    /// The part of a cluster's definition that causes it, if the place is in a file that was generated from the definition.
    #[serde(skip)]
    pub about: Option<About>,
    /// How much of a change it is about.
    #[serde(skip)]
    pub extent: Extent,
    /// The commit that is missing to be sure of it.
    #[serde(skip)]
    pub missing_commit: Option<MissingCommit>,
    /// Its ID, if a report may repeat it.
    #[serde(skip)]
    pub repeated_id: Option<RepeatedId>,
    /// Origins that have no place yet.
    #[serde(skip)]
    pub(crate) unplaced: Vec<Unplaced>,
}

/// An origin that is yet to become a place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Unplaced {
    /// The description of a related place; none for the place of the message itself.
    what: Option<String>,
    origin: Origin,
}

/// The part of a cluster's definition that causes a message.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum About {
    /// Whether the cluster is defined, and how it is removed.
    Cluster,
    /// One of its node pools.
    Pool(String),
    Addon(String),
    AddonVersion(String),
    Release,
    /// The Kubernetes version of its release.
    Kubernetes,
    /// The patch version of Kubernetes in its release.
    Patch(String),
    /// Its `pods` or `services` network.
    Network(&'static str),
    /// The management cluster that builds it.
    ManagementCluster,
    /// The engine of its management cluster.
    Engine,
    /// The delivery of its addons.
    Delivery,
    /// A setting of a management cluster, with its path.
    Setting {
        management: String,
        path: &'static str,
    },
    /// The cluster that its definition defines instead.
    Heir {
        namespace: String,
        name: String,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn stands_for_itself(more: &usize) -> bool {
    *more == 0
}

impl Diagnostic {
    /// Creates a message without hints or related places.
    pub fn new(severity: Severity, code: &'static str, at: At, message: impl Into<String>) -> Self {
        let (place, unplaced) = match at {
            At::Nowhere => (None, Vec::new()),
            At::Place(place) => (Some(place), Vec::new()),
            At::Word(origin) => (None, vec![Unplaced { what: None, origin }]),
        };
        let (related, hints, clusters) = (Vec::new(), Vec::new(), BTreeSet::new());
        Self {
            severity,
            code,
            place,
            message: message.into(),
            related,
            hints,
            clusters,
            more: 0,
            about: None,
            extent: Extent::Whole,
            missing_commit: None,
            repeated_id: None,
            unplaced,
        }
    }

    /// Adds a hint about the next step.
    pub fn hint(&mut self, hint: impl Into<String>) -> &mut Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds a related place with its description. [`At::Nowhere`] is ignored.
    pub fn related(&mut self, what: impl Into<String>, at: impl Into<At>) -> &mut Self {
        match at.into() {
            At::Nowhere => {}
            At::Place(place) => self.related.push((what.into(), place)),
            At::Word(origin) => self.unplaced.push(Unplaced { what: Some(what.into()), origin }),
        }
        self
    }

    fn locate(&mut self, place_of: &impl Fn(Origin) -> Option<Place>) {
        for Unplaced { what, origin } in std::mem::take(&mut self.unplaced) {
            match (what, place_of(origin)) {
                (None, place) => self.place = place,
                (Some(what), Some(place)) => self.related.push((what, place)),
                (Some(_), None) => {}
            }
        }
    }

    /// Sets the part of the definition that causes it.
    pub fn about(&mut self, about: About) -> &mut Self {
        self.about = Some(about);
        self
    }

    /// Reports whether another message is the same apart from the affected clusters.
    pub fn says_as(&self, other: &Self) -> bool {
        self.key() == other.key()
    }

    /// The same for two messages whose texts are equal but for names.
    fn says_as_but_for_names(&self, other: &Self) -> bool {
        let (place, severity, code, _, related, hints, unplaced) = self.key();
        let key = other.key();
        (place, severity, code, related, hints, unplaced) == (key.0, key.1, key.2, key.4, key.5, key.6)
    }

    fn key(&self) -> Key<'_> {
        (&self.place, self.severity, self.code, &self.message, &self.related, &self.hints, &self.unplaced)
    }
}

/// Everything that identifies a message: place, severity, code, message, related places, hints, and origins without a place.
type Key<'a> =
    (&'a Option<Place>, Severity, &'a str, &'a str, &'a [(String, Place)], &'a [String], &'a [Unplaced]);

/// A stage stopped; its errors are in the [`Notes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Halted(());

/// The code of the warning about skipped definitions. It follows the messages about the requested ones.
pub const LEFT_OUT: &str = "left-out";

/// The most messages with the same code that are kept per file; the rest are only counted. A file can have hundreds of
/// thousands of errors.
pub const MOST_ALIKE: usize = 100;

/// The properties that similar messages share: severity, code and file. Up to [`MOST_ALIKE`] such messages are kept.
type Alike = (Severity, &'static str, String);

/// How many similar messages were found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    /// The number of messages that are kept.
    kept: usize,
    /// The index of the message that counts the others.
    counter: Option<usize>,
}

/// The messages of the stages, in the order in which they were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    list: Vec<Diagnostic>,
    errors: usize,
    tallies: BTreeMap<Alike, Tally>,
    /// The indices of the messages that name clusters.
    of_clusters: BTreeMap<(Place, &'static str, String), Vec<usize>>,
    /// Receives the hints of a message that is not kept.
    spare: Option<Box<Diagnostic>>,
}

impl Notes {
    /// Creates an empty collection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an error. Hints can follow: `notes.error(…).hint(…)`.
    pub fn error(
        &mut self,
        code: &'static str,
        at: impl Into<At>,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.add(Severity::Error, code, at.into(), message.into())
    }

    /// Adds a warning.
    pub fn warning(
        &mut self,
        code: &'static str,
        at: impl Into<At>,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.add(Severity::Warning, code, at.into(), message.into())
    }

    fn add(&mut self, severity: Severity, code: &'static str, at: At, message: String) -> &mut Diagnostic {
        self.keep(Diagnostic::new(severity, code, at, message))
    }

    /// Turns origins into places. Equal messages about one place are then merged if they name clusters.
    ///
    /// The caller of a stage does this: the stage itself knows only values, not the files that contain them.
    pub fn locate(&mut self, place_of: impl Fn(Origin) -> Option<Place>) {
        if self.list.iter().all(|note| note.unplaced.is_empty()) {
            return;
        }
        let found = std::mem::take(self);
        self.take_over(found, |mut note| {
            note.locate(&place_of);
            Some(note)
        });
    }

    /// Adds a message.
    pub fn push(&mut self, note: Diagnostic) {
        self.keep(note);
    }

    /// Keeps a message, or only counts it if enough similar ones are kept.
    fn keep(&mut self, note: Diagnostic) -> &mut Diagnostic {
        if let Some(place) = &note.place {
            let alike = (note.severity, note.code, place.file.clone());
            if note.more > 0 {
                self.count(alike, note.more);
                return self.spare.insert(Box::new(note));
            }
            let tally = self.tallies.entry(alike.clone()).or_default();
            if tally.kept == MOST_ALIKE {
                self.count(alike, 1);
                return self.spare.insert(Box::new(note));
            }
            tally.kept += 1;
        }
        self.errors += usize::from(note.severity == Severity::Error);
        self.list.push(note);
        self.list.last_mut().expect("one was just pushed")
    }

    /// Updates the message that counts those that are not kept.
    fn count(&mut self, alike: Alike, more: usize) {
        let (severity, code, file) = alike.clone();
        let tally = self.tallies.entry(alike).or_default();
        let message = |more: usize| {
            let (messages, are) = if more == 1 { ("message", "is") } else { ("messages", "are") };
            format!("{more} more {messages} `{code}` about this file {are} not shown")
        };
        if let Some(counter) = tally.counter {
            let counter = &mut self.list[counter];
            counter.more += more;
            counter.message = message(counter.more);
            return;
        }
        tally.counter = Some(self.list.len());
        self.errors += usize::from(severity == Severity::Error);
        let note = Diagnostic::new(severity, code, Place::file(file).into(), message(more));
        let hints = vec!["fix the ones above first: they often share a cause".to_owned()];
        self.list.push(Diagnostic { hints, more, ..note });
    }

    /// Takes over the messages of another collector.
    pub fn append(&mut self, other: Self) {
        self.take_over(other, Some);
    }

    /// Takes over the wanted messages of another collector.
    pub fn append_if(&mut self, other: Self, wanted: impl Fn(&Diagnostic) -> bool) {
        self.take_over(other, |note| wanted(&note).then_some(note));
    }

    /// Takes over the messages of another collector, with errors as warnings: they affect nothing that this run generates.
    pub fn append_as_warnings(&mut self, other: Self) {
        self.take_over(other, |note| Some(Diagnostic { severity: Severity::Warning, ..note }));
    }

    fn take_over(&mut self, other: Self, change: impl Fn(Diagnostic) -> Option<Diagnostic>) {
        for note in other.list.into_iter().filter_map(change) {
            if !self.merge(&note) {
                self.keep(note);
            }
        }
    }

    /// Adds the affected clusters of a message to an equal message, which then counts once for all of them. Messages about
    /// one place are equal, too, if they differ in the names of the clusters. Reports whether there was one.
    fn merge(&mut self, note: &Diagnostic) -> bool {
        let Some(place) = note.place.as_ref().filter(|_| !note.clusters.is_empty()) else { return false };
        let message = match names::subject(note) {
            Some(cluster) => names::neutral(&note.message, &cluster),
            None => note.message.clone(),
        };
        let known = self.of_clusters.entry((place.clone(), note.code, message)).or_default();
        let list = &mut self.list;
        let is_same = |known: &Diagnostic| known.says_as_but_for_names(note);
        if let Some(at) = known.iter().copied().find(|at| list.get(*at).is_some_and(is_same)) {
            list[at].clusters.extend(note.clusters.iter().cloned());
            return true;
        }
        known.push(list.len());
        false
    }

    /// Records that all messages so far affect a cluster.
    pub fn concern(&mut self, cluster: &str) {
        for note in &mut self.list {
            note.clusters.insert(cluster.to_owned());
        }
    }

    /// Changes every message.
    pub fn change(&mut self, mut change: impl FnMut(&mut Diagnostic)) {
        for mut note in std::mem::take(self).list {
            change(&mut note);
            self.keep(note);
        }
    }

    /// Turns the given errors back into errors if they were taken over as warnings.
    pub fn raise(&mut self, errors: &Self) {
        let errors: Vec<_> = errors.list.iter().filter(|note| note.severity == Severity::Error).collect();
        let is_raised = |note: &Diagnostic| {
            let says_so = |error: &Diagnostic| {
                (note.code, &note.place, &note.message) == (error.code, &error.place, &error.message)
            };
            note.severity == Severity::Warning && errors.iter().any(|error| says_so(error))
        };
        for note in std::mem::take(self).list.into_iter().filter(|note| !is_raised(note)) {
            self.keep(note);
        }
        for error in errors {
            self.keep(error.clone());
        }
    }

    /// All messages, with causes before their possible consequences. Equal messages about one place become one message that
    /// names all affected clusters.
    pub fn sorted(&self) -> Vec<Diagnostic> {
        debug_assert!(self.list.iter().all(|note| note.unplaced.is_empty()), "a message without its place");
        causes::merged(&self.list)
    }

    /// The messages for people: [`Self::sorted`], with the same error in many definitions shown as one message.
    pub fn causes(&self) -> Vec<Cause> {
        causes::causes(self.sorted())
    }

    /// All messages, in the order in which they were found.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.list.iter()
    }

    /// The number of errors.
    pub fn errors(&self) -> usize {
        self.errors
    }

    /// Reports whether there are no messages at all.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Ends a stage: returns the value unless an error was found.
    pub fn halt<T>(&self, value: T) -> Result<T, Halted> {
        if self.errors() == 0 { Ok(value) } else { Err(Halted(())) }
    }

    /// Stops a stage. The caller has already added an error.
    pub fn halted(&self) -> Halted {
        debug_assert!(self.errors() > 0, "halted without an error");
        Halted(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(count: usize, file: &str) -> Notes {
        let mut notes = Notes::new();
        for line in 1..=count {
            let place = Place { line, ..Place::file(file) };
            notes.error("wrong", place, format!("fault {line}")).hint("mend it");
        }
        notes
    }

    fn last(notes: &Notes) -> String {
        notes.sorted().pop().map(|note| note.message).unwrap_or_default()
    }

    #[test]
    fn a_raised_warning_counts_as_one_error() {
        let (mut errors, mut notes) = (Notes::new(), Notes::new());
        errors.error("release-changed", Place::file("a"), "is another").hint("put it back");
        errors.warning("release-tag", Place::file("a"), "has two lines").hint("look");
        notes.append_as_warnings(errors.clone());
        notes.warning("other", Place::file("b"), "stays").hint("look");
        notes.raise(&errors);
        let reported: Vec<_> = notes.iter().map(|note| (note.severity, note.code)).collect();
        let warning = |code| (Severity::Warning, code);
        assert_eq!(
            reported,
            [warning("release-tag"), warning("other"), (Severity::Error, "release-changed")]
        );
        assert_eq!(notes.errors(), 1);
    }

    #[test]
    fn messages_that_are_alike_are_counted_when_there_are_enough() {
        assert_eq!(found(MOST_ALIKE, "a").iter().count(), MOST_ALIKE);
        let notes = found(MOST_ALIKE + 25, "a");
        assert_eq!(notes.iter().count(), MOST_ALIKE + 1);
        assert_eq!(last(&notes), "25 more messages `wrong` about this file are not shown");
        assert_eq!(notes.errors(), MOST_ALIKE + 1);
        assert!(notes.iter().all(|note| note.hints.len() == 1));
    }

    #[test]
    fn other_files_and_other_kinds_are_counted_separately() {
        let mut notes = found(MOST_ALIKE, "a");
        notes.append(found(MOST_ALIKE, "b"));
        notes.warning("wrong", Place::file("a"), "a warning");
        notes.error("other", Place::file("a"), "another kind");
        for at in 0..2 * MOST_ALIKE {
            notes.error("wrong", None, format!("without a place, {at}"));
        }
        assert_eq!(notes.iter().count(), 4 * MOST_ALIKE + 2);
    }

    #[test]
    fn counts_continue_when_messages_are_taken_over() {
        let mut notes = found(MOST_ALIKE + 5, "a");
        notes.append(found(MOST_ALIKE + 7, "a"));
        assert!(last(&notes).starts_with(&format!("{} more", MOST_ALIKE + 12)), "{}", last(&notes));
        let mut milder = Notes::new();
        milder.append_as_warnings(notes);
        assert_eq!(milder.errors(), 0);
        assert!(last(&milder).starts_with(&format!("{} more", MOST_ALIKE + 12)), "{}", last(&milder));
        assert_eq!(milder.iter().count(), MOST_ALIKE + 1);
    }
}
