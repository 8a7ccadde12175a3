//! Follows field paths, as Kubernetes prints them, into our own trees.

use super::Node;

/// How a node is reached from the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge<'a> {
    /// It is the start of the path.
    Root,
    Key(&'a str),
    /// It is an item of a list.
    Item,
}

/// The nodes on a path, from the root to the deepest one that exists. The path may name something that is missing.
pub fn trail<'a>(root: &'a Node, field: &str) -> Vec<(Edge<'a>, &'a Node)> {
    let mut trail = vec![(Edge::Root, root)];
    let mut rest = field;
    let mut node = root;
    while let Some((step, next, length)) = follow(node, rest) {
        trail.push((step, next));
        (node, rest) = (next, &rest[length..]);
    }
    trail
}

fn follow<'a>(node: &'a Node, rest: &str) -> Option<(Edge<'a>, &'a Node, usize)> {
    if let Some(mapping) = node.as_mapping() {
        // Looks up the longest key that the path can mean, instead of looking at every key of the map.
        let found = key_lengths(rest).into_iter().rev().find_map(|(key, length)| {
            let entry = mapping.entry(key)?;
            Some((Edge::Key(&entry.key.name), &entry.value, length))
        });
        return found;
    }
    let items = node.as_sequence()?;
    let (index, _) = rest.strip_prefix('[')?.split_once(']')?;
    let item = match index.parse::<usize>() {
        Ok(at) => items.get(at)?,
        Err(_) => items.iter().find(|item| {
            ["name", "class"].iter().any(|key| item.get(key).and_then(Node::as_str) == Some(index))
        })?,
    };
    Some((Edge::Item, item, index.len() + 2))
}

/// The keys that may come first in a path, each with the length it takes up, longest last: `.key`, `[key]`, and `key` at the
/// very beginning.
fn key_lengths(rest: &str) -> Vec<(&str, usize)> {
    if let Some(inner) = rest.strip_prefix('[') {
        return inner.match_indices(']').map(|(at, _)| (&inner[..at], at + 2)).collect();
    }
    let bare = rest.strip_prefix('.').unwrap_or(rest);
    let ends = bare.match_indices(['.', '[']).map(|(at, _)| at).chain([bare.len()]);
    let skipped = rest.len() - bare.len();
    ends.filter(|at| *at > 0).map(|at| (&bare[..at], at + skipped)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::{Origin, from_json};

    fn reached(field: &str) -> String {
        let tree = serde_json::json!({
            "spec": { "variables": [{ "name": "a.b", "schema": { "x.y": [1, 2], "x": 3 } }, { "name": "c" }] }
        });
        let node = from_json(&tree, Origin::NOWHERE);
        let trail = trail(&node, field);
        let steps = trail.iter().map(|(step, _)| match step {
            Edge::Root => String::new(),
            Edge::Key(key) => format!("/{key}"),
            Edge::Item => "#".to_owned(),
        });
        steps.collect()
    }

    #[test]
    fn paths_lead_to_the_deepest_node_that_is_there() {
        assert_eq!(reached("spec.variables[c].name"), "/spec/variables#/name");
        assert_eq!(reached("spec.variables[a.b].schema.x.y[1]"), "/spec/variables#/schema/x.y#");
        assert_eq!(reached(".spec.variables[0].schema[x]"), "/spec/variables#/schema/x");
        assert_eq!(reached("spec.variables[1].schema.none"), "/spec/variables#");
        assert_eq!(reached("spec.vari"), "/spec");
        assert_eq!(reached(""), "");
    }
}
