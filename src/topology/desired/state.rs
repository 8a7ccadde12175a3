//! The objects of a cluster, by what they are for: desired ones and running ones alike.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

/// The objects of a cluster. A copy shares its workers with the original, until one of the two changes them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Desired {
    /// The Cluster.
    pub cluster: Value,
    /// The infrastructure cluster.
    pub infrastructure: Value,
    /// The control plane.
    pub control_plane: Value,
    /// The template of the control plane's machines.
    pub machine_template: Option<Value>,
    /// The control plane's health check.
    pub health_check: Option<Value>,
    /// Machine deployments, in the order of the topology.
    pub deployments: Vec<Arc<Worker>>,
    /// Machine pools, in the order of the topology.
    pub pools: Vec<Arc<Worker>>,
}

/// A machine deployment or machine pool with its objects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Worker {
    /// Its name in the topology.
    pub name: String,
    /// The machine deployment or machine pool.
    pub object: Value,
    /// What the controller wrote of it; nothing of what does not run yet.
    pub applied: Value,
    /// Bootstrap template, or bootstrap config of a pool.
    pub bootstrap: Value,
    /// Machine template, or infrastructure pool.
    pub infrastructure: Value,
    /// Its health check.
    pub health_check: Option<Value>,
}

impl Worker {
    fn parts(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        [
            ("", Some(&self.object)),
            (".bootstrap", Some(&self.bootstrap)),
            (".infrastructure", Some(&self.infrastructure)),
            (".health-check", self.health_check.as_ref()),
        ]
        .into_iter()
        .filter_map(|(part, object)| object.map(|object| (part, object)))
    }
}

impl Desired {
    /// All objects by role: `cluster`, `control-plane.machine-template`, `md.<name>` …
    pub fn objects(&self) -> BTreeMap<String, &Value> {
        let mut all = BTreeMap::from([
            ("cluster".to_owned(), &self.cluster),
            ("infrastructure-cluster".to_owned(), &self.infrastructure),
            ("control-plane".to_owned(), &self.control_plane),
        ]);
        if let Some(template) = &self.machine_template {
            all.insert("control-plane.machine-template".to_owned(), template);
        }
        if let Some(check) = &self.health_check {
            all.insert("control-plane.health-check".to_owned(), check);
        }
        for (kind, workers) in [("md", &self.deployments), ("mp", &self.pools)] {
            for worker in workers {
                for (part, object) in worker.parts() {
                    all.insert(format!("{kind}.{}{part}", worker.name), object);
                }
            }
        }
        all
    }

    /// The object of a role.
    pub fn object_mut(&mut self, role: &str) -> Option<&mut Value> {
        match role {
            "cluster" => return Some(&mut self.cluster),
            "infrastructure-cluster" => return Some(&mut self.infrastructure),
            "control-plane" => return Some(&mut self.control_plane),
            "control-plane.machine-template" => return self.machine_template.as_mut(),
            "control-plane.health-check" => return self.health_check.as_mut(),
            _ => {}
        }
        let (kind, rest) = role.split_once('.')?;
        let workers = if kind == "md" { &mut self.deployments } else { &mut self.pools };
        for worker in workers {
            let Some(part) = rest.strip_prefix(worker.name.as_str()) else { continue };
            match part {
                "" => return Some(&mut Arc::make_mut(worker).object),
                ".bootstrap" => return Some(&mut Arc::make_mut(worker).bootstrap),
                ".infrastructure" => return Some(&mut Arc::make_mut(worker).infrastructure),
                ".health-check" => return Arc::make_mut(worker).health_check.as_mut(),
                _ => {}
            }
        }
        None
    }
}

/// Where workers stand, by name; of two with one name it is the first.
pub fn positions(workers: &[Arc<Worker>]) -> BTreeMap<&str, usize> {
    workers.iter().enumerate().rev().map(|(at, worker)| (worker.name.as_str(), at)).collect()
}
