//! Upgrades that wait for a person: annotations hold pools back, or machines are replaced only once someone deletes them.
//!
//! Source: `computeControlPlaneVersion`, `computeMachineDeploymentVersion` and `isMachineDeploymentDeferred` of
//! `exp/topology/desiredstate/desired_state.go`; `IsMachineDeploymentUpgrading` of `internal/topology/check/upgrade.go`.

use std::collections::BTreeSet;

use serde_json::Value;

use super::machine_rollouts::is_on_delete;
use crate::desired::contract::Contract;
use crate::desired::state::Desired;
use crate::predict::change::Change;
use crate::predict::running::is_paused;
use crate::predict::steps::{UpgradeStep, of_part, step};
use crate::role::{Part, PoolKind};
use crate::upgrade::tracker::concurrency;
use k8s_schema::value::{get, text};

/// The Cluster API file that contains the rules.
pub(in crate::predict) const SOURCE: &str = "exp/topology/desiredstate/desired_state.go";

/// Counts how often an upgrade changes the version of a part: each time, its machines are replaced.
pub(in crate::predict) fn versions(before: &Desired, change: &Change, subject: &Part) -> usize {
    let first = step(before, &BTreeSet::new());
    moves(&steps(&first, change), subject).len()
}

/// Counts how many of these changes of the version someone has to act for.
pub(in crate::predict) fn aided(before: &Desired, change: &Change, subject: &Part) -> usize {
    let Some(running) = &change.running else { return 0 };
    let first = step(before, &BTreeSet::new());
    let steps = steps(&first, change);
    let all = moves(&steps, subject);
    if waits_for_control_plane(before, running, subject) {
        return all.len();
    }
    let waits = |at: &&usize| {
        [keeps_machines, is_paused]
            .iter()
            .any(|holds| !holding(running, &steps, **at, subject, *holds).is_empty())
    };
    // What follows a version that has to wait waits, too.
    let unaided = all.iter().take_while(|at| !waits(at)).count();
    all.len() - unaided
}

/// Describes the manual steps before a part reaches its version: deleting old machines of pools, or ending a pause.
pub(in crate::predict) fn by_hand(before: &Desired, change: &Change, subject: &Part) -> Vec<String> {
    let Some(running) = &change.running else { return Vec::new() };
    let first = step(before, &BTreeSet::new());
    let steps = steps(&first, change);
    let held_by = |holds| {
        let last = *moves(&steps, subject).last()?;
        let pools = holding(running, &steps, last, subject, holds);
        (!pools.is_empty()).then(|| pools.iter().map(Part::in_words).collect::<Vec<_>>().join(", "))
    };
    let mut found = Vec::new();
    if let Some(pools) = held_by(keeps_machines) {
        found.push(format!(
            "it waits until the old machines of {pools} are deleted: their strategy is OnDelete"
        ));
    }
    if let Some(pools) = held_by(is_paused) {
        found.push(format!("it waits until nothing pauses {pools} any more"));
    }
    if waits_for_control_plane(before, running, subject) {
        found.push("it waits until nothing pauses the control plane any more".to_owned());
    }
    found
}

/// Reports whether a pool waits for a new version of a control plane that is paused.
fn waits_for_control_plane(before: &Desired, running: &Desired, subject: &Part) -> bool {
    let version = |state: &Desired| text(&state.control_plane, Contract::VERSION).to_owned();
    version(before) != version(running) && subject.as_pool().is_some() && is_paused(&running.control_plane)
}

/// The steps of an upgrade, from the state before. A pool that lags changes its version in the first step.
fn steps<'a>(first: &'a UpgradeStep, change: &'a Change) -> Vec<&'a UpgradeStep> {
    std::iter::once(first).chain(&change.steps).collect()
}

/// The steps that change the version of a part.
fn moves(steps: &[&UpgradeStep], subject: &Part) -> Vec<usize> {
    let is_move = |at: &usize| of_part(steps[at - 1], subject) != of_part(steps[*at], subject);
    (1..steps.len()).filter(is_move).collect()
}

/// The pools that keep their old machines and thereby delay the version that a part gets `at` a step. `holds` selects such
/// pools.
///
/// They block the control plane's next version and everything that follows it. Once the limit on concurrent upgrades is
/// reached, they also block other pools (`computeControlPlaneVersion`, `UpgradeConcurrencyReached` of
/// `exp/topology/scope/upgradetracker.go`).
fn holding(
    running: &Desired,
    steps: &[&UpgradeStep],
    at: usize,
    subject: &Part,
    holds: fn(&Value) -> bool,
) -> Vec<Part> {
    let pools: Vec<Part> =
        running.deployments.iter().map(|one| Part::pool(PoolKind::MachineDeployment, &one.name)).collect();
    let place = pools.iter().position(|part| part == subject);
    let moved = |part: &Part, end: usize| {
        let version = |step: &UpgradeStep| of_part(step, part).cloned();
        let is_older =
            |pair: &[&UpgradeStep]| version(pair[0]).is_some() && version(pair[0]) != version(pair[1]);
        steps[..end].windows(2).any(is_older)
    };
    let late = |end_of: &dyn Fn(usize) -> usize| -> Vec<Part> {
        let is_late = |(index, part): &(usize, &Part)| {
            *part != subject
                && holds(&running.deployments[*index].object)
                && moved(part, end_of(*index).min(steps.len()))
        };
        pools.iter().enumerate().filter(is_late).map(|(_, part)| part.clone()).collect()
    };
    if subject.is_of(PoolKind::MachineDeployment) {
        // Of pools that move in the same step, those that come first in the Cluster take the free places.
        let beside = late(&|index| at + usize::from(place.is_some_and(|place| index < place)));
        if beside.len() >= concurrency(&running.cluster) {
            return beside;
        }
    }
    let is_next = |pair: &[&UpgradeStep]| pair[0].control_plane != pair[1].control_plane;
    let end = steps[..=at].windows(2).rposition(is_next).map_or(0, |at| at + 1);
    late(&|_| end)
}

/// Reports whether a pool keeps old machines until someone deletes them. A pool without machines delays nothing.
fn keeps_machines(deployment: &Value) -> bool {
    is_on_delete(deployment) && get(deployment, &["spec", "replicas"]).and_then(Value::as_i64) != Some(0)
}
