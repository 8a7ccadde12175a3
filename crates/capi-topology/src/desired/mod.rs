//! The desired state: what the topology controller wants to exist, before it applies anything.
//!
//! Source: `exp/topology/desiredstate/desired_state.go`.

pub(crate) mod cluster;
pub(crate) mod control_plane;
pub(crate) mod health_check;
mod patch_engine;
mod patch_item;
pub(crate) mod templates;
pub(crate) mod workers;

use std::sync::Arc;

use gotmpl::time::utc_seconds;
use serde_json::Value;

use super::class::Blueprint;
use super::names::Draw;
use super::patches::PatchBehavior;
use super::refusal::{Opaque, Refusal, Stage};
use super::role::{PoolKind, Role};
use super::upgrade::tracker::{Running, Tracker};
use crate::state::Desired;
use k8s_schema::value::get;

/// The input of a desired state; the Cluster becomes part of the result.
#[derive(Debug)]
pub(crate) struct Input<'a> {
    /// The class.
    pub blueprint: &'a Blueprint,
    /// The Cluster as admitted.
    pub cluster: Value,
    /// The running objects; none for a cluster that does not exist yet.
    pub current: Option<&'a Desired>,
    /// The symbol for the random characters in names of new objects.
    pub draw: Draw,
    /// The patch features of the Cluster API version.
    pub version: PatchBehavior,
    /// An earlier result for the same class, draw and version; parts that would not change are reused.
    pub earlier: Option<&'a Generated>,
}

/// A desired state, with the parts that cannot be known.
#[derive(Debug)]
#[non_exhaustive]
pub struct Generated {
    /// The objects.
    pub desired: Desired,
    /// What cannot be known.
    pub opaque: Vec<Opaque>,
    /// The progress of an upgrade.
    pub(crate) tracker: Tracker,
}

impl Input<'_> {
    /// The topology of the Cluster.
    pub(crate) fn topology(&self) -> &Value {
        get(&self.cluster, &["spec", "topology"]).unwrap_or(&Value::Null)
    }

    /// The input of version decisions.
    pub(super) fn running(&self) -> Running<'_> {
        Running { cluster: &self.cluster, class: &self.blueprint.class, current: self.current }
    }

    /// The earlier result for the same Cluster, if it is completely known.
    fn known(&self) -> Option<&Desired> {
        let earlier = self.earlier.filter(|earlier| earlier.opaque.is_empty())?;
        (*earlier.desired.cluster == self.cluster).then_some(&earlier.desired)
    }
}

/// Normalizes an instant of a topology, which is read as `metav1.Time`.
pub(crate) fn instant(written: &Value) -> Value {
    written.as_str().and_then(utc_seconds).map_or_else(|| written.clone(), Value::String)
}

/// Computes the desired state, in the order of upstream's generator.
pub(crate) fn generate(mut input: Input<'_>) -> Result<Generated, Refusal> {
    let failed = |error: String| {
        let detail = format!("error computing the desired state of the Cluster topology: {error}");
        Refusal::controller(Stage::Desired, detail)
    };
    let infrastructure = cluster::infrastructure(&input).map_err(failed)?;
    let mut desired = Desired { infrastructure: Arc::new(infrastructure), ..Desired::default() };
    desired.machine_template = control_plane::machine_template(&input).map(Arc::new);
    let mut tracker = Tracker::plan(input.running()).map_err(failed)?;
    let control_plane = control_plane::compute(&input, desired.machine_template.as_deref(), &mut tracker);
    desired.control_plane = Arc::new(control_plane.map_err(failed)?);
    desired.health_check = health_check::of_control_plane(&input, &desired.control_plane);
    // The following steps read nothing of the Cluster that this changes, except for patches, which must see the change.
    cluster::complete(&mut input.cluster, &desired, &tracker);
    let known = input.known();
    for kind in PoolKind::ALL {
        *desired.workers_mut(kind) = workers::workers(kind, &input, known, &mut tracker).map_err(failed)?;
    }
    let mut opaque =
        patch_engine::apply((&input.cluster, input.blueprint), input.version, known, &mut desired)
            .map_err(failed)?;
    let unknown = control_plane::unknown_contract(&input);
    opaque.extend(unknown.map(|reason| Opaque::new(Role::ControlPlane, reason)));
    let class = input.blueprint.opaque.iter().cloned();
    opaque.extend(class.map(Opaque::of_all));
    desired.cluster = Arc::new(input.cluster);
    Ok(Generated { desired, opaque, tracker })
}
