//! Merges a live value and an applied one.
//!
//! Source: `sigs.k8s.io/structured-merge-diff`, `typed/merge.go`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::element::Element;
use super::types::{Fields, Identity, List, Type};

/// The merged value; none if nothing is left. The applied value determines the type.
pub(super) fn merge(live: Option<&Value>, applied: Option<&Value>, kind: Type<'_>) -> Option<Value> {
    let atom = kind.of(applied.or(live));
    match (&atom.map, &atom.list) {
        (Some(map), _) => merge_maps(live, applied, map),
        (None, Some(list)) if !atom.scalar => merge_lists(live, applied, list),
        _ => one_of(live, applied),
    }
}

/// For an atomic value, the applied one wins.
fn one_of(live: Option<&Value>, applied: Option<&Value>) -> Option<Value> {
    applied.or(live).cloned()
}

/// If neither has entries, `null` and `{}` stay as they are. If one has entries, they count as absent.
fn merge_maps(live: Option<&Value>, applied: Option<&Value>, map: &Fields<'_>) -> Option<Value> {
    let none = Map::new();
    let fields = |value: Option<&Value>| value.and_then(Value::as_object).cloned();
    let (old, new) = (fields(live).unwrap_or_default(), applied.and_then(Value::as_object).unwrap_or(&none));
    if map.atomic || old.is_empty() && new.is_empty() {
        return one_of(live, applied);
    }
    let mut all = Map::new();
    let added = new.iter().filter(|(name, _)| !old.contains_key(*name));
    for name in old.keys().chain(added.map(|(name, _)| name)) {
        if let Some(merged) = merge(old.get(name), new.get(name), map.of(name)) {
            all.insert(name.clone(), merged);
        }
    }
    (!all.is_empty()).then_some(Value::Object(all))
}

fn merge_lists(live: Option<&Value>, applied: Option<&Value>, list: &List<'_>) -> Option<Value> {
    let items = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
    let (old, new) = (items(live), items(applied));
    if list.identity == Identity::Atomic || old.is_empty() && new.is_empty() {
        return one_of(live, applied);
    }
    let index = |items: &[Value]| items.iter().map(|item| list.element_of(item)).collect::<Option<Vec<_>>>();
    let (Some(left), Some(right)) = (index(&old), index(&new)) else { return one_of(live, applied) };
    let merged = ListMerge::new((&old, &left), (&new, &right), list).all();
    (!merged.is_empty()).then_some(Value::Array(merged))
}

/// Merges two lists whose items have keys. Shared items take their order from the applied list; the others stay in front of
/// the next shared item.
///
/// Source: `typed/merge.go`, `visitListItems`.
struct ListMerge<'a> {
    old: &'a [Value],
    left: &'a [Element],
    right: &'a [Element],
    in_old: BTreeMap<&'a Element, &'a Value>,
    in_new: BTreeMap<&'a Element, &'a Value>,
    /// Items of both lists that are still to come, in the order of the applied list.
    shared: Vec<&'a Element>,
    taken: BTreeSet<&'a Element>,
    list: &'a List<'a>,
    merged: Vec<Value>,
}

/// Indexes items by their element. Duplicates become null, so they merge with nothing.
fn by_element<'a>(items: &'a [Value], elements: &'a [Element]) -> BTreeMap<&'a Element, &'a Value> {
    let mut all = BTreeMap::new();
    for (element, item) in elements.iter().zip(items) {
        all.entry(element).and_modify(|there| *there = &Value::Null).or_insert(item);
    }
    all
}

impl<'a> ListMerge<'a> {
    fn new(
        (old, left): (&'a [Value], &'a [Element]),
        (new, right): (&'a [Value], &'a [Element]),
        list: &'a List<'a>,
    ) -> Self {
        let (in_old, in_new) = (by_element(old, left), by_element(new, right));
        let shared = right.iter().rev().filter(|element| in_old.contains_key(element)).collect();
        Self { old, left, right, in_old, in_new, shared, taken: BTreeSet::new(), list, merged: Vec::new() }
    }

    fn take(&mut self, element: &'a Element, live: Option<&Value>) {
        let applied = self.in_new.get(element).copied();
        self.merged.extend(merge(live, applied, self.list.element));
    }

    fn take_applied(&mut self, element: &'a Element) {
        self.taken.insert(element);
        self.take(element, self.in_old.get(element).copied());
        if self.shared.last() == Some(&element) {
            self.shared.pop();
        }
    }

    fn all(mut self) -> Vec<Value> {
        let (left, right, old) = (self.left, self.right, self.old);
        let (mut at, mut next) = (0, 0);
        while at < left.len() || next < right.len() {
            if let (Some(own), Some(applied)) = (left.get(at), right.get(next)) {
                if own == applied {
                    self.take_applied(applied);
                    (at, next) = (at + 1, next + 1);
                    continue;
                }
                let awaited = self.shared.last();
                if self.in_new.contains_key(own) && awaited.is_some_and(|awaited| *awaited != own) {
                    at += 1;
                    continue;
                }
            }
            if let Some(own) = left.get(at) {
                if !self.in_new.contains_key(own) {
                    self.take(own, old.get(at));
                    at += 1;
                    continue;
                }
                at += usize::from(self.taken.contains(own));
            }
            if let Some(applied) = right.get(next) {
                self.take_applied(applied);
                next += 1;
            }
        }
        self.merged
    }
}
