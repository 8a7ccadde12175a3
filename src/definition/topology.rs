//! The parts of a cluster definition that Cluster API's topology knows: control plane, node pools, health checks.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    kinds::{AnyMap, Anything, Count, Labels, count, count_or_percent},
    removal::Removal,
};

/// The control plane.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ControlPlane {
    /// The number of machines: odd, with stacked etcd.
    #[schemars(schema_with = "count")]
    #[serde(default)]
    pub replicas: Option<Count>,
    /// Labels of the control plane and its machines.
    pub labels: Option<Labels>,
    /// Annotations of the control plane and its machines.
    pub annotations: Option<Labels>,
    /// Taints of its nodes (Cluster API 1.13 and later, feature gate `MachineTaintPropagation`).
    pub taints: Option<Vec<Taint>>,
    /// What deleting a machine waits for.
    pub deletion: Option<Deletion>,
    /// When machines are replaced without a change.
    pub rollout: Option<ControlPlaneRollout>,
    /// Conditions that must hold for a machine to be Ready.
    pub readiness_gates: Option<Vec<Gate>>,
    /// When a machine is replaced because it is unhealthy; replaces the class' own check.
    pub health_check: Option<HealthCheck>,
    /// Values of the class' variables for the control plane alone.
    pub variables: Option<AnyMap>,
}

/// A group of workers.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct NodePool {
    /// Its name in the topology. Renaming a pool deletes and recreates its machines.
    pub name: String,
    /// The class of workers that it is made from.
    pub class: String,
    /// Machines one by one, or a pool of the provider's own; `machineDeployment` where nothing is said.
    pub kind: Option<PoolKind>,
    /// The number of machines. Either this or `autoscale`.
    #[schemars(schema_with = "count")]
    #[serde(default)]
    pub replicas: Option<Count>,
    /// Leave the number to the cluster autoscaler.
    pub autoscale: Option<Autoscale>,
    /// Where a machine deployment's machines run.
    pub failure_domain: Option<String>,
    /// Where a machine pool's machines run.
    pub failure_domains: Option<Vec<String>>,
    /// Labels of the pool and its machines.
    pub labels: Option<Labels>,
    /// Annotations of the pool and its machines.
    pub annotations: Option<Labels>,
    /// Taints of its nodes (Cluster API 1.13 and later, feature gate `MachineTaintPropagation`).
    pub taints: Option<Vec<Taint>>,
    /// What deleting a machine waits for, and which goes first.
    pub deletion: Option<Deletion>,
    /// How and when machines are replaced.
    pub rollout: Option<Rollout>,
    /// How long a machine must be ready to count.
    #[schemars(schema_with = "count")]
    #[serde(default)]
    pub min_ready_seconds: Option<Count>,
    /// Conditions that must hold for a machine to be Ready.
    pub readiness_gates: Option<Vec<Gate>>,
    /// When a machine is replaced because it is unhealthy; replaces the class' own check.
    pub health_check: Option<HealthCheck>,
    /// Values of the class' variables for this pool alone.
    pub variables: Option<AnyMap>,
    /// How the pool leaves: without machines at first, then it goes from the Cluster.
    pub removal: Option<Removal>,
}

/// What a pool is in Cluster API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PoolKind {
    /// Machines one by one.
    MachineDeployment,
    /// A pool of the provider's own.
    MachinePool,
}

/// Bounds of the cluster autoscaler.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Autoscale {
    /// Never fewer machines.
    #[schemars(range(min = 0, max = 100_000))]
    pub min: Count,
    /// Never more machines.
    #[schemars(range(min = 0, max = 100_000))]
    pub max: Count,
}

/// A taint of nodes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Taint {
    /// Its key.
    pub key: String,
    /// Its value.
    pub value: Option<String>,
    /// What it does to pods that do not tolerate it.
    pub effect: TaintEffect,
    /// Whether Cluster API keeps it there.
    pub propagation: TaintPropagation,
}

/// What a taint does.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub enum TaintEffect {
    /// New pods stay away.
    NoSchedule,
    /// New pods stay away if they can.
    PreferNoSchedule,
    /// Running pods leave.
    NoExecute,
}

/// Whether Cluster API keeps a taint on a node.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub enum TaintPropagation {
    /// All the time.
    Always,
    /// Only when the node is made.
    OnInitialization,
}

/// What deleting a machine waits for. 0 waits for ever.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Deletion {
    /// Which machine goes first when a machine deployment shrinks.
    pub order: Option<DeletionOrder>,
    /// How long its node may take to drain, in seconds.
    #[schemars(schema_with = "count")]
    #[serde(default)]
    pub node_drain_timeout_seconds: Option<Count>,
    /// How long its volumes may take to detach, in seconds.
    #[schemars(schema_with = "count")]
    #[serde(default)]
    pub node_volume_detach_timeout_seconds: Option<Count>,
    /// How long its node may take to go, in seconds.
    #[schemars(schema_with = "count")]
    #[serde(default)]
    pub node_deletion_timeout_seconds: Option<Count>,
}

/// Which machine goes first.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub enum DeletionOrder {
    /// Any.
    Random,
    /// The newest.
    Newest,
    /// The oldest.
    Oldest,
}

/// When the control plane's machines are replaced without a change.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ControlPlaneRollout {
    /// Machines older than this time (RFC 3339) are replaced (Cluster API 1.13 and later).
    pub after: Option<String>,
}

/// How and when a pool's machines are replaced. It replaces the class' own settings whole.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Rollout {
    /// Machines older than this time (RFC 3339) are replaced (Cluster API 1.13 and later).
    pub after: Option<String>,
    /// How.
    pub strategy: Option<RolloutStrategy>,
}

/// How a pool's machines are replaced.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RolloutStrategy {
    /// By itself, or when someone deletes a machine.
    #[serde(rename = "type")]
    pub kind: RolloutType,
    /// How many at a time.
    pub rolling_update: Option<RollingUpdate>,
}

/// Who replaces machines.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub enum RolloutType {
    /// Cluster API, some at a time.
    RollingUpdate,
    /// Cluster API, one by one as somebody deletes them.
    OnDelete,
}

/// How many machines at a time.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RollingUpdate {
    /// How many more than wanted, as a number or a percentage.
    #[schemars(schema_with = "count_or_percent")]
    #[serde(default)]
    pub max_surge: Option<Anything>,
    /// How many fewer than wanted, as a number or a percentage.
    #[schemars(schema_with = "count_or_percent")]
    #[serde(default)]
    pub max_unavailable: Option<Anything>,
}

/// A condition that must hold.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Gate {
    /// The condition's type.
    pub condition_type: String,
    /// Whether True or False is good.
    pub polarity: Option<Polarity>,
}

/// Whether a condition's True is good.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub enum Polarity {
    /// True is good.
    Positive,
    /// False is good.
    Negative,
}

/// When a machine is replaced because it is unhealthy.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct HealthCheck {
    /// Switches the class' own check on or off.
    pub enabled: Option<bool>,
    /// What counts as unhealthy.
    pub checks: Option<HealthChecks>,
    /// What is done about it.
    pub remediation: Option<Remediation>,
}

/// What counts as unhealthy.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct HealthChecks {
    /// How long a machine may take to become a node, in seconds.
    #[schemars(schema_with = "count")]
    #[serde(default)]
    pub node_startup_timeout_seconds: Option<Count>,
    /// Conditions of nodes.
    pub unhealthy_node_conditions: Option<Vec<UnhealthyCondition>>,
    /// Conditions of machines (Cluster API 1.12 and later).
    pub unhealthy_machine_conditions: Option<Vec<UnhealthyCondition>>,
}

/// A condition that makes a machine unhealthy.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct UnhealthyCondition {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// How long it must last, in seconds.
    #[schemars(range(min = 0, max = 2_147_483_647))]
    pub timeout_seconds: Count,
}

/// What is done about unhealthy machines.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Remediation {
    /// Only while not too many are unhealthy.
    pub trigger_if: Option<RemediationTrigger>,
    /// How many at a time, as a number or a percentage (machine deployments only).
    #[schemars(schema_with = "count_or_percent")]
    #[serde(default)]
    pub max_in_flight: Option<Anything>,
    /// The template of another way to mend a machine.
    pub template_ref: Option<TemplateRef>,
}

/// When unhealthy machines are mended.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RemediationTrigger {
    /// While at most so many are unhealthy, as a number or a percentage.
    #[schemars(schema_with = "count_or_percent")]
    #[serde(default)]
    pub unhealthy_less_than_or_equal_to: Option<Anything>,
    /// While so many are unhealthy, such as `[1-3]`.
    pub unhealthy_in_range: Option<String>,
}

/// A template of the management cluster.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct TemplateRef {
    /// Its API version.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
}
