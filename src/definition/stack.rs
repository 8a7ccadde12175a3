//! `stacks/<provider>/<stack>/stack.yaml`, kind `Stack`, and `node-images.yaml`, kind `NodeImages`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    kinds::{ApiVersion, Named},
    requirements::Requirements,
};

/// A tested template for clusters of one provider. One source serves several Kubernetes minors.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(extend("examples" = [{
    "apiVersion": "stackloom.dev/v1alpha1",
    "kind": "Stack",
    "metadata": { "name": "scs" },
    "spec": {
        "provider": "openstack",
        "description": "Upstream-close Kubernetes on OpenStack with Cilium",
        "kubernetes": [{ "version": "1.35.10", "maturity": "supported", "endOfLife": "2027-02-28" }],
        "versioning": "sequential",
    },
}]))]
pub struct Stack {
    /// The version of this format.
    pub api_version: ApiVersion,
    /// `Stack`.
    pub kind: StackKind,
    /// The name of the stack: lower-case letters and digits, no dashes.
    pub metadata: Named,
    /// The settings of the stack.
    pub spec: StackSpec,
}

/// The kind of `stack.yaml`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub enum StackKind {
    /// The only value.
    Stack,
}

/// The settings of a stack.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct StackSpec {
    /// The infrastructure provider, such as `openstack` or `docker`; no dashes.
    pub provider: String,
    /// A description in one line, for people who choose a stack.
    pub description: Option<String>,
    /// The Kubernetes versions that the stack supports, one patch version per minor.
    #[schemars(length(min = 1, max = 50))]
    pub kubernetes: Vec<KubernetesRelease>,
    /// How releases are numbered.
    #[schemars(extend("default" = "sequential"))]
    pub versioning: Option<Versioning>,
    /// Combinations of versions that don't work, in addition to the addons' own ranges.
    #[schemars(length(max = 500))]
    pub compatibility: Option<Vec<CompatibilityRule>>,
    /// Variables whose name or type differs from that in earlier releases, oldest change first.
    #[schemars(length(max = 500))]
    pub migrations: Option<Vec<Migration>>,
    /// What its releases require of a management cluster.
    pub requires: Option<Requirements>,
    /// Findings to allow, each with a reason: lints of the class, values that only look like secrets, and kinds of objects.
    #[schemars(length(max = 200))]
    pub allow: Option<Vec<Allowance>>,
}

/// A finding to allow: a lint of the stack's class, a value that only looks like a secret, or a kind of object.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Allowance {
    /// The name of the finding, as shown in the message.
    pub rule: String,
    /// For a secret or a kind: the file that contains it, relative to the stack's folder, such as `addons/net/values.yaml`.
    #[serde(rename = "in")]
    pub file: Option<String>,
    /// Why the finding is acceptable here, for the next reader.
    #[schemars(length(min = 1))]
    pub reason: String,
}

/// A Kubernetes version that a stack supports.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct KubernetesRelease {
    /// The exact patch version, such as 1.35.10. It also determines the minor.
    pub version: String,
    /// How mature this version of the stack is.
    pub maturity: Maturity,
    /// The day on which upstream stops patching it, as YYYY-MM-DD.
    pub end_of_life: Option<String>,
}

/// How mature a Kubernetes version of a stack is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Versioning {
    /// v1, v2, v3 …
    Sequential,
    /// Semantic versions. The impact of the changes determines which number is incremented.
    Semver,
}

/// A combination of versions that doesn't work.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct CompatibilityRule {
    /// A name for messages.
    pub name: String,
    /// When the rule applies. All given conditions must be met.
    pub when: RuleCondition,
    /// The problem, explained to people whose run is stopped by the rule.
    pub deny: String,
    /// The version of the addon that no longer has the problem.
    pub upgrade_to: Option<String>,
}

/// A variable whose name or type differs from that in earlier releases. `stackloom migrate` changes definitions accordingly.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Migration {
    /// The old name of the variable.
    #[schemars(length(min = 1))]
    pub variable: String,
    /// The new name, if it was renamed.
    #[schemars(length(min = 1))]
    pub rename_to: Option<String>,
    /// The new type of its values, if the type changed.
    #[serde(rename = "type")]
    pub value_type: Option<ValueType>,
}

/// The type of a variable's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
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

/// When a compatibility rule applies.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RuleCondition {
    /// The addon.
    pub addon: String,
    /// The affected versions of the addon, such as `<0.6.4`; by default, all versions.
    pub version: Option<String>,
    /// The affected Kubernetes versions, such as `>=1.28`; by default, all versions.
    pub kubernetes: Option<String>,
}

/// The node images of a stack, for its Kubernetes versions.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(extend("examples" = [{
    "apiVersion": "stackloom.dev/v1alpha1",
    "kind": "NodeImages",
    "metadata": { "name": "scs" },
    "spec": { "images": [{
        "name": "ubuntu-capi-image-v1.35.10",
        "kubernetes": "1.35.10",
        "os": "ubuntu-24.04",
        "url": "https://images.example.org/ubuntu-2404-kube-v1.35.10.qcow2",
        "checksum": "sha256:0000000000000000000000000000000000000000000000000000000000000000",
    }] },
}]))]
pub struct NodeImages {
    /// The version of this format.
    pub api_version: ApiVersion,
    /// `NodeImages`.
    pub kind: NodeImagesKind,
    /// The name of the stack.
    pub metadata: Named,
    /// The images.
    pub spec: NodeImagesSpec,
}

/// The kind of `node-images.yaml`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub enum NodeImagesKind {
    /// The only value.
    NodeImages,
}

/// The node images of a stack.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct NodeImagesSpec {
    /// The images, one entry per image and Kubernetes version.
    #[schemars(length(max = 1000))]
    pub images: Vec<NodeImage>,
}

/// A node image. Set exactly one of: `url` with `checksum`, `artifact`, or `build`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct NodeImage {
    /// The name of the image at the provider.
    pub name: String,
    /// The exact Kubernetes version in the image, such as 1.35.10.
    pub kubernetes: String,
    /// The operating system, such as `ubuntu-24.04`.
    pub os: Option<String>,
    /// The processor architecture; `amd64` by default.
    pub architecture: Option<String>,
    /// The address to download the image from.
    pub url: Option<String>,
    /// The checksum of the downloaded file: `sha256:` and its digest.
    pub checksum: Option<String>,
    /// The name of the image in a registry, such as `kindest/node:v1.35.1@sha256:…`.
    pub artifact: Option<String>,
    /// How to build the image, if it can't be downloaded.
    pub build: Option<String>,
}
