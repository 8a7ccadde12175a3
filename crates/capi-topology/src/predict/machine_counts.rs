//! Applies the verdicts on a Cluster to one whose pools have other numbers of machines.
//!
//! Cluster API compares objects. As long as a pool keeps its number of machines, and has any, the number decides neither which
//! objects change nor whether machines are replaced; it only decides how many. The exception is a class whose patches read it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::forecast::Forecast;
use super::meaning::Meaning;
use super::rules::machine_rollouts::surge;
use super::verdict::Verdict;
use crate::role::{Pool, PoolKind, TopologyPart};
use k8s_schema::value::get;

/// The numbers of machines of machine deployments that a change leaves as they are.
pub type MachineCounts = BTreeMap<Pool, i64>;

/// The rollout strategies of machine deployments after a change. They say how many machines there are more and fewer at a time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Strategies(BTreeMap<Pool, Value>);

impl Forecast {
    /// The rollout strategies of all machine deployments; empty if nothing is compared.
    pub fn strategies(&self) -> Strategies {
        let end = self.change.as_ref().and_then(|change| change.running.as_ref());
        let strategy = |worker: &Value| json!({ "spec": { "rollout": get(worker, &["spec", "rollout"]) } });
        let all = end.into_iter().flat_map(|end| &end.deployments);
        let named = |name: &str| Pool::new(PoolKind::MachineDeployment, name);
        Strategies(all.map(|one| (named(&one.name), strategy(&one.object))).collect())
    }
}

impl Verdict {
    /// The verdict on the same change of a Cluster whose pools have `to` machines instead of `from`; none if it does not follow
    /// from this one.
    #[must_use]
    pub fn recounted(
        &self,
        strategies: &Strategies,
        from: &MachineCounts,
        to: &MachineCounts,
    ) -> Option<Self> {
        let TopologyPart::Pool(pool) = &self.subject else { return Some(self.clone()) };
        let (Some(old), Some(new)) = (from.get(pool).copied(), to.get(pool).copied()) else {
            return (from.get(pool) == to.get(pool)).then(|| self.clone());
        };
        let count = |count: &mut i64| match *count {
            0 => Some(()),
            all if all == old => {
                *count = new;
                Some(())
            }
            _ => None,
        };
        let per_count = |many: &mut Option<(i64, i64)>| {
            let strategy = strategies.0.get(pool)?;
            if many.is_some() {
                (*many == surge(strategy, old)).then_some(())?;
                *many = surge(strategy, new);
            }
            Some(())
        };
        let mut found = self.clone();
        match &mut found.meaning {
            Meaning::Scale { .. } => return None,
            Meaning::Rollout { machines, least, surge, on_delete, .. } => {
                count(machines)?;
                count(least)?;
                if !*on_delete {
                    per_count(surge)?;
                }
            }
            Meaning::Upgrade { surge, on_delete: false, .. } => per_count(surge)?,
            _ => {}
        }
        Some(found)
    }
}
