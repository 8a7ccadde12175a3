//! The units that a run leaves out, and the parts of the input that belong to them.

use std::collections::{BTreeMap, BTreeSet};

use super::{SkippedDefinition, within};
use crate::{definition::Identity, world::Input, yaml::Sources};

/// The units that a run leaves out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excluded {
    /// Definitions and other files below `clusters/`, and rollouts, each with the reason.
    files: BTreeMap<String, String>,
    /// Definitions that the defaults of a folder do not fit, each with the file of the defaults.
    unfit: BTreeMap<String, String>,
    /// Folders below `clusters/` whose defaults have errors.
    folders: BTreeSet<String>,
    /// Stacks, as `<provider>/<stack>`.
    stacks: BTreeSet<String>,
    /// Numbered releases.
    releases: BTreeSet<String>,
    /// The definitions within the scope of the run, as far as they were read.
    pub(super) meant: BTreeSet<String>,
    /// The definition of each cluster, as far as they were read.
    pub(super) defined: BTreeMap<String, String>,
}

impl Excluded {
    /// Leaves out the unit that a file belongs to; false if the file belongs to everything.
    pub(super) fn add(&mut self, file: &str) -> bool {
        let parts: Vec<&str> = file.split('/').collect();
        match parts.as_slice() {
            ["clusters", between @ .., "_defaults.yaml" | "_defaults.yml"] => {
                let folder = ["clusters"].iter().chain(between).copied().collect::<Vec<_>>();
                self.folders.insert(folder.join("/"));
            }
            ["clusters" | "rollouts", _, ..] => self.add_cluster(file, "it has errors"),
            ["stacks", provider, stack, ..] => {
                self.stacks.insert(format!("{provider}/{stack}"));
            }
            ["generated", "releases", release, ..] => {
                self.releases.insert((*release).to_owned());
            }
            _ => return false,
        }
        true
    }

    /// Leaves out the definitions of clusters for which the defaults of a folder do not fit; false if the file is something
    /// else, or if not all of the definitions are known. Other clusters of the folder stay.
    pub(super) fn add_unfit(&mut self, file: &str, clusters: &BTreeSet<String>) -> bool {
        if !is_defaults(file) || !file.starts_with("clusters/") || clusters.is_empty() {
            return false;
        }
        let files: Option<Vec<String>> =
            clusters.iter().map(|name| self.defined.get(name).cloned()).collect();
        let Some(files) = files else { return false };
        for definition in files {
            if !self.files.contains_key(&definition) {
                self.unfit.insert(definition.clone(), file.to_owned());
            }
            self.add_cluster(&definition, &format!("the defaults in `{file}` do not fit it"));
        }
        true
    }

    /// Leaves a definition out.
    pub(super) fn add_cluster(&mut self, file: &str, why: &str) {
        self.files.entry(file.to_owned()).or_insert_with(|| why.to_owned());
    }

    /// Reports whether a cluster depends on an excluded unit, and then excludes the cluster, too.
    pub(super) fn takes_base_of(&mut self, identity: &Identity) -> bool {
        let named = identity.release.iter().chain(&identity.borrowed);
        let release = named.into_iter().find(|release| self.releases.contains(*release));
        let why = match (&identity.stack, release) {
            (Some(stack), _) if self.stacks.contains(stack) => format!("its stack `{stack}` has errors"),
            (_, Some(release)) => format!("its release `{release}` has errors"),
            _ => return false,
        };
        self.add_cluster(&identity.file, &why);
        true
    }

    /// The excluded stacks. They exist, so naming them is not an error.
    pub(super) fn stacks(&self) -> impl Iterator<Item = &str> {
        self.stacks.iter().map(String::as_str)
    }

    /// The input without the excluded units.
    pub fn without(&self, input: &Input) -> Input {
        if self.files.is_empty()
            && self.folders.is_empty()
            && self.stacks.is_empty()
            && self.releases.is_empty()
        {
            return input.clone();
        }
        let kept = input.sources.iter().filter(|source| !self.has(&source.path));
        let files = kept.map(|source| (source.path.to_string(), source.text.to_string())).collect();
        let stays = |folder: &&String| {
            let stem = folder.strip_suffix(".d").unwrap_or(folder);
            let beside = |end: &str| self.has(&format!("{stem}.{end}"));
            !self.has(folder) && !beside("yaml") && !beside("yml")
        };
        let companions = input.companions.iter().filter(stays).cloned().collect();
        let mut damaged = input.damaged.clone();
        damaged.retain(|release, _| !self.releases.contains(release));
        Input {
            sources: Sources::new(files),
            companions,
            beside: input.beside.clone(),
            folder: input.folder.clone(),
            damaged,
            recorded: input.recorded.clone(),
            deleted: input.deleted.difference(&self.releases).cloned().collect(),
        }
    }

    fn has(&self, path: &str) -> bool {
        let folders = || path.match_indices('/').map(|(at, _)| &path[..at]);
        self.files.contains_key(path)
            || folders().any(|folder| self.folders.contains(folder))
            || folders()
                .any(|folder| folder.strip_prefix("stacks/").is_some_and(|id| self.stacks.contains(id)))
            || folders().any(|folder| {
                folder.strip_prefix("generated/releases/").is_some_and(|name| self.releases.contains(name))
            })
    }

    /// Excludes the definitions in folders whose defaults have errors.
    pub fn learn(&mut self, input: &Input) {
        for folder in self.folders.clone() {
            for source in input.sources.below(&folder) {
                if !is_defaults(&source.path) {
                    let why = format!("the defaults of `{folder}` have errors");
                    self.add_cluster(&source.path, &why);
                }
            }
        }
    }

    /// Reports whether nothing is left out.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.stacks.is_empty() && self.releases.is_empty() && self.folders.is_empty()
    }

    /// The skipped definitions, sorted by path.
    pub fn left(&self) -> Vec<SkippedDefinition> {
        let left = |(file, why): (&String, &String)| {
            let unfit = self.unfit.get(file).cloned();
            SkippedDefinition { file: file.clone(), why: why.clone(), unfit }
        };
        self.files.iter().map(left).collect()
    }

    /// Adds the excluded files at a path, or with a cluster's name, to the scope. Reports whether there are any.
    pub(super) fn mean(&mut self, only: &str) -> bool {
        let name = only.rsplit('/').next().unwrap_or(only);
        let of_name = |file: &str| {
            let last = file.rsplit('/').next().unwrap_or(file);
            last.rsplit_once('.').is_some_and(|(stem, _)| stem == name)
        };
        let files = self.files.keys();
        let meant: Vec<_> = files.filter(|file| within(file, only) || of_name(file)).cloned().collect();
        let any = !meant.is_empty();
        self.meant.extend(meant);
        any
    }

    /// Reports whether a definition is within the scope of the run.
    pub fn is_meant(&self, file: &str) -> bool {
        self.meant.contains(file)
    }
}

/// Reports whether a file holds the defaults of a folder.
fn is_defaults(file: &str) -> bool {
    file.rsplit('/').next().is_some_and(|name| name.starts_with("_defaults."))
}
