//! Requirements of a release that a management cluster doesn't meet. `check` reports them, and plans avoid such releases.

use std::collections::{BTreeMap, BTreeSet};

use super::{Release, group_of};
use crate::{
    knowledge::{self, Fit},
    model::{ManagementCluster, VersionRange},
    yaml::{Node, Origin},
};

/// A requirement of a release that, according to the fleet's definition, a management cluster doesn't meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmet {
    /// The requirement, as a predicate: ``needs openstack >=0.13``.
    pub need: String,
    /// The actual state, as a clause: `` `eu` has 0.12 ``.
    pub found: String,
    /// How to meet the requirement.
    pub way: String,
    /// The origin of the statement about the actual state.
    pub origin: Origin,
    /// Whether the actual state is unknown, so that the requirement may be met.
    pub is_doubtful: bool,
}

/// The finding that Cluster API doesn't support the Kubernetes version of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// The finding, as a sentence.
    pub message: String,
    /// The supported versions, and the source of this information.
    pub why: String,
    /// The way out in the management cluster.
    pub way: &'static str,
    /// The origin of the statement: that of the fleet itself, or the definition of the management cluster.
    pub origin: Origin,
}

/// The way out if the built-in data says that Cluster API does not support a version.
const UPGRADE: &str = "upgrade Cluster API, and change `clusterApi` in stackloom.yaml";
/// The same, if the exact version is declared, too.
const UPGRADE_EXACT: &str =
    "upgrade Cluster API, and change `clusterApi` and `providers.cluster-api` in stackloom.yaml";

/// The same, if another patch version is enough.
const UPGRADE_PATCH: &str = "upgrade Cluster API, and change `providers.cluster-api` in stackloom.yaml";

/// The name of Cluster API itself in the list of providers.
const CORE: &str = "cluster-api";

impl Release {
    /// Lists all unmet requirements. The Kubernetes version is checked by [`Release::unsupported`].
    pub fn unmet(&self, management: &ManagementCluster) -> Vec<Unmet> {
        let mut judge = Judge { release: self, management, found: Vec::new() };
        for (provider, range) in &self.requires.providers {
            judge.provider(provider, range);
        }
        for gate in self.needed_gates() {
            judge.gate(&gate);
        }
        judge.api_versions();
        judge.found
    }

    /// Reports whether the Cluster API of a management cluster doesn't support the Kubernetes version of the release.
    pub fn unsupported(&self, management: &ManagementCluster) -> Option<Unsupported> {
        let (cluster_api, minor) = (management.cluster_api, self.kubernetes.minor());
        let (version, is_exact) = management.cluster_api_version();
        let message = format!("Cluster API {cluster_api} does not support Kubernetes {minor}");
        let component = knowledge::cluster_api();
        let way = if is_exact { UPGRADE_EXACT } else { UPGRADE };
        let origin = management.provided.cluster_api_origin;
        match component.fit(&version, is_exact, &self.kubernetes, &management.assumptions) {
            Fit::Fits => None,
            Fit::Assumed(one) => {
                let range = &one.kubernetes;
                let why = format!(
                    "it supports {range}, according to `compatibility` in stackloom.yaml: {}",
                    one.reason
                );
                let way = "upgrade Cluster API, or correct the entry in `compatibility`";
                Some(Unsupported { message, why, way, origin: one.origin })
            }
            Fit::Unlisted(row) => {
                let why = format!("it supports {} ({})", row.kubernetes, row.found);
                Some(Unsupported { message, why, way, origin })
            }
            Fit::Since(row, since) => Some(Unsupported {
                message: format!("Cluster API {version} does not support Kubernetes {minor}"),
                why: format!("version {since} of it does ({})", row.found),
                way: UPGRADE_PATCH,
                origin,
            }),
        }
    }
}

impl Release {
    /// The patch version from which on Cluster API supports the Kubernetes version, and where that was found, if only the minor
    /// of Cluster API is declared, so that it may be older.
    pub fn supported_since(
        &self,
        management: &ManagementCluster,
    ) -> Option<(&'static semver::Version, &'static str)> {
        let (version, is_exact) = management.cluster_api_version();
        let found = knowledge::cluster_api().fit(&version, true, &self.kubernetes, &management.assumptions);
        match found {
            Fit::Since(row, since) if !is_exact => Some((since, &row.found.source)),
            _ => None,
        }
    }
}

struct Judge<'a> {
    release: &'a Release,
    management: &'a ManagementCluster,
    found: Vec<Unmet>,
}

impl Judge<'_> {
    fn provider(&mut self, provider: &str, range: &VersionRange) {
        let name = &self.management.name;
        if let Some((version, origin)) = self.management.provided.providers.get(provider) {
            if !range.contains(version) {
                let way = if range.is_exceeded_by(version) {
                    format!(
                        "leave {provider} in `{name}` on a version of that range until these clusters have moved"
                    )
                } else {
                    format!("upgrade {provider} in `{name}`, and change its version in stackloom.yaml")
                };
                let origin = *origin;
                self.refuse(
                    origin,
                    format!("needs {provider} {range}"),
                    format!("`{name}` has {version}"),
                    way,
                );
            }
            return;
        }
        if provider == CORE {
            let minor = self.management.cluster_api;
            // Only the minor is known, so the range is tested with the first patch version and a very late one.
            let patch = |patch| semver::Version::new(minor.major, minor.minor, patch);
            if !range.contains(&patch(0)) && !range.contains(&patch(9_999)) {
                let way =
                    format!("upgrade Cluster API in `{name}`, and change `clusterApi` in stackloom.yaml");
                let (need, found) = (format!("needs Cluster API {range}"), format!("`{name}` has {minor}"));
                self.refuse(self.management.provided.cluster_api_origin, need, found, way);
            }
            return;
        }
        self.doubt(
            format!("needs {provider} {range}"),
            format!("stackloom.yaml does not say what `{name}` has"),
            format!("add it to the management cluster: `providers: {{ {provider}: <version> }}`"),
        );
    }

    fn gate(&mut self, gate: &str) {
        let name = &self.management.name;
        let need = format!("needs the feature gate `{gate}` of Cluster API");
        match self.management.gate(gate) {
            Some(true) => {}
            Some(false) => {
                let way = format!(
                    "turn it on in `{name}`, and write `featureGates: {{ {gate}: true }}` in stackloom.yaml"
                );
                let origin = self.management.provided.feature_gates_origin;
                self.refuse(origin, need, format!("it is off in `{name}`"), way);
            }
            None => self.doubt(
                need,
                format!("stackloom.yaml does not say whether it is on in `{name}`"),
                format!("once it is on, add `featureGates: {{ {gate}: true }}`"),
            ),
        }
    }

    /// Checks the API versions of the class objects.
    fn api_versions(&mut self) {
        let known = &self.management.provided.api_versions;
        let used: BTreeSet<&str> = self
            .release
            .objects
            .iter()
            .filter_map(|object| object.get("apiVersion").and_then(Node::as_str))
            .collect();
        let mut missing: BTreeMap<&str, &str> = BTreeMap::new();
        for version in used {
            let (group, short) = (group_of(version), version.rsplit('/').next().unwrap_or_default());
            if known.get(group).is_some_and(|(served, _)| !served.contains(short)) {
                missing.insert(version, group);
            }
        }
        for (version, group) in missing {
            let (served, origin) = &known[group];
            let served: Vec<_> = served.iter().map(String::as_str).collect();
            self.refuse(
                *origin,
                format!("has objects of `{version}`"),
                format!("`{}` serves {} of that group", self.management.name, served.join(", ")),
                "upgrade the provider, and change `apiVersions` in stackloom.yaml".to_owned(),
            );
        }
    }

    fn own_place(&self) -> Origin {
        self.management.provided.origin
    }

    fn refuse(&mut self, origin: Origin, need: String, found: String, way: String) {
        self.found.push(Unmet { need, found, way, origin, is_doubtful: false });
    }

    fn doubt(&mut self, need: String, found: String, way: String) {
        self.found.push(Unmet { need, found, way, origin: self.own_place(), is_doubtful: true });
    }
}
