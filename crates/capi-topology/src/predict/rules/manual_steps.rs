//! Upgrades that wait for a person: annotations hold pools back, or machines are replaced only once someone deletes them.
//!
//! Source: `computeControlPlaneVersion`, `computeMachineDeploymentVersion` and `isMachineDeploymentDeferred` of
//! `exp/topology/desiredstate/desired_state.go`; `IsMachineDeploymentUpgrading` of `internal/topology/check/upgrade.go`.

use std::collections::BTreeSet;

use serde_json::Value;

use super::replaces_machines::is_on_delete;
use crate::desired::contract::Contract;
use crate::desired::state::Desired;
use crate::predict::change::Change;
use crate::predict::running::is_paused;
use crate::predict::steps::{UpgradeStep, of_part, step};
use crate::role::{Part, PoolKind};
use crate::upgrade::tracker::concurrency;
use k8s_schema::value::text;

/// The Cluster API file that contains the rules.
pub(in crate::predict) const SOURCE: &str = "exp/topology/desiredstate/desired_state.go";

/// Counts how often an upgrade changes the version of a part: each time, its machines are replaced.
pub(in crate::predict) fn versions(before: &Desired, change: &Change, subject: &Part) -> usize {
    let first = step(before, &BTreeSet::new());
    let steps: Vec<&UpgradeStep> = std::iter::once(&first).chain(&change.steps).collect();
    steps.windows(2).filter(|pair| of_part(pair[0], subject) != of_part(pair[1], subject)).count()
}

/// Describes the manual steps before a part reaches its version: deleting old machines of pools, or ending a pause.
pub(in crate::predict) fn by_hand(before: &Desired, change: &Change, subject: &Part) -> Vec<String> {
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

/// Names the pools that keep their old machines and thereby delay a part; none if it does not wait. `holds` selects such
/// pools.
///
/// They block the control plane's next version and everything that follows it. Once the limit on concurrent upgrades is
/// reached, they also block other pools (`computeControlPlaneVersion`, `UpgradeConcurrencyReached` of
/// `exp/topology/scope/upgradetracker.go`).
fn holding(before: &Desired, change: &Change, subject: &Part, holds: fn(&Value) -> bool) -> Option<String> {
    let running = change.running.as_ref()?;
    // A pool that lags changes its version in the first step.
    let first = step(before, &BTreeSet::new());
    let steps: Vec<&UpgradeStep> = std::iter::once(&first).chain(&change.steps).collect();
    let moves = |pair: &[&UpgradeStep]| of_part(pair[0], subject) != of_part(pair[1], subject);
    let last = steps.windows(2).rposition(moves)? + 1;
    let late = |end: usize| -> Vec<String> {
        let moved = |part: &Part| {
            let version = |step: &UpgradeStep| of_part(step, part).cloned();
            let is_older =
                |pair: &[&UpgradeStep]| version(pair[0]).is_some() && version(pair[0]) != version(pair[1]);
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
        let is_next = |pair: &[&UpgradeStep]| pair[0].control_plane != pair[1].control_plane;
        late(steps[..=last].windows(2).rposition(is_next).map_or(0, |at| at + 1))
    };
    (!all.is_empty()).then(|| all.join(", "))
}
