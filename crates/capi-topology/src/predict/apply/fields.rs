//! Sets of fields, which describe what a manager owns.
//!
//! Source: `sigs.k8s.io/structured-merge-diff`, `fieldpath/set.go` and `typed/tofieldset.go`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::element::Element;
use super::types::{Fields, Identity, List, Type};

/// A set of paths, stored as a tree. A path may be in the set although its parent is not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Set {
    members: BTreeSet<Element>,
    children: BTreeMap<Element, Self>,
}

impl Set {
    /// The fields that a value mentions.
    pub(super) fn of(value: &Value, kind: Type<'_>) -> Self {
        visit(value, kind).0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.values().all(Self::is_empty)
    }

    pub(super) fn has(&self, element: &Element) -> bool {
        self.members.contains(element)
    }

    /// The part of the set below an element, if there is any.
    pub(super) fn below(&self, element: &Element) -> Option<&Self> {
        self.children.get(element).filter(|below| !below.is_empty())
    }

    pub(super) fn union(&self, other: &Self) -> Self {
        let mut all = self.clone();
        all.members.extend(other.members.iter().cloned());
        for (element, theirs) in &other.children {
            let own = all.children.entry(element.clone()).or_default();
            *own = own.union(theirs);
        }
        all
    }

    pub(super) fn difference(&self, other: &Self) -> Self {
        let children = self.children.iter().filter_map(|(element, own)| {
            let Some(theirs) = other.children.get(element) else {
                return Some((element.clone(), own.clone()));
            };
            let left = own.difference(theirs);
            (!left.is_empty()).then(|| (element.clone(), left))
        });
        Self {
            members: self.members.difference(&other.members).cloned().collect(),
            children: children.collect(),
        }
    }

    pub(super) fn intersection(&self, other: &Self) -> Self {
        let children = self.children.iter().filter_map(|(element, own)| {
            let both = own.intersection(other.children.get(element)?);
            (!both.is_empty()).then(|| (element.clone(), both))
        });
        Self {
            members: self.members.intersection(&other.members).cloned().collect(),
            children: children.collect(),
        }
    }

    /// Adds the named fields that contain members; other sets do not list them.
    pub(super) fn with_named(&self, kind: Type<'_>) -> Self {
        let mut members = self.members.clone();
        for element in self.children.keys() {
            if matches!(element, Element::Field(name) if kind.names(name)) {
                members.insert(element.clone());
            }
        }
        let named =
            |(element, below): (&Element, &Self)| (element.clone(), below.with_named(kind.inner(element)));
        Self { members, children: self.children.iter().map(named).collect() }
    }

    fn add(&mut self, element: Element, below: Self, is_member: bool) {
        if !below.is_empty() {
            self.children.insert(element.clone(), below);
        }
        if is_member {
            self.members.insert(element);
        }
    }
}

/// The fields within a value, and whether the value is itself a field.
fn visit(value: &Value, kind: Type<'_>) -> (Set, bool) {
    let atom = kind.of(Some(value));
    if let Some(map) = &atom.map {
        return match value.as_object() {
            _ if map.atomic => (Set::default(), true),
            Some(fields) => (fields_of(fields, map), false),
            None => (Set::default(), false),
        };
    }
    if atom.scalar {
        return (Set::default(), true);
    }
    match (&atom.list, value.as_array()) {
        (Some(List { identity: Identity::Atomic, .. }), _) => (Set::default(), true),
        (Some(list), Some(items)) => (items_of(items, list), false),
        _ => (Set::default(), false),
    }
}

fn fields_of(fields: &Map<String, Value>, map: &Fields<'_>) -> Set {
    let mut set = Set::default();
    for (name, value) in fields {
        let (below, is_leaf) = visit(value, map.of(name));
        let is_empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
        set.add(Element::Field(name.clone()), below, is_leaf || is_empty || !map.names(name));
    }
    set
}

/// Builds the set of list items. For duplicate items, only their presence is recorded.
fn items_of(items: &[Value], list: &List<'_>) -> Set {
    let mut counts: BTreeMap<Element, usize> = BTreeMap::new();
    for element in items.iter().filter_map(|item| list.element_of(item)) {
        *counts.entry(element).or_default() += 1;
    }
    let mut set = Set::default();
    for item in items {
        let Some(element) = list.element_of(item) else { continue };
        let is_single = counts.get(&element) == Some(&1);
        let below = if is_single { visit(item, list.element).0 } else { Set::default() };
        set.add(element, below, true);
    }
    set
}
