//! Records what a rendering read and which statements it passed through. It is only active on request, so that normal
//! generation pays nothing.
//!
//! The recorder is passed along with the context. The origin of a node that expressions or statements affected is then the
//! number of a [`Trace`].

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::yaml::{Entry, Key, Node, Origin, Path, Value};

/// Keeps the traces of one part on top of those of its sources.
#[derive(Clone, Debug, Default)]
pub struct Recorder(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    below: Option<Recorder>,
    start: u32,
    traces: Mutex<Vec<Arc<Trace>>>,
    /// The reads since the current expression started.
    tape: Mutex<BTreeSet<Read>>,
}

/// One read of an expression.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Read {
    /// A single value of the context, or its absence.
    Value(Path),
    /// The keys of a map or the number of items of a list in the context.
    Shape(Path),
    /// The value from a statement of the template, such as `#% set x = 3`.
    Statement(Origin),
    /// A map or list on a path. It counts as a read only if nothing below it was read.
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

/// A statement that enclosed a result, and its reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnclosingStatement {
    pub statement: Origin,
    /// The reads of its expression.
    pub reads: Vec<Read>,
}

/// The sources of a rendered node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// The place in the template; it may be a trace itself.
    pub site: Option<Origin>,
    /// The reads of its expressions.
    pub reads: Vec<Read>,
    /// The statements around it, except those that also enclose its parent.
    pub given: Vec<EnclosingStatement>,
    /// The statements that decide which entries it has. Each entry's own trace lists the statements around that entry.
    pub shape: Vec<EnclosingStatement>,
    /// The lines of a text, if they have several sources.
    pub lines: Vec<Line>,
}

/// The sources of a line of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The place in the template.
    pub site: Origin,
    /// The reads of its expressions.
    pub reads: Vec<Read>,
    /// The statements around it.
    pub given: Vec<EnclosingStatement>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Recorder {
    /// Creates a recorder on top of this one: it sees the existing traces and keeps new ones to itself.
    #[must_use]
    pub fn above(&self) -> Self {
        let start = self.0.start + u32::try_from(lock(&self.0.traces).len()).unwrap_or(u32::MAX);
        Self(Arc::new(Inner { below: Some(self.clone()), start, ..Inner::default() }))
    }

    /// The trace of an origin, if it has one.
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

    /// The reads since the last call.
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

    /// Traces a part of the context that an expression put into the tree; every node of it gets its own path.
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
