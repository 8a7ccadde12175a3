//! Which releases there are, what stands in them, and who uses them.

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

/// A release, for people who choose one.
#[derive(Clone, Debug)]
pub struct Listed {
    /// What it is.
    pub release: Arc<Release>,
    /// How far one may rely on its Kubernetes minor; none where the stack no longer serves it.
    pub maturity: Option<Maturity>,
    /// Whether its stack is here; of one that is not, nothing is known beside the release.
    pub stack_is_here: bool,
    /// When upstream stops patching that minor.
    pub end_of_life: Option<String>,
    /// The clusters that use it.
    pub clusters: Vec<ClusterId>,
    /// Whether its name stands in a definition of a cluster, comments included.
    pub named: bool,
    /// Whether it is the newest of its stack, minor and channel; of one word, in the channel `custom`.
    pub newest: bool,
    /// Where it was taken from; none for one that was cut here.
    pub source: Option<String>,
}

/// Every release of a fleet.
#[derive(Clone, Debug, Default)]
pub struct ReleaseList {
    /// The sound ones, by stack, minor, channel and version.
    pub listed: Vec<Listed>,
    /// The names of those that are refused.
    pub refused: BTreeSet<String>,
    /// The branches that engines read.
    pub branches: BTreeSet<String>,
    /// Where management clusters keep their classes: their names, those namespaces, and the engines that apply them.
    pub class_namespaces: BTreeMap<String, (String, Engine)>,
    /// Where other repositories publish releases.
    pub sources: Vec<ReleaseSource>,
}

/// Lists the numbered releases, and the head releases that clusters use.
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
                named: sources.below("clusters").any(|source| stands_in(&release.name, &source.text)),
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

/// The releases that a cluster is made from: its own, and those that it takes addons from.
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

/// What the stack says of a release's minor; if it says nothing of the end of life, what is built in.
pub(super) fn served(definitions: &Definitions, release: &Release) -> (Option<Maturity>, Option<String>) {
    served_minor(definitions, &release.stack, release.kubernetes.minor())
}

/// The same of a minor of a stack.
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
