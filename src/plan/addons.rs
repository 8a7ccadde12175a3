//! Plans the addons of a cluster: versions, sources and order.

use std::sync::Arc;

use super::{ChartSource, ClusterPart, Unit, locked};
use crate::{
    definition::closest,
    model::{Addon, AddonChoice, AddonVersion, Cluster, Digest, Lock, Stage},
    note::Notes,
    release::{ChosenAddon, Release, ReleaseAddon},
    resolve::{Refused, Versions},
    yaml::{Node, Origin},
};

/// An addon of a cluster.
#[derive(Clone, Debug)]
pub struct AddonPlan {
    /// The addon with its templates.
    pub frozen: Arc<ReleaseAddon>,
    /// The version in this cluster.
    pub version: Option<AddonVersion>,
    /// The cluster's own values, merged over those of the release.
    pub values: Option<Node>,
    /// The Helm release, if the addon has a chart.
    pub helm: Option<HelmPlan>,
    /// The manifests, if the addon has any.
    pub manifests: Option<ManifestsPlan>,
    /// Why the addon is being removed, if it is.
    pub removal: Option<String>,
}

/// The chart or the manifests of an addon, which one object installs. It holds the name of the addon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AddonContent<'a> {
    Chart(&'a str),
    Manifests(&'a str),
}

impl<'a> AddonContent<'a> {
    /// The name of the addon.
    pub fn addon(self) -> &'a str {
        match self {
            Self::Chart(addon) | Self::Manifests(addon) => addon,
        }
    }

    fn is_chart(self) -> bool {
        matches!(self, Self::Chart(_))
    }
}

impl AddonPlan {
    /// What it installs.
    pub fn contents(&self) -> impl Iterator<Item = AddonContent<'_>> {
        let name = self.frozen.addon.name.as_str();
        let chart = self.helm.is_some().then_some(AddonContent::Chart(name));
        chart.into_iter().chain(self.manifests.is_some().then_some(AddonContent::Manifests(name)))
    }
}

/// Whether a chart or manifests of one addon come before a chart or manifests of another. What is of the other kind does so only
/// `across_kinds`, if its stage is earlier: most engines cannot wait for both kinds.
fn comes_before(
    (other, other_is_chart): (&Addon, bool),
    (own, own_is_chart): (&Addon, bool),
    across_kinds: bool,
) -> bool {
    if other_is_chart == own_is_chart {
        own.waits_for(other)
    } else {
        across_kinds && own.is_in_later_stage(other)
    }
}

/// The addons of a release that come before the chart, or the manifests, of one of them if a cluster has them.
pub fn addons_before<'a>(
    addons: impl Iterator<Item = &'a Arc<ReleaseAddon>>,
    own: (&ReleaseAddon, bool),
    across_kinds: bool,
) -> impl Iterator<Item = &'a Arc<ReleaseAddon>> {
    let (own, is_chart) = own;
    addons.filter(move |other| {
        let is_before = |kind: bool| comes_before((&other.addon, kind), (&own.addon, is_chart), across_kinds);
        other.addon.chart.is_some() && is_before(true) || !other.manifests.is_empty() && is_before(false)
    })
}

/// What other addons install before a chart or manifests: everything of an earlier stage, and, of the addons in `dependsOn`, what is
/// of the same kind.
pub fn contents_before<'a>(addons: &'a [AddonPlan], part: AddonContent<'_>) -> Vec<AddonContent<'a>> {
    let Some(own) = addons.iter().find(|one| one.frozen.addon.name.as_str() == part.addon()) else {
        return Vec::new();
    };
    let own = (&own.frozen.addon, part.is_chart());
    let before = |other: &'a AddonPlan| {
        other
            .contents()
            .filter(move |content| comes_before((&other.frozen.addon, content.is_chart()), own, true))
    };
    addons.iter().flat_map(before).collect()
}

/// A chart to install.
#[derive(Clone, Debug)]
pub struct HelmPlan {
    pub chart: ChartSource,
    /// The addons whose charts must be ready first, by name.
    pub after: Vec<String>,
    /// Whether Helm waits until everything is ready. It doesn't for addons that nodes need to become ready.
    pub wait: bool,
    /// Whether it is protected from being uninstalled by a change in git alone.
    pub protected: bool,
    /// Whether reconciliation is suspended because the cluster is being removed, so that nothing is uninstalled from a
    /// running cluster.
    pub suspended: bool,
    /// The digest of the description of the chart's values, and its origin in the lock.
    pub described: Option<(Digest, Origin)>,
}

/// Manifests that the engine applies in the workload cluster.
#[derive(Clone, Debug)]
pub struct ManifestsPlan {
    /// The unit that applies the manifests.
    pub unit: Unit,
    /// The units that must be ready first.
    pub after: Vec<Unit>,
    /// Whether they are protected from being removed by a change in git alone.
    pub protected: bool,
    /// Whether they stay when the object that applies them is deleted.
    pub orphan: bool,
    /// Whether reconciliation is suspended because the cluster is being removed.
    pub suspended: bool,
}

pub(super) fn plan(
    cluster: &Cluster,
    release: &Release,
    lock: &Lock,
    notes: &mut Notes,
) -> Option<Vec<AddonPlan>> {
    let before = notes.errors();
    let planner = Planner { cluster, release, lock };
    planner.check_known(notes);
    let mut addons = Vec::new();
    for frozen in &release.addons {
        if planner.enabled(frozen) {
            addons.extend(planner.addon(frozen, notes));
        } else {
            // The addon is off, but a fault of its version would be an error as soon as it is turned on.
            let mut own = Notes::new();
            planner.version(frozen, &mut own);
            notes.append_as_warnings(own);
        }
    }
    (notes.errors() == before).then_some(addons)
}

struct Planner<'a> {
    cluster: &'a Cluster,
    release: &'a Release,
    lock: &'a Lock,
}

impl Planner<'_> {
    fn choice(&self, name: &str) -> Option<&AddonChoice> {
        self.cluster.addons.get(name)
    }

    fn chosen<'b>(&'b self, addon: &'b ReleaseAddon) -> ChosenAddon<'b> {
        ChosenAddon::new(Some(addon), self.choice(addon.addon.name.as_str()))
    }

    fn enabled(&self, addon: &ReleaseAddon) -> bool {
        self.chosen(addon).is_enabled
    }

    /// The place where the cluster configures an addon, or else where it names its release.
    fn place(&self, addon: &str) -> Origin {
        let origin = self.choice(addon).and_then(|choice| choice.origin);
        origin.unwrap_or(self.cluster.release_origin)
    }

    fn check_known(&self, notes: &mut Notes) {
        for (name, choice) in &self.cluster.addons {
            if self.release.addon(name).is_some() {
                continue;
            }
            let known = || self.release.addons.iter().map(|addon| addon.addon.name.as_str());
            let message = format!("the release `{}` has no addon `{name}`", self.release.name);
            // What is left of a pin that an upgrade took back has no effect.
            let note = if choice.is_empty() {
                notes.warning("unknown-addon", self.place(name), message)
            } else {
                notes.error("unknown-addon", self.place(name), message)
            };
            match closest(name, known()) {
                Some(similar) => note.hint(format!("did you mean `{similar}`?")),
                None => note.hint(format!("it has {}", known().collect::<Vec<_>>().join(", "))),
            };
        }
    }

    fn addon(&self, frozen: &Arc<ReleaseAddon>, notes: &mut Notes) -> Option<AddonPlan> {
        let name = frozen.addon.name.as_str();
        let choice = self.choice(name);
        let version = self.version(frozen, notes)?;
        let values = choice.and_then(|choice| choice.values.clone());
        if frozen.addon.chart.is_none() && values.is_some() {
            notes
                .error(
                    "values-without-chart",
                    self.place(name),
                    format!("the addon `{name}` is made of manifests and takes no values"),
                )
                .hint("use `variables`, which its templates can read");
        }
        self.check_dependencies(frozen, notes);
        let bootstrap = frozen.addon.stage == Stage::Bootstrap;
        let suspended = self.cluster.removal.is_some();
        let removal = choice.and_then(|choice| choice.removal.as_ref()).map(|removal| removal.reason.clone());
        let protected = bootstrap && !suspended && removal.is_none();
        let helm = match (&frozen.addon.chart, &version) {
            (Some(chart), Some(version)) => Some(HelmPlan {
                chart: ChartSource::new(
                    chart,
                    version,
                    locked::pin(frozen, version, self.lock),
                    &self.cluster.management,
                ),
                after: self.charts_before(frozen),
                wait: !bootstrap,
                protected,
                suspended,
                described: locked::described(frozen, version, self.lock),
            }),
            _ => None,
        };
        let manifests = (!frozen.manifests.is_empty()).then(|| ManifestsPlan {
            unit: self.manifests(name),
            after: self.units_before(frozen),
            protected,
            orphan: protected || suspended,
            suspended,
        });
        Some(AddonPlan { frozen: frozen.clone(), version, values, helm, manifests, removal })
    }

    /// Checks that the dependencies of an addon are enabled, and that the engine can wait for them.
    fn check_dependencies(&self, frozen: &ReleaseAddon, notes: &mut Notes) {
        let name = &frozen.addon.name;
        for other in &frozen.addon.depends_on {
            let Some(needed) = self.release.addon(other.as_str()) else { continue };
            if !self.enabled(needed) {
                notes
                    .error(
                        "addon-off",
                        self.place(other.as_str()),
                        format!("the addon `{name}` needs `{other}`, which this cluster turns off"),
                    )
                    .hint(format!("turn `{other}` on, or `{name}` off as well"));
            } else if frozen.addon.chart.is_some() != needed.addon.chart.is_some() {
                notes
                    .error("depends-on-kind", self.place(name.as_str()), format!("the addon `{name}` cannot wait for `{other}`: one is a chart, the other is made of manifests"))
                    .hint("an addon can wait only for addons of its own kind: make both charts, or both manifests");
            }
        }
    }

    fn charts_before(&self, frozen: &ReleaseAddon) -> Vec<String> {
        self.before(frozen, true).map(|other| other.addon.name.to_string()).collect()
    }

    /// The addons of the cluster that come before the chart, or the manifests, of one of them.
    fn before<'b>(
        &'b self,
        frozen: &'b ReleaseAddon,
        is_chart: bool,
    ) -> impl Iterator<Item = &'b Arc<ReleaseAddon>> {
        let before = addons_before(self.release.addons.iter(), (frozen, is_chart), false);
        before.filter(|other| self.enabled(other))
    }

    fn manifests(&self, addon: &str) -> Unit {
        Unit::cluster(self.cluster, ClusterPart::Manifests { addon: addon.to_owned() })
    }

    /// The units that must be ready before an addon's manifests. In the default stage, these include the unit with the
    /// charts' installers.
    fn units_before(&self, frozen: &ReleaseAddon) -> Vec<Unit> {
        let first = match frozen.addon.stage {
            Stage::Bootstrap => ClusterPart::Cluster,
            Stage::Default => ClusterPart::Addons,
        };
        let others = self.before(frozen, false).map(|other| self.manifests(other.addon.name.as_str()));
        std::iter::once(Unit::cluster(self.cluster, first)).chain(others).collect()
    }

    /// The version that the cluster requests, or else that of the release.
    #[expect(clippy::option_option, reason = "an error is `None`, a missing version `Some(None)`")]
    fn version(&self, frozen: &ReleaseAddon, notes: &mut Notes) -> Option<Option<AddonVersion>> {
        let (name, kubernetes) = (&frozen.addon.name, &self.release.kubernetes);
        let chosen = self.chosen(frozen);
        let Some((version, origin)) = chosen.asked else { return Some(chosen.version().cloned()) };
        let has_reason = self.choice(name.as_str()).is_some_and(|choice| choice.unlisted.is_some());
        let versions = Versions::new(&frozen.addon, kubernetes, &self.release.compatibility);
        let refused = match versions.asked(version, has_reason) {
            Ok(version) => return Some(Some(version.clone())),
            Err(refused) => refused,
        };
        let message = match refused {
            Refused::Forbidden(rule) => format!("{} (rule `{}`)", rule.deny, rule.name),
            Refused::OutOfRange(row) => {
                format!(
                    "{name} {version} works with Kubernetes {}, but the cluster has {kubernetes}",
                    row.kubernetes
                )
            }
            Refused::Unlisted => {
                let release = chosen.taken_from.unwrap_or(&self.release.name);
                format!("the release `{release}` does not list {name} {version}")
            }
        };
        let note = notes.error("incompatible", *origin, message);
        let reason = match refused {
            Refused::Forbidden(rule) => Some(("the rule", rule.origin)),
            Refused::OutOfRange(row) => {
                Some(("the Kubernetes versions that it works with", row.kubernetes_origin))
            }
            Refused::Unlisted => None,
        };
        if let Some((what, origin)) = reason {
            note.related(what, origin);
        }
        if let Refused::Forbidden(rule) = refused {
            match &rule.upgrade_to {
                Some(better) => note.hint(format!("upgrade {name} to {better} first")),
                None => note.hint("use a version that the rule allows"),
            };
            return None;
        }
        match versions.allowed().next() {
            Some(newest) if refused == Refused::Unlisted => {
                note.hint(format!("the newest that it lists is {}", newest.version))
            }
            Some(newest) => note.hint(format!("upgrade {name} to {}", newest.version)),
            None => note.hint("no listed version works with it"),
        };
        note.hint("a version outside the matrix needs `unlisted: <reason>`");
        None
    }
}
