//! How far a cluster follows newer releases by itself.

use super::Date;

/// What runs without a target propose for a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Upgrades {
    /// How far it follows.
    pub policy: UpgradePolicy,
    /// Why it stays where it is for now.
    pub hold: Option<Hold>,
}

/// Which releases a cluster follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum UpgradePolicy {
    /// Newer releases of its Kubernetes minor.
    #[default]
    Patch,
    /// Newer Kubernetes minors, too.
    Minor,
    /// None.
    None,
}

/// A cluster that stays where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// Why, for those who find it so.
    pub reason: String,
    /// The first day on which it no longer holds; none if someone has to take it out.
    pub until: Option<Date>,
}

impl Hold {
    /// Whether it holds on a day.
    pub fn holds(&self, today: Date) -> bool {
        self.until.is_none_or(|until| today < until)
    }
}
