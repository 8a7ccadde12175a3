//! Names of the engine's objects.
//!
//! They are derived from release, namespace and cluster alone and written once: renaming a Kustomization makes the old
//! one delete what the new one owns. Dots separate the parts, because no part of a name that could be mistaken for
//! another holds one; what is too long for a label value is cut and told apart by a hash.

use crate::model::{Cluster, shortened};

/// The names of one cluster's objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterNames {
    /// The Kustomization of the Cluster and what lies beside it.
    pub cluster: String,
    /// The Kustomization of the addons.
    pub addons: String,
    /// The Kustomization of the user's own objects.
    pub objects: String,
    /// The Kustomization that becomes ready when the cluster is.
    pub ready: String,
    namespace: String,
    name: String,
}

impl ClusterNames {
    /// The names of a cluster's objects.
    pub fn new(cluster: &Cluster) -> Self {
        let base = format!("cluster.{}.{}", cluster.namespace, cluster.name);
        Self {
            addons: shortened(&format!("{base}.addons")),
            objects: shortened(&format!("{base}.objects")),
            ready: shortened(&format!("{base}.ready")),
            cluster: shortened(&base),
            namespace: cluster.namespace.to_string(),
            name: cluster.name.to_string(),
        }
    }

    /// The `HelmRelease` of an addon.
    pub fn helm_release(&self, addon: &str) -> String {
        shortened(&format!("{}.{addon}", self.name))
    }

    /// The Kustomization of an addon's manifests.
    pub fn manifests(&self, addon: &str) -> String {
        shortened(&format!("cluster.{}.{}.addon.{addon}", self.namespace, self.name))
    }
}

/// The Kustomization of a release.
pub fn release_name(release: &str) -> String {
    shortened(&format!("release.{release}"))
}

/// The Kustomization of a namespace.
pub fn namespace_name(namespace: &str) -> String {
    shortened(&format!("namespace.{namespace}"))
}
