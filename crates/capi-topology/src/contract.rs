//! The paths at which the topology controller sets fields of a control plane: the contract of its kind.
//!
//! Source: `internal/contract/controlplane.go` and `version.go`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value;

use crate::role::PoolKind;
use k8s_schema::value::{map, present};

/// The labels of the `CustomResourceDefinition` of each known kind.
static KNOWN: LazyLock<BTreeMap<String, Value>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("data/contracts.json")).expect("the file is part of the program")
});

/// The version of the contract that a kind follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contract {
    /// Machine settings are directly under `spec.machineTemplate`.
    V1Beta1,
    /// Machine settings are under `spec.machineTemplate.spec`.
    V1Beta2,
}

/// A path of keys.
pub(crate) type Path = &'static [&'static str];

impl Contract {
    pub(crate) const VERSION: Path = &["spec", "version"];
    pub(crate) const REPLICAS: Path = &["spec", "replicas"];
    pub(crate) const ROLLOUT_AFTER: Path = &["spec", "rollout", "after"];
    pub(crate) const MACHINE_METADATA: Path = &["spec", "machineTemplate", "metadata"];

    /// Fields of a control plane that patches cannot change.
    pub(crate) const PRESERVED: &'static [Path] = &[
        Self::MACHINE_METADATA,
        &["spec", "machineTemplate", "readinessGates"],
        &["spec", "machineTemplate", "spec", "readinessGates"],
        &["spec", "machineTemplate", "taints"],
        &["spec", "machineTemplate", "spec", "taints"],
        &["spec", "machineTemplate", "infrastructureRef"],
        &["spec", "machineTemplate", "spec", "infrastructureRef"],
        &["spec", "machineTemplate", "nodeDrainTimeout"],
        &["spec", "machineTemplate", "nodeVolumeDetachTimeout"],
        &["spec", "machineTemplate", "nodeDeletionTimeout"],
        &["spec", "machineTemplate", "spec", "deletion", "nodeDrainTimeoutSeconds"],
        &["spec", "machineTemplate", "spec", "deletion", "nodeVolumeDetachTimeoutSeconds"],
        &["spec", "machineTemplate", "spec", "deletion", "nodeDeletionTimeoutSeconds"],
        Self::REPLICAS,
        Self::VERSION,
        Self::ROLLOUT_AFTER,
    ];

    /// The contract of a version of a kind, if known.
    pub(crate) fn of(group: &str, kind: &str, version: &str) -> Option<Self> {
        Self::labelled(KNOWN.get(&format!("{kind}.{group}"))?, version)
    }

    /// The contract of a version, according to the labels of a `CustomResourceDefinition`.
    pub(crate) fn labelled(labels: &Value, version: &str) -> Option<Self> {
        let contracts =
            [("cluster.x-k8s.io/v1beta2", Self::V1Beta2), ("cluster.x-k8s.io/v1beta1", Self::V1Beta1)];
        let labels = map(labels, &[])?;
        let serves = |label: &str| {
            let versions = labels.get(label).and_then(Value::as_str).unwrap_or_default();
            versions.split('_').any(|one| one == version)
        };
        contracts.into_iter().find(|(label, _)| serves(label)).map(|(_, contract)| contract)
    }

    /// The contract by which a control plane was generated.
    pub(crate) fn in_use(control_plane: &Value) -> Self {
        match present(control_plane, Self::V1Beta1.infrastructure_ref()) {
            Some(_) => Self::V1Beta1,
            None => Self::V1Beta2,
        }
    }

    /// The path of the machine template reference.
    pub(crate) fn infrastructure_ref(self) -> Path {
        match self {
            Self::V1Beta1 => &["spec", "machineTemplate", "infrastructureRef"],
            Self::V1Beta2 => &["spec", "machineTemplate", "spec", "infrastructureRef"],
        }
    }

    pub(crate) fn readiness_gates(self) -> Path {
        match self {
            Self::V1Beta1 => &["spec", "machineTemplate", "readinessGates"],
            Self::V1Beta2 => &["spec", "machineTemplate", "spec", "readinessGates"],
        }
    }

    pub(crate) fn taints(self) -> Path {
        match self {
            Self::V1Beta1 => &["spec", "machineTemplate", "taints"],
            Self::V1Beta2 => &["spec", "machineTemplate", "spec", "taints"],
        }
    }

    /// The paths of the three node deletion timeouts, with their names in the topology.
    pub(crate) fn timeouts(self) -> [(&'static str, Path); 3] {
        let names =
            ["nodeDrainTimeoutSeconds", "nodeVolumeDetachTimeoutSeconds", "nodeDeletionTimeoutSeconds"];
        let paths: [Path; 3] = match self {
            Self::V1Beta1 => [
                &["spec", "machineTemplate", "nodeDrainTimeout"],
                &["spec", "machineTemplate", "nodeVolumeDetachTimeout"],
                &["spec", "machineTemplate", "nodeDeletionTimeout"],
            ],
            Self::V1Beta2 => [
                &["spec", "machineTemplate", "spec", "deletion", "nodeDrainTimeoutSeconds"],
                &["spec", "machineTemplate", "spec", "deletion", "nodeVolumeDetachTimeoutSeconds"],
                &["spec", "machineTemplate", "spec", "deletion", "nodeDeletionTimeoutSeconds"],
            ],
        };
        [(names[0], paths[0]), (names[1], paths[1]), (names[2], paths[2])]
    }
}

/// The label that names the cluster.
pub(crate) const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";
/// The label of everything that the topology controller owns.
pub(crate) const OWNED: &str = "topology.cluster.x-k8s.io/owned";
/// The label that names the machine deployment in the topology.
pub(crate) const DEPLOYMENT_NAME: &str = "topology.cluster.x-k8s.io/deployment-name";
/// The label that names the machine pool in the topology.
pub(crate) const POOL_NAME: &str = "topology.cluster.x-k8s.io/pool-name";

/// The label with the topology name of a pool of this kind.
pub(crate) const fn pool_label(kind: PoolKind) -> &'static str {
    match kind {
        PoolKind::MachineDeployment => DEPLOYMENT_NAME,
        PoolKind::MachinePool => POOL_NAME,
    }
}

/// The annotation that pauses an object of Cluster API: its controller leaves it as it is.
pub const PAUSED: &str = "cluster.x-k8s.io/paused";

/// The annotation with the lower limit of a pool that the cluster autoscaler sizes.
pub const AUTOSCALER_MIN: &str = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size";

/// The annotation with the upper limit of such a pool.
pub const AUTOSCALER_MAX: &str = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size";

/// The annotation with the name of the copied template.
pub(crate) const CLONED_FROM_NAME: &str = "cluster.x-k8s.io/cloned-from-name";
/// The annotation with the kind of the copied template.
pub(crate) const CLONED_FROM_KIND: &str = "cluster.x-k8s.io/cloned-from-groupkind";
/// The annotation with the version of the current upgrade step.
pub(crate) const UPGRADE_STEP: &str = "topology.internal.cluster.x-k8s.io/upgrade-step";
/// The annotation that stops an upgrade at a machine deployment and at all that follow it.
pub(crate) const HOLD: &str = "topology.cluster.x-k8s.io/hold-upgrade-sequence";
/// The annotation that excludes a machine deployment from an upgrade.
pub(crate) const DEFER: &str = "topology.cluster.x-k8s.io/defer-upgrade";
/// The annotation in which `kubectl apply` records the applied manifest.
pub(crate) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Labels and annotations that no patch can change.
pub(crate) const ALWAYS_PRESERVED: &[Path] = &[
    &["metadata", "labels", CLUSTER_NAME],
    &["metadata", "labels", OWNED],
    &["metadata", "labels", DEPLOYMENT_NAME],
    &["metadata", "labels", POOL_NAME],
    &["metadata", "annotations", CLONED_FROM_NAME],
    &["metadata", "annotations", CLONED_FROM_KIND],
];
