//! Predicts offline how Cluster API handles a Cluster and its `ClusterClass`, before and after a change.
//!
//! This is a pure library: objects are `serde_json::Value`s, and the only input is what the caller passes in.
//!
//! ```
//! use capi_topology::{Catalog, Settings, create};
//! use serde_json::json;
//!
//! let template = |group: &str, kind: &str, spec: serde_json::Value| json!({
//!     "apiVersion": format!("{group}.cluster.x-k8s.io/v1beta2"), "kind": kind,
//!     "metadata": { "name": "small", "namespace": "default" },
//!     "spec": { "template": { "spec": spec } },
//! });
//! let reference = |group: &str, kind: &str| json!({
//!     "templateRef": { "apiVersion": format!("{group}.cluster.x-k8s.io/v1beta2"), "kind": kind, "name": "small" },
//! });
//! let class = json!({
//!     "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "ClusterClass",
//!     "metadata": { "name": "small", "namespace": "default" },
//!     "spec": {
//!         "controlPlane": reference("controlplane", "KubeadmControlPlaneTemplate"),
//!         "infrastructure": reference("infrastructure", "DockerClusterTemplate"),
//!     },
//! });
//! let catalog = Catalog::new([
//!     class,
//!     template("controlplane", "KubeadmControlPlaneTemplate", json!({})),
//!     template("infrastructure", "DockerClusterTemplate", json!({})),
//! ]);
//! let cluster = json!({
//!     "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
//!     "metadata": { "name": "dev-1", "namespace": "default" },
//!     "spec": { "topology": {
//!         "classRef": { "name": "small" }, "version": "v1.35.0", "controlPlane": { "replicas": 3 },
//!     } },
//! });
//! let settings = Settings::new("1.14").expect("a version");
//!
//! let created = create(cluster.clone(), &catalog, &settings);
//! assert!(created.faults.is_empty(), "{:?}", created.faults);
//! let desired = created.desired.expect("nothing is refused");
//! assert_eq!(desired.control_plane["spec"]["replicas"], 3);
//!
//! let mut wrong = cluster;
//! wrong["spec"]["topology"]["version"] = json!("latest");
//! let refused = create(wrong, &catalog, &settings);
//! assert_eq!(refused.faults[0].error.field, "spec.topology.version");
//! ```
//!
//! - [`create`] and [`predict`] predict the outcome for a Cluster: its objects, and a [`Verdict`] on each [`TopologyPart`].
//! - [`import`] reads objects in the forms in which users keep them: multi-document files, lists and exports.
//! - [`admission`] and [`variables`] expose single steps: the defaulting and validation done by the webhooks.
//! - [`healthy`] says which status of a condition all healthy nodes or machines report.
//!
//! Enums that callers branch on, such as [`Meaning`], are deliberately exhaustive: a new variant should break the build
//! rather than be mistaken for something harmless.
//!
//! The internal modules follow Cluster API's topology controller and its webhooks, in order of execution. `class` reads a
//! `ClusterClass` and its templates. `admission` defaults and validates the manifests, using `variables` and `schemas`.
//! `desired` computes the objects (`state`), using `names`, `builtins`, and `patches` with [`gotmpl`]. `upgrade` plans versions.
//! `predict` combines them all.
#![warn(unnameable_types)]

pub mod admission;
mod builtins;
mod class;
mod contract;
mod convert;
mod desired;
mod refusal;
pub mod import;
mod memo;
mod gates;
pub mod healthy;
mod name_syntax;
mod names;
mod patches;
pub mod predict;
mod role;
mod schemas;
mod shells;
mod state;
#[doc(hidden)]
pub mod testing;
mod upgrade;
pub mod variables;

pub use admission::cluster_update::{UNSAFE_VERSION, VersionRefusal, plans_upgrades, version_refusal};
pub use class::{Blueprint, Catalog};
pub use contract::{AUTOSCALER_MAX, AUTOSCALER_MIN, PAUSED};
pub use gates::Gates;
pub use predict::Settings;
pub use predict::create::{Created, create};
pub use predict::field::Field;
pub use predict::forecast::Forecast;
pub use predict::meaning::Meaning;
pub use predict::observed::Observed;
pub use predict::reason::{Keeper, MachinePoolPart, Note, Reason};
pub use predict::shared::SharedClass;
pub use predict::side::Side;
pub use predict::steps::UpgradeStep;
pub use predict::verdict::Verdict;
pub use refusal::{By, ErrorType, FieldError, Opaque, Refusal, Stage};
pub use role::{Pool, PoolKind, PoolObject, Role, TopologyPart};
pub use schemas::{apply_problems, schema_faults};
pub use state::{Desired, Worker};
pub use upgrade::tracker::held_back;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
