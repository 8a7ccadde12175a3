//! Merges definitions with folder defaults: maps merge, lists and single values replace.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::{
    ClusterSpec,
    parse::{Definitions, Layer},
};
use crate::yaml::{Key, Mapping, Node, Value, to_json};

/// A definition merged with the defaults of its folders, both as typed values and as the tree with the origins.
#[derive(Clone, Debug)]
pub struct Merged {
    /// The namespace.
    pub namespace: Option<String>,
    /// The other fields, typed.
    pub spec: ClusterSpec,
    /// The tree with the origins.
    pub node: Node,
}

impl Merged {
    /// Decodes a merged tree. Its layers were validated, and merging adds nothing, so a failure is a bug.
    pub fn decode(node: Node) -> Result<Self, serde_json::Error> {
        /// The fields that definitions and defaults have in common.
        #[derive(Deserialize)]
        struct Common {
            metadata: Option<Metadata>,
            spec: Option<ClusterSpec>,
        }
        #[derive(Deserialize)]
        struct Metadata {
            namespace: Option<String>,
        }
        let Common { metadata, spec } = serde_json::from_value(to_json(&node))?;
        let namespace = metadata.and_then(|metadata| metadata.namespace);
        Ok(Self { namespace, spec: spec.unwrap_or_default(), node })
    }

    /// The node of an entry of `spec`.
    pub fn at(&self, key: &str) -> Option<&Node> {
        self.node.at(&["spec", key])
    }
}

/// The meaning of `null` in a part of a document.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nulls {
    /// It removes the value of a lower layer.
    Remove,
    /// It is kept as a value.
    Keep,
}

/// The merged defaults of every folder with definitions. A folder's defaults are merged once for all its clusters, which
/// share what they do not mention.
pub(super) struct FolderDefaults<'a>(BTreeMap<&'a str, Node>);

impl<'a> FolderDefaults<'a> {
    pub(super) fn new(definitions: &'a Definitions) -> Self {
        let folders: BTreeSet<&str> = definitions.clusters.iter().map(folder).collect();
        Self(folders.into_iter().map(|folder| (folder, inherited(definitions, folder))).collect())
    }

    /// Merges one of these definitions over the defaults of its folders.
    pub(super) fn merged(&self, definition: &Layer) -> Node {
        merged_over(&self.0[folder(definition)], definition)
    }
}

/// Merges a cluster's definition over its folders' defaults, outermost folder first.
pub fn merged(definitions: &Definitions, definition: &Layer) -> Node {
    merged_over(&inherited(definitions, folder(definition)), definition)
}

fn merged_over(inherited: &Node, layer: &Layer) -> Node {
    if names_release(&layer.node) {
        merge(&without_head(inherited.clone()), &layer.node, &mut Vec::new())
    } else {
        merge(inherited, &layer.node, &mut Vec::new())
    }
}

/// Merges the defaults of a folder with those of its parent folders.
pub fn inherited(definitions: &Definitions, folder: &str) -> Node {
    let inside = format!("{folder}/");
    let layers = folders(&inside).into_iter().filter_map(|folder| definitions.defaults.get(folder));
    layers.fold(Node::from(Mapping::new()), |inherited, layer| merged_over(&inherited, layer))
}

fn folder(definition: &Layer) -> &str {
    definition.source.path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The keys that only go with `release: head`.
pub const OF_HEAD: [&str; 2] = ["stack", "kubernetes"];

/// Reports whether a layer names a numbered release, which replaces the head release that lower layers name.
pub fn names_release(layer: &Node) -> bool {
    layer.at(&["spec", "release"]).and_then(Node::as_str).is_some_and(|name| name != "head")
}

fn without_head(mut low: Node) -> Node {
    let spec = low.as_mapping_mut().and_then(|root| root.get_mut("spec")).and_then(Node::as_mapping_mut);
    if let Some(spec) = spec {
        for key in OF_HEAD {
            spec.remove(key);
        }
    }
    low
}

/// The layers of a cluster: its folders' defaults, outermost folder first, and its own definition.
pub fn layers<'a>(definitions: &'a Definitions, definition: &'a Layer) -> Vec<&'a Layer> {
    let folders = folders(&definition.source.path).into_iter();
    folders.filter_map(|folder| definitions.defaults.get(folder)).chain([definition]).collect()
}

/// The folders that contain a file, outermost first.
fn folders(path: &str) -> Vec<&str> {
    path.match_indices('/').map(|(at, _)| &path[..at]).collect()
}

fn nulls_at(path: &[String]) -> Nulls {
    let path: Vec<_> = path.iter().map(String::as_str).collect();
    let keep = matches!(path.as_slice(), ["spec", "raw", _, ..] | ["spec", "addons", _, "values", _, ..]);
    if keep { Nulls::Keep } else { Nulls::Remove }
}

fn merge(low: &Node, high: &Node, path: &mut Vec<String>) -> Node {
    if let (Value::Sequence(items), Nulls::Remove) = (&high.value, nulls_at(path)) {
        // An item of a list is merged over nothing, so its nulls mean that a field is not set.
        let nothing = Node::from(Mapping::new());
        let items: Vec<_> = items.iter().map(|item| merge(&nothing, item, path)).collect();
        return Node::from(items).with_origin(high.origin);
    }
    let Value::Mapping(over) = &high.value else { return high.clone() };
    let mut result = low.as_mapping().cloned().unwrap_or_default();
    let mut gone = BTreeSet::new();
    // `spec:` with nothing below it sets nothing. It does not remove all that the folders set.
    let is_document = path.is_empty();
    for entry in over.iter().filter(|entry| !(is_document && entry.value.is_null())) {
        let name = &entry.key.name;
        path.push(name.to_string());
        let keeps = nulls_at(path) == Nulls::Keep;
        let empty = Node::from(Mapping::new());
        let value = merge(result.get(name).unwrap_or(&empty), &entry.value, path);
        if !keeps && (value.is_null() || is_emptied(&entry.value, &value, path)) {
            gone.insert(name.clone());
        } else {
            result.insert(entry.key.clone(), value);
        }
        path.pop();
    }
    result.remove_all(&gone);
    Node::from(result).with_origin(high.origin)
}

/// Reports whether nulls removed all entries of a map, which is then removed, too. Maps that were written as empty stay, and
/// so do addons, because their name alone matters.
fn is_emptied(written: &Node, merged: &Node, path: &[String]) -> bool {
    let addon = path.len() == 3 && path[1] == "addons";
    merged.as_mapping().is_some_and(Mapping::is_empty) && !written.is_empty_collection() && !addon
}

/// Merges Helm values: maps merge, and everything else replaces. `null` is kept, because it removes a default of the chart.
pub fn merge_values(low: &Node, high: &Node) -> Node {
    let (Value::Mapping(under), Value::Mapping(over)) = (&low.value, &high.value) else {
        return high.clone();
    };
    let mut result = Mapping::clone(under);
    for entry in over.iter() {
        let value = match result.get(&entry.key.name) {
            Some(below) => merge_values(below, &entry.value),
            None => entry.value.clone(),
        };
        result.insert(Key::clone(&entry.key), value);
    }
    Node::from(result).with_origin(high.origin)
}

/// Merges a raw patch like [`merge_values`], but `null` removes the key from the result.
pub fn merge_raw(low: &Node, high: &Node) -> Node {
    let Value::Mapping(over) = &high.value else { return high.clone() };
    let mut result = low.as_mapping().cloned().unwrap_or_default();
    let mut gone = BTreeSet::new();
    for entry in over.iter() {
        if entry.value.is_null() {
            gone.insert(entry.key.name.clone());
        } else {
            let empty = Node::from(Mapping::new());
            let value = merge_raw(result.get(&entry.key.name).unwrap_or(&empty), &entry.value);
            result.insert(entry.key.clone(), value);
        }
    }
    result.remove_all(&gone);
    Node::from(result).with_origin(high.origin)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::{Origin, from_json, to_json};
    use serde_json::{Value as Json, json};

    fn merged(low: &Json, high: &Json) -> Json {
        let tree = |json| from_json(json, Origin::NOWHERE);
        to_json(&merge(&tree(low), &tree(high), &mut Vec::new()))
    }

    #[test]
    fn null_removes_and_in_a_list_says_that_nothing_is_set() {
        let low =
            json!({ "spec": { "controlPlane": { "replicas": 3, "deletion": { "a": 1 } }, "suspend": "x" } });
        let high = json!({ "spec": {
            "suspend": null,
            "controlPlane": { "deletion": { "a": null } },
            "nodePools": [{ "name": "a", "deletion": null, "labels": { "x": null, "y": "z" }, "rollout": { "after": null } }],
        } });
        let expected = json!({ "spec": {
            "controlPlane": { "replicas": 3 },
            "nodePools": [{ "name": "a", "labels": { "y": "z" } }],
        } });
        assert_eq!(merged(&low, &high), expected);
    }

    #[test]
    fn an_empty_section_of_a_document_removes_nothing() {
        let low = json!({ "metadata": { "labels": { "a": "b" } }, "spec": { "suspend": "x" } });
        assert_eq!(merged(&low, &json!({ "metadata": null, "spec": null })), low);
        assert_eq!(
            merged(&json!({}), &json!({ "kind": "ClusterDefinition", "spec": null })),
            json!({ "kind": "ClusterDefinition" })
        );
    }

    #[test]
    fn null_stays_in_values_and_in_raw_and_what_is_written_empty_stays_empty() {
        let high = json!({ "spec": {
            "addons": { "net": { "values": { "a": null, "list": [{ "b": null }], "map": { "c": null } } }, "csi": { "enabled": null } },
            "raw": { "availabilityGates": null, "x": [{ "y": null }] },
            "nodePools": [{ "name": "a", "deletion": {}, "taints": [] }],
        } });
        let expected = json!({ "spec": {
            "addons": { "net": { "values": { "a": null, "list": [{ "b": null }], "map": { "c": null } } }, "csi": {} },
            "raw": { "availabilityGates": null, "x": [{ "y": null }] },
            "nodePools": [{ "name": "a", "deletion": {}, "taints": [] }],
        } });
        assert_eq!(merged(&json!({}), &high), expected);
    }
}
