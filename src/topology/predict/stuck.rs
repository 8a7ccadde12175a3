//! Where an upgrade waits for what people do: annotations that hold pools back, machines that are replaced when they are deleted.
//!
//! Source: `computeControlPlaneVersion`, `computeMachineDeploymentVersion` and `isMachineDeploymentDeferred` of
//! `exp/topology/desiredstate/desired_state.go`; `IsMachineDeploymentUpgrading` of `internal/topology/check/upgrade.go`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::change::{Change, Step, step};
use super::reconcile::Pass;
use super::rollout::is_on_delete;
use super::verdict::is_paused;
use crate::topology::desired::contract::Contract;
use crate::topology::desired::state::Desired;
use crate::topology::role::{Part, Pool, PoolKind};
use crate::topology::upgrade::tracker::{Tracker, Workers, concurrency};
use crate::topology::value::text;

/// Where the rules stand.
pub(super) const SOURCE: &str = "exp/topology/desiredstate/desired_state.go";

/// What an upgrade does not get through.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Waits {
    /// Why pools are not brought to what is wanted.
    pub pools: BTreeMap<Pool, String>,
    /// Why the control plane never gets to its version.
    pub control_plane: Option<String>,
}

/// What still waits where nothing changes any more.
pub(super) fn waits(running: &Desired, tracker: &Tracker) -> Waits {
    let wanted = text(&running.cluster, &["spec", "topology", "version"]);
    let reached = text(&running.control_plane, Contract::VERSION);
    let stuck = reached != wanted && tracker.control_plane.waiting_for_workers;
    let mut waits = Waits::default();
    let mut held = Vec::new();
    for kind in PoolKind::ALL {
        let tracker = tracker.workers(kind);
        for (name, by) in &tracker.deferred {
            let pool = Pool::new(kind, name);
            let version = version_of(running, &pool);
            let detail = format!(
                "it is held back by {by}: it stays at {version}, and nothing else of it changes, its health \
                 check apart; without the annotation it is upgraded, and its machines are replaced"
            );
            held.push(format!("{}, which is held back by {by}", Part::Pool(pool.clone()).in_words()));
            waits.pools.insert(pool, detail);
        }
        if stuck {
            waits.pools.extend(behind(kind, tracker, running, (wanted, reached)));
        }
    }
    if stuck {
        let detail = format!(
            "it stops at {reached} and does not get to {wanted}: it waits, without end, for {}",
            held.join(", and for ")
        );
        waits.control_plane = Some(detail);
    }
    waits
}

/// Why the condition `TopologyReconciled` is not True while an upgrade goes on, or is held back.
///
/// Machines that are still replaced count as replaced: that comes to an end by itself.
///
/// Source: `core/reconcilers/topology/cluster/status.go`.
pub(super) fn held(tracker: &Tracker) -> Option<&'static str> {
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

/// Pools that wait because the control plane is stuck.
fn behind(
    kind: PoolKind,
    tracker: &Workers,
    running: &Desired,
    (wanted, reached): (&str, &str),
) -> Vec<(Pool, String)> {
    let late = tracker.pending.iter().filter(|name| !tracker.deferred.contains_key(*name)).map(|name| {
        let pool = Pool::new(kind, name);
        let version = version_of(running, &pool);
        (pool, format!("it stops at {version}, and nothing else of it changes, its health check apart: the control plane does not get to {wanted}"))
    });
    let missing = tracker.pending_create.iter().map(|name| {
        (
            Pool::new(kind, name),
            format!("it is not created: the control plane stops at {reached}, before {wanted}"),
        )
    });
    late.chain(missing).collect()
}

fn version_of<'a>(running: &'a Desired, pool: &Pool) -> &'a str {
    running.worker(pool).map_or("", |one| text(&one.object, &["spec", "template", "spec", "version"]))
}

fn version_in<'a>(step: &'a Step, part: &Part) -> Option<&'a String> {
    match part {
        Part::ControlPlane => Some(&step.control_plane),
        Part::Pool(pool) => step.pools.get(pool),
        Part::Cluster | Part::Infrastructure => None,
    }
}

/// How many times an upgrade gives a part another version: each time its machines are replaced.
pub(super) fn versions(before: &Desired, change: &Change, subject: &Part) -> usize {
    let first = step(before, &Pass::default());
    let steps: Vec<&Step> = std::iter::once(&first).chain(&change.steps).collect();
    steps.windows(2).filter(|pair| version_in(pair[0], subject) != version_in(pair[1], subject)).count()
}

/// What has to be done by hand before a part gets to its version, in words: old machines of pools deleted, or what is paused let go on.
pub(super) fn by_hand(before: &Desired, change: &Change, subject: &Part) -> Vec<String> {
    let Some(running) = &change.running else { return Vec::new() };
    let mut found = Vec::new();
    if let Some(pools) = holding(before, change, subject, is_on_delete) {
        found.push(format!(
            "it waits until the old machines of {pools} are deleted: their strategy is OnDelete"
        ));
    }
    if let Some(pools) = holding(before, change, subject, is_paused) {
        found.push(format!("it waits until nothing pauses {pools} any more"));
    }
    let moves =
        text(&before.control_plane, Contract::VERSION) != text(&running.control_plane, Contract::VERSION);
    if moves && subject.as_pool().is_some() && is_paused(&running.control_plane) {
        found.push("it waits until nothing pauses the control plane any more".to_owned());
    }
    found
}

/// The pools whose old machines stay, for what is said of them, and before which a part does not get to its version; none where it
/// does not wait.
///
/// Those hold up the control plane's next version, and with it all that comes after that version; and other pools where no more
/// may be upgraded at a time (`computeControlPlaneVersion`, `UpgradeConcurrencyReached` of `exp/topology/scope/upgradetracker.go`).
fn holding(before: &Desired, change: &Change, subject: &Part, holds: fn(&Value) -> bool) -> Option<String> {
    let running = change.running.as_ref()?;
    // A pool that lags moves in the first step.
    let first = step(before, &Pass::default());
    let steps: Vec<&Step> = std::iter::once(&first).chain(&change.steps).collect();
    let moves = |pair: &[&Step]| version_in(pair[0], subject) != version_in(pair[1], subject);
    let last = steps.windows(2).rposition(moves)? + 1;
    let late = |end: usize| -> Vec<String> {
        let moved = |part: &Part| {
            let version = |step: &Step| version_in(step, part).cloned();
            let is_older =
                |pair: &[&Step]| version(pair[0]).is_some() && version(pair[0]) != version(pair[1]);
            steps[..end].windows(2).any(is_older)
        };
        let pools = running.deployments.iter().filter(|one| holds(&one.object));
        let parts = pools.map(|one| Part::pool(PoolKind::MachineDeployment, &one.name));
        parts.filter(|part| part != subject && moved(part)).map(|part| part.in_words()).collect()
    };
    let beside = if subject.is_of(PoolKind::MachineDeployment) { late(last) } else { Vec::new() };
    let all = if beside.len() >= concurrency(&running.cluster) {
        beside
    } else {
        let is_next = |pair: &[&Step]| pair[0].control_plane != pair[1].control_plane;
        late(steps[..=last].windows(2).rposition(is_next).map_or(0, |at| at + 1))
    };
    (!all.is_empty()).then(|| all.join(", "))
}
