//! The folders of the tree that do not depend on the engine.

use crate::{
    model::{ClusterId, ManagementCluster},
    plan::ClusterPlan,
    tree::TreePath,
};

pub fn release_folder(name: &str) -> TreePath {
    TreePath::root().join("releases").join(name)
}

pub(super) fn management_folder(management: &ManagementCluster) -> TreePath {
    TreePath::root().join("management").join(management.name.as_str())
}

/// The folder of a cluster's objects. The objects of its engine are in another folder.
pub fn cluster_folder(plan: &ClusterPlan) -> TreePath {
    folder_of_cluster(&plan.cluster.id())
}

/// The folder of a cluster's objects, given only its ID.
pub fn folder_of_cluster(id: &ClusterId) -> TreePath {
    let names = ["management", id.management.as_str(), "clusters", id.namespace.as_str(), id.name.as_str()];
    names.into_iter().fold(TreePath::root(), |folder, name| folder.join(name))
}
