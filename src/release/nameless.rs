//! Objects without the name of their release, for hashing and comparing.

use std::sync::Arc;

use crate::yaml::{self, Node, Value};

/// Replaces every occurrence of the release's name in an object with the placeholder.
pub(super) fn renamed(node: &Node, name: &str, stand_in: &str) -> Node {
    let value = match &node.value {
        Value::String(text) => Value::String(text.replace(name, stand_in).into()),
        Value::Sequence(items) => {
            Value::Sequence(Arc::new(items.iter().map(|item| renamed(item, name, stand_in)).collect()))
        }
        Value::Mapping(mapping) => {
            let entries = mapping.iter().map(|entry| yaml::Entry {
                key: yaml::Key {
                    name: entry.key.name.replace(name, stand_in).into(),
                    origin: entry.key.origin,
                },
                value: renamed(&entry.value, name, stand_in),
            });
            Value::Mapping(Arc::new(entries.collect()))
        }
        other => other.clone(),
    };
    Node { value, origin: node.origin }
}
