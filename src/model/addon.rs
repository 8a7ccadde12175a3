//! Addons.

use super::{AddonVersion, KubernetesVersion, Label, VersionRange};
use crate::yaml::Origin;

/// A core component of every cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Addon {
    pub name: Label,
    /// The Helm chart. An addon without one consists of manifests.
    pub chart: Option<Chart>,
    /// The available versions, each with the Kubernetes versions it works with; newest first.
    pub matrix: Vec<Requirement>,
    /// The greatest number of minor versions that one upgrade may span.
    pub max_minor_step: Option<MinorStep>,
    /// The name of the Helm release in the workload cluster.
    pub release_name: Label,
    /// The namespace of the Helm release in the workload cluster.
    pub release_namespace: Label,
    /// When the addon is installed.
    pub stage: Stage,
    /// The addons that must be ready first, ordered by name.
    pub depends_on: Vec<Label>,
    /// Whether clusters have the addon by default.
    pub enabled: bool,
    /// Values from Secrets and `ConfigMaps`.
    pub values_from: Vec<ValuesFrom>,
}

impl Addon {
    /// The row of the matrix with a version.
    pub fn row(&self, version: &AddonVersion) -> Option<&Requirement> {
        self.matrix.iter().find(|row| row.version.is_same(version))
    }

    /// Whether it must wait for another one: one that it names, or one of an earlier stage.
    pub fn waits_for(&self, other: &Self) -> bool {
        self.is_in_later_stage(other) || self.depends_on.contains(&other.name)
    }

    /// Whether its stage begins after that of another one.
    pub fn is_in_later_stage(&self, other: &Self) -> bool {
        self.stage == Stage::Default && other.stage == Stage::Bootstrap
    }
}

/// The greatest number of minor versions that one upgrade of an addon may span.
#[derive(Clone, Copy, Debug)]
pub struct MinorStep {
    /// The number.
    pub minors: u64,
    /// The origin of the number.
    pub origin: Origin,
}

impl PartialEq for MinorStep {
    /// Ignores the origin.
    fn eq(&self, other: &Self) -> bool {
        self.minors == other.minors
    }
}

impl Requirement {
    /// Whether the version works with a Kubernetes version.
    pub fn takes(&self, kubernetes: &KubernetesVersion) -> bool {
        self.kubernetes.contains(kubernetes.as_semver())
    }
}

/// A row of a compatibility matrix.
#[derive(Clone, Debug)]
pub struct Requirement {
    pub version: AddonVersion,
    /// The Kubernetes versions it works with.
    pub kubernetes: VersionRange,
    pub version_origin: Origin,
    /// The origin of the range.
    pub kubernetes_origin: Origin,
}

impl PartialEq for Requirement {
    /// Ignores the origins.
    fn eq(&self, other: &Self) -> bool {
        let Self { version, kubernetes, version_origin: _, kubernetes_origin: _ } = other;
        (&self.version, &self.kubernetes) == (version, kubernetes)
    }
}

/// The location of a chart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Chart {
    /// The address of the repository, without a trailing slash.
    pub repository: String,
    /// The name of the chart in the repository.
    pub name: String,
}

/// When an addon is installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Before nodes are ready, without waiting for anything.
    Bootstrap,
    /// After the bootstrap addons are ready.
    Default,
}

/// Helm values from an object in the cluster's namespace.
#[derive(Clone, Debug)]
pub struct ValuesFrom {
    /// The kind of the object.
    pub kind: ValuesSource,
    /// The name of the object; may contain expressions.
    pub name: String,
    /// The origin of the name.
    pub origin: Origin,
    /// The key in the object.
    pub key: String,
    /// The path of the value to set. Without it, the key holds a whole values document.
    pub path: Option<String>,
    /// Whether the object may be missing.
    pub optional: bool,
}

impl PartialEq for ValuesFrom {
    /// Ignores the origin.
    fn eq(&self, other: &Self) -> bool {
        let Self { kind, name, origin: _, key, path, optional } = other;
        (&self.kind, &self.name, &self.key, &self.path, &self.optional) == (kind, name, key, path, optional)
    }
}

/// The kind of object that values come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValuesSource {
    Secret,
    ConfigMap,
}

impl ValuesSource {
    /// The kind in the Kubernetes API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Secret => "Secret",
            Self::ConfigMap => "ConfigMap",
        }
    }
}
