//! Upgrades of Kubernetes: which versions, in which steps.

pub mod plan;
pub mod tracker;
pub mod version;
