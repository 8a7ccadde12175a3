//! What becomes of pools beside one that is refused.

use super::change::Change;
use super::verdict::{Meaning, Verdict};

const IN_ONE_OF_ITS_TRIES: &str = "Cluster API stops at a pool that is refused, and takes them in another order with each try: it comes to this \
                                   one sooner or later, which may be seconds or hours";

/// Says of pools that change, though another is refused, that this may take its time.
///
/// Source: `core/reconcilers/topology/cluster/reconcile_state.go`, `calculateMachineDeploymentDiff` (Go iterates over maps from
/// another place each time, and failed reconciles wait longer and longer).
pub(super) fn tell(verdicts: &mut [Verdict], change: &Change) {
    if change.faults.is_empty() {
        return;
    }
    let is_pool = |one: &&mut Verdict| one.subject.as_pool().is_some();
    for verdict in verdicts.iter_mut().filter(is_pool) {
        if !matches!(verdict.meaning, Meaning::NoChange | Meaning::Opaque) {
            verdict.reasons.push(IN_ONE_OF_ITS_TRIES.to_owned());
        }
    }
}
