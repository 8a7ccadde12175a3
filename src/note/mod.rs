//! Messages: what is said of the input, with its place and the next step.
//!
//! A stage collects every fault it finds in [`Notes`] and returns its value beside them. [`Halted`] means that the
//! errors are already in the notes; it says nothing itself, and nothing outside this module can make one.

mod causes;
mod fault;

use std::{collections::BTreeSet, fmt};

use serde::Serialize;

pub use causes::Cause;
pub use fault::Fault;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The run cannot go on with this input.
    Error,
    /// The run goes on, and someone should look.
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

/// A place in a file, with the line that stands there, so that a message needs nothing else to be shown.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    /// The file, relative to the root of the fleet.
    pub file: String,
    /// Counted from 1; 0 where the message is about the file as a whole.
    pub line: usize,
    /// Counted in characters from 1; 0 where the message is about the whole line or file.
    pub column: usize,
    /// How many characters are meant, at least 1.
    pub length: usize,
    /// The text of the line.
    #[serde(rename = "text")]
    pub source: String,
}

impl Place {
    /// A file as a whole.
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

/// One message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// A stable name for this kind of message, such as `unknown-key`.
    pub code: &'static str,
    /// Where, if it is about a place.
    pub place: Option<Place>,
    /// What is wrong: lower case, no full stop, literals in backticks.
    pub message: String,
    /// Other places that belong to it, each with what it is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related: Vec<(String, Place)>,
    /// What to do next.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
    /// The clusters that it concerns, as `<management cluster>/<namespace>/<name>`. A fault of the whole fleet names none.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub clusters: BTreeSet<String>,
}

impl Diagnostic {
    /// Adds what to do next.
    pub fn hint(&mut self, hint: impl Into<String>) -> &mut Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds another place, and what it is.
    pub fn related(&mut self, what: impl Into<String>, place: Place) -> &mut Self {
        self.related.push((what.into(), place));
        self
    }

    /// Whether another message says the same, whichever clusters it concerns.
    pub fn says_as(&self, other: &Self) -> bool {
        self.key() == other.key()
    }

    fn key(&self) -> Key<'_> {
        (&self.place, self.severity, self.code, &self.message, &self.related, &self.hints)
    }
}

/// All that a message says: place, severity, code, message, other places, hints.
type Key<'a> = (&'a Option<Place>, Severity, &'a str, &'a str, &'a [(String, Place)], &'a [String]);

/// The errors are in the [`Notes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Halted(());

/// What the stages found, in the order in which they found it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    list: Vec<Diagnostic>,
}

impl Notes {
    /// Nothing found yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an error; the hints follow: `notes.error(…).hint(…)`.
    pub fn error(
        &mut self,
        code: &'static str,
        place: impl Into<Option<Place>>,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.add(Severity::Error, code, place.into(), message.into())
    }

    /// Adds a warning.
    pub fn warning(
        &mut self,
        code: &'static str,
        place: impl Into<Option<Place>>,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.add(Severity::Warning, code, place.into(), message.into())
    }

    fn add(
        &mut self,
        severity: Severity,
        code: &'static str,
        place: Option<Place>,
        message: String,
    ) -> &mut Diagnostic {
        let (related, hints, clusters) = (Vec::new(), Vec::new(), BTreeSet::new());
        self.list.push(Diagnostic { severity, code, place, message, related, hints, clusters });
        self.list.last_mut().expect("one was just pushed")
    }

    /// Adds a message.
    pub fn push(&mut self, note: Diagnostic) {
        self.list.push(note);
    }

    /// Takes over what another collector found.
    pub fn append(&mut self, other: Self) {
        self.list.extend(other.list);
    }

    /// Takes over some of what another collector found.
    pub fn append_if(&mut self, other: Self, wanted: impl Fn(&Diagnostic) -> bool) {
        self.list.extend(other.list.into_iter().filter(wanted));
    }

    /// Takes over what another collector found, errors as warnings: they concern nothing that is made.
    pub fn append_as_warnings(&mut self, other: Self) {
        let milder = |note| Diagnostic { severity: Severity::Warning, ..note };
        self.list.extend(other.list.into_iter().map(milder));
    }

    /// Records that everything found so far concerns a cluster.
    pub fn concern(&mut self, cluster: &str) {
        for note in &mut self.list {
            note.clusters.insert(cluster.to_owned());
        }
    }

    /// Has these errors, which were taken over as warnings, count as errors after all.
    pub fn raise(&mut self, errors: &Self) {
        for error in errors.list.iter().filter(|note| note.severity == Severity::Error) {
            let is_same = |note: &Diagnostic| {
                note.severity == Severity::Warning
                    && (note.code, &note.place, &note.message) == (error.code, &error.place, &error.message)
            };
            self.list.retain(|note| !is_same(note));
            self.list.push(error.clone());
        }
    }

    /// All messages, causes before what they may lead to. Equal messages about one place become one message, which
    /// concerns the clusters of all of them.
    pub fn sorted(&self) -> Vec<Diagnostic> {
        causes::merged(&self.list)
    }

    /// What people read: as [`Self::sorted`], and one message for what is at fault in the same way in many definitions.
    pub fn causes(&self) -> Vec<Cause> {
        causes::causes(self.sorted())
    }

    /// All messages, in the order in which they were found.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.list.iter()
    }

    /// How many errors there are.
    pub fn errors(&self) -> usize {
        self.list.iter().filter(|note| note.severity == Severity::Error).count()
    }

    /// Whether nothing was found at all.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Ends a stage: the value, unless an error was found.
    pub fn halt<T>(&self, value: T) -> Result<T, Halted> {
        if self.errors() == 0 { Ok(value) } else { Err(Halted(())) }
    }

    /// Halts now; an error has been added by the caller.
    pub fn halted(&self) -> Halted {
        debug_assert!(self.errors() > 0, "halted without an error");
        Halted(())
    }
}
