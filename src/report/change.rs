//! One change of a cluster, and what it means.

use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};

use super::risk::Risk;
use crate::{
    compare::{Address, FieldChange, Section},
    model::{ClusterId, hex},
    topology::{Meaning, Part},
};

/// What a change is of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// The cluster as a whole.
    Whole,
    /// A part of the cluster that Cluster API makes.
    Part(Part),
    /// The Cluster object as it is written.
    Cluster,
    /// An addon.
    Addon(String),
    /// Another object.
    Object(Section, Address),
}

/// What becomes of its subject.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// The cluster is new.
    Created,
    /// The Cluster object goes.
    Gone(Leaving),
    /// The cluster is called otherwise, which makes it another one for Cluster API.
    Moved {
        /// What it was called.
        from: ClusterId,
        /// Whether Cluster API leaves the new one alone.
        paused: bool,
    },
    /// What protects the cluster from deletion goes.
    Detached,
    /// What protects the cluster from deletion is back.
    Attached,
    /// Cluster API stops looking at it.
    Paused,
    /// Cluster API looks at it again.
    Resumed,
    /// What Cluster API makes of a part.
    Verdict(Meaning),
    /// The API server, Cluster API or a guard of this program refuses it.
    Refused,
    /// It is not known, and the reasons say why.
    Unknown,
    /// Cluster API accepts it and never acts on it.
    Ignored,
    /// The addon is new, goes, or changes.
    Addon {
        /// Its version before, if the cluster had it.
        before: Option<String>,
        /// Its version after, if the cluster has it.
        after: Option<String>,
        /// Whether nodes need it to become ready; none where no release says.
        needed: Option<bool>,
    },
    /// The cluster refers to the object, and did not before.
    Needed,
    /// The object is new.
    Added,
    /// The object goes.
    Removed,
    /// The object differs.
    Changed,
}

/// How a cluster goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaving {
    /// In its step `delete`, after it was detached.
    Announced,
    /// Its definition goes, after the Cluster object went.
    Finished,
    /// Without any step. The engine leaves it behind, and it keeps running.
    Abandoned,
    /// After it was detached, and without its step `delete`.
    Unannounced,
}

/// How many machines a change replaces or removes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Machines {
    /// At least.
    pub least: i64,
    /// At most.
    pub most: i64,
    /// Whether there are parts whose number nothing says.
    pub more: bool,
}

impl Machines {
    /// Exactly so many.
    pub fn exactly(count: Option<i64>) -> Self {
        count.map_or(Self { more: true, ..Self::default() }, |count| Self {
            least: count,
            most: count,
            more: false,
        })
    }

    /// Both together.
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
    /// Nothing happened.
    Nothing,
    /// Reverting sets the old values again.
    Undoes,
    /// Reverting installs or restarts the workloads of an addon once more.
    Restarts,
    /// Reverting replaces the machines once more.
    ReplacesAgain,
    /// Reverting creates a new one; what was on the old one is lost.
    CreatesNew,
    /// Reverting is refused: Kubernetes cannot be downgraded.
    Refused,
    /// Reverting alone does not delete what was created: `stackloom remove` does.
    NeedsRemoval,
    /// It is not known.
    Unknown,
}

impl Revert {
    /// The word for machines.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "nothing-to-undo",
            Self::Undoes => "undoes",
            Self::Restarts => "restarts-again",
            Self::ReplacesAgain => "replaces-again",
            Self::CreatesNew => "creates-new",
            Self::Refused => "refused",
            Self::NeedsRemoval => "needs-removal",
            Self::Unknown => "unknown",
        }
    }

    /// What a reader learns.
    pub fn words(self) -> &'static str {
        match self {
            Self::Nothing => "nothing to undo",
            Self::Undoes => "yes",
            Self::Restarts => "yes, and workloads of the addon may restart once more",
            Self::ReplacesAgain => "yes, by replacing the machines once more",
            Self::CreatesNew => "no: what goes is lost, and a new one is created",
            Self::Refused => "no: Cluster API refuses to downgrade Kubernetes",
            Self::NeedsRemoval => "no: what was created stays, until `stackloom remove` takes it away",
            Self::Unknown => "not known",
        }
    }
}

/// One change of a cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// What it is of.
    pub subject: Subject,
    /// What becomes of it.
    pub effect: Effect,
    /// How bad that is.
    pub risk: Risk,
    /// How many machines go.
    pub machines: Machines,
    /// How many more machines there may be meanwhile; none where nothing says.
    pub surge: Option<i64>,
    /// The fields that differ.
    pub fields: Vec<FieldChange>,
    /// The fields of made objects that cause it.
    pub causes: Vec<String>,
    /// Why, in words.
    pub reasons: Vec<String>,
    /// Whether objects among it grant rights.
    pub grants: bool,
    /// Whether reverting the commit undoes it.
    pub revert: Revert,
    /// Whether steps of a removal announce that it goes.
    pub announced: bool,
    /// Why a definition accepts its risk, if one does.
    pub accepted: Option<String>,
    /// Whether the guards of `generate` refuse it.
    pub guarded: bool,
    /// A digest of the Cluster before and after, if its fields are not all among those above.
    pub cluster: String,
}

impl Change {
    /// A change without details.
    pub fn new(subject: Subject, effect: Effect, risk: Risk, revert: Revert) -> Self {
        Self {
            subject,
            effect,
            risk,
            machines: Machines::default(),
            surge: None,
            fields: Vec::new(),
            causes: Vec::new(),
            reasons: Vec::new(),
            grants: false,
            revert,
            announced: false,
            accepted: None,
            guarded: false,
            cluster: String::new(),
        }
    }

    /// Whether something goes that no step of a removal announced.
    pub fn is_unannounced(&self) -> bool {
        match &self.effect {
            Effect::Gone(leaving) => matches!(leaving, Leaving::Abandoned | Leaving::Unannounced),
            Effect::Moved { paused, .. } => !paused,
            Effect::Addon { after: None, needed, .. } => !self.announced && *needed != Some(false),
            _ => false,
        }
    }

    /// The name of the change, which stays the same from run to run: made of the cluster, the subject, its effect, each field
    /// with its path and its values, and for what Cluster API makes of it, all that the Cluster says before and after.
    pub fn id(&self, cluster: &ClusterId) -> String {
        let mut hash = Sha256::new();
        let mut part = |text: &str| {
            hash.update(text.len().to_le_bytes());
            hash.update(text);
        };
        part(&cluster.whole());
        part(&self.subject.key());
        part(&self.effect_key());
        for field in &self.fields {
            part(&field.path.to_string());
            for value in [&field.before, &field.after] {
                part(&value.as_ref().map_or_else(|| "-".to_owned(), Json::to_string));
            }
        }
        part(&self.cluster);
        self.causes.iter().chain(&self.reasons).for_each(|text| part(text));
        hex(&hash.finalize()[..8])
    }

    /// The effect without its counts.
    pub(super) fn effect_key(&self) -> String {
        match &self.effect {
            Effect::Verdict(Meaning::Rollout { on_delete, .. }) => format!("rollout {on_delete}"),
            effect => format!("{effect:?}"),
        }
    }
}

impl Subject {
    /// What tells it from all others of a cluster.
    pub fn key(&self) -> String {
        match self {
            Self::Whole => "cluster".to_owned(),
            Self::Part(part) => part.to_string(),
            Self::Cluster => "object/Cluster".to_owned(),
            Self::Addon(name) => format!("addon/{name}"),
            Self::Object(section, address) => format!("object/{section:?}/{address}"),
        }
    }

    /// As people call it.
    pub fn words(&self) -> String {
        match self {
            Self::Whole => "cluster".to_owned(),
            Self::Part(part) => part.in_words(),
            Self::Cluster => "Cluster object".to_owned(),
            Self::Addon(name) => format!("addon {name}"),
            Self::Object(_, address) => address.to_string(),
        }
    }
}
