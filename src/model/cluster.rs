//! Clusters, as meant: folder defaults merged, references still open.

use std::{collections::BTreeMap, fmt, sync::Arc};

use super::{
    AddonDelivery, AddonVersion, Date, Hold, Label, ManagementCluster, Minor, Removal, StackId, Subdomain,
    Upgrades,
};
use crate::yaml::{Mapping, Node, Origin};

/// What tells a cluster from all others of a fleet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClusterId {
    /// The management cluster that builds it.
    pub management: Label,
    /// Its namespace there.
    pub namespace: Label,
    /// Its name.
    pub name: Label,
}

impl ClusterId {
    /// The longest of its names: `<management cluster>/<namespace>/<name>`.
    pub fn whole(&self) -> String {
        format!("{}/{self}", self.management)
    }
}

/// Whether a name means a cluster: it is the cluster's whole name, or the end of it from `<namespace>/<name>` or `<name>` on.
pub fn is_called(whole: &str, name: &str) -> bool {
    whole.strip_suffix(name).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

impl fmt::Display for ClusterId {
    /// As people name it: `<namespace>/<name>`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// A cluster.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// Its name.
    pub name: Label,
    /// Its namespace in the management cluster.
    pub namespace: Label,
    /// Where its definition names it, for messages.
    pub origin: Origin,
    /// The file of its definition.
    pub file: Arc<str>,
    /// The management cluster that builds it.
    pub management: Arc<ManagementCluster>,
    /// What installs its addons.
    pub addon_delivery: AddonDelivery,
    /// The release it is made from.
    pub release: ReleaseRef,
    /// Where the release is named.
    pub release_origin: Origin,
    /// Who it belongs to.
    pub owners: Vec<String>,
    /// Labels of the Cluster.
    pub labels: Mapping,
    /// Annotations of the Cluster.
    pub annotations: Mapping,
    /// The control plane.
    pub control_plane: ControlPlane,
    /// The groups of workers, in the order in which they were written: it is that of upgrades.
    pub node_pools: Vec<NodePool>,
    /// The cluster's own networks.
    pub network: Network,
    /// Values of the class' variables.
    pub variables: Mapping,
    /// What is different about addons, by name.
    pub addons: BTreeMap<String, AddonChoice>,
    /// Conditions for being Available.
    pub availability_gates: Option<Node>,
    /// Why Cluster API is paused for it.
    pub suspend: Option<String>,
    /// How far it follows newer releases.
    pub upgrades: Upgrades,
    /// How it leaves.
    pub removal: Option<Removal>,
    /// Merged over the Cluster's spec.
    pub raw: Option<Node>,
    /// The folder of the user's own objects, if there is one.
    pub companion: Option<Companion>,
}

/// The folder beside a definition that holds the user's own objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Companion {
    /// The folder, from the root of the fleet.
    pub folder: String,
    /// Whether kustomize builds it: it has a kustomization of its own.
    pub is_built: bool,
}

impl Cluster {
    /// What keeps it from upgrades on a day.
    pub fn held(&self, today: Date) -> Option<&Hold> {
        self.upgrades.hold.as_ref().filter(|hold| hold.holds(today))
    }

    /// Its name, unique in the fleet: `<management cluster>/<namespace>/<name>`.
    pub fn full_name(&self) -> String {
        format!("{}/{}/{}", self.management.name, self.namespace, self.name)
    }

    /// What tells it from all others.
    pub fn id(&self) -> ClusterId {
        ClusterId {
            management: self.management.name.clone(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }
}

/// What a cluster is made from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReleaseRef {
    /// The stack as it stands in this repository.
    Head(StackId, Minor),
    /// A release in the tree.
    Named(Subdomain),
}

/// The control plane. Parts that pass through keep the form of Cluster API's own API.
#[derive(Clone, Debug, Default)]
pub struct ControlPlane {
    /// The number of machines.
    pub replicas: Option<i64>,
    /// Where the number stands.
    pub replicas_origin: Option<Origin>,
    /// Labels.
    pub labels: Mapping,
    /// Annotations.
    pub annotations: Mapping,
    /// Values of variables for it alone.
    pub variables: Mapping,
    /// `taints`, `deletion`, `rollout`, `readinessGates` and `healthCheck`, as they are.
    pub settings: Mapping,
}

/// A group of workers.
#[derive(Clone, Debug)]
pub struct NodePool {
    /// Its name in the topology.
    pub name: Label,
    /// Where it is named.
    pub origin: Origin,
    /// The class of workers.
    pub class: String,
    /// Where the class is named.
    pub class_origin: Origin,
    /// What it is in Cluster API.
    pub kind: PoolKind,
    /// The number of machines.
    pub size: Size,
    /// Labels.
    pub labels: Mapping,
    /// Annotations.
    pub annotations: Mapping,
    /// Values of variables for it alone.
    pub variables: Mapping,
    /// `failureDomain(s)`, `taints`, `deletion`, `rollout`, `minReadySeconds`, `readinessGates`, `healthCheck`, as they are.
    pub settings: Mapping,
}

/// What a pool is in Cluster API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolKind {
    /// Machines one by one.
    MachineDeployment,
    /// A pool of the provider's own.
    MachinePool,
}

/// How many machines a pool has.
#[derive(Clone, Debug, PartialEq)]
pub enum Size {
    /// So many.
    Fixed(Node),
    /// As many as the cluster autoscaler wants.
    Autoscaled {
        /// Never fewer.
        min: i64,
        /// Never more.
        max: i64,
        /// Where it says so.
        origin: Origin,
    },
    /// Nothing is said: one.
    Unset,
}

/// The cluster's own networks.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// CIDR blocks of pods.
    pub pods: Option<Node>,
    /// CIDR blocks of services.
    pub services: Option<Node>,
    /// The domain of services.
    pub service_domain: Option<Node>,
    /// The API server's port.
    pub api_server_port: Option<Node>,
}

/// What is different about an addon of a cluster.
#[derive(Clone, Debug, Default)]
pub struct AddonChoice {
    /// Where it is named.
    pub origin: Option<Origin>,
    /// Whether the cluster has it.
    pub enabled: Option<bool>,
    /// Another version.
    pub version: Option<(AddonVersion, Origin)>,
    /// Whether that is for the time of an upgrade only, and the addon follows its release again afterwards.
    pub interim: bool,
    /// Another release of the same stack and minor that the addon is taken from.
    pub release: Option<(String, Origin)>,
    /// Why a version outside the matrix is taken, and where it says so.
    pub unlisted: Option<(String, Origin)>,
    /// How it leaves.
    pub removal: Option<Removal>,
    /// Helm values over the release's.
    pub values: Option<Node>,
}
