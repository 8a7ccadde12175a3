//! Where an upgrade waits for what people do: annotations that hold pools back, machines that are replaced when they are deleted.
//!
//! Source: `computeControlPlaneVersion`, `computeMachineDeploymentVersion` and `isMachineDeploymentDeferred` of
//! `exp/topology/desiredstate/desired_state.go`; `IsMachineDeploymentUpgrading` of `internal/topology/check/upgrade.go`.

use std::collections::BTreeMap;

use super::change::{Change, Step, step};
use super::reconcile::Pass;
use super::report::part;
use super::rollout::is_on_delete;
use crate::topology::desired::contract::Contract;
use crate::topology::desired::state::{Desired, Worker};
use crate::topology::upgrade::tracker::{Tracker, Workers, concurrency};
use crate::topology::value::text;

/// Where the rules stand.
pub(super) const SOURCE: &str = "exp/topology/desiredstate/desired_state.go";

/// What an upgrade does not get through.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Waits {
    /// Why pools are not brought to what is wanted, by role.
    pub pools: BTreeMap<String, String>,
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
    let sides = [("md", &tracker.deployments, &running.deployments), ("mp", &tracker.pools, &running.pools)];
    for (kind, tracker, workers) in sides {
        for (name, by) in &tracker.deferred {
            let role = format!("{kind}.{name}");
            let version = version_of(workers, name);
            let detail = format!(
                "it is held back by {by}: it stays at {version}, and nothing else of it changes, its health \
                 check apart; without the annotation it is upgraded, and its machines are replaced"
            );
            held.push(format!("{}, which is held back by {by}", part(&role)));
            waits.pools.insert(role, detail);
        }
        if stuck {
            waits.pools.extend(behind(kind, tracker, workers, wanted, reached));
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

/// Pools that wait because the control plane is stuck.
fn behind(
    kind: &str,
    tracker: &Workers,
    workers: &[Worker],
    wanted: &str,
    reached: &str,
) -> Vec<(String, String)> {
    let late = tracker.pending.iter().filter(|name| !tracker.deferred.contains_key(*name)).map(|name| {
        let version = version_of(workers, name);
        (name, format!("it stops at {version}, and nothing else of it changes, its health check apart: the control plane does not get to {wanted}"))
    });
    let missing = tracker.pending_create.iter().map(|name| {
        (name, format!("it is not created: the control plane stops at {reached}, before {wanted}"))
    });
    late.chain(missing).map(|(name, detail)| (format!("{kind}.{name}"), detail)).collect()
}

fn version_of<'a>(workers: &'a [Worker], name: &str) -> &'a str {
    let found = workers.iter().find(|one| one.name == name);
    found.map_or("", |one| text(&one.object, &["spec", "template", "spec", "version"]))
}

/// The pools whose old machines have to be deleted before an upgrade of a part goes on, in words; none where it does not wait.
pub(super) fn deletions(before: &Desired, change: &Change, subject: &str) -> Option<String> {
    let running = change.running.as_ref()?;
    let of = |step: &Step| match subject.split_once('.') {
        None if subject == "control-plane" => Some(step.control_plane.clone()),
        Some(("md", name)) => step.deployments.get(name).cloned(),
        // Machine pools wait for the control plane, and for each other.
        _ => None,
    };
    // A pool that lags moves in the first step.
    let first = step(before, &Pass::default());
    let steps: Vec<&Step> = std::iter::once(&first).chain(&change.steps).collect();
    let last = steps.windows(2).rposition(|pair| of(pair[0]) != of(pair[1]))? + 1;
    let moved = |name: &str| {
        let version = |step: &Step| step.deployments.get(name).cloned();
        let is_older = |pair: &[&Step]| version(pair[0]).is_some() && version(pair[0]) != version(pair[1]);
        steps[..last].windows(2).any(is_older)
    };
    let late: Vec<String> = running
        .deployments
        .iter()
        .filter(|one| is_on_delete(&one.object) && moved(&one.name) && format!("md.{}", one.name) != subject)
        .map(|one| part(&format!("md.{}", one.name)))
        .collect();
    let enough = subject == "control-plane" || late.len() >= concurrency(&running.cluster);
    (enough && !late.is_empty()).then(|| {
        format!(
            "it waits until the old machines of {} are deleted: their strategy is OnDelete",
            late.join(", ")
        )
    })
}
