//! What is known about the running objects: their versions, if given, and the status of the live Cluster.
//!
//! Source: `isMachineDeploymentDeferred` of `exp/topology/desiredstate/desired_state.go` (a pool that is held back may lag) and
//! `reconcileTopologyReconciledCondition` of `core/reconcilers/topology/cluster/status.go`.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::evidence::Evidence;
use super::field::Field;
use super::meaning::Meaning;
use super::rules::Rule;
use super::verdict::Verdict;
use crate::contract::{Contract, pool_label};
use crate::import::{ControllerObject, Imported, Objects};
use crate::role::{PoolKind, Role, TopologyPart};
use crate::state::Desired;
use crate::upgrade::tracker::{deferred_by, is_upgrading};
use k8s_schema::value::{get, list, set, text};

/// The observed state, as far as it was given.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Observed {
    /// Running control planes, machine deployments and machine pools of the Cluster.
    pub objects: Vec<Value>,
    /// The fields that the topology controller wrote and those that others wrote, for running objects with managed fields.
    pub controller_objects: Vec<ControllerObject>,
    /// Running Machines of the Cluster.
    pub machines: Vec<Value>,
    /// Templates that the topology controller made, newest first.
    pub templates: Vec<Value>,
    /// The status of the live Cluster.
    pub status: Value,
    /// The generation of the live Cluster.
    pub generation: Option<i64>,
    /// All running Clusters that were given, including this one: a class is written for all of them.
    pub all: Arc<[Value]>,
}

impl Observed {
    /// Collects what the objects in files or an export reveal about a Cluster among them. The other running Clusters are
    /// left unset: see [`Self::beside`].
    pub fn of(cluster: &Imported, objects: &Objects) -> Self {
        let is_template = |one: &&Imported| text(&one.object, &["kind"]).ends_with("Template");
        let mut templates: Vec<_> =
            objects.controller_objects_of(&cluster.object).filter(is_template).collect();
        templates.sort_by(|one, other| other.created.cmp(&one.created));
        Self {
            objects: objects.running_for(&cluster.object),
            controller_objects: objects
                .controller_objects_of(&cluster.object)
                .filter_map(|one| one.by_controller.clone())
                .collect(),
            machines: objects.machines_for(&cluster.object),
            templates: templates.into_iter().map(|one| one.object.clone()).collect(),
            status: cluster.status.clone(),
            generation: cluster.generation,
            all: Arc::default(),
        }
    }

    /// Sets all running Clusters, including this one.
    #[must_use]
    pub fn beside(self, all: Arc<[Value]>) -> Self {
        Self { all, ..self }
    }
}

/// Sets the versions of running objects to the observed ones. Returns the parts whose version is known.
pub(super) fn versions(running: &mut Desired, observed: &Observed) -> BTreeSet<TopologyPart> {
    let mut known = BTreeSet::new();
    let kind = text(&running.control_plane, &["kind"]).to_owned();
    let own = observed.objects.iter().find(|one| text(one, &["kind"]) == kind && !is_upgrading(one));
    if let Some(version) = own.map(|one| text(one, Contract::VERSION)).filter(|one| !one.is_empty()) {
        set(Arc::make_mut(&mut running.control_plane), Contract::VERSION, json!(version));
        set(Arc::make_mut(&mut running.control_plane), &["status"], json!({ "version": version }));
        known.insert(TopologyPart::ControlPlane);
    }
    let path = ["spec", "template", "spec", "version"];
    for kind in PoolKind::ALL {
        for worker in running.workers_mut(kind).iter_mut().map(Arc::make_mut) {
            let found = self::worker(observed, kind, &worker.name).map(|one| text(one, &path));
            if let Some(version) = found.filter(|one| !one.is_empty()) {
                set(Arc::make_mut(&mut worker.object), &path, json!(version));
                known.insert(TopologyPart::pool(kind, &worker.name));
            }
        }
    }
    known
}

/// Sets the observed number of machines for pools that leave it open. Returns those pools.
pub(super) fn counts(running: &mut Desired, observed: &Observed) -> BTreeSet<TopologyPart> {
    let path = ["spec", "replicas"];
    let mut known = BTreeSet::new();
    for kind in PoolKind::ALL {
        let workers = running.workers_mut(kind).iter_mut();
        for worker in workers.filter(|one| get(&one.applied, &path).is_none()) {
            let found = self::worker(observed, kind, &worker.name);
            if let Some(count) = found.and_then(|one| get(one, &path)).filter(|count| count.is_i64()) {
                set(Arc::make_mut(&mut Arc::make_mut(worker).object), &path, count.clone());
                known.insert(TopologyPart::pool(kind, &worker.name));
            }
        }
    }
    known
}

/// The running `MachineDeployment` of a pool.
pub(super) fn deployment<'a>(observed: &'a Observed, pool: &str) -> Option<&'a Value> {
    worker(observed, PoolKind::MachineDeployment, pool)
}

/// The running `MachineDeployment` or `MachinePool` of a pool.
pub(super) fn worker<'a>(observed: &'a Observed, kind: PoolKind, pool: &str) -> Option<&'a Value> {
    let path = ["metadata", "labels", pool_label(kind)];
    let is_it = |one: &&Value| text(one, &["kind"]) == kind.as_str() && text(one, &path) == pool;
    observed.objects.iter().find(is_it)
}

/// Reports whether the topology controller may have generated a name from a prefix, by adding five random characters.
pub(super) fn is_named(name: &str, prefix: &str) -> bool {
    let is_random = |rest: &str| rest.len() == 5 && rest.bytes().all(|one| one.is_ascii_alphanumeric());
    name.strip_prefix(prefix).is_some_and(is_random)
}

/// A pool that an annotation held back before the change and whose version is unknown.
pub(super) struct Held {
    part: TopologyPart,
    /// Why its version is unknown.
    reason: String,
}

/// Finds the pools that an annotation held back before the change and whose version is unknown.
pub(super) fn held(cluster: &Value, known: &BTreeSet<TopologyPart>) -> Vec<Held> {
    let topology = get(cluster, &["spec", "topology"]).unwrap_or(&Value::Null);
    let mut held = Vec::new();
    for kind in PoolKind::ALL {
        for worker in list(topology, &["workers", kind.list()]) {
            let part = TopologyPart::pool(kind, text(worker, &["name"]));
            if let (Some(by), false) = (deferred_by(kind, topology, worker), known.contains(&part)) {
                let reason = format!(
                    "{by} held it back: if it runs an older version than the Cluster, it is upgraded, and its \
                     machines are replaced, once nothing holds it back; its running object would show its version"
                );
                held.push(Held { part, reason });
            }
        }
    }
    held
}

/// Marks pools that were held back as unknown. Exceptions are pools that are created or deleted, and those that stay held
/// back with no change but that of a health check. `found` holds the verdicts on the change alone.
pub(super) fn evidence(found: &[Verdict], held: &[Held], after: &Value) -> Vec<Evidence> {
    let still = self::held(after, &BTreeSet::new());
    let judge = |one: &Held| {
        let verdict = found.iter().find(|verdict| verdict.subject == one.part)?;
        let stays = still.iter().any(|after| after.part == one.part);
        let is_known = match verdict.meaning {
            Meaning::Create | Meaning::Delete => true,
            Meaning::NoChange | Meaning::InPlace => stays && only_health_check(verdict),
            _ => false,
        };
        let unknown = Evidence::unknown(one.part.clone(), Rule::HeldBack, super::rules::manual_steps::SOURCE);
        (!is_known).then(|| unknown.because(&one.reason))
    };
    held.iter().filter_map(judge).collect()
}

fn only_health_check(verdict: &Verdict) -> bool {
    verdict.fields.iter().filter_map(Field::role).all(Role::is_health_check)
}

fn wanted(cluster: &Value) -> &str {
    text(cluster, &["spec", "topology", "version"])
}

/// The note on a version change while pools may lag.
pub(super) fn lagging(held: &[Held], before: &Value, after: &Value) -> Option<String> {
    if held.is_empty() || wanted(before) == wanted(after) {
        return None;
    }
    let pools: Vec<String> = held.iter().map(|one| one.part.in_words()).collect();
    Some(format!(
        "if {} already runs an older version than the Cluster, the webhook refuses another version until it has \
         caught up",
        pools.join(" or ")
    ))
}

fn is_control_plane(object: &Value) -> bool {
    text(object, &["kind"]).ends_with("ControlPlane")
}

/// Why the running objects may differ from what the topology asks for.
pub(super) struct Unsettled {
    /// The reason, in words.
    pub reason: String,
    /// Whether only an upgrade is in progress: then the waiting parts are those that lag in their version.
    pub upgrading: bool,
}

/// Checks whether the running objects may differ from what the topology asks for.
pub(super) fn unsettled(observed: &Observed) -> Option<Unsettled> {
    condition(observed).or_else(|| {
        let late = observed.objects.iter().find(|one| is_control_plane(one) && is_upgrading(one))?;
        let kind = text(late, &["kind"]);
        let reason = format!("the running {kind} has not reached its version yet: an upgrade is in progress");
        Some(Unsettled { reason, upgrading: true })
    })
}

/// The live Cluster's condition, if it reports unfinished work for the current generation.
pub(super) fn unreconciled(observed: &Observed) -> Option<&Value> {
    let mut found = topology_reconciled(observed);
    found.find(|one| text(one, &["status"]) == "False" && !is_late(one, observed))
}

/// The parts that are known to be on the version of the running objects: all, if the live Cluster says that nothing is left to do.
pub(super) fn settled(
    running: &Desired,
    known: &BTreeSet<TopologyPart>,
    observed: &Observed,
) -> BTreeSet<TopologyPart> {
    let mut settled = known.clone();
    if is_reconciled(observed) {
        settled.insert(TopologyPart::ControlPlane);
        settled.extend(running.all_workers().map(|(pool, _)| TopologyPart::Pool(pool)));
    }
    settled
}

/// Source: `reconcileTopologyReconciledCondition` of `core/reconcilers/topology/cluster/status.go`.
fn is_reconciled(observed: &Observed) -> bool {
    let mut found = topology_reconciled(observed).peekable();
    found.peek().is_some() && found.all(|one| text(one, &["status"]) == "True" && !is_late(one, observed))
}

/// The conditions of this type, from the places where the API versions store them.
fn topology_reconciled(observed: &Observed) -> impl Iterator<Item = &Value> {
    let status = &observed.status;
    let conditions = list(status, &["conditions"]).iter().chain(list(status, &["v1beta2", "conditions"]));
    conditions.filter(|one| text(one, &["type"]) == "TopologyReconciled")
}

/// Reports whether a condition belongs to an older generation than the live Cluster.
fn is_late(condition: &Value, observed: &Observed) -> bool {
    let seen = get(condition, &["observedGeneration"]).and_then(Value::as_i64);
    seen.zip(observed.generation).is_some_and(|(seen, now)| seen < now)
}

/// Evaluates the live Cluster's condition.
fn condition(observed: &Observed) -> Option<Unsettled> {
    let is_unsettled = |one: &&Value| {
        let is_done = text(one, &["status"]) == "True" || only_deferred(one);
        !is_done || is_late(one, observed)
    };
    let found = topology_reconciled(observed).find(is_unsettled)?;
    if is_late(found, observed) {
        let reason = "the live Cluster's condition TopologyReconciled is of an older generation: Cluster API has not yet \
                      reconciled the current Cluster";
        return Some(Unsettled { reason: reason.to_owned(), upgrading: false });
    }
    let (word, why) = (text(found, &["status"]), text(found, &["reason"]));
    let reason = format!(
        "the live Cluster's condition TopologyReconciled is {word} ({why}): the running objects do not match its topology yet"
    );
    Some(Unsettled { reason, upgrading: UPGRADES.iter().any(|one| why.contains(one)) })
}

/// Reports whether only pools held back by annotations lag; those are handled separately. The message lists everything that
/// an upgrade still has to do.
///
/// Source: `reconcileTopologyReconciledCondition` of `core/reconcilers/topology/cluster/status.go`.
fn only_deferred(condition: &Value) -> bool {
    let mut lines = text(condition, &["message"]).lines().skip(1).peekable();
    text(condition, &["reason"]).ends_with("UpgradeDeferred")
        && lines.peek().is_some()
        && lines.all(|line| line.contains(" deferred using "))
}

/// Parts of the condition's reasons during an upgrade.
///
/// Source: `api/core/v1beta2/cluster_types.go`, `ClusterTopologyReconciled…Reason`.
const UPGRADES: [&str; 4] = ["ClusterUpgrading", "UpgradePending", "CreatePending", "UpgradeDeferred"];

/// Reports whether the control plane and all running pools are known.
pub(super) fn all_known(running: &Desired, known: &BTreeSet<TopologyPart>) -> bool {
    let pools = running.all_workers().map(|(pool, _)| TopologyPart::Pool(pool));
    pools.chain([TopologyPart::ControlPlane]).all(|part| known.contains(&part))
}
