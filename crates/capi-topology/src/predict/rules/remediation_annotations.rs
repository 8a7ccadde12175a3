//! Annotations with which machines ask a health check to replace them, or to leave them alone. Cluster API passes annotations
//! of a part on to its running machines, so they take effect without a rollout.
//!
//! Source: `needsRemediation` and `shouldSkipRemediation` of `core/reconcilers/machinehealthcheck/machinehealthcheck_targets.go`.

use crate::role::TopologyPart;
use crate::state::Desired;
use k8s_schema::value::get;

/// A machine with it is unhealthy at once. New machines of the part have it, too.
const REPLACE: &str = "cluster.x-k8s.io/remediate-machine";
/// No health check counts a machine with one of these.
const LEAVE_ALONE: [&str; 2] = ["cluster.x-k8s.io/skip-remediation", "cluster.x-k8s.io/paused"];

/// The machines that the annotations make unhealthy, in words.
pub(super) const ASKED: &str = "with the annotation cluster.x-k8s.io/remediate-machine";
/// Why machines count that did not before, in words.
pub(super) const NO_LONGER_LEFT_ALONE: &str = "they lose an annotation that kept health checks away";

/// Whether the machines of a part ask to be replaced.
pub(super) fn ask_for_replacement(part: &TopologyPart, state: &Desired) -> bool {
    machines_have(part, state, REPLACE) && !are_left_alone(part, state)
}

/// Whether health checks leave the machines of a part alone.
pub(super) fn are_left_alone(part: &TopologyPart, state: &Desired) -> bool {
    LEAVE_ALONE.iter().any(|annotation| machines_have(part, state, annotation))
}

fn machines_have(part: &TopologyPart, state: &Desired, annotation: &str) -> bool {
    let template = match part {
        TopologyPart::ControlPlane => "machineTemplate",
        TopologyPart::Pool(_) => "template",
        TopologyPart::Cluster | TopologyPart::Infrastructure => return false,
    };
    let annotations = |own| get(own, &["spec", template, "metadata", "annotations"]);
    state.own(part).and_then(annotations).is_some_and(|all| all.get(annotation).is_some())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_machine_that_is_left_alone_is_not_replaced() {
        let state = |annotations: &[&str]| {
            let annotations: serde_json::Map<_, _> =
                annotations.iter().map(|name| ((*name).to_owned(), json!(""))).collect();
            let control_plane =
                json!({ "spec": { "machineTemplate": { "metadata": { "annotations": annotations } } } });
            Desired { control_plane: control_plane.into(), ..Desired::default() }
        };
        let asks = |state: &Desired| ask_for_replacement(&TopologyPart::ControlPlane, state);
        assert!(asks(&state(&[REPLACE])));
        assert!(!asks(&state(&[])));
        assert!(!asks(&state(&[REPLACE, LEAVE_ALONE[0]])));
        assert!(!asks(&state(&[REPLACE, LEAVE_ALONE[1]])));
        assert!(are_left_alone(&TopologyPart::ControlPlane, &state(&[LEAVE_ALONE[1]])));
    }
}
