//! Where an upgrade waits for what people do: annotations that hold pools back, machines that are replaced when they are deleted.
//!
//! Source: `computeControlPlaneVersion`, `computeMachineDeploymentVersion` and `isMachineDeploymentDeferred` of
//! `exp/topology/desiredstate/desired_state.go`; `IsMachineDeploymentUpgrading` of `internal/topology/check/upgrade.go`.

use std::collections::BTreeSet;

use serde_json::Value;

use super::change::Change;
use super::rollout::is_on_delete;
use super::running::is_paused;
use super::steps::{UpgradeStep, of_part, step};
use crate::desired::contract::Contract;
use crate::desired::state::Desired;
use crate::role::{Part, PoolKind};
use crate::upgrade::tracker::concurrency;
use k8s_schema::value::text;

/// Where the rules stand.
pub(super) const SOURCE: &str = "exp/topology/desiredstate/desired_state.go";

/// How many times an upgrade gives a part another version: each time its machines are replaced.
pub(super) fn versions(before: &Desired, change: &Change, subject: &Part) -> usize {
    let first = step(before, &BTreeSet::new());
    let steps: Vec<&UpgradeStep> = std::iter::once(&first).chain(&change.steps).collect();
    steps.windows(2).filter(|pair| of_part(pair[0], subject) != of_part(pair[1], subject)).count()
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
