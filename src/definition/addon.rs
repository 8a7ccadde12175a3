//! `addons/<addon>/addon.yaml`, kind `Addon`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::kinds::{ApiVersion, Named};

/// A core component of clusters: a Helm chart, manifests, or both.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(extend("examples" = [{
    "apiVersion": "stackloom.dev/v1alpha1",
    "kind": "Addon",
    "metadata": { "name": "cilium" },
    "spec": {
        "chart": { "repository": "https://helm.cilium.io/", "name": "cilium" },
        "versions": [{ "version": "1.18.9", "kubernetes": ">=1.32 <1.37" }],
        "release": { "name": "cilium", "namespace": "kube-system" },
        "stage": "bootstrap",
    },
}]))]
pub struct Addon {
    /// The version of this format.
    pub api_version: ApiVersion,
    /// `Addon`.
    pub kind: AddonKind,
    /// The name of the addon, equal to the name of its folder.
    pub metadata: Named,
    /// The settings of the addon.
    pub spec: AddonSpec,
}

/// The kind of `addon.yaml`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub enum AddonKind {
    /// The only value.
    Addon,
}

/// The settings of an addon.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct AddonSpec {
    /// A description in one line.
    pub description: Option<String>,
    /// The Helm chart. An addon without a chart consists of the files in `manifests/`.
    pub chart: Option<Chart>,
    /// The compatibility matrix. A release uses the newest version whose range contains its Kubernetes version.
    #[schemars(length(max = 500))]
    pub versions: Option<Vec<AddonVersion>>,
    /// Limits for upgrades of the addon.
    pub upgrade: Option<AddonUpgrade>,
    /// The Helm release in the workload cluster.
    pub release: Option<HelmRelease>,
    /// When the addon is installed.
    #[schemars(extend("default" = "default"))]
    pub stage: Option<Stage>,
    /// Addons that must be ready before this one is installed.
    #[schemars(length(max = 200))]
    pub depends_on: Option<Vec<String>>,
    /// Whether clusters have the addon by default.
    #[schemars(extend("default" = true))]
    pub enabled: Option<bool>,
    /// Helm values from Secrets and `ConfigMaps` in the cluster's namespace. Use this for credentials.
    #[schemars(length(max = 100))]
    pub values_from: Option<Vec<ValuesFrom>>,
}

/// The location of a Helm chart.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Chart {
    /// The address of the repository: `https://…`, `oci://…`, or `http://…` within a closed network.
    #[schemars(regex(pattern = r"^(https?|oci)://[^/\s]\S*$"))]
    pub repository: String,
    /// The name of the chart in the repository.
    #[schemars(regex(pattern = "^[a-zA-Z0-9][-._/a-zA-Z0-9]*$"))]
    pub name: String,
}

/// A version of an addon, and the Kubernetes versions that it works with.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct AddonVersion {
    /// The exact version of the chart or of the manifests, as published. If the tag of a chart in a registry starts with a
    /// `v`, so must this version.
    pub version: String,
    /// The Kubernetes versions that it works with, such as `>=1.32 <1.37`.
    pub kubernetes: String,
}

/// Limits for upgrades of an addon.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct AddonUpgrade {
    /// The greatest number of minor versions that one upgrade may span.
    #[schemars(range(min = 1, max = 1000))]
    pub max_minor_step: Option<i64>,
}

/// The Helm release in the workload cluster.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct HelmRelease {
    /// The name of the Helm release; by default, the name of the addon.
    pub name: Option<String>,
    /// The namespace of the Helm release in the workload cluster.
    #[schemars(extend("default" = "kube-system"))]
    pub namespace: Option<String>,
}

/// When an addon is installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Installed immediately, without waiting for anything. For addons that nodes need to become ready, such as the network
    /// plugin and the cloud controller manager.
    Bootstrap,
    /// Installed after the bootstrap addons are ready.
    Default,
}

/// Helm values from a Secret or `ConfigMap` in the cluster's namespace.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ValuesFrom {
    /// The name of the Secret. It may contain an expression, such as `${{ cluster.name }}-cloud-config`.
    pub secret: Option<String>,
    /// The name of the `ConfigMap`. It may contain an expression.
    pub config_map: Option<String>,
    /// The key in the Secret or `ConfigMap`.
    #[schemars(length(max = 253), regex(pattern = r"^[-._a-zA-Z0-9]+$"))]
    #[schemars(extend("default" = "values.yaml"))]
    pub key: Option<String>,
    /// The path of the value to set, such as `cloudConfig.data`. The content of the key is used literally. Without a path,
    /// the key must hold a whole values document.
    #[schemars(length(max = 250), regex(pattern = r"^([a-zA-Z0-9_\-.\\/]|\[[0-9]{1,5}\])+$"))]
    pub path: Option<String>,
    /// Whether the object may be missing.
    #[schemars(extend("default" = false))]
    pub optional: Option<bool>,
}
