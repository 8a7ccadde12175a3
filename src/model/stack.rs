//! Stacks, as one Kubernetes minor sees them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{Addon, KubernetesVersion, Label, StackId, VersionRange};
use crate::yaml::Origin;

/// A stack for one Kubernetes minor, its overrides applied. `T` is what templates are.
#[derive(Clone, Debug)]
pub struct Stack<T> {
    /// Which stack.
    pub id: StackId,
    /// The exact Kubernetes version.
    pub kubernetes: KubernetesVersion,
    /// Where that version stands.
    pub kubernetes_origin: Origin,
    /// How far one may rely on it.
    pub maturity: Maturity,
    /// How its releases are numbered.
    pub versioning: Versioning,
    /// Templates once per release.
    pub cluster_class: Vec<T>,
    /// Templates once per namespace.
    pub namespace: Vec<T>,
    /// Templates once per cluster, on the management side.
    pub cluster: Vec<T>,
    /// Addons with their templates, by name.
    pub addons: Vec<(Addon, Option<T>, Vec<T>)>,
    /// The node images of this Kubernetes version, by name.
    pub images: Vec<NodeImage>,
    /// Combinations that do not work.
    pub compatibility: Vec<CompatibilityRule>,
    /// Variables that have another name or type than before.
    pub migrations: Vec<Migration>,
    /// What its releases need of a management cluster.
    pub requires: Requirements,
    /// Lints that its class may trip.
    pub allow: Vec<Allowance>,
}

/// A lint that a stack's class may trip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// The lint's name.
    pub rule: Arc<str>,
    /// Where it stands, for messages.
    pub origin: Origin,
}

/// How far one may rely on a Kubernetes version of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maturity {
    /// To be tried out.
    Preview,
    /// For production.
    Supported,
    /// Still patched; move on.
    Deprecated,
    /// No longer patched.
    Expired,
}

/// How releases are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Versioning {
    /// v1, v2 …
    Sequential,
    /// Semantic versions.
    Semver,
}

/// A combination that does not work.
#[derive(Clone, Debug)]
pub struct CompatibilityRule {
    /// A name for messages.
    pub name: Arc<str>,
    /// The addon.
    pub addon: Label,
    /// Its versions; all where nothing is said.
    pub version: Option<VersionRange>,
    /// The Kubernetes versions; all where nothing is said.
    pub kubernetes: Option<VersionRange>,
    /// What is wrong then.
    pub deny: Arc<str>,
    /// The version that is free of it.
    pub upgrade_to: Option<semver::Version>,
    /// Where it stands.
    pub origin: Origin,
}

impl PartialEq for CompatibilityRule {
    /// Where it stands is no content.
    fn eq(&self, other: &Self) -> bool {
        let Self { name, addon, version, kubernetes, deny, upgrade_to, origin: _ } = other;
        let same = (&self.name, &self.addon, &self.version) == (name, addon, version);
        same && (&self.kubernetes, &self.deny, &self.upgrade_to) == (kubernetes, deny, upgrade_to)
    }
}

impl CompatibilityRule {
    /// Whether it forbids this version of its addon on this Kubernetes version.
    pub fn forbids(&self, version: Option<&semver::Version>, kubernetes: &KubernetesVersion) -> bool {
        let addon_matches = match (&self.version, version) {
            (Some(range), Some(version)) => range.contains(version),
            (Some(_), None) => false,
            (None, _) => true,
        };
        addon_matches && self.kubernetes.as_ref().is_none_or(|range| range.contains(kubernetes.as_semver()))
    }
}

/// A variable that has another name or type than in earlier releases.
#[derive(Clone, Debug)]
pub struct Migration {
    /// Its name before.
    pub variable: Arc<str>,
    /// Its name from then on.
    pub rename_to: Option<Arc<str>>,
    /// The type of its values from then on.
    pub value_type: Option<ValueType>,
    /// Where it stands.
    pub origin: Origin,
}

impl Migration {
    /// The name of the variable from then on.
    pub fn target(&self) -> &str {
        self.rename_to.as_deref().unwrap_or(&self.variable)
    }
}

impl PartialEq for Migration {
    /// Where it stands is no content.
    fn eq(&self, other: &Self) -> bool {
        let Self { variable, rename_to, value_type, origin: _ } = other;
        (&self.variable, &self.rename_to, &self.value_type) == (variable, rename_to, value_type)
    }
}

/// What a release needs of a management cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Requirements {
    /// The versions of Cluster API and of its providers, by name.
    pub providers: BTreeMap<String, VersionRange>,
    /// The feature gates of Cluster API.
    pub feature_gates: BTreeSet<String>,
}

/// The type of a variable's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// Text.
    String,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
}

impl ValueType {
    /// Its name in a schema.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }
}

/// The data of a node image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeImage {
    /// Its name at the provider.
    pub name: String,
    /// The Kubernetes version inside.
    pub kubernetes: KubernetesVersion,
    /// The operating system.
    pub os: Option<String>,
    /// The processor architecture.
    pub architecture: String,
    /// How it can be had.
    pub source: ImageSource,
}

/// How a node image can be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageSource {
    /// From an address.
    Url {
        /// The address.
        url: String,
        /// `sha256:` and the digest.
        checksum: String,
    },
    /// From a registry.
    Artifact(String),
    /// By building it.
    Build(String),
}
