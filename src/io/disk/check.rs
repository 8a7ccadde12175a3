//! `generate --check`: finds what would change on disk, and writes nothing.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use super::{Workspace, compare::DiskComparison, open};
use crate::{
    note::{Fault, Notes},
    tree::{Changes, Part, Sink, TreePath},
};

/// A sink that compares with the disk and writes nothing.
#[derive(Debug)]
pub struct CheckSink {
    root: PathBuf,
    comparison: Option<DiskComparison>,
}

impl CheckSink {
    /// A comparison with the `generated/` of a fleet.
    pub fn new(workspace: &Workspace) -> Self {
        Self { root: workspace.root().to_path_buf(), comparison: None }
    }
}

impl Sink for CheckSink {
    fn begin(&mut self, notes: &mut Notes) -> Result<(), Fault> {
        self.comparison = Some(DiskComparison::begin(&self.root, notes)?);
        Ok(())
    }

    fn parts(&mut self, parts: Vec<Part>) -> Result<(), Fault> {
        begun(self.comparison.as_mut())?.parts(&parts).map(drop)
    }

    fn current(&self, path: &TreePath) -> Result<Option<String>, Fault> {
        current(&self.root, path)
    }

    fn keep(&mut self, folder: TreePath) {
        if let Some(comparison) = &mut self.comparison {
            comparison.keep(&folder);
        }
    }

    fn sweep(&mut self, folder: TreePath) {
        if let Some(comparison) = &mut self.comparison {
            comparison.sweep(&folder);
        }
    }

    fn commit(&mut self, notes: &mut Notes, _message: &dyn Fn(&Changes) -> String) -> Result<Changes, Fault> {
        let comparison = begun(self.comparison.as_mut())?;
        comparison.finish(notes)?;
        Ok(std::mem::take(&mut comparison.changes))
    }
}

/// The text of a generated file on the disk; none if there is no such file, or it is not text.
pub(super) fn current(root: &Path, path: &TreePath) -> Result<Option<String>, Fault> {
    match open::read(&root.join(path.as_str())) {
        Ok(bytes) => Ok(String::from_utf8(bytes).ok()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Fault::because(format!("cannot read {path}"), error)),
    }
}

/// Unwraps what `begin` prepared; fails if `begin` was not called.
pub(in crate::io) fn begun<T>(value: Option<T>) -> Result<T, Fault> {
    value.ok_or_else(|| {
        Fault::new("a sink was used before it began").hint("this is a bug of stackloom; please report it")
    })
}
