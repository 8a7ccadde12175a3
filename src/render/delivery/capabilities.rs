//! Declares which features of addons a delivery supports, and what `check` reports about the others.
//!
//! Nothing is approximated silently. If something would be installed differently, that is an error. If it is installed the
//! same, but earlier or with fewer guarantees, that is a warning.

use super::instead;
use crate::{
    model::{Stage, ValuesFrom},
    note::{Severity, in_words},
    plan::{AddonContent, AddonPlan, ChartHost, ClusterPlan, contents_before},
    render::Limit,
    yaml::Origin,
};

/// The features of addons that a delivery supports. All deliveries keep names, namespaces, versions and values exactly.
pub(super) struct Capabilities {
    /// The name of its controller, in messages.
    pub(super) actor: &'static str,
    /// The name of one of its objects, in messages.
    pub(super) object: &'static str,
    /// Whether it installs charts.
    pub(super) charts: bool,
    /// Whether it applies manifests.
    pub(super) manifests: bool,
    /// Whether it reads values from Secrets and `ConfigMaps` in the cluster's namespace.
    pub(super) values_from: bool,
    /// Whether it installs charts from registries (`oci://`).
    pub(super) registries: bool,
    /// Whether it can reference a chart in a registry by digest.
    pub(super) digests: bool,
    /// Whether and how it waits for other addons.
    pub(super) order: Order,
    /// Whether it can be told to keep what it installed when its object is deleted.
    pub(super) release: bool,
    /// Whether manifests removed from git stay in the workload cluster.
    pub(super) manifests_stay: bool,
    /// The largest values of a chart that one of its objects can hold, in bytes; none if only the API server limits them.
    pub(super) largest_values: Option<usize>,
}

/// How a delivery waits for the predecessors of an addon.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Until they are ready.
    Ready,
    /// Until they are applied.
    Applied,
    /// `default` addons wait until the cluster is available. There is no other waiting, and some failures are final.
    Stages,
    /// Not at all; failures are retried.
    None,
}

/// The page that documents what each delivery supports.
const PAGE: &str = "docs/deliveries.md";

/// The limitations of a delivery for the addons of a cluster.
pub(super) fn limits(capabilities: &Capabilities, plan: &ClusterPlan) -> Vec<Limit> {
    plan.addons.iter().flat_map(|addon| AddonLimits { capabilities, plan, addon }.limits()).collect()
}

struct AddonLimits<'a> {
    capabilities: &'a Capabilities,
    plan: &'a ClusterPlan,
    addon: &'a AddonPlan,
}

impl AddonLimits<'_> {
    fn limits(&self) -> Vec<Limit> {
        let mut limits: Vec<_> = self.content().into_iter().collect();
        limits.extend(self.values_from());
        limits.extend(self.source());
        limits.extend(self.order());
        limits.extend(self.departure());
        limits
    }

    fn name(&self) -> &str {
        self.addon.frozen.addon.name.as_str()
    }

    fn limit(&self, severity: Severity, message: String, hint: &str) -> Limit {
        Limit { severity, origin: listed(self.plan, self.addon), message, hints: vec![hint.to_owned()] }
    }

    fn content(&self) -> Option<Limit> {
        let Capabilities { object, charts, manifests, .. } = self.capabilities;
        let what = match (&self.addon.helm, &self.addon.manifests) {
            (Some(_), _) if !charts => "a chart",
            (_, Some(_)) if !manifests => "manifests",
            _ => return None,
        };
        let message = format!("the addon `{}` holds {what}, which {object} cannot install", self.name());
        Some(self.limit(Severity::Error, message, &other_delivery()))
    }

    fn values_from(&self) -> Option<Limit> {
        let from: &ValuesFrom = self.addon.frozen.addon.values_from.first()?;
        if self.capabilities.values_from || self.addon.helm.is_none() {
            return None;
        }
        let reader = instead(self.plan, |other| other.values_from);
        let reader = reader.map(|(name, other)| {
            format!("let {} install the addons of this cluster: `addonDelivery: {name}`", other.actor)
        });
        Some(Limit {
            severity: Severity::Error,
            origin: from.origin,
            message: format!(
                "the addon `{}` takes values from a {}, which {} cannot read as they are",
                self.name(),
                from.kind.as_str(),
                self.capabilities.object
            ),
            hints: reader
                .into_iter()
                .chain(["or let the chart itself refer to the Secret, and remove `valuesFrom`".to_owned()])
                .collect(),
        })
    }

    fn source(&self) -> Option<Limit> {
        if !self.capabilities.charts {
            return None;
        }
        let chart = &self.addon.helm.as_ref()?.chart;
        let is_artifact = chart.host() == ChartHost::Registry;
        if is_artifact && !self.capabilities.registries {
            let message = format!(
                "the chart of `{}` is in a registry, and {} takes charts from https:// repositories only",
                self.name(),
                self.capabilities.object
            );
            return Some(self.limit(Severity::Error, message, &other_delivery()));
        }
        let pin = chart.digest.as_ref().filter(|_| !self.capabilities.digests)?;
        Some(Limit {
            severity: Severity::Warning,
            origin: pin.origin,
            message: format!(
                "{} identifies the chart of `{}` by its version only, and does not verify the digest in the lock",
                self.capabilities.actor,
                self.name()
            ),
            hints: vec!["limit who may push to the registry, or let Flux or Argo CD install it".to_owned()],
        })
    }

    /// Reports predecessors of the addon that the delivery does not wait for.
    fn order(&self) -> Option<Limit> {
        let name = self.name();
        let actor = self.capabilities.actor;
        match self.capabilities.order {
            Order::Ready => None,
            Order::Applied => {
                let others = self.named(|other| other == Stage::Default);
                (!others.is_empty()).then(|| {
                    let they = if others.len() == 1 { "it is" } else { "they are" };
                    let message = format!(
                        "{actor} installs `{name}` when {} {} applied; it does not wait until {they} ready",
                        list(&others),
                        if others.len() == 1 { "is" } else { "are" }
                    );
                    let hint = "a sync that fails because of that is retried: see docs/argocd.md";
                    self.limit(Severity::Warning, message, hint)
                })
            }
            Order::Stages => self.order_of_stages(),
            Order::None => {
                let others = self.before();
                (!others.is_empty()).then(|| {
                    let message = format!(
                        "{actor} has no order: `{name}` is installed without waiting for {}",
                        list(&others)
                    );
                    let hint = format!("failures because of that are retried: see {PAGE}");
                    self.limit(Severity::Warning, message, &hint)
                })
            }
        }
    }

    /// The addons of a stage are installed in any order. Those of the next stage wait for the cluster, not for them.
    fn order_of_stages(&self) -> Option<Limit> {
        let (name, actor) = (self.name(), self.capabilities.actor);
        let own = self.addon.frozen.addon.stage;
        let others = self.named(|other| other == own);
        if !others.is_empty() {
            let message = format!(
                "{actor} has no order within a stage: `{name}` would be installed without waiting for {}, and some \
                 failures are not retried",
                list(&others)
            );
            return Some(self.limit(Severity::Error, message, &other_delivery()));
        }
        let before = self.named(|other| other != own);
        (!before.is_empty()).then(|| {
            let message = format!(
                "{actor} installs `{name}` when the cluster is available; it does not wait for {}",
                list(&before)
            );
            let hint = format!("some failures are not retried: see {PAGE}");
            self.limit(Severity::Warning, message, &hint)
        })
    }

    /// The addons in `dependsOn` with a matching stage.
    fn named(&self, stage: impl Fn(Stage) -> bool) -> Vec<&str> {
        let own = &self.addon.frozen.addon;
        let is_named = |other: &&AddonPlan| {
            let other = &other.frozen.addon;
            own.depends_on.contains(&other.name) && stage(other.stage)
        };
        self.plan.addons.iter().filter(is_named).map(|other| other.frozen.addon.name.as_str()).collect()
    }

    /// All addons that the plan puts before this one.
    fn before(&self) -> Vec<&str> {
        let parts = self.addon.contents().flat_map(|part| contents_before(&self.plan.addons, part));
        let mut all: Vec<_> = parts.map(AddonContent::addon).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Reports what the delivery cannot do when a cluster leaves or an addon is removed.
    fn departure(&self) -> Option<Limit> {
        let name = self.name();
        let suspended = self.addon.helm.as_ref().is_some_and(|helm| helm.suspended);
        if suspended && !self.capabilities.release {
            let message = format!(
                "{} has no setting that leaves `{name}` installed: whoever deletes it while the cluster runs uninstalls the chart",
                self.capabilities.object
            );
            let hint = "take the next steps of the removal, which delete it after the cluster";
            return Some(self.limit(Severity::Warning, message, hint));
        }
        None
    }
}

/// The place where an addon lists its newest version, or else where its manifests begin.
pub(super) fn listed(plan: &ClusterPlan, addon: &AddonPlan) -> Origin {
    let frozen = &addon.frozen;
    let row = frozen.addon.matrix.first().map(|row| row.version_origin);
    let manifests = || frozen.manifests.first().map(|one| one.template.source().origin(0));
    row.or_else(manifests).unwrap_or(plan.cluster.origin)
}

fn other_delivery() -> String {
    format!("choose another `addonDelivery` for this cluster: see {PAGE} for what each can do")
}

/// Lists names in words.
pub(super) fn list(names: &[&str]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    in_words(&quoted, "and")
}
