//! What became of the definitions of clusters whose generated files an earlier commit removed: whether one of them defines
//! another cluster now, or left git without a run that could have said so.

use std::{io, path::Path};

use git2::{ObjectType, Oid, Repository, TreeWalkMode, TreeWalkResult};

use super::lost::Removal;
use crate::{
    remove::{Former, identity_in, namespace_in},
    render::CLUSTER_FILE,
    tree::{PartId, TreePath},
    world::is_yaml,
};

/// The folder of all definitions.
const CLUSTERS: &str = "clusters";
/// The folder of what is generated for clusters.
const MANAGEMENT: &str = "generated/management";
/// How many commits are searched, along first parents.
const SEARCHED: usize = 1000;

/// A cluster by its management cluster, namespace and name.
pub(in crate::io) type ClusterName = (String, String, String);

/// What became of a cluster whose generated files an earlier commit removed.
#[derive(Debug)]
pub(in crate::io) enum Trace {
    /// It moves to another management cluster in this run, or its definition left in the work tree or in a commit that
    /// defines a new cluster of this run.
    Judged,
    /// Its definition defines another cluster, which is new in this run.
    Became(Former),
    /// Its definition left git after its files, which this commit removed, and no generated file changed since.
    Gone(String),
}

/// The fleet as it is now.
pub(in crate::io) struct Now<'a> {
    pub(in crate::io) root: &'a Path,
    /// Reads a file of the disk.
    pub(in crate::io) read: fn(&Path) -> io::Result<Vec<u8>>,
    /// The clusters that this run adds.
    pub(in crate::io) arrivals: &'a [ClusterName],
}

/// A commit, with the folders that matter.
struct Step {
    commit: Oid,
    clusters: Option<Oid>,
    generated: Option<Oid>,
}

/// The commits up to HEAD, newest first.
pub(super) struct History<'a> {
    repository: &'a Repository,
    steps: Vec<Step>,
}

impl<'a> History<'a> {
    pub(super) fn read(repository: &'a Repository, prefix: &Path, tip: Oid) -> Self {
        let mut steps = Vec::new();
        let mut next = repository.find_commit(tip).ok();
        while let Some(commit) = next.filter(|_| steps.len() <= SEARCHED) {
            let tree = commit.tree().ok();
            let folder = |name: &str| Some(tree.as_ref()?.get_path(&prefix.join(name)).ok()?.id());
            let (clusters, generated) = (folder(CLUSTERS), folder(MANAGEMENT));
            steps.push(Step { commit: commit.id(), clusters, generated });
            next = commit.parent(0).ok();
        }
        Self { repository, steps }
    }

    /// Whether a file below `clusters/` is gone that git had when the generated files last changed.
    pub(super) fn lost_definitions(&self, root: &Path) -> bool {
        let Some(tip) = self.steps.first() else { return false };
        let same = self.steps.iter().take_while(|step| step.generated == tip.generated);
        let Some(tree) = same.last().and_then(|step| step.clusters) else { return false };
        let mut lost = false;
        self.walk(tree, &mut |path, _| lost |= !root.join(path).exists());
        lost
    }

    /// What became of a cluster. None if a run said so, or if nothing is known.
    pub(super) fn trace(&self, folder: &str, removal: Removal, now: &Now<'_>) -> Option<Trace> {
        let (management, namespace, name) = cluster_of(folder)?;
        let own = (namespace.as_str(), name.as_str());
        let is_own = |(_, space, other): &&ClusterName| (space.as_str(), other.as_str()) == own;
        if now.arrivals.iter().find(is_own).is_some_and(|(there, ..)| *there != management) {
            return Some(Trace::Judged);
        }
        let at = self.steps.iter().position(|step| step.commit == removal.commit)?;
        if self.was_generated(removal.commit, &format!("{management}/{namespace}/{name}")) {
            return None;
        }
        let (start, mut path, text) = self.definition(at + 1, own)?;
        for index in (0..start).rev() {
            let step = &self.steps[index];
            if step.clusters == self.steps[index + 1].clusters || self.blob(step, &path).is_some() {
                continue;
            }
            if let Some((moved, _)) = self.find(step, own) {
                path = moved;
                continue;
            }
            if now.arrivals.iter().any(|(_, space, other)| self.find(step, (space, other)).is_some()) {
                return Some(Trace::Judged);
            }
            let is_told = index >= at || self.steps[index + 1].generated != self.steps[0].generated;
            return (!is_told).then(|| Trace::Gone(removal.commit.to_string()));
        }
        let Ok(after) = (now.read)(&now.root.join(&path)) else { return Some(Trace::Judged) };
        let after = String::from_utf8(after).ok()?;
        let (space, other) = identity_in(&path, &after)?;
        let is_heir = |(there, in_space, is): &ClusterName| {
            *there == management
                && *is == other
                && space.as_ref().is_none_or(|space| space == in_space)
                && (in_space.as_str(), is.as_str()) != own
        };
        let becomes = now.arrivals.iter().any(is_heir);
        becomes.then_some(Trace::Became(Former { path, text, now: after }))
    }

    /// Whether a commit is one of the program's own that names a cluster: that run told what it removes.
    fn was_generated(&self, commit: Oid, cluster: &str) -> bool {
        let Ok(commit) = self.repository.find_commit(commit) else { return false };
        let message = String::from_utf8_lossy(commit.message_bytes()).into_owned();
        message.lines().any(|line| {
            line.starts_with("Stackloom-Cluster-Count: ")
                || line.strip_prefix("Stackloom-Cluster: ").is_some_and(|named| named == cluster)
        })
    }

    /// The last definition of a cluster at a step or before it: the step, the path and the text.
    fn definition(&self, from: usize, own: (&str, &str)) -> Option<(usize, String, String)> {
        let mut searched = None;
        for (index, step) in self.steps.iter().enumerate().skip(from) {
            if searched == Some(step.clusters) {
                continue;
            }
            searched = Some(step.clusters);
            if let Some((path, text)) = self.find(step, own) {
                return Some((index, path, text));
            }
        }
        None
    }

    /// The file that defines a cluster in a commit, and its text.
    fn find(&self, step: &Step, (namespace, name): (&str, &str)) -> Option<(String, String)> {
        let mut found = None;
        self.walk(step.clusters?, &mut |path, id| {
            if found.is_some() {
                return;
            }
            let Some(text) = self.text(id).filter(|text| text.contains(name)) else { return };
            let is_it = identity_in(&path, &text).is_some_and(|(space, other)| {
                other == name
                    && space.or_else(|| self.namespace(step, &path)).is_none_or(|space| space == namespace)
            });
            found = is_it.then_some((path, text));
        });
        found
    }

    /// The namespace that the defaults of the folders around a definition set.
    fn namespace(&self, step: &Step, path: &str) -> Option<String> {
        Path::new(path).ancestors().skip(1).find_map(|folder| {
            ["yaml", "yml"].iter().find_map(|ending| {
                let defaults = folder.join(format!("_defaults.{ending}"));
                let text = self.text(self.blob(step, defaults.to_str()?)?)?;
                namespace_in(defaults.to_str()?, &text)
            })
        })
    }

    fn blob(&self, step: &Step, path: &str) -> Option<Oid> {
        let inside = path.strip_prefix(CLUSTERS)?.strip_prefix('/')?;
        let tree = self.repository.find_tree(step.clusters?).ok()?;
        let entry = tree.get_path(Path::new(inside)).ok()?;
        (entry.kind() == Some(ObjectType::Blob)).then(|| entry.id())
    }

    fn text(&self, blob: Oid) -> Option<String> {
        String::from_utf8(self.repository.find_blob(blob).ok()?.content().to_vec()).ok()
    }

    /// Visits the definitions below a folder.
    fn walk(&self, tree: Oid, visit: &mut dyn FnMut(String, Oid)) {
        let Ok(tree) = self.repository.find_tree(tree) else { return };
        let walked = tree.walk(TreeWalkMode::PreOrder, |parent, entry| {
            let Ok(name) = entry.name() else { return TreeWalkResult::Ok };
            if entry.kind() == Some(ObjectType::Tree) {
                // The objects beside a cluster are no definitions.
                let is_beside = name.strip_suffix(".d").is_some();
                return if is_beside { TreeWalkResult::Skip } else { TreeWalkResult::Ok };
            }
            if is_yaml(name) && !name.starts_with("_defaults.") {
                visit(format!("{CLUSTERS}/{parent}{name}"), entry.id());
            }
            TreeWalkResult::Ok
        });
        // Where a partial clone lacks objects, nothing is known.
        walked.ok();
    }
}

fn cluster_of(folder: &str) -> Option<ClusterName> {
    let file = TreePath::parse(&format!("{folder}/{CLUSTER_FILE}"))?;
    match PartId::of_path(&file)? {
        PartId::Cluster { management, namespace, cluster } => Some((management, namespace, cluster)),
        _ => None,
    }
}
