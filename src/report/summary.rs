//! The first line of a report, which sums it up in one sentence.

use std::collections::BTreeMap;

use super::{
    Report,
    change::{Change, Effect, Leaving, Machines},
    cluster::ClusterReport,
    risk::Risk,
    words::machines,
};

/// Sums up the report in one sentence. Each cluster counts once, by its highest risk.
pub fn summary(report: &Report) -> String {
    let (changed, total) = (report.clusters.len(), report.total);
    let all: Vec<&ClusterReport> = report.clusters.iter().collect();
    let beside = beside(report);
    if changed == 0 {
        return match total {
            0 => format!("No cluster changes: there is none{beside}"),
            _ => format!("None of {total} clusters changes{beside}"),
        };
    }
    let changes = if changed == 1 { "changes" } else { "change" };
    let clusters = if total == 1 { "cluster" } else { "clusters" };
    format!("{changed} of {total} {clusters} {changes}: {}{beside}", parts(&all))
}

/// The changes outside clusters. Mild ones accompany any change of a cluster, so they count only on their own.
fn beside(report: &Report) -> String {
    let counted = |risk: Risk| {
        let count = report.beside.iter().filter(|one| one.risk == risk).count();
        let words = match risk {
            Risk::Refused => "refused",
            Risk::Deletes if count == 1 => "deletes objects",
            Risk::Deletes => "delete objects",
            Risk::Unknown => "unknown",
            Risk::InPlace => "in place",
            Risk::Metadata => "metadata only",
            _ => risk.as_str(),
        };
        let is_shown = risk > Risk::InPlace || report.clusters.is_empty();
        (count > 0 && is_shown).then(|| format!("{count} {words}"))
    };
    let found: Vec<String> = Risk::ALL.into_iter().filter_map(counted).collect();
    if found.is_empty() { String::new() } else { format!("; outside clusters: {}", found.join(", ")) }
}

/// What happens to a cluster of the class `deletes`, worst first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Loss {
    Cluster,
    Moved,
    Abandoned,
    Pools,
    Objects,
    Addons,
    Finished,
}

impl Loss {
    fn of(change: &Change) -> Option<Self> {
        Some(match &change.effect {
            _ if change.risk != Risk::Deletes => return None,
            Effect::Gone(Leaving::Finished) => Self::Finished,
            Effect::Gone(Leaving::Abandoned) => Self::Abandoned,
            Effect::Gone(_) => Self::Cluster,
            Effect::Moved { .. } => Self::Moved,
            Effect::Verdict(_) => Self::Pools,
            Effect::AddonLeft { .. } => Self::Addons,
            _ => Self::Objects,
        })
    }

    fn words(self, found: &[&ClusterReport]) -> String {
        let many = found.len() > 1;
        let of = |one: &str, all: &str| if many { all.to_owned() } else { one.to_owned() };
        let with = |what: String| {
            count(found, |risk| risk == Risk::Deletes)
                .map_or(what.clone(), |machines| format!("{what} with {machines}"))
        };
        match self {
            Self::Cluster => with(of("is deleted", "are deleted")),
            Self::Moved => of("is abandoned and built anew", "are abandoned and built anew"),
            Self::Abandoned => of("is abandoned", "are abandoned"),
            Self::Pools => with(of("deletes pools", "delete pools")),
            Self::Objects => of("deletes addons or objects", "delete addons or objects"),
            Self::Addons => of("abandons addons", "abandon addons"),
            Self::Finished => of("ends its removal", "end their removal"),
        }
    }
}

/// The number of clusters per kind of loss.
fn losses(clusters: &[&ClusterReport]) -> Vec<String> {
    let mut found: BTreeMap<Loss, Vec<&ClusterReport>> = BTreeMap::new();
    for one in clusters.iter().filter(|one| one.risk == Risk::Deletes) {
        let loss = one.changes.iter().filter_map(Loss::of).min().unwrap_or(Loss::Objects);
        found.entry(loss).or_default().push(one);
    }
    found.into_iter().map(|(loss, found)| format!("{} {}", found.len(), loss.words(&found))).collect()
}

/// The number of clusters per kind of change, worst first.
pub(super) fn parts(clusters: &[&ClusterReport]) -> String {
    let of = |is_meant: &dyn Fn(&ClusterReport) -> bool| {
        clusters.iter().filter(|one| is_meant(one)).copied().collect::<Vec<_>>()
    };
    let is_new = |one: &ClusterReport| one.changes.iter().any(|change| change.effect == Effect::Created);
    let rolls = |one: &ClusterReport| matches!(one.risk, Risk::ControlPlane | Risk::Pools);
    let counted = |found: &[&ClusterReport], words: &str| {
        (!found.is_empty()).then(|| format!("{} {words}", found.len()))
    };
    let plain = |risk: Risk| of(&|one| one.risk == risk);
    let rolling = of(&rolls);
    let verb = |found: &[&ClusterReport], verb: &str| {
        if found.len() == 1 { format!("{verb}s") } else { verb.to_owned() }
    };
    let replaced = count(&rolling, |risk| risk != Risk::ScaleDown).unwrap_or_else(|| "machines".to_owned());
    let mut rolling_words = format!("{} {replaced}", verb(&rolling, "replace"));
    if let Some(removed) = count(&rolling, |risk| risk == Risk::ScaleDown) {
        rolling_words = format!("{rolling_words} and {} {removed}", verb(&rolling, "remove"));
    }
    let is_paused = |one: &&&ClusterReport| one.changes.iter().any(|change| change.paused);
    match (rolling.iter().filter(is_paused).count(), rolling.len()) {
        (0, _) => {}
        (paused, all) if paused == all => rolling_words.push_str(" once resumed"),
        (1, _) => rolling_words.push_str(" (1 cluster only once it is resumed)"),
        (paused, _) => {
            rolling_words = format!("{rolling_words} ({paused} clusters only once they are resumed)");
        }
    }
    let shrinking = plain(Risk::ScaleDown);
    let removed = count(&shrinking, |_| true).unwrap_or_else(|| "machines".to_owned());
    let shrinking_words = format!("{} {removed}", verb(&shrinking, "remove"));
    let leaves = |one: &ClusterReport| one.changes.iter().any(|change| change.effect == Effect::Detached);
    let detached = of(&|one| one.risk <= Risk::InPlace && leaves(one));
    let refused = counted(&plain(Risk::Refused), "refused");
    let ends = |one: &ClusterReport| {
        one.changes.iter().any(|change| change.effect == Effect::Gone(Leaving::Finished))
    };
    let ended = of(&|one| one.risk <= Risk::InPlace && ends(one));
    let others = [
        counted(&plain(Risk::Unknown), "unknown"),
        counted(&rolling, &rolling_words),
        counted(&shrinking, &shrinking_words),
        counted(&plain(Risk::Restarts), "addons only"),
        counted(&of(&|one| one.risk <= Risk::InPlace && is_new(one)), "new"),
        counted(&detached, if detached.len() == 1 { "begins its removal" } else { "begin their removal" }),
        counted(&ended, if ended.len() == 1 { "ends its removal" } else { "end their removal" }),
        counted(
            &of(&|one| one.risk == Risk::InPlace && !is_new(one) && !leaves(one) && !ends(one)),
            "in place",
        ),
        counted(&of(&|one| one.risk <= Risk::Metadata && !is_new(one) && !leaves(one)), "metadata only"),
    ];
    let all = refused.into_iter().chain(losses(clusters)).chain(others.into_iter().flatten());
    all.collect::<Vec<_>>().join(", ")
}

/// The number of machines affected by changes of some risk classes.
fn count(clusters: &[&ClusterReport], is_meant: impl Fn(Risk) -> bool) -> Option<String> {
    let changes = clusters.iter().flat_map(|one| &one.changes).filter(|change| is_meant(change.risk));
    machines(changes.map(|change| change.machines).fold(Machines::default(), Machines::and))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::{ClusterId, Label},
        report::{
            change::{Revert, Subject},
            cluster::Sides,
        },
    };

    /// A cluster with changes of these risk classes, each affecting a number of machines.
    fn cluster(name: &str, changes: &[(Risk, i64)]) -> ClusterReport {
        let label = |text: &str| Label::new(text).unwrap();
        let change = |(risk, machines): &(Risk, i64)| Change {
            machines: Machines::exactly(Some(*machines)),
            ..Change::new(Subject::Whole, Effect::Changed, *risk, Revert::Unknown)
        };
        ClusterReport {
            cluster: ClusterId { management: label("m"), namespace: label("n"), name: label(name) },
            owners: Vec::new(),
            release: Sides::default(),
            kubernetes: Sides::default(),
            risk: changes.iter().map(|(risk, _)| *risk).max().unwrap(),
            changes: changes.iter().map(change).collect(),
            steps: Vec::new(),
            pools_at_once: 0,
            notes: Vec::new(),
        }
    }

    #[test]
    fn machines_that_are_replaced_and_machines_that_only_go_are_counted_apart() {
        let clusters = vec![
            cluster("a", &[(Risk::ControlPlane, 3), (Risk::ScaleDown, 2)]),
            cluster("b", &[(Risk::Pools, 4)]),
            cluster("c", &[(Risk::ScaleDown, 1), (Risk::InPlace, 0)]),
        ];
        let report = Report { total: 9, clusters, ..Report::default() };
        let expected =
            "3 of 9 clusters change: 2 replace 7 machines and remove 2 machines, 1 removes 1 machine";
        assert_eq!(summary(&report), expected);
    }
    fn with(name: &str, risk: Risk, effect: Effect, machines: i64) -> ClusterReport {
        let mut one = cluster(name, &[(risk, machines)]);
        one.changes[0].effect = effect;
        one
    }

    #[test]
    fn what_is_deleted_abandoned_or_begins_to_leave_is_named() {
        let gone = |name, how| with(name, Risk::Deletes, Effect::Gone(how), 3);
        let from = cluster("x", &[(Risk::InPlace, 0)]).cluster;
        let mut clusters = vec![
            gone("a", Leaving::Announced),
            gone("b", Leaving::Unannounced),
            with("c", Risk::Deletes, Effect::Gone(Leaving::Abandoned), 0),
            with("d", Risk::Deletes, Effect::Moved { from, paused: false }, 0),
            with("e", Risk::Deletes, Effect::Removed, 0),
            with("f", Risk::InPlace, Effect::Detached, 0),
        ];
        clusters.push(with("g", Risk::Deletes, Effect::AddonLeft { version: "1".into() }, 0));
        let report = Report { total: 9, clusters, ..Report::default() };
        let expected = "7 of 9 clusters change: 2 are deleted with 6 machines, 1 is abandoned and built anew, \
                        1 is abandoned, 1 deletes addons or objects, 1 abandons addons, 1 begins its removal";
        assert_eq!(summary(&report), expected);
    }
}
