//! Clusters that are deleted or built as a whole while they, or parts of them, are paused: Cluster API does not act on what is
//! paused.
//!
//! Sources, Cluster API: `EnsurePausedCondition` of `util/paused/paused.go` (a paused object keeps its finalizer);
//! `reconcileDelete` of `core/reconcilers/cluster/cluster_controller.go` (the control plane is deleted after the pools).

use super::change::{Change, Effect, Leaving, Machines};
use crate::{
    compare::{ClusterChange, ClusterFacts},
    topology::TopologyPart,
};

/// Adds to the deletion or creation of a cluster what is paused, and that its machines may stay or are not built.
pub(super) fn hold(changes: &mut [Change], found: &ClusterChange) {
    for change in changes {
        match (&change.effect, &found.before, &found.after) {
            (Effect::Gone(Leaving::Announced | Leaving::Unannounced), Some(before), _) => {
                hold_deletion(change, before);
            }
            (Effect::Created, _, Some(after)) if !after.paused => hold_creation(change, after),
            (Effect::Moved { paused: false, .. }, _, Some(after)) => hold_creation(change, after),
            _ => {}
        }
    }
}

fn hold_deletion(change: &mut Change, facts: &ClusterFacts) {
    if facts.paused {
        keep(change, |_| true);
        change.reasons.push(
            "the Cluster is paused: it keeps its machines until someone resumes it in the management cluster, and only then it is deleted"
                .to_owned(),
        );
        return;
    }
    let Some(paused) = paused_parts(facts) else { return };
    keep(change, |part| facts.pauses(part) || *part == TopologyPart::ControlPlane);
    change.reasons.push(format!(
        "paused by an annotation: {paused}; the deletion stops there, with the control plane running, until someone removes the annotation \
         from the object in the management cluster"
    ));
}

fn hold_creation(change: &mut Change, facts: &ClusterFacts) {
    let Some(paused) = paused_parts(facts) else { return };
    // Workers join a control plane that runs.
    let none_joins = facts.pauses(&TopologyPart::ControlPlane);
    keep(change, |part| none_joins || facts.pauses(part));
    let waiting = if none_joins { "no machine of the cluster" } else { "no machine of it" };
    change
        .reasons
        .push(format!("paused by an annotation: {paused}; {waiting} is created until it is unpaused"));
}

/// The paused parts in words, if there are any.
fn paused_parts(facts: &ClusterFacts) -> Option<String> {
    let paused: Vec<String> =
        facts.parts().filter(|part| facts.pauses(part)).map(|part| part.in_words()).collect();
    (!paused.is_empty()).then(|| paused.join(", "))
}

/// Takes into account that the machines of some parts stay, or are not built.
fn keep(change: &mut Change, is_kept: impl Fn(&TopologyPart) -> bool) {
    for (part, count) in &mut change.parts {
        *count = count.unless_kept(is_kept(part));
    }
    let all = change.parts.iter().map(|(_, count)| *count).fold(Machines::default(), Machines::and);
    for count in [&mut change.machines, &mut change.built] {
        if *count != Machines::default() {
            *count = all;
        }
    }
}
