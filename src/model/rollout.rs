//! An upgrade of many clusters in waves.

use chrono::{NaiveTime, TimeDelta, Weekday};
use chrono_tz::Tz;

use super::{Date, Label, Minor, Selector};

/// An upgrade of many clusters in waves.
#[derive(Clone, Debug)]
pub struct Rollout {
    /// What it is called.
    pub name: Label,
    /// Its file.
    pub file: String,
    /// Why.
    pub reason: String,
    /// Where the clusters should be.
    pub target: RolloutTarget,
    /// The clusters; all if there is none.
    pub selector: Option<Selector>,
    /// The waves, in order.
    pub waves: Vec<RolloutWave>,
    /// When steps may be proposed.
    pub calendar: Calendar,
    /// Clusters in progress at once, at most.
    pub max_clusters: Option<usize>,
    /// Machines of clusters in progress, at most.
    pub max_machines: Option<usize>,
    /// How long a step takes, where no health is required.
    pub settle: TimeDelta,
    /// How long a cluster may be in progress after a step.
    pub timeout: TimeDelta,
    /// Whether a report has to say that a cluster is healthy.
    pub requires_health: bool,
    /// Why it takes no step for now.
    pub paused: Option<String>,
    /// Why it takes no step any more.
    pub aborted: Option<String>,
    /// The clusters of each wave as they were when it began, by their full names; none before.
    pub frozen: Option<Vec<Vec<String>>>,
}

/// Where clusters should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RolloutTarget {
    /// On a release of this Kubernetes minor.
    Minor(Minor),
    /// On this release.
    Release(String),
    /// On the newest release of the newest minor.
    Latest,
}

/// Clusters that go together.
#[derive(Clone, Debug)]
pub struct RolloutWave {
    /// What it is called.
    pub name: String,
    /// Its clusters; the rest if there is none.
    pub selector: Option<Selector>,
    /// How long the next wave waits.
    pub soak: TimeDelta,
}

/// When steps may be proposed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calendar {
    /// Where days begin.
    pub zone: Tz,
    /// At any time if there is none.
    pub windows: Vec<Window>,
    /// Days on which nothing is proposed.
    pub freezes: Vec<Freeze>,
}

/// A part of each week.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// The days on which it begins.
    pub days: Vec<Weekday>,
    /// When it begins.
    pub from: NaiveTime,
    /// When it ends: on the next day if that is not after `from`.
    pub to: NaiveTime,
}

/// Days on which nothing is proposed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Freeze {
    /// Why.
    pub reason: String,
    /// The first one.
    pub first: Date,
    /// The last one.
    pub last: Date,
}
