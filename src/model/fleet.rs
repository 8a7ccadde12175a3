//! A fleet and its management clusters.

use std::{collections::BTreeSet, sync::Arc};

use super::{Label, Minor, ReleaseRepository, StackId, Subdomain, VersionRange};
use crate::yaml::Origin;

/// What holds for a whole repository.
#[derive(Clone, Debug)]
pub struct Fleet {
    /// What it is called.
    pub name: Label,
    /// Its management clusters, by name.
    pub management_clusters: Vec<Arc<ManagementCluster>>,
    /// Where other repositories publish releases.
    pub release_sources: Vec<ReleaseSource>,
}

/// Where releases are published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseSource {
    /// The repository.
    pub repository: ReleaseRepository,
    /// The public key that artifacts must be signed with, as a path from the root of the fleet.
    pub key: Option<String>,
    /// Whether a signature must be in cosign's transparency log.
    pub transparency_log: bool,
    /// The stacks of interest; all where there is none.
    pub stacks: BTreeSet<StackId>,
}

/// A cluster that runs Cluster API and the engine.
#[derive(Clone, Debug)]
pub struct ManagementCluster {
    /// Its name.
    pub name: Label,
    /// What reconciles the tree there.
    pub engine: Engine,
    /// What installs addons into workload clusters.
    pub addon_delivery: AddonDelivery,
    /// Where the engine reads this repository from.
    pub source: EngineSource,
    /// The folder of the fleet inside the repository; empty for its root.
    pub folder: String,
    /// The minor of Cluster API.
    pub cluster_api: Minor,
    /// The namespace of all cluster classes.
    pub class_namespace: Label,
    /// How the engine decrypts what users put beside their clusters.
    pub decryption: Option<Decryption>,
    /// Chart repositories taken from elsewhere: what an address begins with, and what stands there instead; the
    /// longest beginning wins.
    pub mirrors: Vec<Mirror>,
    /// Whether everything is emitted suspended.
    pub standby: bool,
    /// What the fleet knows better than the data that is built in.
    pub assumptions: Arc<[Assumption]>,
}

/// What a fleet says of versions of a component, in place of what is built in.
#[derive(Clone, Debug)]
pub struct Assumption {
    /// The component.
    pub component: Arc<str>,
    /// Its versions.
    pub versions: VersionRange,
    /// The Kubernetes versions that they work with.
    pub kubernetes: VersionRange,
    /// Why.
    pub reason: Arc<str>,
    /// Where it stands.
    pub origin: Origin,
}

impl ManagementCluster {
    /// Where a chart repository is to be had in this management cluster.
    pub fn mirrored(&self, repository: &str) -> String {
        let matching = self.mirrors.iter().filter_map(|mirror| Some((mirror, mirror.rest(repository)?)));
        match matching.max_by_key(|(mirror, _)| mirror.from.len()) {
            Some((Mirror { from, to, .. }, rest)) => {
                let gap = if from.ends_with('/') && !to.ends_with('/') { "/" } else { "" };
                format!("{to}{gap}{rest}").trim_end_matches('/').to_owned()
            }
            None => repository.to_owned(),
        }
    }
}

/// A chart repository that is taken from elsewhere.
#[derive(Clone, Debug)]
pub struct Mirror {
    /// What an address begins with.
    pub from: String,
    /// What stands there instead.
    pub to: String,
    /// Where it is said.
    pub origin: Origin,
}

impl Mirror {
    /// What follows in the address of a repository, if it begins as the mirror says.
    pub fn rest(&self, repository: &str) -> Option<String> {
        // People write addresses with a slash at the end and without.
        let address = format!("{}/", repository.trim_end_matches('/'));
        address.strip_prefix(&self.from).map(str::to_owned)
    }
}

/// What reconciles the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Flux.
    Flux,
}

impl Engine {
    /// All of them.
    pub const ALL: [Self; 1] = [Self::Flux];
}

/// What installs addons into workload clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddonDelivery {
    /// `HelmReleases` of Flux, in the management cluster.
    FluxHelmRelease,
}

impl AddonDelivery {
    /// All of them.
    pub const ALL: [Self; 1] = [Self::FluxHelmRelease];

    /// What goes with an engine where nothing else is said.
    pub fn of(engine: Engine) -> Self {
        match engine {
            Engine::Flux => Self::FluxHelmRelease,
        }
    }
}

/// Where the engine reads this repository from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EngineSource {
    /// A git repository, whose source object is part of the tree.
    Git {
        /// Its address.
        url: String,
        /// What to follow.
        reference: GitReference,
        /// The Secret with credentials.
        secret: Option<Subdomain>,
    },
    /// A source object that exists already.
    Existing {
        /// Its kind.
        kind: &'static str,
        /// Its name.
        name: Subdomain,
        /// Its namespace, when it is not the engine's.
        namespace: Option<Label>,
    },
}

/// What a git source follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GitReference {
    /// A branch.
    Branch(String),
    /// A tag.
    Tag(String),
}

/// Passed on to Flux.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decryption {
    /// What encrypted the objects.
    pub provider: &'static str,
    /// The Secret with the keys.
    pub secret: Option<Subdomain>,
}
