//! Describes changes outside clusters in words. Equal changes share a line.

use super::{OutsideChange, OwnObject, Place, objects::grants, risk::Risk};
use crate::tree::FileChange;

/// The maximum number of a user's own objects that are named.
const OWN: usize = 5;

/// A change outside clusters, in one line.
pub(super) fn one(change: &OutsideChange) -> String {
    line(&[change], 1)
}

/// Puts equal changes together, in the order of the first of each.
pub(super) fn grouped<'a>(changes: &[&'a OutsideChange]) -> Vec<Vec<&'a OutsideChange>> {
    let mut groups: Vec<Vec<&OutsideChange>> = Vec::new();
    for change in changes {
        match groups.iter_mut().find(|group| are_equal(group[0], change)) {
            Some(group) => group.push(change),
            None => groups.push(vec![change]),
        }
    }
    groups
}

fn are_equal(one: &OutsideChange, other: &OutsideChange) -> bool {
    let is_same_kind = match (&one.place, &other.place) {
        (Place::Namespace { management, .. }, Place::Namespace { management: of_other, .. }) => {
            management == of_other
        }
        (Place::Release(_), Place::Release(_))
        | (Place::Engine(_), Place::Engine(_))
        | (Place::NodeImage(_), Place::NodeImage(_)) => true,
        _ => false,
    };
    is_same_kind && (one.risk, one.kind, &one.accepted) == (other.risk, other.kind, &other.accepted)
}

/// Equal changes in one line, with at most `most` names.
pub(super) fn line(changes: &[&OutsideChange], most: usize) -> String {
    let [first, rest @ ..] = changes else { return String::new() };
    let accepted = first.accepted.as_ref().map(|reason| format!("; accepted: {reason}")).unwrap_or_default();
    let files = files(changes);
    if let Place::Own(folder) = &first.place {
        return format!("{}{accepted}", own(first, folder, &files));
    }
    let is_many = !rest.is_empty();
    let (subject, verb) = (subject(changes, most), verb(first, is_many));
    if matches!(first.place, Place::NodeImage(_)) {
        return format!("{subject} {verb}{accepted}");
    }
    format!("{subject} {verb} (files: {files}){accepted}")
}

fn subject(changes: &[&OutsideChange], most: usize) -> String {
    let name = |change: &&OutsideChange| match &change.place {
        Place::Namespace { namespace: name, .. }
        | Place::Release(name)
        | Place::Engine(name)
        | Place::NodeImage(name) => name.clone(),
        Place::Own(_) | Place::Tree => String::new(),
    };
    let names: Vec<String> = changes.iter().take(most.max(1)).map(name).collect();
    let more = changes.len().saturating_sub(names.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let (names, s) = (names.join(", "), if changes.len() > 1 { "s" } else { "" });
    match changes.first().map(|change| &change.place) {
        Some(Place::Release(_)) => format!("release{s} {names}{more}"),
        Some(Place::Namespace { management, .. }) => format!("namespace{s} {names}{more} of {management}"),
        Some(Place::Engine(_)) => format!("engine objects in {names}{more}"),
        Some(Place::NodeImage(_)) => format!("node image{s} {names}{more}"),
        Some(Place::Own(_) | Place::Tree) | None => "the tree's own files".to_owned(),
    }
}

fn verb(change: &OutsideChange, is_many: bool) -> &'static str {
    let of = |one: &'static str, many: &'static str| if is_many { many } else { one };
    match (change.kind, &change.place) {
        (FileChange::Added, Place::NodeImage(_)) => of(
            "is used for the first time: it must exist before machines are created from it",
            "are used for the first time: they must exist before machines are created from them",
        ),
        (FileChange::Removed, Place::NodeImage(_)) => {
            of("is no longer used by any cluster", "are no longer used by any cluster")
        }
        (FileChange::Removed, Place::Release(_)) => of(
            "is removed from the tree; its class stays in the management clusters",
            "are removed from the tree; their classes stay in the management clusters",
        ),
        (FileChange::Removed, Place::Namespace { .. }) => of(
            "is removed from the tree; the namespace itself stays, unmanaged",
            "are removed from the tree; the namespaces themselves stay, unmanaged",
        ),
        (FileChange::Added, Place::Engine(_)) => "are new",
        (FileChange::Removed, Place::Engine(_)) => "are removed",
        (_, Place::Engine(_) | Place::Tree) => "change",
        (FileChange::Added, _) => of("is new", "are new"),
        (FileChange::Removed, _) => of("is removed", "are removed"),
        (_, Place::Release(_)) => of("changes under its name", "change under their names"),
        _ => of("changes", "change"),
    }
}

/// The number of files that are added, changed and removed.
fn files(changes: &[&OutsideChange]) -> String {
    let of = |wanted, word: &str| {
        let files = changes.iter().flat_map(|change| change.files.values());
        let count = files.filter(|kind| **kind == wanted).count();
        (count > 0).then(|| format!("{count} {word}"))
    };
    let all = [
        of(FileChange::Added, "added"),
        of(FileChange::Changed, "changed"),
        of(FileChange::Removed, "removed"),
    ];
    all.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn own(change: &OutsideChange, folder: &str, files: &str) -> String {
    let from = change.moved.as_ref().map(|from| format!(", which was {from}")).unwrap_or_default();
    let what = format!("own objects in {folder}{from}");
    if change.objects.is_empty() && change.moved.is_some() && change.risk == Risk::Metadata {
        return format!("{what}: none changes, only the path of the folder");
    }
    if change.objects.is_empty() {
        return format!("{what} change (files: {files}); they cannot be read one by one");
    }
    let object = |one: &OwnObject| {
        let word = match one.change {
            FileChange::Added => "is new",
            FileChange::Removed => "is deleted",
            FileChange::Changed | FileChange::Unchanged => "changes",
        };
        let rights = if grants(&one.address) { ", and it grants rights" } else { "" };
        format!("{} {word}{rights}", one.address)
    };
    let mut named: Vec<String> = change.objects.iter().take(OWN).map(object).collect();
    let more = change.objects.len().saturating_sub(OWN);
    if more > 0 {
        named.push(format!("and {more} more"));
    }
    format!("{what}: {} (files: {files})", named.join(", "))
}
