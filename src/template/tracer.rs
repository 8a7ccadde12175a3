//! Tracks the statements and texts that surround the current position of a rendering, if reads are recorded.

use std::sync::Arc;

use minijinja::Value as Any;

use super::{
    context::Bound,
    record::{EnclosingStatement, Line, Read, Recorder, Trace},
    value::{Shared, Trail, is_collection, to_any},
};
use crate::yaml::{Node, Origin, Path, Segment};

/// The current position of a rendering.
#[derive(Debug)]
pub(super) struct Tracer {
    pub(super) recorder: Recorder,
    /// The open statements, outermost first.
    given: Vec<EnclosingStatement>,
    /// For each open collection or text, the statements between its entries.
    shapes: Vec<Vec<EnclosingStatement>>,
    /// The lines of the current text.
    lines: Vec<Line>,
}

/// The path of a value in the context, if it is part of the context.
fn trail(value: &Any) -> Option<&Trail> {
    value.downcast_object_ref::<Shared>()?.trail.as_ref()
}

impl Tracer {
    pub(super) fn new(recorder: Recorder) -> Self {
        Self { recorder, given: Vec::new(), shapes: Vec::new(), lines: Vec::new() }
    }

    pub(super) fn depth(&self) -> usize {
        self.given.len()
    }

    /// Enters a statement.
    pub(super) fn given(&mut self, statement: Origin, reads: Vec<Read>, decides: bool) {
        let given = EnclosingStatement { statement, reads };
        if let (true, Some(shape)) = (decides, self.shapes.last_mut()) {
            shape.push(given.clone());
        }
        self.given.push(given);
    }

    /// Leaves the statements opened since `base`.
    pub(super) fn leave(&mut self, base: usize) {
        self.given.truncate(base);
    }

    pub(super) fn open(&mut self) {
        self.shapes.push(Vec::new());
    }

    /// The origin of a collection, after its entries are complete.
    pub(super) fn close(&mut self, site: Origin) -> Origin {
        let shape = self.shapes.pop().unwrap_or_default();
        if shape.is_empty() {
            return site;
        }
        self.recorder.add(Trace { site: Some(site), shape, ..Trace::default() })
    }

    /// The origin of something inside the statements opened since `base`.
    pub(super) fn within(&self, origin: Origin, base: usize) -> Origin {
        match self.given.get(base..) {
            None | Some([]) => origin,
            Some(given) => {
                self.recorder.add(Trace { site: Some(origin), given: given.to_vec(), ..Trace::default() })
            }
        }
    }

    /// The node of an expression's value.
    pub(super) fn made(&self, node: Node, value: &Any, reads: Vec<Read>, site: Origin) -> Node {
        if !is_collection(&node) {
            let origin = self.recorder.add(Trace { site: Some(site), reads, ..Trace::default() });
            return node.with_origin(origin);
        }
        let reads = beside(reads, trail(value));
        if reads.is_empty() {
            return node;
        }
        // All other reads of the expression affect the whole collection.
        let given = vec![EnclosingStatement { statement: site, reads }];
        let trace = Trace { site: Some(node.origin), given, ..Trace::default() };
        let origin = self.recorder.add(trace);
        node.with_origin(origin)
    }

    /// Binds a name to a value. A value from the context keeps its path.
    pub(super) fn bound(
        name: Arc<str>,
        value: Any,
        node: &Node,
        reads: Vec<Read>,
        statement: Origin,
    ) -> Bound {
        let mut reads = beside(reads, trail(&value));
        reads.push(Read::Statement(statement));
        let value = if trail(&value).is_some() { value } else { to_any(node) };
        Bound { name, value, reads }
    }

    pub(super) fn begin_text(&mut self) {
        self.lines.clear();
        self.open();
    }

    /// Starts a line of the text.
    pub(super) fn line(&mut self, site: Origin, base: usize) {
        let given = self.given.get(base..).unwrap_or_default().to_vec();
        self.lines.push(Line { site, reads: Vec::new(), given });
    }

    /// Drops the last line, which is empty because the text ends in a line break.
    pub(super) fn unline(&mut self) {
        self.lines.pop();
    }

    /// Records text from an expression that contains this many line breaks.
    pub(super) fn wrote(&mut self, breaks: usize) {
        let reads = self.recorder.take();
        let Some(line) = self.lines.last_mut() else { return };
        for read in reads {
            if !line.reads.contains(&read) {
                line.reads.push(read);
            }
        }
        let line = line.clone();
        self.lines.extend(std::iter::repeat_n(line, breaks));
    }

    pub(super) fn end_text(&mut self, site: Origin) -> Origin {
        let shape = self.shapes.pop().unwrap_or_default();
        let mut lines = std::mem::take(&mut self.lines);
        if let ([only], true) = (lines.as_mut_slice(), shape.is_empty()) {
            let reads = std::mem::take(&mut only.reads);
            return self.recorder.add(Trace { site: Some(site), reads, ..Trace::default() });
        }
        self.recorder.add(Trace { site: Some(site), shape, lines, ..Trace::default() })
    }
}

/// Drops the read of the value itself, because the value has its own trace.
fn beside(mut reads: Vec<Read>, trail: Option<&Trail>) -> Vec<Read> {
    if let Some(trail) = trail {
        reads.retain(|read| !matches!(read, Read::Shape(path) if *path == trail.path));
    }
    reads
}

/// The collection that a loop iterates over, and the reads behind its names.
pub(super) struct LoopSource {
    reads: Vec<Read>,
    /// The path of the map or list, if the loop iterates directly over a part of the context.
    over: Option<Path>,
}

impl LoopSource {
    /// Creates the tracking of a loop over the value `over`, which is based on `reads`.
    pub(super) fn new(over: &Any, text: &str, reads: Vec<Read>) -> Self {
        let itself = trail(over).map(|trail| trail.path.clone());
        let pairs = || {
            let is_items = text.trim_end().ends_with("| items") || text.trim_end().ends_with("|items");
            let shapes = reads.iter().filter_map(|read| match read {
                Read::Shape(path) => Some(path),
                _ => None,
            });
            shapes.filter(|_| is_items).min_by_key(|path| path.segments().len()).cloned()
        };
        let over = itself.or_else(pairs);
        Self { reads, over }
    }

    /// The reads that decide the number of iterations.
    pub(super) fn shape(&self) -> Vec<Read> {
        match &self.over {
            Some(over) => {
                let inside = |path: &Path| path != over && path.segments().starts_with(over.segments());
                let beside = |read: &&Read| match read {
                    Read::Value(path) | Read::Shape(path) | Read::Passed(path) => !inside(path),
                    Read::Statement(_) => true,
                };
                let mut reads: Vec<_> = self.reads.iter().filter(beside).cloned().collect();
                if !reads.contains(&Read::Shape(over.clone())) {
                    reads.push(Read::Shape(over.clone()));
                }
                reads
            }
            None => self.reads.clone(),
        }
    }

    /// The reads that one iteration depends on: those of the list, and the shape of its item if that is a collection of the
    /// context.
    pub(super) fn turn(&self, values: &[(Arc<str>, Any)]) -> Vec<Read> {
        let mut reads = self.shape();
        if let Some(item) = values.iter().find_map(|(_, value)| trail(value)) {
            reads.push(Read::Shape(item.path.clone()));
        }
        reads
    }

    /// The names of one iteration, each with the reads behind it.
    pub(super) fn bound(&self, index: usize, values: Vec<(Arc<str>, Any)>) -> Vec<Bound> {
        let pair = match values.as_slice() {
            [(_, key), _] => key.as_str().map(str::to_owned),
            _ => None,
        };
        let single = values.len() == 1;
        let one = |(at, (name, value)): (usize, (Arc<str>, Any))| {
            let reads = match (&self.over, &pair) {
                _ if trail(&value).is_some() => Vec::new(),
                (Some(over), _) if single => {
                    vec![Read::Value(over.to(Segment::Item(index)))]
                }
                (Some(over), Some(key)) if at == 1 => vec![Read::Value(over.key(key))],
                (Some(over), Some(_)) => vec![Read::Shape(over.clone())],
                _ => self.reads.clone(),
            };
            Bound { name, value, reads }
        };
        values.into_iter().enumerate().map(one).collect()
    }
}
