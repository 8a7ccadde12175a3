//! Every part to make, with nothing left to choose.
//!
//! The plan is small and whole in memory; the tree is made from it part by part. Whatever needs the whole fleet looks
//! here. Renderers lay out what stands here and decide nothing.

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

pub use addons::{AddonPlan, HelmPlan, ManifestsPlan};
pub use charts::{ChartReference, ChartSource, Pin};
pub use locked::{CONTRADICTS, described, undescribed};
pub use unit::{ClusterPart, Unit, installer_name};
pub use variables::complete;
pub use variables::known_values;

use crate::{
    definition::Model,
    model::{
        AddonDelivery, Allowance, Cluster, Fleet, Label, ManagementCluster, Minor, PoolKind, ReleaseRef,
        RemovalStep, StackId,
    },
    note::{Halted, Notes},
    release::{Lifecycle, Release, Releases},
    yaml::Node,
};

/// Every part of a tree.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The fleet's name.
    pub fleet: Label,
    /// The head releases that clusters use.
    pub heads: Vec<Arc<Release>>,
    /// The head releases that no cluster uses: they are checked, and not made.
    pub spare: Vec<Arc<Release>>,
    /// The management clusters.
    pub management: Vec<ManagementPlan>,
    /// The namespaces.
    pub namespaces: Vec<NamespacePlan>,
    /// The clusters.
    pub clusters: Vec<ClusterPlan>,
    /// Numbered releases in use that no tag here vouches for: they were verified from their files alone.
    pub untagged: BTreeSet<String>,
    /// Errors in numbered releases that no cluster uses. Only commands that check the whole fleet fail on them.
    pub refused: Notes,
    /// Lints that classes of stacks may trip.
    pub allowed: BTreeMap<StackId, Vec<Allowance>>,
    /// What is known of the Kubernetes minors that clusters use. Nothing is made from it.
    pub lifecycles: BTreeMap<(StackId, Minor), Lifecycle>,
}

/// Sources of charts by what delivers them.
pub type Charts = BTreeMap<AddonDelivery, BTreeSet<ChartSource>>;

/// What a management cluster has of its own.
#[derive(Clone, Debug)]
pub struct ManagementPlan {
    /// Which.
    pub management: Arc<ManagementCluster>,
    /// The releases that its clusters use, by name.
    pub releases: Vec<Arc<Release>>,
    /// The sources of charts that its clusters use, by what delivers them. What delivers addons where a cluster says nothing is
    /// always there.
    pub charts: Charts,
}

/// A namespace of a management cluster.
#[derive(Clone, Debug)]
pub struct NamespacePlan {
    /// The management cluster.
    pub management: Arc<ManagementCluster>,
    /// The fleet's name, for templates.
    pub fleet: Label,
    /// The namespace.
    pub name: Label,
    /// The releases that clusters in it use, by name; none for the namespace of cluster classes.
    pub releases: Vec<Arc<Release>>,
    /// The sources of charts that its clusters use, by what delivers them. What delivers addons where a cluster says nothing is
    /// always there.
    pub charts: Charts,
}

/// A cluster.
#[derive(Clone, Debug)]
pub struct ClusterPlan {
    /// What it is.
    pub cluster: Cluster,
    /// The fleet's name, for templates.
    pub fleet: Label,
    /// Where it stands between its first day and its last.
    pub phase: Phase,
    /// What it is made from.
    pub release: Arc<Release>,
    /// Every variable that its class declares: its value, or nothing.
    pub variables: Vec<(String, Option<Node>)>,
    /// The addons that it has, by name.
    pub addons: Vec<AddonPlan>,
}

/// Where a cluster stands between its first day and its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It runs.
    Running,
    /// It runs, and Cluster API lets it be.
    Suspended,
    /// It runs, and what would keep it from going is off.
    Detached,
    /// Its Cluster object is gone, and its infrastructure goes; what Cluster API needs for that is still there.
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

    /// Whether it is on its way out: the engine deletes what it applied of it, and nothing may hold it back, for it may
    /// be a cluster that never came up, of a release that never will.
    pub fn leaves(self) -> bool {
        matches!(self, Self::Detached | Self::Deleted)
    }
}

/// Plans every part.
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
    let mut clusters = Vec::new();
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

/// The numbered releases that clusters use, and that git does not know.
fn untagged(clusters: &[ClusterPlan], releases: &Releases) -> BTreeSet<String> {
    let used = clusters.iter().map(|cluster| cluster.release.name.as_str());
    used.filter(|name| releases.is_untagged(name)).map(str::to_owned).collect()
}

/// Releases by name, and charts: what the clusters of one management cluster or namespace share.
type Shared = (BTreeMap<String, Arc<Release>>, Charts);

/// What is shared between clusters.
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
        for (releases, charts) in [self.management.entry(management).or_default(), of_namespace] {
            if !releases.contains_key(&release.name) {
                releases.insert(release.name.clone(), release.clone());
            }
            let charts = charts.entry(cluster.addon_delivery).or_default();
            for helm in plan.addons.iter().filter_map(|addon| addon.helm.as_ref()) {
                if !charts.contains(&helm.chart) {
                    charts.insert(helm.chart.clone());
                }
            }
        }
    }
}

fn management(management: &Arc<ManagementCluster>, index: &BTreeMap<Label, Shared>) -> ManagementPlan {
    let (releases, mut charts) = index.get(&management.name).cloned().unwrap_or_default();
    charts.entry(management.addon_delivery).or_default();
    ManagementPlan { management: management.clone(), releases: releases.into_values().collect(), charts }
}

/// A mirror of which nothing is taken is a slip of the pen, and the charts come from where they should not.
fn check_mirrors(fleet: &Fleet, index: &BTreeMap<Label, Shared>, notes: &mut Notes) {
    for management in &fleet.management_clusters {
        let releases = index.get(&management.name).into_iter().flat_map(|(releases, _)| releases.values());
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

/// The namespaces of clusters, and that of cluster classes.
fn namespaces(fleet: &Fleet, used: &BTreeMap<(Label, Label), Shared>) -> Vec<NamespacePlan> {
    let mut all = used.clone();
    for management in &fleet.management_clusters {
        all.entry((management.name.clone(), management.class_namespace.clone())).or_default();
    }
    let find =
        |name: &Label| fleet.management_clusters.iter().find(|management| management.name == *name).cloned();
    all.into_iter()
        .filter_map(|((management, name), (releases, mut charts))| {
            let (management, fleet) = (find(&management)?, fleet.name.clone());
            charts.entry(management.addon_delivery).or_default();
            let releases = releases.into_values().collect();
            Some(NamespacePlan { management, fleet, name, releases, charts })
        })
        .collect()
}

/// Plans one cluster; nothing where it is at fault.
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
    let addons = borrowed.and_then(|whole| addons::plan(cluster, &whole, &model.lock, notes));
    let mut cluster = cluster.clone();
    variables::complete_overrides(&mut cluster, &release);
    Some(ClusterPlan {
        phase: Phase::of(&cluster),
        cluster,
        fleet: model.fleet.name.clone(),
        release,
        variables: variables?,
        addons: addons?,
    })
}

/// Every pool must be of a class that the release has.
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
        let message = format!("the release `{}` has no class of workers `{}`", release.name, pool.class);
        let note = notes.error("unknown-class", place, message);
        match crate::definition::closest(&pool.class, known.iter().map(String::as_str)) {
            Some(similar) => note.hint(format!("did you mean `{similar}`?")),
            None if known.is_empty() => note.hint("it has none of this kind"),
            None => note.hint(format!("it has {}", known.join(", "))),
        };
    }
}
