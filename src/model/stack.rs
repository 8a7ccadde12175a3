//! Stacks, each for one Kubernetes minor.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{Addon, KubernetesVersion, Label, StackId, VersionRange};
use crate::yaml::Origin;

/// A stack for one Kubernetes minor, with overrides applied. `T` is the type of templates.
#[derive(Clone, Debug)]
pub struct Stack<T> {
    /// The identity of the stack.
    pub id: StackId,
    /// The exact Kubernetes version.
    pub kubernetes: KubernetesVersion,
    /// The origin of the Kubernetes version.
    pub kubernetes_origin: Origin,
    /// How mature this Kubernetes version of the stack is.
    pub maturity: Maturity,
    /// How its releases are numbered.
    pub versioning: Versioning,
    /// Templates rendered once per release.
    pub cluster_class: Vec<T>,
    /// Templates rendered once per namespace.
    pub namespace: Vec<T>,
    /// Templates rendered once per cluster, for the management cluster.
    pub cluster: Vec<T>,
    /// Addons with their templates, by name.
    pub addons: Vec<(Addon, Option<T>, Vec<T>)>,
    /// The node images of this Kubernetes version, by name.
    pub images: Vec<NodeImage>,
    /// Combinations of addon and Kubernetes versions that don't work.
    pub compatibility: Vec<CompatibilityRule>,
    /// Variables whose name or type has changed.
    pub migrations: Vec<Migration>,
    /// What its releases require of a management cluster.
    pub requires: Requirements,
    /// Lints that its class may violate.
    pub allow: Vec<Allowance>,
}

/// A lint that a stack's class may violate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// The name of the lint.
    pub rule: Arc<str>,
    /// The origin of the allowance, for messages.
    pub origin: Origin,
}

/// How mature a Kubernetes version of a stack is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maturity {
    /// For evaluation.
    Preview,
    /// For production.
    Supported,
    /// Still patched; clusters should move on.
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

/// A combination of addon and Kubernetes versions that doesn't work.
#[derive(Clone, Debug)]
pub struct CompatibilityRule {
    /// A name for messages.
    pub name: Arc<str>,
    pub addon: Label,
    /// The affected versions of the addon; all if not specified.
    pub version: Option<VersionRange>,
    /// The affected Kubernetes versions; all if not specified.
    pub kubernetes: Option<VersionRange>,
    /// The problem with this combination.
    pub deny: Arc<str>,
    /// The version that no longer has the problem.
    pub upgrade_to: Option<semver::Version>,
    pub origin: Origin,
}

impl PartialEq for CompatibilityRule {
    /// Ignores the origin.
    fn eq(&self, other: &Self) -> bool {
        let Self { name, addon, version, kubernetes, deny, upgrade_to, origin: _ } = other;
        let same = (&self.name, &self.addon, &self.version) == (name, addon, version);
        same && (&self.kubernetes, &self.deny, &self.upgrade_to) == (kubernetes, deny, upgrade_to)
    }
}

impl CompatibilityRule {
    /// Reports whether the rule forbids this version of an addon on this Kubernetes version.
    pub fn forbids(
        &self,
        addon: &str,
        version: Option<&semver::Version>,
        kubernetes: &KubernetesVersion,
    ) -> bool {
        let version_matches = match (&self.version, version) {
            (Some(range), Some(version)) => range.contains(version),
            (Some(_), None) => false,
            (None, _) => true,
        };
        self.addon.as_str() == addon
            && version_matches
            && self.kubernetes.as_ref().is_none_or(|range| range.contains(kubernetes.as_semver()))
    }
}

/// A variable whose name or type differs from that in earlier releases.
#[derive(Clone, Debug)]
pub struct Migration {
    /// The old name.
    pub variable: Arc<str>,
    /// The new name, if it was renamed.
    pub rename_to: Option<Arc<str>>,
    /// The new type of its values, if the type changed.
    pub value_type: Option<ValueType>,
    pub origin: Origin,
}

impl Migration {
    /// The name after the migration.
    pub fn target(&self) -> &str {
        self.rename_to.as_deref().unwrap_or(&self.variable)
    }
}

impl PartialEq for Migration {
    /// Ignores the origin.
    fn eq(&self, other: &Self) -> bool {
        let Self { variable, rename_to, value_type, origin: _ } = other;
        (&self.variable, &self.rename_to, &self.value_type) == (variable, rename_to, value_type)
    }
}

/// What a release requires of a management cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Requirements {
    /// The accepted versions of Cluster API and its providers, by name.
    pub providers: BTreeMap<String, VersionRange>,
    /// The feature gates of Cluster API that must be on.
    pub feature_gates: BTreeSet<String>,
}

/// The type of a variable's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// Text.
    String,
    /// A whole number.
    Integer,
    Number,
    /// `true` or `false`.
    Boolean,
}

impl ValueType {
    /// The name of the type in a JSON schema.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }
}

/// The metadata of a node image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeImage {
    /// The name at the infrastructure provider.
    pub name: String,
    pub kubernetes: KubernetesVersion,
    /// The operating system.
    pub os: Option<String>,
    /// The processor architecture.
    pub architecture: String,
    /// How to obtain the image.
    pub source: ImageSource,
}

/// How to obtain a node image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageSource {
    /// Downloaded from an address.
    Url {
        /// The address.
        url: String,
        /// The checksum: `sha256:` and the digest.
        checksum: String,
    },
    /// Pulled from a registry.
    Artifact(String),
    /// Built by the user; holds the instructions.
    Build(String),
}
