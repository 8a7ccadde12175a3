//! Finds the next step of a removal: the edit of the definition, its effect, and what to wait for afterwards.
//!
//! A cluster, a node pool, or an addon that nodes need is removed in steps, each in its own commit. Each step edits the
//! definition, and the tree follows. This module does not know whether the previous step is committed: see [`step_in`].

mod addon_step;
mod advice;
mod changed_cluster;
mod class_kinds;
mod cluster_change;
mod delivery_change;
mod destination;
mod drawn;
mod former_texts;
mod heirs;
mod guard;
mod network;
mod paused;
mod place;
mod replaced;
mod returned;

use crate::{
    edit::{self, Locator},
    model::{RemovalStep, Stage},
    note::{Notes, Place},
    plan::ClusterPlan,
    world::Input,
    yaml::{self, Mapping, Node, Source},
};

pub use advice::Advice;
pub use drawn::{DefinedFile, drawn, facts};
pub use former_texts::ReadFormer;
pub use guard::{Before, Guard};
pub use place::{Defined, cluster_of, correct_lost, is_lost, is_unplaced, place_in_definitions};
pub use replaced::{Former, identity_in, namespace_in};
pub use returned::{judge_returned, note_gone, note_lost, removed_by, removed_in_commit};

/// The object of a removal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemovalTarget {
    Cluster,
    /// One of its node pools.
    Pool(String),
    Addon(String),
}

/// The progress of a removal after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reached {
    /// Its protection is off.
    Detached,
    /// It is being deleted.
    Deleted,
    /// It is no longer defined, or is turned off for good.
    Gone,
}

/// One step of a removal.
#[derive(Clone, Debug)]
pub struct NextStep {
    /// The file of the definition.
    pub file: String,
    /// The new text of the file; none to delete it.
    pub text: Option<String>,
    /// The step that must be committed and applied first.
    pub before: Option<RemovalStep>,
    /// The progress after this step.
    pub reached: Reached,
    /// The effect of the step, and what to do next.
    pub advice: Advice,
}

/// Finds the next step for removing a cluster or a part of it. If there is none, the reason goes to `notes`.
pub fn next(
    plan: &ClusterPlan,
    leaver: &RemovalTarget,
    reason: Option<&str>,
    input: &Input,
    notes: &mut Notes,
) -> Option<NextStep> {
    let source = input.sources.at(&plan.cluster.file)?;
    let node = yaml::read(source, notes)?;
    let found = Finder { plan, leaver, source, node: &node, input };
    found.refuse_waiting(notes)?;
    match leaver {
        RemovalTarget::Cluster => found.cluster(reason, notes),
        RemovalTarget::Pool(name) => found.pool(name, reason, notes),
        RemovalTarget::Addon(name) => found.addon(name, reason, notes),
    }
}

/// The removal step in the text of a definition; none if there is no removal, or the text is not a definition.
pub fn step_in(text: &str, leaver: &RemovalTarget) -> Option<RemovalStep> {
    let mut sources = yaml::Sources::default();
    let id = sources.add("definition", text);
    let node = yaml::read(sources.get(id)?, &mut Notes::new())?;
    step_of(place_of(&node, leaver)?)
}

/// The part of a definition that configures the object of a removal.
fn place_of<'a>(node: &'a Node, leaver: &RemovalTarget) -> Option<&'a Node> {
    let spec = node.get("spec")?;
    match leaver {
        RemovalTarget::Cluster => Some(spec),
        RemovalTarget::Pool(name) => {
            let mut pools = spec.get("nodePools")?.as_sequence()?.iter();
            pools.find(|pool| pool.get("name").and_then(Node::as_str) == Some(name))
        }
        RemovalTarget::Addon(name) => spec.at(&["addons", name]),
    }
}

fn step_of(node: &Node) -> Option<RemovalStep> {
    RemovalStep::parse(node.at(&["removal", "step"])?.as_str()?)
}

struct Finder<'a> {
    plan: &'a ClusterPlan,
    leaver: &'a RemovalTarget,
    source: &'a Source,
    node: &'a Node,
    input: &'a Input,
}

impl Finder<'_> {
    fn place(&self) -> Option<Place> {
        let removal = place_of(self.node, self.leaver).and_then(|node| node.get("removal"));
        self.input.sources.place(removal.map_or(self.plan.cluster.origin, |removal| removal.origin))
    }

    /// Refuses removals on a standby management cluster, which applies nothing, and removals of parts of a cluster that is
    /// itself being removed.
    fn refuse_waiting(&self, notes: &mut Notes) -> Option<()> {
        let cluster = &self.plan.cluster;
        if cluster.management.standby {
            let message = format!(
                "the management cluster `{}` is on standby, and applies nothing",
                cluster.management.name
            );
            notes
                .error("removal", self.place(), message)
                .hint("remove it when the management cluster runs, or from the one that runs it");
            return None;
        }
        if cluster.removal.is_some() && *self.leaver != RemovalTarget::Cluster {
            notes
                .error(
                    "removal",
                    self.place(),
                    format!("the cluster `{}` is being removed itself", cluster.name),
                )
                .hint(format!("continue with `stackloom remove {}`", cluster.name));
            return None;
        }
        Some(())
    }

    fn step(&self, text: Option<String>, before: Option<RemovalStep>, reached: Reached) -> NextStep {
        let advice = Advice::new(self.plan, self.leaver, reached);
        NextStep { file: self.source.path.to_string(), text, before, reached, advice }
    }

    /// The first two steps, which are the same for everything.
    fn begin(
        &self,
        path: &[Locator<'_>],
        reached: Reached,
        reason: Option<&str>,
        notes: &mut Notes,
    ) -> Option<NextStep> {
        let mut path = path.to_vec();
        path.push(Locator::Key("removal"));
        if reached == Reached::Deleted {
            path.push(Locator::Key("step"));
            let value = Node::from(RemovalStep::Delete.as_str());
            let edit = edit::set(self.source, &path, &value, notes)?;
            let text = edit.apply(&self.source.text);
            return Some(self.step(Some(text), Some(RemovalStep::Detach), reached));
        }
        let Some(reason) = reason.filter(|reason| !reason.trim().is_empty()) else {
            notes
                .error("removal", self.place(), "`--reason` is missing")
                .hint("give a reason with `--reason`: it is written to the definition, for anyone who reads it later");
            return None;
        };
        let mut removal = Mapping::new();
        removal.set("reason", reason);
        removal.set("step", RemovalStep::Detach.as_str());
        let edit = edit::set(self.source, &path, &removal.into(), notes)?;
        Some(self.step(Some(edit.apply(&self.source.text)), None, reached))
    }

    fn cluster(&self, reason: Option<&str>, notes: &mut Notes) -> Option<NextStep> {
        let path = [Locator::Key("spec")];
        let cluster = &self.plan.cluster;
        match cluster.removal.as_ref().map(|removal| removal.step) {
            None => self.begin(&path, Reached::Detached, reason, notes),
            Some(RemovalStep::Detach) if cluster.suspend.is_some() => {
                let message = format!("the cluster `{}` is suspended, so it cannot be deleted", cluster.name);
                notes
                    .error("removal", self.place(), message)
                    .hint("remove `suspend` first: Cluster API ignores a paused cluster");
                None
            }
            Some(RemovalStep::Detach) => {
                self.refuse_paused(&paused::all(cluster), notes)?;
                self.begin(&path, Reached::Deleted, reason, notes)
            }
            Some(RemovalStep::Delete) => Some(self.step(None, Some(RemovalStep::Delete), Reached::Gone)),
        }
    }

    fn pool(&self, name: &str, reason: Option<&str>, notes: &mut Notes) -> Option<NextStep> {
        let path = [Locator::Key("spec"), Locator::Key("nodePools"), Locator::Named(name)];
        let Some(pool) = place_of(self.node, self.leaver) else {
            self.no_pool(name, notes);
            return None;
        };
        match step_of(pool) {
            None => self.begin(&path, Reached::Detached, reason, notes),
            Some(RemovalStep::Detach) if self.plan.cluster.suspend.is_some() => {
                let message = format!(
                    "the cluster `{}` is suspended, so the machines of the node pool `{name}` may still run",
                    self.plan.cluster.name
                );
                notes.error("removal", self.place(), message).hint(
                    "remove `suspend` first, and wait until the machines are gone: Cluster API scales no pool of a paused cluster",
                );
                None
            }
            Some(RemovalStep::Detach) => {
                self.refuse_paused(&paused::of_pool(&self.plan.cluster, name), notes)?;
                self.begin(&path, Reached::Deleted, reason, notes)
            }
            Some(RemovalStep::Delete) => {
                let edit = edit::remove(self.source, &path, notes)?;
                let text = edit.apply(&self.source.text);
                Some(self.step(Some(text), Some(RemovalStep::Delete), Reached::Gone))
            }
        }
    }

    fn no_pool(&self, name: &str, notes: &mut Notes) {
        let cluster = &self.plan.cluster;
        let pools = &cluster.node_pools;
        if let Some(pool) = pools.iter().find(|pool| pool.name.as_str() == name) {
            notes
                .error(
                    "removal",
                    self.input.sources.place(pool.origin),
                    format!("the node pool `{name}` is defined in the defaults of a folder"),
                )
                .hint(format!(
                    "copy `nodePools` to {} first, and generate: that changes nothing",
                    self.source.path
                ));
            return;
        }
        let known: Vec<_> = pools.iter().map(|pool| pool.name.as_str()).collect();
        notes
            .error(
                "unknown-pool",
                self.place(),
                format!("the cluster `{}` has no node pool `{name}`", cluster.name),
            )
            .hint(if known.is_empty() {
                "it has none".to_owned()
            } else {
                format!("it has {}", known.join(", "))
            });
    }

    fn addon(&self, name: &str, reason: Option<&str>, notes: &mut Notes) -> Option<NextStep> {
        let path = [Locator::Key("spec"), Locator::Key("addons"), Locator::Key(name)];
        let release = &self.plan.release;
        let Some(frozen) = release.addon(name) else {
            let known: Vec<_> = release.addons.iter().map(|addon| addon.addon.name.as_str()).collect();
            notes
                .error(
                    "unknown-addon",
                    self.place(),
                    format!("the release `{}` has no addon `{name}`", release.name),
                )
                .hint(format!("it has {}", known.join(", ")));
            return None;
        };
        let step = place_of(self.node, self.leaver).and_then(step_of);
        let is_on = self.plan.addons.iter().any(|addon| addon.frozen.addon.name.as_str() == name);
        match step {
            None if !is_on => {
                notes
                    .error(
                        "removal",
                        self.place(),
                        format!("the cluster has no addon `{name}`: it is already off"),
                    )
                    .hint("there is nothing to remove");
                None
            }
            None if frozen.addon.stage == Stage::Bootstrap => {
                self.begin(&path, Reached::Detached, reason, notes)
            }
            None => {
                let text = self.turned_off(&path, false, notes)?;
                Some(self.step(Some(text), None, Reached::Gone))
            }
            Some(RemovalStep::Detach) => self.begin(&path, Reached::Deleted, reason, notes),
            Some(RemovalStep::Delete) => {
                let text = self.turned_off(&path, true, notes)?;
                Some(self.step(Some(text), Some(RemovalStep::Delete), Reached::Gone))
            }
        }
    }

    /// The definition with an addon turned off and without the addon's removal.
    fn turned_off(&self, path: &[Locator<'_>; 3], leaves: bool, notes: &mut Notes) -> Option<String> {
        let [first, second, third] = *path;
        let enabled = [first, second, third, Locator::Key("enabled")];
        let edit = edit::set(self.source, &enabled, &Node::from(false), notes)?;
        let text = edit.apply(&self.source.text);
        if !leaves {
            return Some(text);
        }
        let source = self.source.with_text(text);
        let edit = edit::remove(&source, &[first, second, third, Locator::Key("removal")], notes)?;
        Some(edit.apply(&source.text))
    }
}
