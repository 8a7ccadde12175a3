//! The walk over two values side by side, which finds the fields that differ. Key order is ignored.
//!
//! Which items of two lists belong together depends on what the lists are, so the caller decides it.

use std::{collections::BTreeSet, fmt};

use super::{Mapping, Node, Value};

/// The path from an object to one of its fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FieldPath(pub Vec<PathSegment>);

/// One step of a [`FieldPath`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathSegment {
    Key(String),
    /// The list item with this name.
    Named(String),
    /// The list item at this index, counted from 0.
    Item(usize),
}

impl FieldPath {
    /// Whether the path begins with these keys. An empty key matches any list item.
    pub fn is_below(&self, keys: &[&str]) -> bool {
        let is_segment = |(step, key): (&PathSegment, &&str)| match step {
            PathSegment::Key(name) => name == key,
            PathSegment::Named(_) | PathSegment::Item(_) => key.is_empty(),
        };
        self.0.len() >= keys.len() && self.0.iter().zip(keys).all(is_segment)
    }

    /// Whether these keys lead to something below the path, and not to the path itself.
    pub fn is_above(&self, keys: &[&str]) -> bool {
        self.0.len() < keys.len() && self.is_below(&keys[..self.0.len()])
    }

    fn to(&self, step: PathSegment) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            match step {
                PathSegment::Key(name) if name.contains(['.', '[', ']', '/']) => write!(f, "[{name:?}]")?,
                PathSegment::Key(name) if at == 0 => f.write_str(name)?,
                PathSegment::Key(name) => write!(f, ".{name}")?,
                PathSegment::Named(name) => write!(f, "[name={name}]")?,
                PathSegment::Item(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// An item of two lists, before and after.
pub type ItemPair<'a> = (PathSegment, Option<&'a Node>, Option<&'a Node>);

/// Pairs the items of two lists; none if the lists are to be reported as a whole.
type Pairing = for<'a> fn(&'a [Node], &'a [Node]) -> Option<Vec<ItemPair<'a>>>;

/// Gets a field that differs: its path, and its value before and after.
type OnDifference<'f> = dyn FnMut(&FieldPath, Option<&Node>, Option<&Node>) + 'f;

/// Passes each field that differs between two values to `found`.
pub fn differences(
    before: Option<&Node>,
    after: Option<&Node>,
    pairing: Pairing,
    found: &mut OnDifference<'_>,
) {
    walk(&FieldPath::default(), (before, after), pairing, found);
}

fn walk(
    path: &FieldPath,
    (before, after): (Option<&Node>, Option<&Node>),
    pairing: Pairing,
    found: &mut OnDifference<'_>,
) {
    if before == after {
        return;
    }
    match (before.map(|node| &node.value), after.map(|node| &node.value)) {
        (Some(Value::Mapping(old)), Some(Value::Mapping(new))) => {
            for name in names(old).union(&names(new)) {
                let sides = (old.get(name), new.get(name));
                walk(&path.to(PathSegment::Key((*name).to_owned())), sides, pairing, found);
            }
        }
        (Some(Value::Sequence(old)), Some(Value::Sequence(new))) => match pairing(old, new) {
            Some(pairs) => {
                for (step, old, new) in pairs {
                    walk(&path.to(step), (old, new), pairing, found);
                }
            }
            None => found(path, before, after),
        },
        _ => found(path, before, after),
    }
}

fn names(mapping: &Mapping) -> BTreeSet<&str> {
    mapping.iter().map(|entry| &*entry.key.name).collect()
}
