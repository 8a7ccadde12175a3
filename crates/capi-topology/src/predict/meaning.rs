//! What a change can mean for a part of a cluster: the vocabulary of findings and verdicts.

use crate::role::TopologyPart;

/// The meaning of a change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Meaning {
    /// Nothing changes.
    NoChange,
    /// Labels and annotations change; no machine is touched.
    MetadataOnly,
    /// Objects change in place; no machine is replaced.
    InPlace,
    /// The number of machines changes.
    Scale {
        /// Replicas before the change.
        from: i64,
        /// Replicas after the change.
        to: i64,
    },
    /// Machines are replaced.
    Rollout {
        /// The maximum number of replaced machines.
        machines: i64,
        /// The minimum number of replaced machines.
        least: i64,
        /// How many extra machines may exist meanwhile, and how many may be unavailable.
        surge: Option<(i64, i64)>,
        /// Other parts that roll at the same time.
        together_with: Vec<TopologyPart>,
        /// Whether machines are replaced only once someone deletes them.
        on_delete: bool,
    },
    /// Machines are replaced by ones of another Kubernetes version.
    Upgrade {
        /// Version before the change.
        from: String,
        /// Version after the change.
        to: String,
        /// How often they are replaced: once for each version that the part takes on the way.
        times: usize,
        /// How many of these times come before anybody has to act: delete machines of a pool with the strategy `OnDelete`, or
        /// end a pause. Machines are replaced at least that often.
        unaided: usize,
        /// How many extra machines may exist meanwhile, and how many may be unavailable.
        surge: Option<(i64, i64)>,
        /// Whether machines are replaced only once someone deletes them.
        on_delete: bool,
    },
    /// The part is created.
    Create,
    /// The part is deleted with its machines.
    Delete,
    /// The API server or a webhook refuses the change; nothing happens.
    Rejected,
    /// The change is accepted, but the controller gets stuck halfway.
    Wedged,
    /// The provider decides what happens.
    ProviderDependent,
    /// The outcome cannot be known offline.
    Opaque,
}

/// The meaning of a change, without numbers. If a part has several findings, the kind listed last wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "those of `Meaning`")]
pub enum MeaningKind {
    NoChange,
    MetadataOnly,
    InPlace,
    Scale,
    Rollout,
    Upgrade,
    ProviderDependent,
    Create,
    Delete,
    Wedged,
    Opaque,
    Rejected,
}

impl Meaning {
    /// Returns the meaning without numbers.
    pub fn kind(&self) -> MeaningKind {
        match self {
            Self::NoChange => MeaningKind::NoChange,
            Self::MetadataOnly => MeaningKind::MetadataOnly,
            Self::InPlace => MeaningKind::InPlace,
            Self::Scale { .. } => MeaningKind::Scale,
            Self::Rollout { .. } => MeaningKind::Rollout,
            Self::Upgrade { .. } => MeaningKind::Upgrade,
            Self::ProviderDependent => MeaningKind::ProviderDependent,
            Self::Create => MeaningKind::Create,
            Self::Delete => MeaningKind::Delete,
            Self::Wedged => MeaningKind::Wedged,
            Self::Opaque => MeaningKind::Opaque,
            Self::Rejected => MeaningKind::Rejected,
        }
    }
}
