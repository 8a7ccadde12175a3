//! Groups clusters with equal changes.
//!
//! The names of clusters and namespaces, and numbers of machines, are ignored when comparing.

use std::{
    cmp::Reverse,
    collections::BTreeMap,
    fmt::{self, Write as _},
    mem,
};

use rayon::prelude::*;
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};

use super::{
    change::{Change, Effect, Machines, Subject},
    change_id,
    cluster::{ClusterReport, Sides},
    refusal::Refusal,
    risk::Risk,
};
use crate::{
    compare::{FieldChange, FieldPath, PathSegment},
    model::ClusterId,
    topology::{Meaning, Reason, TopologyPart, predict::ListChange},
};

/// Clusters with equal changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The highest risk among their changes.
    pub risk: Risk,
    /// The clusters, in order.
    pub clusters: Vec<ClusterId>,
    /// The name of each in reports.
    pub(super) names: Vec<String>,
    /// The former ID of each; none for those that were not renamed or moved.
    pub former: Vec<Option<ClusterId>>,
    /// The number of machines of each that are replaced, removed or built; none of what is refused.
    pub machines: Vec<Machines>,
    /// Who refuses the changes.
    pub refusal: Option<Refusal>,
    /// Their release before and after.
    pub release: Sides,
    /// Their Kubernetes version before and after.
    pub kubernetes: Sides,
    pub changes: Vec<GroupChange>,
    /// The steps of an upgrade, in order.
    pub steps: Vec<String>,
    /// The most pools that an upgrade changes in one step; 0 without an upgrade.
    pub pools_at_once: usize,
    /// Other notes.
    pub notes: Vec<String>,
}

/// A change that every cluster of a group undergoes.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupChange {
    /// The change. If the group has more than one cluster, names are replaced by placeholders.
    pub change: Change,
    /// The number of machines that are replaced or removed.
    pub machines: Counts,
    /// The number of machines that are added for good.
    pub built: Counts,
    /// The number of machines that a part loses for good while its others are replaced.
    pub shed: Counts,
    /// The machines of whole clusters that are built or deleted, by part.
    pub(super) parts: BTreeMap<TopologyPart, Machines>,
    /// Whether the clusters had other names before.
    pub(super) is_renamed: bool,
    /// Who refuses the change of the cluster.
    pub refusal: Option<Refusal>,
    /// The minimum and the maximum number of additional machines per cluster during the rollout; none if unknown.
    pub surge: Option<[i64; 2]>,
    /// The maximum number of machines per cluster that may be missing in the meantime.
    pub unavailable: i64,
}

/// Numbers of machines of several clusters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The minimum and the maximum number per cluster.
    pub each: [Machines; 2],
    /// The number of all clusters.
    pub total: Machines,
}

impl Counts {
    fn of(all: impl Iterator<Item = Machines> + Clone) -> Self {
        let each = [all.clone().min(), all.clone().max()].map(Option::unwrap_or_default);
        Self { each, total: all.fold(Machines::default(), Machines::and) }
    }
}

impl GroupChange {
    /// The same change of several clusters, of which `shown` is displayed.
    pub(super) fn new(shown: Change, all: &[&Change], refusal: Option<Refusal>) -> Self {
        let surges: Option<Vec<i64>> = all.iter().map(|one| one.surge).collect();
        Self {
            change: shown,
            machines: Counts::of(all.iter().map(|one| one.machines)),
            built: Counts::of(all.iter().map(|one| one.built)),
            shed: Counts::of(all.iter().map(|one| one.shed)),
            parts: by_part(all.iter().flat_map(|one| &one.parts)),
            is_renamed: false,
            refusal,
            surge: surges.and_then(|all| Some([*all.iter().min()?, *all.iter().max()?])),
            unavailable: all.iter().map(|one| one.unavailable).max().unwrap_or(0),
        }
    }
}

fn by_part<'a>(all: impl Iterator<Item = &'a (TopologyPart, Machines)>) -> BTreeMap<TopologyPart, Machines> {
    let mut found = BTreeMap::new();
    for (part, count) in all {
        let of: &mut Machines = found.entry(part.clone()).or_default();
        *of = of.and(*count);
    }
    found
}

/// The placeholder for the name of a cluster.
pub(super) const CLUSTER: &str = "<cluster>";
/// The placeholder for the name of a namespace.
pub(super) const NAMESPACE: &str = "<namespace>";

/// Groups clusters, worst first. In a class, what loses the most machines for good comes first, then the smallest groups: outliers
/// come before changes of many clusters.
pub(super) fn groups(clusters: &[ClusterReport]) -> Vec<Group> {
    let keys: Vec<[u8; 32]> = clusters.par_iter().map(key).collect();
    let mut found: BTreeMap<[u8; 32], Vec<&ClusterReport>> = BTreeMap::new();
    for (key, cluster) in keys.into_iter().zip(clusters) {
        found.entry(key).or_default().push(cluster);
    }
    let mut groups: Vec<Group> = found.values().map(|members| group(members)).collect();
    groups.sort_by_cached_key(|group| {
        let [lost, moved] = machines_of(group).map(Reverse);
        (Reverse(group.risk), lost, group.clusters.len(), moved, group.clusters.clone())
    });
    groups
}

/// The number of machines that a group loses for good, and of all that it touches.
fn machines_of(group: &Group) -> [i64; 2] {
    let lost = |change: &GroupChange| match &change.change.effect {
        Effect::Gone(_) | Effect::Verdict(Meaning::Delete | Meaning::Scale { .. }) => {
            change.machines.total.most
        }
        _ => change.shed.total.most,
    };
    let all = |change: &GroupChange| {
        [change.machines, change.built, change.shed]
            .map(|counts| counts.total.most)
            .into_iter()
            .fold(0, i64::saturating_add)
    };
    let sum = |of: &dyn Fn(&GroupChange) -> i64| group.changes.iter().map(of).fold(0, i64::saturating_add);
    [sum(&lost), sum(&all)]
}

/// A digest of everything that equal clusters share. The text itself can be as long as all changes.
fn key(cluster: &ClusterReport) -> [u8; 32] {
    let masked = masked(cluster, Some(cluster.cluster.namespace.as_str()));
    let changes: Vec<_> = masked
        .iter()
        .map(|one| {
            let what = (
                change_id::subject(&one.subject),
                change_id::effect(&one.effect),
                one.risk,
                one.surge.is_none(),
                &one.accepted,
            );
            let refused = (one.guarded, one.rejected);
            (what, refused, &one.fields, &one.causes, &one.entries, &one.forecast, &one.reasons)
        })
        .collect();
    let is_renamed = cluster.is_renamed();
    let steps = (&cluster.steps, &cluster.notes);
    // A version that stays makes no difference.
    let moves = [&cluster.release, &cluster.kubernetes].map(|sides| sides.differs().then_some(sides));
    let mut digest = Digesting(Sha256::new());
    write!(digest, "{moves:?} {changes:?} {steps:?} {is_renamed}").expect("a digest takes any text");
    digest.0.finalize().into()
}

/// A digest that is written to.
struct Digesting(Sha256);

impl fmt::Write for Digesting {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text);
        Ok(())
    }
}

fn group(members: &[&ClusterReport]) -> Group {
    let first = members[0];
    let refusal = first.refusal();
    // The path of a file may contain a namespace that all have.
    let is_same = members.iter().all(|one| one.cluster.namespace == first.cluster.namespace);
    let namespace = (!is_same).then(|| first.cluster.namespace.as_str());
    let shown = if members.len() == 1 { first.changes.clone() } else { masked(first, namespace) };
    let change = |(at, change): (usize, Change)| {
        let all: Vec<&Change> = members.iter().map(|one| &one.changes[at]).collect();
        GroupChange { is_renamed: first.is_renamed(), ..GroupChange::new(change, &all, refusal) }
    };
    Group {
        risk: first.risk,
        clusters: members.iter().map(|one| one.cluster.clone()).collect(),
        names: members.iter().map(|one| one.shown_name()).collect(),
        former: members.iter().map(|one| one.former().cloned()).collect(),
        machines: members.iter().map(|one| machines(one)).collect(),
        refusal,
        release: first.release.clone(),
        kubernetes: first.kubernetes.clone(),
        changes: shown.into_iter().enumerate().map(change).collect(),
        steps: first.steps.clone(),
        pools_at_once: first.pools_at_once,
        notes: first.notes.clone(),
    }
}

fn machines(cluster: &ClusterReport) -> Machines {
    if cluster.refusal().is_some() {
        return Machines::default();
    }
    let all = cluster.changes.iter().flat_map(|change| [change.machines, change.built, change.shed]);
    all.fold(Machines::default(), Machines::and)
}

fn masked(cluster: &ClusterReport, namespace: Option<&str>) -> Vec<Change> {
    let mask = Mask { name: cluster.cluster.name.as_str(), namespace };
    cluster.changes.iter().map(|change| mask.change(change)).collect()
}

struct Mask<'a> {
    name: &'a str,
    /// The namespace; none if it is shown.
    namespace: Option<&'a str>,
}

impl Mask<'_> {
    fn text(&self, text: &str) -> String {
        let named = replaced(text, self.name, CLUSTER);
        match self.namespace.filter(|namespace| *namespace != self.name) {
            Some(namespace) => replaced(&named, namespace, NAMESPACE),
            None => named,
        }
    }

    fn change(&self, change: &Change) -> Change {
        let mut change = change.clone();
        if let Subject::Object(_, address) = &mut change.subject {
            address.name = self.text(&address.name);
            if Some(&*address.namespace) == self.namespace {
                NAMESPACE.clone_into(&mut address.namespace);
            }
        }
        if let Effect::Moved { .. } = change.effect {
            // A change of this kind is defined by the cluster's former ID.
            return change;
        }
        change.fields = change.fields.iter().map(|field| self.field(field)).collect();
        change.entries = mem::take(&mut change.entries)
            .into_iter()
            .map(|(cause, list)| (self.text(&cause), self.list(list)))
            .collect();
        for reason in &mut change.forecast {
            *reason = self.reason(reason);
        }
        for cause in &mut change.causes {
            cause.field = self.text(&cause.field);
        }
        for text in &mut change.reasons {
            *text = self.text(text);
        }
        change
    }

    fn reason(&self, reason: &Reason) -> Reason {
        match reason {
            Reason::Version { .. } | Reason::NotUpToDate { .. } => reason.clone(),
            Reason::FailureDomain { from, to } => {
                Reason::FailureDomain { from: self.text(from), to: self.text(to) }
            }
            other => Reason::Words(self.text(&other.to_string())),
        }
    }

    fn list(&self, mut list: ListChange) -> ListChange {
        for texts in [&mut list.added, &mut list.changed, &mut list.removed] {
            for text in texts.iter_mut() {
                *text = self.text(text);
            }
        }
        list
    }

    fn field(&self, field: &FieldChange) -> FieldChange {
        let value = |value: &Option<Json>| value.as_ref().map(|value| self.value(value));
        FieldChange {
            path: FieldPath(field.path.0.iter().map(|step| self.step(step)).collect()),
            before: value(&field.before),
            after: value(&field.after),
        }
    }

    fn step(&self, step: &PathSegment) -> PathSegment {
        match step {
            PathSegment::Key(key) => PathSegment::Key(self.text(key)),
            PathSegment::Named(name) => PathSegment::Named(self.text(name)),
            PathSegment::Item(index) => PathSegment::Item(*index),
        }
    }

    fn value(&self, value: &Json) -> Json {
        match value {
            Json::String(text) => Json::String(self.text(text)),
            Json::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Json::Object(entries) => {
                entries.iter().map(|(key, value)| (key.clone(), self.value(value))).collect()
            }
            other => other.clone(),
        }
    }
}

/// Replaces a name where it stands alone, not as part of a longer word.
fn replaced(text: &str, name: &str, by: &str) -> String {
    let mut out = String::new();
    let mut rest = 0;
    for (at, _) in text.match_indices(name) {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '<';
        let before = text[..at].chars().next_back().is_some_and(is_word);
        let after = text[at + name.len()..].chars().next();
        if before || after.is_some_and(|c| c.is_ascii_alphanumeric() || c == '>') {
            continue;
        }
        out.push_str(&text[rest..at]);
        out.push_str(by);
        rest = at + name.len();
    }
    out.push_str(&text[rest..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_replaced_where_it_stands_alone() {
        assert_eq!(replaced("dev-1/dev-10 x-dev-1", "dev-1", CLUSTER), "<cluster>/dev-10 x-<cluster>");
        assert_eq!(replaced("<cluster>", "cluster", NAMESPACE), "<cluster>");
        assert_eq!(replaced("team team", "team", NAMESPACE), "<namespace> <namespace>");
    }
}
