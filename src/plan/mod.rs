//! The plan: every part to make, with all choices made.
//!
//! The plan is small and held in memory as a whole; the tree is made from it part by part. Anything that needs the whole
//! fleet uses the plan. Renderers lay out its content and decide nothing.

mod addons;
mod borrowed;
mod charts;
mod locked;
mod unit;
mod variables;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

pub use addons::{AddonContent, AddonPlan, HelmPlan, ManifestsPlan, addons_before, contents_before};
pub use charts::{ChartHost, ChartSource, Pin};
pub use locked::{CONTRADICTS, described, undescribed};
pub use unit::{ClusterPart, Unit, installer_name};
pub use variables::complete;
pub use variables::known_values;

use crate::{
    definition::Model,
    model::{
        AddonDelivery, Allowance, Cluster, Engine, Fleet, Label, ManagementCluster, Minor, PoolKind,
        ReleaseRef, RemovalStep, StackId,
    },
    note::{Halted, Notes},
    release::{Lifecycle, Release, Releases},
    yaml::Node,
};

/// The plan of a whole tree.
#[derive(Clone, Debug)]
pub struct Plan {
    pub fleet: Label,
    /// The head releases that clusters use.
    pub heads: Vec<Arc<Release>>,
    /// The head releases that no cluster uses. They are checked, but not written.
    pub spare: Vec<Arc<Release>>,
    /// The management clusters.
    pub management: Vec<ManagementPlan>,
    pub namespaces: Vec<NamespacePlan>,
    pub clusters: Vec<ClusterPlan>,
    /// Numbered releases in use for which git has neither a tag nor the commit that added them. They were verified only against
    /// their own files.
    pub untagged: BTreeSet<String>,
    /// Errors in numbered releases that no cluster uses. Only commands that check the whole fleet fail because of them.
    pub refused: Notes,
    /// Lints that the classes of stacks may violate.
    pub allowed: BTreeMap<StackId, Vec<Allowance>>,
    /// The support status of the Kubernetes minors that clusters use. It doesn't affect the output.
    pub lifecycles: BTreeMap<(StackId, Minor), Lifecycle>,
}

pub type Charts = BTreeMap<AddonDelivery, BTreeSet<ChartSource>>;

/// The charts that the objects of an engine install; none if no addon is delivered with its objects.
pub fn charts_of(charts: &Charts, engine: Engine) -> Option<BTreeSet<&ChartSource>> {
    let mut found = charts.iter().filter(|(delivery, _)| delivery.engine() == Some(engine)).peekable();
    found.peek()?;
    Some(found.flat_map(|(_, charts)| charts).collect())
}

/// The plan of a management cluster itself.
#[derive(Clone, Debug)]
pub struct ManagementPlan {
    pub management: Arc<ManagementCluster>,
    /// The releases that its clusters use, by name.
    pub releases: Vec<Arc<Release>>,
    /// The chart sources that its clusters use, by addon delivery. The default delivery is always present.
    pub charts: Charts,
}

/// A namespace of a management cluster.
#[derive(Clone, Debug)]
pub struct NamespacePlan {
    pub management: Arc<ManagementCluster>,
    /// The other management clusters of the fleet.
    pub others: Vec<Arc<ManagementCluster>>,
    /// The name of the fleet, for templates.
    pub fleet: Label,
    pub name: Label,
    /// The releases that clusters in it use, by name; none in the namespace of cluster classes.
    pub releases: Vec<Arc<Release>>,
    /// The chart sources that its clusters use, by addon delivery. The default delivery is always present.
    pub charts: Charts,
    /// Whether there are users' own objects next to one of its clusters.
    pub has_own_objects: bool,
}

/// The releases that supply addons, by addon.
pub type Suppliers = BTreeMap<String, Arc<Release>>;

#[derive(Clone, Debug)]
pub struct ClusterPlan {
    /// The definition of the cluster.
    pub cluster: Cluster,
    /// The name of the fleet, for templates.
    pub fleet: Label,
    /// The phase of its life cycle.
    pub phase: Phase,
    /// The release that it uses.
    pub release: Arc<Release>,
    /// The other releases that supply single addons.
    pub suppliers: Suppliers,
    /// All variables that its class declares, with their values, if any.
    pub variables: Vec<(String, Option<Node>)>,
    pub addons: Vec<AddonPlan>,
}

/// The phase in the life cycle of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Running,
    /// It is running, but Cluster API doesn't reconcile it.
    Suspended,
    /// It is running, but its protection against deletion is off.
    Detached,
    /// Its Cluster object is gone and its infrastructure is being deleted. The objects that Cluster API needs for this are
    /// still there.
    Deleted,
}

impl Phase {
    fn of(cluster: &Cluster) -> Self {
        match cluster.removal.as_ref().map(|removal| removal.step) {
            Some(RemovalStep::Detach) => Self::Detached,
            Some(RemovalStep::Delete) => Self::Deleted,
            None if cluster.suspend.is_some() => Self::Suspended,
            None => Self::Running,
        }
    }

    /// Reports whether it is being removed. The engine then deletes what it applied, and must not wait for anything: the
    /// cluster may never have become ready, because its release doesn't work.
    pub fn leaves(self) -> bool {
        matches!(self, Self::Detached | Self::Deleted)
    }
}

/// Plans all parts.
pub fn plan(model: &Model, releases: &Releases, notes: &mut Notes) -> Result<Plan, Halted> {
    use rayon::prelude::*;
    let fleet = &model.fleet;
    let planned: Vec<_> = model
        .clusters
        .par_iter()
        .map(|cluster| {
            let mut own = Notes::new();
            let planned = plan_cluster(cluster, model, releases, &mut own);
            own.concern(&cluster.full_name());
            (planned, own)
        })
        .collect();
    let mut clusters = Vec::with_capacity(planned.len());
    for (cluster, own) in planned {
        clusters.extend(cluster);
        notes.append(own);
    }
    let named = model.clusters.iter().filter_map(|cluster| match &cluster.release {
        ReleaseRef::Named(name) => Some(name.as_str()),
        ReleaseRef::Head(..) => None,
    });
    let choices = model.clusters.iter().flat_map(|cluster| cluster.addons.values());
    let borrowed = choices.filter_map(|choice| choice.release.as_ref().map(|(name, _)| name.as_str()));
    let refused = releases.refused_and_unused(&named.chain(borrowed).collect());
    notes.append_as_warnings(refused.clone());
    let mut index = Index::default();
    for cluster in &clusters {
        index.add(cluster);
    }
    check_mirrors(fleet, &index.management, notes);
    locked::check(&clusters, &model.lock, notes);
    let spare =
        releases.shared_heads().filter(|head| !index.heads.contains_key(&head.name)).cloned().collect();
    notes.halt(Plan {
        untagged: untagged(&clusters, releases),
        fleet: fleet.name.clone(),
        heads: index.heads.into_values().collect(),
        spare,
        management: fleet.management_clusters.iter().map(|one| management(one, &index.management)).collect(),
        namespaces: namespaces(fleet, &index.namespaces),
        clusters,
        refused,
        allowed: model.allowed(),
        lifecycles: BTreeMap::new(),
    })
}

/// The numbered releases that clusters use but git doesn't know.
fn untagged(clusters: &[ClusterPlan], releases: &Releases) -> BTreeSet<String> {
    let used = clusters.iter().map(|cluster| cluster.release.name.as_str());
    used.filter(|name| releases.is_untagged(name)).map(str::to_owned).collect()
}

/// What the clusters of one management cluster or namespace share.
#[derive(Clone, Default)]
struct Shared {
    releases: BTreeMap<String, Arc<Release>>,
    charts: Charts,
    has_own_objects: bool,
}

/// The things that clusters share.
#[derive(Default)]
struct Index {
    heads: BTreeMap<String, Arc<Release>>,
    management: BTreeMap<Label, Shared>,
    namespaces: BTreeMap<(Label, Label), Shared>,
}

impl Index {
    fn add(&mut self, plan: &ClusterPlan) {
        let (cluster, release) = (&plan.cluster, &plan.release);
        let management = cluster.management.name.clone();
        if release.is_head() {
            self.heads.insert(release.name.clone(), release.clone());
        }
        let of_namespace =
            self.namespaces.entry((management.clone(), cluster.namespace.clone())).or_default();
        for shared in [self.management.entry(management).or_default(), of_namespace] {
            shared.has_own_objects |= cluster.companion.is_some();
            if !shared.releases.contains_key(&release.name) {
                shared.releases.insert(release.name.clone(), release.clone());
            }
            let charts = shared.charts.entry(cluster.addon_delivery).or_default();
            for helm in plan.addons.iter().filter_map(|addon| addon.helm.as_ref()) {
                if !charts.contains(&helm.chart) {
                    charts.insert(helm.chart.clone());
                }
            }
        }
    }
}

fn management(management: &Arc<ManagementCluster>, index: &BTreeMap<Label, Shared>) -> ManagementPlan {
    let Shared { releases, mut charts, .. } = index.get(&management.name).cloned().unwrap_or_default();
    charts.entry(management.addon_delivery).or_default();
    ManagementPlan { management: management.clone(), releases: releases.into_values().collect(), charts }
}

/// Warns about a mirror that no chart uses. It is probably a typing error, and the charts come from the wrong place.
fn check_mirrors(fleet: &Fleet, index: &BTreeMap<Label, Shared>, notes: &mut Notes) {
    for management in &fleet.management_clusters {
        let releases = index.get(&management.name).into_iter().flat_map(|shared| shared.releases.values());
        let charts =
            releases.flat_map(|release| &release.addons).filter_map(|addon| addon.addon.chart.as_ref());
        let repositories: BTreeSet<&str> = charts.map(|chart| chart.repository.as_str()).collect();
        for mirror in &management.mirrors {
            if repositories.is_empty() || repositories.iter().any(|one| mirror.rest(one).is_some()) {
                continue;
            }
            let known: Vec<_> = repositories.iter().copied().collect();
            notes
                .warning("mirror", mirror.origin, format!("no chart comes from `{}`", mirror.from))
                .hint(format!("the charts come from {}", known.join(", ")));
        }
    }
}

/// The namespaces of clusters, and that of the cluster classes.
fn namespaces(fleet: &Fleet, used: &BTreeMap<(Label, Label), Shared>) -> Vec<NamespacePlan> {
    let mut all = used.clone();
    for management in &fleet.management_clusters {
        all.entry((management.name.clone(), management.class_namespace.clone())).or_default();
    }
    let find =
        |name: &Label| fleet.management_clusters.iter().find(|management| management.name == *name).cloned();
    let others = |own: &ManagementCluster| {
        let others = fleet.management_clusters.iter().filter(|management| management.name != own.name);
        others.cloned().collect()
    };
    all.into_iter()
        .filter_map(|((management, name), Shared { releases, mut charts, has_own_objects })| {
            let (management, fleet) = (find(&management)?, fleet.name.clone());
            charts.entry(management.addon_delivery).or_default();
            let releases = releases.into_values().collect();
            let others = others(&management);
            Some(NamespacePlan { management, others, fleet, name, releases, charts, has_own_objects })
        })
        .collect()
}

/// Plans one cluster; none if it has errors.
pub fn plan_cluster(
    cluster: &Cluster,
    model: &Model,
    releases: &Releases,
    notes: &mut Notes,
) -> Option<ClusterPlan> {
    let release = releases.of(cluster, notes)?;
    check_pools(cluster, &release, notes);
    let variables = variables::plan(cluster, &release, notes);
    let borrowed = borrowed::with_borrowed(cluster, &release, releases, notes);
    let planned = borrowed
        .and_then(|(whole, suppliers)| Some((addons::plan(cluster, &whole, &model.lock, notes)?, suppliers)));
    let mut cluster = cluster.clone();
    variables::complete_overrides(&mut cluster, &release);
    let (variables, (addons, suppliers)) = (variables?, planned?);
    Some(ClusterPlan {
        phase: Phase::of(&cluster),
        cluster,
        fleet: model.fleet.name.clone(),
        release,
        suppliers,
        variables,
        addons,
    })
}

/// Checks that the release has the class of every pool.
fn check_pools(cluster: &Cluster, release: &Release, notes: &mut Notes) {
    for pool in &cluster.node_pools {
        let known = match pool.kind {
            PoolKind::MachineDeployment => &release.class.machine_deployments,
            PoolKind::MachinePool => &release.class.machine_pools,
        };
        if known.contains(&pool.class) {
            continue;
        }
        let place = pool.class_origin;
        let message = format!("the release `{}` has no worker class `{}`", release.name, pool.class);
        let note = notes.error("unknown-class", place, message);
        match crate::definition::closest(&pool.class, known.iter().map(String::as_str)) {
            Some(similar) => note.hint(format!("did you mean `{similar}`?")),
            None if known.is_empty() => note.hint("it has none of this kind"),
            None => note.hint(format!("it has {}", known.join(", "))),
        };
    }
}
