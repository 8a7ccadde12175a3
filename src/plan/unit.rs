//! Units: groups of objects that an engine applies together, each with its own name.
//!
//! A name is derived from release, namespace and cluster alone and never changes: an engine that sees another name deletes
//! what the old one owned. Dots separate the parts of a name, because no part that could be mistaken for another holds a
//! dot. A name that is too long for a label value is cut, and a hash tells it apart.

use crate::model::{Cluster, shortened};

/// A group of objects that an engine applies together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    /// The classes and templates of a release.
    Release {
        /// The release.
        release: String,
    },
    /// A Namespace, and what its clusters share.
    Namespace {
        /// The namespace.
        namespace: String,
    },
    /// A part of a cluster.
    Cluster {
        /// The cluster's namespace.
        namespace: String,
        /// The cluster's name.
        cluster: String,
        /// The part.
        part: ClusterPart,
    },
}

/// A part of a cluster that is applied as one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClusterPart {
    /// The Cluster and its other objects in the management cluster.
    Cluster,
    /// What installs the addons, in the management cluster.
    Addons,
    /// The user's own objects.
    Objects,
    /// What becomes ready when the cluster is.
    Ready,
    /// The manifests of an addon, in the workload cluster.
    Manifests {
        /// The addon.
        addon: String,
    },
}

impl Unit {
    /// The unit of a release.
    pub fn release(release: &str) -> Self {
        Self::Release { release: release.to_owned() }
    }

    /// The unit of a namespace.
    pub fn namespace(namespace: &str) -> Self {
        Self::Namespace { namespace: namespace.to_owned() }
    }

    /// The unit of a part of a cluster.
    pub fn cluster(cluster: &Cluster, part: ClusterPart) -> Self {
        Self::Cluster { namespace: cluster.namespace.to_string(), cluster: cluster.name.to_string(), part }
    }

    /// Its name, within 63 characters.
    pub fn name(&self) -> String {
        match self {
            Self::Release { release } => shortened(&format!("release.{release}")),
            Self::Namespace { namespace } => shortened(&format!("namespace.{namespace}")),
            Self::Cluster { namespace, cluster, part } => {
                let base = format!("cluster.{namespace}.{cluster}");
                shortened(&match part {
                    ClusterPart::Cluster => base,
                    ClusterPart::Addons => format!("{base}.addons"),
                    ClusterPart::Objects => format!("{base}.objects"),
                    ClusterPart::Ready => format!("{base}.ready"),
                    ClusterPart::Manifests { addon } => format!("{base}.addon.{addon}"),
                })
            }
        }
    }
}

/// The name of the object that installs an addon's chart, in the cluster's namespace.
pub fn installer_name(cluster: &Cluster, addon: &str) -> String {
    shortened(&format!("{}.{addon}", cluster.name))
}
