//! The rules that verdicts rest on: one file for each subject.
//!
//! Which fields replace machines, the rules know as Cluster API's controllers and webhooks do ([`machine_rollouts`],
//! [`kubeadm_config`], [`infrastructure_webhooks`]). [`changed_parts`] turns the result into evidence. The other rules add
//! evidence about what qualifies a verdict. No rule sets a verdict: [`decide`](super::verdict) does.

pub(crate) mod changed_parts;
pub(crate) mod edited_templates;
pub(crate) mod foreign_values;
pub(crate) mod health_checks;
pub(crate) mod held_pools;
pub(crate) mod infrastructure_webhooks;
pub(crate) mod kubeadm_config;
pub(crate) mod manual_steps;
pub(crate) mod outdated_machines;
pub(crate) mod paused_parts;
pub(crate) mod refused_pool;
pub(crate) mod remediation_annotations;
mod remediation_limits;
mod remediation_trigger;
pub(crate) mod machine_rollouts;

/// The rules, in the order in which their reasons are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rule {
    /// The API server, a webhook or the controller refuses.
    Refusal,
    /// The effect of the change on the objects of the part.
    Change,
    /// Something that the change depends on is unknown.
    Unknown,
    /// The number of machines is unknown.
    Count,
    /// Someone has to act first.
    ByHand,
    /// An upgrade holds the part back.
    Waiting,
    /// Objects are created or deleted within a part that stays.
    Objects,
    /// A health check may replace machines that it left alone before.
    HealthCheck,
    PausedCluster,
    /// Another pool is refused.
    Retries,
    /// Whether the part is removed depends on who applies the Cluster.
    Applier,
    /// An annotation held the pool back before the change.
    HeldBack,
    /// Templates were edited earlier.
    EditedTemplates,
    /// Someone else set values of running objects.
    ForeignValues,
    PausedPart,
    /// Whether other parts roll at the same time.
    Together,
    /// The provider refuses, or may refuse, the change of the infrastructure.
    Infrastructure,
    /// Machines may be updated in place.
    InPlaceUpdates,
    /// The class is written before the Cluster.
    ClassFirst,
    /// The applier waits for the class before it writes templates.
    ClassesFirst,
}
