//! What a change does to the fleet: one report for all clusters, ordered by risk.
//!
//! [`compare()`] says what differs; here each difference becomes a [`Change`] with its [`Risk`], clusters to which the same
//! happens become a [`Group`], and the report is written as text, Markdown, HTML or data.
//!
//! Absent on purpose: git and the disk. Whoever asks gives both sides.

mod after;
mod beside;
mod change;
mod cluster;
mod findings;
mod group;
mod html;
mod json;
mod left;
mod markdown;
mod objects;
mod places;
mod risk;
mod summary;
mod text;
mod words;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    compare::{Archive, Tree, compare},
    definition::{self, Identity},
    generate::{self, Failure, Progress},
    model::{ClusterId, Label, ManagementCluster},
    note::{Diagnostic, Fault, Notes, Severity},
    partial::Scope,
    plan::Plan,
    tree::{PartId, TreePath},
    world::{Held, Input},
    yaml::{self, FileId, Mapping, Node, Source},
};

pub use after::After;
pub use beside::{BesideChange, Place};
pub use change::{Change, Effect, Leaving, Machines, Revert, Subject};
pub use cluster::{ClusterReport, Sides};
pub use findings::{FOUND, Finding, Told};
pub use group::{Group, GroupChange};
pub use html::{Page, html};
pub use json::document;
pub use left::LeftClusters;
pub use markdown::{LIMIT, digest, markdown, markdown_of_nothing};
pub use places::Places;
pub use risk::Risk;
pub use summary::summary;
pub use text::lines;

use left::Sound;

/// What a change does to the fleet.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// How many clusters there are, before or after.
    pub total: usize,
    /// The clusters that change, in order of their names.
    pub clusters: Vec<ClusterReport>,
    /// The same, put together where the same happens, the worst first.
    pub groups: Vec<Group>,
    /// What changes beside clusters.
    pub beside: Vec<BesideChange>,
    /// The most machines that there are beyond the usual number, if all roll at once.
    pub peaks: Vec<Peak>,
}

/// Machines beyond the usual number in a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peak {
    /// The management cluster.
    pub management: Label,
    /// The namespace.
    pub namespace: Label,
    /// So many machines.
    pub machines: i64,
    /// Parts that roll, of which nothing says how many machines they have beyond the usual number.
    pub unknown: usize,
}

/// What is known beside the two states.
#[derive(Debug, Default)]
struct About {
    /// Who clusters belong to.
    owners: BTreeMap<ClusterId, Vec<String>>,
    /// What the guards say of clusters.
    guarded: BTreeMap<ClusterId, Vec<String>>,
    /// Whether nodes need an addon, by release and addon.
    stages: BTreeMap<(String, String), bool>,
}

impl About {
    /// Whether nodes need an addon of a release to become ready; none where no release says.
    fn needed(&self, release: &str, addon: &str) -> Option<bool> {
        self.stages.get(&(release.to_owned(), addon.to_owned())).copied()
    }

    fn learn(&mut self, archive: &dyn Archive) -> Result<(), Fault> {
        for (path, id) in archive.list("generated/releases")? {
            let mut parts = path.split('/').skip(2);
            let (Some(release), Some("release.yaml"), None) = (parts.next(), parts.next(), parts.next())
            else {
                continue;
            };
            let source = Source::new(FileId(0), &*path, archive.read(&id)?);
            let Some(node) = yaml::read(&source, &mut Notes::new()) else { continue };
            let addons = node.at(&["spec", "addons"]).and_then(Node::as_mapping);
            for addon in addons.into_iter().flat_map(Mapping::iter) {
                if let Some(stage) = addon.value.get("stage").and_then(Node::as_str) {
                    let key = (release.to_owned(), addon.key.name.to_string());
                    self.stages.insert(key, stage == "bootstrap");
                }
            }
        }
        Ok(())
    }

    fn heed(&mut self, notes: &Notes) {
        let errors = notes.iter().filter(|note| note.severity == Severity::Error);
        for note in errors {
            if let Some(cluster) = concerned(note) {
                let hint = note.hints.first().map(|hint| format!(" ({hint})")).unwrap_or_default();
                self.guarded.entry(cluster).or_default().push(format!("{}{hint}", note.message));
            }
        }
    }
}

/// The cluster in whose folder the place of a message lies.
fn concerned(note: &Diagnostic) -> Option<ClusterId> {
    let path = TreePath::parse(&note.place.as_ref()?.file)?;
    cluster_of(&PartId::of_path(&path)?)
}

/// The cluster that a part of the tree is of.
fn cluster_of(part: &PartId) -> Option<ClusterId> {
    let PartId::Cluster { management, namespace, cluster } = part else { return None };
    let label = |text: &str| Label::new(text).ok();
    Some(ClusterId { management: label(management)?, namespace: label(namespace)?, name: label(cluster)? })
}

/// What the definitions of a world make, compared with an earlier tree. What `generate` would refuse goes to `notes`.
pub fn drawn(
    before: &dyn Archive,
    world: &Held,
    progress: Progress<'_>,
    notes: &mut Notes,
) -> Result<Report, Failure> {
    let fleet = generate::fleet(&world.input, &mut Notes::new());
    let mut after = After::new(before)?;
    let scope = Scope { only: Vec::new(), keep_going: true };
    let made = generate::generate_some(world, &scope, &mut after, progress, notes)?;
    let left = LeftClusters::of(&made.left, &world.input);
    after.close(&world.input, &left);
    let management = fleet.map(|fleet| fleet.management_clusters).unwrap_or_default();
    let owners = made.plan.clusters.iter().map(|plan| (plan.cluster.id(), plan.cluster.owners.clone()));
    let about = About { owners: owners.collect(), ..About::default() };
    let mut report = Comparing { before, after: &after, left: &left, management, about }.report(notes)?;
    report.add_beside(beside::own(before, &world.input)?);
    Ok(report)
}

/// Checks a world as `check` does, and judges what it makes against an earlier tree, as `generate` judges it against the
/// tree on disk.
pub fn check_against(
    before: &dyn Archive,
    world: &Held,
    progress: Progress<'_>,
    notes: &mut Notes,
) -> Result<Plan, Failure> {
    let mut after = After::new(before)?;
    let plan = generate::check_against(world, &mut after, progress, notes)?;
    after.close(&world.input, &LeftClusters::default());
    after.judge(notes);
    Ok(plan)
}

/// What one commit has, compared with an earlier one; `sources` are the definitions of the later one.
pub fn committed(
    before: &dyn Archive,
    archive: &dyn Archive,
    sources: &Input,
    notes: &mut Notes,
) -> Result<Report, Failure> {
    let fleet = generate::fleet(sources, notes)?;
    let after = After::committed(before, archive)?;
    let definitions = definition::parse(sources, &mut Notes::new());
    let owned = definitions.clusters.iter().filter_map(|layer| {
        let id = Identity::new(&definitions, layer).id()?;
        Some((id, definition::owners(&definition::merged(&definitions, layer))))
    });
    let about = About { owners: owned.collect(), ..About::default() };
    let (left, management) = (LeftClusters::default(), fleet.management_clusters);
    let mut report = Comparing { before, after: &after, left: &left, management, about }.report(notes)?;
    report.add_beside(beside::own_committed(before, archive)?);
    Ok(report)
}

struct Comparing<'a> {
    before: &'a dyn Archive,
    after: &'a After<'a>,
    left: &'a LeftClusters,
    management: Vec<Arc<ManagementCluster>>,
    about: About,
}

impl Comparing<'_> {
    fn report(mut self, notes: &mut Notes) -> Result<Report, Fault> {
        self.about.learn(self.before)?;
        self.about.learn(self.after)?;
        let mut refused = Notes::new();
        self.after.judge(&mut refused);
        self.about.heed(&refused);
        notes.append(refused);
        let (old, new) = (Tree::new(self.before, &self.management), Tree::new(self.after, &self.management));
        let is_made = |cluster: &ClusterId| self.after.is_made(cluster);
        let sound = Sound { inner: &new, before: &old, is_made: &is_made, left: self.left };
        let compared = compare(&old, &sound)?;
        let mut clusters: Vec<ClusterReport> =
            compared.clusters.iter().map(|found| cluster::report(found, &self.about)).collect();
        clusters.sort_by(|a, b| a.cluster.cmp(&b.cluster));
        Ok(Report {
            total: compared.clusters.len() + compared.unchanged,
            groups: group::groups(&clusters),
            peaks: peaks(&clusters),
            clusters,
            beside: beside::changes(self.after, self.before)?,
        })
    }
}

impl Report {
    fn add_beside(&mut self, more: Vec<BesideChange>) {
        self.beside.extend(more);
        self.beside.sort_by(|a, b| (b.risk, &a.place).cmp(&(a.risk, &b.place)));
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.clusters.is_empty() && self.beside.is_empty()
    }

    /// The classes that occur.
    pub fn risks(&self) -> BTreeSet<Risk> {
        let clusters = self.clusters.iter().flat_map(|one| one.changes.iter().map(|change| change.risk));
        clusters.chain(self.beside.iter().map(|one| one.risk)).collect()
    }

    /// Whether something goes that no removal announced.
    pub fn has_unannounced(&self) -> bool {
        let mut changes = self.clusters.iter().flat_map(|one| &one.changes);
        changes.any(Change::is_unannounced) || self.beside.iter().any(BesideChange::is_unannounced)
    }
}

fn peaks(clusters: &[ClusterReport]) -> Vec<Peak> {
    let mut found: BTreeMap<(Label, Label), (i64, usize)> = BTreeMap::new();
    for one in clusters {
        let rolls = |change: &&Change| matches!(change.risk, Risk::Pools | Risk::ControlPlane);
        for change in one.changes.iter().filter(rolls) {
            let key = (one.cluster.management.clone(), one.cluster.namespace.clone());
            let (machines, unknown) = found.entry(key).or_default();
            match change.surge {
                Some(surge) => *machines += surge,
                None => *unknown += 1,
            }
        }
    }
    let peak =
        |((management, namespace), (machines, unknown))| Peak { management, namespace, machines, unknown };
    found.into_iter().map(peak).filter(|peak| peak.machines > 0 || peak.unknown > 0).collect()
}
