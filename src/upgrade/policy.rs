//! The target of a cluster: as requested, or according to its own policy.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::{
    constraints::UpgradeTarget,
    solve::{PlanResult, Solved},
};
use crate::model::{Cluster, Date, Hold, Rollout, UpgradePolicy};

const POLICY_NONE: &str = "`upgrades.policy` is `none`";

/// The options of an upgrade.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The target; none if each cluster follows its policy.
    pub target: Option<UpgradeTarget>,
    /// The date for evaluating holds.
    pub today: Date,
    /// The time for maintenance windows; none if they do not matter.
    pub now: Option<DateTime<Utc>>,
    /// Whether clusters are upgraded in spite of holds and maintenance windows.
    pub despite_hold: bool,
    /// Whether a rollout asks, which leaves clusters alone whose policy is `none`.
    pub is_rollout: bool,
}

impl Asked {
    /// The target of a cluster. `Err` explains why it stays as it is.
    pub fn of(&self, cluster: &Cluster) -> Result<UpgradeTarget, String> {
        match (&self.target, cluster.upgrades.policy) {
            (Some(target), _) => Ok(target.clone()),
            (None, UpgradePolicy::Patch) => Ok(UpgradeTarget::Newest),
            (None, UpgradePolicy::Minor) => Ok(UpgradeTarget::Latest),
            (None, UpgradePolicy::None) => Err(POLICY_NONE.to_owned()),
        }
    }

    /// Holds the clusters with steps left that are on hold, take part in another rollout, or are outside of their maintenance
    /// windows. Those that are there already stay so: a rollout must not wait for their windows. `owners` are the rollouts
    /// of clusters, by full name.
    pub fn keep_apart<'a>(&self, solved: &mut Vec<Solved<'a>>, owners: &BTreeMap<&str, &Rollout>) {
        let now = self.now.filter(|_| !self.despite_hold);
        let on_hold = |cluster: &Cluster| {
            let hold = self.hold(cluster)?;
            let until = hold.until.map(|date| format!("until {date}: ")).unwrap_or_default();
            Some(format!("{until}{}", hold.reason))
        };
        let by_policy = |cluster: &Cluster| {
            let is_held = self.is_rollout && cluster.upgrades.policy == UpgradePolicy::None;
            is_held.then(|| POLICY_NONE.to_owned())
        };
        let owned = |cluster: &Cluster| {
            let owner = owners.get(cluster.full_name().as_str())?;
            let name = &owner.name;
            Some(match &owner.paused {
                Some(reason) => format!(
                    "it takes part in the rollout {name}, which is paused: {reason}; `stackloom rollout resume {name}` lets it go on"
                ),
                None => format!(
                    "it takes part in the rollout {name}, which is not done: `stackloom rollout next {name}` takes its next step"
                ),
            })
        };
        let mut held = BTreeMap::<String, Vec<&'a Cluster>>::new();
        for one in &mut *solved {
            let has_steps = match &one.answer {
                PlanResult::Plan { plan, .. } if plan.steps.is_empty() => continue,
                PlanResult::Ahead | PlanResult::Leaves | PlanResult::Held(_) => continue,
                answer => matches!(answer, PlanResult::Plan { .. }),
            };
            one.clusters.retain(|cluster| {
                let why = on_hold(cluster).or_else(|| by_policy(cluster));
                let kept_by_others =
                    |now| owned(cluster).or_else(|| cluster.upgrades.outside_of_windows(now));
                let why = why.or_else(|| now.filter(|_| has_steps).and_then(kept_by_others));
                let is_open = why.is_none();
                if let Some(why) = why {
                    held.entry(why).or_default().push(cluster);
                }
                is_open
            });
        }
        solved.retain(|one| !one.clusters.is_empty());
        solved.extend(
            held.into_iter().map(|(why, clusters)| Solved { clusters, answer: PlanResult::Held(why) }),
        );
    }

    /// The hold that applies to a cluster today.
    pub fn hold<'a>(&self, cluster: &'a Cluster) -> Option<&'a Hold> {
        cluster.held(self.today).filter(|_| !self.despite_hold)
    }
}
