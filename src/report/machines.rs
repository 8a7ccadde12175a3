//! Counts the machines that a change replaces, removes or builds.

use super::change::Machines;
use crate::{
    compare::Facts,
    topology::{Meaning, Part, Pool, Verdict},
    yaml::Node,
};

/// The number of machines that verdicts on the parts of a cluster replace or remove.
pub fn replaced(verdicts: &[Verdict], before: Option<&Facts>) -> Machines {
    let each = verdicts.iter().map(|one| machines(&one.subject, &one.meaning, before).0);
    each.fold(Machines::default(), Machines::and)
}

/// The number of machines that a part loses or replaces, and the number of additional machines in the meantime.
pub(super) fn machines(part: &Part, meaning: &Meaning, before: Option<&Facts>) -> (Machines, Option<i64>) {
    match meaning {
        Meaning::Rollout { machines, least, surge, on_delete, .. } => {
            // No file contains the number of machines that an autoscaler sets.
            let counted = Machines { least: *least, most: *machines, more: count(part, before).is_none() };
            (counted.unless_kept(*on_delete), surge.map(|(more, _)| more))
        }
        Meaning::Upgrade { times, surge, on_delete, .. } => {
            let times = i64::try_from(*times).unwrap_or(i64::MAX).max(1);
            let count = count(part, before).map(|count| count.saturating_mul(times));
            (Machines::exactly(count).unless_kept(*on_delete), surge.map(|(more, _)| more))
        }
        Meaning::Scale { from, to } if to < from => (Machines::exactly(Some(from - to)), Some(0)),
        Meaning::Delete => (Machines::exactly(count(part, before)), Some(0)),
        Meaning::ProviderDependent | Meaning::Opaque => (Machines::default(), None),
        _ => (Machines::default(), Some(0)),
    }
}

/// How many machines of a part may be missing while it rolls out.
pub(super) fn unavailable(meaning: &Meaning) -> i64 {
    match meaning {
        Meaning::Rollout { surge: Some((_, fewer)), .. }
        | Meaning::Upgrade { surge: Some((_, fewer)), .. } => *fewer,
        _ => 0,
    }
}

/// The number of machines of a part according to its Cluster; none if the Cluster does not set it.
pub(super) fn count(part: &Part, before: Option<&Facts>) -> Option<i64> {
    match part {
        Part::ControlPlane => before?.control_plane,
        Part::Pool(Pool { kind, name }) => {
            let pool = before?.pools.get(&(kind.list().to_owned(), name.clone()))?;
            pool.get("replicas").and_then(Node::as_int)
        }
        Part::Cluster | Part::Infrastructure => None,
    }
}

/// The number of machines of a cluster.
pub(super) fn all_machines(cluster: Option<&Facts>) -> Machines {
    let Some(cluster) = cluster else { return Machines::exactly(None) };
    let pools = cluster.pools.values().map(|pool| pool.get("replicas").and_then(Node::as_int));
    pools.chain([cluster.control_plane]).map(Machines::exactly).fold(Machines::default(), Machines::and)
}
