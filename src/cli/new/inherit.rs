//! The values that a cluster inherits from the defaults of its folders, and where each one is set.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use crate::{
    definition::{Definitions, inherited},
    world::Input,
    yaml::{Node, to_json},
};

/// The defaults of a folder, merged with those of its parent folders.
pub(super) struct Inherited {
    node: Node,
}

impl Inherited {
    pub(super) fn of(definitions: &Definitions, folder: &str) -> Self {
        Self { node: inherited(definitions, folder) }
    }

    /// All values of a cluster, including its own definition.
    pub(super) fn merged(node: Node) -> Self {
        Self { node }
    }

    /// The value at a path.
    pub(super) fn at(&self, path: &[&str]) -> Option<&Node> {
        self.node.at(path).filter(|node| !node.is_null())
    }

    pub(super) fn text(&self, path: &[&str]) -> Option<&str> {
        self.at(path)?.as_str()
    }

    /// The value to write into the definition: the requested one, unless the folder sets the same. Without a request, the
    /// fallback, unless the folder sets any value.
    pub(super) fn unless_inherited(
        &self,
        path: &[&str],
        asked: Option<&str>,
        otherwise: impl FnOnce() -> Option<String>,
    ) -> Option<String> {
        match (asked, self.text(path)) {
            (Some(asked), Some(inherited)) if asked == inherited => None,
            (Some(asked), _) => Some(asked.to_owned()),
            (None, Some(_)) => None,
            (None, None) => otherwise(),
        }
    }

    /// Whether a pod network is set.
    pub(super) fn has_pod_network(&self) -> bool {
        self.at(&["spec", "network", "pods"]).is_some_and(|pods| !pods.is_empty_collection())
    }

    /// Lists every value that a definition does not override, grouped by the file that sets it.
    pub(super) fn lines(&self, input: &Input, own: &Node) -> Vec<String> {
        let mut files: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (path, node) in self.leaves(own) {
            let Some(place) = input.sources.place(node.origin) else { continue };
            files.entry(place.file).or_default().push(format!("  {path}: {}", shown(node)));
        }
        files
            .into_iter()
            .flat_map(|(file, lines)| std::iter::once(format!("inherited from {file}:")).chain(lines))
            .collect()
    }

    /// The same list for machines.
    pub(super) fn document(&self, input: &Input, own: &Node) -> Json {
        let one = |(path, node): (String, &Node)| {
            let place = input.sources.place(node.origin);
            let file = place.as_ref().map(|place| place.file.clone());
            let line = place.as_ref().map(|place| place.line);
            (path, json!({ "value": to_json(node), "file": file, "line": line }))
        };
        Json::Object(self.leaves(own).into_iter().map(one).collect::<Map<_, _>>())
    }

    fn leaves(&self, own: &Node) -> Vec<(String, &Node)> {
        let mut leaves = Vec::new();
        for part in ["metadata", "spec"] {
            if let Some(node) = self.node.get(part) {
                collect(part.to_owned(), node, own.get(part), &mut leaves);
            }
        }
        leaves
    }
}

fn collect<'a>(path: String, node: &'a Node, own: Option<&Node>, leaves: &mut Vec<(String, &'a Node)>) {
    match (node.as_mapping(), own) {
        (Some(mapping), _) if !mapping.is_empty() => {
            for entry in mapping.iter() {
                let path = format!("{path}.{}", entry.key.name);
                collect(path, &entry.value, own.and_then(|own| own.get(&entry.key.name)), leaves);
            }
        }
        // The definition overrides this value.
        (_, Some(_)) => {}
        (_, None) => leaves.push((path, node)),
    }
}

/// Formats a value on one line.
fn shown(node: &Node) -> String {
    match node.as_str() {
        Some(text) => text.to_owned(),
        None => to_json(node).to_string(),
    }
}
