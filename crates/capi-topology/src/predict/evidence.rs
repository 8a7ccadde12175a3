//! The finding of a rule about one part of a cluster: [`Evidence`].
//!
//! Evidence changes no verdict. [`verdict`](super::verdict) decides the verdict from all evidence about a part.

use super::field::Field;
use super::meaning::{Meaning, MeaningKind};
use super::reason::Reason;
use super::rules::Rule;
use crate::role::TopologyPart;

/// The finding of a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RuleOutcome {
    /// The meaning of the change.
    Means(Meaning),
    /// The finding may not come true: the outcome is unknown, but the reasons of the finding are kept.
    Unsure,
    /// Cluster API stops before it gets to the part, so nothing happens to it.
    NotReached,
    /// Its machines stay as they are for now.
    Held,
    /// A rollout does not follow the numbers of the Cluster.
    SurgeUnknown,
    /// It is unknown whether these parts roll at the same time.
    NotTogether(Vec<TopologyPart>),
    /// Reasons to add if a finding is of such a kind.
    Remark(On),
}

/// The kinds of findings to which a remark applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum On {
    /// Only these kinds.
    Only(&'static [MeaningKind]),
    /// All kinds except these.
    AllBut(&'static [MeaningKind]),
}

impl On {
    pub(super) const ALL: Self = Self::AllBut(&[]);

    pub(super) fn has(self, kind: MeaningKind) -> bool {
        match self {
            Self::Only(kinds) => kinds.contains(&kind),
            Self::AllBut(kinds) => !kinds.contains(&kind),
        }
    }
}

/// The finding of one rule about one part.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Evidence {
    /// The affected part.
    pub part: TopologyPart,
    pub rule: Rule,
    /// The finding.
    pub outcome: RuleOutcome,
    /// The fields that lead to the finding.
    pub fields: Vec<Field>,
    /// The reasons for the finding.
    pub reasons: Vec<Reason>,
    /// Whether a runtime extension decides the outcome.
    pub by_extension: bool,
    /// The source of the rule; none if the source of another finding is shown instead.
    pub source: Option<&'static str>,
}

impl Evidence {
    /// Creates evidence without fields, reasons or source.
    pub(super) fn new(part: TopologyPart, rule: Rule, outcome: RuleOutcome) -> Self {
        let (fields, reasons) = (Vec::new(), Vec::new());
        Self { part, rule, outcome, fields, reasons, by_extension: false, source: None }
    }

    /// Creates evidence that the outcome is unknown, whatever else was found.
    pub(super) fn unknown(part: TopologyPart, rule: Rule, source: &'static str) -> Self {
        Self { source: Some(source), ..Self::new(part, rule, RuleOutcome::Means(Meaning::Opaque)) }
    }

    /// Creates a remark on findings of such kinds.
    pub(super) fn remark(part: TopologyPart, rule: Rule, on: On) -> Self {
        Self::new(part, rule, RuleOutcome::Remark(on))
    }

    /// Adds a reason.
    #[must_use]
    pub(super) fn because(mut self, reason: impl Into<Reason>) -> Self {
        self.reasons.push(reason.into());
        self
    }
}
