//! What a change of class may do to a part of a Cluster.

use super::meaning::MeaningKind;
use crate::role::TopologyPart;

/// Something that may happen to a part of a Cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct ClassEffect {
    /// The part. A pool has the name of its class of workers.
    pub part: TopologyPart,
    /// What may happen to it.
    pub kind: MeaningKind,
    /// What in the class leads to it.
    pub cause: Cause,
}

impl ClassEffect {
    pub(super) fn new(part: TopologyPart, kind: MeaningKind, why: impl Into<String>) -> Self {
        Self { part, kind, cause: Cause::Class(why.into()) }
    }
}

/// The cause of an effect, in words.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Fields of the part's objects, as templates and settings of the class have them.
    Fields(String),
    /// Something that the class has once, such as a patch or a variable.
    Class(String),
}
