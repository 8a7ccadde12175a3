//! Regenerating when definitions change: the loop of `watch`, without what tells it of changes.
//!
//! [`Listener`] says that something may have changed, never what. So the loop reads the sources, and what it has read is
//! what it runs on: a run is started by other content than the last run had, and by nothing else. After each run it
//! reads again before it waits, so a save during a run is not lost, and output can start no run. Absent on purpose: a
//! clock (waiting is [`Listener`]' business), and any memory of files beyond their names.

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

/// How long a definition that went, or is empty, must stay so before a run believes it: saving by deleting and
/// writing anew looks like that for a moment, and a commit that drops a cluster for a moment is a bad commit.
const DOUBT: Duration = Duration::from_millis(700);

/// So often in a row something may be doubted; where changes never end, a run must come all the same.
const MOST_DOUBTS: u32 = 8;

/// How often to look where changes cannot be heard of.
const LOOK: Duration = Duration::from_secs(2);

/// The first wait before what the world refused is tried again; each further one is twice as long, up to [`LONGEST`].
const FIRST: Duration = Duration::from_millis(100);

/// The longest wait before another try.
const LONGEST: Duration = Duration::from_secs(5);

/// So many tries may fail before it is said: someone else's lock is gone long before.
const SILENT_TRIES: u32 = 5;

/// So many runs in a row may be dropped because the sources changed meanwhile; then one is let through.
const STALE_RUNS: u32 = 5;

/// What stands for the content of all that was read.
type Fingerprint = [u8; 32];

/// What was heard while waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Something may have changed, and it has been quiet since.
    Change,
    /// Nothing in the time given.
    Nothing,
    /// It is time to end.
    Stop,
}

/// What tells of changes.
pub trait Listener {
    /// From its return on, every change of what is read is heard of. It is called before each reading.
    fn listen(&mut self) -> Result<(), Fault>;

    /// Waits until something may have changed, for this long at most. What was heard before counts.
    fn wait(&mut self, at_most: Option<Duration>) -> Signal;

    /// Set once it is time to end, so that a run can stop before anything of it is visible.
    fn stop(&self) -> Arc<AtomicBool>;
}

/// What there is to tell.
#[derive(Debug)]
pub enum Report {
    /// Changes cannot be heard of; until they can, it looks every [`LOOK`].
    Deaf(Fault),
    /// A run ended well.
    Done(Box<Generation>, Notes),
    /// A run found the input at fault; nothing was written.
    Faulty(Notes),
    /// The world refuses, and has refused for a while; it is tried again and again.
    Refused(Fault),
}

/// Watches until it is told to stop. `open` makes the sink of each run.
pub fn watch(
    world: &dyn World,
    listener: &mut dyn Listener,
    open: &mut dyn FnMut() -> Result<Box<dyn Sink>, Fault>,
    progress: Progress<'_>,
    tell: &mut dyn FnMut(Report),
) {
    let mut watch = Watch { world, open, progress, tell, run: Run::default() };
    let stop = listener.stop();
    while !stop.load(Ordering::SeqCst) {
        let heard = listener.listen();
        let deaf = heard.is_err();
        watch.deaf(heard);
        let pause = match watch.look(&stop) {
            Next::Look => continue,
            Next::Wait => deaf.then_some(LOOK),
            Next::WaitFor(pause) => Some(pause),
        };
        match listener.wait(pause) {
            Signal::Stop => return,
            Signal::Change => watch.heard_change(),
            Signal::Nothing => {}
        }
    }
}

/// What to do after a look.
enum Next {
    /// Look again at once.
    Look,
    /// Wait until something changes.
    Wait,
    /// Wait for this long at most.
    WaitFor(Duration),
}

/// What is remembered from one look to the next.
#[derive(Default)]
struct Run {
    /// What the last run read.
    done: Option<Fingerprint>,
    /// The names of what it read, but for empty files.
    names: BTreeSet<String>,
    /// The names of the empty files.
    empty: BTreeSet<String>,
    /// Names that were gone, or files that had become empty, at the last look.
    doubted: BTreeSet<String>,
    /// How often in a row there was something to doubt.
    doubts: u32,
    /// Faults of the last run, until it is known that they are those of what is there now.
    unreported: Option<Notes>,
    /// How many runs in a row were dropped because the sources changed meanwhile.
    stale: u32,
    /// How often in a row the world has refused.
    refused: u32,
    /// What was said of that.
    said: Option<String>,
    /// Whether it was said that changes cannot be heard of.
    deaf: bool,
}

struct Watch<'a> {
    world: &'a dyn World,
    open: &'a mut dyn FnMut() -> Result<Box<dyn Sink>, Fault>,
    progress: Progress<'a>,
    tell: &'a mut dyn FnMut(Report),
    run: Run,
}

impl Watch<'_> {
    fn deaf(&mut self, heard: Result<(), Fault>) {
        let was = std::mem::replace(&mut self.run.deaf, heard.is_err());
        if let (Err(fault), false) = (heard, was) {
            (self.tell)(Report::Deaf(fault));
        }
    }

    /// Reads the sources, and runs if they are others than those of the last run.
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
                (self.tell)(Report::Faulty(notes));
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

    /// Runs on what was read. Faults of the input are handed back: they are reported once it is known that they still hold.
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
                (self.tell)(Report::Done(Box::new(generation), notes));
                Ok(None)
            }
            Err(Failure::Input) => Ok(Some(notes)),
            Err(Failure::World(fault)) => Err(fault),
        }
    }

    /// A change begins doubts anew, and is a reason to try soon what was refused.
    fn heard_change(&mut self) {
        self.run.doubted.clear();
        if self.run.said.is_none() {
            self.run.refused = 0;
        }
    }

    fn refused(&mut self, fault: Fault) -> Next {
        let pause = LONGEST.min(FIRST * 2_u32.pow(self.run.refused.min(8)));
        self.run.refused = self.run.refused.saturating_add(1);
        let text = fault.to_string();
        if self.run.refused >= SILENT_TRIES && self.run.said.as_ref() != Some(&text) {
            self.run.said = Some(text);
            (self.tell)(Report::Refused(fault));
        }
        Next::WaitFor(pause)
    }
}

/// Takes the fingerprint, of faults of single files too.
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

/// The names of what was read, and of the files among it that are empty.
fn names(input: &Input) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut names, mut empty) = (input.companions.clone(), BTreeSet::new());
    for source in input.sources.iter() {
        let list = if source.text.trim().is_empty() { &mut empty } else { &mut names };
        list.insert(source.path.to_string());
    }
    (names, empty)
}

/// A sink that makes nothing visible once it is time to end, or once the sources are no longer those that were read. The
/// second look is taken when the sink has its locks, so that a checkout under way is not mistaken for a state. What has
/// begun to be visible is finished.
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
