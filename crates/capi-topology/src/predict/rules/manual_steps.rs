//! Upgrades that wait for a person: annotations hold pools back, or machines are replaced only once someone deletes them.
//!
//! Source: `computeControlPlaneVersion`, `computeMachineDeploymentVersion` and `isMachineDeploymentDeferred` of
//! `exp/topology/desiredstate/desired_state.go`; `IsMachineDeploymentUpgrading` of `internal/topology/check/upgrade.go`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::Rule;
use super::machine_rollouts::is_on_delete;
use crate::contract::Contract;
use crate::predict::change::Change;
use crate::predict::evidence::{Evidence, On};
use crate::predict::meaning::MeaningKind;
use crate::predict::running::{is_autoscaled, is_paused};
use crate::predict::steps::{UpgradeStep, of_part, step};
use crate::predict::verdict::Verdict;
use crate::role::{PoolKind, TopologyPart};
use crate::state::{Desired, Worker};
use crate::upgrade::tracker::concurrency;
use k8s_schema::value::{get, text};

/// The Cluster API file that contains the rules.
pub(in crate::predict) const SOURCE: &str = "exp/topology/desiredstate/desired_state.go";

/// Counts how often an upgrade changes the version of a part: each time, its machines are replaced.
pub(in crate::predict) fn versions(before: &Desired, change: &Change, subject: &TopologyPart) -> usize {
    let first = step(before, &BTreeSet::new());
    moves(&steps(&first, change), subject).len()
}

/// Counts how many of these changes of the version someone has to act for.
pub(in crate::predict) fn aided(before: &Desired, change: &Change, subject: &TopologyPart) -> usize {
    let Some(running) = &change.running else { return 0 };
    let first = step(before, &BTreeSet::new());
    let steps = steps(&first, change);
    let all = moves(&steps, subject);
    if waits_for_control_plane(before, running, subject) {
        return all.len();
    }
    // What follows a version that has to wait waits, too.
    let unaided = all.iter().take_while(|at| holding(running, &steps, **at, subject).is_none()).count();
    all.len() - unaided
}

/// Describes the manual steps before a part reaches its version: deleting old machines of pools, or ending a pause.
pub(in crate::predict) fn by_hand(before: &Desired, change: &Change, subject: &TopologyPart) -> Vec<String> {
    let Some(running) = &change.running else { return Vec::new() };
    let first = step(before, &BTreeSet::new());
    let steps = steps(&first, change);
    let last = moves(&steps, subject).pop();
    let mut found = last
        .and_then(|last| holding(running, &steps, last, subject))
        .map(|holding| holding.in_words())
        .unwrap_or_default();
    if waits_for_control_plane(before, running, subject) {
        found.push("it waits until nothing pauses the control plane".to_owned());
    }
    found
}

/// The parts whose machines stay on an older version than the control plane gets, with that version: pools that are held back,
/// and paused parts, whose objects alone get the new version.
pub(in crate::predict) fn left_behind(before: &Desired, change: &Change) -> BTreeMap<TopologyPart, String> {
    let (Some(running), Some(last)) = (&change.running, change.steps.last()) else { return BTreeMap::new() };
    let first = step(before, &BTreeSet::new());
    let pools = last.pools.keys().cloned().map(TopologyPart::Pool);
    let reached = |part: TopologyPart| {
        let stays = running.own(&part).is_some_and(|object| is_paused(object) && count(object) != Some(0));
        let version = of_part(if stays { &first } else { last }, &part)?.clone();
        (version != last.control_plane).then_some((part, version))
    };
    pools.chain([TopologyPart::ControlPlane]).filter_map(reached).collect()
}

/// The condition under which a new version is refused: parts still have machines of an earlier upgrade, which wait for someone
/// to act.
///
/// Source: `validateTopologyMachineDeploymentVersions` of `core/webhooks/admission/cluster.go`.
pub(in crate::predict) fn conditions(
    before: &Desired,
    known: &BTreeSet<TopologyPart>,
    after: &Value,
) -> Vec<String> {
    let wanted = |cluster: &Value| text(cluster, &["spec", "topology", "version"]).to_owned();
    let control_plane = is_paused(&before.control_plane).then_some(TopologyPart::ControlPlane);
    let keepers = control_plane.into_iter().chain(before.deployments.iter().filter_map(keeper));
    let words = |part: TopologyPart| match part {
        TopologyPart::ControlPlane => "the control plane".to_owned(),
        part => part.in_words(),
    };
    let parts: Vec<String> = keepers.filter(|part| !known.contains(part)).map(words).collect();
    if parts.is_empty() || wanted(&before.cluster) == wanted(after) {
        return Vec::new();
    }
    vec![format!(
        "Cluster API refuses this upgrade if {} still has old machines of an earlier one",
        parts.join(" or ")
    )]
}

/// Judges the pools that may wait for an upgrade because of other parts.
pub(in crate::predict) fn of_waiting(
    before: &Desired,
    change: &Change,
    found: &[Verdict],
    known: &BTreeSet<TopologyPart>,
) -> Vec<Evidence> {
    let mut evidence = let_go(before, change, found, known);
    evidence.extend(pending(before, change, known));
    evidence
}

/// Marks pools as unknown that may have waited for other parts, which the change lets go: they then get the version of the
/// Cluster.
///
/// Pools wait for the control plane, and for the pools before them in the Cluster that take all places of the upgrade
/// (`UpgradeConcurrencyReached` of `exp/topology/scope/upgradetracker.go`).
fn let_go(
    before: &Desired,
    change: &Change,
    found: &[Verdict],
    known: &BTreeSet<TopologyPart>,
) -> Vec<Evidence> {
    const ENDS: &str = "that wait ends";
    let Some(end) = &change.running else { return Vec::new() };
    let is_judged = |part: &TopologyPart| {
        let kind =
            found.iter().find(|verdict| verdict.subject == *part).map(|verdict| verdict.meaning.kind());
        !known.contains(part)
            && matches!(
                kind,
                Some(
                    MeaningKind::NoChange
                        | MeaningKind::MetadataOnly
                        | MeaningKind::InPlace
                        | MeaningKind::Scale
                )
            )
    };
    let unknown = |part: TopologyPart, by: &str, ends: &str| {
        Evidence::unknown(part, Rule::HeldBack, SOURCE).because(format!(
            "if an earlier upgrade of it still waits for {by}, {ends}, and the upgrade begins unless other parts hold it back; \
             its running object would show its version"
        ))
    };
    if is_paused(&before.control_plane) && !is_paused(&end.control_plane) {
        let pools = before.all_workers().map(|(pool, _)| TopologyPart::Pool(pool)).filter(is_judged);
        return pools.map(|part| unknown(part, "the control plane", ENDS)).collect();
    }
    let stay: BTreeSet<TopologyPart> = end.deployments.iter().filter_map(keeper).collect();
    // Scaling down may remove the last old machines.
    let shrink: BTreeSet<TopologyPart> =
        before.deployments.iter().filter_map(|one| shrinks(one, end)).collect();
    let has_more_places = concurrency(&end.cluster) > concurrency(&before.cluster);
    let mut keepers: Vec<TopologyPart> = Vec::new();
    let mut evidence = Vec::new();
    for one in &before.deployments {
        let part = TopologyPart::pool(PoolKind::MachineDeployment, &one.name);
        let waits = keepers.len() >= concurrency(&before.cluster) && is_judged(&part);
        let names = |go: &dyn Fn(&TopologyPart) -> bool| {
            keepers.iter().filter(|one| go(one)).map(TopologyPart::in_words).collect::<Vec<_>>().join(" or ")
        };
        let gone = names(&|one| has_more_places || !stay.contains(one));
        let smaller = names(&|one| shrink.contains(one));
        if waits && !gone.is_empty() {
            evidence.push(unknown(part, &gone, ENDS));
        } else if waits && !smaller.is_empty() {
            evidence.push(unknown(part, &smaller, "removing the last old machine there ends that wait"));
        }
        keepers.extend(keeper(one));
    }
    evidence
}

/// Remarks on changes of pools that may still wait for an upgrade: nothing of the change reaches them before that.
///
/// Source: `updateMachineDeployments` of `internal/topology/cluster/reconcile_state.go` leaves out pools whose upgrade is
/// pending.
fn pending(before: &Desired, change: &Change, known: &BTreeSet<TopologyPart>) -> Vec<Evidence> {
    const CHANGES: On = On::Only(&[MeaningKind::InPlace, MeaningKind::Scale, MeaningKind::Rollout]);
    let Some(end) = &change.running else { return Vec::new() };
    let keeps = |part: &TopologyPart| end.deployments.iter().filter_map(keeper).any(|one| one == *part);
    let (mut keepers, mut evidence): (Vec<TopologyPart>, _) = (Vec::new(), Vec::new());
    for one in &before.deployments {
        let part = TopologyPart::pool(PoolKind::MachineDeployment, &one.name);
        if keepers.len() >= concurrency(&end.cluster) && !known.contains(&part) {
            let names = keepers.iter().map(TopologyPart::in_words).collect::<Vec<_>>().join(" and ");
            let why = format!(
                "if an earlier upgrade of it still waits for {names}, nothing of this change happens before that wait ends"
            );
            evidence.push(Evidence::remark(part.clone(), Rule::HeldBack, CHANGES).because(why));
        }
        keepers.extend(keeper(one).filter(keeps));
    }
    evidence
}

/// The pool of a worker whose number of machines may become smaller.
fn shrinks(worker: &Arc<Worker>, end: &Desired) -> Option<TopologyPart> {
    let after = end.deployments.iter().find(|one| one.name == worker.name)?;
    let is_smaller = match (count(&worker.object), count(&after.object)) {
        (Some(was), Some(now)) => now < was,
        // An autoscaler may have added machines.
        (None, Some(_)) => true,
        (_, None) => false,
    };
    is_smaller.then(|| TopologyPart::pool(PoolKind::MachineDeployment, &worker.name))
}

/// The pool of a worker, if it keeps machines of an older version until someone acts: deletes them, or ends a pause.
fn keeper(worker: &Arc<Worker>) -> Option<TopologyPart> {
    let part = TopologyPart::pool(PoolKind::MachineDeployment, &worker.name);
    (keeps_machines(&worker.object) && has_machines(&part, &worker.object)).then_some(part)
}

fn keeps_machines(object: &Value) -> bool {
    is_on_delete(object) || is_paused(object)
}

/// Reports whether a part has machines, or may get some from an autoscaler. A part without machines delays nothing.
pub(in crate::predict) fn has_machines(part: &TopologyPart, object: &Value) -> bool {
    *part == TopologyPart::ControlPlane || count(object) != Some(0) || is_autoscaled(object)
}

fn count(object: &Value) -> Option<i64> {
    get(object, &["spec", "replicas"]).and_then(Value::as_i64)
}

/// Reports whether a pool waits for a new version of a control plane that is paused.
fn waits_for_control_plane(before: &Desired, running: &Desired, subject: &TopologyPart) -> bool {
    let version = |state: &Desired| text(&state.control_plane, Contract::VERSION).to_owned();
    version(before) != version(running) && subject.as_pool().is_some() && is_paused(&running.control_plane)
}

/// The steps of an upgrade, from the state before. A pool that lags changes its version in the first step.
fn steps<'a>(first: &'a UpgradeStep, change: &'a Change) -> Vec<&'a UpgradeStep> {
    std::iter::once(first).chain(&change.steps).collect()
}

/// The steps that change the version of a part.
fn moves(steps: &[&UpgradeStep], subject: &TopologyPart) -> Vec<usize> {
    let is_move = |at: &usize| of_part(steps[at - 1], subject) != of_part(steps[*at], subject);
    (1..steps.len()).filter(is_move).collect()
}

/// Pools that keep old machines, so that a part waits for its version.
struct Holding<'a> {
    pools: Vec<&'a Worker>,
    /// How many of them have to give up their old machines.
    needed: usize,
}

impl Holding<'_> {
    fn in_words(&self) -> Vec<String> {
        let (paused, kept): (Vec<&Worker>, Vec<&Worker>) =
            self.pools.iter().partition(|one| is_paused(&one.object));
        let name = |one: &Worker| {
            let name = TopologyPart::pool(PoolKind::MachineDeployment, &one.name).in_words();
            // An autoscaled pool may have none.
            if count(&one.object) == Some(0) { format!("{name} (if it has machines)") } else { name }
        };
        let named =
            |pools: &[&Worker], or: &str| pools.iter().map(|one| name(one)).collect::<Vec<_>>().join(or);
        let is_any = self.needed < self.pools.len();
        if is_any && (self.needed > 1 || !(paused.is_empty() || kept.is_empty())) {
            let why = |one: &&Worker| {
                let why = if is_paused(&one.object) { "paused" } else { "OnDelete" };
                format!("{} ({why})", name(one))
            };
            let have = if self.needed == 1 { "has" } else { "have" };
            let pools = self.pools.iter().map(why).collect::<Vec<_>>().join(", ");
            return vec![format!(
                "it waits until {} of these pools {have} no old machines: {pools}",
                self.needed
            )];
        }
        let or = if is_any { " or " } else { ", " };
        let mut found = Vec::new();
        if !kept.is_empty() {
            let pools = named(&kept, or);
            found.push(format!(
                "it waits until the old machines of {pools} are deleted: their strategy is OnDelete"
            ));
        }
        if !paused.is_empty() {
            found.push(format!("it waits until nothing pauses {}", named(&paused, or)));
        }
        found
    }
}

/// The pools that keep their old machines and thereby delay the version that a part gets `at` a step; none if nothing does.
///
/// They block the control plane's next version and everything that follows it. Once the limit on concurrent upgrades is
/// reached, they also block other pools (`computeControlPlaneVersion`, `UpgradeConcurrencyReached` of
/// `exp/topology/scope/upgradetracker.go`).
fn holding<'a>(
    running: &'a Desired,
    steps: &[&UpgradeStep],
    at: usize,
    subject: &TopologyPart,
) -> Option<Holding<'a>> {
    let pools: Vec<TopologyPart> = running
        .deployments
        .iter()
        .map(|one| TopologyPart::pool(PoolKind::MachineDeployment, &one.name))
        .collect();
    let place = pools.iter().position(|part| part == subject);
    let moved = |part: &TopologyPart, end: usize| {
        let version = |step: &UpgradeStep| of_part(step, part).cloned();
        let is_older =
            |pair: &[&UpgradeStep]| version(pair[0]).is_some() && version(pair[0]) != version(pair[1]);
        steps[..end].windows(2).any(is_older)
    };
    let late = |end_of: &dyn Fn(usize) -> usize| -> Vec<&'a Worker> {
        let is_late = |(index, one): &(usize, &'a Arc<Worker>)| {
            pools[*index] != *subject
                && keeper(one).is_some()
                && moved(&pools[*index], end_of(*index).min(steps.len()))
        };
        running.deployments.iter().enumerate().filter(is_late).map(|(_, one)| &**one).collect()
    };
    if subject.is_of(PoolKind::MachineDeployment) {
        // Of pools that move in the same step, those that come first in the Cluster take the free places.
        let pools = late(&|index| at + usize::from(place.is_some_and(|place| index < place)));
        let places = concurrency(&running.cluster);
        if pools.len() >= places {
            return Some(Holding { needed: pools.len() + 1 - places, pools });
        }
    }
    let is_next = |pair: &[&UpgradeStep]| pair[0].control_plane != pair[1].control_plane;
    let end = steps[..=at].windows(2).rposition(is_next).map_or(0, |at| at + 1);
    let pools = late(&|_| end);
    (!pools.is_empty()).then_some(Holding { needed: pools.len(), pools })
}
