//! How far a cluster follows newer releases automatically.

use chrono::{DateTime, Utc};

use super::{Calendar, Date};

/// The upgrades that are proposed for a cluster if no target is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Upgrades {
    /// Which newer releases it follows.
    pub policy: UpgradePolicy,
    /// The hold that stops upgrades for now.
    pub hold: Option<Hold>,
    /// The maintenance windows in which steps are taken; at any time if there are none.
    pub windows: Option<Calendar>,
}

impl Upgrades {
    /// Explains why no step may be taken at a moment; none if a step may be taken.
    pub fn outside_of_windows(&self, now: DateTime<Utc>) -> Option<String> {
        let calendar = self.windows.as_ref()?;
        let closed = calendar.closed(now)?;
        let until = closed.until.map(|until| format!(" until {}", calendar.local(until))).unwrap_or_default();
        Some(format!("outside of its maintenance windows{until}"))
    }
}

/// Which newer releases a cluster follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum UpgradePolicy {
    /// Newer releases of its Kubernetes minor.
    #[default]
    Patch,
    /// Newer Kubernetes minors, too.
    Minor,
    /// No newer releases.
    None,
}

/// A hold on the upgrades of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The reason, for readers of the definition.
    pub reason: String,
    /// The first day on which it no longer applies; none if it applies until removed.
    pub until: Option<Date>,
}

impl Hold {
    /// Reports whether the hold applies on a day.
    pub fn holds(&self, today: Date) -> bool {
        self.until.is_none_or(|until| today < until)
    }
}
