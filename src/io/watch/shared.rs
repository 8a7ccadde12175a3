//! State shared by the threads of a watcher: whether something changed, whether it may be a folder, and whether to stop.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use notify::{
    Event, EventKind,
    event::{AccessKind, AccessMode, ModifyKind, RenameMode},
};

use crate::{watch::Signal, world::is_head_release};

/// The pause after which a series of events is complete: editors save in several steps.
const QUIET: Duration = Duration::from_millis(50);

/// The longest wait for such a pause.
const UNQUIET: Duration = Duration::from_millis(500);

pub(super) struct Shared {
    root: PathBuf,
    state: Mutex<State>,
    bell: Condvar,
    stop: Arc<AtomicBool>,
}

struct State {
    changed: bool,
    /// Something other than a plain file may have appeared or gone, so the watches must be set again.
    folders_changed: bool,
    /// The watched folders.
    known: BTreeSet<PathBuf>,
}

impl Shared {
    pub(super) fn new(root: PathBuf) -> Self {
        let state = State { changed: false, folders_changed: true, known: BTreeSet::new() };
        Self { root, state: Mutex::new(state), bell: Condvar::new(), stop: Arc::new(AtomicBool::new(false)) }
    }

    pub(super) fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Asks the watcher to stop. Returns whether that was already asked.
    pub(super) fn ask_to_stop(&self) -> bool {
        let asked = self.stop.swap(true, Ordering::SeqCst);
        // A thread that is about to wait holds the lock until it does.
        drop(self.lock());
        self.bell.notify_all();
        asked
    }

    /// Returns whether the watches must be set again, and clears the flag.
    pub(super) fn take_folders(&self) -> bool {
        std::mem::take(&mut self.lock().folders_changed)
    }

    pub(super) fn put_folders_back(&self) {
        self.lock().folders_changed = true;
    }

    pub(super) fn know(&self, folders: &BTreeSet<PathBuf>) {
        self.lock().known.clone_from(folders);
    }

    /// Handles an event.
    pub(super) fn hear(&self, event: notify::Result<Event>) {
        // An error means that events may be missing, as after an overflow of the queue.
        let Ok(event) = event else { return self.note(true) };
        if event.need_rescan() || event.paths.is_empty() {
            return self.note(true);
        }
        if is_reading(event.kind) || !event.paths.iter().any(|path| self.concerns(path)) {
            return;
        }
        self.note(event.paths.iter().any(|path| self.is_of_folders(event.kind, path)));
    }

    fn note(&self, folders: bool) {
        let mut state = self.lock();
        state.changed = true;
        state.folders_changed |= folders;
        drop(state);
        self.bell.notify_all();
    }

    /// Whether an event may concern a folder or a link. The operating system does not say so for renames.
    fn is_of_folders(&self, kind: EventKind, path: &Path) -> bool {
        let known = || self.lock().known.contains(path);
        match kind {
            EventKind::Access(_) | EventKind::Modify(ModifyKind::Data(_)) => false,
            // Of everything removed, only a watched folder matters.
            EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(RenameMode::From)) => known(),
            _ => known() || !fs::symlink_metadata(path).is_ok_and(|found| found.is_file()),
        }
    }

    /// Whether a path may be a source, or a folder that leads to one.
    fn concerns(&self, path: &Path) -> bool {
        let Ok(inside) = path.strip_prefix(&self.root) else { return true };
        let parts: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
        let parts: Vec<&str> = parts.iter().map(AsRef::as_ref).collect();
        match parts.as_slice() {
            []
            | ["stackloom.yaml" | "stackloom.lock" | "stacks" | "clusters" | "rollouts" | "generated"]
            | ["generated", "releases"] => true,
            ["generated", "releases", release, ..] => !is_head_release(release),
            ["generated", ..] => false,
            // Editors keep hidden files beside those they save.
            parts if parts.iter().any(|part| part.starts_with('.')) => false,
            // A link may lead to any other file here.
            _ => true,
        }
    }

    /// Waits for a change, and then until no more events arrive.
    pub(super) fn wait(&self, at_most: Option<Duration>) -> Signal {
        let end = at_most.map(|pause| Instant::now() + pause);
        let mut state = self.lock();
        while !state.changed {
            if self.is_stopped() {
                return Signal::Stop;
            }
            state = match end.map(|end| end.saturating_duration_since(Instant::now())) {
                None => self.bell.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(Duration::ZERO) => return Signal::Nothing,
                Some(left) => self.bell.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
            };
        }
        let end = Instant::now() + UNQUIET;
        while state.changed && Instant::now() < end {
            if self.is_stopped() {
                return Signal::Stop;
            }
            state.changed = false;
            state = self.bell.wait_timeout(state, QUIET).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.changed = false;
        Signal::Change
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The flags are valid even if a thread panicked while it held the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether an event only reports a read access. This program itself reads all the time.
fn is_reading(kind: EventKind) -> bool {
    matches!(kind, EventKind::Access(access) if access != AccessKind::Close(AccessMode::Write))
}
