//! The complete prediction: what happens when classes and a Cluster are created, and when they change.
//!
//! [`create`] handles a new Cluster and [`forecast`] a running one, with a verdict on each part:
//!
//! ```
//! use capi_topology::{Meaning, Settings, Side, TopologyPart, import::ClassFiles, predict::forecast};
//! use serde_json::{Value, json};
//!
//! fn object(group: &str, kind: &str, spec: Value) -> Value {
//!     json!({
//!         "apiVersion": format!("{group}cluster.x-k8s.io/v1beta2"), "kind": kind,
//!         "metadata": { "name": "small", "namespace": "default" }, "spec": spec,
//!     })
//! }
//! fn reference(group: &str, kind: &str) -> Value {
//!     json!({ "apiVersion": format!("{group}cluster.x-k8s.io/v1beta2"), "kind": kind, "name": "small" })
//! }
//!
//! let template = |spec: Value| json!({ "template": { "spec": spec } });
//! let kubeadm = json!({ "format": "cloud-config" });
//! let class = ClassFiles::new(vec![
//!     object("", "ClusterClass", json!({
//!         "infrastructure": { "templateRef": reference("infrastructure.", "DockerClusterTemplate") },
//!         "controlPlane": {
//!             "templateRef": reference("controlplane.", "KubeadmControlPlaneTemplate"),
//!             "machineInfrastructure": { "templateRef": reference("infrastructure.", "DockerMachineTemplate") },
//!         },
//!         "workers": { "machineDeployments": [{
//!             "class": "default",
//!             "bootstrap": { "templateRef": reference("bootstrap.", "KubeadmConfigTemplate") },
//!             "infrastructure": { "templateRef": reference("infrastructure.", "DockerMachineTemplate") },
//!         }] },
//!     })),
//!     object("infrastructure.", "DockerClusterTemplate", template(json!({}))),
//!     object("controlplane.", "KubeadmControlPlaneTemplate", template(json!({ "kubeadmConfigSpec": kubeadm }))),
//!     object("bootstrap.", "KubeadmConfigTemplate", template(kubeadm)),
//!     object("infrastructure.", "DockerMachineTemplate", template(json!({}))),
//! ]);
//! let cluster = |replicas: i64| object("", "Cluster", json!({ "topology": {
//!     "classRef": { "name": "small" }, "version": "v1.35.0",
//!     "workers": { "machineDeployments": [{ "class": "default", "name": "md-0", "replicas": replicas }] },
//! } }));
//!
//! let before = Side::new(cluster(3), class);
//! let after = Side::new(cluster(5), before.class.clone());
//! let settings = Settings::new("1.14").expect("a version");
//! let forecast = forecast::of_change(&before, &after, &settings).expect("the state before is accepted");
//!
//! assert!(forecast.faults.is_empty(), "{:?}", forecast.faults);
//! let pool = forecast.verdicts.iter().find(|one| matches!(one.subject, TopologyPart::Pool(_))).expect("it has a verdict");
//! assert_eq!(pool.meaning, Meaning::Scale { from: 3, to: 5 });
//! assert_eq!(pool.meaning.words(), "scale from 3 to 5");
//! ```

mod admit;
pub mod adoption;
mod applied_again;
pub(crate) mod apply;
mod baseline;
pub(crate) mod before_after;
pub(crate) mod change;
pub mod class_change;
mod class_effect;
mod client_side;
pub mod create;
mod dropped;
mod emptied;
mod evidence;
pub(crate) mod field;
pub mod forecast;
mod list_change;
mod live;
pub mod machine_counts;
pub(crate) mod meaning;
pub(crate) mod objects;
pub(crate) mod observed;
pub mod one_by_one;
mod overwrite;
pub(crate) mod reason;
mod reconcile;
pub mod report;
pub(crate) mod rules;
pub(crate) mod running;
mod settled;
pub(crate) mod shared;
pub(crate) mod side;
pub(crate) mod steps;
mod upgrading;
mod variable_change;
pub(crate) mod verdict;
pub(crate) mod writing;

pub use super::upgrade::plan::UpgradePath;
pub use change::{Change, Effect, ListChange, ObjectChange};
pub use meaning::MeaningKind;
pub use rules::held_pools::BlockingParts;
pub use rules::machine_rollouts::{Basis, MachineRollout, Replaced};

use super::patches::PatchBehavior;
use super::upgrade::version::Version;
use crate::gates::Gates;

/// The known facts about the management cluster.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Settings {
    pub(crate) cluster_api: Version,
    /// Its feature gates.
    pub gates: Gates,
}

impl Settings {
    /// Settings for a version of Cluster API, `1.14` or `v1.14.2`.
    pub fn new(cluster_api: &str) -> Option<Self> {
        Version::tolerant(cluster_api).map(|cluster_api| Self { cluster_api, gates: Gates::default() })
    }

    /// Returns the settings with these feature gates.
    #[must_use]
    pub fn with_gates(self, gates: Gates) -> Self {
        Self { gates, ..self }
    }

    /// The patch features of this version.
    pub(crate) fn patches(&self) -> PatchBehavior {
        let at_least = (self.cluster_api.major, self.cluster_api.minor) >= (1, 14);
        PatchBehavior { metadata_patches: at_least }
    }
}
