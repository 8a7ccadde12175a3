//! Hearing of changes: what the operating system says of the folders that hold sources, and signals that ask to end.
//!
//! What the system says is a hint: it is neither trusted to be complete nor to name what happened. Each folder is
//! watched by itself and before its entries are looked at, because a recursive watch misses what is saved in a new
//! folder before the watch on it is set. After anything that may have been a folder, all watches are set again: the
//! library forgets a watch when a folder of that name went, even if another has come since. Below `generated/` only
//! what is input is watched, and git's own folder not at all.

mod folders;
mod shared;
mod signals;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use notify::{ErrorKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use self::{folders::Folders, shared::Shared};
use super::disk::Workspace;
use crate::{
    note::Fault,
    watch::{Listener, Signal},
};

/// Hears of changes of a fleet's sources.
pub struct Watcher {
    root: PathBuf,
    shared: Arc<Shared>,
    /// None where it looks every so often instead.
    system: Option<RecommendedWatcher>,
    watched: BTreeSet<PathBuf>,
    every: Option<Duration>,
}

impl std::fmt::Debug for Watcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watcher").field("root", &self.root).finish_non_exhaustive()
    }
}

impl Watcher {
    /// Hears of changes below a fleet's folder, and of SIGINT and SIGTERM. With `every`, nothing is asked of the
    /// operating system, and a change is assumed each time that this long has passed.
    pub fn new(workspace: &Workspace, every: Option<Duration>) -> Result<Self, Fault> {
        let root = workspace.root().to_path_buf();
        let shared = Arc::new(Shared::new(root.clone()));
        signals::listen(&shared)?;
        Ok(Self { root, shared, system: None, watched: BTreeSet::new(), every })
    }

    fn arm(&mut self) -> Result<(), Fault> {
        if self.system.is_none() {
            let shared = Arc::clone(&self.shared);
            let system = notify::recommended_watcher(move |event| shared.hear(event));
            self.system = Some(system.map_err(cannot_watch)?);
        }
        let Self { root, system: Some(system), watched, shared, .. } = self else { return Ok(()) };
        // What was moved keeps its watch under the old name, so old names go first.
        for gone in watched.iter().filter(|folder| !folder.is_dir()) {
            // It may have gone by itself.
            system.unwatch(gone).ok();
        }
        let mut set = |folder: &Path| match system.watch(folder, RecursiveMode::NonRecursive) {
            Err(error) if is_gone(&error) => Ok(()),
            other => other.map_err(cannot_watch),
        };
        let found = Folders::walk(root, &mut set)?;
        shared.know(&found);
        *watched = found;
        Ok(())
    }
}

impl Listener for Watcher {
    fn listen(&mut self) -> Result<(), Fault> {
        if self.every.is_some() || !self.shared.take_folders() {
            return Ok(());
        }
        self.arm().inspect_err(|_| {
            self.shared.put_folders_back();
            // A watcher that could not be set up whole is thrown away with all its watches.
            self.system = None;
            self.watched.clear();
        })
    }

    fn wait(&mut self, at_most: Option<Duration>) -> Signal {
        let pause = match (at_most, self.every) {
            (Some(pause), Some(every)) => Some(pause.min(every)),
            (pause, every) => pause.or(every),
        };
        self.shared.wait(pause)
    }

    fn stop(&self) -> Arc<AtomicBool> {
        self.shared.stop()
    }
}

/// Whether a folder went, or was closed to us, between finding and watching it. If it comes back, the folder above
/// tells of it; that it cannot be read is said by whoever reads.
fn is_gone(error: &notify::Error) -> bool {
    match &error.kind {
        ErrorKind::PathNotFound => true,
        ErrorKind::Io(error) => {
            matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::PermissionDenied)
        }
        _ => false,
    }
}

fn cannot_watch(error: notify::Error) -> Fault {
    match error.kind {
        ErrorKind::MaxFilesWatch => Fault::new(
            "the limit of watched folders is reached, so changes cannot be heard of",
        )
        .hint("raise it: `sysctl fs.inotify.max_user_watches=524288`, or end other programs that watch files")
        .hint("or have it look every so many seconds: `stackloom watch --poll 2`"),
        _ => Fault::because("the operating system cannot tell of changes here", error)
            .hint("if it has run out of watchers: `sysctl fs.inotify.max_user_instances=512`")
            .hint("or have it look every so many seconds: `stackloom watch --poll 2`"),
    }
}
