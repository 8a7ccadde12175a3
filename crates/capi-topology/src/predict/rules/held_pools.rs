//! Pools that an annotation holds back, and a control plane that never reaches its version because of them.
//!
//! Source: `computeControlPlaneVersion`, `computeMachineDeploymentVersion` and `isMachineDeploymentDeferred` of
//! `exp/topology/desiredstate/desired_state.go`.

use std::collections::BTreeMap;

use crate::contract::Contract;
use crate::role::{Pool, PoolKind, TopologyPart};
use crate::state::Desired;
use crate::upgrade::tracker::{Tracker, Workers};
use k8s_schema::value::text;

/// The parts that keep an upgrade from finishing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockingParts {
    /// Why pools do not reach the desired state.
    pub pools: BTreeMap<Pool, String>,
    /// Why the control plane never reaches its version.
    pub control_plane: Option<String>,
}

/// Finds the parts that still wait once nothing changes any more.
pub(in crate::predict) fn waits(running: &Desired, tracker: &Tracker) -> BlockingParts {
    let wanted = text(&running.cluster, &["spec", "topology", "version"]);
    let reached = text(&running.control_plane, Contract::VERSION);
    let stuck = reached != wanted && tracker.control_plane.waiting_for_workers;
    let mut waits = BlockingParts::default();
    let mut held = Vec::new();
    for kind in PoolKind::ALL {
        let tracker = tracker.workers(kind);
        for (name, by) in &tracker.deferred {
            let pool = Pool::new(kind, name);
            let version = version_of(running, &pool);
            let detail = format!(
                "{by} holds it back: it stays at {version}, and nothing else changes except its health \
                 check; without the annotation it is upgraded, and its machines are replaced"
            );
            held.push(format!("{}, which is held back by {by}", TopologyPart::Pool(pool.clone()).in_words()));
            waits.pools.insert(pool, detail);
        }
        if stuck {
            waits.pools.extend(behind(kind, tracker, running, (wanted, reached)));
        }
    }
    if stuck {
        let detail = format!(
            "it stops at {reached} and never reaches {wanted}: it waits forever for {}",
            held.join(", and for ")
        );
        waits.control_plane = Some(detail);
    }
    waits
}

/// The reason why the condition `TopologyReconciled` is not True during an upgrade, or while one is held back.
///
/// Machines that are still being replaced count as replaced, because that finishes by itself.
///
/// Source: `core/reconcilers/topology/cluster/status.go`.
pub(in crate::predict) fn held(tracker: &Tracker) -> Option<&'static str> {
    let control_plane = &tracker.control_plane;
    let moves = control_plane.starting;
    let goes_on = |workers: &Workers| {
        let none = workers.pending.is_empty() && workers.upgrading.is_empty();
        !(none && workers.deferred.is_empty() && workers.pending_create.is_empty())
    };
    if !(control_plane.pending || moves || goes_on(&tracker.deployments) || goes_on(&tracker.pools)) {
        return None;
    }
    let is_held = |workers: &Workers| {
        let waits = |name: &String| !workers.upgrading.contains(name) && !workers.deferred.contains_key(name);
        let held = !workers.deferred.is_empty() && workers.upgrading.is_empty();
        !moves && held && !workers.pending.iter().any(waits)
    };
    Some(if is_held(&tracker.deployments) {
        "MachineDeploymentsUpgradeDeferred"
    } else if is_held(&tracker.pools) {
        "MachinePoolsUpgradeDeferred"
    } else {
        "ClusterUpgrading"
    })
}

/// Pools that wait because the control plane is stuck, with the reasons.
fn behind(
    kind: PoolKind,
    tracker: &Workers,
    running: &Desired,
    (wanted, reached): (&str, &str),
) -> Vec<(Pool, String)> {
    let late = tracker.pending.iter().filter(|name| !tracker.deferred.contains_key(*name)).map(|name| {
        let pool = Pool::new(kind, name);
        let version = version_of(running, &pool);
        (pool, format!("it stops at {version}, and apart from its health check nothing else changes: the control plane never reaches {wanted}"))
    });
    let missing = tracker.pending_create.iter().map(|name| {
        (
            Pool::new(kind, name),
            format!("it is not created: the control plane stops at {reached} and never reaches {wanted}"),
        )
    });
    late.chain(missing).collect()
}

fn version_of<'a>(running: &'a Desired, pool: &Pool) -> &'a str {
    running.worker(pool).map_or("", |one| text(&one.object, &["spec", "template", "spec", "version"]))
}
