//! Compares a release with git's record of it.

use crate::{
    note::{Diagnostic, Notes, Place},
    world::{Doubt, Drift, Input, Record, Recorded, look_again},
};

/// Reports whether git has a tag of a release or the commit that added it. Objects missing from a partial clone are reported
/// when they are read.
pub(super) fn is_known(name: &str, input: &Input) -> bool {
    input.recorded.get(name).is_some_and(|one| {
        one.by == Record::Tag || one.since.is_some() || one.doubt == Some(Doubt::NotFetched)
    })
}

/// Reports whether a release differs from git's record of it.
pub(super) fn is_drifted(name: &str, input: &Input) -> bool {
    let recorded = input.recorded.get(name);
    recorded.is_some_and(|recorded| recorded.drift.as_ref().is_none_or(|drift| !drift.is_empty()))
}

/// The hint for a file that was not part of the release when it was cut.
pub(super) const ADDED: &str = "move the file elsewhere, or remove it if a program left it";

fn folder(name: &str) -> String {
    format!("generated/releases/{name}")
}

/// The command that restores the folder of a release from a commit and removes files that the commit doesn't have.
fn whole_from(commit: &str, name: &str) -> String {
    format!("git restore --source={commit} --staged --worktree -- {}", folder(name))
}

/// The git reference from which `git checkout` restores a release.
fn reference<'a>(name: &'a str, by: &'a Record) -> &'a str {
    match by {
        Record::Tag => name,
        Record::Head => "HEAD",
        Record::Commit(id) => id,
    }
}

/// The unreadable files of a release, by path within its folder.
fn damaged<'a>(name: &str, input: &'a Input) -> impl Iterator<Item = (&'a str, &'a Diagnostic)> {
    let prefix = format!("{}/", folder(name));
    let path = move |note: &'a Diagnostic| Some((note.place.as_ref()?.file.strip_prefix(&prefix)?, note));
    input.damaged.get(name).into_iter().flat_map(Notes::iter).filter_map(path)
}

/// Reports whether a path equals another one or is below it.
pub(super) fn is_at(path: &str, other: &str) -> bool {
    path.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Reports the unreadable files of a release, and how to restore them.
pub(super) fn check_damaged(name: &str, input: &Input, notes: &mut Notes) {
    for (path, note) in damaged(name, input) {
        let recorded = input.recorded.get(name);
        let drift = recorded.and_then(|recorded| recorded.drift.as_ref());
        let was_there = drift.map(|drift| drift.keys().any(|recorded| is_at(recorded, path)));
        let hint = match (recorded, was_there) {
            (Some(recorded), Some(true)) => {
                let (reference, folder) = (reference(name, &recorded.by), folder(name));
                format!("restore it with `git checkout {reference} -- {folder}/{path}`")
            }
            (_, Some(false)) => "it is not part of the release: move it elsewhere, or remove it".to_owned(),
            _ => format!(
                "restore it from the tag `{name}` or from the commit that added the release, or remove it if it is not \
                 there"
            ),
        };
        notes.push(Diagnostic {
            hints: vec![format!("a release consists of plain files and never changes: {hint}")],
            ..note.clone()
        });
    }
}

/// Reports problems with the tag of a release, although the tag contains the release's folder.
fn check_tag(name: &str, recorded: &Recorded, notes: &mut Notes) {
    let force = format!("`git fetch --force origin tag {name}`");
    match &recorded.doubt {
        Some(Doubt::Moved { tagged, added, is_here }) => {
            let note = notes
                .error(
                    "release-tag",
                    Place::file(folder(name)),
                    format!("the tag `{name}` points to the commit {tagged}, whose release differs from the one that the commit {added} added"),
                )
                .hint(format!("if the tag was moved here, fetch the published one: {force}"));
            if !is_here {
                note.hint(format!(
                    "if another branch published this name first: `git merge {tagged}`, `{}` if the two conflict, \
                     commit, and release again: the release that is here gets the next name",
                    whole_from(name, name)
                ));
            }
            note.hint(format!(
                "only if the published tag was moved: `git tag --delete {name}`, restore the files, commit them, and \
                 run `stackloom release tag`"
            ));
        }
        Some(Doubt::Unreadable(why)) => {
            notes
                .error(
                    "release-tag",
                    Place::file(folder(name)),
                    format!("cannot read what git recorded about the release `{name}`: {why}"),
                )
                .hint(format!(
                    "if its tag is damaged: `git tag --delete {name}`, then `git fetch origin tag {name}`; if git finds \
                     no such tag, delete the file `.git/refs/tags/{name}` first"
                ))
                .hint("run `git fsck` to see what else in the repository is damaged");
        }
        Some(Doubt::TwoLines { taken, other, is_tagged }) => {
            check_two_lines(name, taken, other, *is_tagged, notes);
        }
        Some(Doubt::NotFetched) | None => {}
    }
}

/// Reports that a name was given twice, and which of the two releases counts.
fn check_two_lines(name: &str, taken: &str, other: &str, is_tagged: bool, notes: &mut Notes) {
    let which = if is_tagged { "its tag has" } else { "here is" };
    let note = notes.warning(
        "release-tag",
        Place::file(folder(name)),
        format!(
            "two lines of the history added different releases `{name}`: {which} the one of the commit {taken}, and the \
             commit {other} added the other"
        ),
    );
    if is_tagged {
        note.hint(format!(
            "the published release counts: get its tag with `git fetch --force origin tag {name}`, which replaces a tag \
             that was made here and never published"
        ));
        return;
    }
    note.hint(format!(
        "the tag shows which one was published: `git fetch origin tag {name}`; if none was, `stackloom release tag` \
         creates the tag for the one that is here"
    ))
    .hint(format!("if the other one was published: `{}`, then commit it", whole_from(other, name)));
}

/// Reports each file that differs from the record, and how to restore it.
pub(super) fn check(name: &str, input: &Input, notes: &mut Notes) {
    let Some(recorded) = input.recorded.get(name) else { return };
    check_tag(name, recorded, notes);
    let folder = folder(name);
    let is_damaged = |path: &str| damaged(name, input).any(|(damaged, _)| is_at(path, damaged));
    let Some(drift) = &recorded.drift else {
        notes
            .error(
                "release-tag",
                Place::file(folder),
                format!("the tag `{name}` points to something that does not have this release"),
            )
            .hint(format!(
                "if the tag was moved here, fetch the published one: `git fetch --force origin tag {name}`"
            ))
            .hint(format!("if it was never right: `git tag --delete {name}`, then `stackloom release tag`"));
        return;
    };
    let reference = reference(name, &recorded.by);
    let source = match &recorded.by {
        Record::Tag => format!("the tag `{name}`"),
        Record::Head => "HEAD".to_owned(),
        Record::Commit(id) => format!("the commit {id}, which added the release"),
    };
    let ends: Vec<&String> =
        drift.iter().filter(|(_, drift)| **drift == Drift::LineEnds).map(|(path, _)| path).collect();
    note_line_ends(name, &ends, Some(reference), notes);
    for (path, drift) in drift.iter().filter(|(path, _)| !is_damaged(path)) {
        let unseen = recorded.unseen.contains(path);
        let path = format!("{folder}/{path}");
        let unsure = matches!(recorded.doubt, Some(Doubt::TwoLines { is_tagged: true, .. }));
        let first = unseen.then(|| look_again(&path)).or_else(|| {
            unsure.then(|| format!("first make sure that the tag `{name}` here is the published one"))
        });
        let what = match drift {
            Drift::LineEnds => continue,
            Drift::Mode => "has another mode than in",
            Drift::Changed => "differs from the one in",
            Drift::Missing => "is missing, but is in",
            Drift::Added => "was added, and is not in",
        };
        let hint = match drift {
            Drift::Added => ADDED.to_owned(),
            _ => format!("restore it with `git checkout {reference} -- {path}`"),
        };
        let note = notes.error(
            "release-changed",
            Place::file(path),
            format!("this file of the release `{name}` {what} {source}"),
        );
        note.hints.extend(first);
        note.hint(format!("a release never changes: {hint}; to change something, cut a new release"));
    }
}

/// Reports a release that was deleted from the work tree as a whole.
pub fn note_deleted(name: &str, notes: &mut Notes) {
    let folder = folder(name);
    notes
        .error(
            "release-changed",
            Place::file(&*folder),
            format!("the release `{name}` was deleted here, but is in HEAD"),
        )
        .hint(format!("restore it with `git checkout HEAD -- {folder}`"))
        .hint("to remove releases that no cluster uses, run `stackloom release prune`");
}

/// Reports files of a release in which git or an editor changed nothing but the line ends. Git considers such a file
/// unchanged, so checking it out again has no effect until git has forgotten it.
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
            "{which} the release `{name}` has CRLF line endings, but was cut with LF; nothing else differs"
        ),
    );
    match reference {
        Some(reference) => note.hint(format!(
            "git does that on checkout if `core.autocrlf` is set: restore it with `git rm -r -q --cached {folder}` and \
             then `git -c core.autocrlf=false checkout {reference} -- {folder}`; if a `.gitattributes` sets `eol=crlf`, \
             add the line `generated/** -text` to it first"
        )),
        None => note.hint("copy the files again, unchanged: the last copy changed the line endings"),
    };
    note.hint(
        "`generated/.gitattributes` prevents that in every clone: `generate --commit` adds it if it is missing",
    );
}
