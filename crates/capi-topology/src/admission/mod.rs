//! Admission of a Cluster or a `ClusterClass`: defaulting and validation by the API server and by Cluster API's webhooks.
//!
//! ```
//! use capi_topology::{Gates, admission};
//! use serde_json::json;
//!
//! let mut cluster = json!({
//!     "metadata": { "name": "dev-1" },
//!     "spec": {
//!         "clusterNetwork": { "pods": { "cidrBlocks": ["10.0.0.0/33"] } },
//!         "topology": { "classRef": { "name": "small" }, "version": "1.35.0" },
//!     },
//! });
//! admission::cluster::default(&mut cluster, None, None, false);
//! assert_eq!(cluster["spec"]["topology"]["version"], "v1.35.0");
//!
//! let errors = admission::cluster::validate(&cluster, None, None, Gates::default());
//! assert_eq!(errors[0].field, "spec.clusterNetwork.pods.cidrBlocks[0]");
//! ```

pub(crate) mod checks;
pub(crate) mod class;
pub(crate) mod class_patches;
pub(crate) mod class_update;
pub(crate) mod class_variables;
pub mod cluster;
pub(crate) mod cluster_update;
pub(crate) mod compatibility;
pub(crate) mod kubeadm_cluster_configuration;
pub(crate) mod kubeadm_config;
pub(crate) mod kubeadm_control_plane;
pub(crate) mod kubeadm_control_plane_template;
pub(crate) mod kubeadm_types;
pub(crate) mod structural;
pub(crate) mod webhooks;
pub(crate) mod workers;
