//! The text of `NOTES.md`: the impact of a release on a cluster, and its changes by component.

use std::fmt::Write as _;

use super::{Component, Difference, Impact, Rebases, Release, Where, brought};
use crate::tree::HTML_HEADER;

/// The greatest number of lines per component; further ones are only counted.
const SHOWN: usize = 60;

/// Writes the notes of a release.
pub(super) fn text(
    release: &Release,
    last: Option<&Release>,
    differences: &[Difference],
    rebases: &Rebases,
) -> String {
    let mut text = format!(
        "{HTML_HEADER} from stacks/{}; do not edit -->\n# {}: {}\n\n",
        release.stack,
        release.name,
        summary(release)
    );
    // Writing to a string cannot fail.
    let mut line = |line: String| writeln!(text, "{line}").ok();
    if let Some(last) = last {
        for one in meaning(release, last, rebases) {
            line(one);
        }
    }
    line("| | version | before |".to_owned());
    line("|---|---|---|".to_owned());
    for (what, now, before) in versions(release, last) {
        line(format!("| {what} | {now} | {} |", before.unwrap_or_else(|| "–".to_owned())));
    }
    for one in rights(release, last) {
        line(one);
    }
    if last.is_some() {
        for component in Component::ALL {
            let changes: Vec<_> = differences.iter().filter(|one| one.component == component).collect();
            if changes.is_empty() {
                continue;
            }
            line(format!("\n## {}\n", heading(component)));
            for one in changes.iter().take(SHOWN) {
                line(format!("- {}", one.to_string().replace('\n', " ")));
            }
            if changes.len() > SHOWN {
                line(format!("- and {} more", changes.len() - SHOWN));
            }
        }
    }
    text
}

/// Lists the objects of a release that grant rights.
fn rights(release: &Release, last: Option<&Release>) -> Vec<String> {
    let granting = |release: &Release| brought(release).into_iter().filter(|one| one.grants.is_some());
    let before: Vec<_> = last.map(|last| granting(last).collect()).unwrap_or_default();
    let mut lines = Vec::new();
    for one in granting(release) {
        let place = match one.place {
            Where::Classes => "management cluster, with the class",
            Where::Namespace => "management cluster, per namespace",
            Where::Cluster => "management cluster, per cluster",
            Where::Workload => "workload clusters",
        };
        let new = if last.is_some() && !before.contains(&one) { ", new" } else { "" };
        let why = one.grants.unwrap_or_default();
        lines.push(format!("- {place}: {} `{}` ({}): {why}{new}", one.full_kind(), one.name, one.path));
    }
    if !lines.is_empty() {
        lines.insert(0, "\n## Rights\n".to_owned());
    }
    lines
}

/// Describes the consequences of the move: for any cluster according to the class, and for each cluster of this repository.
fn meaning(release: &Release, last: &Release, rebases: &Rebases) -> Vec<String> {
    let mut lines = vec![format!("For a cluster that moves here from `{}`:\n", last.name)];
    match release.history.as_ref().and_then(|history| history.impact.as_ref()) {
        Some(effects) if !effects.is_empty() => {
            lines.extend(effects.iter().rev().map(|(effect, why)| {
                let why: Vec<_> = why.iter().map(String::as_str).collect();
                format!("- {}: {}", effect.words(), why.join("; "))
            }));
        }
        _ => lines.push("- only names change; no machine is replaced".to_owned()),
    }
    lines.push(String::new());
    if rebases.count() > 0 {
        let clusters = if rebases.count() == 1 { "cluster" } else { "clusters" };
        lines.push(format!(
            "For the {} {clusters} that used it in this repository when this was cut:\n",
            rebases.count()
        ));
        lines.extend(rebases.lines().iter().map(|line| format!("- {line}")));
        lines.push(String::new());
    }
    lines
}

/// The summary for the heading of the notes and the message of the tag.
fn summary(release: &Release) -> String {
    match release.history.as_ref().map(|history| (&history.previous, &history.impact)) {
        Some((Some(_), Some(effects))) => Impact { effects: effects.clone() }.sentence(),
        _ => format!("the first release for Kubernetes {} in its channel", release.kubernetes.minor()),
    }
}

/// Makes the message of a release's tag: its notes without the parts that only Markdown needs.
pub fn tag_message(notes: &str) -> String {
    let text = notes.split_once("-->\n").map_or(notes, |(_, rest)| rest);
    text.trim_start_matches("# ").to_owned()
}

fn heading(component: Component) -> &'static str {
    match component {
        Component::ClusterClass => "Cluster class",
        Component::ClusterAddon => "Cluster addons",
        Component::NodeImage => "Node images",
    }
}

/// The rows of the version table. The previous version is given only if it differs.
fn versions(release: &Release, last: Option<&Release>) -> Vec<(String, String, Option<String>)> {
    let mut rows = Vec::new();
    let mut row = |what: String, now: String, before: Option<String>| {
        let before = before.filter(|before| *before != now);
        rows.push((what, now, before));
    };
    row(
        "cluster stack, cluster class".to_owned(),
        release.version.clone(),
        last.map(|last| last.version.clone()),
    );
    row(
        "Kubernetes".to_owned(),
        release.kubernetes.to_string(),
        last.map(|last| last.kubernetes.to_string()),
    );
    let (now, before) = (&release.components, last.map(|last| &last.components));
    row("cluster addons".to_owned(), now.cluster_addon.clone(), before.map(|one| one.cluster_addon.clone()));
    row("node images".to_owned(), now.node_image.clone(), before.map(|one| one.node_image.clone()));
    for addon in &release.addons {
        let Some(version) = &addon.version else { continue };
        let before = last.and_then(|last| last.addon(addon.addon.name.as_str())?.version.clone());
        row(format!("addon {}", addon.addon.name), version.to_string(), before.map(|one| one.to_string()));
    }
    rows
}
