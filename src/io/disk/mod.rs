//! The fleet on disk: its sources, and its `generated/` folder.
//!
//! [`Workspace`] reads, [`DiskSink`] writes, [`CheckSink`] only compares.

mod check;
mod compare;
mod find;
mod moves;
mod notes;
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

use crate::note::Fault;

pub use check::CheckSink;
pub use find::{FLEET, PathArgument};
pub use moves::{Moves, undo_interrupted};
pub use scaffold::{
    exists, fleet_around, folder_in_repository, folder_name, is_plain_or_missing, link_in, named, put,
    read_file, remove, replace, write, write_all, write_bytes,
};
pub use sink::DiskSink;
pub use stage::Milestone;

pub(super) use check::begun;
pub(super) use open::{read as read_plain, without_waiting};
pub(super) use read::{own_text, read as read_sources};
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

/// The text of a file below the root of a fleet; None if it does not exist or cannot be read as text.
pub fn text(world: &Workspace, path: &str) -> Option<String> {
    String::from_utf8(open::read(&world.root.join(path)).ok()?).ok()
}

/// Describes an I/O error in words for a message.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        _ => error.to_string(),
    }
}
