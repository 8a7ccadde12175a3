//! Numbers of machines in words. Machines of control planes and of pools are listed separately.

use super::{
    Peak, Report,
    change::{Change, Effect, Machines, Subject},
    cluster::ClusterReport,
    group::{Counts, GroupChange},
    machines::{Flow, Tally},
};
use crate::{
    model::ClusterId,
    topology::{Meaning, TopologyPart},
};

/// `1 machine`, `2 machines`.
pub(super) fn counted(count: i64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// The same for a `usize`.
pub(super) fn count(count: usize, what: &str) -> String {
    counted(i64::try_from(count).unwrap_or(i64::MAX), what)
}

/// `3 machines`, `up to 3 machines`, `2 to 3 machines`, `at least 3 machines`; none if there is nothing to count.
pub(super) fn machines(count: Machines) -> Option<String> {
    machines_of(count, "machine")
}

/// Whether a number of machines is an unknown one.
pub(super) fn is_unknown(count: Machines) -> bool {
    count.least == 0 && count.more
}

fn machines_of(count: Machines, what: &str) -> Option<String> {
    match count {
        Machines { most: 0, more: false, .. } => None,
        Machines { least: 0, more: true, .. } => Some(format!("an unknown number of {what}s")),
        Machines { least, more: true, .. } => Some(format!("at least {}", counted(least, what))),
        Machines { least, most, .. } if least == most => Some(counted(most, what)),
        Machines { least: 0, most, .. } => Some(format!("up to {}", counted(most, what))),
        Machines { least, most, .. } => Some(format!("{least} to {}", counted(most, what))),
    }
}

/// `3 pool machines`, or `4 machines (1 control plane machine, 3 pool machines)`; none if there is nothing to count.
pub(super) fn tally(tally: Tally) -> Option<String> {
    let all = machines(tally.total())?;
    let kinds = kinds(tally);
    let is_only = tally.others == Machines::default();
    Some(match kinds.as_slice() {
        [one] if is_only => one.clone(),
        [] => all,
        // Unknown numbers of both kinds say no more than an unknown number of machines.
        _ if is_unknown(tally.total()) => all,
        _ => format!("{all} ({})", kinds.join(", ")),
    })
}

fn kinds(tally: Tally) -> Vec<String> {
    let kinds = [(tally.control_planes, "control plane machine"), (tally.pools, "pool machine")];
    kinds.into_iter().filter_map(|(count, what)| machines_of(count, what)).collect()
}

/// The number of machines that clusters lose, for a table.
pub(super) fn lost(clusters: &[&ClusterReport]) -> String {
    cell(clusters, |flow| and_waiting(flow.lost(), flow.waiting))
}

/// The number of machines that clusters get for good, for a table.
pub(super) fn added(clusters: &[&ClusterReport]) -> String {
    cell(clusters, |flow| tally(flow.added))
}

fn cell(clusters: &[&ClusterReport], of: impl Fn(Flow) -> Option<String>) -> String {
    let happens = of(Flow::of_clusters(clusters.iter().copied())).unwrap_or_else(|| "none".to_owned());
    match of(Flow::if_merged(clusters.iter().copied())) {
        Some(would) => format!("{happens}; if merged anyway: {would}"),
        None => happens,
    }
}

/// Machines that happen to do something at once, and those that do it once someone deletes them.
pub(super) fn and_waiting(at_once: Tally, waiting: Tally) -> Option<String> {
    let it = if waiting.total().most == 1 && !waiting.total().more { "it" } else { "them" };
    let waiting = tally(waiting).map(|waiting| format!("{waiting} once someone deletes {it}"));
    match (tally(at_once), waiting) {
        (Some(at_once), Some(waiting)) => Some(format!("{at_once}, and {waiting}")),
        (at_once, waiting) => at_once.or(waiting),
    }
}

/// The number of machines per cluster of a group, and of all clusters.
pub(super) fn counts(of: &Counts, clusters: usize) -> Option<String> {
    let total = machines(of.total)?;
    if clusters < 2 {
        return Some(total);
    }
    Some(each(of).map_or_else(|| total.clone(), |each| format!("{each} ({total} in all)")))
}

/// The number that [`counts`] begins with; none if it begins with a range of several clusters.
pub(super) fn first_of_counts(of: &Counts, clusters: usize) -> Option<Machines> {
    let [least, most] = of.each;
    match clusters {
        0 | 1 => Some(of.total),
        _ if least != most => None,
        _ if most == Machines::default() => Some(of.total),
        _ => Some(most),
    }
}

fn each(of: &Counts) -> Option<String> {
    let [least, most] = of.each;
    if least == most {
        machines(most).map(|each| format!("{each} each"))
    } else if least.more || most.more {
        Some(format!("at least {} each", counted(least.least, "machine")))
    } else {
        Some(format!("{} to {} each", least.least, counted(most.most, "machine")))
    }
}

/// The maximum number of different parts of several clusters that are named.
const PARTS: usize = 8;

/// The number of machines of whole clusters: by part, or by kind if several clusters have many different parts.
pub(super) fn of_whole(of: &Counts, change: &GroupChange, clusters: usize) -> Option<String> {
    let total = machines(of.total)?;
    if clusters < 2 {
        let parts = change.change.parts.iter().map(part).collect::<Vec<_>>().join(", ");
        return Some(if parts.is_empty() { total } else { format!("{total} ({parts})") });
    }
    let all: Vec<(TopologyPart, Machines)> =
        change.parts.iter().map(|(part, count)| (part.clone(), *count)).collect();
    let kinds = if all.len() <= PARTS {
        all.iter().map(part).collect::<Vec<_>>().join(", ")
    } else {
        kinds(Tally::of_parts(&all)).join(", ")
    };
    let total = if kinds.is_empty() { format!("{total} in all") } else { format!("{total} in all: {kinds}") };
    Some(each(of).map_or_else(|| total.clone(), |each| format!("{each} ({total})")))
}

fn part((part, count): &(TopologyPart, Machines)) -> String {
    let count = if count.more { "not known".to_owned() } else { count.most.to_string() };
    format!("{}: {count}", part.in_words())
}

/// The additional machines of all namespaces while everything rolls at once; none if there are none.
pub(super) fn extra_of_all(report: &Report) -> Option<String> {
    let most = report.peaks.iter().fold(0, |all: i64, peak| all.saturating_add(peak.machines));
    let unknown = count(report.peaks.iter().map(|peak| peak.unknown.len()).sum(), "part");
    let found = match (most, report.peaks.iter().all(|peak| peak.unknown.is_empty())) {
        (0, true) => return None,
        (most, true) => format!("up to {most} at the same time"),
        (0, false) => format!("not known for {unknown}"),
        (least, false) => format!("at least {least} at the same time; not known for {unknown}"),
    };
    let paused = if has_paused(report) { ", paused clusters included" } else { "" };
    let order = if follows(report) {
        " In an upgrade, pools follow their control plane, so only the larger of both counts."
    } else {
        ""
    };
    Some(format!("Extra machines while others are replaced{paused}: {found}.{order}"))
}

/// Whether an upgrade has extra machines for the control plane first, and for pools after that.
fn follows(report: &Report) -> bool {
    let mut clusters = report.clusters.iter().filter(|one| one.refusal().is_none());
    clusters.any(|one| {
        let has_more = |is_meant: fn(&TopologyPart) -> bool| {
            one.changes.iter().any(|change| {
                let (Effect::Verdict(Meaning::Upgrade { .. }), Subject::Part(part)) =
                    (&change.effect, &change.subject)
                else {
                    return false;
                };
                is_meant(part) && change.surge != Some(0)
            })
        };
        has_more(|part| *part == TopologyPart::ControlPlane)
            && has_more(|part| matches!(part, TopologyPart::Pool(_)))
    })
}

/// The heading of the peaks.
pub(super) fn peaks(report: &Report) -> &'static str {
    if has_paused(report) {
        "Extra machines at the same time, by namespace, paused clusters included"
    } else {
        "Extra machines at the same time, by namespace"
    }
}

fn has_paused(report: &Report) -> bool {
    let is_paused = |change: &Change| change.paused && change.surge != Some(0);
    let mut clusters = report.clusters.iter().filter(|one| one.refusal().is_none());
    clusters.any(|one| one.changes.iter().any(is_paused))
}

/// A peak in one line. Names the unknown parts of at most `most` clusters.
pub(super) fn peak(peak: &Peak, most: usize) -> String {
    let place = format!("{}/{}", peak.management, peak.namespace);
    let parts = || format!("not known for {}: {}", count(peak.unknown.len(), "part"), unknown(peak, most));
    match (peak.machines, peak.unknown.is_empty()) {
        (machines, true) => format!("{place}: {}", counted(machines, "more machine")),
        (0, false) => format!("{place}: {}", parts()),
        (machines, false) => format!("{place}: at least {}; {}", counted(machines, "more machine"), parts()),
    }
}

fn unknown(peak: &Peak, most: usize) -> String {
    let mut clusters: Vec<(&ClusterId, Vec<String>)> = Vec::new();
    for (cluster, subject) in &peak.unknown {
        let part = if *subject == Subject::Whole { "the whole".to_owned() } else { subject.words() };
        match clusters.last_mut().filter(|(last, _)| *last == cluster) {
            Some((_, parts)) => parts.push(part),
            None => clusters.push((cluster, vec![part])),
        }
    }
    let named = clusters.iter().take(most.max(1));
    let named = named.map(|(cluster, parts)| format!("{} of {}", parts.join(", "), cluster.name));
    let left: usize = clusters.iter().skip(most.max(1)).map(|(_, parts)| parts.len()).sum();
    let more = if left > 0 { format!("; and {left} more") } else { String::new() };
    format!("{}{more}", named.collect::<Vec<_>>().join("; "))
}
