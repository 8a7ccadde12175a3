//! `clusters/**/<cluster>.yaml`, kind `ClusterDefinition`, and `_defaults.yaml`, kind `ClusterDefaults`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    kinds::{
        AnyMap, Anything, ApiVersion, Count, Labels, addon_delivery, delivery_of_others, one_or_many, port,
    },
    removal::Removal,
    topology::{ControlPlane, NodePool},
};

/// The definition of one cluster.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(extend("examples" = [{
    "apiVersion": "stackloom.dev/v1alpha1",
    "kind": "ClusterDefinition",
    "metadata": { "name": "prod-eu-1", "namespace": "team-a" },
    "spec": {
        "managementCluster": "mgmt",
        "release": "openstack-scs-1-35-v7",
        "controlPlane": { "replicas": 3 },
        "nodePools": [{ "name": "md-0", "class": "default-worker", "replicas": 3 }],
        "variables": { "workerFlavor": "SCS-4V-8" },
        "addons": { "metrics-server": { "enabled": false } },
    },
}]))]
pub struct ClusterDefinition {
    /// The version of this format.
    pub api_version: ApiVersion,
    /// `ClusterDefinition`.
    pub kind: ClusterDefinitionKind,
    /// The name and namespace of the cluster, with labels and annotations.
    pub metadata: ClusterMetadata,
    /// The settings of the cluster, merged over the defaults of its folders.
    pub spec: Option<ClusterSpec>,
}

/// The kind of a cluster definition.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub enum ClusterDefinitionKind {
    /// The only value.
    ClusterDefinition,
}

/// The name and namespace of a cluster, with labels and annotations.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ClusterMetadata {
    /// The name of the cluster, a DNS label. Renaming a cluster deletes it and creates another one.
    pub name: String,
    /// The namespace in the management cluster.
    pub namespace: Option<String>,
    /// Labels of the Cluster.
    #[schemars(extend("maxProperties" = 1000))]
    pub labels: Option<Labels>,
    /// Annotations of the Cluster.
    #[schemars(extend("maxProperties" = 1000))]
    pub annotations: Option<Labels>,
}

/// Defaults for all clusters in a folder and its subfolders.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(extend("examples" = [{
    "apiVersion": "stackloom.dev/v1alpha1",
    "kind": "ClusterDefaults",
    "metadata": { "labels": { "env": "prod" } },
    "spec": { "managementCluster": "mgmt", "controlPlane": { "replicas": 3 } },
}]))]
pub struct ClusterDefaults {
    /// The version of this format.
    pub api_version: ApiVersion,
    /// `ClusterDefaults`.
    pub kind: ClusterDefaultsKind,
    /// Metadata of every cluster.
    pub metadata: Option<DefaultsMetadata>,
    /// The default settings. Subfolders and the cluster definitions can override them.
    pub spec: Option<ClusterSpec>,
}

/// The kind of `_defaults.yaml`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub enum ClusterDefaultsKind {
    /// The only value.
    ClusterDefaults,
}

/// Metadata that the clusters of a folder share.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct DefaultsMetadata {
    /// The namespace in the management cluster.
    pub namespace: Option<String>,
    /// Labels of the Clusters.
    #[schemars(extend("maxProperties" = 1000))]
    pub labels: Option<Labels>,
    /// Annotations of the Clusters.
    #[schemars(extend("maxProperties" = 1000))]
    pub annotations: Option<Labels>,
}

/// The settings of a cluster. When layers are merged, maps merge, lists and single values replace, and `null` removes a
/// value.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ClusterSpec {
    /// The management cluster that creates the cluster. Changing it deletes the cluster and creates another one.
    pub management_cluster: Option<String>,
    /// The release that the cluster uses: a name such as `openstack-scs-1-35-v7`, or `head` for the current state of the
    /// stack in this repository (for development only).
    pub release: Option<String>,
    /// The stack, as `<provider>/<stack>`. Only with `release: head`.
    pub stack: Option<String>,
    /// The Kubernetes minor version, such as "1.35". Only with `release: head`.
    pub kubernetes: Option<String>,
    /// The control plane.
    pub control_plane: Option<ControlPlane>,
    /// The groups of worker nodes.
    #[schemars(length(max = 2000))]
    pub node_pools: Option<Vec<NodePool>>,
    /// The networks inside the cluster.
    pub network: Option<Network>,
    /// Values of the class's variables.
    #[schemars(extend("maxProperties" = 1000))]
    pub variables: Option<AnyMap>,
    /// Changes to the stack's addons, by addon name.
    #[schemars(extend("maxProperties" = 200))]
    pub addons: Option<BTreeMap<String, Option<AddonChoice>>>,
    /// The tool that installs addons; overrides the setting of the management cluster.
    #[schemars(schema_with = "addon_delivery", example = delivery_of_others())]
    #[serde(default)]
    pub addon_delivery: Option<String>,
    /// The owner of the cluster: one or more teams or people, named as in the system where changes are reviewed. Reports
    /// group changes by owner, and pull requests of upgrades ask owners such as `@example/team-a` for a review. It
    /// doesn't affect the generated tree.
    #[schemars(schema_with = "one_or_many", example = "@example/team-a")]
    #[serde(default)]
    pub owner: Option<Anything>,
    /// Conditions that must be met for the Cluster to be Available.
    #[schemars(length(max = 32))]
    pub availability_gates: Option<Vec<super::topology::Gate>>,
    /// Pauses Cluster API for this cluster. The value is the reason, for people who read the definition.
    #[schemars(example = "storage is being moved until Friday")]
    pub suspend: Option<String>,
    /// Which newer releases `stackloom upgrade` proposes if no target is given.
    pub upgrades: Option<Upgrades>,
    /// The removal of the cluster. Allowed in a cluster definition only, not in folder defaults.
    pub removal: Option<Removal>,
    /// Findings to allow, each with a reason: values in this file or its `.d` folder that only look like secrets, and kinds
    /// of objects in the `.d` folder.
    pub allow: Option<Vec<SecretAllowance>>,
    /// Accepted risks of changes, each with a reason. `diff` and `check --against` don't fail because of them. They don't
    /// affect the generated tree.
    #[schemars(length(max = 100))]
    pub accept: Option<Vec<Acceptance>>,
    /// Other fields of the Cluster's `spec`, merged over the generated ones.
    pub raw: Option<AnyMap>,
}

/// A finding to allow: a value that only looks like a secret, or a kind of object.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct SecretAllowance {
    /// The name of the finding, as shown in the message.
    pub rule: String,
    /// The file in the `.d` folder, relative to the definition's folder, such as `prod-1.d/demo.env`. Without it, the entry
    /// applies to the definition itself.
    #[serde(rename = "in")]
    pub file: Option<String>,
    /// Why the finding is allowed.
    #[schemars(length(min = 1))]
    pub reason: String,
}

/// One accepted risk. It applies to exactly one change; any other change has another ID.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(extend("examples" = [{
    "risk": "deletes",
    "reason": "the pool is empty since Monday",
    "change": "0123456789abcdef",
}]))]
pub struct Acceptance {
    /// The class of the risk, as shown by `stackloom diff`.
    pub risk: AcceptedRisk,
    /// Why the risk is accepted. Reports show the reason.
    #[schemars(length(min = 1))]
    pub reason: String,
    /// The ID of the change, as printed by `stackloom diff --format json`.
    #[schemars(regex(pattern = "^[0-9a-f]{16}$"))]
    pub change: String,
}

/// The class of a risk.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AcceptedRisk {
    /// The change is rejected, or gets stuck halfway.
    Refused,
    /// Something is deleted, or is no longer managed.
    Deletes,
    /// The effect can't be predicted.
    Unknown,
    /// Control plane machines are replaced.
    ControlPlane,
    /// Machines of a pool are replaced.
    Pools,
    /// A control plane or node pool gets fewer machines; the other machines stay.
    ScaleDown,
    /// Workloads of addons may restart.
    Restarts,
    /// Something changes, but no machines are replaced.
    InPlace,
    /// Only labels and annotations change.
    Metadata,
}

/// The networks inside a cluster.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Network {
    /// CIDR blocks for pods.
    #[schemars(length(max = 100))]
    pub pods: Option<Vec<String>>,
    /// CIDR blocks for services.
    #[schemars(length(max = 100))]
    pub services: Option<Vec<String>>,
    /// The DNS domain of services, such as `cluster.local`.
    pub service_domain: Option<String>,
    /// The port of the API server.
    #[schemars(schema_with = "port")]
    #[serde(default)]
    pub api_server_port: Option<Count>,
}

/// Which newer releases a cluster follows.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Upgrades {
    /// Which newer releases `stackloom upgrade` proposes if no target is given.
    #[schemars(extend("default" = "patch"))]
    pub policy: Option<UpgradePolicy>,
    /// Stops proposals of upgrades for now.
    pub hold: Option<Hold>,
    /// The time zone of the windows: its name in the IANA database.
    #[schemars(extend("default" = "UTC"), example = "Europe/Berlin")]
    pub time_zone: Option<String>,
    /// When `stackloom upgrade next` and `stackloom rollout next` may take a step; by default, at any time.
    #[schemars(length(max = 50))]
    pub windows: Option<Vec<super::rollout::Window>>,
}

/// Which newer releases a cluster follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UpgradePolicy {
    /// Newer releases of its Kubernetes minor.
    Patch,
    /// Newer Kubernetes minors, too, one at a time.
    Minor,
    /// None; only upgrades that someone requests.
    None,
}

/// A hold on the upgrades of a cluster.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Hold {
    /// The reason, for people who read the definition.
    #[schemars(length(min = 1, max = 512), example = "the team tests its operators with 1.36 first")]
    pub reason: String,
    /// The first day on which the hold no longer applies, as YYYY-MM-DD. Without it, the hold applies until it is removed.
    #[schemars(example = "2027-01-11")]
    pub until: Option<String>,
}

/// Changes to an addon of this cluster.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct AddonChoice {
    /// Whether the cluster has the addon.
    pub enabled: Option<bool>,
    /// A version that replaces the release's. It must be in the release's matrix, unless `unlisted` is set.
    pub version: Option<String>,
    /// A temporary version that the cluster keeps during an upgrade. `stackloom upgrade next` sets and removes it. If
    /// `version` is set, it takes precedence, and stays after the upgrade.
    #[schemars(example = "1.18.9")]
    pub interim_version: Option<String>,
    /// The reason for using a version that isn't in the matrix.
    #[schemars(example = "1.18.8 leaks memory; 1.18.9 is being tested")]
    pub unlisted: Option<String>,
    /// Another release of the same stack and minor that supplies the addon.
    pub release: Option<String>,
    /// The removal of the addon after it is turned off. Needed for addons that nodes depend on, because a change in git
    /// alone doesn't remove them.
    pub removal: Option<Removal>,
    /// Helm values merged over those of the release. `null` is kept, because it removes a default of the chart.
    pub values: Option<AnyMap>,
}
