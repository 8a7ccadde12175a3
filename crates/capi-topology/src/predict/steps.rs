//! The states of an upgrade.

use std::collections::{BTreeMap, BTreeSet};

use crate::contract::Contract;
use crate::role::{Pool, PoolKind, Role, TopologyPart};
use crate::state::{Desired, Worker};
use k8s_schema::value::text;

/// One state of an upgrade.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpgradeStep {
    /// The control plane's version.
    pub control_plane: String,
    /// Versions of the pools.
    pub pools: BTreeMap<Pool, String>,
    /// Templates that are rotated in this step.
    pub rotated: BTreeSet<Role>,
}

impl UpgradeStep {
    /// The versions of the pools of a kind, by name.
    pub fn pools_of(&self, kind: PoolKind) -> impl Iterator<Item = (&String, &String)> {
        let of_kind = self.pools.iter().filter(move |(pool, _)| pool.kind == kind);
        of_kind.map(|(pool, version)| (&pool.name, version))
    }
}

/// The versions of a state, with the templates rotated by the pass that led to it.
pub(super) fn step(state: &Desired, rotated: &BTreeSet<Role>) -> UpgradeStep {
    let version = |worker: &Worker| text(&worker.object, &["spec", "template", "spec", "version"]).to_owned();
    UpgradeStep {
        control_plane: text(&state.control_plane, Contract::VERSION).to_owned(),
        pools: state.all_workers().map(|(pool, worker)| (pool, version(worker))).collect(),
        rotated: rotated.clone(),
    }
}

/// The version of a part in a step.
pub(super) fn of_part<'a>(step: &'a UpgradeStep, part: &TopologyPart) -> Option<&'a String> {
    match part {
        TopologyPart::ControlPlane => Some(&step.control_plane),
        TopologyPart::Pool(pool) => step.pools.get(pool),
        TopologyPart::Cluster | TopologyPart::Infrastructure => None,
    }
}
