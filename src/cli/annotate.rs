//! Messages as GitHub workflow commands, which the runner turns into annotations of a run and a pull request.
//!
//! Escaping follows the `@actions/core` package: `%` and line ends everywhere, `:` and `,` also in properties.

use std::fmt::Write as _;

use super::{sarif, visible::visible};
use crate::{
    note::{Cause, Place, Severity},
    report::Finding,
};

/// The workflow command for a message. Paths are relative to the repository, in which `folder` contains the fleet.
pub(super) fn command(cause: &Cause, all: bool, folder: &str) -> String {
    let note = &cause.note;
    let level = match note.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let mut text = note.message.clone();
    for (what, place) in &note.related {
        // Writing to a string cannot fail.
        write!(text, "\n{what}: {place}").ok();
    }
    if let Some(concerns) = cause.concerns(all) {
        write!(text, "\n{concerns}").ok();
    }
    for hint in &note.hints {
        write!(text, "\nhelp: {hint}").ok();
    }
    written(level, note.place.as_ref(), folder, note.code, &text)
}

/// The workflow command for a change that `diff` finds.
pub(super) fn finding(finding: &Finding, folder: &str) -> String {
    let level = if finding.is_error { "error" } else { "warning" };
    written(level, Some(&finding.place), folder, finding.risk.title(), &sarif::whole(finding))
}

/// The workflow command for a fault of an operation.
pub(super) fn fault(text: &str) -> String {
    written("error", None, "", "stackloom", text)
}

fn written(level: &str, place: Option<&Place>, folder: &str, title: &str, text: &str) -> String {
    let mut properties = String::new();
    if let Some(place) = place {
        let file = in_repository(folder, &place.file);
        write!(properties, "file={},", property(&file)).ok();
        if place.line > 0 {
            write!(properties, "line={},", place.line).ok();
        }
        if place.column > 0 {
            write!(properties, "col={},endColumn={},", place.column, place.column + place.length).ok();
        }
    }
    format!("::{level} {properties}title={}::{}", property(title), data(text))
}

/// Converts a path in the fleet to a path in the repository.
pub(super) fn in_repository(folder: &str, file: &str) -> String {
    if folder.is_empty() { file.to_owned() } else { format!("{folder}/{file}") }
}

fn data(text: &str) -> String {
    visible(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::note::Notes;

    #[test]
    fn terminators_of_properties_and_commands_are_escaped() {
        // A carriage return is made visible, as in every message, before it could be escaped.
        let mut notes = Notes::new();
        let place = Place { line: 3, column: 2, length: 4, ..Place::file("clusters/a,b:c%.yaml") };
        let other = Place { line: 9, ..Place::file("stackloom.yaml") };
        notes
            .error("unknown-key", place, "100% wrong: a, b\r\n::set-output")
            .related("first", other)
            .hint("mend\nit");
        notes.warning("odd", Place::file("x.yaml"), "look");
        notes.warning("nowhere", None, "all of it");
        let commands: Vec<_> =
            notes.causes().iter().map(|cause| command(cause, false, "fleets/eu")).collect();
        assert_eq!(
            commands,
            [
                "::warning title=nowhere::all of it",
                "::error file=fleets/eu/clusters/a%2Cb%3Ac%25.yaml,line=3,col=2,endColumn=6,title=unknown-key::100%25 wrong: \
                 a, b\\u{d}%0A::set-output%0Afirst: stackloom.yaml:9%0Ahelp: mend%0Ait",
                "::warning file=fleets/eu/x.yaml,title=odd::look",
            ]
        );
    }
}
