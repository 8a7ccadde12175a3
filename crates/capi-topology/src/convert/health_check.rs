//! Health checks, which have the same form in a class and in a topology, and the related rollout settings.

use serde_json::{Value, json};

use super::fields::{Fields, seconds};
use k8s_schema::value::{present, text};

/// `machineHealthCheck` of a class or a topology.
pub(super) fn health_check(old: &Value) -> Result<Value, String> {
    Ok(Fields::of(old)
        .moved(&["enable"], &["enabled"])
        .each(&["unhealthyConditions"], &["checks", "unhealthyNodeConditions"], condition)?
        .each(&["unhealthyMachineConditions"], &["checks", "unhealthyMachineConditions"], condition)?
        .seconds(&["nodeStartupTimeout"], &["checks", "nodeStartupTimeoutSeconds"])?
        .moved(&["maxUnhealthy"], &["remediation", "triggerIf", "unhealthyLessThanOrEqualTo"])
        .moved(&["unhealthyRange"], &["remediation", "triggerIf", "unhealthyInRange"])
        .part(&["remediationTemplate"], &["remediation", "templateRef"], |old| {
            Ok(Fields::of(old).keep(&["apiVersion", "kind", "name"]).done())
        })?
        .done())
}

fn condition(old: &Value) -> Result<Value, String> {
    let timeout = present(old, &["timeout"]).map_or(Ok(json!(0)), seconds)?;
    Ok(Fields::of(old).keep(&["type", "status"]).put(&["timeoutSeconds"], Some(timeout)).done())
}

/// Converts `strategy` of a machine deployment, which the new version splits into three places.
pub(super) fn with_strategy<'a>(fields: Fields<'a>, old: &Value) -> Fields<'a> {
    let at = |path: &[&str]| present(old, path).cloned();
    let kind = text(old, &["strategy", "type"]);
    let update = ["rollout", "strategy", "rollingUpdate"];
    fields
        .put(&["rollout", "strategy", "type"], Some(json!(kind)))
        .put(&[&update[..], &["maxSurge"]].concat(), at(&["strategy", "rollingUpdate", "maxSurge"]))
        .put(
            &[&update[..], &["maxUnavailable"]].concat(),
            at(&["strategy", "rollingUpdate", "maxUnavailable"]),
        )
        .put(&["deletion", "order"], at(&["strategy", "rollingUpdate", "deletePolicy"]))
        .put(&["healthCheck", "remediation", "maxInFlight"], at(&["strategy", "remediation", "maxInFlight"]))
}
