//! Paths into trees, as people write them: `spec.nodePools[0].replicas`.

use std::{fmt, sync::Arc};

use super::Node;

/// A path from the root of a tree to one of its nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path(Vec<Segment>);

/// One step of a [`Path`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Segment {
    Key(Arc<str>),
    /// An item of a list, counted from 0.
    Item(usize),
}

impl Path {
    pub fn of(keys: &[&str]) -> Self {
        Self(keys.iter().map(|key| Segment::Key((*key).into())).collect())
    }

    /// The path extended by one step.
    #[must_use]
    pub fn to(&self, segment: Segment) -> Self {
        let mut segments = Vec::with_capacity(self.0.len() + 1);
        segments.extend_from_slice(&self.0);
        segments.push(segment);
        Self(segments)
    }

    /// The path extended by a key.
    #[must_use]
    pub fn key(&self, name: &str) -> Self {
        self.to(Segment::Key(name.into()))
    }

    /// The path extended by a list index.
    #[must_use]
    pub fn item(&self, index: usize) -> Self {
        self.to(Segment::Item(index))
    }

    /// Its steps.
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// The steps as text; list items are empty strings.
    pub fn names(&self) -> Vec<&str> {
        self.0
            .iter()
            .map(|segment| match segment {
                Segment::Key(name) => &**name,
                Segment::Item(_) => "",
            })
            .collect()
    }

    /// The path without its last step.
    pub fn parent(&self) -> Option<Self> {
        let (_, above) = self.0.split_last()?;
        Some(Self(above.to_vec()))
    }

    pub fn find<'a>(&self, root: &'a Node) -> Option<&'a Node> {
        self.0.iter().try_fold(root, |node, segment| match segment {
            Segment::Key(name) => node.get(name),
            Segment::Item(index) => node.as_sequence()?.get(*index),
        })
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Item(index) => write!(f, "[{index}]")?,
                Segment::Key(name) if name.contains(['.', '/', '[', ']']) || name.is_empty() => {
                    write!(f, "[{name}]")?;
                }
                Segment::Key(name) if at == 0 => f.write_str(name)?,
                Segment::Key(name) => write!(f, ".{name}")?,
            }
        }
        Ok(())
    }
}
