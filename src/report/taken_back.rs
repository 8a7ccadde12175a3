//! What a commit in between deletes, and a later one brings back. The change as a whole does not show it, and the guards pass it,
//! because it was announced: an engine that applies the commits one by one deletes it all the same.
//!
//! Deliberately absent: machines that are replaced and replaced again, such as by a flavor that changes and changes back.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    change::{Change, Effect, Leaving, Revert, Subject},
    commits_since_base::CommitSinceBase,
    machine_words,
    new_tree::{After, Listing},
    risk::Risk,
};
use crate::{
    compare::{Archive as _, BlobId, ClusterFacts},
    model::ClusterId,
    note::{About, Diagnostic, Extent, Fault, Notes, Place, Severity, short_commit},
    remove::{self, cluster_of},
    render,
    topology::Pool,
    tree::{PartId, TreePath},
    yaml::Node,
};

/// The files of a step that show what it takes away: Clusters that differ, and files of addons that come or go.
pub(super) type Files = BTreeMap<String, [Option<BlobId>; 2]>;

/// Finds these files.
pub(super) fn files([old, new]: &[Listing; 2]) -> Files {
    let mut found = Files::new();
    for path in old.keys().chain(new.keys()) {
        let sides = [old, new].map(|side| side.get(path).copied());
        let is_meant = || match sides {
            [Some(_), Some(_)] => render::is_cluster_file(path),
            _ => {
                render::is_cluster_file(path)
                    || TreePath::parse(path).is_some_and(|path| render::is_addon_file(&path))
            }
        };
        if sides[0] != sides[1] && is_meant() {
            found.insert(path.clone(), sides);
        }
    }
    found
}

/// A step, as far as it matters here.
pub(super) struct Step<'a> {
    /// None for the step from the last commit to the definitions of the run.
    pub(super) commit: Option<&'a CommitSinceBase>,
    pub(super) files: &'a Files,
    pub(super) found: &'a Notes,
}

impl Step<'_> {
    /// Whether the guards report what the step does to a cluster, or to a part of it.
    fn is_reported(&self, cluster: &ClusterId, about: &About) -> bool {
        let is_it = |note: &Diagnostic| {
            note.severity == Severity::Error
                && cluster_of(note).as_ref() == Some(cluster)
                && (*about == About::Cluster || note.about.as_ref() == Some(about))
        };
        self.found.iter().any(is_it)
    }
}

/// Warns of what a commit in between takes away, and a later step brings back.
pub(super) fn warn(steps: &[Step<'_>], after: &After<'_>, notes: &mut Notes) -> Result<(), Fault> {
    let mut times: BTreeMap<&String, usize> = BTreeMap::new();
    for path in steps.iter().flat_map(|step| step.files.keys()) {
        *times.entry(path).or_default() += 1;
    }
    // Several files may install an addon.
    let mut addons = Notes::new();
    // What differs in one step only stays as that step leaves it.
    for (path, _) in times.into_iter().filter(|(_, times)| *times > 1) {
        let Some(tree_path) = TreePath::parse(path) else { continue };
        let Some(cluster) = PartId::of_path(&tree_path).as_ref().and_then(ClusterId::of_part) else {
            continue;
        };
        let (Some(before), Some(end)) = (after.id_before(path)?, after.id_after(path)?) else { continue };
        let found = Comparing { steps, after, path, cluster };
        if render::is_cluster_file(path) {
            found.cluster([before, end], notes)?;
        } else {
            found.addon(render::addon_of(&tree_path), &mut addons)?;
        }
    }
    let mut seen = BTreeSet::new();
    for note in addons.iter() {
        if seen.insert(&note.message) {
            notes.push(note.clone());
        }
    }
    Ok(())
}

struct Comparing<'a> {
    steps: &'a [Step<'a>],
    after: &'a After<'a>,
    path: &'a str,
    cluster: ClusterId,
}

impl Comparing<'_> {
    /// The file before and after each step that changes it.
    fn states(&self) -> impl Iterator<Item = (usize, [Option<BlobId>; 2])> {
        let own = |(at, step): (usize, &Step<'_>)| Some((at, *step.files.get(self.path)?));
        self.steps.iter().enumerate().filter_map(own)
    }

    /// Judges a file of an addon. What goes with its cluster is not said apart.
    fn addon(&self, name: &str, notes: &mut Notes) -> Result<(), Fault> {
        let file = format!("{}/{}", render::folder_of_cluster(&self.cluster), render::CLUSTER_FILE);
        let with_cluster = self.steps.iter().any(|step| matches!(step.files.get(&file), Some([_, None])));
        for (at, state) in self.states().filter(|_| !with_cluster) {
            let [Some(old), None] = state else { continue };
            let text = self.after.read(&old)?;
            let installs = render::installer_of(&text).is_some() && !render::leaves_behind(&text);
            if render::is_protected(&text) || !installs {
                continue;
            }
            let back = self.states().find(|(later, [_, new])| *later > at && new.is_some());
            let what = format!("the addon `{name}` of `{}` is uninstalled", self.cluster);
            let otherwise = "uninstalls it, and installs it anew afterwards";
            self.add(at, back, (About::Addon(name.to_owned()), &what, otherwise), notes);
            break;
        }
        Ok(())
    }

    fn cluster(&self, sides: [BlobId; 2], notes: &mut Notes) -> Result<(), Fault> {
        let facts = |id: &BlobId| Ok::<_, Fault>(remove::facts(&self.after.read(id)?));
        for (at, state) in self.states() {
            let [Some(old), None] = state else { continue };
            let text = self.after.read(&old)?;
            if render::is_protected(&text) {
                continue;
            }
            let back = self.states().find(|(later, [_, new])| *later > at && new.is_some());
            let what = format!("the cluster `{}` is deleted{}", self.cluster, machines_of(&text));
            let otherwise = "deletes it, and builds a new and empty one afterwards";
            self.add(at, back, (About::Cluster, &what, otherwise), notes);
            return Ok(());
        }
        let [Some(before), Some(end)] = [facts(&sides[0])?, facts(&sides[1])?] else { return Ok(()) };
        let mut states = Vec::new();
        for (at, [_, new]) in self.states() {
            let Some(found) = new.map(|id| facts(&id)).transpose()?.flatten() else { return Ok(()) };
            states.push((at, found));
        }
        for part in parts(&before).intersection(&parts(&end)) {
            self.part(part, [&before, &end], &states, notes);
        }
        Ok(())
    }

    /// Judges the number of machines of a part.
    fn part(
        &self,
        part: &Part,
        sides: [&ClusterFacts; 2],
        states: &[(usize, ClusterFacts)],
        notes: &mut Notes,
    ) {
        let kept = sides.map(|side| size(side, part)).into_iter().min().unwrap_or(Size::Unset);
        let lost = |facts: &ClusterFacts| !facts.paused && size(facts, part) < kept;
        let Some(least) = states.iter().map(|(_, facts)| size(facts, part)).min() else { return };
        let worst = states.iter().find(|(_, facts)| lost(facts) && size(facts, part) == least);
        let Some((at, facts)) = worst else { return };
        let back = states.iter().find(|(later, facts)| later > at && !lost(facts));
        let back = back.map(|(later, _)| (*later, [None; 2]));
        let (about, what) = match part {
            Some(Pool { name, .. }) => {
                (About::Pool(name.clone()), format!("the node pool `{name}` of `{}`", self.cluster))
            }
            None => (About::Cluster, format!("the control plane of `{}`", self.cluster)),
        };
        let now = match size(facts, part) {
            Size::Gone => "is deleted".to_owned(),
            Size::Count(0) => "loses all its machines".to_owned(),
            Size::Count(count) => format!("shrinks to {}", machine_words::counted(count, "machine")),
            Size::Unset => return,
        };
        let otherwise = "deletes machines, and builds others afterwards";
        self.add(*at, back, (about, &format!("{what} {now}"), otherwise), notes);
    }

    fn add(
        &self,
        at: usize,
        back: Option<(usize, [Option<BlobId>; 2])>,
        (about, what, otherwise): (About, &str, &str),
        notes: &mut Notes,
    ) {
        let Some(commit) = self.steps[at].commit.filter(|commit| !commit.is_merge) else { return };
        // With machines that an error is about, nothing needs to be said again.
        if self.steps[at].is_reported(&self.cluster, &about) {
            return;
        }
        let named = |commit: &CommitSinceBase| {
            format!("the commit {} ({}) takes it back", short_commit(&commit.commit), commit.title)
        };
        let Some((back, _)) = back else { return };
        let back =
            self.steps[back].commit.map_or_else(|| "the definitions here take it back".to_owned(), named);
        let message = format!("in the commit {} ({}): {what}", short_commit(&commit.commit), commit.title);
        let hint =
            format!("{back}; an engine that reads the branch in between {otherwise}: squash the commits");
        notes.warning("removal", Place::file(self.path), message).about(about).hint(hint).extent =
            Extent::Commit;
    }
}

/// A pool; none for the control plane.
type Part = Option<Pool>;

fn parts(facts: &ClusterFacts) -> BTreeSet<Part> {
    facts.pools.keys().cloned().map(Some).chain([None]).collect()
}

/// The size of a part, smallest first. A number that an autoscaler decides is not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Size {
    Gone,
    Count(i64),
    Unset,
}

fn size(facts: &ClusterFacts, part: &Part) -> Size {
    let of = |count: Option<i64>| count.map_or(Size::Unset, Size::Count);
    match part {
        None => of(facts.control_plane),
        Some(key) => {
            facts.pools.get(key).map_or(Size::Gone, |pool| of(pool.get("replicas").and_then(Node::as_int)))
        }
    }
}

fn machines_of(text: &str) -> String {
    let mut change =
        Change::new(Subject::Whole, Effect::Gone(Leaving::Announced), Risk::Deletes, Revert::CreatesNew);
    change.lose_all(remove::facts(text).as_ref());
    machine_words::machines(change.machines).map(|machines| format!(" with {machines}")).unwrap_or_default()
}
