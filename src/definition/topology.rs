//! The parts of a cluster definition that correspond to Cluster API's topology: control plane, node pools, health checks.

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
    /// The number of machines. It must be odd with stacked etcd.
    #[schemars(schema_with = "count")]
    #[serde(default)]
    pub replicas: Option<Count>,
    /// Labels of the control plane and its machines.
    pub labels: Option<Labels>,
    /// Annotations of the control plane and its machines.
    pub annotations: Option<Labels>,
    /// Taints of its nodes. Requires Cluster API 1.13 or later and the feature gate `MachineTaintPropagation`.
    pub taints: Option<Vec<Taint>>,
    /// Timeouts for deleting machines.
    pub deletion: Option<Deletion>,
    /// When machines are replaced although nothing changed.
    pub rollout: Option<ControlPlaneRollout>,
    /// Conditions that must be met for a machine to be Ready.
    pub readiness_gates: Option<Vec<Gate>>,
    /// When a machine counts as unhealthy and is replaced. Overrides the health check of the class.
    pub health_check: Option<HealthCheck>,
    /// Values of the class's variables for the control plane only.
    pub variables: Option<AnyMap>,
}

/// A group of worker nodes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct NodePool {
    /// The name in the topology. Renaming a pool deletes its machines and creates new ones.
    pub name: String,
    /// The worker class.
    pub class: String,
    /// The kind of pool in Cluster API; `machineDeployment` by default.
    pub kind: Option<PoolKind>,
    /// The number of machines. Set either this or `autoscale`.
    #[schemars(schema_with = "count")]
    #[serde(default)]
    pub replicas: Option<Count>,
    /// Lets the cluster autoscaler choose the number of machines.
    pub autoscale: Option<Autoscale>,
    /// The failure domain in which the machines of a machine deployment run.
    pub failure_domain: Option<String>,
    /// The failure domains in which the machines of a machine pool run.
    pub failure_domains: Option<Vec<String>>,
    /// Labels of the pool and its machines.
    pub labels: Option<Labels>,
    /// Annotations of the pool and its machines.
    pub annotations: Option<Labels>,
    /// Taints of its nodes. Requires Cluster API 1.13 or later and the feature gate `MachineTaintPropagation`.
    pub taints: Option<Vec<Taint>>,
    /// Timeouts for deleting machines, and the order in which they are deleted.
    pub deletion: Option<Deletion>,
    /// How and when machines are replaced.
    pub rollout: Option<PoolRollout>,
    /// How long a machine must be ready to count as available, in seconds.
    #[schemars(schema_with = "count")]
    #[serde(default)]
    pub min_ready_seconds: Option<Count>,
    /// Conditions that must be met for a machine to be Ready.
    pub readiness_gates: Option<Vec<Gate>>,
    /// When a machine counts as unhealthy and is replaced. Overrides the health check of the class.
    pub health_check: Option<HealthCheck>,
    /// Values of the class's variables for this pool only.
    pub variables: Option<AnyMap>,
    /// The removal of the pool. It is scaled to zero first, and then removed from the Cluster.
    pub removal: Option<Removal>,
}

/// The kind of a pool in Cluster API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PoolKind {
    /// A machine deployment: Cluster API manages each machine.
    MachineDeployment,
    /// A machine pool: the provider manages the machines as a group.
    MachinePool,
}

/// Limits for the cluster autoscaler.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Autoscale {
    /// The smallest number of machines.
    #[schemars(range(min = 0, max = 100_000))]
    pub min: Count,
    /// The greatest number of machines.
    #[schemars(range(min = 0, max = 100_000))]
    pub max: Count,
}

/// A taint on nodes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Taint {
    /// The key of the taint.
    pub key: String,
    /// The value of the taint.
    pub value: Option<String>,
    /// The effect on pods that don't tolerate the taint.
    pub effect: TaintEffect,
    /// When Cluster API sets the taint.
    pub propagation: TaintPropagation,
}

/// The effect of a taint.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub enum TaintEffect {
    /// New pods are not scheduled on the node.
    NoSchedule,
    /// New pods are scheduled elsewhere if possible.
    PreferNoSchedule,
    /// Running pods are evicted, too.
    NoExecute,
}

/// When Cluster API sets a taint on a node.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub enum TaintPropagation {
    /// Always; it restores the taint if it is removed.
    Always,
    /// Only when the node is created.
    OnInitialization,
}

/// Timeouts for deleting a machine. 0 means no timeout.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Deletion {
    /// The order in which machines are deleted when a machine deployment is scaled down.
    pub order: Option<DeletionOrder>,
    /// How long draining the node may take, in seconds.
    #[schemars(schema_with = "count")]
    #[serde(default)]
    pub node_drain_timeout_seconds: Option<Count>,
    /// How long detaching the volumes may take, in seconds.
    #[schemars(schema_with = "count")]
    #[serde(default)]
    pub node_volume_detach_timeout_seconds: Option<Count>,
    /// How long deleting the Node object may take, in seconds.
    #[schemars(schema_with = "count")]
    #[serde(default)]
    pub node_deletion_timeout_seconds: Option<Count>,
}

/// The order in which machines are deleted.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub enum DeletionOrder {
    /// Random order.
    Random,
    /// The newest machines first.
    Newest,
    /// The oldest machines first.
    Oldest,
}

/// When the control plane's machines are replaced although nothing changed.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ControlPlaneRollout {
    /// Machines older than this time (RFC 3339) are replaced. Requires Cluster API 1.13 or later.
    pub after: Option<String>,
}

/// How and when a pool's machines are replaced. This overrides all rollout settings of the class.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(rename = "Rollout")]
pub struct PoolRollout {
    /// Machines older than this time (RFC 3339) are replaced. Requires Cluster API 1.13 or later.
    pub after: Option<String>,
    /// The strategy for replacing machines.
    pub strategy: Option<RolloutStrategy>,
}

/// The strategy for replacing a pool's machines.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RolloutStrategy {
    /// Whether machines are replaced automatically, or only when someone deletes them.
    #[serde(rename = "type")]
    pub kind: RolloutType,
    /// Limits for a rolling update.
    pub rolling_update: Option<RollingUpdate>,
}

/// How machines are replaced.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub enum RolloutType {
    /// Cluster API replaces the machines gradually.
    RollingUpdate,
    /// Cluster API replaces each machine when someone deletes it.
    OnDelete,
}

/// Limits for a rolling update.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RollingUpdate {
    /// How many machines may exist above the desired number, as a number or a percentage.
    #[schemars(schema_with = "count_or_percent")]
    #[serde(default)]
    pub max_surge: Option<Anything>,
    /// How many machines may be missing below the desired number, as a number or a percentage.
    #[schemars(schema_with = "count_or_percent")]
    #[serde(default)]
    pub max_unavailable: Option<Anything>,
}

/// A condition that must be met.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Gate {
    /// The type of the condition.
    pub condition_type: String,
    /// Whether the status True or False is good.
    pub polarity: Option<Polarity>,
}

/// Which status of a condition is good.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub enum Polarity {
    /// The status True is good.
    Positive,
    /// The status False is good.
    Negative,
}

/// When a machine counts as unhealthy and is replaced.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct HealthCheck {
    /// Whether the health check is on.
    pub enabled: Option<bool>,
    /// The criteria for unhealthy machines.
    pub checks: Option<HealthChecks>,
    /// How unhealthy machines are remediated.
    pub remediation: Option<Remediation>,
}

/// The criteria for unhealthy machines.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct HealthChecks {
    /// How long a machine may take to become a node, in seconds.
    #[schemars(schema_with = "count")]
    #[serde(default)]
    pub node_startup_timeout_seconds: Option<Count>,
    /// The node conditions that make a machine unhealthy.
    pub unhealthy_node_conditions: Option<Vec<UnhealthyCondition>>,
    /// The machine conditions that make a machine unhealthy. Requires Cluster API 1.12 or later.
    pub unhealthy_machine_conditions: Option<Vec<UnhealthyCondition>>,
}

/// A condition that makes a machine unhealthy.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct UnhealthyCondition {
    /// The type of the condition.
    #[serde(rename = "type")]
    pub kind: String,
    /// The status of the condition: `True`, `False` or `Unknown`.
    pub status: String,
    /// How long the condition must last, in seconds.
    #[schemars(range(min = 0, max = 2_147_483_647))]
    pub timeout_seconds: Count,
}

/// How unhealthy machines are remediated.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Remediation {
    /// Remediates only while the number of unhealthy machines is within limits.
    pub trigger_if: Option<RemediationTrigger>,
    /// How many machines are remediated at a time, as a number or a percentage. For machine deployments only.
    #[schemars(schema_with = "count_or_percent")]
    #[serde(default)]
    pub max_in_flight: Option<Anything>,
    /// The template of an external remediation.
    pub template_ref: Option<TemplateRef>,
}

/// The limits for the number of unhealthy machines. Otherwise, no machine is remediated.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RemediationTrigger {
    /// At most this many machines are unhealthy, as a number or a percentage.
    #[schemars(schema_with = "count_or_percent")]
    #[serde(default)]
    pub unhealthy_less_than_or_equal_to: Option<Anything>,
    /// The number of unhealthy machines is within this range, such as `[1-3]`.
    pub unhealthy_in_range: Option<String>,
}

/// A reference to a template in the management cluster.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct TemplateRef {
    /// The API version of the template.
    pub api_version: String,
    /// The kind of the template.
    pub kind: String,
    /// The name of the template.
    pub name: String,
}
