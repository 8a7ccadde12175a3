//! Which addons a cluster has, at which versions, from where, and in which order.

use std::sync::Arc;

use super::{ChartSource, ClusterPart, Unit, locked};
use crate::{
    definition::closest,
    model::{AddonChoice, AddonVersion, Cluster, Digest, Lock, RemovalStep, Stage},
    note::Notes,
    release::{Release, ReleaseAddon},
    resolve::{Refused, Versions},
    yaml::{Node, Origin},
};

/// An addon of a cluster.
#[derive(Clone, Debug)]
pub struct AddonPlan {
    /// What it is, with its templates.
    pub frozen: Arc<ReleaseAddon>,
    /// Its version in this cluster.
    pub version: Option<AddonVersion>,
    /// The cluster's own values, over the release's.
    pub values: Option<Node>,
    /// Its Helm release, if it has a chart.
    pub helm: Option<HelmPlan>,
    /// Its manifests, if it has any.
    pub manifests: Option<ManifestsPlan>,
}

/// A chart to install.
#[derive(Clone, Debug)]
pub struct HelmPlan {
    /// The chart.
    pub chart: ChartSource,
    /// The addons whose charts must be ready before, by name.
    pub after: Vec<String>,
    /// Whether Helm waits until everything is ready; what nodes need before they are ready does not.
    pub wait: bool,
    /// Whether git alone cannot uninstall it.
    pub protected: bool,
    /// Whether it is left as it is, because its cluster leaves: nothing is uninstalled from a cluster that lives.
    pub suspended: bool,
    /// The digest of the file that says which values the chart takes, and where the lock says so.
    pub described: Option<(Digest, Origin)>,
}

/// Manifests that the engine applies in the workload cluster.
#[derive(Clone, Debug)]
pub struct ManifestsPlan {
    /// The unit that applies them.
    pub unit: Unit,
    /// The units that must be ready before.
    pub after: Vec<Unit>,
    /// Whether git alone cannot remove them.
    pub protected: bool,
    /// Whether they stay when what applies them goes.
    pub orphan: bool,
    /// Whether they are left as they are, because their cluster leaves.
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
            // It is off, but a fault in it would show as soon as somebody turns it on.
            planner.version(frozen, planner.choice(frozen.addon.name.as_str()), notes);
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

    fn enabled(&self, addon: &ReleaseAddon) -> bool {
        let choice = self.choice(addon.addon.name.as_str());
        let gone = choice.and_then(|choice| choice.removal.as_ref());
        let said = choice.and_then(|choice| choice.enabled);
        gone.is_none_or(|removal| removal.step != RemovalStep::Delete) && said.unwrap_or(addon.addon.enabled)
    }

    /// The place where the cluster configures an addon, else where it chooses its release.
    fn place(&self, addon: &str) -> Origin {
        let origin = self.choice(addon).and_then(|choice| choice.origin);
        origin.unwrap_or(self.cluster.release_origin)
    }

    fn check_known(&self, notes: &mut Notes) {
        for name in self.cluster.addons.keys() {
            if self.release.addon(name).is_some() {
                continue;
            }
            let known = || self.release.addons.iter().map(|addon| addon.addon.name.as_str());
            let message = format!("the release `{}` has no addon `{name}`", self.release.name);
            let note = notes.error("unknown-addon", self.place(name), message);
            match closest(name, known()) {
                Some(similar) => note.hint(format!("did you mean `{similar}`?")),
                None => note.hint(format!("it has {}", known().collect::<Vec<_>>().join(", "))),
            };
        }
    }

    fn addon(&self, frozen: &Arc<ReleaseAddon>, notes: &mut Notes) -> Option<AddonPlan> {
        let name = frozen.addon.name.as_str();
        let choice = self.choice(name);
        let version = self.version(frozen, choice, notes)?;
        let values = choice.and_then(|choice| choice.values.clone());
        if frozen.addon.chart.is_none() && values.is_some() {
            notes
                .error(
                    "values-without-chart",
                    self.place(name),
                    format!("the addon `{name}` is made of manifests and takes no values"),
                )
                .hint("use `variables`, which its templates see");
        }
        self.check_dependencies(frozen, notes);
        let bootstrap = frozen.addon.stage == Stage::Bootstrap;
        let suspended = self.cluster.removal.is_some();
        let leaves = choice.is_some_and(|choice| choice.removal.is_some());
        let protected = bootstrap && !suspended && !leaves;
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
        Some(AddonPlan { frozen: frozen.clone(), version, values, helm, manifests })
    }

    /// What an addon needs must be there, and must be something that the engine can wait for.
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
        let before = |other: &&Arc<ReleaseAddon>| {
            let named = frozen.addon.depends_on.contains(&other.addon.name);
            let stage = frozen.addon.stage == Stage::Default && other.addon.stage == Stage::Bootstrap;
            self.enabled(other) && other.addon.chart.is_some() && (named || stage)
        };
        self.release.addons.iter().filter(before).map(|other| other.addon.name.to_string()).collect()
    }

    fn manifests(&self, addon: &str) -> Unit {
        Unit::cluster(self.cluster, ClusterPart::Manifests { addon: addon.to_owned() })
    }

    /// Manifests of the default stage come when the objects that install charts exist.
    fn units_before(&self, frozen: &ReleaseAddon) -> Vec<Unit> {
        let first = match frozen.addon.stage {
            Stage::Bootstrap => ClusterPart::Cluster,
            Stage::Default => ClusterPart::Addons,
        };
        let before = |other: &&Arc<ReleaseAddon>| {
            let named = frozen.addon.depends_on.contains(&other.addon.name);
            let stage = frozen.addon.stage == Stage::Default && other.addon.stage == Stage::Bootstrap;
            self.enabled(other)
                && !other.manifests.is_empty()
                && (named || stage)
                && other.addon.name != frozen.addon.name
        };
        let others =
            self.release.addons.iter().filter(before).map(|other| self.manifests(other.addon.name.as_str()));
        std::iter::once(Unit::cluster(self.cluster, first)).chain(others).collect()
    }

    /// The version that the cluster asks for, else the release's own.
    #[expect(clippy::option_option, reason = "none is at fault, some of none has no version")]
    fn version(
        &self,
        frozen: &ReleaseAddon,
        choice: Option<&AddonChoice>,
        notes: &mut Notes,
    ) -> Option<Option<AddonVersion>> {
        let (name, kubernetes) = (&frozen.addon.name, &self.release.kubernetes);
        let Some((version, origin)) = choice.and_then(|choice| choice.version.as_ref()) else {
            return Some(frozen.version.clone());
        };
        let has_reason = choice.is_some_and(|choice| choice.unlisted.is_some());
        let versions = Versions::new(&frozen.addon, kubernetes, &self.release.compatibility);
        let refused = match versions.asked(version, has_reason) {
            Ok(version) => return Some(Some(version.clone())),
            Err(refused) => refused,
        };
        let message = match refused {
            Refused::Forbidden(rule) => format!("{} (rule `{}`)", rule.deny, rule.name),
            Refused::OutOfRange(row) => {
                format!(
                    "{name} {version} works with Kubernetes {}, and the cluster has {kubernetes}",
                    row.kubernetes
                )
            }
            Refused::Unlisted => {
                let own = choice.and_then(|choice| choice.release.as_ref());
                let release = own.map_or(self.release.name.as_str(), |(name, _)| name.as_str());
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
                None => note.hint("take a version that the rule allows"),
            };
            return None;
        }
        match versions.newest_in_range() {
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
