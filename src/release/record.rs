//! Holding a release against what git recorded of it.

use crate::{
    note::{Notes, Place},
    world::{Drift, Input, Record},
};

/// Whether a release is not as git recorded it.
pub(super) fn is_drifted(name: &str, input: &Input) -> bool {
    let recorded = input.recorded.get(name);
    recorded.is_some_and(|recorded| recorded.drift.as_ref().is_none_or(|drift| !drift.is_empty()))
}

/// Says what is not as it was recorded, file by file, and how to put it back.
pub(super) fn check(name: &str, input: &Input, notes: &mut Notes) {
    let Some(recorded) = input.recorded.get(name) else { return };
    let folder = format!("generated/releases/{name}");
    let Some(drift) = &recorded.drift else {
        notes
            .error("release-tag", Place::file(folder), format!("the tag `{name}` names something that does not have this release"))
            .hint(format!("if the tag was moved here, take it back from where it was published: `git fetch --force origin tag {name}`"))
            .hint(format!("if it was never right: `git tag --delete {name}`, then `stackloom release tag`"));
        return;
    };
    let (source, reference) = match recorded.by {
        Record::Tag => (format!("what the tag `{name}` has"), name),
        Record::Head => ("what HEAD has".to_owned(), "HEAD"),
    };
    let ends: Vec<&String> =
        drift.iter().filter(|(_, drift)| **drift == Drift::LineEnds).map(|(path, _)| path).collect();
    note_line_ends(name, &ends, Some(reference), notes);
    for (path, drift) in drift {
        let path = format!("{folder}/{path}");
        let (what, hint) = match drift {
            Drift::LineEnds => continue,
            Drift::Changed => ("is not", format!("`git checkout {reference} -- {path}` puts it back")),
            Drift::Missing => {
                ("is missing: it is not", format!("`git checkout {reference} -- {path}` puts it back"))
            }
            Drift::Added => ("was added: it is not", "move the file elsewhere".to_owned()),
        };
        notes
            .error(
                "release-changed",
                Place::file(path),
                format!("this file of the release `{name}` {what} {source}"),
            )
            .hint(format!("a release never changes: {hint}; a change is a new release"));
    }
}

/// Says that git, or an editor, changed nothing but the line ends of some files of a release. To git such a file is not
/// changed, so checking it out again does nothing before git has forgotten it.
pub(super) fn note_line_ends(name: &str, paths: &[&String], reference: Option<&str>, notes: &mut Notes) {
    let Some(first) = paths.first() else { return };
    let folder = format!("generated/releases/{name}");
    let which = match paths.len() {
        1 => "this file of".to_owned(),
        count => format!("this file, and {} more, of", count - 1),
    };
    let note = notes.error(
        "release-changed",
        Place::file(format!("{folder}/{first}")),
        format!(
            "{which} the release `{name}` ends lines with CRLF, and was cut with LF; else nothing differs"
        ),
    );
    match reference {
        Some(reference) => note.hint(format!(
            "git does that on checkout where `core.autocrlf` is set: `git rm -r -q --cached {folder}` and then \
             `git -c core.autocrlf=false checkout {reference} -- {folder}` put it back; where a `.gitattributes` says \
             `eol=crlf`, give it the line `generated/** -text` first"
        )),
        None => note.hint("copy the files again, as they are: what copied them changed the ends of lines"),
    };
    note.hint(
        "`generated/.gitattributes` keeps git from doing that in every clone: `generate --commit` adds it where it is missing",
    );
}
