//! Finds node pools that an annotation has held back since the last upgrade of their cluster.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
};

use crate::{
    compare::kubernetes_of,
    generate::Understood,
    io::git::{Edit, Repository, Side},
    model::{Cluster, ClusterId, KubernetesVersion, NodePool, PoolKind},
    note::{Fault, Notes},
    render,
    topology::{UNSAFE_VERSION, held_back},
    upgrade::PoolsBehind,
    yaml::{self, FileId, Mapping, Node, Source},
};

/// The pools of the fleet that run an older Kubernetes version than their Cluster for sure: since the commit that brought the
/// Cluster's version, each commit holds them back. Of a pool whose annotation came later, git does not show what it runs.
pub(in crate::cli) fn find(
    fleet: &Understood,
    repository: Option<&Repository>,
) -> Result<PoolsBehind, Fault> {
    let mut found = PoolsBehind::new();
    let Some(repository) = repository else { return Ok(found) };
    let Some(head) = repository.head()? else { return Ok(found) };
    let candidate = |cluster: &Cluster| {
        let of_kind = |kind| {
            let pools = cluster.node_pools.iter().filter(move |pool| pool.kind == kind);
            held_back(pools, |pool: &NodePool, key| pool.annotations.get(key).is_some())
        };
        let pools = [PoolKind::MachineDeployment, PoolKind::MachinePool].into_iter().flat_map(of_kind);
        let pools = pools.map(|pool| pool.name.to_string()).collect();
        let held = Held { cluster: cluster.id(), pools, version: None, behind: BTreeMap::new() };
        let folder = render::folder_of_cluster(&cluster.id()).as_str().to_owned();
        (!held.pools.is_empty()).then_some((folder, held))
    };
    let mut held: BTreeMap<String, Held> = fleet.model.clusters.iter().filter_map(candidate).collect();
    let folders: Vec<String> = held.keys().cloned().collect();
    repository.visit_changes(&head, folders.iter().map(String::as_str).collect(), &mut |edit| {
        let Some(one) = held.get_mut(edit.folder()) else { return Ok(ControlFlow::Break(())) };
        one.look_at(edit)
    })?;
    let behind = held.into_values().filter(|one| !one.behind.is_empty());
    found.extend(behind.map(|one| (one.cluster, one.behind)));
    Ok(found)
}

/// A cluster with pools that are held back, on the way back through its history.
struct Held {
    cluster: ClusterId,
    /// Its pools that all commits so far hold back.
    pools: BTreeSet<String>,
    /// The version of its newest commit.
    version: Option<KubernetesVersion>,
    /// The pools that the upgrade to this version left behind, with the version that they stay on.
    behind: BTreeMap<String, String>,
}

impl Held {
    /// Looks at the next older change. The upgrade to the present version leaves behind those pools that were there before. An
    /// upgrade that was taken back later is passed over. If the Cluster had been on a later version before that upgrade, the
    /// pools may have reached it.
    fn look_at(&mut self, edit: &Edit<'_>) -> Result<ControlFlow<()>, Fault> {
        if !edit.paths().any(|path| path == render::CLUSTER_FILE) {
            return Ok(ControlFlow::Continue(()));
        }
        let (Some(before), Some(after)) = (read(edit, Side::Before)?, read(edit, Side::After)?) else {
            return Ok(ControlFlow::Break(()));
        };
        let held = pools_of(&after, true);
        self.pools.retain(|pool| held.contains(pool));
        let (Some(from), Some(to)) = (version_of(&before), version_of(&after)) else {
            self.behind.clear();
            return Ok(ControlFlow::Break(()));
        };
        let is_first = self.version.is_none();
        let is_present = *self.version.get_or_insert_with(|| to.clone()) == to;
        let is_unchecked = is_first && after.at(&["metadata", "annotations", UNSAFE_VERSION]).is_some();
        if is_unchecked || self.pools.is_empty() && self.behind.is_empty() {
            return Ok(ControlFlow::Break(()));
        }
        if from > to && !self.behind.is_empty() {
            self.behind.clear();
            return Ok(ControlFlow::Break(()));
        }
        let leaves = from < to && (is_present || !self.behind.is_empty());
        if leaves {
            // A pool that came with the upgrade has its version.
            let old = pools_of(&before, false);
            let left = self.pools.iter().filter(|pool| old.contains(*pool));
            self.behind.extend(left.map(|pool| (pool.clone(), format!("v{from}"))));
        }
        let is_over = leaves && (self.pools.is_empty() || self.behind.is_empty());
        Ok(if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}

/// The Cluster before or after a change; none if there is none.
fn read(edit: &Edit<'_>, side: Side) -> Result<Option<Node>, Fault> {
    let text = edit.file(side, render::CLUSTER_FILE)?;
    Ok(text.and_then(|text| yaml::read(&Source::new(FileId(0), "", text), &mut Notes::new())))
}

fn version_of(cluster: &Node) -> Option<KubernetesVersion> {
    let text = kubernetes_of(cluster)?;
    KubernetesVersion::parse(text.strip_prefix('v').unwrap_or(&text)).ok()
}

/// The names of a Cluster's pools: of all, or only of those that annotations hold back.
pub(in crate::cli) fn pools_of(cluster: &Node, only_held: bool) -> BTreeSet<String> {
    let workers = cluster.at(&["spec", "topology", "workers"]).and_then(Node::as_mapping);
    let mut found = BTreeSet::new();
    for list in workers.into_iter().flat_map(Mapping::iter) {
        let pools = list.value.as_sequence().into_iter().flatten();
        let has = |pool: &Node, key: &str| pool.at(&["metadata", "annotations", key]).is_some();
        let meant: Vec<&Node> = if only_held { held_back(pools, has).collect() } else { pools.collect() };
        found.extend(meant.iter().filter_map(|pool| pool.get("name")?.as_str()).map(str::to_owned));
    }
    found
}
