//! The effect of a refused pool on the other pools.

use std::collections::BTreeSet;

use crate::predict::change::Change;
use crate::predict::evidence::{Evidence, On};
use crate::predict::meaning::MeaningKind;
use crate::predict::rules::Rule;
use crate::role::TopologyPart;

const RETRIED: &str = "Cluster API stops at a refused pool and tries the pools in another order each time: it reaches this \
                                   one eventually, after seconds or hours";

/// Adds a remark to pools that change although another one is refused: their change may take a while.
///
/// Source: `core/reconcilers/topology/cluster/reconcile_state.go`, `calculateMachineDeploymentDiff` (Go starts map
/// iteration at a random place each time, and failed reconciles are retried at growing intervals).
pub(in crate::predict) fn evidence(parts: &BTreeSet<TopologyPart>, change: &Change) -> Vec<Evidence> {
    if change.faults.is_empty() {
        return Vec::new();
    }
    let on = On::AllBut(&[MeaningKind::NoChange, MeaningKind::Opaque]);
    let pools = parts.iter().filter(|part| part.as_pool().is_some()).cloned();
    pools.map(|part| Evidence::remark(part, Rule::Retries, on).because(RETRIED)).collect()
}
