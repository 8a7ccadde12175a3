//! Reads a single Cluster of a state.

use std::sync::Arc;

use super::{
    ClusterFacts, Objects, WrittenCluster, cluster_of, in_namespace, objects,
    state::{ClassName, ClusterFiles, ReadFiles, State, Unread},
};
use crate::{
    model::{ClusterId, ManagementCluster},
    note::Fault,
    render,
    yaml::{Node, to_json},
};

/// The Cluster of a state with its class; none if the state has no such Cluster.
pub fn written(
    state: &dyn State,
    cluster: &ClusterId,
    management: &Arc<ManagementCluster>,
) -> Result<Result<Option<WrittenCluster>, Unread>, Fault> {
    written_as(state, cluster, cluster, management)
}

/// Like [`written`], but for comparison with a cluster that it moved to: in the namespace of that cluster.
pub fn written_as(
    state: &dyn State,
    cluster: &ClusterId,
    moved: &ClusterId,
    management: &Arc<ManagementCluster>,
) -> Result<Result<Option<WrittenCluster>, Unread>, Fault> {
    let objects = match own_objects(state, cluster)? {
        Ok(objects) => in_namespace(objects, moved),
        Err(unread) => return Ok(Err(unread)),
    };
    let Some(node) = cluster_of(&objects) else { return Ok(Ok(None)) };
    Ok(with_class(state, cluster, node, management)?.map(Some))
}

/// The Cluster of a state, in the file that has it.
fn own_objects(state: &dyn State, cluster: &ClusterId) -> Result<Result<Objects, Unread>, Fault> {
    let files = match state.files(cluster)? {
        ClusterFiles::Known(files) => files,
        ClusterFiles::Refused(why) => {
            let path = render::folder_of_cluster(cluster).to_string();
            return Ok(Err(Unread { path, line: None, message: why }));
        }
    };
    let files = files.into_iter().filter(|file| file.path == render::CLUSTER_FILE).collect();
    objects(cluster, files, state, &ReadFiles::default())
}

/// The facts of a Cluster of a state; none if there is none, or if it cannot be read.
pub(super) fn facts_of(state: &dyn State, cluster: &ClusterId) -> Result<Option<ClusterFacts>, Fault> {
    let objects = own_objects(state, cluster)?.unwrap_or_default();
    Ok(cluster_of(&objects).map(ClusterFacts::of))
}

pub(super) fn with_class(
    state: &dyn State,
    id: &ClusterId,
    cluster: &Node,
    management: &Arc<ManagementCluster>,
) -> Result<Result<WrittenCluster, Unread>, Fault> {
    let class = state.class(&ClassName::of(cluster), management)?;
    let running = state.running(id);
    Ok(class.map(|class| WrittenCluster {
        cluster: to_json(cluster),
        class,
        management: management.clone(),
        running,
    }))
}
