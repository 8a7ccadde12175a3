//! Lists releases, with their content and their users.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{Release, Releases, number};
use crate::{
    definition::{Channel, Definitions, Maturity, Model},
    knowledge,
    model::{
        Cluster, ClusterId, Engine, EngineSource, GitReference, KubernetesVersion, ManagementCluster, Minor,
        ReleaseRef, ReleaseSource, StackId,
    },
    world::stands_in,
    yaml::Sources,
};

/// A release, with the data that people need to choose one.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The release itself.
    pub release: Arc<Release>,
    /// The maturity of its Kubernetes minor; none if the stack no longer serves the minor.
    pub maturity: Option<Maturity>,
    /// Whether its stack is in this repository. Otherwise, nothing but the release itself is known.
    pub stack_is_here: bool,
    /// When the Kubernetes minor reaches its end of life.
    pub end_of_life: Option<String>,
    /// The clusters that use it.
    pub clusters: Vec<ClusterId>,
    /// Whether a cluster definition contains its name, even in a comment.
    pub named: bool,
    /// Whether it is the newest of its stack, minor and channel; in the channel `custom`, of its word.
    pub newest: bool,
    /// The source it was pulled from; none if it was cut in this repository.
    pub source: Option<String>,
}

/// All releases of a fleet.
#[derive(Clone, Debug, Default)]
pub struct ReleaseList {
    /// The valid releases, sorted by stack, minor, channel and version.
    pub listed: Vec<Listed>,
    /// The names of the rejected releases.
    pub refused: BTreeSet<String>,
    /// The branches that the engines read.
    pub branches: BTreeSet<String>,
    /// The class namespaces of the management clusters by name, each with the engine that applies it.
    pub class_namespaces: BTreeMap<String, (String, Engine)>,
    /// The places where other repositories publish releases.
    pub sources: Vec<ReleaseSource>,
}

/// Lists the numbered releases, and those head releases that clusters use.
pub fn release_list(
    definitions: &Definitions,
    model: &Model,
    releases: &Releases,
    sources: &Sources,
) -> ReleaseList {
    let mut users: BTreeMap<String, BTreeSet<ClusterId>> = BTreeMap::new();
    for cluster in &model.clusters {
        for name in used(cluster, releases) {
            users.entry(name).or_default().insert(cluster.id());
        }
    }
    let heads = releases.heads.values().filter(|head| users.contains_key(&head.name));
    let mut listed: Vec<_> = releases
        .named
        .values()
        .chain(heads)
        .map(|release| {
            let (maturity, end_of_life) = served(definitions, release);
            Listed {
                maturity,
                end_of_life,
                stack_is_here: definitions.stacks.contains_key(&release.stack.to_string()),
                clusters: users.get(&release.name).into_iter().flatten().cloned().collect(),
                named: ["clusters", "rollouts"]
                    .iter()
                    .flat_map(|folder| sources.below(folder))
                    .any(|source| stands_in(&release.name, &source.text)),
                newest: releases.is_newest(release),
                source: model.lock.releases.get(&release.name).map(|locked| locked.source.clone()),
                release: release.clone(),
            }
        })
        .collect();
    listed.sort_by_cached_key(|one| {
        let release = &one.release;
        let channel = channel_order(release.channel);
        let version = number::order(release.channel, &release.version);
        (release.stack.clone(), release.kubernetes.minor(), channel, version)
    });
    let managements = &model.fleet.management_clusters;
    let branch = |one: &Arc<ManagementCluster>| match &one.source {
        EngineSource::Git { reference: GitReference::Branch(branch), .. } => Some(branch.clone()),
        _ => None,
    };
    let namespace =
        |one: &Arc<ManagementCluster>| (one.name.to_string(), (one.class_namespace.to_string(), one.engine));
    ReleaseList {
        listed,
        refused: releases.refused.keys().cloned().collect(),
        branches: managements.iter().filter_map(branch).collect(),
        class_namespaces: managements.iter().map(namespace).collect(),
        sources: model.fleet.release_sources.clone(),
    }
}

/// The releases that a cluster uses: its own, and those that supply single addons.
fn used(cluster: &Cluster, releases: &Releases) -> Vec<String> {
    let own = match &cluster.release {
        ReleaseRef::Named(name) => Some(name.to_string()),
        ReleaseRef::Head(stack, minor) => {
            releases.heads.get(&(stack.clone(), *minor)).map(|head| head.name.clone())
        }
    };
    let borrowed = cluster.addons.values().filter_map(|choice| choice.release.as_ref());
    own.into_iter().chain(borrowed.map(|(name, _)| name.clone())).collect()
}

pub(super) fn channel_order(channel: Channel) -> u8 {
    match channel {
        Channel::Stable => 0,
        Channel::Beta => 1,
        Channel::Custom => 2,
        Channel::Hash => 3,
    }
}

/// The maturity and end of life of a release's minor, from its stack. The end of life falls back to the built-in data.
pub(super) fn served(definitions: &Definitions, release: &Release) -> (Option<Maturity>, Option<String>) {
    served_minor(definitions, &release.stack, release.kubernetes.minor())
}

/// Like [`served`], for a minor of a stack.
pub(super) fn served_minor(
    definitions: &Definitions,
    stack: &StackId,
    minor: Minor,
) -> (Option<Maturity>, Option<String>) {
    let stack = definitions.stacks.get(&stack.to_string());
    let minors = stack.map(|folder| folder.stack.value.spec.kubernetes.as_slice()).unwrap_or_default();
    let of = |version: &str| KubernetesVersion::parse(version).is_ok_and(|version| version.minor() == minor);
    let found = minors.iter().find(|one| of(&one.version));
    let end_of_life = found.and_then(|one| one.end_of_life.clone());
    let known = || knowledge::end_of_life(minor).map(|date| date.to_string());
    (found.map(|one| one.maturity), end_of_life.or_else(known))
}
