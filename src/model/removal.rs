//! The removal of a cluster, a node pool or an addon.

use crate::yaml::Origin;

/// A removal in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removal {
    /// Why it goes, as the definition says.
    pub reason: String,
    /// The current step.
    pub step: RemovalStep,
    /// The origin of the step.
    pub origin: Origin,
}

/// The step of a removal. Each step is a commit of its own, which must be applied before the next step begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RemovalStep {
    /// The protection against deletion is removed.
    Detach,
    /// The object is deleted; everything that its deletion needs stays.
    Delete,
}

impl RemovalStep {
    /// The name in definitions.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Detach => "detach",
            Self::Delete => "delete",
        }
    }

    /// Parses the name in definitions.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Detach, Self::Delete].into_iter().find(|step| step.as_str() == text)
    }
}
