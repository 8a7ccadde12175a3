//! Field paths as Kubernetes prints them, followed into our own trees.

use super::Node;

/// How a node is reached from the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// It is where the path begins.
    Root,
    /// It is the value of a key.
    Key(&'a str),
    /// It is an item of a list.
    Item,
}

/// The nodes on a path, from the root to the deepest one that is there: a path may name what is missing.
pub fn trail<'a>(root: &'a Node, field: &str) -> Vec<(Step<'a>, &'a Node)> {
    let mut trail = vec![(Step::Root, root)];
    let mut rest = field;
    let mut node = root;
    while let Some((step, next, length)) = follow(node, rest) {
        trail.push((step, next));
        (node, rest) = (next, &rest[length..]);
    }
    trail
}

fn follow<'a>(node: &'a Node, rest: &str) -> Option<(Step<'a>, &'a Node, usize)> {
    if let Some(mapping) = node.as_mapping() {
        let entries = mapping.iter().filter_map(|entry| {
            let length = key_length(rest, &entry.key.name)?;
            Some((Step::Key(&entry.key.name), &entry.value, length))
        });
        return entries.max_by_key(|(_, _, length)| *length);
    }
    let items = node.as_sequence()?;
    let (index, _) = rest.strip_prefix('[')?.split_once(']')?;
    let item = match index.parse::<usize>() {
        Ok(at) => items.get(at)?,
        Err(_) => items.iter().find(|item| {
            ["name", "class"].iter().any(|key| item.get(key).and_then(Node::as_str) == Some(index))
        })?,
    };
    Some((Step::Item, item, index.len() + 2))
}

/// How much of a path a key takes: `.key`, `[key]`, and `key` at the very beginning.
fn key_length(rest: &str, key: &str) -> Option<usize> {
    if let Some(inner) = rest.strip_prefix('[') {
        return inner.strip_prefix(key)?.starts_with(']').then_some(key.len() + 2);
    }
    let bare = rest.strip_prefix('.').unwrap_or(rest);
    let after = bare.strip_prefix(key)?;
    let ends = after.is_empty() || after.starts_with(['.', '[']);
    (ends && !key.is_empty()).then(|| rest.len() - after.len())
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
            Step::Root => String::new(),
            Step::Key(key) => format!("/{key}"),
            Step::Item => "#".to_owned(),
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
