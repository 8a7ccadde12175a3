//! Moves several files and folders together. No system call moves two paths at once, so a record beside them lists the moves
//! until the last one is made: after a kill, the next run undoes those that were made.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::scaffold::{move_to, remove};
use crate::note::Fault;

/// How the name of a record ends. Hidden files are never read as sources.
const RECORD: &str = ".stackloom-moving";

/// Moves under way.
#[derive(Debug)]
pub struct Moves {
    root: PathBuf,
    /// The old and the new path of each, below the root.
    all: Vec<(String, String)>,
    made: usize,
    record: PathBuf,
}

impl Moves {
    /// Records the moves. Each has an old and a new path below the root.
    pub fn begin(root: &Path, all: Vec<(String, String)>) -> Result<Self, Fault> {
        let (first, _) = all.first().cloned().unwrap_or_default();
        let from = root.join(first);
        let name = from.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let record = from.with_file_name(format!(".{name}{RECORD}"));
        let text = serde_json::to_string(&all).expect("texts can be written as JSON");
        fs::write(&record, text)
            .map_err(|error| Fault::because(format!("cannot write `{}`", record.display()), error))?;
        Ok(Self { root: root.to_owned(), all, made: 0, record })
    }

    /// Makes the next move, and says whether there was one.
    pub fn step(&mut self) -> Result<bool, Fault> {
        let Some((from, to)) = self.all.get(self.made) else { return Ok(false) };
        move_to(&self.root.join(from), &self.root.join(to))?;
        self.made += 1;
        Ok(true)
    }

    /// Makes all moves, or none if one fails.
    pub fn make(mut self) -> Result<(), Fault> {
        loop {
            match self.step() {
                Ok(true) => {}
                Ok(false) => return remove(&self.record),
                Err(fault) => {
                    undo(&self.root, &self.all)?;
                    remove(&self.record)?;
                    return Err(fault);
                }
            }
        }
    }
}

/// Moves back what has moved, last first.
fn undo(root: &Path, all: &[(String, String)]) -> Result<(), Fault> {
    for (from, to) in all.iter().rev() {
        let (from, to) = (root.join(from), root.join(to));
        if to.symlink_metadata().is_ok() && from.symlink_metadata().is_err() {
            move_to(&to, &from)?;
        }
    }
    Ok(())
}

/// Undoes moves that a killed run left half made below a folder of the root. Returns how many runs there were.
pub fn undo_interrupted(root: &Path, folder: &str) -> Result<usize, Fault> {
    let mut count = 0;
    for entry in walkdir::WalkDir::new(root.join(folder)).sort_by_file_name() {
        // What cannot be listed is reported where it is read.
        let Ok(entry) = entry else { continue };
        let name = entry.file_name().to_string_lossy();
        if !entry.file_type().is_file() || !name.starts_with('.') || !name.ends_with(RECORD) {
            continue;
        }
        let text = super::open::read(entry.path())
            .map_err(|error| Fault::because(format!("cannot read `{}`", entry.path().display()), error))?;
        let all: Vec<(String, String)> = serde_json::from_slice(&text).unwrap_or_default();
        let is_inside = |path: &String| {
            path.starts_with(&format!("{folder}/")) && !path.split('/').any(|part| part == "..")
        };
        if all.iter().all(|(from, to)| is_inside(from) && is_inside(to)) {
            undo(root, &all)?;
        }
        remove(entry.path())?;
        count += 1;
    }
    Ok(count)
}
