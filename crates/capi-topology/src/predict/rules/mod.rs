//! The rules that verdicts rest on: one file for each subject.
//!
//! Which fields replace machines, the rules know as Cluster API's controllers and webhooks do ([`replaces_machines`],
//! [`kubeadm_config`], [`infrastructure_webhooks`]). [`changed_parts`] turns the result into evidence. The other rules add
//! evidence about what qualifies a verdict. No rule sets a verdict: [`decide`](super::evidence) does.

pub(crate) mod changed_parts;
pub(crate) mod edited_templates;
pub(crate) mod foreign_values;
pub(crate) mod held_pools;
pub(crate) mod infrastructure_webhooks;
pub(crate) mod kubeadm_config;
pub(crate) mod manual_steps;
pub(crate) mod outdated_machines;
pub(crate) mod refused_pool;
pub(crate) mod replaces_machines;
