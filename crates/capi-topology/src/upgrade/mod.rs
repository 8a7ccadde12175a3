//! Kubernetes upgrades: their versions and steps.

pub(crate) mod plan;
pub(crate) mod tracker;
pub(crate) mod version;
