//! How a cluster, a node pool or an addon leaves.

use crate::yaml::Origin;

/// How something leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removal {
    /// Why.
    pub reason: String,
    /// How far it is.
    pub step: RemovalStep,
    /// Where it says so.
    pub origin: Origin,
}

/// How far a removal is: each step is a commit of its own, applied before the next one is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RemovalStep {
    /// What protects it is taken off.
    Detach,
    /// It goes, and what it needs for that stays.
    Delete,
}

impl RemovalStep {
    /// As definitions write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Detach => "detach",
            Self::Delete => "delete",
        }
    }

    /// Reads what definitions write.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Detach, Self::Delete].into_iter().find(|step| step.as_str() == text)
    }
}
