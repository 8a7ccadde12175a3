//! `clusters/**/<cluster>.yaml`, kind `ClusterDefinition`, and `_defaults.yaml`, kind `ClusterDefaults`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    kinds::{AnyMap, Anything, ApiVersion, Count, Labels, addon_delivery, one_or_many, port},
    removal::Removal,
    topology::{ControlPlane, NodePool},
};

/// What a person writes about one cluster.
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
    /// What it is called, and where it lives.
    pub metadata: ClusterMetadata,
    /// What it is; the folder defaults lie below it.
    pub spec: Option<ClusterSpec>,
}

/// The kind of a cluster's file.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub enum ClusterDefinitionKind {
    /// The only one.
    ClusterDefinition,
}

/// What a cluster is called, and where it lives.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ClusterMetadata {
    /// A DNS label. A changed name is another cluster.
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

/// What all clusters of a folder, and of the folders in it, share.
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
    /// What every cluster is, unless a folder further in or the definition itself says otherwise.
    pub spec: Option<ClusterSpec>,
}

/// The kind of `_defaults.yaml`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub enum ClusterDefaultsKind {
    /// The only one.
    ClusterDefaults,
}

/// Metadata that clusters of a folder share.
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

/// What a cluster is. Maps of several layers merge, lists and single values replace, `null` removes.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ClusterSpec {
    /// The management cluster that builds it. A changed one is a deletion and a creation.
    pub management_cluster: Option<String>,
    /// The release that it is made from: a name such as `openstack-scs-1-35-v7`, or `head` for the stack as it stands
    /// in this repository (development only).
    pub release: Option<String>,
    /// With `release: head`: the stack, as `<provider>/<stack>`.
    pub stack: Option<String>,
    /// With `release: head`: the Kubernetes minor, such as "1.35".
    pub kubernetes: Option<String>,
    /// The control plane.
    pub control_plane: Option<ControlPlane>,
    /// The groups of workers.
    #[schemars(length(max = 2000))]
    pub node_pools: Option<Vec<NodePool>>,
    /// The cluster's own networks.
    pub network: Option<Network>,
    /// Values of the class' variables.
    #[schemars(extend("maxProperties" = 1000))]
    pub variables: Option<AnyMap>,
    /// What is different about the stack's addons.
    #[schemars(extend("maxProperties" = 200))]
    pub addons: Option<BTreeMap<String, Option<AddonChoice>>>,
    /// What installs the addons, instead of what the management cluster says.
    #[schemars(schema_with = "addon_delivery", example = "helm-chart-proxy")]
    #[serde(default)]
    pub addon_delivery: Option<String>,
    /// Who the cluster belongs to: a team or a person, or several, by the names that they have where changes are reviewed.
    /// Reports of changes are grouped by it; nothing is generated from it.
    #[schemars(schema_with = "one_or_many", example = "@example/team-a")]
    #[serde(default)]
    pub owner: Option<Anything>,
    /// Conditions that must hold for the Cluster to be Available.
    #[schemars(length(max = 32))]
    pub availability_gates: Option<Vec<super::topology::Gate>>,
    /// Pause Cluster API for this cluster; the reason, for those who find it so.
    #[schemars(example = "storage is being moved until Friday")]
    pub suspend: Option<String>,
    /// How far `stackloom upgrade` without a target takes the cluster.
    pub upgrades: Option<Upgrades>,
    /// How the cluster leaves; in its own definition only.
    pub removal: Option<Removal>,
    /// False alarms to allow: values in this file or its `.d` folder that only look like secrets, and kinds in the `.d`
    /// folder, each with a reason.
    pub allow: Option<Vec<SecretAllowance>>,
    /// Risks of a change that are accepted, each with a reason. `diff` and `check --against` let them pass. Nothing is generated
    /// from it.
    #[schemars(length(max = 100))]
    pub accept: Option<Vec<Acceptance>>,
    /// Anything else that a Cluster's `spec` can say, merged over what the program makes.
    pub raw: Option<AnyMap>,
}

/// A finding to allow: a value that only looks like a secret, or a kind of object.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct SecretAllowance {
    /// The name of the finding, as the message shows it.
    pub rule: String,
    /// The file in the `.d` folder, relative to the definition's folder, such as `prod-1.d/demo.env`. Without it, the entry
    /// applies to the definition itself.
    #[serde(rename = "in")]
    pub file: Option<String>,
    /// Why this is allowed.
    #[schemars(length(min = 1))]
    pub reason: String,
}

/// One risk that is accepted. Any other change is another id, and is not accepted.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(extend("examples" = [{
    "risk": "deletes",
    "reason": "the pool is empty since Monday",
    "change": "0123456789abcdef",
}]))]
pub struct Acceptance {
    /// The class of the risk, as `stackloom diff` names it.
    pub risk: AcceptedRisk,
    /// Why it is accepted. Reports show it.
    #[schemars(length(min = 1))]
    pub reason: String,
    /// The id of the change, as `stackloom diff --format json` prints it.
    #[schemars(regex(pattern = "^[0-9a-f]{16}$"))]
    pub change: String,
}

/// A class of risks.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AcceptedRisk {
    /// Something refuses it, or it gets stuck half-way.
    Refused,
    /// Something is deleted, or nothing manages it any more.
    Deletes,
    /// Nobody can know what happens.
    Unknown,
    /// Machines of a control plane are replaced.
    ControlPlane,
    /// Machines of a pool are replaced.
    Pools,
    /// A control plane or a pool gets fewer machines, and the others stay.
    ScaleDown,
    /// Workloads of addons may restart.
    Restarts,
    /// Something changes without replacing a machine.
    InPlace,
    /// Labels and annotations.
    Metadata,
}

/// The cluster's own networks.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Network {
    /// CIDR blocks of pods.
    #[schemars(length(max = 100))]
    pub pods: Option<Vec<String>>,
    /// CIDR blocks of services.
    #[schemars(length(max = 100))]
    pub services: Option<Vec<String>>,
    /// The domain of services, such as `cluster.local`.
    pub service_domain: Option<String>,
    /// The port of the API server.
    #[schemars(schema_with = "port")]
    #[serde(default)]
    pub api_server_port: Option<Count>,
}

/// How far a cluster follows newer releases.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Upgrades {
    /// Which releases `stackloom upgrade` proposes without a target.
    #[schemars(extend("default" = "patch"))]
    pub policy: Option<UpgradePolicy>,
    /// Propose nothing for now.
    pub hold: Option<Hold>,
}

/// Which releases a cluster follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UpgradePolicy {
    /// Newer releases of its Kubernetes minor.
    Patch,
    /// Newer Kubernetes minors, too, one at a time.
    Minor,
    /// None: only those that someone asks for.
    None,
}

/// A cluster that stays where it is.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Hold {
    /// Why, for those who find it so.
    #[schemars(length(min = 1, max = 512), example = "the team tests its operators with 1.36 first")]
    pub reason: String,
    /// The first day on which it no longer holds, as YYYY-MM-DD; without it, someone has to take the hold out.
    #[schemars(example = "2027-01-11")]
    pub until: Option<String>,
}

/// What is different about an addon of this cluster.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct AddonChoice {
    /// Whether the cluster has it.
    pub enabled: Option<bool>,
    /// Another version of the release's matrix.
    pub version: Option<String>,
    /// A version that the cluster keeps until an upgrade is done: `stackloom upgrade next` sets it and removes it. `version`
    /// overrides it, and stays when an upgrade is done.
    #[schemars(example = "1.18.9")]
    pub interim_version: Option<String>,
    /// Why a version outside the matrix is taken all the same.
    #[schemars(example = "1.18.8 leaks memory; 1.18.9 is being tested")]
    pub unlisted: Option<String>,
    /// Another release of the same stack and minor that the addon is taken from.
    pub release: Option<String>,
    /// How it leaves, when it is turned off: for addons that nodes need, whose removal git alone does not do.
    pub removal: Option<Removal>,
    /// Helm values, merged over the release's. `null` is kept: it removes a default of the chart.
    pub values: Option<AnyMap>,
}
