//! What a delivery keeps of what addons ask for, and what `check` says of the rest.
//!
//! Nothing is approximated without a word: what would be installed differently is an error, what is installed the same, only
//! sooner or with less, is a warning.

use crate::{
    model::{Stage, ValuesFrom},
    note::Severity,
    plan::{AddonPlan, ChartReference, ClusterPart, ClusterPlan, Unit},
    render::Limit,
    yaml::Origin,
};

/// What a delivery keeps of what an addon asks for. Names, namespaces, versions and values are kept by all, exactly.
pub(super) struct Keeps {
    /// Its controller, in messages.
    pub(super) actor: &'static str,
    /// One of its objects, in messages.
    pub(super) object: &'static str,
    /// Whether it installs charts.
    pub(super) charts: bool,
    /// Whether it applies manifests.
    pub(super) manifests: bool,
    /// Whether it takes values from Secrets and `ConfigMaps` of the cluster's namespace.
    pub(super) values_from: bool,
    /// Whether it takes charts from registries (`oci://`).
    pub(super) registries: bool,
    /// Whether it takes a chart of a registry by its digest.
    pub(super) digests: bool,
    /// How far it waits for other addons.
    pub(super) order: Order,
    /// Whether it can be told to leave what it installed in the cluster when its object goes.
    pub(super) release: bool,
    /// Whether manifests that leave git stay in the workload cluster.
    pub(super) manifests_stay: bool,
}

/// How far a delivery waits for the addons that an addon comes after.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Until they are ready.
    Ready,
    /// Until they are applied.
    Applied,
    /// `default` addons wait until the cluster is available. Nothing else waits, and some failures are final.
    Stages,
    /// Not at all; what fails for that is tried again.
    None,
}

/// The page that says what each delivery keeps.
const PAGE: &str = "docs/deliveries.md";

/// What a delivery cannot do for the addons of a cluster.
pub(super) fn limits(keeps: &Keeps, plan: &ClusterPlan) -> Vec<Limit> {
    plan.addons.iter().flat_map(|addon| One { keeps, plan, addon }.limits()).collect()
}

struct One<'a> {
    keeps: &'a Keeps,
    plan: &'a ClusterPlan,
    addon: &'a AddonPlan,
}

impl One<'_> {
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

    /// Where the addon lists its newest version, else where its manifests begin.
    fn listed(&self) -> Origin {
        let frozen = &self.addon.frozen;
        let row = frozen.addon.matrix.first().map(|row| row.version_origin);
        let manifests = || frozen.manifests.first().map(|one| one.template.source().origin(0));
        row.or_else(manifests).unwrap_or(self.plan.cluster.origin)
    }

    fn limit(&self, severity: Severity, message: String, hint: &str) -> Limit {
        Limit { severity, origin: self.listed(), message, hints: vec![hint.to_owned()] }
    }

    fn content(&self) -> Option<Limit> {
        let Keeps { object, charts, manifests, .. } = self.keeps;
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
        if self.keeps.values_from || self.addon.helm.is_none() {
            return None;
        }
        Some(Limit {
            severity: Severity::Error,
            origin: from.origin,
            message: format!(
                "the addon `{}` takes values from a {}, which {} cannot read as they are",
                self.name(),
                from.kind.as_str(),
                self.keeps.object
            ),
            hints: vec![
                "let Flux install the addons of this cluster: `addonDelivery: flux-helm-release`".to_owned(),
                "or let the chart itself refer to the Secret, and remove `valuesFrom`".to_owned(),
            ],
        })
    }

    fn source(&self) -> Option<Limit> {
        let chart = &self.addon.helm.as_ref()?.chart;
        let is_artifact = chart.kind() == ChartReference::OciRepository;
        if is_artifact && !self.keeps.registries {
            let message = format!(
                "the chart of `{}` is in a registry, and {} takes charts from https:// repositories only",
                self.name(),
                self.keeps.object
            );
            return Some(self.limit(Severity::Error, message, &other_delivery()));
        }
        let pin = chart.digest.as_ref().filter(|_| !self.keeps.digests)?;
        Some(Limit {
            severity: Severity::Warning,
            origin: pin.origin,
            message: format!(
                "{} takes the chart of `{}` by its version alone: the digest of the lock is not compared",
                self.keeps.actor,
                self.name()
            ),
            hints: vec![
                "keep who may push to the registry small, or let Flux or Argo CD install it".to_owned(),
            ],
        })
    }

    /// The addons that this one should come after, and does not.
    fn order(&self) -> Option<Limit> {
        let name = self.name();
        let actor = self.keeps.actor;
        match self.keeps.order {
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
                    let hint = "a sync that fails because of that is tried again: see docs/argocd.md";
                    self.limit(Severity::Warning, message, hint)
                })
            }
            Order::Stages => self.order_of_stages(),
            Order::None => {
                let others = self.before();
                (!others.is_empty()).then(|| {
                    let message = format!(
                        "{actor} knows no order: `{name}` is installed without waiting for {}",
                        list(&others)
                    );
                    let hint = format!("what fails because of that is tried again: see {PAGE}");
                    self.limit(Severity::Warning, message, &hint)
                })
            }
        }
    }

    /// Addons of one stage come in any order; those of the next one wait for the cluster, not for them.
    fn order_of_stages(&self) -> Option<Limit> {
        let (name, actor) = (self.name(), self.keeps.actor);
        let own = self.addon.frozen.addon.stage;
        let others = self.named(|other| other == own);
        if !others.is_empty() {
            let message = format!(
                "{actor} knows no order within a stage: `{name}` would be installed without waiting for {}, and some failures are \
                 not tried again",
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
            let hint = format!("some failures are not tried again: see {PAGE}");
            self.limit(Severity::Warning, message, &hint)
        })
    }

    /// The addons of `dependsOn` in such a stage.
    fn named(&self, stage: impl Fn(Stage) -> bool) -> Vec<&str> {
        let own = &self.addon.frozen.addon;
        let is_named = |other: &&AddonPlan| {
            let other = &other.frozen.addon;
            own.depends_on.contains(&other.name) && stage(other.stage)
        };
        self.plan.addons.iter().filter(is_named).map(|other| other.frozen.addon.name.as_str()).collect()
    }

    /// All that the plan puts before this addon.
    fn before(&self) -> Vec<&str> {
        let charts = self.addon.helm.iter().flat_map(|helm| helm.after.iter().map(String::as_str));
        let units = self.addon.manifests.iter().flat_map(|manifests| &manifests.after);
        let manifests = units.filter_map(|unit| match unit {
            Unit::Cluster { part: ClusterPart::Manifests { addon }, .. } => Some(addon.as_str()),
            Unit::Cluster { .. } | Unit::Release { .. } | Unit::Namespace { .. } => None,
        });
        let is_before = |other: &&AddonPlan| {
            let default = self.addon.frozen.addon.stage == Stage::Default && self.addon.manifests.is_some();
            default && other.helm.is_some() && other.frozen.addon.stage == Stage::Bootstrap
        };
        let bootstrap = self.plan.addons.iter().filter(is_before);
        let bootstrap = bootstrap.map(|other| other.frozen.addon.name.as_str());
        let mut all: Vec<_> = charts.chain(manifests).chain(bootstrap).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// What a cluster that leaves, or an addon that is taken away, asks for.
    fn departure(&self) -> Option<Limit> {
        let name = self.name();
        let suspended = self.addon.helm.as_ref().is_some_and(|helm| helm.suspended);
        if suspended && !self.keeps.release {
            let message = format!(
                "{} has no setting that leaves `{name}` installed: whoever deletes it while the cluster runs uninstalls the chart",
                self.keeps.object
            );
            let hint = "take the next steps of the removal, which delete it after the cluster";
            return Some(self.limit(Severity::Warning, message, hint));
        }
        None
    }
}

fn other_delivery() -> String {
    format!("choose another `addonDelivery` for this cluster: {PAGE} says what each can do")
}

/// Names in words.
fn list(names: &[&str]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => String::new(),
    }
}
