//! Reports what a change does to the fleet: one report for all clusters, ordered by risk.
//!
//! [`compare`](crate::compare) finds the differences. This module turns each into a [`Change`] with its [`Risk`], puts clusters with equal
//! changes into a [`Group`], and writes the report as text, Markdown, HTML or data.
//!
//! Deliberately absent: git and the disk. The caller passes in both sides.

mod accept;
mod behind;
mod new_tree;
mod outside_clusters;
mod outside_words;
mod change;
mod change_id;
mod cluster;
mod findings;
mod formats;
mod group;
mod images;
mod leftovers;
mod machine_words;
mod machines;
mod broken_clusters;
mod objects;
mod own_objects;
mod owners;
mod parts;
mod paused_parts;
mod commits_since_base;
mod namesakes;
mod notices;
mod peaks;
mod places;
mod preflight;
mod renamed_pools;
mod refusal;
mod returned;
mod reverts;
mod risk;
mod steps;
mod taken_back;
mod stale_tree;
mod stray_errors;
mod summary;
mod unknown_parts;
mod untouched;
mod words;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use rayon::prelude::*;

use crate::{
    compare::{Archive, ClusterChange, Comparison, Export, GeneratedTree, Live, compare_apart},
    generate::{self, Failure, Progress},
    model::{ClusterId, ManagementCluster},
    note::{About, Fault, Notes, RepeatedId},
    partial::Scope,
    plan::Plan,
    remove::{self, Defined},
    render,
    tree::{FileChange, PartId},
    world::{Input, Snapshot, companion_folder, is_input},
    yaml::{self, FileId, Mapping, Node, Source, Sources},
};

pub use broken_clusters::LeftClusters;
pub use change::{Change, Effect, Leaving, Machines, Revert, Subject};
pub use cluster::{ClusterReport, Sides};
pub use commits_since_base::{BaseCommit, CommitSinceBase, CommitsSinceBase, LostFile};
pub use findings::{Covered, FOUND, Finding};
pub use formats::{
    LIMIT, Page, digest, document, html, lines, markdown, markdown_of_nothing, markdown_within,
};
pub use group::{Counts, Group, GroupChange};
pub use machines::replaced;
pub use new_tree::After;
pub use outside_clusters::{OutsideChange, OutsidePlace, RefusedShare};
pub use own_objects::OwnObject;
pub use peaks::Peak;
pub use places::Places;
pub use refusal::Refusal;
pub use risk::Risk;
pub use stray_errors::StrayErrors;
pub use summary::summary;

use broken_clusters::Sound;
use leftovers::Leftovers;
use returned::LostClusters;
use untouched::Untouched;

/// The effects of a change on the fleet.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The number of clusters, before and after together.
    pub total: usize,
    /// The clusters that change, ordered by name.
    pub clusters: Vec<ClusterReport>,
    /// The same clusters, grouped by equal changes, worst first.
    pub groups: Vec<Group>,
    /// Changes outside clusters.
    pub beside: Vec<OutsideChange>,
    /// The peak number of additional machines, if all rollouts happen at once.
    pub peaks: Vec<Peak>,
    /// Errors in the definitions that no change repeats.
    pub errors: StrayErrors,
    /// What the commit of the change has instead of what the report shows, if that differs.
    pub stale: Option<String>,
    /// What else decides how to read the report.
    pub cautions: Vec<String>,
}

/// What is known in addition to the two states.
#[derive(Debug, Default)]
struct Background {
    owners: BTreeMap<ClusterId, Vec<String>>,
    /// The clusters that share their namespace and name with one in another management cluster.
    namesakes: BTreeSet<ClusterId>,
    /// The guards' messages about clusters.
    guarded: BTreeMap<ClusterId, refusal::Guarded>,
    /// Those about what leaves git without the steps of a removal.
    abandoned: BTreeMap<(ClusterId, About), Vec<RepeatedId>>,
    /// Whether nodes need an addon, by release and addon.
    stages: BTreeMap<(String, String), bool>,
    /// The Kubernetes versions of all releases, before and after.
    kubernetes: BTreeSet<String>,
    /// Everything whose removal takes all its steps within this change.
    announced: commits_since_base::Announced,
    /// The addons that leave the tree with their protection still on: engines leave them installed.
    kept: BTreeSet<(ClusterId, String)>,
    /// New clusters whose files an earlier commit removed, without the steps of a removal.
    returned: BTreeMap<ClusterId, returned::Returned>,
    /// Clusters of which the last files leave git.
    leftovers: BTreeMap<ClusterId, leftovers::Leftover>,
}

impl Background {
    /// Whether nodes need an addon of a release to become ready; none if no release tells.
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
            let kubernetes = node.at(&["spec", "kubernetes"]).and_then(Node::as_str);
            self.kubernetes.extend(kubernetes.map(str::to_owned));
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
}

/// Compares the tree generated from the definitions with an earlier tree. Errors that `generate` would report go to `notes`,
/// except those that the checks find of clusters which the change does not touch. `past` holds the commits in between, and
/// `head` is the last of them.
pub fn drawn(
    [before, head]: [&dyn Archive; 2],
    world: &Snapshot,
    past: Option<&dyn CommitsSinceBase>,
    exports: &[Export],
    progress: Progress<'_>,
    notes: &mut Notes,
) -> Result<Report, Failure> {
    let fleet = generate::fleet(&world.input, &mut Notes::new());
    let mut after = After::new(before)?;
    let scope = Scope { keep_going: true, ..Scope::default() };
    let untouched = Untouched::find(before, &world.input, after.folders_before())?;
    let made = generate::generate_changed(world, &scope, &untouched, &mut after, progress, notes)?;
    let left =
        LeftClusters::find(&made.left, &world.input, &|| definitions_before(before, &world.input), notes)?;
    after.close(&world.input, &left)?;
    let management = fleet?.management_clusters;
    let owners = made.plan.clusters.iter().map(|plan| (plan.cluster.id(), plan.cluster.owners.clone()));
    let background = Background { owners: owners.collect(), ..Background::default() };
    let input = &world.input;
    // The plan of a large fleet takes as much memory as the comparison.
    let (own, ()) = rayon::join(
        || own_objects::changes(before, input, &|| definitions_before(before, input)),
        || drop(made),
    );
    let own = own?;
    let mut report =
        Comparing { before, after: &after, left: &left, management, background, input, past, exports, own }
            .report(notes)?;
    if notes.errors() == 0 {
        report.stale = stale_tree::note(&after, head, past, input, notes)?;
    }
    report.cautions = notices::cautions(notes);
    Ok(report)
}

/// Checks a world as `check` does. Also judges the result against an earlier tree, as `generate` judges it against the tree
/// on disk.
pub fn check_against(
    before: &dyn Archive,
    world: &Snapshot,
    past: Option<&dyn CommitsSinceBase>,
    progress: Progress<'_>,
    notes: &mut Notes,
) -> Result<Plan, Failure> {
    let mut after = After::new(before)?;
    let plan = generate::check_against(world, &mut after, progress, notes)?;
    after.close(&world.input, &LeftClusters::default())?;
    let input = &world.input;
    if accept::Acceptances::read(input).is_empty() {
        let leftovers = Leftovers::find(&after, before, past, &|| definitions_before(before, input))?;
        let (mut refused, _) = guarded(&after, &[], &leftovers, past, input)?;
        LostClusters::find(&after, past)?.judge(&after, &mut refused)?;
        place(&mut refused, input, before)?;
        notes.append(refused);
        return Ok(plan);
    }
    // Accepted changes are identified by ID, so the changes must be computed to find them.
    let management = generate::fleet(input, &mut Notes::new())?.management_clusters;
    let (left, background) = (LeftClusters::default(), Background::default());
    let own = own_objects::changes(before, input, &|| definitions_before(before, input))?;
    let exports = &[];
    Comparing { before, after: &after, left: &left, management, background, input, past, exports, own }
        .report(notes)?;
    Ok(plan)
}

/// Compares a commit with an earlier one. `sources` holds the definitions of the later commit.
pub fn committed(
    before: &dyn Archive,
    archive: &dyn Archive,
    sources: &Input,
    past: Option<&dyn CommitsSinceBase>,
    exports: &[Export],
    notes: &mut Notes,
) -> Result<Report, Failure> {
    let fleet = generate::fleet(sources, notes)?;
    let after = After::committed(before, archive)?;
    let background = Background { owners: Defined::read(sources).all_owners(), ..Background::default() };
    let (left, management) = (LeftClusters::default(), fleet.management_clusters);
    let own = own_objects::committed(before, archive, sources, &|| definitions_before(before, sources))?;
    let input = sources;
    let mut report =
        Comparing { before, after: &after, left: &left, management, background, input, past, exports, own }
            .report(notes)?;
    report.cautions = notices::cautions(notes);
    Ok(report)
}

/// The definitions in an archive. `fleet` is the text of the fleet file.
pub fn definitions(archive: &dyn Archive, fleet: Option<String>) -> Result<Input, Fault> {
    let mut files = BTreeMap::new();
    files.extend(fleet.map(|text| ("stackloom.yaml".to_owned(), text)));
    for (path, id) in archive.list("clusters")? {
        if is_input(&path) && companion_folder(&path).is_none() {
            files.insert(path, archive.read(&id)?);
        }
    }
    Ok(Input { sources: Sources::new(files), ..Input::default() })
}

/// The definitions before a change. The fleet file is taken from after it, since it only names the management clusters.
fn definitions_before(before: &dyn Archive, after: &Input) -> Result<Input, Fault> {
    definitions(before, after.sources.at("stackloom.yaml").map(|source| source.text.to_string()))
}

/// The messages of the guards, taking the commits in between into account.
fn guarded(
    after: &After<'_>,
    compared: &[ClusterChange],
    leftovers: &Leftovers,
    past: Option<&dyn CommitsSinceBase>,
    input: &Input,
) -> Result<(Notes, commits_since_base::Announced), Fault> {
    let mut whole = Notes::new();
    after.judge(compared, &mut whole)?;
    leftovers.judge(&mut whole);
    let (mut found, announced) = match past {
        Some(past) => commits_since_base::judge(past, after, whole)?,
        None => (whole, commits_since_base::Announced::new()),
    };
    behind::explain(&mut found, after, past)?;
    // Guards see files, and only definitions tell whether they were lost.
    if found.iter().any(remove::is_lost) {
        remove::correct_lost(&mut found, &Defined::read(input));
    }
    Ok((found, announced))
}

/// Makes the guards' messages point to the definition to change.
fn place(notes: &mut Notes, input: &Input, before: &dyn Archive) -> Result<(), Fault> {
    if !notes.iter().any(remove::is_unplaced) {
        return Ok(());
    }
    remove::place_in_definitions(notes, &Defined::read(input), None);
    if notes.iter().any(remove::is_unplaced) {
        let old = definitions_before(before, input)?;
        remove::place_in_definitions(notes, &Defined::read(input), Some(&Defined::read(&old)));
    }
    Ok(())
}

struct Comparing<'a> {
    before: &'a dyn Archive,
    after: &'a After<'a>,
    left: &'a LeftClusters,
    management: Vec<Arc<ManagementCluster>>,
    background: Background,
    /// The definitions after the change.
    input: &'a Input,
    past: Option<&'a dyn CommitsSinceBase>,
    /// The running objects that were exported.
    exports: &'a [Export],
    /// The differences of the users' own objects.
    own: Vec<OutsideChange>,
}

impl Comparing<'_> {
    fn report(mut self, notes: &mut Notes) -> Result<Report, Fault> {
        self.background.learn(self.before)?;
        self.background.learn(self.after)?;
        notices::note_foreign(self.after, self.before, notes)?;
        let earlier = self.after.earlier();
        let (old, new) = (
            GeneratedTree::new(&earlier, &self.management),
            GeneratedTree::new(self.after, &self.management),
        );
        let is_made = |cluster: &ClusterId| self.after.is_made(cluster);
        let sound = Sound { inner: &new, before: &old, is_made: &is_made, left: self.left };
        let live = Live::new(&old, self.exports);
        let lost = LostClusters::find(self.after, self.past)?;
        let compared = compare_apart(&live, &sound, &lost.clusters())?;
        // The guards judge what was generated, not what runs.
        let generated = if self.exports.is_empty() { &*compared.clusters } else { &[] };
        let definitions = || definitions_before(self.before, self.input);
        let leftovers = Leftovers::find(self.after, self.before, self.past, &definitions)?;
        let (mut refused, announced) = guarded(self.after, generated, &leftovers, self.past, self.input)?;
        lost.judge(self.after, &mut refused)?;
        self.background.heed(&mut refused);
        self.background.announced = announced;
        self.background.kept = self.kept_addons()?;
        self.background.leftovers = leftovers.0;
        self.background.returned = lost.returned(&compared, self.after)?;
        if !self.exports.is_empty() {
            notices::note_unexported(&compared, &live, notes);
        }
        self.learn_owners(&compared)?;
        self.background.namesakes = namesakes::namesakes(&compared, self.after);
        let total = compared.clusters.len() + compared.unchanged;
        // Each comparison is dropped once its report is made: those of a large change take much memory.
        let report = |found: ClusterChange| cluster::report(&found, &self.background);
        let mut clusters: Vec<ClusterReport> = compared.clusters.into_par_iter().map(report).collect();
        clusters.sort_by(|a, b| a.cluster.cmp(&b.cluster));
        preflight::add(&mut clusters, self.before, self.after, self.input)?;
        let mut beside = outside_clusters::changes(self.after, self.before, &self.background)?;
        beside.append(&mut self.own);
        self.accept(&mut clusters, &mut beside, &mut refused, notes)?;
        beside.sort_by(|a, b| (b.risk, &a.place).cmp(&(a.risk, &b.place)));
        place(&mut refused, self.input, self.before)?;
        let groups = group::groups(&clusters);
        // What the guards refuse is a change of the report.
        let errors = StrayErrors::of(notes, &clusters, self.left);
        notes.append(refused);
        Ok(Report {
            total,
            errors,
            stale: None,
            cautions: Vec::new(),
            groups,
            peaks: peaks::of(&clusters),
            clusters,
            beside,
        })
    }

    /// Marks what definitions accept. Which node images are used follows from the changes of clusters that are not refused then.
    fn accept(
        &self,
        clusters: &mut [ClusterReport],
        beside: &mut Vec<OutsideChange>,
        refused: &mut Notes,
        notes: &mut Notes,
    ) -> Result<(), Fault> {
        let others = |clusters: &[ClusterReport], beside: &mut Vec<OutsideChange>| -> Result<(), Fault> {
            beside.extend(images::changes(self.after, self.before, clusters)?);
            outside_clusters::mark_refused(beside, clusters);
            Ok(())
        };
        let mut acceptances = accept::Acceptances::read(self.input);
        if acceptances.is_empty() {
            return others(clusters, beside);
        }
        let old = definitions_before(self.before, self.input)?;
        acceptances.mark_spent(&old);
        let defined = [&Defined::read(self.input), &Defined::read(&old)];
        let mut matched = acceptances.of_clusters(clusters, defined);
        others(clusters, beside)?;
        acceptances.of_others(beside, defined, &mut matched);
        acceptances.report_unused(&matched, notes);
        accept::soften(refused, clusters);
        Ok(())
    }

    /// The addons with a removed file that is still protected, so that engines leave what it installed.
    fn kept_addons(&self) -> Result<BTreeSet<(ClusterId, String)>, Fault> {
        let mut found = BTreeSet::new();
        let [old, _] = self.after.listings();
        let files = &self.after.changes().files;
        for (path, _) in files.iter().filter(|(_, change)| **change == FileChange::Removed) {
            let Some(cluster) = PartId::of_path(path).as_ref().and_then(ClusterId::of_part) else { continue };
            let folder = format!("{}/addons/", render::folder_of_cluster(&cluster));
            let Some(id) = old.get(path.as_str()).filter(|_| path.as_str().starts_with(&folder)) else {
                continue;
            };
            if render::is_protected(&self.before.read(id)?) {
                found.insert((cluster, render::addon_of(path).to_owned()));
            }
        }
        Ok(found)
    }

    /// Looks up the owners of clusters that the run did not generate, because they are gone or their definitions have errors.
    fn learn_owners(&mut self, compared: &Comparison) -> Result<(), Fault> {
        let all = compared.clusters.iter().map(|one| &one.cluster);
        let unknown: Vec<_> = all.filter(|one| !self.background.owners.contains_key(*one)).collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let input = definitions_before(self.before, self.input)?;
        let sides = [Defined::read(self.input), Defined::read(&input)];
        let owners = |one: &ClusterId| {
            let found = sides.iter().map(|side| side.owners(one)).find(|owners| !owners.is_empty());
            found.unwrap_or_default()
        };
        self.background.owners.extend(unknown.into_iter().map(|one| (one.clone(), owners(one))));
        Ok(())
    }
}

impl Report {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.clusters.is_empty() && self.beside.is_empty()
    }

    /// The risk classes that occur, without accepted changes.
    pub fn risks(&self) -> BTreeSet<Risk> {
        let changes = self.clusters.iter().flat_map(|one| &one.changes);
        let clusters = changes.filter(|change| change.accepted.is_none()).map(|change| change.risk);
        let beside = self.beside.iter().filter(|one| one.accepted.is_none()).map(|one| one.risk);
        clusters.chain(beside).collect()
    }

    /// Whether a namespace is deleted although none of its clusters left by the steps of a removal, or an object in it is
    /// deleted that may be in use.
    pub fn is_unannounced(&self, beside: &OutsideChange) -> bool {
        let OutsidePlace::Namespace { management, namespace } = &beside.place else { return false };
        if beside.accepted.is_some() {
            return false;
        }
        let is_there = |one: &&ClusterReport| {
            one.cluster.management.as_str() == management && one.cluster.namespace.as_str() == namespace
        };
        let has_left = |one: &ClusterReport| {
            one.changes
                .iter()
                .any(|change| matches!(change.effect, Effect::Gone(Leaving::Announced | Leaving::Finished)))
        };
        if beside.kind != FileChange::Removed {
            return beside.risk == Risk::Deletes;
        }
        !self.clusters.iter().filter(is_there).any(has_left)
    }
}
