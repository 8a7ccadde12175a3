//! One change of a cluster and its meaning.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};

use super::{change_id, risk::Risk};
use crate::{
    compare::{Address, FieldChange, Section},
    model::{ClusterId, hex},
    note::{About, RepeatedId},
    topology::{Field, Meaning, Reason, TopologyPart, predict::ListChange},
};

/// The subject of a change.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// The cluster as a whole.
    Whole,
    /// A part of the cluster that Cluster API creates.
    Part(TopologyPart),
    /// The Cluster object as written.
    Cluster,
    Addon(String),
    /// Another object.
    Object(Section, Address),
}

/// What happens to the subject.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// The cluster is new.
    Created,
    /// The cluster is defined again. Its files left git without the steps of a removal, so it still runs if nobody deleted it.
    Returned {
        /// The commit that removed its files.
        commit: String,
        /// Whether its Cluster object is as it was then.
        is_same: bool,
    },
    /// The Cluster object is deleted.
    Gone(Leaving),
    /// The cluster has another ID, so Cluster API sees another cluster.
    Moved {
        /// Its former ID.
        from: ClusterId,
        /// Whether the new Cluster is paused.
        paused: bool,
    },
    /// The cluster loses its protection from deletion.
    Detached,
    /// The cluster's protection from deletion is restored.
    Attached,
    /// Cluster API stops reconciling the cluster.
    Paused,
    /// Cluster API reconciles the cluster again.
    Resumed,
    /// The forecast for a part.
    Verdict(Meaning),
    /// The API server, Cluster API or a guard of this program refuses the change.
    Refused,
    /// The effect is unknown; the reasons say why.
    Unknown,
    /// Cluster API accepts the change and never acts on it.
    Ignored,
    /// The addon is added, removed or changed.
    Addon {
        /// Its version before, if the cluster had it.
        before: Option<String>,
        /// Its version after, if the cluster has it.
        after: Option<String>,
        /// Whether nodes need it to become ready; none if no release tells.
        needed: Option<bool>,
    },
    /// An addon that nodes need leaves git, but its protection is still on: it stays installed.
    AddonLeft { version: String },
    /// The cluster refers to the object now, but did not before.
    Needed,
    /// The object is new.
    Added,
    /// The object is deleted.
    Removed,
    /// The object differs.
    Changed,
}

/// How a cluster is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaving {
    /// In its step `delete`, after it was detached.
    Announced,
    /// The definition is deleted, after the Cluster object was.
    Finished,
    /// Without any removal step. The engine leaves the cluster behind, and it keeps running.
    Abandoned,
    /// After it was detached, but without its step `delete`.
    Unannounced,
    /// Its last files are deleted. The Cluster object was gone before, and nothing tells whether that was a step of a removal.
    Unproven,
}

/// The number of machines that a change replaces or removes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Machines {
    /// The minimum.
    pub least: i64,
    /// The maximum.
    pub most: i64,
    /// Whether further parts are affected with an unknown number of machines.
    pub more: bool,
}

impl Machines {
    /// An exact number; unknown if there is none.
    pub fn exactly(count: Option<i64>) -> Self {
        count.map_or(Self { more: true, ..Self::default() }, |count| Self {
            least: count,
            most: count,
            more: false,
        })
    }

    /// Machines may be kept: with `OnDelete` until somebody deletes them, in a paused cluster until it is resumed.
    #[must_use]
    pub fn unless_kept(self, may_be_kept: bool) -> Self {
        Self { least: if may_be_kept { 0 } else { self.least }, ..self }
    }

    /// Adds two numbers of machines.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            least: self.least.saturating_add(other.least),
            most: self.most.saturating_add(other.most),
            more: self.more || other.more,
        }
    }
}

/// Whether reverting the commit undoes a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Revert {
    /// Nothing to undo.
    Nothing,
    /// Reverting restores the old values.
    Undoes,
    /// Reverting installs the addon's workloads again or restarts them.
    Restarts,
    /// Reverting restores the old values, and no machine is touched if the cluster was not resumed in between.
    BeforeItIsResumed,
    /// Reverting restores the old values. All machines stay until someone deletes them: those that were replaced in the meantime,
    /// and the others, which may be outdated, because Cluster API makes templates with new names for the old values.
    KeepsReplaced,
    /// Reverting restores the old values. The machines may be outdated even so, and are replaced once their part is no longer
    /// paused.
    ReplacesOnceUnpaused,
    /// Reverting restores the old values. Machines that were replaced stay, because they are still up to date.
    KeepsNew,
    /// Reverting replaces the machines again.
    ReplacesAgain,
    /// Reverting restores the old values and ends what kept the machines. They are all replaced, because Cluster API makes
    /// templates with new names for the old values.
    ReplacesAll,
    /// Reverting creates as many machines as were removed.
    AddsNew,
    /// Reverting gets stuck: the webhook of the control plane does not let a field be removed.
    GetsStuck,
    /// Reverting creates a new object; the data of the old one is lost.
    CreatesNew,
    /// Reverting is refused: Kubernetes cannot be downgraded.
    Refused,
    /// Reverting does not delete what was created: it keeps running, unmanaged; to delete it, use `stackloom remove` instead.
    NeedsRemoval,
    /// Reverting deletes the new pool at once, with its machines.
    Deletes,
    /// Reverting removes the added machines.
    Removes,
    Unknown,
}

impl Revert {
    /// The word for machine-readable output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "nothing-to-undo",
            Self::Undoes => "undoes",
            Self::Restarts => "restarts-again",
            Self::BeforeItIsResumed => "undoes-while-paused",
            Self::KeepsReplaced => "keeps-replaced",
            Self::ReplacesOnceUnpaused => "replaces-once-unpaused",
            Self::KeepsNew => "keeps-new",
            Self::ReplacesAgain => "replaces-again",
            Self::ReplacesAll => "replaces-all",
            Self::AddsNew => "adds-machines",
            Self::GetsStuck => "gets-stuck",
            Self::CreatesNew => "creates-new",
            Self::Refused => "refused",
            Self::NeedsRemoval => "needs-removal",
            Self::Deletes => "deletes",
            Self::Removes => "removes-machines",
            Self::Unknown => "unknown",
        }
    }

    /// The text for reports, after `revert:`.
    pub fn words(self) -> &'static str {
        match self {
            Self::Nothing => "nothing to undo",
            Self::Undoes => "undoes this",
            Self::Restarts => "undoes this, and may restart the addon's workloads again",
            Self::BeforeItIsResumed => {
                "undoes this without touching a machine, unless the cluster was resumed in between"
            }
            Self::KeepsReplaced => {
                "undoes the setting without touching a machine, but Cluster API may count the machines as outdated all the same"
            }
            Self::ReplacesOnceUnpaused => {
                "undoes the setting; the machines may count as outdated even so, and are replaced once it is unpaused"
            }
            Self::KeepsNew => "undoes this; machines that were replaced stay as they are",
            Self::ReplacesAgain => "undoes this by replacing the machines again",
            Self::ReplacesAll => {
                "undoes the setting by replacing the machines, even those that were not replaced before: Cluster API gives the old values a template with a new name"
            }
            Self::GetsStuck => {
                "gets stuck half-way: Cluster API does not allow the new fields of the control plane to be removed"
            }
            Self::AddsNew => {
                "undoes this with new machines: what was stored only on the removed ones is lost"
            }
            Self::CreatesNew => "creates again what was deleted, but empty: what it held is lost",
            Self::Refused => "does not undo this: Cluster API refuses to downgrade Kubernetes",
            Self::NeedsRemoval => {
                "does not delete what was created: it keeps running, unmanaged; to delete it, use `stackloom remove` instead"
            }
            Self::Deletes => {
                "deletes the new pool at once, with its machines; guards refuse that, because it skips the steps of `stackloom remove`"
            }
            Self::Removes => "undoes this: it removes as many machines as were added",
            Self::Unknown => "it is not known whether that undoes this",
        }
    }
}

/// A field of a generated object that causes a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CausingField {
    /// The object and the path.
    pub field: String,
    /// Whether it holds the name of an object, which differs between any two classes.
    pub is_name: bool,
}

impl CausingField {
    /// Describes a field of a forecast.
    pub fn of(field: &Field) -> Self {
        let is_name = match field {
            Field::Refused(_) => false,
            Field::Changed { path, .. } => match path.as_slice() {
                [first, _, ..] if first == "metadata" => true,
                [.., reference, name] => reference.ends_with("Ref") && name == "name",
                _ => false,
            },
        };
        Self { field: field.to_string(), is_name }
    }
}

/// One change of a cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// What changes: a part of the cluster, or an object.
    pub subject: Subject,
    /// What happens to the subject.
    pub effect: Effect,
    /// How much harm it can do.
    pub risk: Risk,
    /// The number of machines replaced or removed.
    pub machines: Machines,
    /// The number of machines added for good: of a new cluster, a new pool or a larger part.
    pub built: Machines,
    /// The number of machines that a part loses for good while its others are replaced.
    pub shed: Machines,
    /// The machines of a whole cluster that is built or deleted, by part.
    pub parts: Vec<(TopologyPart, Machines)>,
    /// The number of additional machines during the rollout; none if unknown.
    pub surge: Option<i64>,
    /// How many machines may be missing in the meantime.
    pub unavailable: i64,
    /// The fields that differ, shared with the group of the cluster.
    pub fields: Arc<[FieldChange]>,
    /// The fields of generated objects that cause it.
    pub causes: Vec<CausingField>,
    /// The entries that differ in lists among these fields, by field.
    pub entries: BTreeMap<String, ListChange>,
    pub forecast: Vec<Reason>,
    /// Further reasons, in words. They are shown after those for the forecast.
    pub reasons: Vec<String>,
    /// The messages of guards that these reasons repeat.
    pub repeats: Vec<RepeatedId>,
    /// Whether a runtime extension decides the effect.
    pub by_extension: bool,
    /// Whether it affects objects that grant permissions.
    pub grants: bool,
    /// Whether reverting the commit undoes it.
    pub revert: Revert,
    /// Whether the cluster is paused, so that nothing happens before it is resumed.
    pub paused: bool,
    /// Whether the steps of a removal announce the deletion.
    pub announced: bool,
    /// The reason why a definition accepts its risk, if one does.
    pub accepted: Option<String>,
    /// Whether the guards of `generate` refuse it.
    pub guarded: bool,
    /// What the first guard that refuses it looks at.
    pub about: Option<About>,
    /// Whether the API server refuses the Cluster, so that its machines stay as they are.
    pub rejected: bool,
    /// What differs besides the fields above: digests of the Cluster before and after, and of new objects, and what a guard
    /// refuses.
    pub content: String,
}

impl Change {
    /// A change without details.
    pub fn new(subject: Subject, effect: Effect, risk: Risk, revert: Revert) -> Self {
        Self {
            subject,
            effect,
            risk,
            machines: Machines::default(),
            built: Machines::default(),
            shed: Machines::default(),
            parts: Vec::new(),
            surge: None,
            unavailable: 0,
            fields: Arc::default(),
            causes: Vec::new(),
            entries: BTreeMap::new(),
            forecast: Vec::new(),
            reasons: Vec::new(),
            repeats: Vec::new(),
            by_extension: false,
            grants: false,
            revert,
            paused: false,
            announced: false,
            accepted: None,
            guarded: false,
            about: None,
            rejected: false,
            content: String::new(),
        }
    }

    /// Whether something is deleted that no removal step announced.
    pub fn is_unannounced(&self) -> bool {
        match &self.effect {
            Effect::Gone(leaving) => !matches!(leaving, Leaving::Announced | Leaving::Finished),
            Effect::Moved { paused, .. } => !paused,
            Effect::AddonLeft { .. } => true,
            Effect::Verdict(Meaning::Delete) => {
                let has_machines = self.machines.most > 0 || self.machines.more;
                matches!(self.subject, Subject::Part(TopologyPart::Pool(_)))
                    && has_machines
                    && !self.announced
            }
            Effect::Addon { after: None, needed, .. } => !self.announced && *needed != Some(false),
            _ => false,
        }
    }

    /// What may keep running without a definition; none if nothing does.
    pub(super) fn abandons(&self) -> Option<About> {
        match (&self.effect, &self.subject) {
            (
                Effect::Gone(Leaving::Abandoned | Leaving::Unannounced | Leaving::Unproven)
                | Effect::Moved { .. },
                _,
            ) => Some(About::Cluster),
            (Effect::AddonLeft { .. }, Subject::Addon(name)) => Some(About::Addon(name.clone())),
            _ => None,
        }
    }

    /// Whether it is not known what happens to machines.
    pub(super) fn leaves_machines_unknown(&self) -> bool {
        let has_machines = matches!(self.subject, Subject::Part(_) | Subject::Whole | Subject::Object(..));
        self.risk == Risk::Unknown && has_machines
    }

    /// Whether the number of additional machines in the meantime is not known.
    pub(super) fn has_unknown_surge(&self) -> bool {
        let rolls =
            matches!(&self.effect, Effect::Verdict(Meaning::Rollout { .. } | Meaning::Upgrade { .. }));
        self.surge.is_none() && (rolls || self.leaves_machines_unknown())
    }

    /// The ID of the change, stable across runs. It is derived from the cluster, the subject, the effect, and the path and
    /// values of each field. For forecasts, the Cluster before and after is included, for what is new, its content, and for
    /// what a guard refuses, what it guards. Reasons are not, so that they can be worded better.
    pub fn id(&self, cluster: &ClusterId) -> String {
        let mut hash = Sha256::new();
        let mut part = |text: &str| {
            hash.update(text.len().to_le_bytes());
            hash.update(text);
        };
        part(&cluster.whole());
        part(&change_id::subject(&self.subject));
        part(&change_id::effect(&self.effect));
        if let Effect::Moved { from, .. } = &self.effect {
            part(from.name.as_str());
        }
        for field in &*self.fields {
            part(&field.path.to_string());
            for value in [&field.before, &field.after] {
                part(&value.as_ref().map_or_else(|| "-".to_owned(), Json::to_string));
            }
        }
        part(&self.content);
        self.causes.iter().for_each(|cause| part(&cause.field));
        hex(&hash.finalize()[..8])
    }
}

impl Subject {
    /// The name shown in reports.
    pub fn words(&self) -> String {
        match self {
            Self::Whole => "cluster".to_owned(),
            Self::Part(part) => part.in_words(),
            Self::Cluster => "Cluster object".to_owned(),
            Self::Addon(name) => format!("addon {name}"),
            Self::Object(_, address) if address.kind.is_empty() => "an object without a kind".to_owned(),
            Self::Object(Section::Manifests(addon), address) => format!("{address} of addon {addon}"),
            Self::Object(_, address) => address.to_string(),
        }
    }
}
