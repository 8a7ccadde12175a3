//! What a rendering read, and what let it through: kept only for those who want to know, so that making a tree costs
//! nothing more.
//!
//! A recorder is handed over with the context. Nodes that expressions and statements had a say in then have an origin
//! that is the number of a [`Trace`].

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::yaml::{Entry, Key, Node, Origin, Path, Value};

/// Keeps the traces of one part, beside those of what the part is made from.
#[derive(Clone, Debug, Default)]
pub struct Recorder(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    below: Option<Recorder>,
    start: u32,
    traces: Mutex<Vec<Arc<Trace>>>,
    /// What has been read since the last expression began.
    tape: Mutex<BTreeSet<Read>>,
}

/// Something that an expression read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Read {
    /// A single value of the context, or that there is none.
    Value(Path),
    /// Which entries or how many items a map or list of the context has.
    Shape(Path),
    /// What a statement of the template says, such as `#% set x = 3`.
    Statement(Origin),
    /// A map or list on the way to something; only a read of its own if nothing below it was.
    #[doc(hidden)]
    Passed(Path),
}

impl Read {
    fn path(&self) -> Option<&Path> {
        match self {
            Self::Value(path) | Self::Shape(path) | Self::Passed(path) => Some(path),
            Self::Statement(_) => None,
        }
    }
}

/// A statement that let something through, and what it read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// The statement.
    pub statement: Origin,
    /// What it read.
    pub reads: Vec<Read>,
}

/// Where a node of a rendering came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// The place in the template; it may be a trace itself.
    pub site: Option<Origin>,
    /// What its expressions read.
    pub reads: Vec<Read>,
    /// The statements that it stands in, as far as its parent does not.
    pub given: Vec<Given>,
    /// The statements that decide which entries it has; its entries know their own.
    pub shape: Vec<Given>,
    /// The lines of a text, where they came from several places.
    pub lines: Vec<Line>,
}

/// Where a line of a text came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The place in the template.
    pub site: Origin,
    /// What its expressions read.
    pub reads: Vec<Read>,
    /// The statements that it stands in.
    pub given: Vec<Given>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Recorder {
    /// A recorder that knows what this one knows, and keeps what it hears to itself.
    #[must_use]
    pub fn above(&self) -> Self {
        let start = self.0.start + u32::try_from(lock(&self.0.traces).len()).unwrap_or(u32::MAX);
        Self(Arc::new(Inner { below: Some(self.clone()), start, ..Inner::default() }))
    }

    /// The trace of an origin, if a trace tells it.
    pub fn trace(&self, origin: Origin) -> Option<Arc<Trace>> {
        let number = origin.trace()?;
        match number.checked_sub(self.0.start) {
            None => self.0.below.as_ref()?.trace(origin),
            Some(at) => lock(&self.0.traces).get(at as usize).cloned(),
        }
    }

    pub(super) fn add(&self, trace: Trace) -> Origin {
        let mut traces = lock(&self.0.traces);
        let number = u32::try_from(traces.len()).unwrap_or(u32::MAX);
        traces.push(Arc::new(trace));
        Origin::traced(self.0.start + number)
    }

    pub(super) fn read(&self, read: Read) {
        lock(&self.0.tape).insert(read);
    }

    pub(super) fn read_all(&self, reads: &[Read]) {
        lock(&self.0.tape).extend(reads.iter().cloned());
    }

    /// What has been read since this was asked last.
    pub(super) fn take(&self) -> Vec<Read> {
        let tape = std::mem::take(&mut *lock(&self.0.tape));
        let mut paths: Vec<&Path> = tape.iter().filter_map(Read::path).collect();
        paths.sort_unstable();
        let led_on = |path: &Path| {
            let next = paths.get(paths.partition_point(|other| *other <= path));
            next.is_some_and(|next| next.segments().starts_with(path.segments()))
        };
        let read = |read: &Read| match read {
            Read::Passed(path) if led_on(path) || tape.contains(&Read::Shape(path.clone())) => None,
            Read::Passed(path) => Some(Read::Shape(path.clone())),
            read => Some(read.clone()),
        };
        tape.iter().filter_map(read).collect()
    }

    /// A part of the context that an expression put into the tree: every node of it with its own path.
    pub(super) fn placed(&self, node: &Node, path: &Path, site: Origin) -> Node {
        let read = if matches!(node.value, Value::Sequence(_) | Value::Mapping(_)) {
            Read::Shape(path.clone())
        } else {
            Read::Value(path.clone())
        };
        self.read(read.clone());
        let origin = self.add(Trace { site: Some(site), reads: vec![read], ..Trace::default() });
        let value = match &node.value {
            Value::Sequence(items) => {
                let item = |(at, item): (usize, &Node)| self.placed(item, &path.item(at), site);
                Value::Sequence(Arc::new(items.iter().enumerate().map(item).collect()))
            }
            Value::Mapping(mapping) => {
                let entry = |entry: &Entry| {
                    let value = self.placed(&entry.value, &path.key(&entry.key.name), site);
                    Entry { key: Key { name: entry.key.name.clone(), origin: value.origin }, value }
                };
                Value::Mapping(Arc::new(mapping.iter().map(entry).collect()))
            }
            scalar => scalar.clone(),
        };
        Node { value, origin }
    }
}
