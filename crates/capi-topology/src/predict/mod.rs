//! The whole flow: what happens when classes and a Cluster are written, and when they change.

pub mod adoption;
pub mod apart;
pub mod apply;
mod before;
mod behind;
pub mod change;
pub mod client_side;
pub mod create;
pub mod evidence;
pub mod field;
pub mod forecast;
mod found;
mod hands;
pub mod kubeadm;
mod dropped;
mod live;
mod manner;
pub mod objects;
pub mod observed;
pub mod provider;
pub mod reconcile;
pub mod report;
pub mod rollout;
pub mod running;
pub mod shared;
pub mod side;
pub mod steps;
pub mod stuck;
mod templates;
mod tries;
mod upgrading;
pub mod verdict;
pub mod waits;
pub mod writing;

use super::admission::gates::Gates;
use super::patches::Version as PatchVersion;
use super::upgrade::version::Version;

/// What is known of the management cluster.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Settings {
    /// The version of Cluster API.
    pub cluster_api: Version,
    /// Its feature gates.
    pub gates: Gates,
}

impl Settings {
    /// Settings for a version of Cluster API, `1.14` or `v1.14.2`.
    pub fn new(cluster_api: &str) -> Option<Self> {
        Version::tolerant(cluster_api).map(|cluster_api| Self { cluster_api, gates: Gates::default() })
    }

    /// The same with these feature gates.
    #[must_use]
    pub fn with_gates(self, gates: Gates) -> Self {
        Self { gates, ..self }
    }

    /// What the version decides about patches.
    pub fn patches(&self) -> PatchVersion {
        let at_least = (self.cluster_api.major, self.cluster_api.minor) >= (1, 14);
        PatchVersion { metadata_patches: at_least }
    }
}
