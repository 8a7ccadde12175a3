//! Releases that come from elsewhere: held against everything that a numbered release of the tree is held against,
//! before any of it is written. And those that go: only what is whole, and tagged.

use std::collections::{BTreeMap, BTreeSet};

use super::{Release, artifact::folder_digest, files_of, read, record, verified};
use crate::{
    definition::{closest, read_lock},
    model::{Lock, Subdomain},
    note::{Diagnostic, Notes, Place, Severity},
    world::{Drift, Input, LOCK, Record, is_head_release, numbered_releases},
    yaml::{self, Source, Sources},
};

/// What came from elsewhere, not yet believed.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// Where it came from, with the digest or the tag.
    pub source: String,
    /// Its files, by their paths in its folder.
    pub files: BTreeMap<String, String>,
}

/// What a release from elsewhere is here.
#[derive(Clone, Debug)]
pub enum Taken {
    /// It is here, with the same content.
    There(String),
    /// It is sound, and not here.
    New {
        /// What it is.
        release: Box<Release>,
        /// The digest of its folder.
        digest: String,
    },
}

impl Taken {
    /// The release's name.
    pub fn name(&self) -> &str {
        match self {
            Self::There(name) => name,
            Self::New { release, .. } => &release.name,
        }
    }
}

/// Takes a release into the input, if it is sound and its name is free.
pub fn take(arrival: &Arrival, input: &mut Input, lock: &Lock, notes: &mut Notes) -> Option<Taken> {
    let source = &arrival.source;
    let Some(name) = name(arrival) else {
        notes
            .error("no-release", None, format!("`{source}` holds no release: its `release.yaml` names none"))
            .hint("a release is made by `stackloom release`, and published by `stackloom release push`");
        return None;
    };
    let folder = format!("generated/releases/{name}");
    let here: BTreeMap<String, String> =
        files_of(&name, input).into_iter().map(|(path, source)| (path, source.text.to_string())).collect();
    if here == arrival.files {
        return Some(Taken::There(name));
    }
    if let Some(path) = first_difference(&here, &arrival.files).filter(|_| !here.is_empty()) {
        notes
            .error(
                "release-exists",
                Place::file(format!("{folder}/{path}")),
                format!("there is a release `{name}` here, and it is not the one of `{source}`"),
            )
            .hint("a name never means two things: ask which of them is the one that was published first");
        return None;
    }
    let digest = folder_digest(&arrival.files);
    if let Some(locked) = lock.releases.get(&name).filter(|locked| locked.digest.as_str() != digest) {
        notes
            .error(
                "release-lock",
                input.sources.place(locked.origin),
                format!(
                    "`{source}` has the release `{name}` as `{digest}`, and the lock holds `{}`",
                    locked.digest
                ),
            )
            .hint("it was changed since it was taken first, there or in the lock: nothing was taken");
        return None;
    }
    for (path, text) in &arrival.files {
        input.sources.add(&format!("{folder}/{path}"), text.as_str());
    }
    let mut own = Notes::new();
    let release = read(&name, &files_of(&name, input), &mut own);
    for note in own.iter() {
        notes.push(told_of(note, source));
    }
    let release = Box::new(release.filter(|_| own.errors() == 0)?);
    Some(Taken::New { release, digest })
}

/// The name that a release gives itself, if it is one that a folder of the tree can have.
fn name(arrival: &Arrival) -> Option<String> {
    let mut sources = Sources::default();
    let id = sources.add("release.yaml", arrival.files.get("release.yaml")?.as_str());
    let root = yaml::read(sources.get(id)?, &mut Notes::new())?;
    let name = root.at(&["metadata", "name"])?.as_str()?.to_owned();
    (Subdomain::new(&name).is_ok() && !is_head_release(&name)).then_some(name)
}

fn first_difference(here: &BTreeMap<String, String>, there: &BTreeMap<String, String>) -> Option<String> {
    let paths: BTreeSet<_> = here.keys().chain(there.keys()).collect();
    paths.into_iter().find(|path| here.get(*path) != there.get(*path)).cloned()
}

/// A message on a file that is nowhere here: what to do about it cannot be done here either.
fn told_of(note: &Diagnostic, source: &str) -> Diagnostic {
    let hints = match note.severity {
        Severity::Error => vec!["nothing was taken: ask whoever publishes it for what was cut".to_owned()],
        Severity::Warning => note.hints.clone(),
    };
    Diagnostic { message: format!("`{source}`: {}", note.message), hints, ..note.clone() }
}

/// The releases to publish, by name, with their files: those that are asked for, or all that were cut here. One that is
/// not whole, or whose tag is not here, is at fault.
pub fn published(
    asked: &[String],
    input: &Input,
    lock: &Lock,
    notes: &mut Notes,
) -> BTreeMap<String, BTreeMap<String, String>> {
    let all = numbered_releases(&input.sources);
    let asked: BTreeSet<String> = match asked {
        [] => all.iter().filter(|name| !lock.releases.contains_key(*name)).cloned().collect(),
        some => some.iter().cloned().collect(),
    };
    let mut found = BTreeMap::new();
    for name in asked {
        if !all.contains(&name) {
            let note = notes.error("unknown-release", None, format!("there is no release `{name}`"));
            match closest(&name, all.iter().map(String::as_str)) {
                Some(similar) => note.hint(format!("did you mean `{similar}`?")),
                None => {
                    note.hint("`stackloom releases` lists them; a head release is none that can be published")
                }
            };
            continue;
        }
        if verified(&name, input, lock, notes).is_none() || !is_tagged(&name, input, notes) {
            continue;
        }
        let files = files_of(&name, input);
        found.insert(name, files.into_iter().map(|(path, source)| (path, source.text.to_string())).collect());
    }
    found
}

fn is_tagged(name: &str, input: &Input, notes: &mut Notes) -> bool {
    let recorded = input.recorded.get(name);
    let tagged = recorded.is_some_and(|recorded| {
        recorded.by == Record::Tag && recorded.drift.as_ref().is_some_and(BTreeMap::<String, Drift>::is_empty)
    });
    if !tagged {
        notes
            .error(
                "not-tagged",
                Place::file(format!("generated/releases/{name}")),
                format!("the release `{name}` has no tag here, so it is not published"),
            )
            .hint("where it was cut: `stackloom release tag`, after its merge")
            .hint("in a clone without tags, as CI makes them: `git fetch --unshallow --tags`");
    }
    tagged
}

/// Holds a release that came from elsewhere against what the lock says of it.
pub(super) fn check_lock(name: &str, input: &Input, lock: &Lock, notes: &mut Notes) {
    let Some(locked) = lock.releases.get(name) else { return check_unlocked(name, input, notes) };
    let files = files_of(name, input).into_iter().map(|(path, source)| (path, source.text.to_string()));
    let digest = folder_digest(&files.collect());
    if digest == locked.digest.as_str() {
        return;
    }
    let drifted = record::is_drifted(name, input);
    let note = notes.error(
        "release-lock",
        input.sources.place(locked.origin),
        format!("the release `{name}` is not the one that the lock holds: its folder is `{digest}`"),
    );
    if drifted {
        note.hint("its files were changed: put them back as the other messages say");
    } else {
        note.hint(format!("if the lock was changed: `git log -p -- {LOCK}` says by whom, and `git checkout HEAD -- {LOCK}` puts it back"));
    }
    note.hint(format!(
        "it was taken from `{}`: pulling it into a clone without it says what it is there",
        locked.source
    ));
}

/// A release that the lock had when it was taken, and has no longer, is held against nothing that is reviewed.
fn check_unlocked(name: &str, input: &Input, notes: &mut Notes) {
    let recorded = input.recorded.get(name).and_then(|recorded| recorded.lock.as_ref());
    let Some((at, text)) = recorded.filter(|(_, text)| text.contains(name)) else { return };
    let read = |source: &Source| read_lock(source, &mut Notes::new());
    if input.sources.at(LOCK).is_some_and(|source| read(source).is_none()) {
        // What is wrong with the lock is told where it is read.
        return;
    }
    let mut sources = Sources::default();
    let id = sources.add(LOCK, &**text);
    let Some(before) = sources.get(id).and_then(read) else { return };
    let Some(locked) = before.releases.get(name) else { return };
    notes
        .error(
            "release-lock",
            Place::file(LOCK),
            format!("the release `{name}` was taken from `{}`, and is no longer in the lock", locked.source),
        )
        .hint(format!(
            "put its entry back: `git show {at}:./{LOCK}` has it, with the digest `{}`",
            locked.digest
        ))
        .hint(
            "a release that is no longer wanted goes with `stackloom release prune`, and its entry with it",
        );
}

/// Says which releases the lock has, and the tree does not.
pub(super) fn check_missing(input: &Input, lock: &Lock, notes: &mut Notes) {
    let here = numbered_releases(&input.sources);
    for (name, locked) in lock.releases.iter().filter(|(name, _)| !here.contains(*name)) {
        notes
            .warning(
                "release-missing",
                input.sources.place(locked.origin),
                format!("the lock has the release `{name}`, and its folder is not here"),
            )
            .hint(format!("`stackloom pull {}` brings it back; else take it out of the lock", locked.source));
    }
}
