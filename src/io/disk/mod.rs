//! The fleet on disk: what is read of it, and its `generated/` folder.
//!
//! [`Workspace`] reads, [`DiskSink`] writes, [`CheckSink`] only compares.

mod check;
mod compare;
mod read;
mod release;
mod scaffold;
mod scan;
mod sink;
mod stage;

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::{
    io::git,
    note::{Fault, Notes},
    world::{Input, World, numbered_releases},
};

pub use check::CheckSink;
pub use scaffold::{
    exists, folder_in_repository, folder_name, named, read_file, remove, replace, write, write_all,
};
pub use sink::DiskSink;
pub use stage::Step;

pub(super) use check::begun;
pub(super) use release::{place_release, remove_release};
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
        git::refuse_hidden_sources(&self.root)?;
        let mut input = read::read(&self.root, notes)?;
        if !numbered_releases(&input.sources).is_empty() {
            // What git cannot say is not verified, and told as that; generating needs no repository.
            let repository = git::Repository::find(self).ok().flatten();
            let recorded = repository.and_then(|repository| repository.recorded(&input.sources).ok());
            input.recorded = recorded.unwrap_or_default();
        }
        Ok(input)
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
