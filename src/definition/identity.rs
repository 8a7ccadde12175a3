//! What a cluster is called and made from, before anything is judged: for runs that make some clusters only.

use super::{
    layers::merged,
    parse::{Definitions, Layer},
};
use crate::yaml::{Mapping, Node};

/// A cluster as its definition and its folders' defaults name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The file of its definition.
    pub file: String,
    /// Management cluster, namespace and name, joined by `/`; empty where nothing is said.
    pub name: String,
    /// The stack that it takes the head release of.
    pub stack: Option<String>,
    /// The numbered release that it takes.
    pub release: Option<String>,
    /// The numbered releases that it takes single addons from.
    pub borrowed: Vec<String>,
}

impl Identity {
    /// What a definition says of itself.
    pub fn new(definitions: &Definitions, layer: &Layer) -> Self {
        let node = merged(definitions, layer);
        let text = |path: &[&str]| node.at(path).and_then(Node::as_str).map(str::to_owned);
        let part = |path: &[&str]| text(path).unwrap_or_default();
        let release = text(&["spec", "release"]);
        let is_head = release.as_deref() == Some("head");
        let addons = node.at(&["spec", "addons"]).and_then(Node::as_mapping);
        let addons = addons.into_iter().flat_map(Mapping::iter);
        let borrowed = addons.filter_map(|addon| addon.value.get("release")?.as_str().map(str::to_owned));
        Self {
            file: layer.source.path.to_string(),
            name: [
                text(&["spec", "managementCluster"])
                    .or_else(|| only_management_cluster(definitions))
                    .unwrap_or_default(),
                part(&["metadata", "namespace"]),
                part(&["metadata", "name"]),
            ]
            .join("/"),
            stack: text(&["spec", "stack"]).filter(|_| is_head),
            release: release.filter(|_| !is_head),
            borrowed: borrowed.collect(),
        }
    }
}

/// The fleet's management cluster, where it has one only: clusters need not name it.
fn only_management_cluster(definitions: &Definitions) -> Option<String> {
    match definitions.fleet.as_ref()?.value.spec.management_clusters.as_slice() {
        [only] => Some(only.name.clone()),
        _ => None,
    }
}
