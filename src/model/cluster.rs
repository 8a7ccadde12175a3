//! Clusters as their definitions mean them: folder defaults are merged, references are not resolved yet.

use std::{collections::BTreeMap, fmt, sync::Arc};

use super::{
    AddonDelivery, AddonVersion, Date, Hold, Label, ManagementCluster, Minor, Removal, RemovalStep, StackId,
    Subdomain, Upgrades,
};
use crate::{
    tree::PartId,
    yaml::{Mapping, Node, Origin},
};

/// The identity of a cluster within a fleet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClusterId {
    pub management: Label,
    /// Its namespace in the management cluster.
    pub namespace: Label,
    pub name: Label,
}

impl ClusterId {
    /// The cluster that a part of the tree belongs to.
    pub fn of_part(part: &PartId) -> Option<Self> {
        let PartId::Cluster { management, namespace, cluster } = part else { return None };
        let label = |text: &str| Label::new(text).ok();
        Some(Self { management: label(management)?, namespace: label(namespace)?, name: label(cluster)? })
    }

    /// The full name: `<management cluster>/<namespace>/<name>`.
    pub fn whole(&self) -> String {
        format!("{}/{self}", self.management)
    }
}

/// Reports whether `name` denotes the cluster with the full name `whole`. It may be the full name, `<namespace>/<name>` or
/// `<name>`.
pub fn is_called(whole: &str, name: &str) -> bool {
    whole.strip_suffix(name).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

impl fmt::Display for ClusterId {
    /// Writes `<namespace>/<name>`, the usual name in messages.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

#[derive(Clone, Debug)]
pub struct Cluster {
    pub name: Label,
    /// Its namespace in the management cluster.
    pub namespace: Label,
    /// The origin of the name, for messages.
    pub origin: Origin,
    /// The path of the definition.
    pub file: Arc<str>,
    pub management: Arc<ManagementCluster>,
    /// How its addons are installed.
    pub addon_delivery: AddonDelivery,
    /// The release that it uses.
    pub release: ReleaseRef,
    /// The origin of the release's name.
    pub release_origin: Origin,
    /// The people or teams that own it.
    pub owners: Vec<String>,
    pub labels: Mapping,
    pub annotations: Mapping,
    pub control_plane: ControlPlane,
    /// The groups of workers, in the order of the definition, which is also the order of upgrades.
    pub node_pools: Vec<NodePool>,
    /// The networks inside the cluster.
    pub network: Network,
    /// Values of the class's variables.
    pub variables: Mapping,
    /// The cluster's own choices for addons, by addon name.
    pub addons: BTreeMap<String, AddonChoice>,
    /// The conditions for `Available`.
    pub availability_gates: Option<Node>,
    /// The reason why reconciliation by Cluster API is paused.
    pub suspend: Option<String>,
    /// Which newer releases it follows.
    pub upgrades: Upgrades,
    /// Its removal, if it is being removed.
    pub removal: Option<Removal>,
    /// Fields that are merged over the Cluster's spec.
    pub raw: Option<Node>,
    /// The folder of the user's own objects, if there is one.
    pub companion: Option<Companion>,
}

/// The folder next to a definition that holds the user's own objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Companion {
    /// The path of the folder, relative to the root of the fleet.
    pub folder: String,
    /// Whether kustomize builds the folder, because it contains a kustomization.
    pub is_built: bool,
}

impl Cluster {
    /// The hold that prevents upgrades on a given day, if there is one.
    pub fn held(&self, today: Date) -> Option<&Hold> {
        self.upgrades.hold.as_ref().filter(|hold| hold.holds(today))
    }

    /// Whether it is being removed. If so, it takes no upgrade.
    pub fn is_leaving(&self) -> bool {
        let step = self.removal.as_ref().map(|removal| removal.step);
        matches!(step, Some(RemovalStep::Detach | RemovalStep::Delete))
    }

    /// The name that is unique in the fleet: `<management cluster>/<namespace>/<name>`.
    pub fn full_name(&self) -> String {
        format!("{}/{}/{}", self.management.name, self.namespace, self.name)
    }

    /// The identity of the cluster.
    pub fn id(&self) -> ClusterId {
        ClusterId {
            management: self.management.name.clone(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }
}

/// What a cluster is made from: a stack or a release.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReleaseRef {
    /// The current state of the stack in this repository.
    Head(StackId, Minor),
    /// A numbered release in the tree.
    Named(Subdomain),
}

/// The control plane. Settings that pass through unchanged keep the format of the Cluster API.
#[derive(Clone, Debug, Default)]
pub struct ControlPlane {
    /// The number of machines.
    pub replicas: Option<i64>,
    /// The origin of that number.
    pub replicas_origin: Option<Origin>,
    pub labels: Mapping,
    pub annotations: Mapping,
    /// Values of variables for the control plane only.
    pub variables: Mapping,
    /// `taints`, `deletion`, `rollout`, `readinessGates` and `healthCheck`, unchanged.
    pub settings: Mapping,
}

/// A group of workers.
#[derive(Clone, Debug)]
pub struct NodePool {
    /// The name in the topology.
    pub name: Label,
    /// The origin of the name.
    pub origin: Origin,
    /// The worker class.
    pub class: String,
    /// The origin of the worker class.
    pub class_origin: Origin,
    /// The kind of pool in Cluster API.
    pub kind: PoolKind,
    /// The number of machines.
    pub size: Size,
    pub labels: Mapping,
    pub annotations: Mapping,
    /// Values of variables for this pool only.
    pub variables: Mapping,
    /// `failureDomain(s)`, `taints`, `deletion`, `rollout`, `minReadySeconds`, `readinessGates`, `healthCheck`, unchanged.
    pub settings: Mapping,
}

/// The kind of a pool in Cluster API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolKind {
    /// A machine deployment: Cluster API manages each machine.
    MachineDeployment,
    /// A machine pool: the provider manages the machines as a group.
    MachinePool,
}

/// The number of machines in a pool.
#[derive(Clone, Debug, PartialEq)]
pub enum Size {
    /// A fixed number.
    Fixed(Node),
    /// A number that the cluster autoscaler chooses.
    Autoscaled {
        /// The lower limit.
        min: i64,
        /// The upper limit.
        max: i64,
        /// The origin of the limits.
        origin: Origin,
    },
    /// Not specified: one machine.
    Unset,
}

/// The networks inside a cluster.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// CIDR blocks for pods.
    pub pods: Option<Node>,
    /// CIDR blocks for services.
    pub services: Option<Node>,
    /// The DNS domain of services.
    pub service_domain: Option<Node>,
    pub api_server_port: Option<Node>,
}

/// A cluster's own choices for one addon.
#[derive(Clone, Debug, Default)]
pub struct AddonChoice {
    /// The origin of the addon's name in the definition.
    pub origin: Option<Origin>,
    /// Whether the cluster has the addon.
    pub enabled: Option<bool>,
    /// A version that replaces the release's.
    pub version: Option<(AddonVersion, Origin)>,
    /// Whether the version applies during an upgrade only; afterwards, the addon follows its release again.
    pub interim: bool,
    /// Another release of the same stack and minor that supplies the addon.
    pub release: Option<(String, Origin)>,
    /// Why a version outside the matrix is accepted, and the origin of that statement.
    pub unlisted: Option<(String, Origin)>,
    /// Its removal, if it is being removed.
    pub removal: Option<Removal>,
    /// Helm values merged over those of the release.
    pub values: Option<Node>,
}

impl AddonChoice {
    /// Whether it chooses nothing, as `{}` does.
    pub fn is_empty(&self) -> bool {
        let Self { origin: _, enabled, version, interim: _, release, unlisted, removal, values } = self;
        enabled.is_none()
            && version.is_none()
            && release.is_none()
            && unlisted.is_none()
            && removal.is_none()
            && values.is_none()
    }
}
