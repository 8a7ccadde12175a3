//! Renders the tables of the page: by risk class, by owner, by name.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::{Detail, tone};
use crate::{
    model::ClusterId,
    report::{
        Report,
        cluster::{ClusterReport, Sides},
        owners::{Owner, owners as owned},
        risk::Risk,
        summary::parts,
        words,
    },
};

/// Renders the number of clusters and machines of each risk class.
pub(super) fn classes(report: &Report) -> Markup {
    html! {
        @if !report.is_empty() {
            section aria-labelledby="risks" {
                h2 id="risks" { "Changes by risk" }
                div.scroll role="region" aria-label="Changes by risk" tabindex="0" {
                    table {
                        caption { "Each cluster counts once, by the worst that happens to it." }
                        thead {
                            tr {
                                th scope="col" { "Risk" }
                                th.number scope="col" { "Clusters" }
                                th.number scope="col" { "Machines replaced or removed" }
                                th.number scope="col" { "Machines added" }
                                th.number scope="col" { "Changes outside clusters" }
                            }
                        }
                        tbody { @for risk in super::classes(report) { (class(report, risk)) } }
                    }
                }
            }
        }
    }
}

fn class(report: &Report, risk: Risk) -> Markup {
    let clusters: Vec<_> = report.clusters.iter().filter(|one| one.risk == risk).collect();
    let [lost, added] = [words::lost, words::added].map(|of| of(&clusters));
    let beside = report.beside.iter().filter(|one| one.risk == risk).count();
    html! {
        tr class=(tone(risk)) {
            th scope="row" { a href={ "#" (risk.as_str()) } { (risk.title()) } }
            td.number { (clusters.len()) }
            td.number { (lost) }
            td.number { (added) }
            td.number { (beside) }
        }
    }
}

/// Renders what happens to the clusters of each owner.
pub(super) fn owners(report: &Report, detail: Detail) -> Markup {
    let owners = owned(report);
    let numbers = numbers(report, detail);
    html! {
        @if !owners.is_empty() {
            section aria-labelledby="owners" {
                h2 id="owners" { "Owners" }
                div.scroll role="region" aria-label="Owners" tabindex="0" {
                    table {
                        thead {
                            tr {
                                th scope="col" { "Owner" }
                                th.number scope="col" { "Clusters" }
                                th scope="col" { "What happens to them" }
                            }
                        }
                        tbody {
                            @for owner in &owners {
                                tr {
                                    th scope="row" { (owner.name().unwrap_or("no owner")) }
                                    td.number { (owner.clusters.len()) }
                                    td { (parts(&owner.clusters)) (of_owner(owner, &numbers)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Renders the clusters of an owner by risk class.
fn of_owner(owner: &Owner<'_>, numbers: &BTreeMap<&ClusterId, usize>) -> Markup {
    html! {
        details {
            summary { "Names of " (words::count(owner.clusters.len(), "cluster")) }
            @for (risk, clusters) in owner.classes() {
                p { (risk.title()) ":" }
                ul.names { @for cluster in &clusters { li { (linked(cluster, numbers.get(&cluster.cluster).copied())) } } }
            }
        }
    }
}

/// Renders the number of additional machines if all rollouts happen at once.
pub(super) fn peaks(report: &Report) -> Markup {
    html! {
        @if !report.peaks.is_empty() {
            section aria-labelledby="peaks" {
                h2 id="peaks" { (words::peaks(report)) }
                ul { @for peak in &report.peaks { li { (words::peak(peak, usize::MAX)) } } }
            }
        }
    }
}

/// The numbers of the groups that have a section, by cluster.
fn numbers(report: &Report, detail: Detail) -> BTreeMap<&ClusterId, usize> {
    let mut numbers: BTreeMap<&ClusterId, usize> = BTreeMap::new();
    let mut shown: BTreeMap<Risk, usize> = BTreeMap::new();
    for (at, group) in report.groups.iter().enumerate() {
        let count = shown.entry(group.risk).or_default();
        *count += 1;
        if *count <= detail.groups {
            numbers.extend(group.clusters.iter().map(|id| (id, at + 1)));
        }
    }
    numbers
}

/// Renders the index of clusters.
pub(super) fn clusters(report: &Report, detail: Detail) -> Markup {
    let numbers = numbers(report, detail);
    html! {
        @if !report.clusters.is_empty() {
            section aria-labelledby="clusters" {
                h2 id="clusters" { "Clusters by name" }
                details {
                    summary { "Show " (words::count(report.clusters.len(), "changed cluster")) }
                    div.scroll role="region" aria-label="Clusters by name" tabindex="0" {
                        table.index {
                            thead {
                                tr {
                                    th scope="col" { "Cluster" }
                                    th scope="col" { "Management cluster" }
                                    th scope="col" { "Risk" }
                                    th scope="col" { "Owners" }
                                    th scope="col" { "Release" }
                                    th scope="col" { "Kubernetes" }
                                }
                            }
                            tbody { @for one in &report.clusters { (cluster(one, numbers.get(&one.cluster).copied())) } }
                        }
                    }
                }
            }
        }
    }
}

fn cluster(one: &ClusterReport, group: Option<usize>) -> Markup {
    html! {
        tr {
            th scope="row" { (linked(one, group)) }
            td { (one.cluster.management) }
            td { (one.risk.title()) }
            td { (one.owners.join(", ")) }
            td { (sides(&one.release)) }
            td { (sides(&one.kubernetes)) }
        }
    }
}

/// A cluster's name, as a link to its group if that has a section.
fn linked(cluster: &ClusterReport, group: Option<usize>) -> Markup {
    let name = cluster.shown_name();
    html! {
        @if let Some(group) = group { a href={ "#group-" (group) } { (name) } } @else { (name) }
    }
}

fn sides(sides: &Sides) -> String {
    match (&sides.before, &sides.after) {
        (Some(before), Some(after)) if before == after => after.clone(),
        (Some(before), Some(after)) => format!("{before} → {after}"),
        (None, Some(after)) => after.clone(),
        (Some(before), None) => format!("{before}, before"),
        (None, None) => "not known".to_owned(),
    }
}
