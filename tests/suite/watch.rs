//! The loop of `watch` with a world in memory, in which events happen in a fixed order.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use stackloom::{
    note::{Fault, Notes},
    tree::{Changes, MemorySink, Part, Sink, TreePath},
    watch::{Listener, Signal, WatchEvent, watch},
    world::{Files, Input, World},
};

use super::{sandbox, support};

/// An event that changes the sources.
type Event = Box<dyn FnOnce(&mut Files)>;

/// A world, with the events while the loop waits and while a run generates its parts.
#[derive(Default)]
struct Stage {
    files: RefCell<Files>,
    waits: RefCell<Vec<(Event, Signal)>>,
    /// The requested pauses.
    pauses: RefCell<Vec<Option<Duration>>>,
    during: RefCell<Vec<Event>>,
    refusals: Cell<usize>,
    deaf: Cell<bool>,
    stop: Arc<AtomicBool>,
    /// The number of commits to the sink.
    committed: Cell<usize>,
}

impl World for Stage {
    fn read(&self, notes: &mut Notes) -> Result<Input, Fault> {
        self.files.borrow().read(notes)
    }
}

struct FakeListener(Rc<Stage>);

impl Listener for FakeListener {
    fn listen(&mut self) -> Result<(), Fault> {
        if self.0.deaf.get() { Err(Fault::new("deaf")) } else { Ok(()) }
    }

    fn wait(&mut self, at_most: Option<Duration>) -> Signal {
        self.0.pauses.borrow_mut().push(at_most);
        let mut waits = self.0.waits.borrow_mut();
        if waits.is_empty() {
            return Signal::Stop;
        }
        let (event, signal) = waits.remove(0);
        event(&mut self.0.files.borrow_mut());
        signal
    }

    fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0.stop)
    }
}

/// A sink that counts commits in a stage. The flag tells whether the run's event already happened.
struct Counting(MemorySink, Rc<Stage>, bool);

impl Sink for Counting {
    fn begin(&mut self, notes: &mut Notes) -> Result<(), Fault> {
        if self.1.refusals.get() > 0 {
            self.1.refusals.set(self.1.refusals.get() - 1);
            return Err(Fault::new("locked"));
        }
        self.0.begin(notes)
    }

    fn parts(&mut self, parts: Vec<Part>) -> Result<(), Fault> {
        let event = if self.2 { None } else { self.1.during.borrow_mut().pop() };
        self.2 = true;
        if let Some(event) = event {
            event(&mut self.1.files.borrow_mut());
        }
        self.0.parts(parts)
    }

    fn keep(&mut self, folder: TreePath) {
        self.0.keep(folder);
    }

    fn commit(&mut self, notes: &mut Notes, message: &dyn Fn(&Changes) -> String) -> Result<Changes, Fault> {
        self.1.committed.set(self.1.committed.get() + 1);
        self.0.commit(notes, message)
    }
}

const ONE: &str = "clusters/blue/one.yaml";

fn stage() -> Rc<Stage> {
    let files = sandbox::snapshot(&support::package().join("tests/cases/_base"));
    let files = files.into_iter().filter_map(|(path, bytes)| Some((path, String::from_utf8(bytes).ok()?)));
    let stage = Stage::default();
    stage.files.borrow_mut().0.extend(files.filter(|(_, text)| text != "folder"));
    assert!(stage.files.borrow().0.contains_key(ONE));
    Rc::new(stage)
}

/// The reports of the loop, as words.
fn reported(stage: &Rc<Stage>) -> Vec<&'static str> {
    let mut all = Vec::new();
    let mut open = || -> Result<Box<dyn Sink>, Fault> {
        Ok(Box::new(Counting(MemorySink::default(), Rc::clone(stage), false)))
    };
    watch(&**stage, &mut FakeListener(Rc::clone(stage)), &mut open, &|_, _| {}, &mut |what| {
        all.push(match what {
            WatchEvent::Deaf(_) => "deaf",
            WatchEvent::Done(..) => "done",
            WatchEvent::Faulty(_) => "faulty",
            WatchEvent::Refused(_) => "refused",
        });
    });
    all
}

fn save(path: &'static str, text: impl Into<String>) -> Event {
    let text = text.into();
    Box::new(move |files| {
        files.0.insert(path.to_owned(), text);
    })
}

fn comment(mark: &'static str) -> Event {
    Box::new(move |files| files.0.get_mut(ONE).unwrap().extend(["# ", mark, "\n"]))
}

fn nothing() -> Event {
    Box::new(|_| {})
}

fn signal(stage: &Stage, event: Event, signal: Signal) {
    stage.waits.borrow_mut().push((event, signal));
}

#[test]
fn only_other_content_starts_a_run() {
    let stage = stage();
    signal(&stage, nothing(), Signal::Change);
    signal(&stage, comment("a"), Signal::Change);
    signal(&stage, nothing(), Signal::Change);
    signal(&stage, save("README.md", "no source"), Signal::Change);
    assert_eq!(reported(&stage), ["done", "done"]);
    assert_eq!(stage.pauses.borrow().as_slice(), [None; 5]);
}

#[test]
fn a_save_during_a_run_drops_it_and_is_not_lost() {
    let stage = stage();
    stage.during.borrow_mut().push(comment("meanwhile"));
    signal(&stage, nothing(), Signal::Nothing);
    assert_eq!(reported(&stage), ["done"]);
    assert_eq!(stage.committed.get(), 1, "a tree was made visible that nobody had saved so");
}

#[test]
fn saves_without_end_are_let_through_now_and_then() {
    let stage = stage();
    for _ in 0..40 {
        stage.during.borrow_mut().push(comment("more"));
        signal(&stage, nothing(), Signal::Change);
    }
    let reported = reported(&stage);
    assert!(reported.len() > 3 && reported.iter().all(|what| *what == "done"), "{reported:?}");
}

#[test]
fn an_error_is_reported_once_it_is_certain() {
    let stage = stage();
    signal(&stage, save("clusters/blue/bad.yaml", "kind: ["), Signal::Change);
    signal(&stage, nothing(), Signal::Change);
    assert_eq!(reported(&stage), ["done", "faulty"]);
}

#[test]
fn a_definition_that_disappears_for_a_moment_is_not_removed() {
    for empty in [false, true] {
        let stage = stage();
        let text = stage.files.borrow().0[ONE].clone();
        let gone: Event = Box::new(move |files| {
            if empty {
                files.0.insert(ONE.to_owned(), String::new())
            } else {
                files.0.remove(ONE)
            };
        });
        signal(&stage, gone, Signal::Change);
        signal(&stage, nothing(), Signal::Change);
        signal(&stage, save(ONE, text), Signal::Change);
        assert_eq!(reported(&stage), ["done"]);
        let pauses = stage.pauses.borrow();
        assert!(pauses[0].is_none() && pauses[1].is_some() && pauses[1] == pauses[2] && pauses[3].is_none());
    }
}

#[test]
fn a_definition_that_stays_away_is_removed() {
    let stage = stage();
    let gone: Event = Box::new(|files| {
        files.0.remove(ONE);
    });
    signal(&stage, gone, Signal::Change);
    signal(&stage, nothing(), Signal::Nothing);
    assert_eq!(reported(&stage).len(), 2);
}

#[test]
fn a_failure_is_reported_once_and_late() {
    let stage = stage();
    stage.refusals.set(4);
    (0..4).for_each(|_| signal(&stage, nothing(), Signal::Nothing));
    assert_eq!(reported(&stage), ["done"]);

    let stage = self::stage();
    stage.refusals.set(12);
    (0..12).for_each(|_| signal(&stage, nothing(), Signal::Nothing));
    assert_eq!(reported(&stage), ["refused", "done"]);
    let pauses = stage.pauses.borrow();
    assert!(pauses[..12].is_sorted(), "{pauses:?}");
    assert_eq!(pauses[11], Some(Duration::from_secs(5)));
}

#[test]
fn deaf_is_not_blind() {
    let stage = stage();
    stage.deaf.set(true);
    signal(&stage, comment("a"), Signal::Nothing);
    assert_eq!(reported(&stage), ["deaf", "done", "done"]);
    assert_eq!(stage.pauses.borrow().as_slice(), [Some(Duration::from_secs(2)); 2]);
}

#[test]
fn the_end_stops_a_run_before_anything_is_visible() {
    let stage = stage();
    let stop = Arc::clone(&stage.stop);
    stage.during.borrow_mut().push(Box::new(move |_| stop.store(true, Ordering::SeqCst)));
    assert!(reported(&stage).is_empty());
    assert_eq!(stage.committed.get(), 0);
}
