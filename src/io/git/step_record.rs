//! A record of the definitions that a step of an upgrade edits, from before the first edit until the step is committed. If the
//! run is killed in between, the next one takes the edits back, or finds the step committed.
//!
//! The record is in `.git`. The operating system locks it for the run that wrote it, and releases the lock with its process.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::Write as _,
    path::PathBuf,
};

use serde::{Deserialize, Serialize};

use super::{
    Repository,
    lock::{Lock, is_same_file},
};
use crate::{
    io::disk::{self, own_text, read_plain},
    note::Fault,
};

/// The edit of a definition.
#[derive(Debug, Deserialize, Serialize)]
pub struct RecordedEdit {
    /// The path of the definition. In the file of the record, from the top of the work tree.
    pub path: String,
    /// Its text before.
    pub before: String,
    /// Its text after.
    pub after: String,
}

#[derive(Deserialize, Serialize)]
struct Recorded {
    /// The commit that the step starts from.
    head: Option<String>,
    edits: Vec<RecordedEdit>,
}

/// The record of a step that is under way.
#[derive(Debug)]
pub struct StepRecord {
    path: PathBuf,
    /// Keeps the lock.
    _file: File,
}

/// What became of a step whose run was killed.
#[derive(Debug, PartialEq, Eq)]
pub enum InterruptedStep {
    /// It was committed. The work tree and the index may lag behind the commit.
    Committed,
    /// It was not committed, and its edits were taken back.
    TakenBack {
        /// The definitions that have their former text again.
        restored: Vec<String>,
        /// The definitions that someone has changed since. They stay as they are.
        left: Vec<String>,
    },
}

impl StepRecord {
    /// Removes the record: the step is done, or its edits were taken back.
    pub fn end(self) -> Result<(), Fault> {
        fs::remove_file(&self.path)
            .map_err(|error| Fault::because(format!("cannot remove `{}`", self.path.display()), error))
    }
}

impl Repository {
    /// Records the edits of a step before they are made. Paths begin at the fleet's folder. Fails if a definition has changed
    /// since it was read.
    pub fn record_step(&self, edits: impl Iterator<Item = RecordedEdit>) -> Result<StepRecord, Fault> {
        let edits = edits.map(|edit| RecordedEdit { path: format!("{}{}", self.prefix, edit.path), ..edit });
        let recorded = Recorded { head: self.head_id()?, edits: edits.collect() };
        let is_changed = |edit: &&RecordedEdit| {
            let now = read_plain(&self.work_tree.join(&edit.path)).map(|now| own_text(&now));
            now.ok().as_ref() != Some(&edit.before)
        };
        let text = serde_json::to_string(&recorded).expect("texts can be written as JSON");
        let path = self.step_record();
        let failed = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => note_busy(),
            _ => Fault::because(format!("cannot write `{}`", path.display()), error),
        };
        let mut file = OpenOptions::new().write(true).create_new(true).open(&path).map_err(failed)?;
        // Without such locks, a second run at the same time finds the record, and refuses to work.
        let is_locked = matches!(file.try_lock(), Err(TryLockError::WouldBlock));
        // Another run may have found the empty file first, and may take it for that of a killed run.
        if is_locked || !is_same_file(&file, &path) {
            return Err(note_busy());
        }
        // A record that is not complete precedes all edits.
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
        let record = StepRecord { path, _file: file };
        // Another run may have taken a step since this one read the definitions.
        if let Some(edit) = recorded.edits.iter().find(is_changed) {
            record.end()?;
            let message = format!("`{}` changed while this ran, so nothing was written", edit.path);
            return Err(Fault::new(message).hint("run this again"));
        }
        Ok(record)
    }

    /// Finds out what became of a step whose run was killed, and takes back its edits if it was not committed.
    pub fn end_interrupted_step(&self) -> Result<Option<InterruptedStep>, Fault> {
        let path = self.step_record();
        let file = match OpenOptions::new().read(true).write(true).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Fault::because(format!("cannot read `{}`", path.display()), error)),
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(note_busy()),
            Err(TryLockError::Error(_)) => {
                return Err(note_busy().hint(format!(
                    "if no other run is active, it was killed: delete `{}`, and restore the definitions with git",
                    path.display()
                )));
            }
        }
        if !is_same_file(&file, &path) {
            return Ok(None);
        }
        let record = StepRecord { path, _file: file };
        let recorded: Option<Recorded> =
            read_plain(&record.path).ok().and_then(|text| serde_json::from_slice(&text).ok());
        // The killed run may have left the lock of the index, which would stop git.
        drop(Lock::take(&self.inner.path().join("index"))?);
        let Some(recorded) = recorded else { return record.end().map(|()| None) };
        let ended = if recorded.head == self.head_id()? {
            self.take_back(recorded.edits)?
        } else {
            InterruptedStep::Committed
        };
        record.end()?;
        Ok(Some(ended))
    }

    fn take_back(&self, edits: Vec<RecordedEdit>) -> Result<InterruptedStep, Fault> {
        let (mut restored, mut left) = (Vec::new(), Vec::new());
        for RecordedEdit { path, before, after } in edits {
            let file = self.work_tree.join(&path);
            let now = read_plain(&file).unwrap_or_default();
            if now == after.as_bytes() {
                disk::replace(&file, &before)?;
                restored.push(path);
            } else if now != before.as_bytes() {
                left.push(path);
            }
        }
        Ok(InterruptedStep::TakenBack { restored, left })
    }

    fn step_record(&self) -> PathBuf {
        self.inner.path().join("stackloom-step")
    }

    fn head_id(&self) -> Result<Option<String>, Fault> {
        Ok(self.tip()?.commit().map(|id| id.to_string()))
    }
}

fn note_busy() -> Fault {
    Fault::new("another run takes a step in this work tree")
        .hint("wait until it is done, then run this again")
}
