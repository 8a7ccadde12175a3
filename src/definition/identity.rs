//! The name, stack and releases of a cluster, read before any validation; for runs that generate only some clusters.

use rayon::prelude::*;

use super::{
    layers::{FolderDefaults, merged},
    parse::{Definitions, Layer},
};
use crate::{
    model::{ClusterId, Label},
    yaml::{Mapping, Node},
};

/// The identity of a cluster according to its definition and folder defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The path of the definition.
    pub file: String,
    /// Management cluster, namespace and name, joined by `/`. Unspecified parts are empty.
    pub name: String,
    /// The stack, if the cluster uses its head release.
    pub stack: Option<String>,
    /// The numbered release that the cluster uses.
    pub release: Option<String>,
    /// The numbered releases that supply single addons.
    pub borrowed: Vec<String>,
}

impl Identity {
    /// Reads the identities of all clusters, in the order of their definitions.
    pub fn all(definitions: &Definitions) -> Vec<Self> {
        let defaults = FolderDefaults::new(definitions);
        let one = |layer: &Layer| Self::of(definitions, layer, &defaults.merged(layer));
        definitions.clusters.par_iter().map(one).collect()
    }

    /// Reads the identity of the cluster that a layer defines.
    pub fn new(definitions: &Definitions, layer: &Layer) -> Self {
        Self::of(definitions, layer, &merged(definitions, layer))
    }

    fn of(definitions: &Definitions, layer: &Layer, node: &Node) -> Self {
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

impl Identity {
    /// The ID of the cluster; none if the definition is incomplete.
    pub fn id(&self) -> Option<ClusterId> {
        let mut parts = self.name.split('/').map(|part| Label::new(part).ok());
        let (management, namespace, name) = (parts.next()??, parts.next()??, parts.next()??);
        parts.next().is_none().then_some(ClusterId { management, namespace, name })
    }
}

/// The owners of a cluster, according to its definition merged with folder defaults.
pub fn owners(merged: &Node) -> Vec<String> {
    let Some(owner) = merged.at(&["spec", "owner"]) else { return Vec::new() };
    let names = owner.as_sequence().unwrap_or(std::slice::from_ref(owner)).iter();
    names.filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

/// The only management cluster of the fleet, if there is just one. Clusters need not name it.
fn only_management_cluster(definitions: &Definitions) -> Option<String> {
    match definitions.fleet.as_ref()?.value.spec.management_clusters.as_slice() {
        [only] => Some(only.name.clone()),
        _ => None,
    }
}
