//! Refused changes of clusters. Nothing of them happens, so they must not count as effects.
//!
//! A guard refuses what `generate` would write, and no more than that: somebody may write the files and merge them all the
//! same. Reports say what would happen then, but never as if it happened.

use std::collections::BTreeMap;

use super::{
    Background,
    change::{Change, Effect, Leaving, Subject},
    change_id,
    cluster::ClusterReport,
};
use crate::{
    compare::Answer,
    model::ClusterId,
    note::{self, Extent, Notes, RepeatedId, Severity},
    remove,
    topology::{Meaning, TopologyPart},
};

/// A message of the guards about a cluster.
#[derive(Clone, Debug)]
pub(super) struct GuardMessage {
    pub(super) code: &'static str,
    pub(super) about: Option<note::About>,
    pub(super) id: RepeatedId,
    /// The message, with its first hint.
    pub(super) reason: String,
    /// The first hint.
    pub(super) hint: Option<String>,
}

impl GuardMessage {
    pub(super) fn new(id: RepeatedId, note: &note::Diagnostic) -> Self {
        let hint = note.hints.first().cloned();
        let shown = hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        let reason = format!("{}{shown}", note.message);
        Self { code: note.code, about: note.about.clone(), id, reason, hint }
    }

    /// The addon that leaves git while its protection is still on. `generate` only warns of that.
    fn left_addon(&self) -> Option<&str> {
        match &self.about {
            Some(note::About::Addon(name)) if self.code == "abandoned" => Some(name),
            _ => None,
        }
    }

    /// Adds the message to the addon that it is about. Returns whether it found the addon.
    pub(super) fn mark_left_addon(&self, changes: &mut [Change]) -> bool {
        let is_it = |change: &&mut Change| match (&change.subject, &change.effect) {
            (Subject::Addon(name), Effect::AddonLeft { .. }) => self.left_addon() == Some(name),
            _ => false,
        };
        let Some(change) = changes.iter_mut().find(is_it) else { return false };
        change.guarded = true;
        change.about.clone_from(&self.about);
        change.reasons.extend(self.hint.clone());
        true
    }
}

/// The guards' messages about one cluster.
#[derive(Clone, Debug, Default)]
pub(super) struct Guarded(pub(super) Vec<GuardMessage>);

impl Guarded {
    /// Identifies what the guards refuse, regardless of the wording. `changes` are those of the cluster.
    pub(super) fn content(&self, changes: &[Change]) -> String {
        let part = |GuardMessage { code, about, .. }: &GuardMessage| {
            let addon = match about {
                Some(note::About::Addon(name) | note::About::AddonVersion(name)) => Some(name),
                _ => None,
            };
            let is_it =
                |change: &&Change| matches!(&change.subject, Subject::Addon(name) if Some(name) == addon);
            let versions = changes
                .iter()
                .find(is_it)
                .map(|change| change_id::effect(&change.effect))
                .unwrap_or_default();
            format!("{code} {} {versions}\n", change_id::about(about.as_ref()))
        };
        self.0.iter().map(part).collect()
    }

    /// Whether the Kubernetes version is refused, and at most the release, too.
    pub(super) fn is_only_version(&self) -> bool {
        use note::About::{Kubernetes, Release};
        self.0.iter().any(|one| one.about == Some(Kubernetes))
            && self.0.iter().all(|one| matches!(one.about, Some(Kubernetes | Release)))
    }

    /// Whether all messages say that the cluster leaves git without any step.
    pub(super) fn is_abandoned(&self) -> bool {
        self.0.iter().all(|one| one.code == "abandoned" && one.about == Some(note::About::Cluster))
    }

    /// Whether the cluster would be deleted while it is protected from deletion.
    pub(super) fn keeps_deleted(&self) -> bool {
        self.0.iter().any(|one| one.code == "removal" && one.about == Some(note::About::Cluster))
    }
}

impl Background {
    /// Takes in the guards' messages about clusters, and gives them their IDs.
    pub(super) fn heed(&mut self, notes: &mut Notes) {
        let mut ids = (0..).map(RepeatedId::Guard);
        notes.change(|note| {
            let id = ids.next();
            note.repeated_id = id;
            let (Some(id), Some(cluster)) = (id, remove::cluster_of(note)) else { return };
            if let (Some(about), Extent::Whole, "abandoned") = (&note.about, note.extent, note.code) {
                self.abandoned.entry((cluster.clone(), about.clone())).or_default().push(id);
            }
            if note.severity == Severity::Error {
                self.guarded.entry(cluster).or_default().0.push(GuardMessage::new(id, note));
            }
        });
    }
}

/// Adds the IDs of the messages that changes repeat about what leaves git without the steps of a removal.
pub(super) fn add_abandoned(
    changes: &mut [Change],
    cluster: &ClusterId,
    messages: &BTreeMap<(ClusterId, note::About), Vec<RepeatedId>>,
) {
    for change in changes {
        let cluster = if let Effect::Moved { from, .. } = &change.effect { from } else { cluster };
        if let Some(about) = change.abandons() {
            let ids = messages.get(&(cluster.clone(), about));
            change.repeats.extend(ids.into_iter().flatten());
        }
    }
}

/// Who refuses the change of a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    /// A guard of `generate`, and no definition accepts that.
    pub by_guards: bool,
    /// The API server or Cluster API, or the definition has errors.
    pub by_others: bool,
    /// The API server refuses the Cluster object.
    pub is_rejected: bool,
}

impl Refusal {
    /// Whether a change does not happen even if it were merged anyway. Addons and other objects are not in the Cluster.
    pub fn stops(self, change: &Change) -> bool {
        match (&change.subject, &change.effect) {
            (_, Effect::Refused) | (Subject::Addon(_) | Subject::Object(..), _) => false,
            (Subject::Part(_), _) | (Subject::Whole, Effect::Created | Effect::Returned { .. }) => {
                self.by_others
            }
            (Subject::Cluster | Subject::Whole, _) => self.is_rejected,
        }
    }
}

/// Who refuses the change of a cluster; none if it happens.
pub(super) fn of(changes: &[Change]) -> Option<Refusal> {
    let mut found = Refusal::default();
    for change in changes.iter().filter(|change| change.effect == Effect::Refused) {
        found.by_guards |= change.guarded && change.accepted.is_none();
        found.by_others |= !change.guarded || change.rejected;
        found.is_rejected |= change.rejected;
    }
    (found.by_guards || found.by_others).then_some(found)
}

/// Whether the API server refuses the Cluster.
pub(super) fn is_rejected(answer: &Answer) -> bool {
    answer.verdicts.iter().any(|verdict| verdict.meaning == Meaning::Rejected)
}

/// Whether the API server accepts the Cluster, and the controller gets stuck.
pub(super) fn is_stuck(answer: &Answer) -> bool {
    answer
        .verdicts
        .iter()
        .any(|verdict| verdict.subject == TopologyPart::Cluster && verdict.meaning == Meaning::Wedged)
}

impl ClusterReport {
    /// Who refuses its change; none if the change happens.
    pub fn refusal(&self) -> Option<Refusal> {
        of(&self.changes)
    }

    /// Its former ID, if it was renamed or moved.
    pub(super) fn former(&self) -> Option<&ClusterId> {
        self.changes.iter().find_map(|change| match &change.effect {
            Effect::Moved { from, .. } => Some(from),
            _ => None,
        })
    }

    /// Whether it had another name before.
    pub(super) fn is_renamed(&self) -> bool {
        self.former().is_some_and(|from| from.name != self.cluster.name)
    }

    /// Whether a cluster keeps running that this change leaves without a definition.
    pub(super) fn keeps_running(&self) -> bool {
        let is_left = |change: &Change| {
            matches!(
                change.effect,
                Effect::Gone(Leaving::Abandoned | Leaving::Unproven) | Effect::Moved { .. }
            )
        };
        self.changes.iter().any(is_left)
    }
}
