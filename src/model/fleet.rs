//! A fleet and its management clusters.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use semver::Version;

use super::{
    AddonDelivery, ArgoCd, Engine, Label, Minor, ReleaseRepository, StackId, Subdomain, VersionRange,
};
use crate::yaml::Origin;

/// Feature gates that Cluster API enables by default, plus `ClusterTopology`, without which there are no classes.
const ON_BY_DEFAULT: [&str; 4] = [
    "ClusterTopology",
    "MachinePool",
    "MachineSetPreflightChecks",
    "MachineWaitForVolumeDetachConsiderVolumeAttachments",
];

/// Feature gates that are enabled by default in some minors of Cluster API only.
const DEPENDS_ON_VERSION: [&str; 2] = ["PriorityQueue", "ReconcilerRateLimiting"];

/// The settings of a whole repository.
#[derive(Clone, Debug)]
pub struct Fleet {
    pub name: Label,
    pub management_clusters: Vec<Arc<ManagementCluster>>,
    /// The places where other repositories publish releases.
    pub release_sources: Vec<ReleaseSource>,
    /// The forge for pull requests, if specified.
    pub forge: Option<Forge>,
}

/// The forge that holds the repository and its pull requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forge {
    /// The software that runs there.
    pub kind: ForgeKind,
    /// The address of its start page, without a trailing slash; by default, that of the remote's host.
    pub url: Option<String>,
    /// The repository there, such as `platform/fleet`; by default, the path of the remote.
    pub project: Option<String>,
}

/// The software of a forge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForgeKind {
    /// github.com, or GitHub Enterprise Server.
    GitHub,
    /// gitlab.com, or a self-managed GitLab.
    GitLab,
    /// Forgejo, such as codeberg.org, or Gitea.
    Forgejo,
}

impl ForgeKind {
    /// The product name.
    pub fn name(self) -> &'static str {
        match self {
            Self::GitHub => "GitHub",
            Self::GitLab => "GitLab",
            Self::Forgejo => "Forgejo",
        }
    }

    /// The product's term for a proposed change.
    pub fn request(self) -> &'static str {
        match self {
            Self::GitHub | Self::Forgejo => "pull request",
            Self::GitLab => "merge request",
        }
    }

    /// How a text refers to a request: the forge makes a link of it. On GitLab, `#` refers to an issue.
    pub fn reference(self, number: u64) -> String {
        match self {
            Self::GitLab => format!("!{number}"),
            Self::GitHub | Self::Forgejo => format!("#{number}"),
        }
    }

    /// What precedes the title of a request that is not ready to be merged. GitLab and Forgejo refuse to merge it; on GitHub, it
    /// is only a word.
    ///
    /// Source: GitLab's documentation of draft merge requests; `WORK_IN_PROGRESS_PREFIXES` of Forgejo and Gitea.
    pub fn draft(self) -> &'static str {
        match self {
            Self::GitHub | Self::GitLab => "Draft: ",
            Self::Forgejo => "WIP: ",
        }
    }
}

/// A place where releases are published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseSource {
    /// The registry or git repository that has them.
    pub repository: ReleaseRepository,
    /// The public key that must have signed the artifacts, as a path relative to the root of the fleet.
    pub key: Option<String>,
    /// Whether signatures must be recorded in cosign's transparency log.
    pub transparency_log: bool,
    /// The stacks to follow; all stacks if empty.
    pub stacks: BTreeSet<StackId>,
}

/// A cluster that runs Cluster API and the engine.
#[derive(Clone, Debug)]
pub struct ManagementCluster {
    pub name: Label,
    /// The engine that reconciles the tree there.
    pub engine: Engine,
    /// The default addon delivery of its workload clusters.
    pub addon_delivery: AddonDelivery,
    /// The source from which the engine reads this repository.
    pub source: EngineSource,
    /// The folder of the fleet within the repository; empty for the root.
    pub folder: String,
    /// The minor version of Cluster API.
    pub cluster_api: Minor,
    /// The namespace of all cluster classes.
    pub class_namespace: Label,
    /// How the engine decrypts the users' own objects next to their clusters.
    pub decryption: Option<Decryption>,
    /// Replacements for prefixes of chart repository addresses. The longest matching prefix wins.
    pub mirrors: Vec<Mirror>,
    /// Whether all objects are written as suspended.
    pub standby: bool,
    /// How Argo CD applies the tree, if it is the engine.
    pub argocd: ArgoCd,
    /// Statements of the fleet that override the built-in compatibility data.
    pub assumptions: Arc<[Assumption]>,
    /// The components that run there, as far as specified.
    pub provided: Provided,
}

impl ManagementCluster {
    /// The namespace that a setting gives to the engine, if it has such a setting.
    pub fn engine_namespace(&self) -> Option<&Label> {
        self.engine.settings().map(|_| &self.argocd.namespace)
    }

    /// The branch that the engine reads; none if it reads a tag or an existing source object.
    pub fn branch(&self) -> Option<&str> {
        match &self.source {
            EngineSource::Git { reference: GitReference::Branch(branch), .. } => Some(branch),
            _ => None,
        }
    }
}

/// The components of a management cluster, as far as specified.
#[derive(Clone, Debug)]
pub struct Provided {
    /// The versions of Cluster API and its providers, by name, each with its origin.
    pub providers: BTreeMap<String, (Version, Origin)>,
    /// The feature gates that are explicitly on or off; none if not specified.
    pub feature_gates: Option<BTreeMap<&'static str, bool>>,
    /// The origin of the feature gates; that of the definition if they are not specified.
    pub feature_gates_origin: Origin,
    /// The API versions that it serves, by group, each with its origin. Groups that are missing here are unknown.
    pub api_versions: BTreeMap<String, (BTreeSet<String>, Origin)>,
    /// The origin of the version of Cluster API: of the exact one, or of its minor.
    pub cluster_api_origin: Origin,
    /// The origin of the management cluster's definition.
    pub origin: Origin,
}

/// A statement of the fleet about versions of a component, which overrides the built-in data.
#[derive(Clone, Debug)]
pub struct Assumption {
    /// The component that it is about.
    pub component: Arc<str>,
    /// The versions of the component.
    pub versions: VersionRange,
    /// The Kubernetes versions that they work with.
    pub kubernetes: VersionRange,
    /// The reason for the statement.
    pub reason: Arc<str>,
    /// The origin of the statement.
    pub origin: Origin,
}

impl ManagementCluster {
    /// Reports whether a feature gate is on; none if that is unknown.
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

    /// The mirror that stands for a chart repository; none if no mirror does.
    pub fn mirror_of(&self, repository: &str) -> Option<&Mirror> {
        let matching = self.mirrors.iter().filter(|mirror| mirror.rest(repository).is_some());
        matching.max_by_key(|mirror| mirror.from.len())
    }

    /// The address of a chart repository as this management cluster should use it.
    pub fn mirrored(&self, repository: &str) -> String {
        let mirrored = self.mirror_of(repository).and_then(|mirror| Some((mirror, mirror.rest(repository)?)));
        match mirrored {
            Some((Mirror { from, to, .. }, rest)) => {
                let gap = if from.ends_with('/') && !to.ends_with('/') { "/" } else { "" };
                format!("{to}{gap}{rest}").trim_end_matches('/').to_owned()
            }
            None => repository.to_owned(),
        }
    }
}

/// A replacement for the prefix of chart repository addresses.
#[derive(Clone, Debug)]
pub struct Mirror {
    /// The prefix that is replaced.
    pub from: String,
    /// The replacement.
    pub to: String,
    /// The origin of the mirror's definition.
    pub origin: Origin,
}

impl Mirror {
    /// The rest of a repository address after the prefix, if it has this prefix.
    pub fn rest(&self, repository: &str) -> Option<String> {
        // Addresses occur with and without a trailing slash.
        let address = format!("{}/", repository.trim_end_matches('/'));
        address.strip_prefix(&self.from).map(str::to_owned)
    }
}

/// The source from which the engine reads this repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EngineSource {
    /// A git repository. Its source object is part of the tree.
    Git {
        /// The address of the repository.
        url: String,
        /// The branch or tag to follow.
        reference: GitReference,
        /// The Secret with the credentials.
        secret: Option<Subdomain>,
    },
    /// A source object that already exists.
    Existing {
        /// The kind of the object.
        kind: &'static str,
        /// The name of the object.
        name: Subdomain,
        /// The namespace of the object, if it differs from the engine's.
        namespace: Option<Label>,
    },
}

/// The reference that a git source follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GitReference {
    Branch(String),
    Tag(String),
}

/// The engine's settings for decryption.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decryption {
    /// The tool that encrypted the objects.
    pub provider: &'static str,
    /// The Secret with the keys, for an engine that decrypts itself.
    pub secret: Option<Subdomain>,
    /// The plugin that decrypts, for an engine that does not.
    pub plugin: Option<String>,
}
