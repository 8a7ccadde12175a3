//! The state before a change, and the objects that the change writes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::writing::Writing;
use crate::class::Catalog;
use crate::role::{Role, TopologyPart};
use crate::state::Desired;

/// The state before a change.
#[derive(Debug, Clone)]
pub struct Before {
    /// Classes and templates.
    pub catalog: Catalog,
    /// The manifest of the Cluster as it was written.
    pub written: Value,
    /// Fields of the Cluster that other managers set: an apply does not remove them.
    pub others: Value,
    /// All running Clusters, including this one; empty if only this one is known.
    pub all: Arc<[Value]>,
    /// The running objects, including the `status` of the control plane.
    pub running: Desired,
    /// Fields of running objects that other managers set: the controller does not remove them.
    pub set_by_others: BTreeMap<Role, Value>,
    /// Parts that are known to have machines at a version other than the desired one.
    pub upgrading: BTreeSet<TopologyPart>,
    /// Whether a control plane that is still rolling out is assumed to finish before the change is reconciled.
    pub settles: bool,
}

impl Before {
    /// All running Clusters that are known.
    pub fn clusters(&self) -> &[Value] {
        if self.all.is_empty() { std::slice::from_ref(&self.running.cluster) } else { &self.all }
    }
}

/// The objects that a change writes.
#[derive(Debug, Clone, Copy)]
pub struct After<'a> {
    /// Classes and templates.
    pub classes: &'a [Value],
    /// The Cluster; none if only classes change.
    pub cluster: Option<&'a Value>,
    /// How they are written.
    pub writing: Writing,
}
