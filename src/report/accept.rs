//! Risks accepted in definitions. Each acceptance is bound to one change by its ID.
//!
//! An acceptance applies to the cluster whose definition contains it. In the defaults of a folder, it applies to all
//! clusters below the folder, including clusters whose definition is gone.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    OutsideChange,
    change::{Change, Effect},
    cluster::ClusterReport,
    outside_clusters::OutsidePlace,
    risk::Risk,
};
use crate::{
    definition::{self, Identity},
    model::ClusterId,
    note::{self, Diagnostic, Notes, Severity},
    remove::{self, Defined},
    world::Input,
    yaml::Node,
};

/// The acceptances of a fleet.
#[derive(Debug, Default)]
pub(super) struct Acceptances(Vec<Acceptance>);

#[derive(Debug)]
struct Acceptance {
    risk: Risk,
    reason: String,
    change: String,
    place: Option<note::Place>,
    of: AcceptanceScope,
    /// Whether the base has it, too. Then it accepted an earlier change.
    is_spent: bool,
}

#[derive(Debug)]
enum AcceptanceScope {
    Cluster(Option<ClusterId>),
    /// A folder, with a trailing `/`.
    Folder(String),
}

impl Acceptances {
    /// Reads the acceptances from the definitions of an input.
    pub(super) fn read(input: &Input) -> Self {
        // Few fleets use acceptances, and parsing all definitions is expensive.
        if !input.sources.below("clusters").any(|source| source.text.contains("accept")) {
            return Self::default();
        }
        let definitions = definition::parse(input, &mut Notes::new());
        let mut found = Self::default();
        for (folder, layer) in &definitions.defaults {
            found.add(&layer.node, input, || AcceptanceScope::Folder(format!("{folder}/")));
        }
        for layer in &definitions.clusters {
            found.add(&layer.node, input, || {
                AcceptanceScope::Cluster(Identity::new(&definitions, layer).id())
            });
        }
        found
    }

    fn add(&mut self, node: &Node, input: &Input, of: impl Fn() -> AcceptanceScope) {
        for one in node.at(&["spec", "accept"]).and_then(Node::as_sequence).unwrap_or_default() {
            let text = |key: &str| one.get(key).and_then(Node::as_str);
            let (Some(risk), Some(reason), Some(change)) =
                (text("risk").and_then(Risk::parse), text("reason"), text("change"))
            else {
                continue;
            };
            if reason.trim().is_empty() {
                continue;
            }
            self.0.push(Acceptance {
                risk,
                reason: reason.to_owned(),
                change: change.to_owned(),
                place: input.sources.place(one.origin),
                of: of(),
                is_spent: false,
            });
        }
    }

    /// Marks the acceptances that the definitions of the base have as well. The same change can come again, and nobody reviewed it
    /// this time.
    pub(super) fn mark_spent(&mut self, base: &Input) {
        let old = Self::read(base);
        for one in &mut self.0 {
            let is_it = |old: &Acceptance| {
                (old.risk, &old.change, &old.reason) == (one.risk, &one.change, &one.reason)
            };
            one.is_spent = old.0.iter().any(is_it);
        }
    }

    /// Whether there are no acceptances.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Marks the accepted changes of clusters.
    pub(super) fn of_clusters(&self, clusters: &mut [ClusterReport], defined: [&Defined<'_>; 2]) -> Matched {
        let mut matched = Matched::default();
        for cluster in clusters.iter_mut() {
            let id = cluster.cluster.clone();
            for change in &mut cluster.changes {
                let name = change.id(&id);
                for (at, one) in self.of_change(&name).filter(|(_, one)| one.is_of(&id, defined)) {
                    if one.risk == change.risk && one.is_spent {
                        matched.spent.insert(at);
                    } else if one.risk == change.risk {
                        change.accepted.get_or_insert_with(|| one.reason.clone());
                        matched.used.insert(at);
                    }
                }
                matched.risks.insert(name, change.risk);
            }
        }
        matched
    }

    /// Marks the accepted changes outside clusters.
    pub(super) fn of_others(
        &self,
        beside: &mut [OutsideChange],
        defined: [&Defined<'_>; 2],
        matched: &mut Matched,
    ) {
        for change in beside {
            let is_own = |one: &Acceptance| one.risk == change.risk && one.is_beside(&change.place, defined);
            for (at, one) in self.of_change(&change.id).filter(|(_, one)| is_own(one)) {
                if one.is_spent {
                    matched.spent.insert(at);
                    continue;
                }
                change.accepted.get_or_insert_with(|| one.reason.clone());
                matched.used.insert(at);
            }
            matched.risks.insert(change.id.clone(), change.risk);
        }
    }

    fn of_change<'a>(&'a self, id: &str) -> impl Iterator<Item = (usize, &'a Acceptance)> {
        self.0.iter().enumerate().filter(move |(_, one)| one.change == id)
    }

    /// Reports acceptances that match no change.
    pub(super) fn report_unused(&self, matched: &Matched, notes: &mut Notes) {
        for (at, one) in self.0.iter().enumerate().filter(|(at, _)| !matched.used.contains(at)) {
            let (message, hint) = match matched.risks.get(&one.change) {
                Some(_) if matched.spent.contains(&at) => (
                    format!(
                        "the base has this acceptance of the change `{}`, so it does not accept it again",
                        one.change
                    ),
                    "review the change; if it is intended this time, too, write the reason anew",
                ),
                Some(risk) if *risk != one.risk => (
                    format!(
                        "the change `{}` has the risk `{}`, not `{}`",
                        one.change,
                        risk.as_str(),
                        one.risk.as_str()
                    ),
                    "review the change again, and accept it with its risk if it is intended",
                ),
                Some(_) => (
                    format!(
                        "this file cannot accept the change `{}`, which does not belong to it",
                        one.change
                    ),
                    "move it to the definition of the cluster, or to the defaults of its folder; for a change beside clusters, to the defaults of a folder",
                ),
                None => (
                    format!("nothing needs this acceptance: no change has the id `{}`", one.change),
                    "remove it; if the change is another one now, review it again: `stackloom diff --format json` prints its id",
                ),
            };
            notes.warning("unused-acceptance", one.place.clone(), message).hint(hint);
        }
    }
}

/// The acceptances in use, and the risks of all changes by ID.
#[derive(Debug, Default)]
pub(super) struct Matched {
    used: BTreeSet<usize>,
    /// Those that would accept a change if the base did not have them.
    spent: BTreeSet<usize>,
    risks: BTreeMap<String, Risk>,
}

impl Acceptance {
    /// Whether this can accept a change outside clusters. The defaults of a folder can; a definition can only for its own
    /// `.d` folder.
    fn is_beside(&self, place: &OutsidePlace, defined: [&Defined<'_>; 2]) -> bool {
        let is_own = |cluster: &ClusterId, folder: &str| {
            let stems = defined.iter().filter_map(|one| one.file(cluster)?.rsplit_once('.'));
            stems.into_iter().any(|(stem, _)| folder.strip_suffix(".d") == Some(stem))
        };
        match (&self.of, place) {
            (AcceptanceScope::Folder(above), OutsidePlace::Own(folder)) => folder.starts_with(above.as_str()),
            (AcceptanceScope::Folder(_), _) => true,
            (AcceptanceScope::Cluster(Some(cluster)), OutsidePlace::Own(folder)) => is_own(cluster, folder),
            (AcceptanceScope::Cluster(_), _) => false,
        }
    }

    fn is_of(&self, cluster: &ClusterId, defined: [&Defined<'_>; 2]) -> bool {
        match &self.of {
            AcceptanceScope::Cluster(own) => own.as_ref() == Some(cluster),
            AcceptanceScope::Folder(folder) => defined
                .iter()
                .filter_map(|one| one.file(cluster))
                .any(|file| file.starts_with(folder.as_str())),
        }
    }
}

/// Turns accepted errors of the guards into warnings. The acceptance of one change leaves the errors of others as they are.
pub(super) fn soften(refused: &mut Notes, clusters: &[ClusterReport]) {
    let reports: BTreeMap<&ClusterId, &ClusterReport> = clusters
        .iter()
        .filter(|one| one.changes.iter().any(|change| change.guarded && change.accepted.is_some()))
        .map(|one| (one.former().unwrap_or(&one.cluster), one))
        .collect();
    refused.change(|note: &mut Diagnostic| {
        let report = remove::cluster_of(note).and_then(|cluster| reports.get(&cluster).copied());
        let change = report.and_then(|report| guarded(&report.changes, note));
        let Some(reason) = change.and_then(|change| change.accepted.as_deref()) else { return };
        if note.severity == Severity::Error {
            note.severity = Severity::Warning;
            note.hints = vec![format!("this risk is accepted: {reason}")];
            note.missing_commit = None;
        }
    });
}

/// The change to which an error of the guards belongs. An addon that is left behind has its own; the rest is one change.
fn guarded<'a>(changes: &'a [Change], error: &Diagnostic) -> Option<&'a Change> {
    let (addons, others): (Vec<_>, Vec<_>) = changes
        .iter()
        .filter(|change| change.guarded)
        .partition(|change| matches!(change.effect, Effect::AddonLeft { .. }));
    let is_of = |change: &&&Change| error.code == "abandoned" && change.about == error.about;
    addons.iter().find(is_of).or(others.first()).copied()
}
