//! Describes changes in words, identically in every format for people.

use serde_json::Value as Json;

use super::{
    Peak, Report,
    change::{Change, Effect, Leaving, Machines},
    cluster::Sides,
    group::{CLUSTER, Counts, Group, GroupChange},
    risk::Risk,
};
use crate::{
    compare::FieldChange,
    model::ClusterId,
    topology::{Meaning, Part},
};

/// The maximum length of a value if space is short, in characters.
pub(super) const VALUE: usize = 100;

/// `1 machine`, `2 machines`.
fn counted(count: i64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// The same for a `usize`.
pub(super) fn count(count: usize, what: &str) -> String {
    counted(i64::try_from(count).unwrap_or(i64::MAX), what)
}

/// `3 machines`, `up to 3 machines`, `at least 3 machines`; none if there is nothing to count.
pub(super) fn machines(count: Machines) -> Option<String> {
    match count {
        Machines { most: 0, more: false, .. } => None,
        Machines { least: 0, more: true, .. } => Some("an unknown number of machines".to_owned()),
        Machines { least, more: true, .. } => Some(format!("at least {}", counted(least, "machine"))),
        Machines { least, most, .. } if least == most => Some(counted(most, "machine")),
        Machines { most, .. } => Some(format!("up to {}", counted(most, "machine"))),
    }
}

/// What happens to a group: `control plane: upgrade from … to …`.
pub(super) fn change(change: &GroupChange, clusters: usize) -> String {
    let one = &change.change;
    let mut words = effect(change, clusters);
    if one.grants {
        words.push_str("; it grants rights");
    }
    if let Some(reason) = &one.accepted {
        words.push_str("; accepted: ");
        words.push_str(reason);
    }
    words
}

fn effect(change: &GroupChange, clusters: usize) -> String {
    let counts = |of: &Counts| counts(of, clusters);
    let (lost, built) = (counts(&change.machines), counts(&change.built));
    match &change.change.effect {
        Effect::Created => format!("is created{}", with(built)),
        Effect::Gone(Leaving::Announced) => format!("is deleted{}, as its removal announced", with(lost)),
        Effect::Gone(Leaving::Finished) => {
            "its removal ends: the last files are deleted, after its Cluster object".to_owned()
        }
        Effect::Gone(Leaving::Abandoned) => {
            "is abandoned: nothing defines it any more, and it keeps running, unmanaged".to_owned()
        }
        Effect::Gone(Leaving::Unannounced) => {
            format!("is deleted{}, without its removal steps", with(lost))
        }
        Effect::Moved { from, paused: true } => format!(
            "was `{}` before. Git moves only files: it keeps running there until its objects are moved, and is paused here",
            former(from, clusters)
        ),
        Effect::Moved { from, paused: false } => format!(
            "was `{}` before. Cluster API cannot move or rename a cluster: it builds a new one{}, and the old one keeps running, unmanaged",
            former(from, clusters),
            with(built)
        ),
        Effect::Detached => {
            "is detached: its removal begins, and nothing protects it from deletion any more".to_owned()
        }
        Effect::Attached => "is protected from deletion again: its removal ends".to_owned(),
        Effect::Paused => "is paused: Cluster API does not reconcile it".to_owned(),
        Effect::Resumed => "is resumed: Cluster API reconciles it again".to_owned(),
        Effect::Verdict(meaning) => verdict(meaning, change, lost),
        Effect::Refused if change.change.guarded => {
            "is refused: `stackloom generate` does not write this change".to_owned()
        }
        Effect::Refused => "is refused".to_owned(),
        Effect::Unknown => "the effect is not known".to_owned(),
        Effect::Ignored => "is accepted, and Cluster API never acts on it".to_owned(),
        Effect::Addon { before, after, needed } => addon(before.as_deref(), after.as_deref(), *needed),
        Effect::AddonLeft { version } => format!(
            "is abandoned, version {version}: nodes need it, so it stays installed, and nothing manages it any more"
        ),
        Effect::Needed => "is required from now on: it must exist in the management cluster".to_owned(),
        Effect::Added => "is added".to_owned(),
        Effect::Removed => "is removed".to_owned(),
        Effect::Changed => "changes".to_owned(),
    }
}

/// The former ID of a cluster. The clusters of a group have names of their own.
fn former(from: &ClusterId, clusters: usize) -> String {
    match clusters {
        0 | 1 => from.whole(),
        _ => format!("{}/{}/{CLUSTER}", from.management, from.namespace),
    }
}

fn verdict(meaning: &Meaning, change: &GroupChange, counts: Option<String>) -> String {
    let are = |done: &str| {
        let is_one = change.machines.total.most == 1;
        let counts = counts.clone().unwrap_or_else(|| "machines".to_owned());
        format!("{counts} {} {done}", if is_one || counts.starts_with("an ") { "is" } else { "are" })
    };
    match meaning {
        Meaning::Create => "is created".to_owned(),
        Meaning::Rollout { on_delete: true, .. } => {
            format!(
                "rollout{}: each is replaced once someone deletes it, and not before; there is no extra machine",
                of(counts)
            )
        }
        Meaning::Rollout { together_with, .. } => {
            let mut words = match counts {
                Some(_) => format!("rollout: {}", are("replaced")),
                None => "rollout: no machine is replaced".to_owned(),
            };
            words.push_str(&extra(change.surge));
            if !together_with.is_empty() {
                let names: Vec<_> = together_with.iter().take(3).map(Part::in_words).collect();
                let more = together_with.len().saturating_sub(3);
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                words = format!("{words}, at the same time as {}{more}", names.join(", "));
            }
            words
        }
        Meaning::Upgrade { from, to, on_delete, .. } => {
            let how = if *on_delete {
                ", each once someone deletes it, and not before; there is no extra machine"
            } else {
                ""
            };
            let extra = if *on_delete { String::new() } else { extra(change.surge) };
            format!("upgrade from {from} to {to}: {}{how}{extra}", are("replaced"))
        }
        Meaning::Scale { from, to } if to < from => {
            format!("scale from {from} to {to}: {}", are("removed"))
        }
        Meaning::Delete => format!("is deleted{}", with(counts)),
        other => other.words(),
    }
}

/// The number of additional machines of a part that rolls out.
fn extra(surge: Option<[i64; 2]>) -> String {
    match surge {
        None => String::new(),
        Some([_, 0]) => {
            ", with no extra machine: old ones are deleted before new ones are created".to_owned()
        }
        Some([least, most]) if least == most => format!(", with {most} extra at a time"),
        Some([least, most]) => format!(", with {least} to {most} extra at a time"),
    }
}

/// The number of machines per cluster of a group, and of all clusters.
fn counts(of: &Counts, clusters: usize) -> Option<String> {
    let total = machines(of.total)?;
    if clusters < 2 {
        return Some(total);
    }
    let [least, most] = of.each;
    let each = if least == most {
        machines(most).map(|each| format!("{each} each"))
    } else if least.more || most.more {
        Some(format!("at least {} each", counted(least.least, "machine")))
    } else {
        Some(format!("{} to {} each", least.least, counted(most.most, "machine")))
    };
    Some(each.map_or_else(|| total.clone(), |each| format!("{each} ({total} in all)")))
}

fn with(counts: Option<String>) -> String {
    counts.map(|counts| format!(" with {counts}")).unwrap_or_default()
}

fn of(counts: Option<String>) -> String {
    counts.map(|counts| format!(" of {counts}")).unwrap_or_default()
}

fn addon(before: Option<&str>, after: Option<&str>, needed: Option<bool>) -> String {
    let words = match (before, after) {
        (None, Some(after)) => format!("is installed, version {after}"),
        (Some(before), None) => format!("is removed, version {before}"),
        (Some(before), Some(after)) if before != after => format!("moves from version {before} to {after}"),
        (Some(version), Some(_)) => format!("changes, version {version}"),
        (None, None) => "changes".to_owned(),
    };
    match needed {
        Some(true) => format!("{words}; nodes need it"),
        Some(false) => words,
        None => format!("{words}; it is not known whether nodes need it"),
    }
}

/// The fields that cause a change, without names that differ between any two classes, unless there are no other fields.
pub(super) fn causes(change: &Change) -> Vec<&str> {
    let is_name = |cause: &&str| {
        let path = cause.split_once(": ").map_or("", |(_, path)| path);
        path.starts_with("metadata.") || path.ends_with("Ref.name")
    };
    let all = || change.causes.iter().map(String::as_str);
    let own: Vec<&str> = all().filter(|cause| !is_name(cause)).collect();
    if own.is_empty() { all().collect() } else { own }
}

/// A field with its values.
pub(super) fn field(field: &FieldChange) -> String {
    let (path, [before, after]) = field_parts(field, VALUE);
    format!("{path}: {before} → {after}")
}

/// A field and its values before and after, each truncated to a length.
pub(super) fn field_parts(field: &FieldChange, most: usize) -> (String, [String; 2]) {
    let side =
        |side: &Option<Json>| side.as_ref().map_or_else(|| "unset".to_owned(), |side| value(side, most));
    (field.path.to_string(), [side(&field.before), side(&field.after)])
}

fn value(value: &Json, most: usize) -> String {
    let text = value.to_string();
    if text.chars().count() <= most {
        return text;
    }
    text.chars().take(most).chain(['…']).collect()
}

/// `release a → b, Kubernetes v1 → v2`; none if neither differs.
pub(super) fn versions(group: &Group) -> Option<String> {
    let shown = |what: &str, sides: &Sides| {
        let (Some(before), Some(after)) = (&sides.before, &sides.after) else { return None };
        (before != after).then(|| format!("{what} {before} → {after}"))
    };
    let all = [shown("release", &group.release), shown("Kubernetes", &group.kubernetes)];
    let all: Vec<String> = all.into_iter().flatten().collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// The names of at most `most` clusters, and the number of the others.
pub(super) fn names(clusters: &[ClusterId], most: usize) -> String {
    let names: Vec<String> = clusters.iter().take(most).map(ToString::to_string).collect();
    let more = clusters.len().saturating_sub(most);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", names.join(", "))
}

/// The names of at most `most` clusters of a group, with their machines if these differ, and the number of the others.
pub(super) fn names_of_group(group: &Group, most: usize) -> String {
    let names: Vec<String> = names_with_machines(group).take(most).collect();
    let more = group.clusters.len().saturating_sub(most);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", names.join(", "))
}

/// The names of the clusters of a group, with their machines if these differ.
pub(super) fn names_with_machines(group: &Group) -> impl Iterator<Item = String> {
    let differ = group.machines.windows(2).any(|pair| pair[0] != pair[1]);
    group.clusters.iter().zip(&group.machines).map(move |(cluster, count)| {
        let count = machines(*count).filter(|_| differ);
        count.map_or_else(|| cluster.to_string(), |count| format!("{cluster} ({count})"))
    })
}

/// When the clusters of a report roll out; none if at most one does.
pub(super) fn start(report: &Report) -> Option<&'static str> {
    let rolls = |change: &Change| matches!(change.risk, Risk::Pools | Risk::ControlPlane);
    let rolling = report.clusters.iter().filter(|one| one.changes.iter().any(rolls));
    (rolling.count() > 1)
        .then_some("Clusters do not wait for each other: all start once the engine applies the change.")
}

/// A peak in one line.
pub(super) fn peak(peak: &Peak) -> String {
    let place = format!("{}/{}", peak.management, peak.namespace);
    let parts = count(peak.unknown, "part");
    match (peak.machines, peak.unknown) {
        (machines, 0) => format!("{place}: {} more", counted(machines, "machine")),
        (0, _) => format!("{place}: not known for {parts}"),
        (machines, _) => {
            format!("{place}: at least {} more; not known for {parts}", counted(machines, "machine"))
        }
    }
}
