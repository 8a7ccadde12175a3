//! Requirements of stacks and releases on management clusters, and the capabilities of management clusters.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

/// The requirements of a stack on its management clusters.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Requirements {
    /// The accepted versions of Cluster API (`cluster-api`) and its providers, as ranges: `{ openstack: ">=0.13" }`.
    #[schemars(extend("maxProperties" = 50))]
    pub providers: Option<BTreeMap<String, String>>,
    /// The feature gates of Cluster API that must be on. Gates that the class itself obviously needs are added
    /// automatically.
    #[schemars(length(max = 50))]
    pub feature_gates: Option<Vec<FeatureGate>>,
}

/// A feature gate of Cluster API.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub enum FeatureGate {
    /// Clusters with a managed topology, made from a ClusterClass.
    ClusterTopology,
    /// In-place updates of machines by a runtime extension.
    InPlaceUpdates,
    /// Machines that are provisioned with Ignition.
    KubeadmBootstrapFormatIgnition,
    /// Machine pools.
    MachinePool,
    /// Preflight checks before a `MachineSet` creates machines.
    MachineSetPreflightChecks,
    /// Taints in topologies and classes, propagated to nodes.
    MachineTaintPropagation,
    /// Deletion of a machine also waits for the `VolumeAttachments` of its node.
    MachineWaitForVolumeDetachConsiderVolumeAttachments,
    /// Priority queues in the controllers.
    PriorityQueue,
    /// Rate limits for reconciling objects.
    ReconcilerRateLimiting,
    /// Runtime extensions.
    #[serde(rename = "RuntimeSDK")]
    RuntimeSdk,
}

/// The feature gates that the controllers of Cluster API were started with.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
pub struct FeatureGates {
    /// Clusters with a managed topology, made from a ClusterClass. On by default, because nothing works without it here.
    pub cluster_topology: Option<bool>,
    /// In-place updates of machines by a runtime extension.
    pub in_place_updates: Option<bool>,
    /// Machines that are provisioned with Ignition.
    pub kubeadm_bootstrap_format_ignition: Option<bool>,
    /// Machine pools. On by default.
    pub machine_pool: Option<bool>,
    /// Preflight checks before a `MachineSet` creates machines. On by default.
    pub machine_set_preflight_checks: Option<bool>,
    /// Taints in topologies and classes, propagated to nodes.
    pub machine_taint_propagation: Option<bool>,
    /// Deletion of a machine also waits for the `VolumeAttachments` of its node. On by default.
    pub machine_wait_for_volume_detach_consider_volume_attachments: Option<bool>,
    /// Priority queues in the controllers.
    pub priority_queue: Option<bool>,
    /// Rate limits for reconciling objects.
    pub reconciler_rate_limiting: Option<bool>,
    /// Runtime extensions.
    #[serde(rename = "RuntimeSDK")]
    pub runtime_sdk: Option<bool>,
}

impl FeatureGate {
    /// The name of the feature gate.
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
    /// The feature gates that are explicitly on or off.
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
