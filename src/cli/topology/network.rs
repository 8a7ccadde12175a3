//! Detects a changed cluster network. Cluster API accepts it, so no verdict mentions it.

use serde_json::Value as Json;

use crate::note::{Notes, Place};

/// The fields of a cluster network, with their names in messages.
const FIELDS: [(&str, &str); 4] = [
    ("pods/cidrBlocks", "the pod network"),
    ("services/cidrBlocks", "the service network"),
    ("serviceDomain", "the service domain"),
    ("apiServerPort", "the API server port"),
];

/// Warns about each part of the network that changes. With `merges`, a field that is no longer written keeps its value.
pub(super) fn note_changed(
    (before, after): (&Json, &Json),
    merges: bool,
    place: impl Fn(&str) -> Option<Place>,
    notes: &mut Notes,
) {
    for (field, what) in FIELDS {
        let network = |cluster: &Json| cluster.pointer(&format!("/spec/clusterNetwork/{field}")).cloned();
        let (old, new) = (network(before), network(after));
        if old == new || merges && new.is_none() {
            continue;
        }
        let shown = |value: Option<Json>| {
            value.map_or_else(|| "none".to_owned(), |value| value.to_string().replace('"', ""))
        };
        let path = format!("spec.clusterNetwork.{}", field.replace('/', "."));
        let message = format!("{what} would change from {} to {}", shown(old), shown(new));
        notes
            .warning("network-changed", place(&path), message)
            .hint("Cluster API accepts the change but does not apply it: nodes that join later differ from the existing ones")
            .hint("for another network, create a new cluster and move the workloads");
    }
}
