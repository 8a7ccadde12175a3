//! The findings that a reviewer must not miss, each with a place: refusals, deletions and unknown effects. Anything milder
//! is only in the report.

use std::collections::BTreeSet;

use super::{
    OutsideChange, Report, change::Change, cluster::ClusterReport, group::GroupChange, outside_words,
    places::Places, risk::Risk, words,
};
use crate::{
    model::ClusterId,
    note::{Diagnostic, Place, RepeatedId, Severity},
};

/// The risk classes that become findings, worst first.
pub const FOUND: [Risk; 3] = [Risk::Refused, Risk::Deletes, Risk::Unknown];

/// The maximum number of clusters named in the finding of a group.
const NAMED: usize = 8;

/// A change that a reviewer must not miss.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The ID of the change. For a group, that of its first cluster.
    pub id: String,
    /// Its risk class.
    pub risk: Risk,
    /// Whether the change must not be merged as it is: it is refused, or deletes something without the removal steps.
    pub is_error: bool,
    /// The line of the definition that causes it.
    pub place: Place,
    /// What happens, and to which cluster.
    pub text: String,
    /// The reasons, then the fields that differ and those that cause it.
    pub reasons: Vec<String>,
    /// The affected clusters.
    pub clusters: Vec<ClusterId>,
}

impl Finding {
    /// Lists each change of each cluster, and the changes outside clusters, worst first.
    pub fn each(report: &Report, places: &Places<'_>) -> Vec<Self> {
        let mut all = Vec::new();
        for one in &report.clusters {
            let clusters = &[one];
            let changes = one.changes.iter().filter(|change| FOUND.contains(&change.risk));
            let alone = |change: &Change| GroupChange::new(change.clone(), &[change], one.refusal());
            all.extend(changes.map(|change| Self::of(one, change, &alone(change), clusters, places)));
        }
        ordered(all, report)
    }

    /// Lists the same findings, but reports equal changes only once, at the definition of the first cluster.
    pub fn folded(report: &Report, places: &Places<'_>) -> Vec<Self> {
        let mut all = Vec::new();
        for group in &report.groups {
            let clusters: Vec<_> = group.clusters.iter().filter_map(|id| report.cluster(id)).collect();
            let Some(first) = clusters.first() else { continue };
            // A group's change contains placeholders instead of names, so the ID is taken from the cluster's own change.
            let changes = first.changes.iter().zip(&group.changes);
            let found = changes.filter(|(own, _)| FOUND.contains(&own.risk));
            all.extend(found.map(|(own, shown)| Self::of(first, own, shown, &clusters, places)));
        }
        ordered(all, report)
    }

    fn of(
        first: &ClusterReport,
        own: &Change,
        shown: &GroupChange,
        clusters: &[&ClusterReport],
        places: &Places<'_>,
    ) -> Self {
        let names = words::names(clusters, NAMED);
        let who = if clusters.len() == 1 { names } else { format!("{} clusters ({names})", clusters.len()) };
        let change = &shown.change;
        let causes = words::causes(change).into_iter().map(words::cause);
        let fields = change.fields.iter().map(words::field);
        Self {
            id: own.id(&first.cluster),
            risk: own.risk,
            is_error: own.accepted.is_none() && (own.risk == Risk::Refused || own.is_unannounced()),
            place: places.of(first, own),
            text: format!("{who}: {}: {}", change.subject.words(), words::change(shown, clusters.len())),
            reasons: words::reasons(change).into_iter().chain(fields).chain(causes).collect(),
            clusters: clusters.iter().map(|one| one.cluster.clone()).collect(),
        }
    }

    fn beside(change: &OutsideChange, report: &Report) -> Self {
        let file = change.files.keys().next().cloned().unwrap_or_default();
        Self {
            id: change.id.clone(),
            risk: change.risk,
            is_error: change.accepted.is_none()
                && (change.risk == Risk::Refused || report.is_unannounced(change)),
            place: Place::file(file),
            text: outside_words::one(change),
            reasons: Vec::new(),
            clusters: Vec::new(),
        }
    }
}

fn ordered(mut all: Vec<Finding>, report: &Report) -> Vec<Finding> {
    let beside = report.beside.iter().filter(|one| FOUND.contains(&one.risk));
    all.extend(beside.map(|one| Finding::beside(one, report)));
    all.sort_by(|a, b| {
        (b.risk, &a.place, &a.clusters, &a.text).cmp(&(a.risk, &b.place, &b.clusters, &b.text))
    });
    all
}

impl Report {
    fn cluster(&self, id: &ClusterId) -> Option<&ClusterReport> {
        let at = self.clusters.binary_search_by(|one| one.cluster.cmp(id)).ok()?;
        self.clusters.get(at)
    }

    /// Collects what findings already say, so that messages need not repeat it.
    pub fn covered(&self) -> Covered {
        let changes = || self.clusters.iter().flat_map(|one| &one.changes);
        let ids = |change: &Change| change.repeats.clone();
        Covered {
            refused: changes().filter(|change| change.risk == Risk::Refused).flat_map(ids).collect(),
            abandoned: changes().filter(|change| change.abandons().is_some()).flat_map(ids).collect(),
        }
    }
}

/// The messages that findings repeat.
#[derive(Debug)]
pub struct Covered {
    /// Those among the reasons for refusals.
    refused: BTreeSet<RepeatedId>,
    /// Those about abandoned clusters and addons.
    abandoned: BTreeSet<RepeatedId>,
}

impl Covered {
    /// Whether a finding already says the same as a message. A refusal that a definition accepts is a warning, which says so.
    pub fn contains(&self, note: &Diagnostic) -> bool {
        note.repeated_id.is_some_and(|id| {
            let is_refused = note.severity == Severity::Error && self.refused.contains(&id);
            is_refused || self.abandoned.contains(&id)
        })
    }
}
