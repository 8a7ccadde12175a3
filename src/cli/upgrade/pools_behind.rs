//! Finds parts of clusters that an annotation has held back since the last upgrade.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
};

use crate::{
    compare::kubernetes_of,
    generate::Understood,
    io::git::{CommitEdit, Repository, Side},
    model::{AUTOSCALER_MIN, Cluster, ClusterId, KubernetesVersion, NodePool, PoolKind, Size},
    note::{Fault, Notes},
    render,
    topology::{self, PAUSED, TopologyPart, UNSAFE_VERSION, held_back},
    upgrade::PoolsBehind,
    yaml::{self, FileId, Node, Source, Value},
};

/// The parts of the fleet that run an older Kubernetes version than their Cluster for sure: since the commit that brought the
/// Cluster's version, each commit holds them back. Of a part whose annotation came later, git does not show what it runs.
pub(in crate::cli) fn find(
    fleet: &Understood,
    repository: Option<&Repository>,
) -> Result<PoolsBehind, Fault> {
    let mut found = PoolsBehind::new();
    let Some(repository) = repository else { return Ok(found) };
    let Some(head) = repository.head()? else { return Ok(found) };
    let candidate = |cluster: &Cluster| {
        let parts = held_parts(cluster);
        let held = Held { cluster: cluster.id(), parts, version: None, behind: BTreeMap::new() };
        let folder = render::folder_of_cluster(&cluster.id()).as_str().to_owned();
        (!held.parts.is_empty()).then_some((folder, held))
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

/// The parts of a defined cluster whose machines stay on their version.
fn held_parts(cluster: &Cluster) -> BTreeSet<TopologyPart> {
    let mut found = BTreeSet::new();
    for (kind, own) in [
        (PoolKind::MachineDeployment, topology::PoolKind::MachineDeployment),
        (PoolKind::MachinePool, topology::PoolKind::MachinePool),
    ] {
        let pools = cluster.node_pools.iter().filter(|pool| pool.kind == kind);
        let is_empty = |pool: &NodePool| match &pool.size {
            Size::Fixed(count) => is_zero(Some(count)),
            Size::Autoscaled { min, .. } => *min == 0,
            Size::Unset => false,
        };
        let has = |pool: &NodePool, key: &str| {
            pool.annotations.get(key).is_some() && !(key == PAUSED && is_empty(pool))
        };
        found.extend(held_back(pools, has).map(|pool| TopologyPart::pool(own, pool.name.as_str())));
    }
    if cluster.control_plane.annotations.get(PAUSED).is_some() {
        found.insert(TopologyPart::ControlPlane);
    }
    found
}

fn is_zero(count: Option<&Node>) -> bool {
    count.is_some_and(|count| matches!(count.value, Value::Int(0)))
}

/// A cluster with parts that are held back, on the way back through its history.
struct Held {
    cluster: ClusterId,
    /// Its parts that all commits so far hold back.
    parts: BTreeSet<TopologyPart>,
    /// The version of its newest commit.
    version: Option<KubernetesVersion>,
    /// The parts that the upgrade to this version left behind, with the version that they stay on.
    behind: BTreeMap<TopologyPart, String>,
}

impl Held {
    /// Looks at the next older change. The upgrade to the present version leaves behind those pools that were there before. An
    /// upgrade that was taken back later is passed over. If the Cluster had been on a later version before that upgrade, the
    /// pools may have reached it.
    fn look_at(&mut self, edit: &CommitEdit<'_>) -> Result<ControlFlow<()>, Fault> {
        if !edit.paths().any(|path| path == render::CLUSTER_FILE) {
            return Ok(ControlFlow::Continue(()));
        }
        let (Some(before), Some(after)) = (read(edit, Side::Before)?, read(edit, Side::After)?) else {
            return Ok(ControlFlow::Break(()));
        };
        let held = parts_of(&after, true);
        self.parts.retain(|part| held.contains(part));
        let (Some(from), Some(to)) = (version_of(&before), version_of(&after)) else {
            self.behind.clear();
            return Ok(ControlFlow::Break(()));
        };
        let is_first = self.version.is_none();
        let is_present = *self.version.get_or_insert_with(|| to.clone()) == to;
        let is_unchecked = is_first && after.at(&["metadata", "annotations", UNSAFE_VERSION]).is_some();
        if is_unchecked || self.parts.is_empty() && self.behind.is_empty() {
            return Ok(ControlFlow::Break(()));
        }
        if from > to && !self.behind.is_empty() {
            self.behind.clear();
            return Ok(ControlFlow::Break(()));
        }
        let leaves = from < to && (is_present || !self.behind.is_empty());
        if leaves {
            // A pool that came with the upgrade has its version.
            let old = parts_of(&before, false);
            let left = self.parts.iter().filter(|part| old.contains(*part));
            self.behind.extend(left.map(|part| (part.clone(), format!("v{from}"))));
        }
        let is_over = leaves && (self.parts.is_empty() || self.behind.is_empty());
        Ok(if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}

/// The Cluster before or after a change; none if there is none.
fn read(edit: &CommitEdit<'_>, side: Side) -> Result<Option<Node>, Fault> {
    let text = edit.file(side, render::CLUSTER_FILE)?;
    Ok(text.and_then(|text| yaml::read(&Source::new(FileId(0), "", text), &mut Notes::new())))
}

fn version_of(cluster: &Node) -> Option<KubernetesVersion> {
    let text = kubernetes_of(cluster)?;
    KubernetesVersion::parse(text.strip_prefix('v').unwrap_or(&text)).ok()
}

/// The control plane and the pools of a Cluster: all, or only those whose machines stay on their version.
pub(in crate::cli) fn parts_of(cluster: &Node, only_held: bool) -> BTreeSet<TopologyPart> {
    // An autoscaler may have left the pool without machines, which hold nothing back.
    let is_empty = |part: &Node| {
        let least = part.at(&["metadata", "annotations", AUTOSCALER_MIN]).and_then(Node::as_str);
        is_zero(part.get("replicas")) || least == Some("0")
    };
    let has = |part: &Node, key: &str| {
        part.at(&["metadata", "annotations", key]).is_some() && !(key == PAUSED && is_empty(part))
    };
    let mut found = BTreeSet::new();
    for kind in topology::PoolKind::ALL {
        let pools = cluster.at(&["spec", "topology", "workers", kind.list()]).and_then(Node::as_sequence);
        let pools = pools.into_iter().flatten();
        let meant: Vec<&Node> = if only_held { held_back(pools, has).collect() } else { pools.collect() };
        let names = meant.iter().filter_map(|pool| pool.get("name")?.as_str());
        found.extend(names.map(|name| TopologyPart::pool(kind, name)));
    }
    let control_plane = cluster.at(&["spec", "topology", "controlPlane"]);
    if !only_held || control_plane.is_some_and(|part| has(part, PAUSED)) {
        found.insert(TopologyPart::ControlPlane);
    }
    found
}
