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
//! The modules follow Cluster API's topology controller and its webhooks, in the order of the flow: [`class`] reads a
//! `ClusterClass` and its templates, [`admission`] defaults and validates what is written ([`variables`], [`schemas`]),
//! [`desired`] computes the objects ([`names`], [`builtins`], [`patches`] with [`gotmpl`]), [`upgrade`] plans versions.
//! [`predict`] puts them together; [`import`] takes objects as people have them.

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
pub mod shells;
pub mod upgrade;
pub mod variables;

pub use class::Catalog;
pub use fault::{Fault, Opaque};
pub use predict::Settings;
pub use predict::create::{Created, create};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
