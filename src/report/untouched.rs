//! The clusters that a change does not touch: all their sources and their generated folder are as before.
//!
//! What the checks find of such a cluster, they would also find before the change. A report about the change need not
//! repeat it, and in a large fleet the checks take a third of the time.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::new_tree::folder_id;
use crate::{
    compare::{Archive, BlobId, FolderId, cluster_folder},
    generate::Baseline,
    note::Fault,
    plan::ClusterPlan,
    tree::Part,
    world::{Input, LOCK, companion_folder, definitions_of, is_input},
    yaml::Source,
};

/// The clusters that a change does not touch.
pub(super) struct Untouched {
    /// The folders of clusters before, by path; none if a source that several clusters share differs.
    folders: Option<BTreeMap<String, FolderId>>,
    /// The definitions that differ, and those with a companion folder that differs.
    changed: BTreeSet<String>,
}

impl Untouched {
    /// Compares the sources of a run with those before.
    pub(super) fn find(
        before: &dyn Archive,
        input: &Input,
        folders: &BTreeMap<String, FolderId>,
    ) -> Result<Self, Fault> {
        let differing = differing(before, input)?;
        if differing.iter().any(|path| is_shared(path)) {
            return Ok(Self { folders: None, changed: BTreeSet::new() });
        }
        let changed = differing.iter().flat_map(|path| definitions_of(path)).collect();
        Ok(Self { folders: Some(folders.clone()), changed })
    }
}

impl Baseline for Untouched {
    fn contains(&self, plan: &ClusterPlan, part: &Part) -> bool {
        let Some(folders) = self.folders.as_ref().filter(|_| !self.changed.contains(&*plan.cluster.file))
        else {
            return false;
        };
        let mut paths = part.files.iter().map(|file| file.path.as_str());
        let Some(folder) = paths.find_map(cluster_folder) else { return false };
        folders.get(folder).is_some_and(|before| *before == folder_id(folder, part))
    }
}

/// The sources that differ from those before, or that one side lacks. Rollouts are left out: no cluster is made from them.
fn differing(before: &dyn Archive, input: &Input) -> Result<BTreeSet<String>, Fault> {
    let mut old: BTreeMap<String, BlobId> = BTreeMap::new();
    for folder in ["clusters", "stacks", "charts/values", "generated/releases"] {
        old.extend(before.list(folder)?);
    }
    for file in ["stackloom.yaml", LOCK] {
        old.extend(before.id(file)?.map(|id| (file.to_owned(), id)));
    }
    let sources: Vec<&Source> = input.sources.iter().chain(input.beside.iter()).collect();
    let is_equal = |source: &&Source| old.get(&*source.path) == Some(&BlobId::of(source.text.as_bytes()));
    let (equal, differ): (Vec<&Source>, Vec<&Source>) = sources.into_par_iter().partition(is_equal);
    let mut differ: BTreeSet<String> = differ.into_iter().map(|source| source.path.to_string()).collect();
    differ.retain(|path| !path.starts_with("rollouts/"));
    let equal: BTreeSet<&str> = equal.into_iter().map(|source| &*source.path).collect();
    let is_source = |path: &String| is_input(path) || companion_folder(path).is_some();
    let gone = old.into_keys().filter(|path| is_source(path) && !equal.contains(path.as_str()));
    differ.extend(gone);
    Ok(differ)
}

/// Whether several clusters may be made from a source.
fn is_shared(path: &str) -> bool {
    let is_defaults = path.rsplit('/').next().is_some_and(|name| name.starts_with("_defaults."));
    !path.starts_with("clusters/") || companion_folder(path).is_none() && is_defaults
}
