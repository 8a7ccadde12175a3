//! What happens when a Cluster or a `ClusterClass` is written: defaulting and validation by the
//! API server and by Cluster API's webhooks.

pub mod checks;
pub mod class;
pub mod class_patches;
pub mod class_update;
pub mod class_variables;
pub mod cluster;
pub mod cluster_update;
pub mod compatibility;
pub mod gates;
pub mod kubeadm_cluster_configuration;
pub mod kubeadm_config;
pub mod kubeadm_control_plane;
pub mod kubeadm_control_plane_template;
pub mod kubeadm_types;
pub mod structural;
pub mod webhooks;
pub mod workers;
