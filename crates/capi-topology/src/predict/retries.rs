//! What becomes of pools beside one that is refused.

use std::collections::BTreeSet;

use super::change::Change;
use super::evidence::{Evidence, On, Rule};
use super::verdict::Kind;
use crate::role::Part;

const RETRIED: &str = "Cluster API stops at a pool that is refused, and takes them in another order with each try: it comes to this \
                                   one sooner or later, which may be seconds or hours";

/// Says of pools that change, though another is refused, that this may take its time.
///
/// Source: `core/reconcilers/topology/cluster/reconcile_state.go`, `calculateMachineDeploymentDiff` (Go iterates over maps from
/// another place each time, and failed reconciles wait longer and longer).
pub(super) fn evidence(parts: &BTreeSet<Part>, change: &Change) -> Vec<Evidence> {
    if change.faults.is_empty() {
        return Vec::new();
    }
    let on = On::AllBut(&[Kind::NoChange, Kind::Opaque]);
    let pools = parts.iter().filter(|part| part.as_pool().is_some()).cloned();
    pools.map(|part| Evidence::remark(part, Rule::Retries, on).because(RETRIED)).collect()
}
