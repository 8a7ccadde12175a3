//! Refuses to move addons by more minors at a time than their release allows (`upgrade.maxMinorStep`).
//!
//! The tree lists the addon versions of each cluster, and each release limits how far they may move. Both are read before
//! and after the run. If the new release is unavailable because it is not committed yet, the old release decides.

use std::{cmp::Ordering, collections::BTreeMap};

use rayon::prelude::*;

use super::{drawn::facts, former_texts::FormerTexts};
use crate::{
    compare::{ClusterFacts, cluster_folder, listed_addons},
    definition::FrozenParts,
    model::{Addon, AddonVersion, CompatibilityRule, KubernetesVersion},
    note::{About, Notes, Place},
    release, render,
    resolve::Versions,
    tree::{Changes, FileChange, Part, PartId, TreePath},
    world::is_head_release,
    yaml::{self, Node},
};

/// The lists of addons and the releases that a run changes.
#[derive(Debug, Default)]
pub(super) struct ChangedLists {
    /// The lists of addons, by path.
    lists: BTreeMap<TreePath, (PartId, String)>,
    /// The lists of addons that are new or in another folder, by cluster.
    added: BTreeMap<PartId, String>,
    /// The texts of `release.yaml`, by name of the release.
    releases: BTreeMap<String, String>,
}

/// An addon that moves, with everything that decides whether it may.
struct Move<'a> {
    name: &'a str,
    from: AddonVersion,
    to: AddonVersion,
    step: u64,
    /// The releases before and after, each with its policy for the addon and the Kubernetes version of the cluster.
    before: Side<'a>,
    after: Side<'a>,
}

#[derive(Clone, Copy)]
struct Side<'a> {
    release: &'a str,
    /// Whether the release is available.
    is_known: bool,
    addon: Option<&'a Addon>,
    /// The rules of the release about versions.
    rules: &'a [CompatibilityRule],
    kubernetes: Option<&'a KubernetesVersion>,
}

impl<'a> Side<'a> {
    fn new(
        cluster: &'a ClusterFacts,
        addon: &str,
        kubernetes: Option<&'a KubernetesVersion>,
        releases: &'a BTreeMap<String, Option<FrozenParts>>,
    ) -> Self {
        let release = cluster.release.as_deref().unwrap_or_default();
        let known = releases.get(release).and_then(Option::as_ref);
        let mut addons = known.into_iter().flat_map(|release| &release.addons).map(|(addon, _)| addon);
        let rules = known.map(|release| release.compatibility.as_slice()).unwrap_or_default();
        let addon = addons.find(|one| one.name.as_str() == addon);
        Self { release, is_known: known.is_some(), addon, rules, kubernetes }
    }
}

/// Whether the guard needs the text of a file.
pub(super) fn reads(path: &TreePath) -> bool {
    is_list(path) || release_of(path).is_some()
}

fn is_list(path: &TreePath) -> bool {
    let folder = cluster_folder(path.as_str());
    folder.is_some_and(|folder| render::lists_addons_of(&path.as_str()[folder.len() + 1..]).is_some())
}

/// The release that a `release.yaml` belongs to.
fn release_of(path: &TreePath) -> Option<&str> {
    let inside = path.as_str().strip_prefix("generated/releases/")?;
    inside.strip_suffix("/release.yaml").filter(|name| !name.contains('/'))
}

impl ChangedLists {
    /// Records a part of the run, once its files are among the changes.
    pub(super) fn see(&mut self, part: &Part, changes: &Changes) {
        for file in part.files.iter().filter(|file| reads(&file.path)) {
            let text = || file.text().to_string();
            match (changes.files.get(&file.path), release_of(&file.path)) {
                (Some(FileChange::Added | FileChange::Changed), Some(release)) => {
                    self.releases.insert(release.to_owned(), text());
                }
                (Some(FileChange::Changed), None) => {
                    self.lists.insert(file.path.clone(), (part.id.clone(), text()));
                }
                (Some(FileChange::Added), None) => {
                    self.added.insert(part.id.clone(), text());
                }
                _ => {}
            }
        }
    }

    /// Whether a cluster still has an addon after the run.
    pub(super) fn has_addon(&self, cluster: &PartId, name: &str, changes: &Changes) -> bool {
        let changed = self.lists.values().find(|(part, _)| part == cluster).map(|(_, list)| list);
        if let Some(list) = changed.or_else(|| self.added.get(cluster)) {
            return versions(list).contains_key(name);
        }
        let is_own = |path: &TreePath| is_list(path) && PartId::of_path(path).as_ref() == Some(cluster);
        !changes.files.iter().any(|(path, change)| *change == FileChange::Removed && is_own(path))
    }

    /// Judges the addons that move. `made` returns the changed Clusters of the run.
    pub(super) fn judge<'a>(
        &'a self,
        former: &FormerTexts<'_>,
        made: &dyn Fn(&TreePath) -> Option<&'a str>,
    ) -> Notes {
        let text = |path: &TreePath| former.text(path);
        let lists = self.lists.iter().filter_map(|(path, (part, new))| {
            let cluster = TreePath::parse(&format!("{}/cluster/cluster.yaml", folder(path)?))?;
            let old = text(&cluster);
            let new_cluster = made(&cluster).map(str::to_owned).or_else(|| old.clone());
            Some((path, part, (text(path)?, old?), (new.as_str(), new_cluster?)))
        });
        let lists: Vec<_> = lists.collect();
        let read: Vec<_> = lists
            .into_par_iter()
            .filter_map(|(path, part, (old, old_cluster), (new, new_cluster))| {
                let moved = moved(&old, new);
                if moved.is_empty() {
                    return None;
                }
                Some((path, part, moved, facts(&old_cluster)?, facts(&new_cluster)?))
            })
            .collect();
        let mut releases: BTreeMap<String, Option<FrozenParts>> = BTreeMap::new();
        for (_, _, _, old, new) in &read {
            for release in [&old.release, &new.release].into_iter().flatten() {
                releases.entry(release.clone()).or_insert_with(|| {
                    let path = TreePath::parse(&format!("generated/releases/{release}/release.yaml"))?;
                    release::parts(&self.releases.get(release).cloned().or_else(|| text(&path))?)
                });
            }
        }
        let mut notes = Notes::new();
        for (path, part, moved, old, new) in read {
            for (name, from, to) in moved {
                judge_one((path, part), (&name, from, to), (&old, &new), &releases, &mut notes);
            }
        }
        notes
    }
}

/// The cluster folder that contains a file.
fn folder(path: &TreePath) -> Option<&str> {
    let (folder, _) = path.as_str().rsplit_once('/')?;
    folder.rsplit_once('/').map(|(cluster, _)| cluster)
}

/// The addons whose version differs.
fn moved(old: &str, new: &str) -> Vec<(String, AddonVersion, AddonVersion)> {
    let (old, mut new) = (versions(old), versions(new));
    let other = |(name, from): (String, AddonVersion)| {
        let to = new.remove(&name).filter(|to| !to.is_same(&from))?;
        Some((name, from, to))
    };
    old.into_iter().filter_map(other).collect()
}

fn versions(text: &str) -> BTreeMap<String, AddonVersion> {
    let listed = read(text).map(|list| listed_addons(&list)).unwrap_or_default();
    listed
        .into_iter()
        .filter_map(|(name, version)| Some((name, AddonVersion::parse(&version).ok()?)))
        .collect()
}

fn read(text: &str) -> Option<Node> {
    let mut sources = yaml::Sources::default();
    let id = sources.add("tree", text);
    sources.get(id).and_then(|source| yaml::read(source, &mut Notes::new()))
}

fn judge_one(
    (path, part): (&TreePath, &PartId),
    (name, from, to): (&str, AddonVersion, AddonVersion),
    (old, new): (&ClusterFacts, &ClusterFacts),
    releases: &BTreeMap<String, Option<FrozenParts>>,
    notes: &mut Notes,
) {
    let PartId::Cluster { namespace, cluster, .. } = part else { return };
    let (old_version, new_version) = (old.version(), new.version());
    let before = Side::new(old, name, old_version.as_ref(), releases);
    let after = Side::new(new, name, new_version.as_ref(), releases);
    let deciding = if after.is_known { after.addon } else { before.addon };
    let Some(step) = deciding.and_then(|addon| addon.max_minor_step).map(|step| step.minors) else { return };
    let apart = from.minors_apart(&to);
    if apart <= step {
        return;
    }
    let message = format!(
        "the addon `{name}` of `{namespace}/{cluster}` would move from {from} to {to}, by {apart} minor versions; its release allows {step} at a time (`maxMinorStep`)"
    );
    let moves = Move { name, from, to, step, before, after };
    notes
        .error("addon-step", Place::file(path.as_str()), message)
        .about(About::AddonVersion(name.to_owned()))
        .hint(moves.way_out());
}

impl Move<'_> {
    /// Suggests an intermediate version: one that the cluster can use now, or else one that it can use with its new release.
    fn way_out(&self) -> String {
        let name = self.name;
        let set = |version: &AddonVersion| format!("`addons: {{ {name}: {{ version: {version} }} }}`");
        if let Some(version) = self.between(&self.before) {
            return format!(
                "move {name} to {version} first: write {} and let the engine apply it before the next step",
                set(version)
            );
        }
        if let Some(version) = self.between(&self.after) {
            let release = self.after.release;
            let beside = if is_head_release(release) {
                String::new()
            } else {
                format!(" together with the release `{release}`")
            };
            return format!(
                "move {name} to {version} first: write {}{beside}, and take the next step once the engine has applied it",
                set(version)
            );
        }
        let way = if self.to > self.from { "up" } else { "down" };
        let minors = if self.step == 1 { "one minor".to_owned() } else { format!("{} minors", self.step) };
        format!(
            "go {way} by at most {minors} first: neither release lists such a version, so take {name} from another release with `addons: {{ {name}: {{ release: … }} }}`, or give `version` and `unlisted: <reason>`"
        )
    }

    /// The version closest to the goal that is within the step, that a release lists for the Kubernetes version, and that none
    /// of its rules forbids.
    fn between<'a>(&self, side: &Side<'a>) -> Option<&'a AddonVersion> {
        let versions = Versions::new(side.addon?, side.kubernetes?, side.rules);
        let forth = self.to.cmp(&self.from);
        let fits = |version: &&AddonVersion| {
            let is_between = version.cmp(&&self.from) == forth && self.to.cmp(version) == forth;
            let minors = version.minors_apart(&self.from);
            is_between && (1..=self.step).contains(&minors)
        };
        let listed = versions.allowed().map(|row| &row.version).filter(fits);
        match forth {
            Ordering::Greater => listed.max(),
            _ => listed.min(),
        }
    }
}
