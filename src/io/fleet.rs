//! The fleet as it is read: its files on disk, and what git recorded of its releases.

use super::{
    disk::{Workspace, read_sources},
    git, known,
};
use crate::{
    note::{Fault, Notes, Place},
    world::{Doubt, Input, LOCK, Recorded, World, numbered_releases},
};

impl World for Workspace {
    fn read(&self, notes: &mut Notes) -> Result<Input, Fault> {
        known::refuse_hidden_sources(self.root())?;
        let mut input = read_sources(self.root(), notes)?;
        if !numbered_releases(&input.sources).is_empty() {
            // What git cannot say is not verified, and reported as that; generating needs no repository.
            match git::Repository::find(self)
                .and_then(|found| found.map(|repository| repository.recorded(&input.sources)).transpose())
            {
                Ok(recorded) => input.recorded = recorded.unwrap_or_default(),
                Err(fault) => note_unread(&fault, notes),
            }
            note_not_fetched(&input, notes);
        }
        Ok(input)
    }
}

fn note_unread(fault: &Fault, notes: &mut Notes) {
    let place = Place::file("generated/releases");
    let reported = format!("numbered releases are not compared with what git recorded: {fault}");
    let note = notes.warning("release-tag", place, reported);
    note.hints.extend(fault.hints().iter().cloned());
}

/// Says what of the releases cannot be verified in a partial clone.
fn note_not_fetched(input: &Input, notes: &mut Notes) {
    let names = |lacks: fn(&Recorded) -> bool| {
        let found = input.recorded.iter().filter(|(_, recorded)| lacks(recorded));
        found.map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let history = names(|recorded| recorded.doubt == Some(Doubt::NotFetched));
    if !history.is_empty() {
        let reported = format!(
            "compared with HEAD and their own digests only, because this partial clone lacks the contents of their tags or of the \
             commits that added them: {history}"
        );
        notes
            .warning("release-tag", Place::file("generated/releases"), reported)
            .hint("`git fetch --refetch --filter=blob:none` brings it");
    }
    let locks = names(|recorded| recorded.locks.iter().any(|taking| taking.text.is_none()));
    if !locks.is_empty() {
        let reported = format!(
            "not compared with the lock as it was when they were added, because this partial clone lacks it: {locks}"
        );
        notes
            .warning("release-lock", Place::file(LOCK), reported)
            .hint("`git fetch --refetch --no-filter` brings it");
    }
}
