//! The impact of a release on a cluster that moves to it from the previous one: which machines are replaced, as far as the
//! objects of the class reveal. Anything else is unknown, and unknown effects are never shown as safe.
//!
//! No clusters are examined here. What happens to the clusters of this fleet, `compare` finds ([`Rebases`](super::Rebases)):
//! where that is worse, it is added.

mod class;
mod readers;

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Release,
    difference::{Component, Difference, DifferenceScope},
    number::Bump,
};
use crate::topology::{
    TopologyPart,
    predict::{MeaningKind, class_change::ClassForecast},
};

/// A possible effect on a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RebaseEffect {
    /// Objects change in place; no machine is replaced.
    InPlace,
    AddonsChanged,
    /// Worker machines are replaced.
    WorkersReplaced,
    /// Control plane machines are replaced.
    ControlPlaneReplaced,
    /// The effect can't be determined from the class alone.
    Unknown,
}

impl RebaseEffect {
    /// All effects, from the mildest to the worst.
    pub const ALL: [Self; 5] = [
        Self::InPlace,
        Self::AddonsChanged,
        Self::WorkersReplaced,
        Self::ControlPlaneReplaced,
        Self::Unknown,
    ];

    /// The effect of what happens to a part of a cluster; none if only names and labels change.
    pub fn of(part: &TopologyPart, kind: MeaningKind) -> Option<Self> {
        let machines = match part {
            TopologyPart::ControlPlane => Self::ControlPlaneReplaced,
            TopologyPart::Pool(_) => Self::WorkersReplaced,
            TopologyPart::Infrastructure | TopologyPart::Cluster => Self::Unknown,
        };
        match kind {
            MeaningKind::NoChange | MeaningKind::MetadataOnly => None,
            MeaningKind::InPlace | MeaningKind::Scale | MeaningKind::Create => Some(Self::InPlace),
            MeaningKind::Rollout | MeaningKind::Upgrade | MeaningKind::Delete => Some(machines),
            MeaningKind::Rejected
            | MeaningKind::Wedged
            | MeaningKind::ProviderDependent
            | MeaningKind::Opaque => Some(Self::Unknown),
        }
    }

    /// The name in `release.yaml`.
    pub fn name(self) -> &'static str {
        match self {
            Self::InPlace => "inPlace",
            Self::AddonsChanged => "addonsChanged",
            Self::WorkersReplaced => "workersReplaced",
            Self::ControlPlaneReplaced => "controlPlaneReplaced",
            Self::Unknown => "unknown",
        }
    }

    /// A description of the effect.
    pub fn words(self) -> &'static str {
        match self {
            Self::InPlace => "changes apply in place",
            Self::AddonsChanged => "addons change",
            Self::WorkersReplaced => "workers are replaced",
            Self::ControlPlaneReplaced => "the control plane is replaced",
            Self::Unknown => "not all of it can be predicted",
        }
    }
}

/// The effects on a cluster, each with its reasons.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Impact {
    /// The effects. If there are none, only names change.
    pub effects: BTreeMap<RebaseEffect, BTreeSet<String>>,
}

impl Impact {
    /// Describes the effects in one sentence.
    pub fn sentence(&self) -> String {
        if self.effects.is_empty() {
            return "only names change".to_owned();
        }
        // In-place changes are mentioned only if there are no other effects.
        let shown = self
            .effects
            .keys()
            .rev()
            .filter(|effect| **effect != RebaseEffect::InPlace || self.effects.len() == 1);
        shown.map(|effect| effect.words()).collect::<Vec<_>>().join(", ")
    }

    /// The part of a semantic version that this impact increments.
    pub fn bump(&self) -> Bump {
        match self.effects.keys().next_back() {
            None | Some(RebaseEffect::InPlace) => Bump::Patch,
            Some(RebaseEffect::AddonsChanged) => Bump::Minor,
            Some(
                RebaseEffect::WorkersReplaced | RebaseEffect::ControlPlaneReplaced | RebaseEffect::Unknown,
            ) => Bump::Major,
        }
    }

    fn add(&mut self, effect: RebaseEffect, why: impl Into<String>) {
        self.effects.entry(effect).or_default().insert(why.into());
    }
}

/// Determines the impact of moving to a release. `classes` holds what happens because of its class, for each way in which
/// management clusters of the fleet are set up.
pub fn impact(new: &Release, differences: &[Difference], classes: &[ClassForecast]) -> Impact {
    let mut impact = Impact::default();
    addons(differences, &mut impact);
    beside(differences, &mut impact);
    for forecast in classes {
        class::add(forecast, new, &mut impact);
    }
    let images = differences.iter().any(|one| one.component == Component::NodeImage);
    if images && !impact.effects.keys().any(|effect| *effect >= RebaseEffect::WorkersReplaced) {
        impact.add(
            RebaseEffect::Unknown,
            "data of node images changed that no template of the class names: machines that run keep theirs, \
             unless the provider replaces them",
        );
    }
    impact
}

/// Adds the effects of changed addons. A change of what can be selected from now on (a version, a range, an upgrade limit)
/// has no effect on a cluster that moves.
fn addons(differences: &[Difference], impact: &mut Impact) {
    let is_choice = |field: &str| matches!(field.split(['.', '[']).next(), Some("versions" | "upgrade"));
    for one in differences {
        match &one.scope {
            DifferenceScope::Addon(_) if is_choice(&one.field) => {}
            DifferenceScope::Addon(what) | DifferenceScope::Installed(what) => {
                impact.add(RebaseEffect::AddonsChanged, what);
            }
            DifferenceScope::Class | DifferenceScope::Language | DifferenceScope::Beside { .. } => {}
        }
    }
}

/// Adds the effects of changes outside the class.
fn beside(differences: &[Difference], impact: &mut Impact) {
    for one in differences {
        match &one.scope {
            DifferenceScope::Beside { folder, object } => {
                impact.add(RebaseEffect::Unknown, format!("objects of `{folder}/` change: {object}"));
            }
            DifferenceScope::Language => {
                impact.add(RebaseEffect::Unknown, "templates are evaluated differently");
            }
            DifferenceScope::Class | DifferenceScope::Addon(_) | DifferenceScope::Installed(_) => {}
        }
    }
}
