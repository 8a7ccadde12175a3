//! Guards a Cluster that stays where it is and changes: its engine, its node pools, its networks, its version and its class.

use std::sync::Arc;

use super::{class_kinds::Classes, cluster_change, destination::standby_first, drawn::facts, network};
use crate::{
    compare::ClusterFacts,
    model::Engine,
    note::{About, Notes, Place},
    render::{is_on_standby, keeper},
    tree::{PartId, TreePath},
    yaml::Node,
};

/// A Cluster that changes, before and after.
pub(super) enum ChangedCluster<'a> {
    /// Its facts.
    Known([&'a ClusterFacts; 2]),
    /// Its texts.
    Written([Arc<str>; 2]),
}

/// Judges a Cluster that changes.
pub(super) fn judge_change(
    (path, part): (&TreePath, &PartId),
    cluster: &ChangedCluster<'_>,
    classes: &Classes,
) -> Notes {
    let mut notes = Notes::new();
    let read;
    let [old, new] = match cluster {
        ChangedCluster::Known(known) => {
            let [old, new] = known;
            judge_engine(path, part, [old.keeper, new.keeper], old.on_standby, &mut notes);
            known.map(Some)
        }
        ChangedCluster::Written([old, new]) => {
            judge_engine(path, part, [keeper(old), keeper(new)], is_on_standby(old), &mut notes);
            read = [facts(old), facts(new)];
            read.each_ref().map(Option::as_ref)
        }
    };
    judge_pools(path, part, (old, new), &mut notes);
    if let (Some(old), Some(new)) = (old, new) {
        network::judge(path, part, old, new, &mut notes);
        cluster_change::judge(path, part, old, new, classes.plan_upgrades(new), &mut notes);
        classes.judge((path, part), [old, new], &mut notes);
    }
    notes
}

/// Refuses to change the engine while both run: the old engine would prune what it no longer finds in its folders.
fn judge_engine(
    path: &TreePath,
    part: &PartId,
    keepers: [Option<Engine>; 2],
    was_on_standby: bool,
    notes: &mut Notes,
) {
    let PartId::Cluster { management, .. } = part else { return };
    let [Some(before), Some(after)] = keepers else { return };
    if before == after || was_on_standby {
        return;
    }
    notes
        .error(
            "engine-changed",
            Place::file(path.as_str()),
            format!(
                "the engine of `{management}` would change from {} to {} while {} runs: it would uninstall addons",
                before.as_str(),
                after.as_str(),
                before.as_str()
            ),
        )
        .about(About::Engine)
        .hint(standby_first(management))
        .hint("the steps are in docs/management-clusters.md, under \"Change the engine\"");
}

fn judge_pools(
    path: &TreePath,
    part: &PartId,
    (old, new): (Option<&ClusterFacts>, Option<&ClusterFacts>),
    notes: &mut Notes,
) {
    let PartId::Cluster { namespace, cluster, .. } = part else { return };
    let stays = |pool| new.is_some_and(|new| new.pools.contains_key(pool));
    for (key, pool) in old.iter().flat_map(|old| &old.pools) {
        let name = &key.name;
        let replicas = pool.get("replicas").and_then(Node::as_int);
        if replicas == Some(0) || stays(key) {
            continue;
        }
        let machines = match replicas {
            None => "its machines".to_owned(),
            Some(1) => "its machine".to_owned(),
            Some(count) => format!("its {count} machines"),
        };
        notes
            .error(
                "removal",
                Place::file(path.as_str()),
                format!("the node pool `{name}` of `{namespace}/{cluster}` would be deleted with {machines}, but its definition does not ask for that"),
            )
            .about(About::Pool(name.clone()))
            .hint(format!("restore it, and run `stackloom remove {cluster} --pool {name} --reason …`: the pool is removed in steps, machines first"))
            .hint("a new name, or a MachinePool instead of a MachineDeployment, makes a different pool: add the new pool first");
    }
}
