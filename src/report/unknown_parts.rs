//! Names the parts of clusters on which the effect of a change is not known.

use std::collections::BTreeMap;

use super::{
    change::{Effect, Subject},
    cluster::ClusterReport,
    risk::Risk,
};
use crate::topology::TopologyPart;

/// `1 control plane, 2 pools`; none if all is known.
pub(super) fn unknown_parts(found: &[&ClusterReport]) -> Option<String> {
    let changes = found.iter().flat_map(|one| &one.changes).filter(|change| change.risk == Risk::Unknown);
    let mut counts: BTreeMap<(u8, &str, &str), usize> = BTreeMap::new();
    for change in changes {
        let of = match (&change.subject, &change.effect) {
            (_, Effect::Resumed) => (0, "resumed", "resumed"),
            (Subject::Whole, Effect::Moved { .. }) => (1, "moved", "moved"),
            (Subject::Whole | Subject::Part(TopologyPart::Cluster), _) => (2, "as a whole", "as a whole"),
            (Subject::Part(TopologyPart::ControlPlane), _) => (3, "control plane", "control planes"),
            (Subject::Part(TopologyPart::Pool(_)), _) => (4, "pool", "pools"),
            (Subject::Part(TopologyPart::Infrastructure), _) => (5, "infrastructure", "infrastructures"),
            (Subject::Cluster, Effect::Ignored) => (6, "cluster network", "cluster networks"),
            (Subject::Cluster, _) => (7, "Cluster object", "Cluster objects"),
            (Subject::Addon(_), _) => (8, "addon", "addons"),
            (Subject::Object(..), _) => (9, "object", "objects"),
        };
        *counts.entry(of).or_default() += 1;
    }
    let words = |((_, one, many), count): ((u8, &str, &str), usize)| {
        format!("{count} {}", if count == 1 { one } else { many })
    };
    let words: Vec<String> = counts.into_iter().map(words).collect();
    (!words.is_empty()).then(|| words.join(", "))
}
