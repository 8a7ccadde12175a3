//! Upgrades of Kubernetes: which versions, in which steps.

pub(crate) mod plan;
pub(crate) mod tracker;
pub(crate) mod version;
