//! Addons.

use super::{AddonVersion, Label, VersionRange};
use crate::yaml::Origin;

/// A core component of every cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Addon {
    /// Its name.
    pub name: Label,
    /// Its Helm chart; without one it is made of manifests.
    pub chart: Option<Chart>,
    /// The versions, each with the Kubernetes versions it works with; newest first.
    pub matrix: Vec<Requirement>,
    /// How many minors it may be upgraded at a time.
    pub max_minor_step: Option<u64>,
    /// The Helm release's name in the workload cluster.
    pub release_name: Label,
    /// The Helm release's namespace there.
    pub release_namespace: Label,
    /// When it is installed.
    pub stage: Stage,
    /// Addons that must be ready before, in order of their names.
    pub depends_on: Vec<Label>,
    /// Whether clusters have it unless they say otherwise.
    pub enabled: bool,
    /// Values by reference.
    pub values_from: Vec<ValuesFrom>,
}

/// A row of a compatibility matrix.
#[derive(Clone, Debug)]
pub struct Requirement {
    /// The addon's version.
    pub version: AddonVersion,
    /// The Kubernetes versions it works with.
    pub kubernetes: VersionRange,
    /// Where the version stands.
    pub version_origin: Origin,
    /// Where the range stands.
    pub kubernetes_origin: Origin,
}

impl PartialEq for Requirement {
    /// Where it stands is no content.
    fn eq(&self, other: &Self) -> bool {
        let Self { version, kubernetes, version_origin: _, kubernetes_origin: _ } = other;
        (&self.version, &self.kubernetes) == (version, kubernetes)
    }
}

/// Where a chart comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Chart {
    /// The repository's address, without a slash at its end.
    pub repository: String,
    /// The chart's name in it.
    pub name: String,
}

/// When an addon is installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Before nodes are ready, waiting for nothing.
    Bootstrap,
    /// When the bootstrap addons are ready.
    Default,
}

/// Values from an object in the cluster's namespace.
#[derive(Clone, Debug)]
pub struct ValuesFrom {
    /// What kind of object.
    pub kind: ValuesSource,
    /// Its name; may hold expressions.
    pub name: String,
    /// Where the name stands.
    pub origin: Origin,
    /// The key in it.
    pub key: String,
    /// Where the text goes; without it the key holds a document of values.
    pub path: Option<String>,
    /// Whether it may be missing.
    pub optional: bool,
}

impl PartialEq for ValuesFrom {
    /// Where it stands is no content.
    fn eq(&self, other: &Self) -> bool {
        let Self { kind, name, origin: _, key, path, optional } = other;
        (&self.kind, &self.name, &self.key, &self.path, &self.optional) == (kind, name, key, path, optional)
    }
}

/// What values come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValuesSource {
    /// A Secret.
    Secret,
    /// A `ConfigMap`.
    ConfigMap,
}

impl ValuesSource {
    /// Its kind.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Secret => "Secret",
            Self::ConfigMap => "ConfigMap",
        }
    }
}
