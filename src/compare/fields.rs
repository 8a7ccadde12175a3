//! Compares two objects field by field. Key order is ignored.
//!
//! List items are paired by name if every item has one, as people and the API server do. If their order changed, the whole
//! list is reported, because order matters in some lists.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use crate::yaml::{ItemPair, Node, differences, to_json};

pub use crate::yaml::{FieldPath, PathSegment};

/// A field that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldChange {
    pub path: FieldPath,
    /// Its value before; none if the field was absent.
    pub before: Option<Json>,
    /// Its value after; none if the field is gone.
    pub after: Option<Json>,
}

/// Lists the fields that differ between two objects, ordered by path.
pub fn changed(before: &Node, after: &Node) -> Vec<FieldChange> {
    let mut found = Vec::new();
    differences(Some(before), Some(after), paired, &mut |path, before, after| {
        let (before, after) = (before.map(to_json), after.map(to_json));
        found.push(FieldChange { path: path.clone(), before, after });
    });
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// Pairs the items of two lists by name, or else by position.
fn paired<'a>(old: &'a [Node], new: &'a [Node]) -> Option<Vec<ItemPair<'a>>> {
    match (by_name(old), by_name(new)) {
        (Some(before), Some(after)) if in_one_order(old, new, &before, &after) => {
            let names: BTreeSet<_> = before.keys().chain(after.keys()).copied().collect();
            let pair = |name: &str| {
                let step = PathSegment::Named(name.to_owned());
                (step, before.get(name).copied(), after.get(name).copied())
            };
            Some(names.into_iter().map(pair).collect())
        }
        (None, None) if old.len() == new.len() => {
            let pairs = old.iter().zip(new).enumerate();
            Some(pairs.map(|(at, (old, new))| (PathSegment::Item(at), Some(old), Some(new))).collect())
        }
        _ => None,
    }
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
