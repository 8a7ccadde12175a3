//! Finds node pools that an annotation has held back since the last upgrade of their cluster.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
};

use crate::{
    compare::kubernetes_of,
    generate::Understood,
    io::git::{Edit, Repository, Side},
    model::{Cluster, ClusterId, NodePool},
    note::{Fault, Notes},
    render,
    topology::HELD_BACK_BY,
    upgrade::PoolsBehind,
    yaml::{self, FileId, Mapping, Node, Source},
};

/// The file of the Cluster below the folder of a cluster.
const CLUSTER: &str = "cluster/cluster.yaml";

/// The pools of the fleet that run an older Kubernetes version than their Cluster for sure: since the commit that last changed
/// the version, each commit holds them back. Of a pool whose annotation came later, git does not show what it runs.
pub(super) fn find(fleet: &Understood, repository: Option<&Repository>) -> Result<PoolsBehind, Fault> {
    let mut found = PoolsBehind::new();
    let Some(repository) = repository else { return Ok(found) };
    let Some(head) = repository.head()? else { return Ok(found) };
    let is_held = |pool: &&NodePool| HELD_BACK_BY.iter().any(|key| pool.annotations.get(key).is_some());
    let candidate = |cluster: &Cluster| {
        let pools = cluster.node_pools.iter().filter(is_held).map(|pool| pool.name.to_string());
        let pools: BTreeSet<String> = pools.collect();
        let folder = render::folder_of_cluster(&cluster.id()).as_str().to_owned();
        (!pools.is_empty()).then(|| (folder, (cluster.id(), pools)))
    };
    let mut held: BTreeMap<String, (ClusterId, BTreeSet<String>)> =
        fleet.model.clusters.iter().filter_map(candidate).collect();
    let folders: Vec<String> = held.keys().cloned().collect();
    repository.visit_changes(&head, folders.iter().map(String::as_str).collect(), &mut |edit| {
        let Some((cluster, pools)) = held.get_mut(edit.folder()) else { return Ok(ControlFlow::Break(())) };
        let (flow, behind) = look_at(edit, pools)?;
        if !behind.is_empty() {
            found.insert(cluster.clone(), behind);
        }
        Ok(flow)
    })?;
    Ok(found)
}

/// Looks at a change of a cluster. Removes from `pools` those that were not held back then. If the change is an upgrade, returns
/// the others with the version that they stay on.
fn look_at(
    edit: &Edit<'_>,
    pools: &mut BTreeSet<String>,
) -> Result<(ControlFlow<()>, BTreeMap<String, String>), Fault> {
    let none = BTreeMap::new();
    if !edit.paths().any(|path| path == CLUSTER) {
        return Ok((ControlFlow::Continue(()), none));
    }
    let read = |side| -> Result<Option<Node>, Fault> {
        let text = edit.file(side, CLUSTER)?;
        Ok(text.and_then(|text| yaml::read(&Source::new(FileId(0), "", text), &mut Notes::new())))
    };
    let (Some(before), Some(after)) = (read(Side::Before)?, read(Side::After)?) else {
        return Ok((ControlFlow::Break(()), none));
    };
    let held = pools_of(&after, true);
    pools.retain(|pool| held.contains(pool));
    let Some(version) = kubernetes_of(&before).filter(|_| kubernetes_of(&before) != kubernetes_of(&after))
    else {
        let flow = if pools.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        return Ok((flow, none));
    };
    // A pool that came with the upgrade has its version.
    let old = pools_of(&before, false);
    let behind = pools.iter().filter(|pool| old.contains(*pool)).map(|pool| (pool.clone(), version.clone()));
    Ok((ControlFlow::Break(()), behind.collect()))
}

/// The names of a Cluster's pools: of all, or only of those that an annotation holds back.
fn pools_of(cluster: &Node, only_held: bool) -> BTreeSet<String> {
    let workers = cluster.at(&["spec", "topology", "workers"]).and_then(Node::as_mapping);
    let lists = workers.into_iter().flat_map(Mapping::iter);
    let pools = lists.flat_map(|list| list.value.as_sequence().into_iter().flatten());
    let is_held =
        |pool: &&Node| HELD_BACK_BY.iter().any(|key| pool.at(&["metadata", "annotations", key]).is_some());
    let meant = pools.filter(|pool| !only_held || is_held(pool));
    meant.filter_map(|pool| pool.get("name").and_then(Node::as_str)).map(str::to_owned).collect()
}
