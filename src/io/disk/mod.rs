//! The fleet on disk: what is read of it, and its `generated/` folder.
//!
//! [`Workspace`] reads, [`DiskSink`] writes, [`CheckSink`] only compares.

mod check;
mod compare;
mod find;
mod open;
mod read;
mod release;
mod scaffold;
mod scan;
mod shape;
mod sink;
mod stage;

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::{
    io::git,
    note::{Fault, Notes, Place},
    world::{Doubt, Input, LOCK, Recorded, World, numbered_releases},
};

pub use check::CheckSink;
pub use find::{FLEET, Given};
pub use scaffold::{
    exists, fleet_around, folder_in_repository, folder_name, link_in, move_to, named, put, read_file, remove,
    replace, write, write_all, write_bytes,
};
pub use sink::DiskSink;
pub use stage::Milestone;

pub(super) use check::begun;
pub(super) use open::{read as read_plain, without_waiting};
pub(super) use read::own_text;
pub(super) use release::{place_file, place_release, remove_release, remove_staged};
pub(super) use scan::{is_in_numbered_release, is_numbered_release, note_foreign};

/// The folder of a fleet.
#[derive(Clone, Debug)]
pub struct Workspace {
    root: PathBuf,
    /// The current folder, relative to the root.
    here: String,
}

impl Workspace {
    /// Opens the folder of a fleet; links on the way to it are resolved.
    pub fn open(root: &Path) -> Result<Self, Fault> {
        let shown = root.display();
        let found = root
            .canonicalize()
            .map_err(|error| Fault::because(format!("cannot open the folder `{shown}`"), error))?;
        if !found.is_dir() {
            return Err(Fault::new(format!("`{shown}` is not a folder"))
                .hint("give the folder that holds `stackloom.yaml`: `-C <folder>`"));
        }
        Ok(Self { root: found, here: String::new() })
    }

    /// The folder, as an absolute path without links.
    pub fn root(&self) -> &Path {
        &self.root
    }
}

impl World for Workspace {
    fn read(&self, notes: &mut Notes) -> Result<Input, Fault> {
        git::refuse_hidden_sources(&self.root)?;
        let mut input = read::read(&self.root, notes)?;
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

/// The text of a file below the root of a fleet; none where there is none that can be read as text.
pub fn text(world: &Workspace, path: &str) -> Option<String> {
    String::from_utf8(open::read(&world.root.join(path)).ok()?).ok()
}

/// Why something on disk cannot be read, in words for a message.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        _ => error.to_string(),
    }
}
