//! Predicts offline what Cluster API makes of a Cluster and its `ClusterClass`, before and after a change.
//!
//! A pure library: objects are `serde_json::Value`s, and it reads nothing but what it is given.
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
//! - [`create`] and [`predict`] answer what becomes of a Cluster: its objects, and a [`Verdict`] on each [`Part`].
//! - [`import`] reads objects as people have them: files of several documents, lists, exports.
//! - [`admission`] and [`variables`] are single steps: what the webhooks fill in and refuse.
//!
//! Enums that a caller decides by, such as [`Meaning`], are exhaustive on purpose: a new variant should stop the build rather
//! than be taken for something harmless.
//!
//! Inside, the modules follow Cluster API's topology controller and its webhooks, in the order of the flow: `class` reads a
//! `ClusterClass` and its templates, `admission` defaults and validates what is written (`variables`, `schemas`), `desired`
//! computes the objects (`names`, `builtins`, `patches` with [`gotmpl`]), `upgrade` plans versions. `predict` puts them
//! together.
#![warn(unnameable_types)]

pub mod admission;
mod builtins;
mod class;
mod convert;
mod desired;
mod refusal;
pub mod import;
mod memo;
mod names;
mod patches;
pub mod predict;
mod role;
mod schemas;
mod shells;
pub mod testing;
mod upgrade;
pub mod variables;

pub use admission::gates::Gates;
pub use class::{Blueprint, Catalog};
pub use desired::state::{Desired, Worker};
pub use predict::Settings;
pub use predict::create::{Created, create};
pub use predict::field::Field;
pub use predict::forecast::Forecast;
pub use predict::observed::Observed;
pub use predict::shared::SharedClass;
pub use predict::side::Side;
pub use predict::steps::UpgradeStep;
pub use predict::verdict::{Meaning, Verdict};
pub use refusal::{By, ErrorType, FieldError, Opaque, Refusal, Stage};
pub use role::{Part, Pool, PoolKind, PoolObject, Role};
pub use schemas::{apply_problems, schema_faults};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
