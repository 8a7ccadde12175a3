//! Guards against deletions without the removal steps: clusters and node pools.
//!
//! The tree is a function of the sources alone. The previous tree is not an input: a guard only looks at what the run is
//! about to replace. It detects skipped steps and definitions that were deleted too early. A protected object that
//! disappears without any step is not deleted but left unmanaged, so that is only a warning. A cluster that moves to another
//! management cluster must not be reconciled there before its machines are known there.

use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use rayon::prelude::*;

use super::{
    addon_step,
    changed_cluster::{ChangedCluster, judge_change},
    class_kinds::{self, Classes},
    delivery_change,
    destination::Targets,
    drawn::is_readable,
    former_texts::{FormerTexts, ReadFormer},
    heirs::{self, Arrivals, Heirs},
    replaced::Former,
};
use crate::{
    compare::ClusterFacts,
    model::ClusterId,
    note::{About, Diagnostic, Fault, Notes, Place, Severity},
    render::{
        CLUSTER_FILE, Installer, addon_of, installer_of, installs_manifests, is_addon_file, is_cluster_file,
        is_on_standby, is_protected, keeper, leaves_behind, may_name_target,
    },
    tree::{Changes, File, FileChange, Part, PartId, TreePath},
};

/// The tree before the run.
#[derive(Clone, Copy)]
pub struct Before<'a> {
    /// Reads the former content of a file; none if there was no such file.
    pub text: &'a ReadFormer<'a>,
    /// The facts of a Cluster that the run changes, before and after it, if they are known. Otherwise its texts are read.
    pub facts: &'a (dyn Fn(&TreePath) -> Option<[&'a ClusterFacts; 2]> + Sync),
    /// Whether a branch or a tag may contain a file. Only affects the text of a warning, because a tree may also reach an
    /// engine without git.
    pub published: &'a dyn Fn(&TreePath) -> bool,
    /// Reads the definitions of the last commit whose files still exist.
    pub definitions: &'a dyn Fn() -> Vec<Former>,
    /// How to report clusters and needed addons that leave git without any step. Against a base, this is an error: the tree
    /// was published.
    pub lost: Severity,
}

/// Collects what a run generates, then judges what it deletes and changes.
#[derive(Debug, Default)]
pub struct Guard {
    /// The files with a Cluster that differ, with their new texts.
    made: BTreeMap<TreePath, (PartId, Arc<str>)>,
    /// The addon versions of clusters that differ.
    addons: addon_step::ChangedLists,
    /// The classes of the run.
    classes: Classes,
    /// The objects that install addons, in files that differ.
    installers: BTreeMap<PartId, Vec<(TreePath, Installer)>>,
    targets: Targets,
}

impl Guard {
    /// Whether the guard needs the text of a file that a run makes.
    pub fn reads(path: &TreePath) -> bool {
        let is_of_cluster = is_cluster(path) || is_addon_file(path);
        is_of_cluster || addon_step::reads(path) || class_kinds::reads(path) || may_name_target(path)
    }

    /// Records a part of the run, once its files are among the changes.
    pub fn see(&mut self, part: &Part, changes: &Changes) {
        self.addons.see(part, changes);
        part.files.iter().for_each(|file| self.classes.see(file));
        part.files.iter().for_each(|file| self.targets.see(file, changes));
        let PartId::Cluster { .. } = &part.id else { return };
        let is_changed = |file: &&File| changes.files.get(&file.path) == Some(&FileChange::Changed);
        let changed = part.files.iter().filter(is_changed).filter(|file| is_addon_file(&file.path));
        let installer = |file: &File| Some((file.path.clone(), installer_of(file.text())?));
        let mut installers: Vec<_> = changed.filter_map(installer).collect();
        // Two deliveries may apply manifests the same way; the objects that install charts tell them apart.
        installers.sort_by_key(|(path, _)| installs_manifests(path));
        if !installers.is_empty() {
            self.installers.insert(part.id.clone(), installers);
        }
        let Some(file) = part.files.iter().find(|file| is_cluster(&file.path)) else { return };
        if changes.files.contains_key(&file.path) {
            self.made.insert(file.path.clone(), (part.id.clone(), file.text().clone()));
        }
    }

    /// Judges the files that the run changes and removes. Fails if a former file cannot be read: without it, a protected
    /// object would look unprotected.
    pub fn judge(&self, changes: &Changes, before: Before<'_>, notes: &mut Notes) -> Result<(), Fault> {
        let former = FormerTexts::new(before.text);
        self.judge_with(changes, before, &former, notes);
        former.end()
    }

    /// Judges the objects that install addons: with others, addons would be uninstalled, or installed a second time.
    fn judge_installers(&self, former: &FormerTexts<'_>, notes: &mut Notes) {
        let text = |path: &TreePath| former.text(path).unwrap_or_default();
        let moved = self.targets.judge(former, notes);
        for (part, files) in &self.installers {
            let Some(cluster) = files.first().and_then(|(path, _)| cluster_beside(path)) else { continue };
            let (old, new) = (text(&cluster), self.made.get(&cluster).map(|(_, new)| &**new));
            // A change of the engine is reported separately.
            if new.is_some_and(|new| keeper(new) != keeper(&old)) {
                continue;
            }
            let change = files.iter().find_map(|(path, after)| {
                let installer = text(path);
                let before = installer_of(&installer)
                    .filter(|before| before.is_replaced_by(after) || before.has_other_cluster(after))
                    // An object that cannot be read cannot be identified, and engines cannot apply it either.
                    .filter(|_| is_readable(&installer))?;
                (!is_on_standby(&old) && !leaves_behind(&installer)).then_some((path, before, after))
            });
            let is_told =
                matches!(part, PartId::Cluster { management, .. } if moved.contains(management.as_str()));
            if let Some((path, before, after)) = change.filter(|_| !is_told) {
                delivery_change::refuse(path, part, &before, after, notes);
            }
        }
    }

    fn judge_with(&self, changes: &Changes, before: Before<'_>, former: &FormerTexts<'_>, notes: &mut Notes) {
        let text = |path: &TreePath| former.text(path).unwrap_or_default();
        self.judge_installers(former, notes);
        let changed =
            self.made.iter().filter(|(path, _)| changes.files.get(*path) == Some(&FileChange::Changed));
        let classes = self.classes.with_removed(changes, former);
        let changed: Vec<_> = changed
            .map(|(path, (part, new))| match (before.facts)(path) {
                Some(known) => (path, part, ChangedCluster::Known(known)),
                None => (path, part, ChangedCluster::Written([text(path).into(), new.clone()])),
            })
            .collect();
        let judge = |(path, part, cluster): &(&TreePath, &PartId, ChangedCluster<'_>)| {
            judge_change((path, part), cluster, &classes)
        };
        let found: Vec<Notes> = changed.par_iter().map(judge).collect();
        for found in found {
            notes.append(found);
        }
        let made = |path: &TreePath| self.made.get(path).map(|(_, text)| &**text);
        notes.append(self.addons.judge(former, &made));
        let (arrivals, heirs) = (self.arrivals(changes), OnceCell::new());
        let removed = changes.files.iter().filter(|(_, change)| **change == FileChange::Removed);
        let mut lost = Lost { severity: before.lost, versions: &self.addons, addons: BTreeSet::new() };
        for (path, _) in removed {
            let Some(part) = PartId::of_path(path) else { continue };
            let PartId::Cluster { namespace, cluster, .. } = &part else { continue };
            let defined = changes.parts.contains_key(&part);
            if is_cluster(path) {
                let protected = is_protected(&text(path));
                match arrivals.get(&(namespace.as_str(), cluster.as_str())) {
                    Some(there) if protected => judge_move(path, &part, *there, notes),
                    _ if protected && !defined && !(before.published)(path) => {
                        note_never_committed(path, &part, notes);
                    }
                    _ => {
                        let stays = protected && !defined;
                        // Against a base, whatever leaves git without any step is refused.
                        let old =
                            ClusterId::of_part(&part).filter(|_| stays && before.lost == Severity::Warning);
                        let successor = old.and_then(|old| {
                            let heirs = heirs.get_or_init(|| self.heirs(&text, changes, &before));
                            Some((heirs.of(&old)?, old))
                        });
                        let mut others = arrivals.keys().filter(|(other, _)| other == namespace);
                        let other = others.next().map(|(_, name)| *name);
                        match successor {
                            Some((successor, old)) => heirs::refuse(successor, path, &old, notes),
                            None => lost.judge_cluster(path, &part, (defined, protected), other, notes),
                        }
                    }
                }
            } else if defined && is_addon_file(path) {
                let cluster = cluster_beside(path).and_then(|cluster| made(&cluster));
                lost.judge_addon((path, &part), (&text(path), cluster), changes, notes);
            }
        }
    }

    /// The clusters that appear and disappear.
    fn heirs(&self, text: &dyn Fn(&TreePath) -> String, changes: &Changes, before: &Before<'_>) -> Heirs {
        let created =
            self.made.iter().filter(|(path, _)| changes.files.get(path) == Some(&FileChange::Added));
        let created = created.filter_map(|(_, (part, text))| Some((ClusterId::of_part(part)?, &**text)));
        let removed = changes.files.iter().filter(|(_, change)| **change == FileChange::Removed);
        let gone = removed.filter(|(path, _)| is_cluster(path)).filter_map(|(path, _)| {
            let part = PartId::of_path(path).filter(|part| !changes.parts.contains_key(part))?;
            Some((ClusterId::of_part(&part)?, text(path)))
        });
        Heirs::new(gone, created, &(before.definitions)())
    }

    /// The clusters that are new in a management cluster, by namespace and name: the management cluster, and whether on standby.
    fn arrivals(&self, changes: &Changes) -> Arrivals<'_> {
        let new = self.made.iter().filter(|(path, _)| changes.files.get(path) == Some(&FileChange::Added));
        new.filter_map(|(_, (part, text))| match part {
            PartId::Cluster { management, namespace, cluster } => {
                Some(((namespace.as_str(), cluster.as_str()), (management.as_str(), is_on_standby(text))))
            }
            _ => None,
        })
        .collect()
    }
}

/// Whether a path is that of a Cluster. The engine's own file for a cluster named `cluster` ends like it.
fn is_cluster(path: &TreePath) -> bool {
    is_cluster_file(path.as_str())
}

/// The file of the Cluster that a file among its addons belongs to.
fn cluster_beside(path: &TreePath) -> Option<TreePath> {
    let (folder, _) = path.as_str().rsplit_once("/addons/")?;
    TreePath::parse(&format!("{folder}/{CLUSTER_FILE}"))
}

fn judge_move(path: &TreePath, part: &PartId, (new, is_on_standby): (&str, bool), notes: &mut Notes) {
    let PartId::Cluster { management, namespace, cluster } = part else { return };
    let place = Place::file(path.as_str());
    if is_on_standby {
        notes
            .warning(
                "moved",
                place,
                format!("the cluster `{namespace}/{cluster}` would move from `{management}` to `{new}`, but git moves only its files: it keeps running in `{management}`"),
            )
            .about(About::ManagementCluster)
            .hint(format!("move its objects with `clusterctl move` before `{new}` leaves standby: docs/management-clusters.md has the steps"));
    } else {
        notes
            .error(
                "moved",
                place,
                format!("the cluster `{namespace}/{cluster}` would be built a second time: it runs in `{management}`, and `{new}` does not know its machines"),
            )
            .about(About::ManagementCluster)
            .hint(format!("to move it, set `standby: true` for `{new}` in stackloom.yaml first: docs/management-clusters.md has the steps"))
            .hint(format!("to leave it where it is, restore `managementCluster: {management}`"));
    }
}

fn note_left_behind(path: &TreePath, part: &PartId, notes: &mut Notes) {
    let PartId::Cluster { namespace, cluster, .. } = part else { return };
    let addon = addon_of(path);
    notes
        .warning(
            "abandoned",
            Place::file(path.as_str()),
            format!("the manifests of `{addon}` are removed from git but stay in the cluster `{namespace}/{cluster}`: Cluster API deletes nothing there"),
        )
        .hint("delete the objects in the workload cluster by hand");
}

fn note_never_committed(path: &TreePath, part: &PartId, notes: &mut Notes) {
    let PartId::Cluster { namespace, cluster, .. } = part else { return };
    notes
        .warning(
            "never-committed",
            Place::file(path.as_str()),
            format!("the cluster `{namespace}/{cluster}` no longer has a definition, and no branch or tag contains its files"),
        )
        .hint("if no engine has built it, nothing is left to do; if one has, it keeps running, unmanaged")
        .hint(format!("to keep it, write the definition again: git cannot restore it (`stackloom new cluster {cluster}`)"));
}

/// Warns of a protected cluster that has neither generated files nor a definition any more.
pub(super) fn note_undefined(path: &TreePath, part: &PartId, notes: &mut Notes) {
    let versions = addon_step::ChangedLists::default();
    let lost = Lost { severity: Severity::Warning, versions: &versions, addons: BTreeSet::new() };
    lost.judge_cluster(path, part, (false, true), None, notes);
}

/// What the message about a cluster says that leaves git without any step.
pub(super) const UNDEFINED: &str = "no longer has a definition";

/// Reports what leaves git without any step.
struct Lost<'a> {
    severity: Severity,
    versions: &'a addon_step::ChangedLists,
    /// The addons already reported. Several files may install one.
    addons: BTreeSet<(PartId, String)>,
}

impl Lost<'_> {
    fn add<'n>(&self, path: &TreePath, message: String, notes: &'n mut Notes) -> &'n mut Diagnostic {
        let place = Place::file(path.as_str());
        match self.severity {
            Severity::Error => notes.error("abandoned", place, message),
            Severity::Warning => notes.warning("abandoned", place, message),
        }
    }

    /// Judges a file that installed an addon and is removed: its text, and that of the Cluster if it differs.
    fn judge_addon(
        &mut self,
        (path, part): (&TreePath, &PartId),
        (old, cluster): (&str, Option<&str>),
        changes: &Changes,
        notes: &mut Notes,
    ) {
        let engine = cluster.and_then(keeper);
        if engine.is_some_and(|engine| keeper(old).is_some_and(|old| old != engine)) {
            // A change of the engine is reported separately.
        } else if is_protected(old) {
            self.note_addon(path, part, changes, notes);
        } else if leaves_behind(old) {
            note_left_behind(path, part, notes);
        }
    }

    fn note_addon(&mut self, path: &TreePath, part: &PartId, changes: &Changes, notes: &mut Notes) {
        let PartId::Cluster { management, namespace, cluster } = part else { return };
        let name = addon_of(path);
        if !self.addons.insert((part.clone(), name.to_owned())) {
            return;
        }
        if self.versions.has_addon(part, name, changes) {
            notes
                .warning(
                    "abandoned",
                    Place::file(path.as_str()),
                    format!("a part of the addon `{name}` of `{namespace}/{cluster}` is removed from git, but its nodes need the addon: that part stays installed from `{management}`, unmanaged"),
                )
                .about(About::Addon(name.to_owned()))
                .hint("delete it by hand once nodes no longer need it");
            return;
        }
        self.add(path, format!("nothing defines the addon `{name}` of `{namespace}/{cluster}` any more, but its nodes need it: it stays installed from `{management}`, unmanaged"), notes)
            .about(About::Addon(name.to_owned()))
            .hint(format!("to turn it off, restore it and run `stackloom remove {cluster} --addon {name} --reason …`"));
    }

    /// Judges a Cluster that is removed. `other` is a new cluster in the namespace.
    fn judge_cluster(
        &self,
        path: &TreePath,
        part: &PartId,
        (defined, protected): (bool, bool),
        other: Option<&str>,
        notes: &mut Notes,
    ) {
        let PartId::Cluster { management, namespace, cluster } = part else { return };
        let place = Place::file(path.as_str());
        match (defined, protected) {
            // Deleted after it was detached, as intended.
            (true, false) => {}
            (true, true) => {
                notes
                .error(
                    "removal",
                    place,
                    format!("the cluster `{namespace}/{cluster}` would be deleted without being detached first: the engine would leave it behind"),
                )
                .about(About::Cluster)
                .hint("write `step: detach`, generate, commit, and wait until that is applied; `stackloom remove` guides you through the steps");
            }
            (false, false) => {
                notes
                .error(
                    "removal",
                    place,
                    format!("the definition of the cluster `{namespace}/{cluster}` is gone before its step `delete`: its credentials could be deleted before its infrastructure"),
                )
                .about(About::Cluster)
                .hint("restore the definition, and run `stackloom remove` again: the definition is deleted last");
            }
            (false, true) => {
                let message = format!(
                    "the cluster `{namespace}/{cluster}` {UNDEFINED}: it keeps running in `{management}`, unmanaged"
                );
                let note = self
                    .add(path, message, notes)
                    .about(About::Cluster)
                    .hint("to keep it, restore the definition: the cluster itself has not changed")
                    .hint("to delete it, restore the definition and run `stackloom remove`");
                if let Some(other) = other {
                    note.hint(format!("a cluster cannot be renamed: `{other}` is a new cluster with machines of its own (docs/second-day.md)"));
                }
            }
        }
    }
}
