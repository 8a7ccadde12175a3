//! What templates see: the names of the context, and above them those that `for` and `set` bind.

use std::sync::Arc;

use minijinja::{Value as Any, value::Object};

use super::value::to_any;
use crate::yaml::Node;

/// The values that a rendering may read, by name. Cloning shares them.
#[derive(Clone, Debug, Default)]
pub struct Context {
    root: Arc<Root>,
}

/// Every expression's read of the context comes through here.
#[derive(Clone, Debug, Default)]
struct Root {
    names: Vec<(Arc<str>, Any)>,
}

impl Context {
    /// Without names.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a name, in place of what it meant before.
    pub fn set(&mut self, name: &str, node: impl Into<Node>) -> &mut Self {
        let root = Arc::make_mut(&mut self.root);
        let value = to_any(&node.into());
        match root.names.iter_mut().find(|(known, _)| **known == *name) {
            Some((_, old)) => *old = value,
            None => root.names.push((name.into(), value)),
        }
        self
    }
}

/// The names that are bound at one place of a template.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    frame: Arc<Frame>,
    value: Any,
}

#[derive(Debug)]
struct Frame {
    bound: Vec<(Arc<str>, Any)>,
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

    /// The same with more names bound.
    pub(super) fn bind(&self, bound: Vec<(Arc<str>, Any)>) -> Self {
        let outer = Some(self.frame.clone());
        Self::of(Frame { bound, outer, root: self.frame.root.clone() })
    }

    /// What a name means.
    pub(super) fn get(&self, name: &str) -> Option<Any> {
        self.frame.get_value_by_str(name)
    }

    /// The names as the value that expressions are evaluated over.
    pub(super) fn value(&self) -> Any {
        self.value.clone()
    }
}

impl Object for Frame {
    fn get_value(self: &Arc<Self>, key: &Any) -> Option<Any> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Any> {
        let find = |names: &[(Arc<str>, Any)]| {
            names.iter().find(|(name, _)| **name == *key).map(|(_, value)| value.clone())
        };
        let mut frame = Some(&**self);
        while let Some(Frame { bound, outer, .. }) = frame {
            if let Some(value) = find(bound) {
                return Some(value);
            }
            frame = outer.as_deref();
        }
        find(&self.root.names)
    }
}
