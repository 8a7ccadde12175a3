//! `addons/<addon>/addon.yaml`, kind `Addon`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::kinds::{ApiVersion, Named};

/// A core component of every cluster, as a Helm chart, as manifests, or both.
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
    /// The addon's name: that of its folder.
    pub metadata: Named,
    /// What it is.
    pub spec: AddonSpec,
}

/// The kind of `addon.yaml`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub enum AddonKind {
    /// The only one.
    Addon,
}

/// What an addon is.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct AddonSpec {
    /// One line for people.
    pub description: Option<String>,
    /// The Helm chart. Without one, the addon is made of `manifests/`.
    pub chart: Option<Chart>,
    /// The compatibility matrix: a release takes the newest version whose range holds its Kubernetes version.
    #[schemars(length(max = 500))]
    pub versions: Option<Vec<AddonVersion>>,
    /// How it may be upgraded.
    pub upgrade: Option<AddonUpgrade>,
    /// The Helm release in the workload cluster.
    pub release: Option<HelmRelease>,
    /// When it is installed; `default` where nothing is said.
    #[schemars(extend("default" = "default"))]
    pub stage: Option<Stage>,
    /// Addons that must be ready before.
    #[schemars(length(max = 200))]
    pub depends_on: Option<Vec<String>>,
    /// Whether clusters have it unless they say otherwise; `true` where nothing is said.
    #[schemars(extend("default" = true))]
    pub enabled: Option<bool>,
    /// Values from objects in the cluster's namespace: how credentials come in, by reference.
    #[schemars(length(max = 100))]
    pub values_from: Option<Vec<ValuesFrom>>,
}

/// Where a chart comes from.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Chart {
    /// `https://…`, `oci://…`, or `http://…` inside a closed network.
    #[schemars(regex(pattern = r"^(https?|oci)://[^/\s]\S*$"))]
    pub repository: String,
    /// The chart's name in the repository.
    #[schemars(regex(pattern = "^[a-zA-Z0-9][-._/a-zA-Z0-9]*$"))]
    pub name: String,
}

/// A version of an addon, and the Kubernetes versions that it works with.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct AddonVersion {
    /// The exact version of the chart or of the manifests, as published. If the tag of a chart in a registry starts with a
    /// `v`, the version does, too.
    pub version: String,
    /// The Kubernetes versions, such as `>=1.32 <1.37`.
    pub kubernetes: String,
}

/// How an addon may be upgraded.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct AddonUpgrade {
    /// How many minors at a time.
    #[schemars(range(min = 1, max = 1000))]
    pub max_minor_step: Option<i64>,
}

/// The Helm release in the workload cluster.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct HelmRelease {
    /// Its name; the addon's where nothing is said.
    pub name: Option<String>,
    /// Its namespace there; `kube-system` where nothing is said.
    #[schemars(extend("default" = "kube-system"))]
    pub namespace: Option<String>,
}

/// When an addon is installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Needed before nodes are ready (network, cloud controller): installed at once, waiting for nothing.
    Bootstrap,
    /// Installed when the bootstrap addons are ready.
    Default,
}

/// Values from a Secret or a `ConfigMap` in the cluster's namespace.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ValuesFrom {
    /// The Secret; may hold an expression, such as `${{ cluster.name }}-cloud-config`.
    pub secret: Option<String>,
    /// The `ConfigMap`; may hold an expression.
    pub config_map: Option<String>,
    /// The key in it; `values.yaml` where nothing is said.
    #[schemars(length(max = 253), regex(pattern = r"^[-._a-zA-Z0-9]+$"))]
    #[schemars(extend("default" = "values.yaml"))]
    pub key: Option<String>,
    /// Where the text goes, taken literally, as a path of values such as `cloudConfig.data`. Without it, the key holds
    /// a whole document of values.
    #[schemars(length(max = 250), regex(pattern = r"^([a-zA-Z0-9_\-.\\/]|\[[0-9]{1,5}\])+$"))]
    pub path: Option<String>,
    /// Whether it may be missing.
    #[schemars(extend("default" = false))]
    pub optional: Option<bool>,
}
