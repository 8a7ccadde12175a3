//! `generate`: writes the tree to disk.

use std::{collections::BTreeSet, fmt, fs, path::PathBuf};

use super::{
    Workspace,
    check::{begun, current},
    compare::DiskComparison,
    stage::{Milestone, OnMilestone, Stage},
};
use crate::{
    note::{Fault, Notes},
    tree::{Changes, FileChange, Part, Sink, TreePath},
};

/// A sink that keeps `generated/` on disk up to date. Changed files are staged, then renamed into place one by one. The
/// program's own files that no part contains any more are removed. Any other file stops the run.
pub struct DiskSink {
    root: PathBuf,
    open: Option<Open>,
    /// `generated` itself cannot be written to: parts are accepted and discarded.
    blocked: bool,
    on_milestone: Option<OnMilestone>,
}

struct Open {
    comparison: DiskComparison,
    stage: Stage,
}

impl fmt::Debug for DiskSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiskSink").field("root", &self.root).finish_non_exhaustive()
    }
}

impl DiskSink {
    /// Creates a sink for the `generated/` of a fleet.
    pub fn new(workspace: &Workspace) -> Self {
        Self { root: workspace.root().to_path_buf(), open: None, blocked: false, on_milestone: None }
    }

    /// Calls `tell` after each milestone. An error ends the run there, as the end of the process would.
    #[must_use]
    pub fn on_milestone(mut self, tell: impl FnMut(Milestone) -> Result<(), Fault> + Send + 'static) -> Self {
        self.on_milestone = Some(Box::new(tell));
        self
    }

    pub(in crate::io) fn tell(&mut self, step: Milestone) -> Result<(), Fault> {
        self.on_milestone.as_mut().map_or(Ok(()), |tell| tell(step))
    }

    /// Whether a path is left as it is.
    pub(in crate::io) fn is_kept(&self, path: &TreePath) -> bool {
        self.open.as_ref().is_some_and(|open| open.comparison.is_kept(path))
    }

    /// Whether a part of this run has a file at a path.
    pub(in crate::io) fn is_written(&self, path: &TreePath) -> bool {
        self.open.as_ref().is_some_and(|open| open.comparison.is_written(path))
    }

    /// Whether something other than a folder lay at a path when the run began.
    pub(in crate::io) fn is_on_disk(&self, path: &TreePath) -> bool {
        self.open.as_ref().is_some_and(|open| open.comparison.is_on_disk(path))
    }

    /// Finds the files to remove, once every part is known. None if something is in the way; `notes` says what.
    pub(in crate::io) fn finish(&mut self, notes: &mut Notes) -> Result<Option<Vec<TreePath>>, Fault> {
        if self.blocked {
            return Ok(None);
        }
        let mut found = Notes::new();
        let removed = begun(self.open.as_mut())?.comparison.finish(&mut found)?;
        let clear = found.errors() == 0;
        notes.append(found);
        self.tell(Milestone::Staged)?;
        Ok(clear.then_some(removed))
    }

    /// Ends a run without making anything visible. Returns the changes that the disk would have seen.
    pub(in crate::io) fn abandon(&mut self) -> Changes {
        self.open.take().map(|open| open.comparison.changes).unwrap_or_default()
    }

    /// Publishes the staged files and removes obsolete ones. Steps that may run out of disk space come before most removals.
    pub(in crate::io) fn publish(&mut self, removed: &[TreePath]) -> Result<Changes, Fault> {
        let Self { root, open, on_milestone, blocked: _ } = self;
        let Open { comparison, stage } = begun(open.as_mut())?;
        let mut tell = |step| on_milestone.as_mut().map_or(Ok(()), |tell| tell(step));
        let remove = |path: &TreePath| {
            fs::remove_file(root.join(path.as_str()))
                .map_err(|error| Fault::because(format!("cannot remove `{path}`"), error))
        };
        let staged: BTreeSet<&str> = stage.files().iter().map(TreePath::as_str).collect();
        let (blocking, rest): (Vec<_>, Vec<_>) = removed.iter().partition(|path| blocks(path, &staged));
        for path in blocking {
            remove(path)?;
        }
        let empty = comparison.empty_folders(removed);
        let (blocking, empty): (Vec<_>, Vec<_>) = empty.iter().partition(|folder| gives_way(folder, &staged));
        for folder in blocking {
            remove_folder(root.join(folder.as_str()), folder)?;
        }
        make_folders(root, &staged)?;
        for index in 0..stage.files().len() {
            stage.publish(index)?;
            tell(Milestone::File)?;
        }
        for path in rest {
            remove(path)?;
            tell(Milestone::File)?;
        }
        for folder in empty {
            remove_folder(root.join(folder.as_str()), folder)?;
        }
        tell(Milestone::WorkTree)?;
        Ok(std::mem::take(&mut comparison.changes))
    }
}

impl Sink for DiskSink {
    fn begin(&mut self, notes: &mut Notes) -> Result<(), Fault> {
        self.open = None;
        let mut found = Notes::new();
        let comparison = DiskComparison::begin(&self.root, &mut found)?;
        self.blocked = found.errors() > 0;
        notes.append(found);
        if !self.blocked {
            self.open = Some(Open { comparison, stage: Stage::new(&self.root)? });
        }
        Ok(())
    }

    fn parts(&mut self, parts: Vec<Part>) -> Result<(), Fault> {
        if self.blocked {
            return Ok(());
        }
        let Open { comparison, stage } = begun(self.open.as_mut())?;
        let found = comparison.parts(&parts)?;
        let changed: Vec<_> = parts
            .iter()
            .flat_map(|part| &part.files)
            .zip(found.into_iter().flatten())
            .filter_map(|(file, change)| (change != FileChange::Unchanged).then_some(file))
            .collect();
        stage.add(&changed)
    }

    fn current(&self, path: &TreePath) -> Result<Option<String>, Fault> {
        current(&self.root, path)
    }

    fn keep(&mut self, folder: TreePath) {
        if let Some(open) = &mut self.open {
            open.comparison.keep(&folder);
        }
    }

    fn sweep(&mut self, folder: TreePath) {
        if let Some(open) = &mut self.open {
            open.comparison.sweep(&folder);
        }
    }

    fn commit(&mut self, notes: &mut Notes, _message: &dyn Fn(&Changes) -> String) -> Result<Changes, Fault> {
        let Some(removed) = self.finish(notes)? else { return Ok(self.abandon()) };
        let changes = self.publish(&removed)?;
        self.open = None;
        Ok(changes)
    }
}

/// Whether a file to remove is in the way of a staged file: it takes the path of a folder that one needs, or is inside a
/// folder whose path one takes.
fn blocks(removed: &TreePath, staged: &BTreeSet<&str>) -> bool {
    let below = format!("{removed}/");
    let inside = staged.range(below.as_str()..).next().is_some_and(|path| path.starts_with(&below));
    inside || gives_way(removed, staged)
}

/// Whether a staged file takes this path, or the path of a folder above it.
fn gives_way(path: &TreePath, staged: &BTreeSet<&str>) -> bool {
    staged.contains(path.as_str()) || path.folders().any(|folder| staged.contains(folder))
}

fn make_folders(root: &std::path::Path, staged: &BTreeSet<&str>) -> Result<(), Fault> {
    let folders: BTreeSet<&str> =
        staged.iter().filter_map(|path| path.rsplit_once('/').map(|(folder, _)| folder)).collect();
    for folder in folders {
        fs::create_dir_all(root.join(folder))
            .map_err(|error| Fault::because(format!("cannot create the folder `{folder}`"), error))?;
    }
    Ok(())
}

/// Removes a folder that holds nothing of ours. If someone else has put something there in the meantime, it stays.
fn remove_folder(folder: PathBuf, path: &TreePath) -> Result<(), Fault> {
    match fs::remove_dir(folder) {
        Err(error)
            if !matches!(
                error.kind(),
                std::io::ErrorKind::NotFound | std::io::ErrorKind::DirectoryNotEmpty
            ) =>
        {
            Err(Fault::because(format!("cannot remove the folder `{path}`"), error))
        }
        _ => Ok(()),
    }
}
