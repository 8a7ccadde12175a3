//! An upgrade of many clusters in waves.

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;

use super::{Calendar, Label, Minor, Selector};

/// An upgrade of many clusters in waves.
#[derive(Clone, Debug)]
pub struct Rollout {
    pub name: Label,
    /// The path of its definition.
    pub file: String,
    pub reason: String,
    /// The target of the clusters.
    pub target: RolloutTarget,
    /// The clusters that take part; all if there is no selector.
    pub selector: Option<Selector>,
    /// The waves, in order.
    pub waves: Vec<RolloutWave>,
    /// When steps may be proposed.
    pub calendar: Calendar,
    /// The greatest number of clusters in progress at once.
    pub max_clusters: Option<usize>,
    /// The greatest number of machines in the clusters in progress.
    pub max_machines: Option<usize>,
    /// The assumed duration of a step if no health is required.
    pub settle: TimeDelta,
    /// The longest time that a cluster may be in progress after a step.
    pub timeout: TimeDelta,
    /// Whether a health report must confirm that a cluster is healthy.
    pub requires_health: bool,
    /// Why no steps are taken for now.
    pub paused: Option<String>,
    /// Why no more steps are taken.
    pub aborted: Option<String>,
    /// What was decided when it began; none before.
    pub frozen: Option<Frozen>,
}

impl Rollout {
    /// Whether it has begun, and is neither done nor aborted. Until then, its clusters take no other steps.
    pub fn is_active(&self) -> bool {
        self.aborted.is_none() && self.frozen.as_ref().is_some_and(|frozen| !frozen.is_done)
    }

    /// Whether it is recorded as done.
    pub fn is_done(&self) -> bool {
        self.frozen.as_ref().is_some_and(|frozen| frozen.is_done)
    }

    /// Each cluster of an active rollout, by full name, with that rollout.
    pub fn owners<'a>(rollouts: impl IntoIterator<Item = &'a Self>) -> BTreeMap<&'a str, &'a Self> {
        let of = |rollout: &'a Self| rollout.clusters().map(move |name| (name, rollout));
        rollouts.into_iter().filter(|one| one.is_active()).flat_map(of).collect()
    }

    /// Its clusters since it began, by full name.
    pub fn clusters(&self) -> impl Iterator<Item = &str> {
        self.frozen.iter().flat_map(|frozen| &frozen.waves).flatten().map(String::as_str)
    }
}

/// What a rollout keeps to from its first step on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frozen {
    /// The clusters of each wave, by full name.
    pub waves: Vec<Vec<String>>,
    /// The releases that its clusters move to. A newer release of the same minor is not used; clusters of a stack without a
    /// release here use any.
    pub releases: BTreeSet<String>,
    /// Whether all clusters are there and settled.
    pub is_done: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RolloutTarget {
    /// A release of this Kubernetes minor.
    Minor(Minor),
    Release(String),
    /// The newest release of the newest minor.
    Latest,
}

/// A group of clusters that are upgraded together.
#[derive(Clone, Debug)]
pub struct RolloutWave {
    pub name: String,
    /// Its clusters; the remaining ones if there is no selector.
    pub selector: Option<Selector>,
    /// The time that the next wave waits.
    pub soak: TimeDelta,
}
