//! Reading a fleet: its files on disk, and what git recorded about its releases.

use super::{
    disk::{Workspace, read_sources},
    git, known_to_git,
};
use crate::{
    note::{Fault, Notes, Place},
    world::{Doubt, Input, LOCK, Recorded, World, note_no_fleet, numbered_releases},
};

impl World for Workspace {
    fn read(&self, notes: &mut Notes) -> Result<Input, Fault> {
        let mut found = Notes::new();
        // The index of a large fleet takes git as long as the sources take the disk.
        let (hidden, input) = rayon::join(
            || known_to_git::refuse_hidden_sources(self.root()),
            || read_sources(self.root(), &mut found),
        );
        hidden?;
        notes.append(found);
        let mut input = input?;
        if let Some(misnamed) = self.misnamed_fleet() {
            note_no_fleet(Some(&misnamed), notes);
        }
        // If git cannot be read, the releases are reported as not verified: generating needs no repository.
        if let Err(fault) = compare_releases(self, &mut input)
            && !numbered_releases(&input.sources).is_empty()
        {
            note_unread(&fault, notes);
        }
        note_not_fetched(&input, notes);
        Ok(input)
    }
}

/// Compares the numbered releases with what git recorded about them.
fn compare_releases(world: &Workspace, input: &mut Input) -> Result<(), Fault> {
    let Some(repository) = git::Repository::find(world)? else { return Ok(()) };
    let there = numbered_releases(&input.sources);
    if !there.is_empty() {
        input.recorded = repository.recorded(&input.sources)?;
    }
    let is_there = |name: &str| there.iter().any(|one| one == name) || input.damaged.contains_key(name);
    input.deleted = repository.deleted_releases(is_there)?;
    Ok(())
}

fn note_unread(fault: &Fault, notes: &mut Notes) {
    let place = Place::file("generated/releases");
    let reported = format!("numbered releases are not compared with what git recorded: {fault}");
    let note = notes.warning("release-tag", place, reported);
    note.hints.extend(fault.hints().iter().cloned());
}

/// Reports which releases cannot be fully verified in a partial clone.
fn note_not_fetched(input: &Input, notes: &mut Notes) {
    let names = |lacks: fn(&Recorded) -> bool| {
        let found = input.recorded.iter().filter(|(_, recorded)| lacks(recorded));
        found.map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let history = names(|recorded| recorded.doubt == Some(Doubt::NotFetched));
    if !history.is_empty() {
        let reported = format!(
            "compared only with HEAD and their own digests, because this partial clone lacks the contents of their tags \
             or of the commits that added them: {history}"
        );
        notes
            .warning("release-tag", Place::file("generated/releases"), reported)
            .hint("run `git fetch --refetch --filter=blob:none` to get them");
    }
    let locks = names(|recorded| recorded.locks.iter().any(|taking| taking.text.is_none()));
    if !locks.is_empty() {
        let reported = format!(
            "not compared with the lock at the time they were added, because this partial clone lacks it: {locks}"
        );
        notes
            .warning("release-lock", Place::file(LOCK), reported)
            .hint("run `git fetch --refetch --no-filter` to get it");
    }
}
