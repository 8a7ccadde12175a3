//! Where a cluster should be: where someone asks for it, or else where its own policy leads.

use super::situate::Target;
use crate::model::{Cluster, Date, Hold, UpgradePolicy};

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The target; none: each cluster by its policy.
    pub target: Option<Target>,
    /// The day that holds count from.
    pub today: Date,
    /// Whether clusters move although they are held.
    pub despite_hold: bool,
}

impl Asked {
    /// Where a cluster should be; `Err` says why it stays where it is.
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

    /// What holds a cluster today.
    pub fn hold<'a>(&self, cluster: &'a Cluster) -> Option<&'a Hold> {
        cluster.held(self.today).filter(|_| !self.despite_hold)
    }
}
