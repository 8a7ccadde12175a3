//! Describes changes in words, identically in every format for people.

use serde_json::Value as Json;

pub(super) use super::machine_words::{added, count, lost, peak, peaks};
use super::{
    Report,
    change::{Change, Effect, Leaving, Subject},
    cluster::{ClusterReport, Sides},
    group::{CLUSTER, Counts, Group, GroupChange},
    machine_words::{counted, counts, extra_of_all, first_of_counts, is_unknown, machines, of_whole},
    risk::Risk,
};
use crate::{
    compare::{FieldChange, Section},
    model::ClusterId,
    note::short_commit,
    topology::{Meaning, Reason, TopologyPart, predict::ListChange},
};

/// The maximum number of entries of a list that are named.
const ENTRIES: usize = 6;

/// The maximum length of a value if space is short, in characters.
pub(super) const VALUE: usize = 100;

/// What happens to a group: `control plane: upgrade from … to …`.
pub(super) fn change(change: &GroupChange, clusters: usize) -> String {
    let one = &change.change;
    let mut words = condition(change).to_owned() + &effect(change, clusters);
    match &one.subject {
        Subject::Object(Section::Manifests(_), _) if one.grants => {
            words.push_str("; it grants rights in the cluster");
        }
        Subject::Object(..) if one.grants => words.push_str("; it grants rights in the management cluster"),
        // The reasons name its objects.
        _ => {}
    }
    if let Some(reason) = &one.accepted {
        words.push_str("; accepted: ");
        words.push_str(reason);
    }
    words
}

/// What has to come first, because the change of the cluster is refused.
fn condition(change: &GroupChange) -> &'static str {
    match change.refusal {
        Some(_) if change.change.effect == Effect::Refused => "",
        Some(refusal) if refusal.stops(&change.change) => "if it were accepted: ",
        Some(refusal) if refusal.by_guards => IF_MERGED,
        _ => "",
    }
}

/// How the effects of a change begin that only a guard refuses.
pub(super) const IF_MERGED: &str = "if merged anyway: ";

fn effect(change: &GroupChange, clusters: usize) -> String {
    let counts = |of: &Counts| of_whole(of, change, clusters);
    let (lost, built) = (counts(&change.machines), counts(&change.built));
    match &change.change.effect {
        Effect::Created if change.change.paused => {
            format!("is created, paused: nothing is built before it is resumed{}", then(built))
        }
        Effect::Created => format!("is created{}", with(built)),
        Effect::Returned { commit, is_same: true } => format!(
            "is defined again, as it was before {} removed its files: if it still runs, nothing changes",
            short_commit(commit)
        ),
        Effect::Returned { commit, is_same: false } => format!(
            "is defined again, but differs from what {} removed: if it still runs, machines can be replaced",
            short_commit(commit)
        ),
        Effect::Gone(leaving) => gone(*leaving, lost),
        Effect::Moved { from, paused: true } => format!(
            "{}. Git moves only files: it keeps running there until its objects are moved, and is paused here",
            former(from, change, clusters)
        ),
        Effect::Moved { from, paused: false } => format!(
            "{}. Cluster API cannot move or rename a cluster: it builds a new one{}, and the old one keeps running, unmanaged",
            former(from, change, clusters),
            with(built)
        ),
        Effect::Detached => {
            "is detached, the first step of its removal: it keeps running, and nothing protects it from deletion any more".to_owned()
        }
        Effect::Attached => "is protected from deletion again: its removal ends".to_owned(),
        Effect::Paused => "is paused: Cluster API does not reconcile it".to_owned(),
        Effect::Resumed => "is resumed: Cluster API reconciles it again".to_owned(),
        Effect::Verdict(meaning) if change.change.paused && *meaning != Meaning::MetadataOnly => {
            format!("once the cluster is resumed: {}", verdict(meaning, change, clusters))
        }
        Effect::Verdict(meaning) => verdict(meaning, change, clusters),
        Effect::Refused if change.change.guarded && change.change.rejected => {
            "is refused: `stackloom generate` does not write this change, and the API server would refuse it as well; no machine is touched".to_owned()
        }
        Effect::Refused if change.change.guarded => {
            "is refused: `stackloom generate` does not write this change".to_owned()
        }
        Effect::Refused if change.change.rejected => {
            "is refused by the API server: no machine is touched".to_owned()
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

/// What happens to a cluster that leaves git, with the machines that it loses.
fn gone(leaving: Leaving, lost: Option<String>) -> String {
    match leaving {
        Leaving::Announced => format!(
            "is deleted{}, as the `removal` in its definition announced: pools first, then the control plane, then the infrastructure",
            with(lost)
        ),
        Leaving::Finished => "its removal ends: the last files are deleted, after its Cluster object".to_owned(),
        Leaving::Abandoned => {
            "is abandoned: its files leave git, and it keeps running, unmanaged".to_owned()
        }
        Leaving::Unannounced => format!("is deleted{}, without its removal steps", with(lost)),
        Leaving::Unproven => {
            "its last files leave git, but nothing shows that it was removed in steps: it is not known whether it still runs"
                .to_owned()
        }
    }
}

/// What a cluster was before. The clusters of a group have names of their own.
fn former(from: &ClusterId, change: &GroupChange, clusters: usize) -> String {
    match clusters {
        0 | 1 => format!("was `{}` before", from.whole()),
        _ if change.is_renamed => {
            format!("had another name in `{}/{}` before, as shown above", from.management, from.namespace)
        }
        _ => format!("was `{}/{}/{CLUSTER}` before", from.management, from.namespace),
    }
}

fn verdict(meaning: &Meaning, change: &GroupChange, clusters: usize) -> String {
    let [lost, built, shed] =
        [&change.machines, &change.built, &change.shed].map(|all| counts(all, clusters));
    let are = |done: &str| {
        let is_one = change.machines.total.most == 1
            || first_of_counts(&change.machines, clusters).is_some_and(is_unknown);
        let counts = lost.clone().unwrap_or_else(|| "machines".to_owned());
        format!("{counts} {} {done}", if is_one { "is" } else { "are" })
    };
    let and = |counts: &Option<String>, done: &str| match counts {
        Some(counts) if counts.starts_with("1 machine") => format!(", and {counts} is {done}"),
        Some(counts) => format!(", and {counts} are {done}"),
        None => String::new(),
    };
    let grows = and(&built, "added") + &and(&shed, "removed");
    match meaning {
        Meaning::Create => format!("is created{}", with(built)),
        Meaning::Rollout { on_delete: true, .. } => {
            format!(
                "rollout{}: each is replaced once someone deletes it, and not before; there is no extra machine{grows}",
                of(lost)
            )
        }
        Meaning::Rollout { together_with, .. } => {
            let mut words = match lost {
                Some(_) => format!("rollout: {}{}", are("replaced"), extra(change)),
                None => "rollout: no machine is replaced".to_owned(),
            };
            words.push_str(&grows);
            if !together_with.is_empty() {
                let names: Vec<_> = together_with.iter().take(3).map(TopologyPart::in_words).collect();
                let more = together_with.len().saturating_sub(3);
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                words = format!("{words}, at the same time as {}{more}", names.join(", "));
            }
            words
        }
        Meaning::Upgrade { from, to, times, unaided, on_delete, .. } => {
            let how = match unaided {
                _ if *on_delete => {
                    ", each once someone deletes it, and not before; there is no extra machine"
                }
                0 => ", but only after what it waits for is done",
                _ if unaided < times => ", but not all of them before what it waits for is done",
                _ => "",
            };
            let extra = if *on_delete { String::new() } else { extra(change) };
            format!("upgrade from {from} to {to}: {}{how}{extra}{grows}", are("replaced"))
        }
        Meaning::Scale { to: 0, .. } if change.machines.total.more => {
            format!("scale to 0: {}", are("removed"))
        }
        Meaning::Scale { from, to } if to < from => {
            format!("scale from {from} to {to}: {}", are("removed"))
        }
        Meaning::Scale { from, to } if from < to => {
            let is_one = change.built.total.most == 1;
            let added = built.unwrap_or_else(|| counted(to.saturating_sub(*from), "machine"));
            format!("scale from {from} to {to}: {added} {} added", if is_one { "is" } else { "are" })
        }
        Meaning::Delete => format!("is deleted{}", with(lost)),
        other => other.words(),
    }
}

/// The number of machines that a part has more, and may lack, while it rolls out.
fn extra(change: &GroupChange) -> String {
    let more = match change.surge {
        None => return ", with an unknown number of extra machines".to_owned(),
        Some([_, 0]) => {
            return format!(
                ", with no extra machine and up to {} missing at a time: old ones are deleted before new ones are created",
                change.unavailable.max(1)
            );
        }
        Some([least, most]) if least == most => format!(", with {}", counted(most, "extra machine")),
        Some([least, most]) => format!(", with {least} to {}", counted(most, "extra machine")),
    };
    match change.unavailable {
        0 => format!("{more} at a time"),
        fewer => format!("{more} and up to {fewer} missing at a time"),
    }
}

fn then(counts: Option<String>) -> String {
    counts.map(|counts| format!(", then {counts}")).unwrap_or_default()
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
        (Some(version), Some(_)) => format!("changes (version {version})"),
        (None, None) => "changes".to_owned(),
    };
    match needed {
        Some(true) => format!("{words}; nodes are not ready without this addon"),
        Some(false) => words,
        None => format!("{words}; it is not known whether nodes need this addon"),
    }
}

/// The reasons of a change. What Cluster API says in few words is explained, and what to do about a runtime extension comes last.
pub(super) fn reasons(change: &Change) -> Vec<String> {
    let mut all: Vec<String> = change.forecast.iter().map(reason).collect();
    all.extend_from_slice(&change.reasons);
    if change.risk == Risk::Unknown && change.by_extension {
        all.push(
            "to learn the effect, try the change on a test cluster whose management cluster runs the extension"
                .to_owned(),
        );
    }
    all
}

/// A reason, with Cluster API's own words explained.
fn reason(reason: &Reason) -> String {
    let said = match reason {
        Reason::NotUpToDate { kind } => {
            format!("machines do not match the changed {kind}, which only new machines get")
        }
        Reason::Version { from, to } => {
            format!("machines with Kubernetes {from} do not match the required {to}")
        }
        Reason::FailureDomain { from, to } => {
            let [from, to] = [from, to].map(|one| if one.is_empty() { "none" } else { one });
            format!("machines with the failure domain {from} do not match the required {to}")
        }
        other => return other.to_string(),
    };
    format!("{said} (Cluster API: `{reason}`)")
}

/// The fields that cause a change, each with what differs in it, if it is a list. Leaves out names that differ between any
/// two classes, unless there are no other fields.
pub(super) fn causes(change: &Change) -> Vec<(&str, String)> {
    let has_own = change.causes.iter().any(|cause| !cause.is_name);
    let shown = change.causes.iter().filter(|cause| !(has_own && cause.is_name));
    let entries = |field: &str| change.entries.get(field).map(entries).unwrap_or_default();
    shown.map(|cause| (&*cause.field, entries(&cause.field))).collect()
}

/// The entries that differ in a list: ` (`/etc/a` changes)`.
fn entries(list: &ListChange) -> String {
    let of = |names: &[String], one: &str, many: &str| {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        let verb = if names.len() == 1 { one } else { many };
        (!names.is_empty()).then(|| format!("{} {verb}", some(&names, ENTRIES, false)))
    };
    let all = [
        of(&list.changed, "changes", "change"),
        of(&list.added, "is new", "are new"),
        of(&list.removed, "is gone", "are gone"),
    ];
    format!(" ({})", all.into_iter().flatten().collect::<Vec<_>>().join("; "))
}

/// A field that causes a change, in one line.
pub(super) fn cause((field, entries): (&str, String)) -> String {
    format!("because of {field}{entries}")
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
pub(super) fn names(clusters: &[&ClusterReport], most: usize) -> String {
    some(&clusters.iter().map(|one| one.shown_name()).collect::<Vec<_>>(), most, false)
}

/// The names of at most `most` clusters of a group, with their machines if these differ, and the number of the others.
pub(super) fn names_of_group(group: &Group, most: usize) -> String {
    some(&names_with_machines(group).collect::<Vec<_>>(), most, group.risk == Risk::Deletes)
}

/// At most `most` names, and the number of the others. If it matters that none is missed, says where the whole list is.
pub(super) fn some(names: &[String], most: usize, matters: bool) -> String {
    let more = names.len().saturating_sub(most);
    let more = match more {
        0 => String::new(),
        _ if matters => format!(" and {more} more (`stackloom diff -v` lists all)"),
        _ => format!(" and {more} more"),
    };
    format!("{}{more}", names[..most.min(names.len())].join(", "))
}

/// The names of the clusters of a group, with their machines if these differ.
pub(super) fn names_with_machines(group: &Group) -> impl Iterator<Item = String> {
    let differ = group.machines.windows(2).any(|pair| pair[0] != pair[1]);
    let clusters = group.clusters.iter().zip(&group.names).zip(&group.former);
    let names = clusters.map(|((cluster, name), former)| match former {
        Some(from) if from.management == cluster.management && *name != cluster.whole() => {
            format!("{from} → {name}")
        }
        Some(from) => format!("{} → {}", from.whole(), cluster.whole()),
        None => name.clone(),
    });
    names.zip(&group.machines).map(move |(name, count)| match machines(*count).filter(|_| differ) {
        Some(count) => format!("{name} ({count})"),
        None => name,
    })
}

/// The lines below the first one, which hold for the whole change.
pub(super) fn overview(report: &Report) -> Vec<String> {
    start(report).map(str::to_owned).into_iter().chain(extra_of_all(report)).collect()
}

/// When the changes of clusters begin; none if they begin in at most one cluster.
fn start(report: &Report) -> Option<&'static str> {
    let acts = |change: &Change| {
        let is_left =
            matches!(change.effect, Effect::Gone(Leaving::Abandoned | Leaving::Finished | Leaving::Unproven));
        change.risk >= Risk::InPlace && !change.paused && !is_left
    };
    let acting = report.clusters.iter().filter(|one| one.refusal().is_none() && one.changes.iter().any(acts));
    (acting.count() > 1)
        .then_some("Clusters do not wait for each other: all start as soon as the change is applied.")
}

/// What the heading of a risk class adds about machines.
pub(super) fn no_machines(risk: Risk) -> &'static str {
    if risk < Risk::ScaleDown { ", no machine is replaced or removed" } else { "" }
}
