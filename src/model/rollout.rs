//! An upgrade of many clusters in waves.

use chrono::TimeDelta;

use super::{Calendar, Label, Minor, Selector};

/// An upgrade of many clusters in waves.
#[derive(Clone, Debug)]
pub struct Rollout {
    /// The name of the rollout.
    pub name: Label,
    /// The path of its definition.
    pub file: String,
    /// The reason for it.
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
    /// The clusters of each wave when the rollout began, by full name; none before.
    pub frozen: Option<Vec<Vec<String>>>,
}

/// The target of a rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RolloutTarget {
    /// A release of this Kubernetes minor.
    Minor(Minor),
    /// This release.
    Release(String),
    /// The newest release of the newest minor.
    Latest,
}

/// A group of clusters that are upgraded together.
#[derive(Clone, Debug)]
pub struct RolloutWave {
    /// The name of the wave.
    pub name: String,
    /// Its clusters; the remaining ones if there is no selector.
    pub selector: Option<Selector>,
    /// The time that the next wave waits.
    pub soak: TimeDelta,
}
