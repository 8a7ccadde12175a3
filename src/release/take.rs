//! Releases that come from elsewhere: verified like the numbered releases of the tree, before any of them is written.
//! And those that are published: only what is whole, and tagged.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{Release, artifact::folder_digest, files_of, read, record, verified};
use crate::{
    definition::{closest, read_lock},
    model::{Lock, LockedRelease, Subdomain},
    note::{Diagnostic, Notes, Place, Severity},
    world::{Doubt, Drift, Input, LOCK, Record, Taking, is_head_release, numbered_releases},
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
    There {
        /// Its name.
        name: String,
        /// What the lock said of it when it was taken, where it says nothing of it any more.
        lost: Option<LockedRelease>,
        /// The digest of its folder.
        digest: String,
        /// The commit that its sources are of, in the repository that cut it.
        commit: Option<String>,
    },
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
            Self::There { name, .. } => name,
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
    if !here.is_empty() {
        return there(name, digest, input, lock, notes);
    }
    for (path, text) in &arrival.files {
        input.sources.add(&format!("{folder}/{path}"), text.as_str());
    }
    let mut own = Notes::new();
    let release = read(&name, &files_of(&name, input), &mut own);
    for note in own.iter() {
        notes.push(named_after(note, source));
    }
    let release = Box::new(release.filter(|_| own.errors() == 0)?);
    Some(Taken::New { release, digest })
}

/// What is here already, if it is what git recorded. An entry that the lock lost is reported as it was: a source that was named
/// now is not the one that it was taken from.
fn there(name: String, digest: String, input: &Input, lock: &Lock, notes: &mut Notes) -> Option<Taken> {
    let mut own = Notes::new();
    record::check(&name, input, &mut own);
    let sound = own.errors() == 0;
    notes.append(own);
    if !sound {
        return None;
    }
    let mut before = entries_before(&name, input);
    before.retain(|before| before.entry.digest.as_str() == digest && !lock.releases.contains_key(&name));
    let lost = to_keep(&before).map(|before| before.entry.clone());
    let release = read(&name, &files_of(&name, input), &mut Notes::new());
    let commit = release.and_then(|release| release.history?.commit);
    Some(Taken::There { name, lost, digest, commit })
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
fn named_after(note: &Diagnostic, source: &str) -> Diagnostic {
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
                None => note.hint("`stackloom releases` lists them; a head release cannot be published"),
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
    let unfetched = recorded.is_some_and(|recorded| recorded.doubt == Some(Doubt::NotFetched));
    if unfetched {
        notes
            .error(
                "not-tagged",
                Place::file(format!("generated/releases/{name}")),
                format!("what the tag of the release `{name}` has is not in this partial clone, so it is not published"),
            )
            .hint("`git fetch --refetch --filter=blob:none` brings it");
    } else if !tagged {
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

/// Holds a release that came from elsewhere against what the lock says of it, and that against what it said before.
pub(super) fn check_lock(name: &str, input: &Input, lock: &Lock, notes: &mut Notes) {
    let Some(locked) = lock.releases.get(name) else { return check_unlocked(name, input, notes) };
    let files = files_of(name, input).into_iter().map(|(path, source)| (path, source.text.to_string()));
    let digest = folder_digest(&files.collect());
    if digest == locked.digest.as_str() {
        return check_entry(name, locked, input, notes);
    }
    let drifted = record::is_drifted(name, input);
    let before = entries_before(name, input);
    let note = notes.error(
        "release-lock",
        input.sources.place(locked.origin),
        format!("the release `{name}` is not the one that the lock holds: its folder is `{digest}`"),
    );
    if drifted {
        note.hint("its files were changed: put them back as the other messages say");
    } else if let Some(before) = before.iter().find(|before| before.entry.digest.as_str() == digest) {
        note.hint(before.put_back());
    } else {
        note.hint(format!("if the lock was changed: `git log -p -- {LOCK}` says by whom, and `git checkout HEAD -- {LOCK}` puts it back"));
    }
    note.hint(format!(
        "it was taken from `{}`: pulling it into a clone without it says what it is there",
        locked.source
    ));
}

/// Where a release was taken from, and whose signature it had, is history. A key may be added, to ask for more; one that
/// was asked for on any line of the history stays.
fn check_entry(name: &str, locked: &LockedRelease, input: &Input, notes: &mut Notes) {
    let before = entries_before(name, input);
    let keys = || before.iter().filter(|before| before.is_keyed());
    let (changed, of) = if let Some(newest) =
        before.first().filter(|_| before.iter().all(|before| before.entry.source != locked.source))
    {
        let source = &newest.entry.source;
        (format!("was taken from `{source}`, and the lock says from `{}`", locked.source), newest)
    } else if let Some(keyed) = keys().next().filter(|_| keys().all(|keyed| keyed.entry.key != locked.key))
        && let Some(key) = &keyed.entry.key
    {
        let now = locked.key.as_ref().map_or_else(|| "none".to_owned(), |key| format!("`{key}`"));
        (format!("was taken with a signature for the key `{key}`, and the lock names {now}"), keyed)
    } else {
        return;
    };
    notes
        .error("release-lock", input.sources.place(locked.origin), format!("the release `{name}` {changed}"))
        .hint(of.put_back())
        .hint("an entry says where a release came from, and stays so when its publisher moves: `releases.sources` in stackloom.yaml says where new ones are");
}

/// What the lock said of a release when it was taken.
struct Before<'a> {
    /// The commit that took it.
    at: &'a str,
    entry: LockedRelease,
    /// Whether no later commit took it again.
    is_last: bool,
}

/// The entry that a release has to have.
fn to_keep<'a, 'b>(before: &'b [Before<'a>]) -> Option<&'b Before<'a>> {
    before.iter().find(|before| before.is_keyed()).or(before.first())
}

impl Before<'_> {
    /// Whether it asks for a key that is asked for ever since.
    fn is_keyed(&self) -> bool {
        self.is_last && self.entry.key.is_some()
    }

    fn put_back(&self) -> String {
        let at = self.at;
        format!(
            "put its entry back: `git show {at}:./{LOCK}` has it; `git log -p -- {LOCK}` says who changed it"
        )
    }
}

/// What the lock said of a release, each time that it was taken; the newest first.
fn entries_before<'a>(name: &str, input: &'a Input) -> Vec<Before<'a>> {
    let now = input.sources.at(LOCK);
    let read = |source: &Source| read_lock(source, &mut Notes::new());
    let Some(recorded) = input.recorded.get(name).filter(|_| now.is_none_or(|now| read(now).is_some()))
    else {
        // What is wrong with the lock is reported where it is read.
        return Vec::new();
    };
    let entry = |text: &Arc<str>| {
        let mut sources = Sources::default();
        let id = sources.add(LOCK, &**text);
        sources.get(id).and_then(read)?.releases.remove(name)
    };
    let reported = |taking: &'a Taking| {
        let text = taking.text.as_ref().filter(|text| text.contains(name))?;
        Some(Before { at: &taking.at, entry: entry(text)?, is_last: taking.is_last })
    };
    recorded.locks.iter().filter_map(reported).collect()
}

/// A release that the lock had when it was taken, and no longer has: nothing that was reviewed verifies it.
fn check_unlocked(name: &str, input: &Input, notes: &mut Notes) {
    let before = entries_before(name, input);
    let Some(Before { at, entry: locked, .. }) = to_keep(&before) else { return };
    let note = notes.error(
        "release-lock",
        Place::file(LOCK),
        format!("the release `{name}` was pulled from `{}`, but is no longer in the lock", locked.source),
    );
    note.hint(format!(
        "`stackloom pull {}` puts its entry back; by hand: `git show {at}:./{LOCK}` has it, with the digest `{}`",
        locked.source, locked.digest
    ))
    .hint("a release that is no longer wanted goes with `stackloom release prune`, and its entry with it");
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
