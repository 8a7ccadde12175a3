//! Holding a release against what git recorded of it.

use crate::{
    note::{Diagnostic, Notes, Place},
    world::{Doubt, Drift, Input, Record, Recorded, look_again},
};

/// Whether git knows a tag of a release, or the commit that added it. What a partial clone lacks is reported where it is read.
pub(super) fn is_known(name: &str, input: &Input) -> bool {
    input.recorded.get(name).is_some_and(|one| {
        one.by == Record::Tag || one.since.is_some() || one.doubt == Some(Doubt::NotFetched)
    })
}

/// Whether a release is not as git recorded it.
pub(super) fn is_drifted(name: &str, input: &Input) -> bool {
    let recorded = input.recorded.get(name);
    recorded.is_some_and(|recorded| recorded.drift.as_ref().is_none_or(|drift| !drift.is_empty()))
}

/// What to do about a file that a release was not cut with.
pub(super) const ADDED: &str = "move the file elsewhere, or remove it if a program left it";

fn folder(name: &str) -> String {
    format!("generated/releases/{name}")
}

/// The command that has the folder of a release as another commit has it, without files that are not there.
fn whole_from(commit: &str, name: &str) -> String {
    format!("git restore --source={commit} --staged --worktree -- {}", folder(name))
}

/// What `git checkout` takes a release from.
fn reference<'a>(name: &'a str, by: &'a Record) -> &'a str {
    match by {
        Record::Tag => name,
        Record::Head => "HEAD",
        Record::Commit(id) => id,
    }
}

/// What of a release cannot be read, by paths in its folder.
fn damaged<'a>(name: &str, input: &'a Input) -> impl Iterator<Item = (&'a str, &'a Diagnostic)> {
    let prefix = format!("{}/", folder(name));
    let path = move |note: &'a Diagnostic| Some((note.place.as_ref()?.file.strip_prefix(&prefix)?, note));
    input.damaged.get(name).into_iter().flat_map(Notes::iter).filter_map(path)
}

/// Whether a path is another one, or below it.
pub(super) fn is_at(path: &str, other: &str) -> bool {
    path.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Says what of a release cannot be read, and how to put it back.
pub(super) fn check_damaged(name: &str, input: &Input, notes: &mut Notes) {
    for (path, note) in damaged(name, input) {
        let recorded = input.recorded.get(name);
        let drift = recorded.and_then(|recorded| recorded.drift.as_ref());
        let was_there = drift.map(|drift| drift.keys().any(|recorded| is_at(recorded, path)));
        let hint = match (recorded, was_there) {
            (Some(recorded), Some(true)) => {
                let (reference, folder) = (reference(name, &recorded.by), folder(name));
                format!("`git checkout {reference} -- {folder}/{path}` puts back what was cut")
            }
            (_, Some(false)) => "it was not cut with the release: move it elsewhere, or remove it".to_owned(),
            _ => format!(
                "put back what was cut, from the tag `{name}` or the commit that added the release, or remove it if it \
                 was not there"
            ),
        };
        notes.push(Diagnostic {
            hints: vec![format!("a release is plain files and never changes: {hint}")],
            ..note.clone()
        });
    }
}

/// Says what is wrong with the tag of a release, though it names such a folder.
fn check_tag(name: &str, recorded: &Recorded, notes: &mut Notes) {
    let force = format!("`git fetch --force origin tag {name}`");
    match &recorded.doubt {
        Some(Doubt::Moved { tagged, added, is_here }) => {
            let note = notes
                .error(
                    "release-tag",
                    Place::file(folder(name)),
                    format!("the tag `{name}` names the commit {tagged}, whose release is not the one that the commit {added} added"),
                )
                .hint(format!("if the tag was moved here, take it back from where it was published: {force}"));
            if !is_here {
                note.hint(format!(
                    "if another branch published this name first: `git merge {tagged}`, `{}` where the two collide, commit, and \
                     release again: what is here gets the next name",
                    whole_from(name, name)
                ));
            }
            note.hint(format!(
                "only if the tag was moved where it was published: `git tag --delete {name}`, put the files back, commit them, \
                 and `stackloom release tag`"
            ));
        }
        Some(Doubt::Unreadable(why)) => {
            notes
                .error(
                    "release-tag",
                    Place::file(folder(name)),
                    format!("what git recorded of the release `{name}` cannot be read: {why}"),
                )
                .hint(format!(
                    "if its tag is damaged: `git tag --delete {name}`, then `git fetch origin tag {name}`; where git finds no \
                     such tag, delete the file `.git/refs/tags/{name}` first"
                ))
                .hint("`git fsck` says what else of the repository is damaged");
        }
        Some(Doubt::TwoLines { taken, other, is_tagged }) => {
            check_two_lines(name, taken, other, *is_tagged, notes);
        }
        Some(Doubt::NotFetched) | None => {}
    }
}

/// Says that a name was given twice, and which of the two counts.
fn check_two_lines(name: &str, taken: &str, other: &str, is_tagged: bool, notes: &mut Notes) {
    let which = if is_tagged { "its tag has" } else { "here is" };
    let note = notes.warning(
        "release-tag",
        Place::file(folder(name)),
        format!(
            "two lines of the history added the release `{name}`, and not the same: {which} that of the commit {taken}, and the \
             commit {other} added another one"
        ),
    );
    if is_tagged {
        note.hint(format!(
            "what was published counts: `git fetch --force origin tag {name}` takes its tag, in place of one that was made here \
             and never published"
        ));
        return;
    }
    note.hint(format!(
        "its tag says which was published: `git fetch origin tag {name}`; where none was, `stackloom release tag` makes it \
         for the one that is here"
    ))
    .hint(format!("if the other was published: `{}`, and commit it", whole_from(other, name)));
}

/// Says what is not as it was recorded, file by file, and how to put it back.
pub(super) fn check(name: &str, input: &Input, notes: &mut Notes) {
    let Some(recorded) = input.recorded.get(name) else { return };
    check_tag(name, recorded, notes);
    let folder = folder(name);
    let reported = |path: &str| damaged(name, input).any(|(damaged, _)| is_at(path, damaged));
    let Some(drift) = &recorded.drift else {
        notes
            .error("release-tag", Place::file(folder), format!("the tag `{name}` names something that does not have this release"))
            .hint(format!("if the tag was moved here, take it back from where it was published: `git fetch --force origin tag {name}`"))
            .hint(format!("if it was never right: `git tag --delete {name}`, then `stackloom release tag`"));
        return;
    };
    let reference = reference(name, &recorded.by);
    let source = match &recorded.by {
        Record::Tag => format!("what the tag `{name}` has"),
        Record::Head => "what HEAD has".to_owned(),
        Record::Commit(id) => format!("what the commit {id} has, which added the release"),
    };
    let ends: Vec<&String> =
        drift.iter().filter(|(_, drift)| **drift == Drift::LineEnds).map(|(path, _)| path).collect();
    note_line_ends(name, &ends, Some(reference), notes);
    for (path, drift) in drift.iter().filter(|(path, _)| !reported(path)) {
        let unseen = recorded.unseen.contains(path);
        let path = format!("{folder}/{path}");
        let unsure = matches!(recorded.doubt, Some(Doubt::TwoLines { is_tagged: true, .. }));
        let first = unseen.then(|| look_again(&path)).or_else(|| {
            unsure
                .then(|| format!("first see to it that the tag `{name}` here is the one that was published"))
        });
        let what = match drift {
            Drift::LineEnds => continue,
            Drift::Mode => "has another mode: it is not",
            Drift::Changed => "is not",
            Drift::Missing => "is missing: it is not",
            Drift::Added => "was added: it is not",
        };
        let hint = match drift {
            Drift::Added => ADDED.to_owned(),
            _ => format!("`git checkout {reference} -- {path}` puts it back"),
        };
        let note = notes.error(
            "release-changed",
            Place::file(path),
            format!("this file of the release `{name}` {what} {source}"),
        );
        note.hints.extend(first);
        note.hint(format!("a release never changes: {hint}; a change is a new release"));
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
