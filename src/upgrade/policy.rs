//! The target of a cluster: as requested, or according to its own policy.

use super::situate::Target;
use crate::model::{Cluster, Date, Hold, UpgradePolicy};

/// The options of an upgrade.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The target; none if each cluster follows its policy.
    pub target: Option<Target>,
    /// The date for evaluating holds.
    pub today: Date,
    /// Whether clusters on hold are upgraded anyway.
    pub despite_hold: bool,
}

impl Asked {
    /// The target of a cluster. `Err` explains why it stays as it is.
    pub fn of(&self, cluster: &Cluster) -> Result<Target, String> {
        if let Some(hold) = self.hold(cluster) {
            let until = hold.until.map(|date| format!("until {date}: ")).unwrap_or_default();
            return Err(format!("{until}{}", hold.reason));
        }
        match (&self.target, cluster.upgrades.policy) {
            (Some(target), _) => Ok(target.clone()),
            (None, UpgradePolicy::Patch) => Ok(Target::Newest),
            (None, UpgradePolicy::Minor) => Ok(Target::Latest),
            (None, UpgradePolicy::None) => Err("`upgrades.policy` is `none`".to_owned()),
        }
    }

    /// The hold that applies to a cluster today.
    pub fn hold<'a>(&self, cluster: &'a Cluster) -> Option<&'a Hold> {
        cluster.held(self.today).filter(|_| !self.despite_hold)
    }
}
