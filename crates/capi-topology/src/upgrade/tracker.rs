//! The progress of an upgrade: the version that each part gets in one pass of the controller.
//!
//! Source: `exp/topology/scope/upgradetracker.go` and the version functions of
//! `exp/topology/desiredstate/desired_state.go`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::plan::{self, Span, UpgradePath};
use super::version::{Order, Version};
use crate::contract::{Contract, DEFER, HOLD, PAUSED};
use crate::role::PoolKind;
use crate::state::{Desired, Worker};
use k8s_schema::value::{get, list, map, present, text};

/// The input of the version decisions in a pass.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Running<'a> {
    /// The Cluster as admitted.
    pub cluster: &'a Value,
    /// Its class.
    pub class: &'a Value,
    /// The running objects; none for a cluster that does not exist yet.
    pub current: Option<&'a Desired>,
}

impl<'a> Running<'a> {
    /// The version that the topology asks for.
    fn wanted(&self) -> &'a str {
        text(self.cluster, &["spec", "topology", "version"])
    }
}

/// The state of an upgrade in one pass.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub(crate) struct Tracker {
    /// The remaining plan at the start of the pass.
    pub plan: UpgradePath,
    pub control_plane: ControlPlane,
    pub deployments: Workers,
    pub pools: Workers,
}

/// The upgrade state of the control plane.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub(crate) struct ControlPlane {
    /// It is not at the desired version, and does not move towards it in this pass.
    pub pending: bool,
    /// Workers have to catch up first.
    pub waiting_for_workers: bool,
    /// It is being created.
    pub provisioning: bool,
    /// Its machines have not reached its version yet.
    pub upgrading: bool,
    /// It gets its next version in this pass.
    pub starting: bool,
}

/// The upgrade state of machine deployments or machine pools, by topology name.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub(crate) struct Workers {
    /// Those that get their next version in this pass.
    pub upgrading: BTreeSet<String>,
    /// Those that wait and stay unchanged.
    pub pending: BTreeSet<String>,
    /// Those that an annotation holds back, with a description of it.
    pub deferred: BTreeMap<String, String>,
    /// Those that are not created yet.
    pub pending_create: BTreeSet<String>,
    planned: bool,
    /// The first one so far with the annotation that holds back all that follow.
    holder: Option<String>,
}

impl ControlPlane {
    /// Reports whether no change is in progress or about to start.
    pub(crate) fn is_stable(&self) -> bool {
        !(self.provisioning || self.upgrading || self.starting || self.pending)
    }

    fn is_stable_or_waits(&self) -> bool {
        let waits = !self.pending || self.waiting_for_workers;
        !(self.provisioning || self.upgrading || self.starting) && waits
    }
}

impl Tracker {
    /// Plans the upgrade from the running objects.
    pub(crate) fn plan(running: Running<'_>) -> Result<Self, String> {
        let Some(current) = running.current else { return Ok(Self::default()) };
        let control_plane = text(&current.control_plane, Contract::VERSION);
        let workers = lowest_worker(current, control_plane)?;
        let span = Span { desired: running.wanted(), control_plane, workers: workers.as_deref() };
        let versions: Vec<String> = list(running.class, &["spec", "kubernetesVersions"])
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect();
        let plan = plan::plan(span, &versions)?;
        Ok(Self {
            deployments: Workers {
                planned: !current.deployments.is_empty() && !plan.workers.is_empty(),
                ..Workers::default()
            },
            pools: Workers {
                planned: !current.pools.is_empty() && !plan.workers.is_empty(),
                ..Workers::default()
            },
            plan,
            control_plane: ControlPlane::default(),
        })
    }

    pub(crate) fn workers(&self, kind: PoolKind) -> &Workers {
        match kind {
            PoolKind::MachineDeployment => &self.deployments,
            PoolKind::MachinePool => &self.pools,
        }
    }

    /// Reports whether an upgrade is planned or in progress.
    pub(crate) fn is_upgrading(&self) -> bool {
        !self.plan.control_plane.is_empty() || self.deployments.planned || self.pools.planned
    }

    /// The version that the control plane gets in this pass.
    pub(crate) fn control_plane_version(&mut self, running: Running<'_>) -> Result<String, String> {
        let desired = running.wanted();
        let Some(current) = running.current else { return Ok(desired.to_owned()) };
        let version = text(&current.control_plane, Contract::VERSION).to_owned();
        self.control_plane.pending = version != desired;
        if is_provisioning(&current.control_plane) {
            self.control_plane.provisioning = true;
            return Ok(version);
        }
        if is_upgrading(&current.control_plane) {
            self.control_plane.upgrading = true;
            return Ok(version);
        }
        let workers_follow = self.deployments.planned || self.pools.planned;
        if workers_follow && self.plan.workers.first() == Some(&version) {
            self.control_plane.waiting_for_workers = true;
            return Ok(version);
        }
        if !self.control_plane.pending {
            return Ok(version);
        }
        let next = self.plan.control_plane.first().ok_or(
            "cannot compute the control plane version if the control plane is pending upgrade \
             and the upgrade plan is not set",
        )?;
        self.control_plane.starting = true;
        self.control_plane.pending = false;
        Ok(next.clone())
    }

    /// The version that a machine deployment or machine pool gets in this pass. Callers must ask in the order of the
    /// topology.
    pub(crate) fn worker_version(
        &mut self,
        kind: PoolKind,
        running: Running<'_>,
        topology: &Value,
        current: Option<&Worker>,
    ) -> Result<String, String> {
        let name = text(topology, &["name"]).to_owned();
        let desired = running.wanted();
        let stable = self.control_plane.is_stable();
        let ready = self.control_plane.is_stable_or_waits();
        let next = self.plan.workers.first().cloned();
        let workers = match kind {
            PoolKind::MachineDeployment => &mut self.deployments,
            PoolKind::MachinePool => &mut self.pools,
        };
        let deferred = held_by(topology, workers.holder.as_deref());
        if workers.holder.is_none() && is_annotated(topology, HOLD) {
            workers.holder = Some(name.clone());
        }
        let Some(current) = current else {
            if !stable {
                workers.pending_create.insert(name);
            }
            return Ok(desired.to_owned());
        };
        let version = text(&current.object, &["spec", "template", "spec", "version"]);
        if version == desired {
            return Ok(version.to_owned());
        }
        if let Some(annotation) = deferred {
            workers.deferred.insert(name.clone(), annotation);
            workers.pending.insert(name);
            return Ok(version.to_owned());
        }
        if workers.upgrading.len() >= concurrency(running.cluster) || !ready {
            workers.pending.insert(name);
            return Ok(version.to_owned());
        }
        let next = next.filter(|_| workers.planned).ok_or(
            "cannot compute the version of a worker that is pending upgrade if the upgrade \
             plan is not set",
        )?;
        if next == version {
            workers.pending.insert(name);
            return Ok(next);
        }
        workers.upgrading.insert(name);
        Ok(next)
    }
}

fn lowest_worker(current: &Desired, control_plane: &str) -> Result<Option<String>, String> {
    let mut lowest: Option<Version> = None;
    for worker in current.deployments.iter().chain(&current.pools) {
        let version = text(&worker.object, &["spec", "template", "spec", "version"]);
        if version.is_empty() {
            continue;
        }
        let version =
            Version::tolerant(version).ok_or_else(|| format!("failed to parse version {version}"))?;
        let lower = lowest.as_ref().is_none_or(|lowest| match version.compare_builds(lowest) {
            Order::Known(order) => order.is_lt(),
            Order::Unknown => {
                Some(version.to_string())
                    != Version::tolerant(control_plane).map(|version| version.to_string())
            }
        });
        if lower {
            lowest = Some(version);
        }
    }
    Ok(lowest.map(|version| format!("v{version}")))
}

/// Reports whether a control plane is being created: it has no version in its status yet.
pub(crate) fn is_provisioning(control_plane: &Value) -> bool {
    list(control_plane, &["status", "versions"]).is_empty()
        && text(control_plane, &["status", "version"]).is_empty()
}

/// Reports whether machines of a control plane have not reached its version yet.
pub(crate) fn is_upgrading(control_plane: &Value) -> bool {
    let Some(wanted) = Version::tolerant(text(control_plane, Contract::VERSION)) else {
        return false;
    };
    let lags = |text: &str| Version::tolerant(text).is_some_and(|one| wanted.exceeds(&one));
    let versions = list(control_plane, &["status", "versions"]);
    if versions.is_empty() {
        return lags(text(control_plane, &["status", "version"]));
    }
    versions.iter().any(|one| lags(text(one, &["version"])))
}

/// Describes the annotation that holds a worker back, if any.
pub(crate) fn deferred_by(kind: PoolKind, topology: &Value, worker: &Value) -> Option<String> {
    let own = text(worker, &["name"]);
    let mut before =
        list(topology, &["workers", kind.list()]).iter().take_while(|one| text(one, &["name"]) != own);
    let holder = before.find(|one| is_annotated(one, HOLD));
    held_by(worker, holder.map(|one| text(one, &["name"])))
}

/// Like [`deferred_by`], for a known holder, which holds back all workers that follow it.
fn held_by(worker: &Value, holder: Option<&str>) -> Option<String> {
    match [DEFER, HOLD].into_iter().find(|one| is_annotated(worker, one)) {
        Some(own) => Some(format!("its annotation {own}")),
        None => holder.map(|name| format!("the annotation {HOLD} of {name}, which comes before it")),
    }
}

/// Those pools of one kind whose machines stay on their Kubernetes version while the Cluster is upgraded: they are held back, or
/// [paused](PAUSED). `pools` are in the order of the topology, and `has` tells whether a pool has an annotation.
pub fn held_back<'a, P: 'a>(
    pools: impl IntoIterator<Item = &'a P>,
    has: impl Fn(&P, &str) -> bool,
) -> impl Iterator<Item = &'a P> {
    let mut holds = false;
    pools.into_iter().filter(move |pool| {
        holds |= has(pool, HOLD);
        holds || has(pool, DEFER) || has(pool, PAUSED)
    })
}

fn is_annotated(worker: &Value, annotation: &str) -> bool {
    map(worker, &["metadata", "annotations"]).is_some_and(|all| all.contains_key(annotation))
}

/// The maximum number of machine deployments, and of machine pools, that upgrade at a time.
pub(crate) fn concurrency(cluster: &Value) -> usize {
    let annotation = "topology.cluster.x-k8s.io/upgrade-concurrency";
    present(cluster, &["metadata", "annotations"])
        .and_then(|all| get(all, &[annotation]))
        .and_then(Value::as_str)
        .and_then(|text| text.parse().ok())
        .filter(|count| *count >= 1)
        .unwrap_or(1)
}
