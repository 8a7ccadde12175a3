//! Regenerates when definitions change: the loop of `watch`, without the mechanism that detects changes.
//!
//! [`Listener`] reports that something may have changed, never what. The loop therefore reads the sources, and runs on
//! exactly what it read. A run starts only if the content differs from that of the last run.
//!
//! After each run the loop reads again before it waits. A save during a run is therefore not lost, and output never starts a
//! run. Deliberately absent: a clock (a [`Listener`] does the waiting), and any memory of files beyond their names.

use std::{
    cell::Cell,
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use sha2::{Digest as _, Sha256};

use crate::{
    generate::{self, Failure, Generation, Progress},
    note::{Fault, Notes},
    tree::{Changes, Part, Sink, TreePath},
    world::{AlreadyRead, Input, World},
};

/// How long a definition must stay missing or empty before a run believes it. Some editors save by deleting and rewriting a
/// file, and a commit that briefly drops a cluster is a bad commit.
const DOUBT: Duration = Duration::from_millis(700);

/// The maximum number of doubts in a row. If changes never end, a run must happen anyway.
const MOST_DOUBTS: u32 = 8;

/// The polling interval while changes cannot be detected.
const LOOK: Duration = Duration::from_secs(2);

/// The delay before the first retry after a failure of the world. Each further delay is doubled, up to [`LONGEST`].
const FIRST: Duration = Duration::from_millis(100);

/// The maximum delay before a retry.
const LONGEST: Duration = Duration::from_secs(5);

/// The number of failed tries before a failure is reported. A lock held by another process is released long before.
const SILENT_TRIES: u32 = 5;

/// The number of consecutive runs that may be dropped because the sources changed. The next one is let through.
const STALE_RUNS: u32 = 5;

/// Identifies the content of everything that was read.
type Fingerprint = [u8; 32];

/// The result of waiting for changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Something may have changed, and there was no further change since.
    Change,
    /// Nothing happened within the given time.
    Nothing,
    /// The loop must stop.
    Stop,
}

/// Detects changes.
pub trait Listener {
    /// Starts listening. From its return on, no change of the sources is missed. It is called before each read.
    fn listen(&mut self) -> Result<(), Fault>;

    /// Waits until something may have changed, for at most this long. Earlier changes count.
    fn wait(&mut self, at_most: Option<Duration>) -> Signal;

    /// A flag that is set once the loop must stop, so that a run can stop before any of its output is visible.
    fn stop(&self) -> Arc<AtomicBool>;
}

/// A report of the loop.
#[derive(Debug)]
pub enum WatchEvent {
    /// Changes cannot be detected. Until they can, the loop polls every [`LOOK`].
    Deaf(Fault),
    /// A run succeeded.
    Done(Box<Generation>, Notes),
    /// A run found errors in the input; nothing was written.
    Faulty(Notes),
    /// The world has been failing for a while; the loop keeps retrying.
    Refused(Fault),
}

/// Watches until stopped. `open` creates the sink of each run.
pub fn watch(
    world: &dyn World,
    listener: &mut dyn Listener,
    open: &mut dyn FnMut() -> Result<Box<dyn Sink>, Fault>,
    progress: Progress<'_>,
    tell: &mut dyn FnMut(WatchEvent),
) {
    let mut watch = Watch { world, open, progress, tell, run: Run::default() };
    let stop = listener.stop();
    while !stop.load(Ordering::SeqCst) {
        let listening = listener.listen();
        let deaf = listening.is_err();
        watch.deaf(listening);
        let pause = match watch.look(&stop) {
            Next::Look => continue,
            Next::Wait => deaf.then_some(LOOK),
            Next::WaitFor(pause) => Some(pause),
        };
        match listener.wait(pause) {
            Signal::Stop => return,
            Signal::Change => watch.change_reported(),
            Signal::Nothing => {}
        }
    }
}

/// The next action after a look.
enum Next {
    /// Look again immediately.
    Look,
    /// Wait until something changes.
    Wait,
    /// Wait for at most this long.
    WaitFor(Duration),
}

/// The state kept between looks.
#[derive(Default)]
struct Run {
    /// The fingerprint of what the last run read.
    done: Option<Fingerprint>,
    /// The names of its files, except empty ones.
    names: BTreeSet<String>,
    /// The names of the empty files.
    empty: BTreeSet<String>,
    /// The names that were missing, or whose files had become empty, at the last look.
    doubted: BTreeSet<String>,
    /// The number of doubts in a row.
    doubts: u32,
    /// Errors of the last run, until it is certain that they apply to the current sources.
    unreported: Option<Notes>,
    /// The number of consecutive runs dropped because the sources changed.
    stale: u32,
    /// The number of consecutive failures of the world.
    refused: u32,
    /// The failure that was reported.
    reported: Option<String>,
    /// Whether it was reported that changes cannot be detected.
    deaf: bool,
}

struct Watch<'a> {
    world: &'a dyn World,
    open: &'a mut dyn FnMut() -> Result<Box<dyn Sink>, Fault>,
    progress: Progress<'a>,
    tell: &'a mut dyn FnMut(WatchEvent),
    run: Run,
}

impl Watch<'_> {
    fn deaf(&mut self, listening: Result<(), Fault>) {
        let was = std::mem::replace(&mut self.run.deaf, listening.is_err());
        if let (Err(fault), false) = (listening, was) {
            (self.tell)(WatchEvent::Deaf(fault));
        }
    }

    /// Reads the sources, and starts a run if they differ from those of the last run.
    fn look(&mut self, stop: &AtomicBool) -> Next {
        let mut notes = Notes::new();
        let input = match self.world.read(&mut notes) {
            Ok(input) => input,
            Err(fault) => return self.refused(fault),
        };
        let print = fingerprint(&input, &notes);
        if self.run.done == Some(print) {
            self.run.doubts = 0;
            if let Some(notes) = self.run.unreported.take() {
                (self.tell)(WatchEvent::Faulty(notes));
            }
            return Next::Wait;
        }
        let (names, empty) = names(&input);
        let gone = self.run.names.difference(&names);
        let doubted: BTreeSet<_> = gone.chain(empty.difference(&self.run.empty)).cloned().collect();
        if !doubted.is_empty() && doubted != self.run.doubted && self.run.doubts < MOST_DOUBTS {
            self.run.doubted = doubted;
            self.run.doubts += 1;
            return Next::WaitFor(DOUBT);
        }
        let stale = Cell::new(false);
        let unreported = match self.generate(&AlreadyRead::new(input, notes), print, &stale, stop) {
            Ok(unreported) => unreported,
            Err(_) if stop.load(Ordering::SeqCst) => return Next::Look,
            Err(_) if stale.get() => {
                self.run.stale += 1;
                return Next::WaitFor(FIRST);
            }
            Err(fault) => return self.refused(fault),
        };
        self.run = Run { done: Some(print), names, empty, unreported, deaf: self.run.deaf, ..Run::default() };
        Next::Look
    }

    /// Runs on what was read. Returns errors of the input, which are reported once they are known to be current.
    fn generate(
        &mut self,
        read: &AlreadyRead,
        print: Fingerprint,
        stale: &Cell<bool>,
        stop: &AtomicBool,
    ) -> Result<Option<Notes>, Fault> {
        let (world, hasty) = (self.world, self.run.stale >= STALE_RUNS);
        let still = || -> Result<bool, Fault> {
            let mut notes = Notes::new();
            let input = world.read(&mut notes)?;
            stale.set(!hasty && fingerprint(&input, &notes) != print);
            Ok(!stale.get())
        };
        let mut sink = Guarded { inner: (self.open)()?, stop, still: &still };
        let mut notes = Notes::new();
        match generate::generate(read, &mut sink, self.progress, &mut notes) {
            Ok(generation) => {
                (self.tell)(WatchEvent::Done(Box::new(generation), notes));
                Ok(None)
            }
            Err(Failure::Input) => Ok(Some(notes)),
            Err(Failure::World(fault)) => Err(fault),
        }
    }

    /// Resets doubts after a change, and retries soon after a failure.
    fn change_reported(&mut self) {
        self.run.doubted.clear();
        if self.run.reported.is_none() {
            self.run.refused = 0;
        }
    }

    fn refused(&mut self, fault: Fault) -> Next {
        let pause = LONGEST.min(FIRST * 2_u32.pow(self.run.refused.min(8)));
        self.run.refused = self.run.refused.saturating_add(1);
        let text = fault.to_string();
        if self.run.refused >= SILENT_TRIES && self.run.reported.as_ref() != Some(&text) {
            self.run.reported = Some(text);
            (self.tell)(WatchEvent::Refused(fault));
        }
        Next::WaitFor(pause)
    }
}

/// Computes the fingerprint, which includes errors about single files.
fn fingerprint(input: &Input, notes: &Notes) -> Fingerprint {
    let mut hash = Sha256::new();
    let mut add = |text: &str| {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    };
    for source in input.sources.iter().chain(input.beside.iter()) {
        add(&source.path);
        add(&source.text);
    }
    for folder in &input.companions {
        add(folder);
    }
    for note in input.damaged.values().flat_map(Notes::sorted).chain(notes.sorted()) {
        add(&format!("{note:?}"));
    }
    hash.finalize().into()
}

/// The names of what was read, and those of the empty files.
fn names(input: &Input) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut names, mut empty) = (input.companions.clone(), BTreeSet::new());
    for source in input.sources.iter() {
        let list = if source.text.trim().is_empty() { &mut empty } else { &mut names };
        list.insert(source.path.to_string());
    }
    (names, empty)
}

/// A sink that commits nothing if the loop must stop or the sources have changed since they were read. The second look
/// happens while the sink holds its locks, so that a checkout in progress is not mistaken for a state. Output that has
/// started to become visible is completed.
struct Guarded<'a> {
    inner: Box<dyn Sink>,
    stop: &'a AtomicBool,
    still: &'a dyn Fn() -> Result<bool, Fault>,
}

impl Guarded<'_> {
    fn go_on(&self) -> Result<(), Fault> {
        let stopped = self.stop.load(Ordering::SeqCst);
        if stopped { Err(Fault::new("stopped")) } else { Ok(()) }
    }
}

impl Sink for Guarded<'_> {
    fn begin(&mut self, notes: &mut Notes) -> Result<(), Fault> {
        self.go_on()?;
        self.inner.begin(notes)
    }

    fn parts(&mut self, parts: Vec<Part>) -> Result<(), Fault> {
        self.go_on()?;
        self.inner.parts(parts)
    }

    fn current(&self, path: &TreePath) -> Result<Option<String>, Fault> {
        self.inner.current(path)
    }

    fn keep(&mut self, folder: TreePath) {
        self.inner.keep(folder);
    }

    fn sweep(&mut self, folder: TreePath) {
        self.inner.sweep(folder);
    }

    fn commit(&mut self, notes: &mut Notes, message: &dyn Fn(&Changes) -> String) -> Result<Changes, Fault> {
        self.go_on()?;
        if !(self.still)()? {
            return Err(Fault::new("the sources changed while this ran"));
        }
        self.inner.commit(notes, message)
    }
}
