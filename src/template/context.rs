//! The names that templates see: those of the context, and in front of them those bound by `for` and `set`.

use std::sync::Arc;

use minijinja::{Value as Any, value::Object};

use super::{
    record::{Read, Recorder},
    value::{Trail, to_any_at},
};
use crate::yaml::{Node, Path};

/// The values that a rendering may read, by name. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Context {
    root: Arc<Root>,
}

/// Every read of the context by an expression goes through this.
#[derive(Clone, Debug, Default)]
struct Root {
    names: Vec<(Arc<str>, Any)>,
    recorder: Option<Recorder>,
}

impl Context {
    /// Creates a context without names.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a context without names that reports reads to the recorder.
    pub fn recorded(recorder: Option<Recorder>) -> Self {
        Self { root: Arc::new(Root { names: Vec::new(), recorder }) }
    }

    /// The recorder of reads, if there is one.
    pub(super) fn recorder(&self) -> Option<&Recorder> {
        self.root.recorder.as_ref()
    }

    /// Sets a name and replaces its previous value.
    pub fn set(&mut self, name: &str, node: impl Into<Node>) -> &mut Self {
        let root = Arc::make_mut(&mut self.root);
        let trail = root.recorder.clone().map(|recorder| Trail { path: Path::of(&[name]), recorder });
        let value = to_any_at(&node.into(), trail);
        match root.names.iter_mut().find(|(known, _)| **known == *name) {
            Some((_, old)) => *old = value,
            None => root.names.push((name.into(), value)),
        }
        self
    }
}

/// The names that are bound at one position of a template.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    frame: Arc<Frame>,
    value: Any,
}

/// A name that a statement binds.
#[derive(Debug)]
pub(super) struct Bound {
    pub(super) name: Arc<str>,
    pub(super) value: Any,
    /// The reads behind its value, if they are recorded.
    pub(super) reads: Vec<Read>,
}

impl Bound {
    pub(super) fn new(name: Arc<str>, value: Any) -> Self {
        Self { name, value, reads: Vec::new() }
    }
}

#[derive(Debug)]
struct Frame {
    bound: Vec<Bound>,
    outer: Option<Arc<Frame>>,
    root: Arc<Root>,
}

impl Scope {
    pub(super) fn new(context: &Context) -> Self {
        Self::of(Frame { bound: Vec::new(), outer: None, root: context.root.clone() })
    }

    fn of(frame: Frame) -> Self {
        let frame = Arc::new(frame);
        Self { value: Any::from_dyn_object(frame.clone()), frame }
    }

    /// The same scope with more names bound.
    pub(super) fn bind(&self, bound: Vec<Bound>) -> Self {
        let outer = Some(self.frame.clone());
        Self::of(Frame { bound, outer, root: self.frame.root.clone() })
    }

    pub(super) fn get(&self, name: &str) -> Option<Any> {
        self.frame.get_value_by_str(name)
    }

    /// The scope as the value in which expressions are evaluated.
    pub(super) fn value(&self) -> Any {
        self.value.clone()
    }
}

impl Object for Frame {
    fn get_value(self: &Arc<Self>, key: &Any) -> Option<Any> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Any> {
        let mut frame = Some(&**self);
        while let Some(Frame { bound, outer, .. }) = frame {
            if let Some(found) = bound.iter().find(|bound| *bound.name == *key) {
                if let Some(recorder) = &self.root.recorder {
                    recorder.read_all(&found.reads);
                }
                return Some(found.value.clone());
            }
            frame = outer.as_deref();
        }
        self.root.names.iter().find(|(name, _)| **name == *key).map(|(_, value)| value.clone())
    }
}
