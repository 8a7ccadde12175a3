//! Client-side apply, as `kubectl apply` and Argo CD write Clusters: a merge patch computed from the last applied file, the
//! new file and the live object. Lists that differ are replaced as a whole, so values that Cluster API or others added to
//! them are lost.
//!
//! Source: `k8s.io/kubectl`, `pkg/cmd/apply/patcher.go`, `buildMergePatch` (for kinds without a Go type in kubectl), and
//! `k8s.io/apimachinery`, `pkg/util/jsonmergepatch`, `CreateThreeWayJSONMergePatch`.

use serde_json::{Map, Value};

/// Computes the live object after an apply. `previous` is the file that was applied before, as recorded in the annotation.
pub(super) fn client_side_apply(live: &Value, previous: &Value, applied: &Value) -> Value {
    let applied = without_nulls(applied);
    let mut merged = live.clone();
    if let (Some(merged), Some(previous), Some(applied)) =
        (merged.as_object_mut(), previous.as_object(), applied.as_object())
    {
        take_away(merged, previous, applied);
    }
    add(&mut merged, &applied);
    merged
}

/// Removes nulls: in a merge patch, `null` can only delete a field, and has no effect on one that never existed.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(name, value)| (name.clone(), without_nulls(value))).collect())
        }
        other => other.clone(),
    }
}

/// Removes fields that were applied before and are not applied any more.
fn take_away(live: &mut Map<String, Value>, previous: &Map<String, Value>, applied: &Map<String, Value>) {
    for (name, before) in previous {
        match (before, applied.get(name), live.get_mut(name)) {
            (_, None, _) => {
                live.shift_remove(name);
            }
            (Value::Object(before), Some(Value::Object(now)), Some(Value::Object(live))) => {
                take_away(live, before, now);
            }
            _ => {}
        }
    }
}

fn add(live: &mut Value, applied: &Value) {
    match (live, applied) {
        (Value::Object(live), Value::Object(applied)) => {
            for (name, value) in applied {
                match live.get_mut(name) {
                    Some(own) => add(own, value),
                    None => {
                        live.insert(name.clone(), value.clone());
                    }
                }
            }
        }
        (live, applied) => *live = applied.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn maps_are_merged_and_lists_replaced() {
        let live = json!({ "labels": { "ours": "", "theirs": "" }, "list": [{ "name": "a", "filled": 1 }, { "name": "b" }], "kept": 1 });
        let file = json!({ "labels": { "ours": "" }, "list": [{ "name": "a" }] });
        let expected =
            json!({ "labels": { "ours": "", "theirs": "" }, "list": [{ "name": "a" }], "kept": 1 });
        assert_eq!(client_side_apply(&live, &file, &file), expected);
        assert_eq!(client_side_apply(&live, &Value::Null, &file), expected);
    }

    #[test]
    fn only_what_was_applied_before_is_taken_away() {
        let live = json!({ "spec": { "a": 1, "b": [1], "c": { "x": 1, "y": 2 } } });
        let before = json!({ "spec": { "b": [1], "c": { "x": 1 } } });
        let expected = json!({ "spec": { "a": 1, "c": { "y": 2 } } });
        assert_eq!(client_side_apply(&live, &before, &json!({ "spec": { "c": {} } })), expected);
        let null = json!({ "spec": { "a": null, "b": null, "c": {} } });
        assert_eq!(client_side_apply(&live, &before, &null), expected);
    }
}
