//! Compatibility matrices: the addons of a stack against its Kubernetes minors, and the fleet against Kubernetes versions.
//!
//! For a stack in this repository, each minor is judged by the head release, the draft of the next release. For any other
//! stack, the newest release is used. The versions that numbered releases pin are added, because the matrix may have been
//! edited since and no longer list them.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{Release, Releases, list, number};
use crate::{
    definition::{Channel, Definitions, Maturity, Model},
    knowledge,
    model::{
        AddonVersion, Assumption, ClusterId, CompatibilityRule, Date, KubernetesVersion, Minor, StackId,
        VersionRange,
    },
    note::Notes,
    resolve::{Refused, Versions, excluded_by_chart},
};

/// The addons of a stack against its Kubernetes minors.
#[derive(Clone, Debug)]
pub struct StackMatrix {
    /// The Kubernetes minors, oldest first.
    pub columns: Vec<Column>,
    /// The versions of every addon: addons by name, versions newest first. Manifests without versions have one row.
    pub rows: Vec<AddonRow>,
    /// The rules that forbid a combination, by name.
    pub rules: Vec<CompatibilityRule>,
}

/// A Kubernetes minor of a stack.
#[derive(Clone, Debug)]
pub struct Column {
    /// The release whose matrix applies: the stack's head release, or else its newest release.
    pub release: Arc<Release>,
    /// The maturity of the minor; none if the stack no longer serves it.
    pub maturity: Option<Maturity>,
    /// The day on which patches end.
    pub end_of_life: Option<Date>,
}

/// One version of an addon.
#[derive(Clone, Debug)]
pub struct AddonRow {
    pub addon: String,
    /// The version; none for manifests without versions.
    pub version: Option<AddonVersion>,
    /// The results for each Kubernetes minor, in the order of the columns.
    pub cells: Vec<Cell>,
}

/// The result for one addon version and one Kubernetes version.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Whether they are compatible.
    pub fit: Compatibility,
    /// The releases of the minor that pin this version, sorted by channel and version, the head release last.
    pub pinned_by: Vec<PinningRelease>,
}

/// A release that pins a version.
#[derive(Clone, Debug)]
pub struct PinningRelease {
    pub release: Arc<Release>,
    /// Whether it is the newest of its minor and channel.
    pub is_newest: bool,
}

/// Whether an addon version is compatible with a Kubernetes version.
#[derive(Clone, Debug)]
pub enum Compatibility {
    /// The matrix lists it, and no rule forbids it.
    Fits,
    /// Like `Fits`, but the addon's own documentation, or the fleet, names only other Kubernetes versions.
    Untested {
        /// These versions.
        kubernetes: VersionRange,
        /// The documentation; none if the fleet itself says so.
        source: Option<String>,
    },
    /// The matrix lists it for other Kubernetes versions.
    OutOfRange(VersionRange),
    /// The matrix lists it, but the chart itself supports only these Kubernetes versions.
    OutOfChart(VersionRange),
    /// The matrix of this minor does not list it.
    Unlisted,
    /// The rule with this name forbids it.
    Denied(Arc<str>),
    /// The stack doesn't have this addon for this minor.
    Absent,
}

/// The Kubernetes versions that the chart of an addon supports; none if it supports all, or nothing is known about it.
pub type OfChart<'a> = &'a dyn Fn(&super::ReleaseAddon, &AddonVersion) -> Option<VersionRange>;

/// A Kubernetes version in use in the fleet.
#[derive(Clone, Debug)]
pub struct VersionRow {
    /// The exact version.
    pub kubernetes: KubernetesVersion,
    /// The stack of the clusters.
    pub stack: StackId,
    /// The maturity of the minor; none if the stack no longer serves it.
    pub maturity: Option<Maturity>,
    /// The day on which patches end.
    pub end_of_life: Option<Date>,
    pub clusters: Vec<ClusterId>,
}

/// Builds the matrix of a stack; none if neither the stack nor a release of it exists here.
pub fn stack_matrix(
    definitions: &Definitions,
    model: &Model,
    releases: &Releases,
    stack: &StackId,
    charts: OfChart<'_>,
) -> Option<StackMatrix> {
    let of_stack = |release: &&Arc<Release>| release.stack == *stack;
    let numbered: Vec<_> = releases.named.values().filter(of_stack).collect();
    let mut minors: BTreeMap<Minor, &Arc<Release>> = BTreeMap::new();
    let place = |one: &Release| (one.channel == Channel::Stable, number::order(one.channel, &one.version));
    for release in &numbered {
        let newest = minors.entry(release.kubernetes.minor()).or_insert(release);
        if place(release) > place(newest) {
            *newest = release;
        }
    }
    for head in releases.heads.values().filter(of_stack) {
        minors.insert(head.kubernetes.minor(), head);
    }
    if minors.is_empty() {
        return None;
    }
    let columns: Vec<_> = minors.values().map(|release| column(definitions, release)).collect();
    let pins = pins(releases, stack);
    // All management clusters of a fleet have the same assumptions.
    let assumptions =
        model.fleet.management_clusters.first().map(|one| &*one.assumptions).unwrap_or_default();
    let row = |(addon, version): (String, Option<AddonVersion>)| {
        let cell = |column| cell(&addon, version.as_ref(), column, &pins, (assumptions, charts));
        let cells = columns.iter().map(cell).collect();
        AddonRow { addon, version, cells }
    };
    let rows = versions(&columns, &numbered).into_iter().map(row).collect();
    Some(StackMatrix { rows, rules: rules(&columns), columns })
}

fn column(definitions: &Definitions, release: &Arc<Release>) -> Column {
    let (maturity, end_of_life) = list::served(definitions, release);
    let end_of_life = end_of_life.as_deref().and_then(Date::parse);
    Column { release: Arc::clone(release), maturity, end_of_life }
}

/// The releases of a stack by minor, each list sorted by channel and version.
fn pins(releases: &Releases, stack: &StackId) -> BTreeMap<Minor, Vec<PinningRelease>> {
    let mut pins: BTreeMap<Minor, Vec<PinningRelease>> = BTreeMap::new();
    let all = releases.named.values().chain(releases.heads.values());
    for release in all.filter(|release| release.stack == *stack) {
        let is_newest = release.is_head() || releases.is_newest(release);
        let pin = PinningRelease { release: Arc::clone(release), is_newest };
        pins.entry(release.kubernetes.minor()).or_default().push(pin);
    }
    for of_minor in pins.values_mut() {
        of_minor.sort_by_cached_key(|pin| {
            let release = &pin.release;
            (list::channel_order(release.channel), number::order(release.channel, &release.version))
        });
    }
    pins
}

/// The versions of all addons: those in a matrix and those that a release pins.
fn versions(columns: &[Column], numbered: &[&Arc<Release>]) -> Vec<(String, Option<AddonVersion>)> {
    let mut found: BTreeMap<(String, Reverse<Option<semver::Version>>), Option<AddonVersion>> =
        BTreeMap::new();
    let mut add = |addon: &str, version: Option<&AddonVersion>| {
        let key = Reverse(version.map(|version| version.as_semver().clone()));
        found.entry((addon.to_owned(), key)).or_insert_with(|| version.cloned());
    };
    for frozen in columns.iter().flat_map(|column| &column.release.addons) {
        let name = frozen.addon.name.as_str();
        if frozen.addon.matrix.is_empty() {
            add(name, None);
        }
        frozen.addon.matrix.iter().for_each(|row| add(name, Some(&row.version)));
    }
    for frozen in numbered.iter().flat_map(|release| &release.addons) {
        add(frozen.addon.name.as_str(), frozen.version.as_ref());
    }
    found.into_iter().map(|((addon, _), version)| (addon, version)).collect()
}

fn cell(
    addon: &str,
    version: Option<&AddonVersion>,
    column: &Column,
    pins: &BTreeMap<Minor, Vec<PinningRelease>>,
    known: (&[Assumption], OfChart<'_>),
) -> Cell {
    let of_minor = pins.get(&column.release.kubernetes.minor()).map_or(&[][..], Vec::as_slice);
    let is_pinned = |pin: &&PinningRelease| {
        pin.release.addon(addon).is_some_and(|frozen| match (&frozen.version, version) {
            (Some(pinned), Some(version)) => pinned.is_same(version),
            (pinned, version) => pinned.is_none() && version.is_none(),
        })
    };
    let pinned_by = of_minor.iter().filter(is_pinned).cloned().collect();
    Cell { fit: fit(addon, version, &column.release, known), pinned_by }
}

fn fit(
    addon: &str,
    version: Option<&AddonVersion>,
    release: &Release,
    (assumptions, charts): (&[Assumption], OfChart<'_>),
) -> Compatibility {
    let Some(frozen) = release.addon(addon) else { return Compatibility::Absent };
    let versions = Versions::new(&frozen.addon, &release.kubernetes, &release.compatibility);
    let Some(version) = version else {
        return match versions.forbidden(None) {
            Some(rule) => Compatibility::Denied(Arc::clone(&rule.name)),
            None if frozen.addon.matrix.is_empty() => Compatibility::Fits,
            None => Compatibility::Unlisted,
        };
    };
    match versions.asked(version, false) {
        Ok(version) => {
            if let Some(range) = excluded_by_chart(charts(frozen, version), &release.kubernetes) {
                return Compatibility::OutOfChart(range);
            }
            let component = frozen.addon.chart.as_ref().and_then(knowledge::installed_by);
            let known =
                component.map(|one| one.fit(version.as_semver(), true, &release.kubernetes, assumptions));
            match known {
                Some(knowledge::Fit::Unlisted(row) | knowledge::Fit::Since(row, _)) => {
                    Compatibility::Untested {
                        kubernetes: row.kubernetes.clone(),
                        source: Some(row.found.source.clone()),
                    }
                }
                Some(knowledge::Fit::Assumed(said)) => {
                    Compatibility::Untested { kubernetes: said.kubernetes.clone(), source: None }
                }
                Some(knowledge::Fit::Fits) | None => Compatibility::Fits,
            }
        }
        Err(Refused::Unlisted) => Compatibility::Unlisted,
        Err(Refused::OutOfRange(row)) => Compatibility::OutOfRange(row.kubernetes.clone()),
        Err(Refused::Forbidden(rule)) => Compatibility::Denied(Arc::clone(&rule.name)),
    }
}

fn rules(columns: &[Column]) -> Vec<CompatibilityRule> {
    let all = columns.iter().flat_map(|column| &column.release.compatibility);
    let by_name: BTreeMap<_, _> = all.map(|rule| (Arc::clone(&rule.name), rule.clone())).collect();
    by_name.into_values().collect()
}

/// Lists every Kubernetes version that a stack serves or a cluster has, oldest first. Also lists the clusters whose release
/// has errors.
pub fn fleet_matrix(
    definitions: &Definitions,
    model: &Model,
    releases: &Releases,
) -> (Vec<VersionRow>, Vec<ClusterId>) {
    let mut rows: BTreeMap<(KubernetesVersion, StackId), (Arc<Release>, BTreeSet<ClusterId>)> =
        BTreeMap::new();
    let mut row = |release: &Arc<Release>, cluster: Option<ClusterId>| {
        let key = (release.kubernetes.clone(), release.stack.clone());
        rows.entry(key).or_insert_with(|| (Arc::clone(release), BTreeSet::new())).1.extend(cluster);
    };
    releases.heads.values().for_each(|head| row(head, None));
    let mut unknown = Vec::new();
    for cluster in &model.clusters {
        // Errors of a release are reported by `check`.
        match releases.of(cluster, &mut Notes::new()) {
            Some(release) => row(&release, Some(cluster.id())),
            None => unknown.push(cluster.id()),
        }
    }
    let version = |((kubernetes, stack), (release, clusters))| {
        let Column { maturity, end_of_life, .. } = column(definitions, &release);
        let clusters = BTreeSet::into_iter(clusters).collect();
        VersionRow { kubernetes, stack, maturity, end_of_life, clusters }
    };
    (rows.into_iter().map(version).collect(), unknown)
}
