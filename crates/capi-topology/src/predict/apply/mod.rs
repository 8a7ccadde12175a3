//! Server-side apply by one field manager, as a `GitOps` engine writes Clusters and the topology controller writes their
//! objects. Fields that the manager set before and no longer sets are removed; fields that others set stay. For this
//! reason, a value that Cluster API defaulted into a Cluster outlives the default.
//!
//! Values and field sets go through the same steps as in the API server, because nothing simpler gives the same result for
//! maps and lists that become empty: a map that loses its last key becomes `null`, and a keyed list is removed.
//!
//! Source: `sigs.k8s.io/structured-merge-diff`, `merge/update.go`, `Apply` and `prune`.

mod element;
mod fields;
mod merge;
mod remove;
mod types;

use serde_json::{Value, json};

use crate::schemas::source_schema_of;
use fields::Set;
use merge::merge;
use remove::without;
use types::Type;

/// Computes the live object after an apply. `previous` is what the same manager applied before; `others` holds the fields
/// that others own, too.
pub fn server_side_apply(live: &Value, previous: &Value, others: &Value, applied: &Value) -> Value {
    let kind = Type::Root(source_schema_of(applied));
    let mut result = merge(Some(live), Some(applied), kind).unwrap_or_else(|| applied.clone());
    let last = last_applied(previous, kind);
    if !last.is_empty() {
        let managed = Set::of(applied, kind).union(&Set::of(others, kind));
        result = pruned(&result, &last, &managed, kind);
    }
    read_metadata(&mut result);
    result
}

/// The fields applied before, without those that every apply names and no manager owns.
///
/// Source: `k8s.io/apimachinery`, `pkg/util/managedfields/internal/stripmeta.go`.
fn last_applied(previous: &Value, kind: Type<'_>) -> Set {
    let mut owned = previous.clone();
    if let Some(fields) = owned.as_object_mut() {
        fields.retain(|name, _| !matches!(name.as_str(), "apiVersion" | "kind"));
    }
    if let Some(metadata) = owned.get_mut("metadata").and_then(Value::as_object_mut) {
        let kept = ["labels", "annotations", "finalizers", "ownerReferences"];
        metadata.retain(|name, _| kept.contains(&name.as_str()));
    }
    Set::of(&owned, kind)
}

/// Removes fields that were applied before, unless they are applied again, have other owners, or contain fields without an owner.
fn pruned(merged: &Value, last: &Set, managed: &Set, kind: Type<'_>) -> Value {
    let last = last.with_named(kind);
    let all = Set::of(merged, kind).with_named(kind);
    let rest = Set::of(&without(merged, &last, kind), kind);
    let kept = rest.with_named(kind).union(&managed.with_named(kind));
    let rest = Set::of(&without(merged, &all.difference(&kept), kind), kind);
    without(merged, &all.difference(&rest.with_named(kind)).intersection(&last), kind)
}

/// Normalizes metadata, which the API server decodes into its own type: null fields are dropped, and null labels and
/// annotations become empty.
pub fn read_metadata(object: &mut Value) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    metadata.retain(|_, value| !value.is_null());
    for name in ["labels", "annotations"] {
        for value in
            metadata.get_mut(name).and_then(Value::as_object_mut).into_iter().flat_map(|all| all.values_mut())
        {
            if value.is_null() {
                *value = json!("");
            }
        }
    }
}

/// Reports whether the result of an apply may differ from the applied object even if only this manager set fields: `null`
/// and empty maps and lists are merged with the existing values.
pub(crate) fn has_empty(applied: &Value) -> bool {
    match applied {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty() || fields.values().any(has_empty),
        Value::Array(items) => items.is_empty() || items.iter().any(has_empty),
        _ => false,
    }
}
