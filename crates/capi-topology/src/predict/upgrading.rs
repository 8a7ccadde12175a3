//! Parts with machines that have not reached their version yet. While there are any, the webhook refuses another version.
//!
//! Source: `internal/topology/check/upgrade.go`, and `reconcileTopologyReconciledCondition` of
//! `core/reconcilers/topology/cluster/status.go`, which names such parts in the message of the condition.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::observed::{self, Observed};
use crate::contract::DEPLOYMENT_NAME;
use crate::role::{Pool, PoolKind, TopologyPart};
use crate::state::{Desired, Worker};
use k8s_schema::value::{list, text};

/// Finds such parts in the best source available: the Machines, which the webhook checks, then the running objects, then
/// the live Cluster's condition.
pub(super) fn parts(running: &Desired, observed: &Observed) -> BTreeSet<TopologyPart> {
    let mut parts = BTreeSet::new();
    let upgrading = Upgrading::by(observed);
    let cluster = text(&running.cluster, &["metadata", "name"]);
    let kind = text(&running.control_plane, &["kind"]);
    let is_given = observed.objects.iter().any(|one| text(one, &["kind"]) == kind);
    if !is_given && upgrading.of_kind(kind) {
        parts.insert(TopologyPart::ControlPlane);
    }
    let late =
        |(pool, worker): &(Pool, &Arc<Worker>)| is_late(worker, pool.kind, cluster, observed, &upgrading);
    parts.extend(running.all_workers().filter(late).map(|(pool, _)| TopologyPart::Pool(pool)));
    parts
}

fn is_late(
    worker: &Worker,
    kind: PoolKind,
    cluster: &str,
    observed: &Observed,
    upgrading: &Upgrading<'_>,
) -> bool {
    let wanted = text(&worker.object, &["spec", "template", "spec", "version"]);
    let is_own = |one: &&Value| text(one, &["metadata", "labels", DEPLOYMENT_NAME]) == worker.name;
    let machines: Vec<&Value> = match kind {
        PoolKind::MachineDeployment => observed.machines.iter().filter(is_own).collect(),
        PoolKind::MachinePool => Vec::new(),
    };
    if !machines.is_empty() {
        return machines.iter().any(|one| lags(one, wanted));
    }
    let live = observed::worker(observed, kind, &worker.name);
    match live.map(|one| list(one, &["status", "versions"])) {
        Some(versions) if !versions.is_empty() => {
            versions.iter().any(|one| text(one, &["version"]) != wanted)
        }
        _ => {
            let name = live.map(|one| text(one, &["metadata", "name"]));
            upgrading.names(kind, name, &format!("{cluster}-{}-", worker.name))
        }
    }
}

/// Reports whether a Machine or its kubelet has another version than its deployment asks for.
fn lags(machine: &Value, wanted: &str) -> bool {
    let kubelet = text(machine, &["status", "nodeInfo", "kubeletVersion"]);
    text(machine, &["spec", "version"]) != wanted || !kubelet.is_empty() && kubelet != wanted
}

/// Parts that the live Cluster reports as changing their version.
struct Upgrading<'a> {
    /// Kinds, with the names that follow them.
    parts: Vec<(&'a str, Vec<&'a str>)>,
}

/// The texts that follow the names of such parts in the message.
const MARKS: [&str; 3] = [" upgrading to version ", " pending upgrade to version ", " upgrade to version "];

impl<'a> Upgrading<'a> {
    fn by(observed: &'a Observed) -> Self {
        let message = observed::unreconciled(observed).map_or("", |one| text(one, &["message"]));
        let part = |line: &'a str| {
            let line = line.trim_start().trim_start_matches("* ");
            let end = MARKS.iter().filter_map(|mark| line.find(mark)).min()?;
            let (kind, names) = line[..end].split_once(' ').unwrap_or((&line[..end], ""));
            Some((kind, names.split(", ").collect()))
        };
        Self { parts: message.lines().filter_map(part).collect() }
    }

    fn of_kind(&self, kind: &str) -> bool {
        self.parts.iter().any(|one| one.0 == kind)
    }

    /// Reports whether a pool is named, by the name of its object or, if that is unknown, by the name without its random
    /// suffix.
    fn names(&self, kind: PoolKind, name: Option<&str>, prefix: &str) -> bool {
        let is_it = |one: &&str| name.map_or_else(|| observed::is_named(one, prefix), |name| name == *one);
        let of_kind =
            self.parts.iter().filter(|one| one.0.strip_suffix('s').unwrap_or(one.0) == kind.as_str());
        of_kind.flat_map(|one| &one.1).any(is_it)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn observed(message: &str) -> Observed {
        let condition = json!({ "type": "TopologyReconciled", "status": "False", "observedGeneration": 3, "message": message });
        Observed { status: json!({ "conditions": [condition] }), generation: Some(3), ..Observed::default() }
    }

    #[test]
    fn the_condition_names_what_is_on_the_way_to_another_version() {
        let message = "Cluster is upgrading to v1.35.0\n  * KubeadmControlPlane upgrading to version v1.35.0 (v1.36.0 pending)\n  \
                       * MachineDeployments c-a-lgnnb, c-b-x-lgnnb pending upgrade to version v1.35.0\n  \
                       * MachineDeployment c-d-lgnnb upgrade to version v1.35.0 deferred using defer-upgrade or \
                       hold-upgrade-sequence annotations\n  \
                       * MachineDeployment e creation deferred while control plane upgrade is in progress\n  \
                       * MachinePool c-p-lgnnb upgrading to version v1.35.0";
        let observed = observed(message);
        let upgrading = Upgrading::by(&observed);
        assert!(upgrading.of_kind("KubeadmControlPlane") && !upgrading.of_kind("RKE2ControlPlane"));
        let known = [("c-a-", true), ("c-b-", false), ("c-b-x-", true), ("c-d-", true), ("e", false)];
        for (prefix, is_named) in known {
            assert_eq!(upgrading.names(PoolKind::MachineDeployment, None, prefix), is_named, "{prefix}");
        }
        assert!(upgrading.names(PoolKind::MachineDeployment, Some("c-a-lgnnb"), ""));
        assert!(!upgrading.names(PoolKind::MachineDeployment, Some("c-a-other"), "c-a-"));
        assert!(upgrading.names(PoolKind::MachinePool, None, "c-p-"));
        let older = Observed { generation: Some(4), ..observed.clone() };
        assert!(Upgrading::by(&older).parts.is_empty());
    }
}
