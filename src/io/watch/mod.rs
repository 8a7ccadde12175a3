//! Reports changes of the sources: events of the operating system, and signals that ask the process to end.
//!
//! An event is only a hint: it need not be complete, nor name what happened. Each folder has a watch of its own, set before
//! its entries are read. A recursive watch would miss a file saved in a new folder before the watch on that is set.
//!
//! After any event that may concern a folder, all watches are set again: the library forgets a watch when a folder of that
//! name is removed, even if another one has been created since. Below `generated/`, only inputs are watched; `.git` is not
//! watched at all.

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

/// A watcher of a fleet's sources.
pub struct Watcher {
    root: PathBuf,
    shared: Arc<Shared>,
    /// None if it polls instead.
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
    /// Watches the folder of a fleet, and handles SIGINT and SIGTERM. With `every`, it does not use the operating system's
    /// events, and assumes a change whenever this time has passed.
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
        // A moved folder keeps its watch under the old name, so old names are removed first.
        for gone in watched.iter().filter(|folder| !folder.is_dir()) {
            // The watch may already be gone.
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
            // A watcher that could not be set up completely is dropped with all its watches.
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

/// Whether a folder was removed or made unreadable between finding and watching it. If it comes back, the folder above
/// reports it. An unreadable folder is reported by the reader.
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
            "the limit of watched folders is reached, so changes cannot be noticed",
        )
        .hint("raise it with `sysctl fs.inotify.max_user_watches=524288`, or stop other programs that watch files")
        .hint("or look for changes every few seconds: `stackloom watch --poll 2`"),
        _ => Fault::because("the operating system cannot report changes here", error)
            .hint("if it has run out of watchers: `sysctl fs.inotify.max_user_instances=512`")
            .hint("or look for changes every few seconds: `stackloom watch --poll 2`"),
    }
}
