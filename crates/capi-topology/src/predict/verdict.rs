//! What a change means for a part of a cluster, in one word, with the fields that cause it and the rule behind it.

use super::field::Field;
use crate::role::Part;

/// What a change means.
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
        /// Before.
        from: i64,
        /// After.
        to: i64,
    },
    /// Machines are replaced.
    Rollout {
        /// How many at most.
        machines: i64,
        /// How many at least.
        least: i64,
        /// How many more there may be meanwhile, and how many less.
        surge: Option<(i64, i64)>,
        /// What rolls at the same time.
        together_with: Vec<Part>,
        /// Only when they are deleted.
        on_delete: bool,
    },
    /// Machines are replaced by ones of another Kubernetes version.
    Upgrade {
        /// Before.
        from: String,
        /// After.
        to: String,
        /// How many times: once for each version on the way that it gets.
        times: usize,
        /// Only when they are deleted.
        on_delete: bool,
    },
    /// It is created.
    Create,
    /// It is deleted with its machines.
    Delete,
    /// The API server or a webhook refuses the change; nothing happens.
    Rejected,
    /// The change is accepted, and the controller is stuck half-way.
    Wedged,
    /// The provider decides.
    ProviderDependent,
    /// It cannot be known offline.
    Opaque,
}

/// What a change means, without numbers. A later kind counts for more than an earlier one where several are found of one part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "those of `Meaning`")]
pub enum Kind {
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
    /// The same without numbers.
    pub fn kind(&self) -> Kind {
        match self {
            Self::NoChange => Kind::NoChange,
            Self::MetadataOnly => Kind::MetadataOnly,
            Self::InPlace => Kind::InPlace,
            Self::Scale { .. } => Kind::Scale,
            Self::Rollout { .. } => Kind::Rollout,
            Self::Upgrade { .. } => Kind::Upgrade,
            Self::ProviderDependent => Kind::ProviderDependent,
            Self::Create => Kind::Create,
            Self::Delete => Kind::Delete,
            Self::Wedged => Kind::Wedged,
            Self::Opaque => Kind::Opaque,
            Self::Rejected => Kind::Rejected,
        }
    }
}

/// A verdict on one part of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verdict {
    /// The part; the Cluster for what concerns all of it.
    pub subject: Part,
    /// What the change means for it.
    pub meaning: Meaning,
    /// The fields that cause it.
    pub fields: Vec<Field>,
    /// Reasons in words: Cluster API's own, refusals, or what is not known.
    pub reasons: Vec<String>,
    /// Where the rule is written.
    pub source: &'static str,
}

impl Verdict {
    /// A verdict without fields, reasons and source.
    pub fn new(subject: Part, meaning: Meaning) -> Self {
        Self { subject, meaning, fields: Vec::new(), reasons: Vec::new(), source: "" }
    }
}
