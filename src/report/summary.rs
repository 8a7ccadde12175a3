//! The first line of a report, which sums it up in one sentence.

use super::{
    Report,
    change::{Effect, Machines},
    cluster::ClusterReport,
    risk::Risk,
    words::machines,
};

/// Sums up the report in one sentence. Each cluster counts once, by its highest risk.
pub fn summary(report: &Report) -> String {
    let (changed, total) = (report.clusters.len(), report.total);
    let all: Vec<&ClusterReport> = report.clusters.iter().collect();
    if changed == 0 {
        let beside = if report.beside.is_empty() { "" } else { "; other parts of the tree do" };
        return match total {
            0 => format!("No cluster changes: there is none{beside}"),
            _ => format!("None of {total} clusters changes{beside}"),
        };
    }
    let changes = if changed == 1 { "changes" } else { "change" };
    let clusters = if total == 1 { "cluster" } else { "clusters" };
    format!("{changed} of {total} {clusters} {changes}: {}", parts(&all))
}

/// The number of clusters per kind of change, worst first.
pub(super) fn parts(clusters: &[&ClusterReport]) -> String {
    let of = |is_meant: &dyn Fn(&ClusterReport) -> bool| {
        clusters.iter().filter(|one| is_meant(one)).copied().collect::<Vec<_>>()
    };
    let is_new = |one: &ClusterReport| one.changes.iter().any(|change| change.effect == Effect::Created);
    let leaves = |one: &ClusterReport| {
        one.risk < Risk::ScaleDown && one.changes.iter().any(|change| change.effect == Effect::Detached)
    };
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
    let shrinking = plain(Risk::ScaleDown);
    let removed = count(&shrinking, |_| true).unwrap_or_else(|| "machines".to_owned());
    let shrinking_words = format!("{} {removed}", verb(&shrinking, "remove"));
    let gone = plain(Risk::Deletes);
    let leaving = of(&leaves);
    let parts = [
        counted(&plain(Risk::Refused), "refused"),
        counted(&gone, if gone.len() == 1 { "deletes something" } else { "delete something" }),
        counted(&plain(Risk::Unknown), "unknown"),
        counted(&rolling, &rolling_words),
        counted(&shrinking, &shrinking_words),
        counted(&leaving, &format!("{} to leave", verb(&leaving, "begin"))),
        counted(&of(&|one| one.risk == Risk::Restarts && !leaves(one)), "addons only"),
        counted(&of(&|one| one.risk <= Risk::InPlace && is_new(one)), "new"),
        counted(&of(&|one| one.risk == Risk::InPlace && !is_new(one) && !leaves(one)), "in place"),
        counted(&of(&|one| one.risk <= Risk::Metadata && !is_new(one)), "metadata only"),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
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
            change::{Change, Revert, Subject},
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
}
