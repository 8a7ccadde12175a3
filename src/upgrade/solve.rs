//! Groups clusters in equal situations and solves each situation once.

use std::{cell::RefCell, collections::BTreeMap};

use rayon::prelude::*;

use super::{
    conflict::{Conflict, conflict},
    constraints::{IndexedSituation, PlanningFleet, Situated, UpgradeTarget},
    plan::{UpgradePlan, steps},
    release_path::{NotFound, search},
    situation::Constraint,
    step_reasons::reasons,
};
use crate::{
    model::{Cluster, Label, ReleaseRef},
    note::Notes,
};

/// Clusters in equal situations, and the answer for them.
#[derive(Clone, Debug)]
pub struct Solved<'a> {
    /// The clusters, in order.
    pub clusters: Vec<&'a Cluster>,
    /// Its plan, or why it has none.
    pub answer: PlanResult,
}

/// The answer for a cluster.
#[derive(Clone, Debug)]
pub enum PlanResult {
    /// The steps to take; none if the target is reached.
    Plan {
        open: Box<IndexedSituation>,
        plan: UpgradePlan,
        /// The reason for each step.
        reasons: Vec<String>,
    },
    /// There is no plan.
    Blocked {
        open: Box<IndexedSituation>,
        /// The constraints that rule out every plan.
        conflict: Conflict,
    },
    /// The cluster cannot use the target.
    NoTarget(Constraint),
    /// The cluster already has a later Kubernetes minor than the target.
    Ahead,
    /// There are too many possibilities to search.
    TooMany,
    /// The cluster is on hold, for this reason.
    Held(String),
    /// The cluster is being removed.
    Leaves,
    /// Its release or the target release has errors.
    Unknown(Notes),
}

impl PlanningFleet<'_> {
    /// Solves the situations of clusters with the same target, ordered by the first cluster of each.
    pub fn solve<'a>(&self, target: &UpgradeTarget, clusters: &[&'a Cluster]) -> Vec<Solved<'a>> {
        let mut places: BTreeMap<_, usize> = BTreeMap::new();
        let mut groups: Vec<Vec<&Cluster>> = Vec::new();
        let mut limited: BTreeMap<(&ReleaseRef, &Label), bool> = BTreeMap::new();
        for cluster in clusters {
            let pair = (&cluster.release, &cluster.management.name);
            let is_limited = *limited.entry(pair).or_insert_with(|| self.is_limited(cluster, target));
            let key = (cluster.is_leaving(), self.key(cluster, is_limited));
            let at = *places.entry(key).or_insert(groups.len());
            if at == groups.len() {
                groups.push(Vec::new());
            }
            groups[at].push(cluster);
        }
        let solve = |clusters: Vec<&'a Cluster>| {
            let answer = self.answer(target, &clusters);
            Solved { clusters, answer }
        };
        groups.into_par_iter().map(solve).collect()
    }

    fn answer(&self, target: &UpgradeTarget, clusters: &[&Cluster]) -> PlanResult {
        let Some(first) = clusters.first().filter(|one| !one.is_leaving()) else { return PlanResult::Leaves };
        let mut notes = Notes::new();
        let open = match self.situation(first, target, &mut notes) {
            Some(Situated::IndexedSituation(open)) => open,
            Some(Situated::Ahead) => return PlanResult::Ahead,
            Some(Situated::NoTarget(constraint)) => return PlanResult::NoTarget(constraint),
            None => {
                notes.locate(|origin| self.input.sources.place(origin));
                return PlanResult::Unknown(notes);
            }
        };
        let known = RefCell::new(BTreeMap::new());
        let name = |release: usize| open.situation.releases[release].name.as_str();
        let machines = |from: usize, to: usize| {
            let found = known.borrow().get(&(from, to)).copied();
            found.unwrap_or_else(|| {
                let count = self.machines(clusters, name(from), name(to));
                known.borrow_mut().insert((from, to), count);
                count
            })
        };
        match search(&open.situation, &open.situation.all(), Some(&machines)) {
            Ok(found) => {
                let plan = steps(&open.situation, &found);
                let reasons = reasons(&open, &plan);
                PlanResult::Plan { open, plan, reasons }
            }
            Err(NotFound::TooMany) => PlanResult::TooMany,
            Err(NotFound::Impossible) => match conflict(&open.situation) {
                Ok(Some(conflict)) => PlanResult::Blocked { open, conflict },
                Ok(None) | Err(_) => PlanResult::TooMany,
            },
        }
    }
}
