//! The position of a cluster: how long its Kubernetes version is patched, which releases it could move to, and how its
//! addons differ from those of its release. The current day is not known here.

use std::{collections::BTreeSet, sync::Arc};

use super::{ChosenAddon, Release, Releases, list::served, number};
use crate::{
    definition::{Channel, Definitions},
    model::{AddonVersion, Cluster, Date, Minor, RemovalStep},
    note::Notes,
};

/// The position of all clusters of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// When the Kubernetes minor reaches its end of life, according to the stack.
    pub end_of_life: Option<Date>,
    /// The newest numbered release of its minor and channel; none for a head release, which is always the newest.
    pub newest: Option<String>,
    /// The later Kubernetes minors of its stack that clusters can move to. For a numbered release, these are the minors with
    /// a release of the same channel; for a head release, those that the stack serves.
    pub newer_minors: BTreeSet<Minor>,
}

/// A change that a cluster makes to an addon of its release, other than to its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddonDifference {
    pub name: String,
    pub released: Option<AddonVersion>,
    /// The version in the cluster; none if the cluster lacks the addon, or the addon has no version.
    pub version: Option<AddonVersion>,
    /// Whether the cluster has it.
    pub is_enabled: bool,
    /// The other release that supplies it.
    pub taken_from: Option<String>,
    /// The step of its removal, if it is being removed.
    pub removal: Option<RemovalStep>,
}

/// The position of the clusters of a release.
pub fn standing(definitions: &Definitions, releases: &Releases, release: &Release) -> Standing {
    let (own_minor, channel) = (release.kubernetes.minor(), release.channel);
    let newer_minors = if channel == Channel::Hash {
        let of_stack = releases.heads.keys().filter(|(stack, _)| *stack == release.stack);
        of_stack.map(|(_, minor)| *minor).filter(|minor| *minor > own_minor).collect()
    } else {
        let minors = releases.line_of(release).map(|one| one.kubernetes.minor());
        minors.filter(|minor| *minor > own_minor).collect()
    };
    let of_minor = releases.line_of(release).filter(|one| one.kubernetes.minor() == own_minor);
    let newest = of_minor.max_by_key(|one| number::order(channel, &one.version));
    let (_, end_of_life) = served(definitions, release);
    Standing {
        end_of_life: end_of_life.as_deref().and_then(Date::parse),
        newest: newest.map(|one| one.name.clone()),
        newer_minors,
    }
}

/// The releases that the clusters of a release could use, oldest first: the numbered releases of the same stack and channel,
/// or for a head release, the heads of the stack.
pub fn line(releases: &Releases, release: &Release) -> Vec<Arc<Release>> {
    if release.is_head() {
        let of_stack = releases.heads.iter().filter(|((stack, _), _)| *stack == release.stack);
        return of_stack.map(|(_, head)| head.clone()).collect();
    }
    let mut line: Vec<_> = releases.line_of(release).cloned().collect();
    line.sort_by_key(|one| (one.kubernetes.minor(), number::order(one.channel, &one.version)));
    line
}

/// The changes that a cluster makes to the addons of its release, by addon name.
pub fn addon_differences(cluster: &Cluster, release: &Release, releases: &Releases) -> Vec<AddonDifference> {
    let differences = release.addons.iter().filter_map(|frozen| {
        let name = frozen.addon.name.as_str();
        let choice = cluster.addons.get(name)?;
        let other = choice.release.as_ref().and_then(|(other, origin)| {
            // A missing or rejected release is reported by `check`.
            releases.named(other, *origin, &mut Notes::new())
        });
        let supplied = other.as_ref().and_then(|other| other.addon(name)).unwrap_or(frozen);
        let chosen = ChosenAddon::new(Some(supplied), Some(choice));
        let is_enabled = chosen.is_enabled;
        let version = chosen.version().filter(|_| is_enabled).cloned();
        let taken_from = chosen.taken_from.map(str::to_owned);
        let removal = choice.removal.as_ref().map(|removal| removal.step);
        let differs = is_enabled != frozen.addon.enabled
            || removal.is_some()
            || taken_from.is_some()
            || (is_enabled && !is_same(version.as_ref(), frozen.version.as_ref()));
        let released = frozen.version.clone();
        differs.then(|| AddonDifference {
            name: name.to_owned(),
            released,
            version,
            is_enabled,
            taken_from,
            removal,
        })
    });
    differences.collect()
}

fn is_same(one: Option<&AddonVersion>, other: Option<&AddonVersion>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.is_same(other),
        _ => one.is_none() && other.is_none(),
    }
}
