//! Server-side apply of one field manager, as a `GitOps` engine writes Clusters: what it set
//! before and no longer sets is taken away, and what others set stays. That is why a value
//! that Cluster API defaulted into a Cluster outlives the default.
//!
//! Source: `sigs.k8s.io/structured-merge-diff`.

use serde_json::{Map, Value};

use crate::topology::schemas::source_schema;
use crate::topology::value::{get, list, text};

/// The live object after an apply. `previous` is what the same manager applied before, `others` what belongs to others, too.
pub fn server_side_apply(live: &Value, previous: &Value, others: &Value, applied: &Value) -> Value {
    let schema = source_schema(text(applied, &["kind"]));
    let mut merged = merge(live, applied, schema);
    prune(&mut merged, previous, others, applied, schema);
    merged
}

fn child<'a>(schema: Option<&'a Value>, name: &str) -> Option<&'a Value> {
    let schema = schema?;
    get(schema, &["properties", name])
        .or_else(|| schema.get("additionalProperties").filter(|inner| inner.is_object()))
}

/// The keys by which the items of a list are told apart; none for lists that are one value.
fn keys(schema: Option<&Value>) -> Option<Vec<&str>> {
    let schema = schema?;
    if text(schema, &["x-kubernetes-list-type"]) != "map" {
        return None;
    }
    let names = list(schema, &["x-kubernetes-list-map-keys"]);
    Some(names.iter().filter_map(Value::as_str).collect())
}

/// A map is merged by its keys unless its schema says otherwise: also where the schema says nothing of what is inside
/// (`x-kubernetes-preserve-unknown-fields`), as in the value of a variable. Lists in there are one value.
fn is_atomic(schema: Option<&Value>) -> bool {
    schema.is_some_and(|schema| text(schema, &["x-kubernetes-map-type"]) == "atomic")
}

fn merge(live: &Value, applied: &Value, schema: Option<&Value>) -> Value {
    match (live, applied) {
        (Value::Object(old), Value::Object(new)) if !is_atomic(schema) => {
            let mut all = old.clone();
            for (name, value) in new {
                let merged = match old.get(name) {
                    Some(before) => merge(before, value, child(schema, name)),
                    None => value.clone(),
                };
                all.insert(name.clone(), merged);
            }
            Value::Object(all)
        }
        (Value::Array(old), Value::Array(new)) => match keys(schema) {
            Some(keys) => merge_list(old, new, &keys, schema),
            None => applied.clone(),
        },
        _ => applied.clone(),
    }
}

fn key(item: &Value, keys: &[&str]) -> Vec<Value> {
    keys.iter().map(|key| item.get(*key).cloned().unwrap_or_default()).collect()
}

/// Items that both have stand where the applied list has them; the others keep their place before the next shared one.
///
/// Source: `typed/merge.go`, `visitListItems`.
fn merge_list(old: &[Value], new: &[Value], keys: &[&str], schema: Option<&Value>) -> Value {
    let inner = schema.and_then(|schema| schema.get("items"));
    let find =
        |items: &[Value], item: &Value| items.iter().find(|one| key(one, keys) == key(item, keys)).cloned();
    let is = |one: &Value, other: &Value| key(one, keys) == key(other, keys);
    let mut merged: Vec<Value> = Vec::new();
    let mut shared = new.iter().filter(|item| find(old, item).is_some()).peekable();
    let (mut left, mut right) = (old.iter().peekable(), new.iter().peekable());
    loop {
        if let Some(item) = left.peek() {
            let only_left = find(new, item).is_none();
            let is_next = right.peek().is_some_and(|next| is(next, item));
            let awaited = shared.peek().is_none_or(|next| is(next, item));
            let stepped_over = !is_next && right.peek().is_some() && !awaited;
            if only_left {
                merged.push((*item).clone());
            }
            if only_left || stepped_over || find(&merged, item).is_some() {
                left.next();
                continue;
            }
        }
        let Some(item) = right.next() else { break };
        if shared.peek().is_some_and(|next| is(next, item)) {
            shared.next();
        }
        merged.push(match find(old, item) {
            Some(before) => merge(&before, item, inner),
            None => item.clone(),
        });
    }
    Value::Array(merged)
}

/// Takes away what was applied before and is not applied any more, unless it belongs to others, too.
///
/// Source: `merge/update.go`, `prune` and `addBackDanglingItems`; `fieldpath/set.go`, `EnsureNamedFieldsAreMembers`.
fn prune(merged: &mut Value, previous: &Value, others: &Value, applied: &Value, schema: Option<&Value>) {
    match (merged, previous) {
        (Value::Object(all), Value::Object(before)) if !is_atomic(schema) => {
            let none = Value::Object(Map::new());
            for (name, value) in before {
                let inner = child(schema, name);
                let (now, shared) = (applied.get(name), others.get(name));
                let Some(kept) = all.get_mut(name) else { continue };
                prune(kept, value, shared.unwrap_or(&none), now.unwrap_or(&none), inner);
                // A field that the schema names goes with all that is in it, also with what belongs to nobody.
                let is_named = schema.is_some_and(|schema| get(schema, &["properties", name]).is_some());
                if now.is_none() && shared.is_none() && (is_named || is_spent(kept, value, inner)) {
                    all.shift_remove(name);
                }
            }
        }
        (Value::Array(items), Value::Array(before)) => {
            let Some(keys) = keys(schema) else { return };
            let inner = schema.and_then(|schema| schema.get("items"));
            let of = |value: &Value| value.as_array().cloned().unwrap_or_default();
            let (now, shared) = (of(applied), of(others));
            let find = |all: &[Value], item: &Value| {
                all.iter().find(|one| key(one, &keys) == key(item, &keys)).cloned()
            };
            items.retain_mut(|item| {
                let Some(before) = find(before, item) else { return true };
                let (now, shared) = (find(&now, item), find(&shared, item));
                if now.is_none() && shared.is_none() {
                    return false;
                }
                // An item that stays keeps its keys.
                let named = keys.iter().filter_map(|key| Some(((*key).to_owned(), item.get(*key)?.clone())));
                let now = now.unwrap_or_else(|| Value::Object(named.collect()));
                prune(item, &before, &shared.unwrap_or_default(), &now, inner);
                true
            });
        }
        _ => {}
    }
}

/// Whether nothing of a field is left that someone else set.
fn is_spent(kept: &Value, previous: &Value, schema: Option<&Value>) -> bool {
    match (kept, previous) {
        (Value::Object(all), Value::Object(_)) if !is_atomic(schema) => all.is_empty(),
        (Value::Array(items), Value::Array(_)) if keys(schema).is_some() => items.is_empty(),
        _ => true,
    }
}
