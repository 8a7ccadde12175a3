//! Imports releases from other repositories. They are verified like the numbered releases of the tree before anything is
//! written. Also selects the releases to publish: only complete, tagged ones.

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

/// A release that was fetched but not verified yet.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// The source, with the digest or tag.
    pub source: String,
    /// The files, by path within the release's folder.
    pub files: BTreeMap<String, String>,
}

/// The result of importing a release.
#[derive(Clone, Debug)]
pub enum Taken {
    /// The release already exists here with the same content.
    There {
        /// The name of the release.
        name: String,
        /// The lock entry from the time of its import, if the lock no longer has one.
        lost: Option<LockedRelease>,
        /// The digest of its folder.
        digest: String,
        /// The commit of its sources, in the repository that cut it.
        commit: Option<String>,
    },
    /// The release is valid and new here.
    New {
        /// The release itself.
        release: Box<Release>,
        /// The digest of its folder.
        digest: String,
    },
}

impl Taken {
    /// The name of the release.
    pub fn name(&self) -> &str {
        match self {
            Self::There { name, .. } => name,
            Self::New { release, .. } => &release.name,
        }
    }
}

/// Adds a release to the input if it is valid and its name is free.
pub fn take(arrival: &Arrival, input: &mut Input, lock: &Lock, notes: &mut Notes) -> Option<Taken> {
    let source = &arrival.source;
    let Some(name) = name(arrival) else {
        notes
            .error(
                "no-release",
                None,
                format!("`{source}` has no release: its `release.yaml` does not name one"),
            )
            .hint("releases are made by `stackloom release`, and published by `stackloom release push`");
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
                format!(
                    "there is already a release `{name}` here, and it differs from the one in `{source}`"
                ),
            )
            .hint("a release name is never used twice: ask which of them was published first");
        return None;
    }
    let digest = folder_digest(&arrival.files);
    if let Some(locked) = lock.releases.get(&name).filter(|locked| locked.digest.as_str() != digest) {
        notes
            .error(
                "release-lock",
                input.sources.place(locked.origin),
                format!(
                    "`{source}` has the release `{name}` as `{digest}`, but the lock has `{}`",
                    locked.digest
                ),
            )
            .hint("it was changed after it was first pulled, in its repository or in the lock: nothing was pulled");
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

/// Handles a release that already exists here and matches git's record. If its lock entry was lost, the old entry is
/// returned: the source named in this run may not be the one that the release came from.
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

/// Reads the name of a release from its own files, if it is valid as the name of a release folder.
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

/// Rewrites a message about a fetched file. The file isn't in this repository, so its hints for correcting it don't apply.
fn named_after(note: &Diagnostic, source: &str) -> Diagnostic {
    let hints = match note.severity {
        Severity::Error => {
            vec!["nothing was pulled: ask the publisher for the release as it was cut".to_owned()]
        }
        Severity::Warning => note.hints.clone(),
    };
    Diagnostic { message: format!("`{source}`: {}", note.message), hints, ..note.clone() }
}

/// Selects the releases to publish, with their files by name: the requested ones, or all that were cut here. Reports
/// releases that are incomplete, or whose tag is missing here.
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
        if input.deleted.contains(&name) {
            record::note_deleted(&name, notes);
            continue;
        }
        if !all.contains(&name) {
            let note = notes.error("unknown-release", None, format!("there is no release `{name}`"));
            match closest(&name, all.iter().map(String::as_str)) {
                Some(similar) => note.hint(format!("did you mean `{similar}`?")),
                None => note.hint("run `stackloom releases` for a list; a head release cannot be published"),
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
                format!("this partial clone lacks the content of the tag of the release `{name}`, so the release is not published"),
            )
            .hint("run `git fetch --refetch --filter=blob:none` to get it");
    } else if !tagged {
        notes
            .error(
                "not-tagged",
                Place::file(format!("generated/releases/{name}")),
                format!("the release `{name}` has no tag here, so it is not published"),
            )
            .hint("in the clone where it was cut, run `stackloom release tag` after its merge")
            .hint("in a clone without tags, as CI makes them, run `git fetch --unshallow --tags`");
    }
    tagged
}

/// Compares an imported release with its lock entry, and the entry with its earlier versions.
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
        format!("the release `{name}` does not match the lock: the digest of its folder is `{digest}`"),
    );
    if drifted {
        note.hint("its files were changed: restore them as the other messages say");
    } else if let Some(before) = before.iter().find(|before| before.entry.digest.as_str() == digest) {
        note.hint(before.put_back());
    } else {
        note.hint(format!("if the lock was changed: `git log -p -- {LOCK}` shows by whom, and `git checkout HEAD -- {LOCK}` restores it"));
    }
    note.hint(format!(
        "it was pulled from `{}`: to see what it is there, pull it into a clone without it",
        locked.source
    ));
}

/// Checks that a lock entry keeps its source and its signature key, which are historical facts. A key may be added to make
/// the check stricter. A key that any line of the history required must stay.
fn check_entry(name: &str, locked: &LockedRelease, input: &Input, notes: &mut Notes) {
    let before = entries_before(name, input);
    let keys = || before.iter().filter(|before| before.is_keyed());
    let (changed, of) = if let Some(newest) =
        before.first().filter(|_| before.iter().all(|before| before.entry.source != locked.source))
    {
        let source = &newest.entry.source;
        (format!("was pulled from `{source}`, but the lock names `{}`", locked.source), newest)
    } else if let Some(keyed) = keys().next().filter(|_| keys().all(|keyed| keyed.entry.key != locked.key))
        && let Some(key) = &keyed.entry.key
    {
        let now = locked.key.as_ref().map_or_else(|| "none".to_owned(), |key| format!("`{key}`"));
        (format!("was pulled with a signature for the key `{key}`, but the lock names {now}"), keyed)
    } else {
        return;
    };
    notes
        .error("release-lock", input.sources.place(locked.origin), format!("the release `{name}` {changed}"))
        .hint(of.put_back())
        .hint("an entry records where a release came from, even if its publisher moves: set where new ones come from in `releases.sources` in stackloom.yaml");
}

/// An earlier lock entry, from a commit that imported the release.
struct Before<'a> {
    /// The commit that imported it.
    at: &'a str,
    entry: LockedRelease,
    /// Whether no later commit imported it again.
    is_last: bool,
}

/// Selects the entry that the lock must contain.
fn to_keep<'a, 'b>(before: &'b [Before<'a>]) -> Option<&'b Before<'a>> {
    before.iter().find(|before| before.is_keyed()).or(before.first())
}

impl Before<'_> {
    /// Reports whether it requires a key that has been required ever since.
    fn is_keyed(&self) -> bool {
        self.is_last && self.entry.key.is_some()
    }

    fn put_back(&self) -> String {
        let at = self.at;
        format!(
            "restore its entry from `git show {at}:./{LOCK}`; `git log -p -- {LOCK}` shows who changed it"
        )
    }
}

/// The lock entries of a release from each commit that imported it, newest first.
fn entries_before<'a>(name: &str, input: &'a Input) -> Vec<Before<'a>> {
    let now = input.sources.at(LOCK);
    let read = |source: &Source| read_lock(source, &mut Notes::new());
    let Some(recorded) = input.recorded.get(name).filter(|_| now.is_none_or(|now| read(now).is_some()))
    else {
        // Errors in the lock are reported where the lock is read.
        return Vec::new();
    };
    let entry = |text: &Arc<str>| {
        let mut sources = Sources::default();
        let id = sources.add(LOCK, &**text);
        sources.get(id).and_then(read)?.releases.remove(name)
    };
    let before = |taking: &'a Taking| {
        let text = taking.text.as_ref().filter(|text| text.contains(name))?;
        Some(Before { at: &taking.at, entry: entry(text)?, is_last: taking.is_last })
    };
    recorded.locks.iter().filter_map(before).collect()
}

/// Reports a release whose lock entry was removed after its import. Without the entry, nothing reviewed verifies the
/// release.
fn check_unlocked(name: &str, input: &Input, notes: &mut Notes) {
    let before = entries_before(name, input);
    let Some(Before { at, entry: locked, .. }) = to_keep(&before) else { return };
    let note = notes.error(
        "release-lock",
        Place::file(LOCK),
        format!("the release `{name}` was pulled from `{}`, but is no longer in the lock", locked.source),
    );
    note.hint(format!(
        "run `stackloom pull {}` to restore its entry, or copy it from `git show {at}:./{LOCK}`, with the digest `{}`",
        locked.source, locked.digest
    ))
    .hint("to remove a release that you no longer want, with its entry, run `stackloom release prune`");
}

/// Reports releases that are in the lock but not in the tree.
pub(super) fn check_missing(input: &Input, lock: &Lock, notes: &mut Notes) {
    let here = numbered_releases(&input.sources);
    for (name, locked) in lock.releases.iter().filter(|(name, _)| !here.contains(*name)) {
        notes
            .warning(
                "release-missing",
                input.sources.place(locked.origin),
                format!("the lock has the release `{name}`, but its folder is missing"),
            )
            .hint(format!("run `stackloom pull {}` to get it, or remove it from the lock", locked.source));
    }
}
