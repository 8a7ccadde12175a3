//! `release.yaml`, kind `Release`: what a release freezes, beside its templates. The program writes it; people read it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    addon::{AddonUpgrade, AddonVersion, Chart, HelmRelease, Stage, ValuesFrom},
    kinds::{ApiVersion, Named},
    lock::LockedImage,
    stack::{CompatibilityRule, Migration, NodeImage},
};

/// A frozen stack for one Kubernetes minor.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(extend("examples" = [{
    "apiVersion": "stackloom.dev/v1alpha1",
    "kind": "Release",
    "metadata": { "name": "docker-scs-1-35-v5" },
    "spec": {
        "format": 2,
        "provider": "docker",
        "stack": "scs",
        "kubernetes": "1.35.8",
        "channel": "stable",
        "version": "v5",
        "templateLanguage": 1,
        "content": {
            "clusterClass": "sha256:5bcfa2567b3f63175ee7a7d85232de672f0c06cde9323a3977c8fe4cc18e34ae",
            "clusterAddon": "sha256:0e98a565d8b1b4981c08c0f35e2184e7d48037bb1ab8fe42333dde7f1225f828",
            "nodeImage": "sha256:004dd7eeb373a232975c565f99b631a6bde516c73f64f8084f52484ca9bde86e",
            "whole": "sha256:8387d103466b1b12cc3d293a35f4f480f33b54f44efe9da1dfd64b9f74995a13",
        },
        "requires": { "kinds": ["cluster.x-k8s.io/v1beta2/ClusterClass"] },
    },
}]))]
pub struct Release {
    /// The version of this format.
    pub api_version: ApiVersion,
    /// `Release`.
    pub kind: ReleaseKind,
    /// The release's name, such as `openstack-scs-1-35-v7`; the `ClusterClass` has the same.
    pub metadata: Named,
    /// What it freezes.
    pub spec: ReleaseSpec,
}

/// The kind of `release.yaml`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub enum ReleaseKind {
    /// The only one.
    Release,
}

/// How a release came about, and what names it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Channel {
    /// v1, v2 …
    Stable,
    /// v0-beta.1, v0-beta.2 …
    Beta,
    /// v0-sha.<hash>: the stack as it stood in a repository.
    Hash,
    /// Anything else.
    Custom,
}

/// What a release freezes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ReleaseSpec {
    /// The format of the release's files. A program refuses formats that it does not know.
    #[schemars(range(min = 2, max = 1000))]
    pub format: i64,
    /// The infrastructure.
    pub provider: String,
    /// The stack.
    pub stack: String,
    /// The exact Kubernetes version.
    pub kubernetes: String,
    /// How it came about.
    pub channel: Channel,
    /// Its version in its channel, such as `v7`.
    pub version: String,
    /// The level of the template language that its templates are written in.
    #[schemars(range(min = 1, max = 1000))]
    pub template_language: i64,
    /// Content hashes, by component and of the whole.
    pub content: ContentHashes,
    /// Its addons, by name.
    pub addons: Option<BTreeMap<String, FrozenAddon>>,
    /// Its node images.
    pub images: Option<Vec<NodeImage>>,
    /// Combinations that do not work.
    pub compatibility: Option<Vec<CompatibilityRule>>,
    /// What the lock said of images that its own objects and manifests name.
    pub image_digests: Option<Vec<LockedImage>>,
    /// What a management cluster must serve.
    pub requires: Requires,
    /// Variables that have another name or type than in earlier releases.
    pub migrations: Option<Vec<Migration>>,
    /// Reserved: the releases from which a cluster may move to this one.
    pub upgrades: Option<Reserved>,
    /// How it came about; a head release has none.
    pub history: Option<ReleaseHistory>,
    /// The `sha256:` digest of every other file of a numbered release, by its path.
    pub files: Option<BTreeMap<String, String>>,
}

/// How a numbered release came about.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ReleaseHistory {
    /// The release of its channel before it.
    pub previous: Option<String>,
    /// The commit that its sources are of.
    pub commit: Option<String>,
    /// The components that have another version than before.
    pub bumped: Vec<String>,
    /// What it means for a cluster that moves to it from the previous one: each effect with why. Empty: nothing but
    /// names changes.
    pub impact: Option<BTreeMap<String, Vec<String>>>,
}

/// `sha256:` digests of content; names, comments and the order of keys are no content.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ContentHashes {
    /// Class, cluster and namespace templates, Kubernetes version, compatibility rules.
    pub cluster_class: String,
    /// Addons with their charts, matrices, values and manifests.
    pub cluster_addon: String,
    /// Node images.
    pub node_image: String,
    /// All of it.
    pub whole: String,
}

/// An addon of a release.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct FrozenAddon {
    /// The version that the release pins; none for manifests without versions.
    pub version: Option<String>,
    /// The Helm chart.
    pub chart: Option<Chart>,
    /// The whole matrix.
    pub versions: Option<Vec<AddonVersion>>,
    /// What the lock said of its chart, version by version.
    pub locked: Option<Vec<LockedVersion>>,
    /// How it may be upgraded.
    pub upgrade: Option<AddonUpgrade>,
    /// The Helm release in the workload cluster.
    pub release: HelmRelease,
    /// When it is installed.
    pub stage: Stage,
    /// Addons that must be ready before.
    pub depends_on: Option<Vec<String>>,
    /// Whether clusters have it unless they say otherwise.
    pub enabled: bool,
    /// Values from objects in the cluster's namespace.
    pub values_from: Option<Vec<ValuesFrom>>,
}

/// What the lock said of a version of a chart.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct LockedVersion {
    /// The version.
    pub version: String,
    /// Of its archive, or of its manifest in a registry.
    #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
    pub digest: String,
    /// The images that the chart says it uses.
    pub images: Option<Vec<LockedImage>>,
}

/// What a management cluster must serve.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Requires {
    /// Kinds of the release's class objects, as `<apiVersion>/<kind>`.
    pub kinds: Vec<String>,
    /// The versions of Cluster API (`cluster-api`) and of its providers that the release works with, as ranges.
    pub providers: Option<BTreeMap<String, String>>,
    /// The feature gates of Cluster API that the release needs.
    pub feature_gates: Option<Vec<String>>,
}

/// A field that a later version of stackloom will support. This version refuses a release that has it, because a
/// requirement that is ignored is worse than none.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(transparent)]
#[serde(transparent)]
pub struct Reserved(pub serde_json::Value);
