//! Collects what releases and the definition of a cluster state about each addon.

use std::{collections::BTreeSet, sync::Arc};

use super::{
    constraints::PlanningFleet,
    situation::{Constraint, ConstraintKind, Listing, Track, Version},
};
use crate::{
    knowledge,
    model::{AddonChoice, AddonVersion, Assumption, Cluster, RemovalStep, VersionRange},
    note::Notes,
    release::{ChosenAddon, Release, ReleaseAddon},
    resolve::{Versions, excluded_by_chart},
};

/// The parts of an addon's definition that affect a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AddonSettings {
    enabled: Option<bool>,
    is_gone: bool,
    version: Option<AddonVersion>,
    is_interim: bool,
    release: Option<String>,
    is_unlisted: bool,
}

impl AddonSettings {
    pub(super) fn of(choice: &AddonChoice) -> Self {
        let step = choice.removal.as_ref().map(|removal| removal.step);
        Self {
            enabled: choice.enabled,
            is_gone: step == Some(RemovalStep::Delete),
            version: choice.version.as_ref().map(|(version, _)| version.clone()),
            is_interim: choice.interim,
            release: choice.release.as_ref().map(|(release, _)| release.clone()),
            is_unlisted: choice.unlisted.is_some(),
        }
    }
}

/// The addons of a cluster along the upgrade. Addons without versions impose no constraints and are left out.
pub(super) fn tracks(
    cluster: &Cluster,
    line: &[Arc<Release>],
    start: usize,
    fleet: &PlanningFleet<'_>,
    (constraints, doubts): (&mut Vec<Constraint>, &mut Vec<String>),
) -> Vec<Track> {
    let names: BTreeSet<&str> =
        line.iter().flat_map(|release| &release.addons).map(|one| one.addon.name.as_str()).collect();
    let mut tracks = Vec::new();
    for name in &names {
        let choice = cluster.addons.get(*name);
        let assumptions = &cluster.management.assumptions;
        let borrowed = borrowed(choice, name, fleet);
        let addon = Addon { name, choice, line, start, borrowed, fleet, assumptions };
        tracks.extend(addon.track(constraints, doubts));
    }
    let at = |name: &str| tracks.iter().position(|track: &Track| track.name == name);
    let after: Vec<Vec<usize>> = tracks
        .iter()
        .map(|track| {
            let frozen = line.iter().rev().find_map(|release| release.addon(&track.name));
            let needed = frozen.into_iter().flat_map(|one| &one.addon.depends_on);
            needed.filter_map(|one| at(one.as_str())).collect()
        })
        .collect();
    for (track, after) in tracks.iter_mut().zip(after) {
        track.after = after;
    }
    tracks
}

/// The release that an addon is borrowed from, with the addon.
fn borrowed(
    choice: Option<&AddonChoice>,
    name: &str,
    fleet: &PlanningFleet<'_>,
) -> Option<(Arc<Release>, Arc<ReleaseAddon>)> {
    let (release, origin) = choice?.release.as_ref()?;
    // `check` reports a release that is missing or refused.
    let release = fleet.releases.named(release, *origin, &mut Notes::new())?;
    let addon = release.addon(name)?.clone();
    Some((release, addon))
}

struct Addon<'a> {
    name: &'a str,
    choice: Option<&'a AddonChoice>,
    line: &'a [Arc<Release>],
    start: usize,
    borrowed: Option<(Arc<Release>, Arc<ReleaseAddon>)>,
    fleet: &'a PlanningFleet<'a>,
    assumptions: &'a [Assumption],
}

impl<'a> Addon<'a> {
    fn track(&self, constraints: &mut Vec<Constraint>, doubts: &mut Vec<String>) -> Option<Track> {
        let pinned = self.choice.and_then(|choice| choice.version.as_ref()).map(|(version, _)| version);
        let is_special = self.borrowed.is_some()
            || pinned.is_some() && self.choice.is_some_and(|choice| choice.unlisted.is_some());
        let today = self.today();
        let versions = self.versions(today.as_ref(), is_special);
        if versions.is_empty() {
            return None;
        }
        let at = |version: &AddonVersion| {
            versions.iter().position(|one| !one.is_special && one.version.is_same(version))
        };
        let start = if is_special { Some(0) } else { today.as_ref().and_then(at) };
        let ranges: Vec<usize> = versions.iter().map(|version| self.range(version, constraints)).collect();
        let charts: Vec<Option<usize>> =
            versions.iter().map(|version| self.chart(version, constraints)).collect();
        let rules = self.rules(constraints);
        let listing = |release: &Arc<Release>| {
            let frozen = self.enabled(release)?;
            let own = at(frozen.version.as_ref()?)?;
            let broken = versions.iter().zip(&ranges).zip(&charts).map(|((version, range), chart)| {
                let mut broken: Vec<usize> =
                    (!self.fits(version, frozen, release)).then_some(*range).into_iter().collect();
                broken.extend(chart.filter(|_| self.refusal(version, frozen, release).is_some()));
                broken.extend(
                    rules.iter().filter(|(rule, _)| self.forbids(rule, version, release)).map(|(_, one)| one),
                );
                broken
            });
            let broken = broken.collect();
            let doubts = versions.iter().map(|one| self.doubt(one, frozen, release, doubts)).collect();
            Some(Listing { own, limit: frozen.addon.max_minor_step.map(|step| step.minors), broken, doubts })
        };
        let listings: Vec<_> = self.line.iter().map(listing).collect();
        let start = start.filter(|_| listings[self.start].is_some());
        let is_interim = self.choice.is_some_and(|choice| choice.interim);
        let held = pinned.is_some() && !is_interim || self.borrowed.is_some();
        let (step, back) = (self.step(constraints), self.back(constraints));
        let name = self.name.to_owned();
        Some(Track { name, held, start, versions, listings, after: Vec::new(), step, back })
    }

    /// The addon in a release, unless the cluster does not have it there.
    fn enabled(&self, release: &'a Release) -> Option<&'a Arc<ReleaseAddon>> {
        let frozen = release.addon(self.name)?;
        ChosenAddon::new(Some(frozen), self.choice).is_enabled.then_some(frozen)
    }

    /// The current version on the cluster.
    fn today(&self) -> Option<AddonVersion> {
        let borrowed = self.borrowed.as_ref().map(|(_, addon)| addon);
        let addon = borrowed.or_else(|| self.line[self.start].addon(self.name));
        ChosenAddon::new(addon.map(Arc::as_ref), self.choice).version().cloned()
    }

    /// All versions that the addon could have. A version that only the definition allows comes first.
    fn versions(&self, today: Option<&AddonVersion>, is_special: bool) -> Vec<Version> {
        let rows = self.line.iter().rev().filter_map(|release| release.addon(self.name));
        let listed = rows.flat_map(|frozen| {
            let own = frozen.version.iter();
            own.chain(frozen.addon.matrix.iter().map(|row| &row.version)).cloned().collect::<Vec<_>>()
        });
        let today = today.cloned();
        let mut plain: Vec<AddonVersion> = Vec::new();
        for version in listed.chain(today.clone().filter(|_| !is_special)) {
            if !plain.iter().any(|one| one.is_same(&version)) {
                plain.push(version);
            }
        }
        plain.sort();
        let special = today.filter(|_| is_special).map(|version| Version { version, is_special: true });
        let plain = plain.into_iter().map(|version| Version { version, is_special: false });
        special.into_iter().chain(plain).collect()
    }

    /// Whether the matrix supports a version on the Kubernetes version of a release, or the definition vouches for it.
    fn fits(&self, version: &Version, frozen: &ReleaseAddon, release: &Release) -> bool {
        let lists = |addon: &ReleaseAddon| {
            Versions::new(&addon.addon, &release.kubernetes, &[]).lists(&version.version)
        };
        if !version.is_special {
            let is_manifest = frozen.addon.matrix.is_empty();
            return is_manifest || lists(frozen);
        }
        let is_vouched = self.choice.is_some_and(|choice| choice.unlisted.is_some());
        match &self.borrowed {
            None => true,
            Some((other, addon)) => {
                let is_same_minor = other.kubernetes.minor() == release.kubernetes.minor();
                is_same_minor && (is_vouched || lists(addon))
            }
        }
    }

    /// The addon that a cluster installs with this version: its release's own, or a borrowed one.
    fn installed<'f>(&'f self, version: &Version, frozen: &'f ReleaseAddon) -> &'f ReleaseAddon {
        self.borrowed.as_ref().filter(|_| version.is_special).map_or(frozen, |(_, addon)| addon)
    }

    /// The Kubernetes versions that the chart supports, if they exclude the version of a release.
    fn refusal(&self, version: &Version, frozen: &ReleaseAddon, release: &Release) -> Option<VersionRange> {
        let frozen = self.installed(version, frozen);
        excluded_by_chart(self.fleet.charts().kubernetes(frozen, &version.version), &release.kubernetes)
    }

    /// Adds the doubt that public documentation, or the fleet, does not list a version for the Kubernetes version of a
    /// release.
    fn doubt(
        &self,
        version: &Version,
        frozen: &ReleaseAddon,
        release: &Release,
        doubts: &mut Vec<String>,
    ) -> Option<usize> {
        let frozen = self.installed(version, frozen);
        let component = frozen.addon.chart.as_ref().and_then(knowledge::installed_by)?;
        let (number, kubernetes) = (version.version.as_semver(), &release.kubernetes);
        let fit = component.fit(number, true, kubernetes, self.assumptions);
        let text = fit.doubt(component, &version.version.to_string(), kubernetes.minor())?;
        let known = doubts.iter().position(|one| *one == text);
        Some(known.unwrap_or_else(|| {
            doubts.push(text);
            doubts.len() - 1
        }))
    }

    /// Adds the constraint that a chart supports only some Kubernetes versions; none if it supports those of all releases.
    fn chart(&self, version: &Version, constraints: &mut Vec<Constraint>) -> Option<usize> {
        let mut there = self.line.iter().filter_map(|release| Some((release, self.enabled(release)?)));
        let (frozen, range) =
            there.find_map(|(release, frozen)| Some((frozen, self.refusal(version, frozen, release)?)))?;
        let (name, number) = (self.name, &version.version);
        let origin = self.fleet.charts().origin(self.installed(version, frozen), number);
        constraints.push(Constraint {
            kind: ConstraintKind::Chart,
            text: format!(
                "Helm refuses {name} {number} with other versions of Kubernetes than {range}, the `kubeVersion` of its chart"
            ),
            origin,
            lift: format!(
                "the stack {}: list a version of {name} whose chart takes these Kubernetes versions",
                self.line[self.start].stack
            ),
        });
        Some(constraints.len() - 1)
    }

    /// Adds a constraint for each rule of any release on this addon. The result lists them by name.
    fn rules(&self, constraints: &mut Vec<Constraint>) -> Vec<(Arc<str>, usize)> {
        let mut found: Vec<(Arc<str>, usize)> = Vec::new();
        // If releases word a rule differently, the newest wording is used.
        for release in self.line.iter().rev() {
            for rule in release.compatibility.iter().filter(|rule| rule.addon.as_str() == self.name) {
                if found.iter().any(|(name, _)| *name == rule.name) {
                    continue;
                }
                let way_out = rule.upgrade_to.as_ref().map(|version| {
                    format!(
                        "the stack {}: list {} {version} for these versions of Kubernetes",
                        release.stack, self.name
                    )
                });
                constraints.push(Constraint {
                    kind: ConstraintKind::Rule,
                    text: format!("{} (rule `{}`)", rule.deny, rule.name),
                    origin: Some(rule.origin),
                    lift: way_out.unwrap_or_else(|| {
                        format!(
                            "the stack {}: list a version of {} that the rule allows",
                            release.stack, self.name
                        )
                    }),
                });
                found.push((rule.name.clone(), constraints.len() - 1));
            }
        }
        found
    }

    fn forbids(&self, name: &str, version: &Version, release: &Release) -> bool {
        let of_other = self.borrowed.as_ref().filter(|_| version.is_special).map(|(other, _)| other);
        let rules =
            release.compatibility.iter().chain(of_other.into_iter().flat_map(|one| &one.compatibility));
        let mut rules = rules.filter(|rule| &*rule.name == name);
        rules.any(|rule| rule.forbids(self.name, Some(version.version.as_semver()), &release.kubernetes))
    }

    /// Adds the constraint that a version supports only some Kubernetes versions. Its place is in the first release that
    /// refuses the version.
    fn range(&self, version: &Version, constraints: &mut Vec<Constraint>) -> usize {
        let (name, number) = (self.name, &version.version);
        let stack = &self.line[self.start].stack;
        let lift = format!(
            "the stack {stack}: list a version of {name} with the Kubernetes versions that are needed"
        );
        let refused = self.line.iter().filter_map(|release| Some((release, self.enabled(release)?)));
        let mut refused = refused.filter(|(release, frozen)| !self.fits(version, frozen, release));
        let by_row = |(_, frozen): (&Arc<Release>, &Arc<ReleaseAddon>)| frozen.addon.row(number).cloned();
        let first_row = refused.clone().find_map(by_row);
        constraints.push(match (first_row, refused.next(), &self.borrowed) {
            (_, _, Some((other, _))) if version.is_special => Constraint {
                kind: ConstraintKind::Range,
                text: format!(
                    "{name} is taken from `{}`, which is possible with Kubernetes {} only",
                    other.name,
                    other.kubernetes.minor()
                ),
                origin: self.choice.and_then(|choice| choice.release.as_ref()).map(|(_, origin)| *origin),
                lift: "the cluster's owners: take the addon from its own release again".to_owned(),
            },
            (Some(row), ..) => Constraint {
                kind: ConstraintKind::Range,
                text: format!("{name} {number} works with Kubernetes {}", self.ranges(number)),
                origin: Some(row.kubernetes_origin),
                lift,
            },
            (None, Some((release, _)), _) => Constraint {
                kind: ConstraintKind::Unlisted,
                text: format!("the release `{}` does not list {name} {number}", release.name),
                origin: None,
                lift,
            },
            (None, None, _) => Constraint {
                kind: ConstraintKind::Range,
                text: format!("{name} {number} works with all of these versions of Kubernetes"),
                origin: None,
                lift,
            },
        });
        constraints.len() - 1
    }

    /// The Kubernetes versions that a version works with. If releases differ, each range has its releases.
    fn ranges(&self, version: &AddonVersion) -> String {
        let mut ranges: Vec<(String, Vec<&str>)> = Vec::new();
        for release in self.line {
            let Some(frozen) = self.enabled(release) else { continue };
            let Some(row) = frozen.addon.row(version) else { continue };
            let range = row.kubernetes.to_string();
            match ranges.iter_mut().find(|(known, _)| *known == range) {
                Some((_, releases)) => releases.push(&release.name),
                None => ranges.push((range, vec![&release.name])),
            }
        }
        if let [(range, _)] = ranges.as_slice() {
            return range.clone();
        }
        let texts = ranges.iter().map(|(range, releases)| match releases.as_slice() {
            [one] => format!("{range} in `{one}`"),
            [one, other] => format!("{range} in `{one}` and `{other}`"),
            [first, rest @ ..] => format!("{range} in `{first}` and {} other releases", rest.len()),
            [] => range.clone(),
        });
        texts.collect::<Vec<_>>().join(", but with ")
    }

    fn step(&self, constraints: &mut Vec<Constraint>) -> usize {
        let limit = self.line.iter().rev().find_map(|one| one.addon(self.name)?.addon.max_minor_step);
        let newest = self.line.iter().rev().find_map(|one| one.addon(self.name));
        let minors = match limit.map_or(1, |limit| limit.minors) {
            1 => "one minor".to_owned(),
            several => format!("{several} minors"),
        };
        let stack = &self.line[self.start].stack;
        constraints.push(Constraint {
            kind: ConstraintKind::MinorStep,
            text: format!("{} is upgraded {minors} at a time (`maxMinorStep`)", self.name),
            origin: limit
                .map(|limit| limit.origin)
                .or_else(|| newest.and_then(|one| Some(one.addon.matrix.first()?.version_origin))),
            lift: format!("the stack {stack}: list the versions between, or allow a greater `maxMinorStep`"),
        });
        constraints.len() - 1
    }

    fn back(&self, constraints: &mut Vec<Constraint>) -> usize {
        constraints.push(Constraint {
            kind: ConstraintKind::Downgrade,
            text: format!("plans do not downgrade {}", self.name),
            origin: None,
            lift: "the cluster's owners: pin an older version by hand, if the addon can go back".to_owned(),
        });
        constraints.len() - 1
    }
}
