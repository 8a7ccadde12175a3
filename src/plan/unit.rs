//! Units: named groups of objects that an engine applies together.
//!
//! A name is derived only from release, namespace and cluster, and never changes, because an engine that sees a new name
//! deletes the objects of the old one. The parts of a name are joined by dots, which the parts don't contain where this
//! would be ambiguous. A name that is too long for a label value is cut and made unique by a hash.

use crate::model::{Cluster, shortened};

/// A group of objects that an engine applies together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    /// The cluster class and templates of a release.
    Release { release: String },
    /// A Namespace with the objects that its clusters share.
    Namespace { namespace: String },
    /// A part of a cluster.
    Cluster {
        /// The cluster's namespace.
        namespace: String,
        /// The cluster's name.
        cluster: String,
        part: ClusterPart,
    },
}

/// A part of a cluster that is applied as one unit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClusterPart {
    /// The Cluster and its other objects in the management cluster.
    Cluster,
    /// The objects in the management cluster that install the addons.
    Addons,
    /// The user's own objects.
    Objects,
    /// Objects that become ready when the cluster is ready.
    Ready,
    /// The manifests of an addon, in the workload cluster.
    Manifests { addon: String },
}

impl Unit {
    pub fn release(release: &str) -> Self {
        Self::Release { release: release.to_owned() }
    }

    pub fn namespace(namespace: &str) -> Self {
        Self::Namespace { namespace: namespace.to_owned() }
    }

    pub fn cluster(cluster: &Cluster, part: ClusterPart) -> Self {
        Self::Cluster { namespace: cluster.namespace.to_string(), cluster: cluster.name.to_string(), part }
    }

    /// The name of the unit, at most 63 characters.
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
