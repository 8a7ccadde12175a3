//! Compares two objects field by field. Key order is ignored.
//!
//! List items are paired by name if every item has one, as people and the API server do. If their order changed, the whole
//! list is reported, because order matters in some lists.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde_json::Value as Json;

use crate::yaml::{Mapping, Node, Value, to_json};

/// A field that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldChange {
    /// Its path.
    pub path: FieldPath,
    /// Its value before; none if the field was absent.
    pub before: Option<Json>,
    /// Its value after; none if the field is gone.
    pub after: Option<Json>,
}

/// The path from an object to one of its fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FieldPath(pub Vec<PathSegment>);

/// One step of a [`FieldPath`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathSegment {
    /// The value of a key.
    Key(String),
    /// The list item with this name.
    Named(String),
    /// The list item at this index, counted from 0.
    Item(usize),
}

impl FieldPath {
    /// Whether the path begins with these keys. An empty key matches any list item.
    pub fn is_below(&self, keys: &[&str]) -> bool {
        let is_segment = |(step, key): (&PathSegment, &&str)| match step {
            PathSegment::Key(name) => name == key,
            PathSegment::Named(_) | PathSegment::Item(_) => key.is_empty(),
        };
        self.0.len() >= keys.len() && self.0.iter().zip(keys).all(is_segment)
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            match step {
                PathSegment::Key(name) if name.contains(['.', '[', ']', '/']) => write!(f, "[{name:?}]")?,
                PathSegment::Key(name) if at == 0 => f.write_str(name)?,
                PathSegment::Key(name) => write!(f, ".{name}")?,
                PathSegment::Named(name) => write!(f, "[name={name}]")?,
                PathSegment::Item(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// Lists the fields that differ between two objects, ordered by path.
pub fn changed(before: &Node, after: &Node) -> Vec<FieldChange> {
    let mut found = Vec::new();
    walk(&FieldPath::default(), Some(before), Some(after), &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn walk(path: &FieldPath, before: Option<&Node>, after: Option<&Node>, found: &mut Vec<FieldChange>) {
    if before == after {
        return;
    }
    match (before.map(|node| &node.value), after.map(|node| &node.value)) {
        (Some(Value::Mapping(old)), Some(Value::Mapping(new))) => {
            for name in names(old).union(&names(new)) {
                walk(&path.to(PathSegment::Key((*name).to_owned())), old.get(name), new.get(name), found);
            }
        }
        (Some(Value::Sequence(old)), Some(Value::Sequence(new))) => match (by_name(old), by_name(new)) {
            (Some(before), Some(after)) if in_one_order(old, new, &before, &after) => {
                for name in before.keys().chain(after.keys()).collect::<BTreeSet<_>>() {
                    let (old, new) = (before.get(name).copied(), after.get(name).copied());
                    walk(&path.to(PathSegment::Named((*name).to_owned())), old, new, found);
                }
            }
            (None, None) if old.len() == new.len() => {
                for (index, (old, new)) in old.iter().zip(new.iter()).enumerate() {
                    walk(&path.to(PathSegment::Item(index)), Some(old), Some(new), found);
                }
            }
            _ => found.push(change(path, before, after)),
        },
        _ => found.push(change(path, before, after)),
    }
}

fn change(path: &FieldPath, before: Option<&Node>, after: Option<&Node>) -> FieldChange {
    FieldChange { path: path.clone(), before: before.map(to_json), after: after.map(to_json) }
}

impl FieldPath {
    fn to(&self, step: PathSegment) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }
}

fn names(mapping: &Mapping) -> BTreeSet<&str> {
    mapping.iter().map(|entry| &*entry.key.name).collect()
}

fn name(node: &Node) -> Option<&str> {
    node.get("name").and_then(Node::as_str)
}

/// The items by name; none unless every item has a unique name.
fn by_name(items: &[Node]) -> Option<BTreeMap<&str, &Node>> {
    let named: BTreeMap<_, _> = items.iter().map(|item| Some((name(item)?, item))).collect::<Option<_>>()?;
    (named.len() == items.len()).then_some(named)
}

/// Whether the items that both lists contain are in the same order.
fn in_one_order(
    old: &[Node],
    new: &[Node],
    before: &BTreeMap<&str, &Node>,
    after: &BTreeMap<&str, &Node>,
) -> bool {
    let kept = old.iter().filter_map(name).filter(|name| after.contains_key(name));
    kept.eq(new.iter().filter_map(name).filter(|name| before.contains_key(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        note::Notes,
        yaml::{FileId, Source, read},
    };

    fn differences(before: &str, after: &str) -> Vec<String> {
        let node = |text: &str| read(&Source::new(FileId(0), "f", text), &mut Notes::new()).unwrap();
        let shown = |value: Option<Json>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
        let line = |one: FieldChange| format!("{}: {} → {}", one.path, shown(one.before), shown(one.after));
        changed(&node(before), &node(after)).into_iter().map(line).collect()
    }

    #[test]
    fn comments_and_the_order_of_keys_do_not_count() {
        assert_eq!(differences("a: 1\nb: { c: 2 }\n", "# why\nb:\n  c: 2\na: 1\n"), Vec::<String>::new());
    }

    #[test]
    fn a_field_is_reported_by_its_path() {
        assert_eq!(
            differences("a: { b: 1, c: x }\nd: 1\n", "a: { b: 2, c: x }\ne: { f: 1 }\n"),
            ["a.b: 1 → 2", "d: 1 → -", "e: - → {\"f\":1}"]
        );
        assert_eq!(differences("a.b: { c: 1 }\n", "a.b: { c: 2 }\n"), ["[\"a.b\"].c: 1 → 2"]);
    }

    #[test]
    fn items_with_names_are_paired_by_name_and_others_by_place() {
        assert_eq!(
            differences("l: [{ name: a, v: 1 }, { name: b }]", "l: [{ name: c }, { name: a, v: 2 }]"),
            ["l[name=a].v: 1 → 2", "l[name=b]: {\"name\":\"b\"} → -", "l[name=c]: - → {\"name\":\"c\"}"]
        );
        assert_eq!(differences("l: [1, 2]", "l: [1, 3]"), ["l[1]: 2 → 3"]);
        assert_eq!(differences("l: [1, 2]", "l: [2]"), ["l: [1,2] → [2]"]);
    }

    #[test]
    fn another_order_of_names_is_a_change() {
        let [a, b] = ["{ name: a }", "{ name: b }"];
        assert_eq!(differences(&format!("l: [{a}, {b}]"), &format!("l: [{b}, {a}]")).len(), 1);
        assert_eq!(differences("l: [{ name: a }, { name: a }]", "l: [{ name: a }]").len(), 1);
    }
}
