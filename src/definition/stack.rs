//! `stacks/<provider>/<stack>/stack.yaml`, kind `Stack`, and `node-images.yaml`, kind `NodeImages`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    kinds::{ApiVersion, Named},
    requirements::Requirements,
};

/// A tested template of clusters for one provider; one source serves several Kubernetes minors.
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
    /// The stack's name: lower-case letters and digits, no dash.
    pub metadata: Named,
    /// What it is.
    pub spec: StackSpec,
}

/// The kind of `stack.yaml`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub enum StackKind {
    /// The only one.
    Stack,
}

/// What a stack is.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct StackSpec {
    /// The infrastructure it targets: `openstack`, `docker` … without a dash.
    pub provider: String,
    /// One line for people who choose a stack.
    pub description: Option<String>,
    /// The Kubernetes versions it serves, one patch version per minor.
    #[schemars(length(min = 1, max = 50))]
    pub kubernetes: Vec<KubernetesRelease>,
    /// How releases are numbered; `sequential` where nothing is said.
    #[schemars(extend("default" = "sequential"))]
    pub versioning: Option<Versioning>,
    /// Combinations that do not work, beside the addons' own ranges.
    #[schemars(length(max = 500))]
    pub compatibility: Option<Vec<CompatibilityRule>>,
    /// Variables that have another name or type than in earlier releases, the oldest change first.
    #[schemars(length(max = 500))]
    pub migrations: Option<Vec<Migration>>,
    /// What its releases need of a management cluster.
    pub requires: Option<Requirements>,
    /// Lints that the class may trip, values that only look like secrets, and kinds of objects to allow, each with a reason.
    #[schemars(length(max = 200))]
    pub allow: Option<Vec<Allowance>>,
}

/// A finding to allow: a lint of the stack's class, a value that only looks like a secret, or a kind of object.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Allowance {
    /// The name of the finding, as the message shows it.
    pub rule: String,
    /// For a secret or a kind: the file that contains it, relative to the stack's folder, such as `addons/net/values.yaml`.
    #[serde(rename = "in")]
    pub file: Option<String>,
    /// Why it is right here, in words for the next person.
    #[schemars(length(min = 1))]
    pub reason: String,
}

/// A Kubernetes version that a stack serves.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct KubernetesRelease {
    /// The exact patch version, such as 1.35.10; the minor comes from it.
    pub version: String,
    /// How far one may rely on it.
    pub maturity: Maturity,
    /// When upstream stops patching it, as YYYY-MM-DD.
    pub end_of_life: Option<String>,
}

/// How far one may rely on a Kubernetes version of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Versioning {
    /// v1, v2, v3 …
    Sequential,
    /// Semantic versions, chosen by impact.
    Semver,
}

/// A combination that does not work.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct CompatibilityRule {
    /// A name for messages.
    pub name: String,
    /// When it applies: all that is given must hold.
    pub when: RuleCondition,
    /// What is wrong then, in words for the person who sees it.
    pub deny: String,
    /// The version of the addon that is free of it.
    pub upgrade_to: Option<String>,
}

/// A variable that has another name or type than in earlier releases. `stackloom migrate` changes definitions accordingly.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Migration {
    /// The name of the variable before.
    #[schemars(length(min = 1))]
    pub variable: String,
    /// Its name from now on.
    #[schemars(length(min = 1))]
    pub rename_to: Option<String>,
    /// The type of its values from now on.
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
    /// Its versions, such as `<0.6.4`; all where nothing is said.
    pub version: Option<String>,
    /// The Kubernetes versions, such as `>=1.28`; all where nothing is said.
    pub kubernetes: Option<String>,
}

/// The node images of a stack, per Kubernetes version.
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
    /// The stack's name.
    pub metadata: Named,
    /// The images.
    pub spec: NodeImagesSpec,
}

/// The kind of `node-images.yaml`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub enum NodeImagesKind {
    /// The only one.
    NodeImages,
}

/// The images of a stack.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct NodeImagesSpec {
    /// One entry per image and Kubernetes version.
    #[schemars(length(max = 1000))]
    pub images: Vec<NodeImage>,
}

/// A node image: its data, with exactly one of `url` and `checksum`, `artifact`, or `build`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct NodeImage {
    /// The image's name at the provider.
    pub name: String,
    /// The exact Kubernetes version inside, such as 1.35.10.
    pub kubernetes: String,
    /// The operating system, such as `ubuntu-24.04`.
    pub os: Option<String>,
    /// The processor architecture; `amd64` where nothing is said.
    pub architecture: Option<String>,
    /// Where the image can be had.
    pub url: Option<String>,
    /// `sha256:` and the digest of what `url` gives.
    pub checksum: Option<String>,
    /// An artifact of a registry, such as `kindest/node:v1.35.1@sha256:…`.
    pub artifact: Option<String>,
    /// How to build it, where it cannot be had.
    pub build: Option<String>,
}
