//! Machines that a pool was let keep although they are outdated: its strategy was `OnDelete`, or it was paused. When that ends,
//! they are replaced without any change of what they are made from.
//!
//! Source: `core/reconcilers/machinedeployment/machinedeployment_controller.go` (`reconcile` by strategy; `EnsurePausedCondition`
//! comes before the status is written) and `machinedeployment_status.go` (`upToDateReplicas`, the condition `RollingOut`).

use serde_json::Value;

use super::observed::{self, Observed};
use super::rollout::{Replaced, Rollout, is_on_delete, surge};
use super::verdict::is_paused;
use crate::topology::desired::state::Desired;
use crate::topology::value::{get, list, text};

/// Counts what is outdated already to what is replaced, where nothing keeps it any more.
pub(super) fn released(
    rollouts: &mut [Rollout],
    before: &Desired,
    after: Option<&Desired>,
    observed: &Observed,
) {
    let Some(after) = after else { return };
    for rollout in rollouts.iter_mut().filter(|one| one.replaced == Replaced::No) {
        let Some(name) = rollout.role.strip_prefix("md.") else { continue };
        let find = |state: &Desired| {
            state.deployments.iter().find(|one| one.name == name).map(|one| one.object.clone())
        };
        let (Some(old), Some(new)) = (find(before), find(after)) else { continue };
        let Some(how) = ends(&old, &new) else { continue };
        match outdated(name, &old, text(&before.cluster, &["metadata", "name"]), observed) {
            Some(0) => {}
            Some(count) => {
                let replicas = |object: &Value| get(object, &["spec", "replicas"]).and_then(Value::as_i64);
                let (was, now) = (replicas(&old).unwrap_or(1), replicas(&new).unwrap_or(1));
                // What is scaled down may be what is outdated.
                let least = (count - (was - now).max(0)).max(0);
                rollout.some = Some((least, count.min(now)));
                rollout.surge = surge(&new, now);
                rollout.replaced = Replaced::Yes;
                rollout.reasons.push(format!(
                    "{how}: the machines that an earlier change made outdated ({count}) are replaced now"
                ));
            }
            None => {
                rollout.replaced = Replaced::Unknown;
                rollout.reasons.push(format!(
                    "{how}: machines that an earlier change made outdated are replaced now; whether there are any is not known (the \
                     status of its running MachineDeployment among --before tells it)"
                ));
            }
        }
    }
}

/// What kept outdated machines, and does so no more.
fn ends(old: &Value, new: &Value) -> Option<&'static str> {
    if is_paused(new) || is_on_delete(new) {
        return None;
    }
    if is_on_delete(old) {
        return Some("its strategy is not OnDelete any more");
    }
    is_paused(old).then_some("it is not paused any more")
}

/// How many machines of a pool are outdated, where that is known.
fn outdated(name: &str, old: &Value, cluster: &str, observed: &Observed) -> Option<i64> {
    match observed::deployment(observed, name) {
        Some(object) => of_status(object),
        // What a paused pool says is older than what it was asked for since.
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
    Some((all - current).max(0))
}

/// What the conditions of the live Cluster say of a pool, by the name of its `MachineDeployment` without the random part.
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
    let is_random = |rest: &str| rest.len() == 5 && rest.bytes().all(|one| one.is_ascii_alphanumeric());
    let is_own = |name: &str| name.strip_prefix(prefix).is_some_and(is_random);
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
    fn the_condition_of_the_cluster_tells_pools_apart() {
        let message = "* MachineDeployment c-a-lgnnb:\n  * Rolling out 2 not up-to-date replicas\n    * KubeadmConfig is \
                       not up-to-date\n* MachineDeployments c-b-x-lgnnb, c-d-lgnnb:\n  * Rolling out 1 not up-to-date replicas";
        let known =
            [("c-a-", Some(2)), ("c-b-", None), ("c-b-x-", Some(1)), ("c-d-", Some(1)), ("c-e-", None)];
        for (prefix, count) in known {
            assert_eq!(rolling_out(message, prefix), count, "{prefix}");
        }
    }
}
