//! `release.yaml`, kind `Release`: the frozen content of a release, except for its templates. The program writes it, and
//! people read it.

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
    /// The name of the release, such as `openstack-scs-1-35-v7`. The `ClusterClass` has the same name.
    pub metadata: Named,
    /// The frozen content.
    pub spec: ReleaseSpec,
}

/// The kind of `release.yaml`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub enum ReleaseKind {
    /// The only value.
    Release,
}

/// The channel of a release. It determines the possible version numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Channel {
    /// v1, v2 …
    Stable,
    /// v0-beta.1, v0-beta.2 …
    Beta,
    /// `v0-sha.<hash>`: the current state of a stack in its repository.
    Hash,
    /// Any other version.
    Custom,
}

/// The frozen content of a release.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ReleaseSpec {
    /// The format of the release's files. Programs reject formats that they don't know.
    #[schemars(range(min = 2, max = 1000))]
    pub format: i64,
    /// The infrastructure provider.
    pub provider: String,
    /// The name of the stack.
    pub stack: String,
    /// The exact Kubernetes version.
    pub kubernetes: String,
    /// The channel of the release.
    pub channel: Channel,
    /// The version within the channel, such as `v7`.
    pub version: String,
    /// The level of the template language that the templates use.
    #[schemars(range(min = 1, max = 1000))]
    pub template_language: i64,
    /// The hashes of the content, by component and as a whole.
    pub content: ContentHashes,
    /// The addons, by name.
    pub addons: Option<BTreeMap<String, FrozenAddon>>,
    /// The node images.
    pub images: Option<Vec<NodeImage>>,
    /// Combinations of addon and Kubernetes versions that don't work.
    pub compatibility: Option<Vec<CompatibilityRule>>,
    /// The locked digests of images that the release's own objects and manifests name.
    pub image_digests: Option<Vec<LockedImage>>,
    /// The requirements on a management cluster.
    pub requires: Requires,
    /// Variables whose name or type differs from that in earlier releases.
    pub migrations: Option<Vec<Migration>>,
    /// Reserved: the releases from which a cluster may move to this one.
    pub upgrades: Option<Reserved>,
    /// The origin of the release; head releases have none.
    pub history: Option<ReleaseHistory>,
    /// The `sha256:` digests of all other files of a numbered release, by path.
    pub files: Option<BTreeMap<String, String>>,
}

/// The origin of a numbered release.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ReleaseHistory {
    /// The previous release of its channel.
    pub previous: Option<String>,
    /// The commit of its sources.
    pub commit: Option<String>,
    /// The components whose version differs from that in the previous release.
    pub bumped: Vec<String>,
    /// The effects on a cluster that moves here from the previous release, each with its reasons. If it is empty, only names
    /// change.
    pub impact: Option<BTreeMap<String, Vec<String>>>,
}

/// The `sha256:` digests of the content. Names, comments and the order of keys don't count as content.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ContentHashes {
    /// The class, cluster and namespace templates, Kubernetes version, and compatibility rules.
    pub cluster_class: String,
    /// The addons with their charts, matrices, values and manifests.
    pub cluster_addon: String,
    /// The node images.
    pub node_image: String,
    /// Everything together.
    pub whole: String,
}

/// An addon of a release.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct FrozenAddon {
    /// The version in this release; missing for manifests without versions.
    pub version: Option<String>,
    /// The Helm chart.
    pub chart: Option<Chart>,
    /// The compatibility matrix.
    pub versions: Option<Vec<AddonVersion>>,
    /// The locked digests of the chart's versions.
    pub locked: Option<Vec<LockedVersion>>,
    /// Limits for upgrades of the addon.
    pub upgrade: Option<AddonUpgrade>,
    /// The Helm release in the workload cluster.
    pub release: HelmRelease,
    /// When the addon is installed.
    pub stage: Stage,
    /// Addons that must be ready before this one is installed.
    pub depends_on: Option<Vec<String>>,
    /// Whether clusters have the addon by default.
    pub enabled: bool,
    /// Helm values from objects in the cluster's namespace.
    pub values_from: Option<Vec<ValuesFrom>>,
}

/// The locked digest of a chart version.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct LockedVersion {
    /// The version.
    pub version: String,
    /// The digest of its archive, or of its manifest in a registry.
    #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
    pub digest: String,
    /// The images that the chart uses, according to the chart.
    pub images: Option<Vec<LockedImage>>,
}

/// The requirements on a management cluster.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Requires {
    /// The kinds of the release's class objects, as `<apiVersion>/<kind>`.
    pub kinds: Vec<String>,
    /// The versions of Cluster API (`cluster-api`) and its providers that the release works with, as ranges.
    pub providers: Option<BTreeMap<String, String>>,
    /// The feature gates of Cluster API that must be on.
    pub feature_gates: Option<Vec<String>>,
}

/// A field that a later version of stackloom will support. This version rejects releases that contain it, because ignoring a
/// requirement would be unsafe.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(transparent)]
#[serde(transparent)]
pub struct Reserved(pub serde_json::Value);
