//! Values that a live Cluster has and a new one lacks: who set them decides whether they are removed.

use std::collections::BTreeSet;

use serde_json::Value;

use super::running::is_paused;
use crate::role::{PoolKind, TopologyPart};
use k8s_schema::value::{get, list, text};

/// The parts of a cluster with values that the live Cluster has and the new one lacks; the Cluster if any part may be
/// affected.
///
/// Lists are compared by the names of their items, as in server-side apply. Other lists and plain values count as single
/// values.
pub(super) fn dropped(live: &Value, new: &Value) -> BTreeSet<TopologyPart> {
    let mut parts = BTreeSet::new();
    let of = |side| get(side, &["spec", "topology"]).unwrap_or(&Value::Null);
    let (old, new_topology) = (of(live), of(new));
    let control_plane = |side| get(side, &["controlPlane"]).unwrap_or(&Value::Null);
    if is_less(control_plane(new_topology), control_plane(old)) {
        parts.insert(TopologyPart::ControlPlane);
    }
    for kind in PoolKind::ALL {
        let pools = list(new_topology, &["workers", kind.list()]);
        for pool in list(old, &["workers", kind.list()]) {
            let name = text(pool, &["name"]);
            let same = pools.iter().find(|one| text(one, &["name"]) == name);
            if same.is_none_or(|same| is_less(same, pool)) {
                parts.insert(TopologyPart::pool(kind, name));
            }
        }
    }
    let rest = |side: &Value| {
        let fields = side.as_object().into_iter().flatten();
        let own = fields.filter(|(name, _)| !matches!(name.as_str(), "controlPlane" | "workers"));
        Value::Object(own.map(|(name, value)| (name.clone(), value.clone())).collect())
    };
    if is_less(&rest(new_topology), &rest(old)) || is_paused(live) && !is_paused(new) {
        parts.insert(TopologyPart::Cluster);
    }
    parts
}

/// Reports whether one value lacks something that the other has.
fn is_less(one: &Value, than: &Value) -> bool {
    match (one, than) {
        (_, Value::Null) => false,
        (Value::Object(here), Value::Object(there)) => there
            .iter()
            .any(|(name, value)| here.get(name).map_or(!is_empty(value), |own| is_less(own, value))),
        (Value::Array(here), Value::Array(there)) => there.iter().any(|item| {
            let name = text(item, &["name"]);
            let same = here.iter().find(|own| text(own, &["name"]) == name);
            !name.is_empty() && same.is_none_or(|own| is_less(own, item))
        }),
        (Value::Null, _) => !is_empty(than),
        _ => false,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.values().all(is_empty),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cluster(topology: &Value) -> Value {
        json!({ "spec": { "topology": topology } })
    }

    fn found(live: &Value, new: &Value) -> Vec<String> {
        dropped(&cluster(live), &cluster(new)).iter().map(TopologyPart::to_string).collect()
    }

    #[test]
    fn another_value_or_order_lacks_nothing() {
        let live =
            json!({ "variables": [{ "name": "a", "value": 1 }, { "name": "b", "value": { "x": 1 } }] });
        let new = json!({ "variables": [{ "name": "b", "value": { "x": 2, "y": 1 } }, { "name": "a", "value": 2 }] });
        assert!(found(&live, &new).is_empty());
        assert_eq!(found(&new, &live), ["cluster"]);
    }

    #[test]
    fn missing_values_are_named_by_their_part() {
        let live = json!({
            "controlPlane": { "replicas": 3, "metadata": {} },
            "workers": { "machineDeployments": [
                { "name": "a", "class": "w", "failureDomain": "one" },
                { "name": "b", "class": "w", "variables": { "overrides": [{ "name": "v", "value": 1 }] } },
                { "name": "c", "class": "w" },
            ] },
        });
        let new = json!({
            "controlPlane": { "replicas": 3 },
            "workers": { "machineDeployments": [
                { "name": "a", "class": "w" },
                { "name": "b", "class": "w", "variables": { "overrides": [{ "name": "v", "value": 2 }] } },
            ] },
        });
        assert_eq!(found(&live, &new), ["md.a", "md.c"]);
        assert_eq!(found(&live, &json!({})), ["control-plane", "md.a", "md.b", "md.c"]);
    }
}
