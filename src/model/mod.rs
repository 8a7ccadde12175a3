//! The domain types of a fleet, with validated names. A field is optional only if its value can really be missing.
//!
//! Deliberately absent: serde, I/O, and any knowledge of the format of definitions or the layout of trees. Values that pass
//! through unchanged (health checks, taints, Helm values …) stay [`crate::yaml::Node`]s, so that they keep their origins.

mod addon;
pub mod address;
mod argocd;
mod calendar;
mod cluster;
mod date;
mod delivery;
mod engine;
mod fleet;
mod lock;
mod names;
mod range;
mod removal;
mod rollout;
mod scope;
mod selector;
mod source;
mod stack;
mod upgrades;
mod version;

pub use capi_topology::{AUTOSCALER_MAX, AUTOSCALER_MIN, PAUSED};

pub use addon::{Addon, Chart, MinorStep, Requirement, Stage, ValuesFrom, ValuesSource};
pub use argocd::{ArgoCd, ClusterNames, Destination, Registration};
pub use calendar::{Calendar, Closed, Freeze, Window};
pub use cluster::{
    AddonChoice, Cluster, ClusterId, Companion, ControlPlane, Network, NodePool, PoolKind, ReleaseRef, Size,
    is_called,
};
pub use date::Date;
pub use delivery::AddonDelivery;
pub(crate) use delivery::for_each_delivery;
pub use engine::Engine;
pub use fleet::{
    Assumption, Decryption, EngineSource, Fleet, Forge, ForgeKind, GitReference, ManagementCluster, Mirror,
    Provided, ReleaseSource,
};
pub use lock::{ChartVersion, Digest, Lock, LockedChart, LockedRelease};
pub use names::{Label, NameFault, StackId, Subdomain, hex, is_label_key, is_label_value, shortened};
pub use range::VersionRange;
pub use removal::{Removal, RemovalStep};
pub use rollout::{Frozen, Rollout, RolloutTarget, RolloutWave};
pub use scope::{cluster_wide_kinds, is_cluster_wide};
pub use selector::Selector;
pub use source::{OciRepository, ReleaseAddress, ReleaseRepository};
pub use stack::{
    Allowance, CompatibilityRule, ImageSource, Maturity, Migration, NodeImage, Requirements, Stack,
    ValueType, Versioning,
};
pub use upgrades::{Hold, UpgradePolicy, Upgrades};
pub use version::{AddonVersion, KubernetesVersion, Minor, VersionFault};
