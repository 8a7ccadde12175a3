//! The first line of a report, which is the whole truth in one sentence.

use super::{
    Report,
    change::{Effect, Machines},
    cluster::ClusterReport,
    risk::Risk,
    words::machines,
};

/// The whole report in one sentence. Each cluster counts once, by the worst that happens to it.
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

/// How many clusters each thing happens to, the worst first.
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
    let count = rolling.iter().flat_map(|one| one.changes.iter().map(|change| change.machines));
    let count = machines(count.fold(Machines::default(), Machines::and));
    let verb = if rolling.len() == 1 { "replaces" } else { "replace" };
    let rolling_words = format!("{verb} {}", count.unwrap_or_else(|| "machines".to_owned()));
    let gone = plain(Risk::Deletes);
    let parts = [
        counted(&plain(Risk::Refused), "refused"),
        counted(&gone, if gone.len() == 1 { "deletes something" } else { "delete something" }),
        counted(&plain(Risk::Unknown), "unknown"),
        counted(&rolling, &rolling_words),
        counted(&plain(Risk::Restarts), "addons only"),
        counted(&of(&|one| one.risk <= Risk::InPlace && is_new(one)), "new"),
        counted(&of(&|one| one.risk == Risk::InPlace && !is_new(one)), "in place"),
        counted(&of(&|one| one.risk <= Risk::Metadata && !is_new(one)), "metadata only"),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
