//! When a health check acts: with which numbers of unhealthy machines, and of how many.

use serde_json::Value;

use crate::role::TopologyPart;
use k8s_schema::value::{get, present, text};

/// Why another number of machines lets a check act where it did not before.
///
/// Sources: `isAllowedRemediation` of `core/reconcilers/machinehealthcheck/machinehealthcheck_controller.go`;
/// `core/reconcilers/machineset/machineset_deletion_order.go`, by which unhealthy machines go first; and
/// `controlplane/kubeadm/reconcilers/kubeadmcontrolplane/remediation.go`, which never replaces the only machine.
pub(super) fn resized(
    part: &TopologyPart,
    check: &Value,
    [before, after]: [&Value; 2],
) -> Option<&'static str> {
    let count = |own: &Value| present(own, &["spec", "replicas"]).and_then(Value::as_i64).unwrap_or(1);
    let (old, new) = (count(before), count(after));
    if *part == TopologyPart::ControlPlane && old == 1 && new > 1 {
        return Some("Cluster API never replaces the only machine of a control plane");
    }
    let (least, _, is_percentage) = acts_at(check)?;
    if 0 < old && old < new && is_percentage && least == 0 {
        return Some("its limit is a percentage, and the number of machines grows");
    }
    (0 < new && new < old).then_some("unhealthy machines are removed first, so fewer count against its limit")
}

/// The numbers of unhealthy machines at which a check acts: the least and the most, and whether they are percentages. None if
/// it always acts.
pub(super) fn acts_at(check: &Value) -> Option<(i64, i64, bool)> {
    let when = get(check, &["spec", "remediation", "triggerIf"])?;
    let range = text(when, &["unhealthyInRange"]);
    if let Some((least, most)) = range.trim_matches(['[', ']']).split_once('-') {
        return Some((least.parse().ok()?, most.parse().ok()?, false));
    }
    match present(when, &["unhealthyLessThanOrEqualTo"])? {
        Value::String(text) => text.strip_suffix('%')?.parse().ok().map(|most| (0, most, true)),
        value => value.as_i64().map(|most| (0, most, false)),
    }
    .filter(|acts| *acts != (0, 100, true))
}

pub(super) fn always(check: &Value) -> bool {
    acts_at(check).is_none()
}

/// Whether a check never acts, because it would only do so if no machine is unhealthy.
pub(super) fn is_never(check: &Value) -> bool {
    acts_at(check).is_some_and(|(_, most, _)| most == 0)
}

/// Whether a check acts only where another one does.
pub(super) fn is_within(new: &Value, old: &Value) -> bool {
    match (acts_at(new), acts_at(old)) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some((least, most, percent)), Some((old_least, old_most, old_percent))) => {
            most == 0 || percent == old_percent && least >= old_least && most <= old_most
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::role::PoolKind;

    #[test]
    fn another_number_of_machines_may_let_a_check_act() {
        let pool = TopologyPart::pool(PoolKind::MachineDeployment, "md-0");
        let own = |replicas: i64| json!({ "spec": { "replicas": replicas } });
        let check = |remediation: Value| json!({ "spec": { "remediation": remediation } });
        let percent = check(json!({ "triggerIf": { "unhealthyLessThanOrEqualTo": "40%" } }));
        let number = check(json!({ "triggerIf": { "unhealthyLessThanOrEqualTo": 2 } }));
        let range = check(json!({ "triggerIf": { "unhealthyInRange": "[1-2]" } }));
        let (all, none) =
            (check(json!({ "triggerIf": { "unhealthyLessThanOrEqualTo": "100%" } })), check(json!({})));
        for (part, check, old, new, expected) in [
            (&pool, &percent, 2, 5, true),
            (&pool, &percent, 5, 2, true),
            (&pool, &number, 2, 5, false),
            (&pool, &number, 5, 4, true),
            (&pool, &range, 2, 5, false),
            (&pool, &range, 5, 4, true),
            (&pool, &percent, 3, 3, false),
            (&pool, &percent, 3, 0, false),
            (&pool, &percent, 0, 3, false),
            (&pool, &all, 2, 5, false),
            (&pool, &all, 5, 2, false),
            (&pool, &none, 5, 2, false),
            (&TopologyPart::ControlPlane, &none, 1, 3, true),
            (&TopologyPart::ControlPlane, &none, 3, 1, false),
            (&TopologyPart::ControlPlane, &percent, 3, 5, true),
        ] {
            let found = resized(part, check, [&own(old), &own(new)]);
            assert_eq!(found.is_some(), expected, "{part} {check}: {old} to {new}");
        }
    }
}
