//! The objects of a cluster by role, both desired and running.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::role::{Pool, PoolKind, PoolObject, Role, TopologyPart};

/// The objects of a cluster. A copy shares its objects with the original, until one of the two changes them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Desired {
    /// The Cluster.
    pub cluster: Arc<Value>,
    /// The infrastructure cluster.
    pub infrastructure: Arc<Value>,
    /// The control plane.
    pub control_plane: Arc<Value>,
    /// The template of the control plane's machines.
    pub machine_template: Option<Arc<Value>>,
    /// The control plane's health check.
    pub health_check: Option<Value>,
    /// Machine deployments, in the order of the topology.
    pub deployments: Vec<Arc<Worker>>,
    /// Machine pools, in the order of the topology.
    pub pools: Vec<Arc<Worker>>,
}

/// A machine deployment or machine pool with its objects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Worker {
    /// Its name in the topology.
    pub name: String,
    /// The machine deployment or machine pool.
    pub object: Arc<Value>,
    /// The fields that the controller wrote; null if it does not run yet.
    pub applied: Arc<Value>,
    /// Bootstrap template, or bootstrap config of a pool.
    pub bootstrap: Arc<Value>,
    /// Machine template, or infrastructure pool.
    pub infrastructure: Arc<Value>,
    /// Its health check.
    pub health_check: Option<Value>,
}

impl Worker {
    fn objects(&self) -> impl Iterator<Item = (PoolObject, &Value)> {
        [
            (PoolObject::Own, Some(&*self.object)),
            (PoolObject::Bootstrap, Some(&*self.bootstrap)),
            (PoolObject::Infrastructure, Some(&*self.infrastructure)),
            (PoolObject::HealthCheck, self.health_check.as_ref()),
        ]
        .into_iter()
        .filter_map(|(what, object)| object.map(|object| (what, object)))
    }

    fn object_mut(&mut self, what: PoolObject) -> Option<&mut Value> {
        match what {
            PoolObject::Own => Some(Arc::make_mut(&mut self.object)),
            PoolObject::Bootstrap => Some(Arc::make_mut(&mut self.bootstrap)),
            PoolObject::Infrastructure => Some(Arc::make_mut(&mut self.infrastructure)),
            PoolObject::HealthCheck => self.health_check.as_mut(),
        }
    }
}

impl Desired {
    /// The pools of a kind.
    pub fn workers(&self, kind: PoolKind) -> &[Arc<Worker>] {
        match kind {
            PoolKind::MachineDeployment => &self.deployments,
            PoolKind::MachinePool => &self.pools,
        }
    }

    /// The pools of a kind, mutably.
    pub fn workers_mut(&mut self, kind: PoolKind) -> &mut Vec<Arc<Worker>> {
        match kind {
            PoolKind::MachineDeployment => &mut self.deployments,
            PoolKind::MachinePool => &mut self.pools,
        }
    }

    /// All pools: machine deployments, then machine pools.
    pub fn all_workers(&self) -> impl Iterator<Item = (Pool, &Arc<Worker>)> {
        let of = |kind| self.workers(kind).iter().map(move |one| (Pool::new(kind, &one.name), one));
        PoolKind::ALL.into_iter().flat_map(of)
    }

    /// A pool by name.
    pub fn worker(&self, pool: &Pool) -> Option<&Arc<Worker>> {
        self.workers(pool.kind).iter().find(|one| one.name == pool.name)
    }

    /// All objects by role.
    pub fn objects(&self) -> BTreeMap<Role, &Value> {
        let mut all = BTreeMap::from([
            (Role::Cluster, &*self.cluster),
            (Role::Infrastructure, &*self.infrastructure),
            (Role::ControlPlane, &*self.control_plane),
        ]);
        if let Some(template) = &self.machine_template {
            all.insert(Role::ControlPlaneMachines, template);
        }
        if let Some(check) = &self.health_check {
            all.insert(Role::ControlPlaneHealthCheck, check);
        }
        for (pool, worker) in self.all_workers() {
            all.extend(worker.objects().map(|(what, object)| (pool.clone().role(what), object)));
        }
        all
    }

    /// The main object of a part.
    pub fn own(&self, part: &TopologyPart) -> Option<&Value> {
        match part {
            TopologyPart::Cluster => Some(&self.cluster),
            TopologyPart::ControlPlane => Some(&self.control_plane),
            TopologyPart::Infrastructure => Some(&self.infrastructure),
            TopologyPart::Pool(pool) => self.worker(pool).map(|worker| &*worker.object),
        }
    }

    /// The object of a role, mutably.
    pub fn object_mut(&mut self, role: &Role) -> Option<&mut Value> {
        match role {
            Role::Cluster => Some(Arc::make_mut(&mut self.cluster)),
            Role::Infrastructure => Some(Arc::make_mut(&mut self.infrastructure)),
            Role::ControlPlane => Some(Arc::make_mut(&mut self.control_plane)),
            Role::ControlPlaneMachines => self.machine_template.as_mut().map(Arc::make_mut),
            Role::ControlPlaneHealthCheck => self.health_check.as_mut(),
            Role::Pool(pool, what) => {
                let mut workers = self.workers_mut(pool.kind).iter_mut();
                let worker = workers.find(|one| one.name == pool.name)?;
                Arc::make_mut(worker).object_mut(*what)
            }
        }
    }
}

/// Indexes workers by name; if two share a name, the first one counts.
pub(crate) fn positions(workers: &[Arc<Worker>]) -> BTreeMap<&str, usize> {
    workers.iter().enumerate().rev().map(|(at, worker)| (worker.name.as_str(), at)).collect()
}
