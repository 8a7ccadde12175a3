//! The address of an object and the section it belongs to.

use std::fmt;

use crate::yaml::Node;

/// Identifies an object on an API server. The API version is not part of the address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    /// The API group; empty for the core group.
    pub group: String,
    /// The kind, without version.
    pub kind: String,
    /// The namespace; empty if the object has none.
    pub namespace: String,
    /// The name in `metadata`.
    pub name: String,
}

impl Address {
    pub fn of(object: &Node) -> Self {
        let text = |path: &[&str]| object.at(path).and_then(Node::as_str).unwrap_or_default().to_owned();
        let version = text(&["apiVersion"]);
        Self {
            group: version.split_once('/').map(|(group, _)| group.to_owned()).unwrap_or_default(),
            kind: text(&["kind"]),
            namespace: text(&["metadata", "namespace"]),
            name: text(&["metadata", "name"]),
        }
    }

    /// Whether this is a Cluster of Cluster API.
    pub fn is_cluster(&self) -> bool {
        self.group == "cluster.x-k8s.io" && self.kind == "Cluster"
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        match self.namespace.as_str() {
            "" => write!(f, " {}", self.name),
            namespace => write!(f, " {namespace}/{}", self.name),
        }
    }
}

/// The purpose of an object. Sections are separate: two addons may hold objects with the same address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Section {
    /// The Cluster, and the stack's objects next to it.
    Cluster,
    /// The objects in the management cluster that install addons.
    Installers,
    /// The manifests of an addon, in the workload cluster.
    Manifests(String),
    /// The values of an addon's chart in a file of their own, which holds no Kubernetes object.
    Values(String),
    /// The objects applied once the cluster is ready.
    Ready,
    /// The engine's own objects.
    Engine,
}

impl Section {
    /// The section of a file in the folder of a cluster.
    pub(super) fn of(path: &str) -> Self {
        let mut parts = path.split('/');
        match (parts.next(), parts.next()) {
            (Some("cluster"), _) => Self::Cluster,
            (Some("addons"), _) => Self::Installers,
            (Some("manifests"), Some(addon)) => Self::Manifests(addon.to_owned()),
            (Some("values"), Some(addon)) => Self::Values(addon.to_owned()),
            (Some("ready"), _) => Self::Ready,
            _ => Self::Engine,
        }
    }

    /// The address of a file of the section. Values have none, and an addon has them once, whatever its version.
    pub(super) fn address(&self, content: &Node) -> Address {
        let Self::Values(addon) = self else { return Address::of(content) };
        let (group, kind, namespace) = (String::new(), "values".to_owned(), String::new());
        Address { group, kind, namespace, name: addon.clone() }
    }
}
