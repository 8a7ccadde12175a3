//! What Cluster API would make of a Cluster and its `ClusterClass`, before and after a change.
//!
//! A pure library: objects are `serde_json::Value`s, and nothing is read but what is given.
//! The steps are those of Cluster API's topology controller and of its webhooks, in the order
//! of the flow: [`class`] reads a `ClusterClass` and its templates, [`admission`] defaults and
//! validates what is written ([`variables`], [`schemas`], [`cel`]), [`desired`] computes the
//! objects ([`names`], [`builtins`], [`patches`] with [`gotmpl`]), [`upgrade`] plans
//! versions. [`predict`] puts them together; [`import`] takes in objects as people have them.

pub mod admission;
pub mod builtins;
pub mod class;
pub mod convert;
pub mod desired;
pub mod fault;
pub mod import;
pub mod memo;
pub mod names;
pub mod patches;
pub mod predict;
pub mod role;
pub mod schemas;
pub mod upgrade;
pub mod variables;
