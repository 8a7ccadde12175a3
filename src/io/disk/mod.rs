//! The fleet on disk: what is read of it, and its `generated/` folder.
//!
//! [`Workspace`] reads, [`DiskSink`] writes, [`CheckSink`] only compares.

mod check;
mod compare;
mod read;
mod scaffold;
mod scan;
mod sink;
mod stage;

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::{
    note::{Fault, Notes},
    world::{Input, World},
};

pub use check::CheckSink;
pub use scaffold::{
    exists, folder_in_repository, folder_name, named, read_file, remove, replace, write, write_all,
};
pub use sink::DiskSink;
pub use stage::Step;

pub(super) use check::begun;
pub(super) use scan::{is_in_numbered_release, is_numbered_release, note_foreign};

/// The folder of a fleet.
#[derive(Clone, Debug)]
pub struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// Opens the folder of a fleet; links on the way to it are resolved.
    pub fn open(root: &Path) -> Result<Self, Fault> {
        let shown = root.display();
        let found = root
            .canonicalize()
            .map_err(|error| Fault::because(format!("cannot open the folder `{shown}`"), error))?;
        if !found.is_dir() {
            return Err(Fault::new(format!("`{shown}` is no folder"))
                .hint("give the folder that holds `stackloom.yaml`: `-C <folder>`"));
        }
        Ok(Self { root: found })
    }

    /// The folder, as an absolute path without links.
    pub fn root(&self) -> &Path {
        &self.root
    }
}

impl World for Workspace {
    fn read(&self, notes: &mut Notes) -> Result<Input, Fault> {
        read::read(&self.root, notes)
    }
}

/// The text of a file below the root of a fleet; none where there is none that can be read as text.
pub fn text(world: &Workspace, path: &str) -> Option<String> {
    std::fs::read_to_string(world.root.join(path)).ok()
}

/// Why something on disk cannot be read, in words for a message.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        _ => error.to_string(),
    }
}
