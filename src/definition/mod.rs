//! The kinds of definitions exactly as people write them, their schemas, and their lowering into the model.
//!
//! The types contain only options, vectors, maps, strings, numbers and booleans, so that every document that passes the
//! schema can be decoded. Versions, names and either-or rules are checked in [`lower()`].

mod addon;
mod advice;
mod cluster;
mod expected;
mod fleet;
mod identity;
mod kinds;
mod layers;
mod lock;
mod lower;
mod parse;
mod pattern_words;
mod release;
mod removal;
mod requirements;
mod rollout;
mod schema;
mod stack;
mod topology;
mod message_words;

pub use addon::{
    Addon, AddonKind, AddonSpec, AddonUpgrade, AddonVersion, Chart, HelmRelease, Stage, ValuesFrom,
};
pub use cluster::{
    AcceptedRisk, AddonChoice, ClusterDefaults, ClusterDefinition, ClusterMetadata, ClusterSpec, Network,
    UpgradePolicy,
};
pub use fleet::{
    ArgoCd, Assumption, Decryption, DecryptionProvider, Engine, Fleet, FleetSpec, Forge, ForgeKind,
    ManagementCluster, Registration, ReleaseSource, Releases, SourceObject, SourceObjectKind, SourceRef,
};
pub use identity::{Identity, owners};
pub use kinds::{ApiVersion, Labels, Named};
pub use layers::{Merged, OF_HEAD, inherited, layers, merge_raw, merge_values, merged, names_release};
pub use lock::{Lock, LockKind, LockSpec, LockedChart, LockedImage, LockedRelease};
pub use lower::{
    CLUSTER_API, FrozenParts, Model, StackTemplate, lower, lower_frozen, published_source, read_lock,
};
pub use message_words::closest;
pub use parse::{
    Definitions, Layer, StackFiles, StackFolder, Written, decode, document, misnamed_defaults, parse, read,
};
pub use release::{
    Channel, ContentHashes, FrozenAddon, LockedVersion, Release, ReleaseHistory, ReleaseKind, ReleaseSpec,
    Requires, Reserved,
};
pub use removal::{Removal, RemovalStep};
pub use requirements::{FeatureGate, FeatureGates, Requirements};
pub use rollout::{
    Day, FrozenWave, Rollout, RolloutFreeze, RolloutKind, RolloutSpec, RolloutStatus, RolloutStop,
    RolloutTarget, RolloutWave, Window,
};
pub use schema::DefinitionKind;
pub use stack::{
    Allowance, CompatibilityRule, KubernetesRelease, Maturity, Migration, NodeImage, NodeImages,
    RuleCondition, Stack, StackSpec, ValueType, Versioning,
};
pub use topology::{Autoscale, ControlPlane, NodePool, PoolKind};
