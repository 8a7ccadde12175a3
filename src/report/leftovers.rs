//! Clusters that leave git while the base has files of them, but no Cluster object: the last step of a removal, unless somebody
//! removed the object from git by hand.

use std::collections::{BTreeMap, BTreeSet};

use super::{CommitsSinceBase, new_tree::After};
use crate::{
    compare::Archive,
    model::ClusterId,
    note::{Fault, Notes},
    remove::{self, Defined},
    render,
    tree::{FileChange, PartId, TreePath, is_ours},
    world::Input,
};

/// What is known of the removal of such a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Leftover {
    /// Its steps were taken.
    Removed,
    /// A commit removed its Cluster object from git while it was protected from deletion.
    Lost { commit: String },
    /// Nothing tells. `ours` says whether this program wrote any of its files.
    Unproven { ours: bool },
}

/// The clusters whose last files leave git.
#[derive(Debug, Default)]
pub(super) struct Leftovers(pub(super) BTreeMap<ClusterId, Leftover>);

impl Leftovers {
    /// Finds them. `definitions` reads the definitions of the base.
    pub(super) fn find(
        after: &After<'_>,
        before: &dyn Archive,
        past: Option<&dyn CommitsSinceBase>,
        definitions: &dyn Fn() -> Result<Input, Fault>,
    ) -> Result<Self, Fault> {
        let all = candidates(after, before)?;
        if all.is_empty() {
            return Ok(Self::default());
        }
        let paths: BTreeSet<String> = all.keys().map(file).collect();
        let lost = past.map(|past| past.lost(&paths)).transpose()?.unwrap_or_default();
        let input = definitions()?;
        let defined = Defined::read(&input);
        let known = |(cluster, ours): (ClusterId, bool)| {
            let found = match lost.get(&file(&cluster)) {
                Some(lost) if render::is_protected(&lost.text) => {
                    Leftover::Lost { commit: lost.commit.clone() }
                }
                Some(_) => Leftover::Removed,
                None if defined.is_deleted(&cluster) => Leftover::Removed,
                None => Leftover::Unproven { ours },
            };
            (cluster, found)
        };
        Ok(Self(all.into_iter().map(known).collect()))
    }

    /// Reports those whose steps were not taken. What this program did not write is reported as a foreign file.
    pub(super) fn judge(&self, notes: &mut Notes) {
        for (cluster, found) in &self.0 {
            let Some(path) = TreePath::parse(&file(cluster)) else { continue };
            match found {
                Leftover::Lost { commit } => remove::note_lost(&path, Some(commit), notes),
                Leftover::Unproven { ours: true } => remove::note_lost(&path, None, notes),
                Leftover::Unproven { ours: false } | Leftover::Removed => {}
            }
        }
    }
}

fn file(cluster: &ClusterId) -> String {
    format!("{}/{}", render::folder_of_cluster(cluster), render::CLUSTER_FILE)
}

/// The clusters that have no files after the change, and had no Cluster object before, each with whether this
/// program wrote any of its files.
fn candidates(after: &After<'_>, before: &dyn Archive) -> Result<BTreeMap<ClusterId, bool>, Fault> {
    let [old, new] = after.listings();
    let mut found: BTreeMap<ClusterId, bool> = BTreeMap::new();
    let removed = after.changes().files.iter().filter(|(_, change)| **change == FileChange::Removed);
    for (path, _) in removed {
        let Some(cluster) = PartId::of_path(path).as_ref().and_then(ClusterId::of_part) else { continue };
        let folder = format!("{}/", render::folder_of_cluster(&cluster));
        let is_left = new.range(folder.clone()..).next().is_some_and(|(path, _)| path.starts_with(&folder));
        if !path.as_str().starts_with(&folder) || is_left || old.contains_key(&file(&cluster)) {
            continue;
        }
        let is_known = found.get(&cluster).is_some_and(|ours| *ours);
        let ours = match old.get(path.as_str()).filter(|_| !is_known) {
            Some(id) => is_ours(before.read(id)?.as_bytes()),
            None => is_known,
        };
        found.insert(cluster, ours);
    }
    Ok(found)
}
