//! Outdated machines that a pool or control plane was allowed to keep because its strategy was `OnDelete` or it was paused.
//! When that ends, they are replaced, even if their templates do not change.
//!
//! Source: `core/reconcilers/machinedeployment/machinedeployment_controller.go` (`reconcile` by strategy; `EnsurePausedCondition`
//! comes before the status is written) and `machinedeployment_status.go` (`upToDateReplicas`, the condition `RollingOut`);
//! `controlplane/kubeadm/reconcilers/kubeadmcontrolplane/kubeadmcontrolplane_controller.go` and `status.go` there do the same.

use serde_json::Value;

use super::machine_rollouts::{MachineRollout, Replaced, is_on_delete, surge};
use crate::contract::Contract;
use crate::predict::observed::{self, Observed};
use crate::predict::reason::{Keeper, Reason};
use crate::predict::running::is_paused;
use crate::role::{Pool, PoolKind, TopologyPart};
use crate::state::Desired;
use crate::upgrade::version::Version;
use k8s_schema::value::{get, list, text};

/// Adds machines that were already outdated to the replaced ones, if nothing keeps them any more.
pub(in crate::predict) fn released(
    rollouts: &mut [MachineRollout],
    before: &Desired,
    after: Option<&Desired>,
    observed: &Observed,
) {
    let Some(after) = after else { return };
    for rollout in rollouts {
        let name = match &rollout.part {
            TopologyPart::ControlPlane => {
                of_control_plane(rollout, &before.control_plane, &after.control_plane, observed);
                continue;
            }
            TopologyPart::Pool(Pool { kind: PoolKind::MachineDeployment, name }) => name,
            _ => continue,
        };
        let own = |state: &Desired| state.own(&rollout.part).cloned();
        let (Some(old), Some(new)) = (own(before), own(after)) else { continue };
        let live = observed::deployment(observed, name);
        if rollout.replaced != Replaced::No {
            taken_back(rollout, (&old, &new), live);
            continue;
        }
        let Some(keeper) = released_by(&old, &new) else { continue };
        match outdated(name, &old, text(&before.cluster, &["metadata", "name"]), observed) {
            Some(0) => {}
            Some(count) => {
                replace(rollout, (&old, &new), count, keeper);
                rollout.surge = surge(&new, replicas(&new));
            }
            None => {
                rollout.replaced = Replaced::Unknown;
                rollout.reasons.push(not_known(keeper, "MachineDeployment", live));
            }
        }
    }
}

/// Handles a change that may revert a rollout in progress. A failure domain is stored in the pool alone: if it is set back,
/// the machines that have not been replaced yet are up to date again. A regenerated template, in contrast, always has a new
/// name.
///
/// Source: `core/reconcilers/machinedeployment/mdutil/util.go`, `FindNewAndOldMachineSets`.
fn taken_back(rollout: &mut MachineRollout, (old, new): (&Value, &Value), live: Option<&Value>) {
    let only = rollout.reasons.iter().all(|one| matches!(one, Reason::FailureDomain { .. }));
    let left = live.and_then(of_status).unwrap_or(0);
    if only && left > 0 {
        rollout.some = Some((0, replicas(old).min(replicas(new))));
        rollout.reasons.push(Reason::MayRevert { left });
    }
}

/// Handles a control plane that was itself paused. Machines older than its own version are outdated, even if its status is
/// stale.
fn of_control_plane(rollout: &mut MachineRollout, old: &Value, new: &Value, observed: &Observed) {
    let is_whole = rollout.replaced != Replaced::No && rollout.some.is_none();
    if !is_paused(old) || is_paused(new) || is_whole {
        return;
    }
    let kind = text(old, &["kind"]);
    if kind != "KubeadmControlPlane" {
        rollout.replaced = Replaced::Unknown;
        rollout.reasons.push(Reason::ChangesWhilePaused { kind: kind.to_owned() });
        return;
    }
    let live = observed.objects.iter().find(|one| text(one, &["kind"]) == kind);
    let (count, lag) = live.map_or((None, None), |live| (of_status(live), lag(live)));
    match (count, lag) {
        (Some(0), None) => {}
        (Some(count), None) => {
            let (least, most) = rollout.some.unwrap_or((0, 0));
            replace(rollout, (old, new), count, Keeper::Pause);
            let both =
                |(fewest, all): (i64, i64)| (fewest.max(least), all.saturating_add(most).min(replicas(new)));
            rollout.some = rollout.some.map(both);
        }
        (_, Some((count, from))) => {
            let to = text(new, Contract::VERSION).to_owned();
            replace(rollout, (old, new), count, Keeper::Pause);
            rollout.reasons.push(Reason::Version { from: from.clone(), to });
            rollout.from = Some(from);
        }
        _ => {
            rollout.replaced = Replaced::Unknown;
            rollout.reasons.push(not_known(Keeper::Pause, kind, live));
        }
    }
}

/// Counts the machines of a control plane that are older than its own version, and names the first such version.
fn lag(control_plane: &Value) -> Option<(i64, String)> {
    let wanted = Version::tolerant(text(control_plane, Contract::VERSION))?;
    let is_late = |one: &&Value| {
        Version::tolerant(text(one, &["version"])).is_some_and(|version| wanted.exceeds(&version))
    };
    let late: Vec<&Value> = list(control_plane, &["status", "versions"]).iter().filter(is_late).collect();
    let count = |one: &&Value| get(one, &["replicas"]).and_then(Value::as_i64).unwrap_or(1);
    let first = late.first().map(|one| text(one, &["version"]).to_owned())?;
    Some((late.iter().map(count).fold(0, i64::saturating_add), first))
}

fn replicas(object: &Value) -> i64 {
    get(object, &["spec", "replicas"]).and_then(Value::as_i64).unwrap_or(1)
}

fn replace(rollout: &mut MachineRollout, (old, new): (&Value, &Value), count: i64, keeper: Keeper) {
    let (was, now) = (replicas(old), replicas(new));
    // Scaling down may remove outdated machines.
    let least = count.saturating_sub(was.saturating_sub(now).max(0)).max(0);
    let most = count.min(now);
    rollout.some = Some((least.min(most), most));
    rollout.replaced = Replaced::Yes;
    rollout.reasons.push(Reason::Released { keeper, count });
}

fn not_known(keeper: Keeper, kind: &str, live: Option<&Value>) -> Reason {
    Reason::PerhapsReleased { keeper, kind: kind.to_owned(), is_late: live.is_some() }
}

/// What kept outdated machines before and no longer does.
fn released_by(old: &Value, new: &Value) -> Option<Keeper> {
    if is_paused(new) || is_on_delete(new) {
        return None;
    }
    if is_on_delete(old) {
        return Some(Keeper::OnDelete);
    }
    is_paused(old).then_some(Keeper::Pause)
}

/// The number of outdated machines of a pool, if known.
fn outdated(name: &str, old: &Value, cluster: &str, observed: &Observed) -> Option<i64> {
    match observed::deployment(observed, name) {
        Some(object) => of_status(object),
        // A paused pool does not update its status, so the conditions are older than its current spec.
        None if is_paused(old) => None,
        None => of_cluster(&format!("{cluster}-{name}-"), observed),
    }
}

fn of_status(object: &Value) -> Option<i64> {
    let number = |path: &[&str]| get(object, path).and_then(Value::as_i64);
    let is_late = number(&["status", "observedGeneration"]) < number(&["metadata", "generation"]);
    let all = number(&["status", "replicas"]).filter(|_| !is_late)?;
    let current = number(&["status", "upToDateReplicas"])
        .or_else(|| number(&["status", "v1beta2", "upToDateReplicas"]))
        .or_else(|| number(&["status", "updatedReplicas"]))?;
    Some(all.saturating_sub(current).max(0))
}

/// Reads a pool's outdated machines from the conditions of the live Cluster. `prefix` is the name of its
/// `MachineDeployment` without the random suffix.
fn of_cluster(prefix: &str, observed: &Observed) -> Option<i64> {
    let status = &observed.status;
    let mut conditions = list(status, &["conditions"]).iter().chain(list(status, &["v1beta2", "conditions"]));
    let rolling = conditions.find(|one| text(one, &["type"]) == "RollingOut")?;
    let seen = get(rolling, &["observedGeneration"]).and_then(Value::as_i64);
    if seen < observed.generation {
        return None;
    }
    if text(rolling, &["status"]) == "False" {
        return Some(0);
    }
    rolling_out(text(rolling, &["message"]), prefix)
}

fn rolling_out(message: &str, prefix: &str) -> Option<i64> {
    let is_own = |name: &str| observed::is_named(name, prefix);
    let mut own = false;
    for line in message.lines().map(|line| line.trim_start().trim_start_matches("* ")) {
        let names =
            line.strip_prefix("MachineDeployments ").or_else(|| line.strip_prefix("MachineDeployment "));
        if let Some(names) = names {
            own = names.trim_end_matches(':').split(", ").any(is_own);
        } else if let (true, Some(count)) = (own, line.strip_prefix("Rolling out ")) {
            return count.split(' ').next()?.parse().ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_condition_of_the_cluster_distinguishes_pools() {
        let message = "* MachineDeployment c-a-lgnnb:\n  * Rolling out 2 not up-to-date replicas\n    * KubeadmConfig is \
                       not up-to-date\n* MachineDeployments c-b-x-lgnnb, c-d-lgnnb:\n  * Rolling out 1 not up-to-date replicas";
        let known =
            [("c-a-", Some(2)), ("c-b-", None), ("c-b-x-", Some(1)), ("c-d-", Some(1)), ("c-e-", None)];
        for (prefix, count) in known {
            assert_eq!(rolling_out(message, prefix), count, "{prefix}");
        }
    }
}
