//! A fleet and its management clusters.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use semver::Version;

use super::{AddonDelivery, Label, Minor, ReleaseRepository, StackId, Subdomain, VersionRange};
use crate::yaml::Origin;

/// Feature gates that Cluster API turns on by itself, and the one without which there are no classes.
const ON_BY_DEFAULT: [&str; 4] = [
    "ClusterTopology",
    "MachinePool",
    "MachineSetPreflightChecks",
    "MachineWaitForVolumeDetachConsiderVolumeAttachments",
];

/// Feature gates that some minors of Cluster API turn on by themselves, and others do not.
const DEPENDS_ON_VERSION: [&str; 2] = ["PriorityQueue", "ReconcilerRateLimiting"];

/// What holds for a whole repository.
#[derive(Clone, Debug)]
pub struct Fleet {
    /// What it is called.
    pub name: Label,
    /// Its management clusters, by name.
    pub management_clusters: Vec<Arc<ManagementCluster>>,
    /// Where other repositories publish releases.
    pub release_sources: Vec<ReleaseSource>,
    /// Where pull requests are made, as far as it is said.
    pub forge: Option<Forge>,
}

/// Where pull requests are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forge {
    /// What runs there.
    pub kind: ForgeKind,
    /// The address of its start page, without a slash at its end; that of the remote's host if not said.
    pub url: Option<String>,
    /// The repository there, such as `platform/fleet`; the path of the remote if not said.
    pub project: Option<String>,
}

/// What serves pull requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForgeKind {
    /// github.com, or GitHub Enterprise Server.
    GitHub,
    /// gitlab.com, or a GitLab of one's own.
    GitLab,
    /// Forgejo, such as codeberg.org, or Gitea.
    Forgejo,
}

impl ForgeKind {
    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::GitHub => "GitHub",
            Self::GitLab => "GitLab",
            Self::Forgejo => "Forgejo",
        }
    }

    /// What it calls a proposed change.
    pub fn request(self) -> &'static str {
        match self {
            Self::GitHub | Self::Forgejo => "pull request",
            Self::GitLab => "merge request",
        }
    }
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
    /// What installs addons into the workload clusters that do not say otherwise.
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
    /// How Argo CD applies the tree, where it is the engine.
    pub argocd: ArgoCd,
    /// What the fleet knows better than the data that is built in.
    pub assumptions: Arc<[Assumption]>,
    /// What runs there, as far as it is said.
    pub provided: Provided,
}

impl ManagementCluster {
    /// The branch that the engine reads; none if it reads a tag, a commit, or an artifact.
    pub fn branch(&self) -> Option<&str> {
        match &self.source {
            EngineSource::Git { reference: GitReference::Branch(branch), .. } => Some(branch),
            _ => None,
        }
    }
}

/// What a management cluster has, as far as it is said.
#[derive(Clone, Debug)]
pub struct Provided {
    /// The versions of Cluster API and of its providers, by name, and where each stands.
    pub providers: BTreeMap<String, (Version, Origin)>,
    /// The feature gates that are on or off on purpose; none where nothing is said.
    pub feature_gates: Option<BTreeMap<&'static str, bool>>,
    /// The versions of APIs that it serves, by group; groups that are not named are not known.
    pub api_versions: BTreeMap<String, BTreeSet<String>>,
    /// Where the management cluster is defined.
    pub origin: Origin,
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
    /// Whether a feature gate is on; none where nobody says which are.
    pub fn gate(&self, name: &str) -> Option<bool> {
        let set = self.provided.feature_gates.as_ref()?;
        match set.get(name) {
            Some(on) => Some(*on),
            None if DEPENDS_ON_VERSION.contains(&name) => None,
            None => Some(ON_BY_DEFAULT.contains(&name)),
        }
    }

    /// The version of Cluster API, and whether it is exact.
    pub fn cluster_api_version(&self) -> (Version, bool) {
        match self.provided.providers.get("cluster-api") {
            Some((version, _)) => (version.clone(), true),
            None => (Version::new(self.cluster_api.major, self.cluster_api.minor, 0), false),
        }
    }

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
    /// Argo CD.
    ArgoCd,
}

impl Engine {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Flux, Self::ArgoCd];

    /// Its name, as people write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Flux => "Flux",
            Self::ArgoCd => "Argo CD",
        }
    }
}

/// How an Argo CD applies the tree of a management cluster. It may run in another cluster, a hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgoCd {
    /// The namespace of its Applications.
    pub namespace: Label,
    /// The management cluster, as it is registered there.
    pub destination: Destination,
    /// The project of the Applications that belong to no tenant.
    pub project: Subdomain,
    /// Whether it syncs on its own; else, a person starts each sync.
    pub automated: bool,
    /// Under which name workload clusters are registered there.
    pub cluster_names: ClusterNames,
}

impl Default for ArgoCd {
    fn default() -> Self {
        Self {
            namespace: Label::new("argocd").expect("a label"),
            destination: Destination::Own,
            project: Subdomain::new("default").expect("a subdomain"),
            automated: true,
            cluster_names: ClusterNames::default(),
        }
    }
}

/// A cluster that an Argo CD applies to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// The cluster that it runs in.
    Own,
    /// A cluster that is registered under a name.
    Name(String),
    /// A cluster that is registered with an address.
    Server(String),
}

/// A pattern for the names under which an Argo CD knows workload clusters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterNames(String);

impl Default for ClusterNames {
    fn default() -> Self {
        Self("{namespace}-{cluster}".to_owned())
    }
}

impl ClusterNames {
    /// What a pattern may hold in place of a cluster's own names.
    pub const PLACEHOLDERS: [&str; 3] = ["{managementCluster}", "{namespace}", "{cluster}"];

    /// A pattern; it must hold `{cluster}`, and no braces beside those of the placeholders.
    pub fn new(pattern: &str) -> Option<Self> {
        let rest = Self::PLACEHOLDERS.iter().fold(pattern.to_owned(), |rest, one| rest.replace(one, "x"));
        let plain = |c: char| c.is_ascii_alphanumeric() || "-._/".contains(c);
        (pattern.contains("{cluster}") && rest.chars().all(plain)).then(|| Self(pattern.to_owned()))
    }

    /// The name of a cluster.
    pub fn of(&self, management: &str, namespace: &str, cluster: &str) -> String {
        let values = Self::PLACEHOLDERS.into_iter().zip([management, namespace, cluster]);
        values.fold(self.0.clone(), |name, (placeholder, value)| name.replace(placeholder, value))
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

/// Passed on to the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decryption {
    /// What encrypted the objects.
    pub provider: &'static str,
    /// The Secret with the keys, for Flux.
    pub secret: Option<Subdomain>,
    /// The config management plugin that decrypts, for Argo CD.
    pub plugin: Option<String>,
}
