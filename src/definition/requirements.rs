//! What a stack or a release needs of a management cluster, and what a management cluster has.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

/// What a stack needs of a management cluster.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Requirements {
    /// The versions of Cluster API (`cluster-api`) and of its providers, each as a range: `{ openstack: ">=0.13" }`.
    #[schemars(extend("maxProperties" = 50))]
    pub providers: Option<BTreeMap<String, String>>,
    /// The feature gates of Cluster API that must be on. What the class itself shows to need is added by itself.
    #[schemars(length(max = 50))]
    pub feature_gates: Option<Vec<FeatureGate>>,
}

/// A feature gate of Cluster API.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub enum FeatureGate {
    /// Clusters from classes.
    ClusterTopology,
    /// Changes of machines in place, by an extension.
    InPlaceUpdates,
    /// Machines that are set up by Ignition.
    KubeadmBootstrapFormatIgnition,
    /// Machine pools.
    MachinePool,
    /// Checks before a `MachineSet` makes machines.
    MachineSetPreflightChecks,
    /// Taints in topologies and classes.
    MachineTaintPropagation,
    /// `VolumeAttachments` count when a machine waits for its volumes.
    MachineWaitForVolumeDetachConsiderVolumeAttachments,
    /// Queues by priority.
    PriorityQueue,
    /// Limits on how often objects are reconciled.
    ReconcilerRateLimiting,
    /// Runtime extensions.
    #[serde(rename = "RuntimeSDK")]
    RuntimeSdk,
}

/// The feature gates with which the managers of Cluster API were started.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
pub struct FeatureGates {
    /// Clusters from classes; on where nothing is said, because nothing here works without it.
    pub cluster_topology: Option<bool>,
    /// Changes of machines in place, by an extension.
    pub in_place_updates: Option<bool>,
    /// Machines that are set up by Ignition.
    pub kubeadm_bootstrap_format_ignition: Option<bool>,
    /// Machine pools; on where nothing is said.
    pub machine_pool: Option<bool>,
    /// Checks before a `MachineSet` makes machines; on where nothing is said.
    pub machine_set_preflight_checks: Option<bool>,
    /// Taints in topologies and classes.
    pub machine_taint_propagation: Option<bool>,
    /// `VolumeAttachments` count when a machine waits for its volumes; on where nothing is said.
    pub machine_wait_for_volume_detach_consider_volume_attachments: Option<bool>,
    /// Queues by priority.
    pub priority_queue: Option<bool>,
    /// Limits on how often objects are reconciled.
    pub reconciler_rate_limiting: Option<bool>,
    /// Runtime extensions.
    #[serde(rename = "RuntimeSDK")]
    pub runtime_sdk: Option<bool>,
}

impl FeatureGate {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClusterTopology => "ClusterTopology",
            Self::InPlaceUpdates => "InPlaceUpdates",
            Self::KubeadmBootstrapFormatIgnition => "KubeadmBootstrapFormatIgnition",
            Self::MachinePool => "MachinePool",
            Self::MachineSetPreflightChecks => "MachineSetPreflightChecks",
            Self::MachineTaintPropagation => "MachineTaintPropagation",
            Self::MachineWaitForVolumeDetachConsiderVolumeAttachments => {
                "MachineWaitForVolumeDetachConsiderVolumeAttachments"
            }
            Self::PriorityQueue => "PriorityQueue",
            Self::ReconcilerRateLimiting => "ReconcilerRateLimiting",
            Self::RuntimeSdk => "RuntimeSDK",
        }
    }
}

impl FeatureGates {
    /// Those that are on or off on purpose.
    pub fn set(&self) -> BTreeMap<&'static str, bool> {
        let all = [
            (FeatureGate::ClusterTopology, self.cluster_topology),
            (FeatureGate::InPlaceUpdates, self.in_place_updates),
            (FeatureGate::KubeadmBootstrapFormatIgnition, self.kubeadm_bootstrap_format_ignition),
            (FeatureGate::MachinePool, self.machine_pool),
            (FeatureGate::MachineSetPreflightChecks, self.machine_set_preflight_checks),
            (FeatureGate::MachineTaintPropagation, self.machine_taint_propagation),
            (
                FeatureGate::MachineWaitForVolumeDetachConsiderVolumeAttachments,
                self.machine_wait_for_volume_detach_consider_volume_attachments,
            ),
            (FeatureGate::PriorityQueue, self.priority_queue),
            (FeatureGate::ReconcilerRateLimiting, self.reconciler_rate_limiting),
            (FeatureGate::RuntimeSdk, self.runtime_sdk),
        ];
        all.into_iter().filter_map(|(gate, on)| Some((gate.as_str(), on?))).collect()
    }
}
