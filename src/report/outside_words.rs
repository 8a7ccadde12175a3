//! Describes changes outside clusters in words. Equal changes share a line.

use std::collections::BTreeMap;

use super::{OutsideChange, OutsidePlace, OwnObject, RefusedShare, objects::grants, risk::Risk, words};
use crate::{model::Engine, note::in_words, tree::FileChange};

/// The maximum number of names in a line that stands alone.
const ALL: usize = 200;

/// The maximum number of a user's own objects that are named, unless they are deleted.
const OWN: usize = 5;

/// The maximum number of files that are named.
const NAMED_FILES: usize = 3;

/// How a change ends that follows from refused changes of clusters and from others.
const PARTLY: &str = "; those of refused changes only if the changes are merged anyway";

/// A change outside clusters, in one line.
pub(super) fn one(change: &OutsideChange) -> String {
    line(&[change], ALL)
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
        (
            OutsidePlace::Namespace { management, .. },
            OutsidePlace::Namespace { management: of_other, .. },
        ) => management == of_other,
        (OutsidePlace::Release(_), OutsidePlace::Release(_))
        | (OutsidePlace::Engine(_), OutsidePlace::Engine(_))
        | (OutsidePlace::NodeImage(_), OutsidePlace::NodeImage(_)) => true,
        _ => false,
    };
    let key = |change: &OutsideChange| (change.risk, change.kind, change.refused);
    is_same_kind && (key(one), &one.accepted) == (key(other), &other.accepted)
}

/// Equal changes in one line, with at most `most` names.
pub(super) fn line(changes: &[&OutsideChange], most: usize) -> String {
    let [first, rest @ ..] = changes else { return String::new() };
    let accepted = first.accepted.as_ref().map(|reason| format!("; accepted: {reason}")).unwrap_or_default();
    let files = files(changes);
    if let OutsidePlace::Own(folder) = &first.place {
        return format!("{}{accepted}", own(first, (folder, &files), most));
    }
    let is_many = !rest.is_empty();
    let (subject, verb) = (subject(changes, most), verb(first, is_many));
    let condition = if first.refused == RefusedShare::All { words::IF_MERGED } else { "" };
    let partly = if first.refused == RefusedShare::Some { PARTLY } else { "" };
    if matches!(first.place, OutsidePlace::NodeImage(_)) {
        return format!("{condition}{subject} {verb}{accepted}");
    }
    let is_namespace = matches!(first.place, OutsidePlace::Namespace { .. });
    let why = if is_namespace && first.risk == Risk::Unknown { NOT_PREDICTED } else { "" };
    format!("{condition}{subject} {verb} ({files}){why}{partly}{accepted}")
}

const NOT_PREDICTED: &str =
    "; Cluster API acts on some of these objects, and what that does to machines is not predicted";

fn subject(changes: &[&OutsideChange], most: usize) -> String {
    let name = |change: &&OutsideChange| match &change.place {
        OutsidePlace::Namespace { namespace: name, .. }
        | OutsidePlace::Release(name)
        | OutsidePlace::Engine(name)
        | OutsidePlace::NodeImage(name) => name.clone(),
        OutsidePlace::Own(_) | OutsidePlace::Tree => String::new(),
    };
    let names: Vec<String> = changes.iter().map(name).collect();
    let matters = changes.iter().any(|change| change.risk == Risk::Deletes);
    let (names, s) = (words::some(&names, most.max(1), matters), if changes.len() > 1 { "s" } else { "" });
    match changes.first().map(|change| &change.place) {
        Some(OutsidePlace::Release(_)) => format!("release{s} {names}"),
        Some(OutsidePlace::Namespace { management, .. }) => format!("namespace{s} {names} of {management}"),
        Some(OutsidePlace::Engine(_)) => {
            format!("the {} objects of {names}", Engine::ALL.map(Engine::as_str).join(" or "))
        }
        Some(OutsidePlace::NodeImage(_)) => format!("node image{s} {names}"),
        Some(OutsidePlace::Own(_) | OutsidePlace::Tree) | None => {
            "stackloom's own files in generated/".to_owned()
        }
    }
}

fn verb(change: &OutsideChange, is_many: bool) -> &'static str {
    let of = |one: &'static str, many: &'static str| if is_many { many } else { one };
    match (change.kind, &change.place) {
        (FileChange::Added, OutsidePlace::NodeImage(_)) => of(
            "is used for the first time: it must exist before machines are created from it",
            "are used for the first time: they must exist before machines are created from them",
        ),
        (FileChange::Removed, OutsidePlace::NodeImage(_)) => {
            of("is no longer used by any cluster", "are no longer used by any cluster")
        }
        (FileChange::Removed, OutsidePlace::Release(_)) => of(
            "is removed from generated/; its class stays in the management clusters",
            "are removed from generated/; their classes stay in the management clusters",
        ),
        (FileChange::Removed, OutsidePlace::Namespace { .. }) => of(
            "is removed from generated/; the namespace itself stays, unmanaged",
            "are removed from generated/; the namespaces themselves stay, unmanaged",
        ),
        (FileChange::Added, OutsidePlace::Engine(_)) => "are new",
        (FileChange::Removed, OutsidePlace::Engine(_)) => "are removed",
        (_, OutsidePlace::Engine(_) | OutsidePlace::Tree) => "change",
        (FileChange::Added, _) => of("is new", "are new"),
        (FileChange::Removed, _) => of("is removed", "are removed"),
        (_, OutsidePlace::Release(_)) => of("changes under its name", "change under their names"),
        _ => of("changes", "change"),
    }
}

/// The files that are added, changed and removed, by name if there are few: `2 files are added, 1 is changed`.
fn files(changes: &[&OutsideChange]) -> String {
    if let [one] = changes
        && matches!(one.place, OutsidePlace::Namespace { .. })
        && one.kind == FileChange::Changed
        && one.files.len() <= NAMED_FILES
    {
        return named_files(&one.files);
    }
    let of = |wanted, word| {
        let files = changes.iter().flat_map(|change| change.files.values());
        (files.filter(|kind| **kind == wanted).count(), word)
    };
    let all = [
        of(FileChange::Added, "added"),
        of(FileChange::Changed, "changed"),
        of(FileChange::Removed, "removed"),
    ];
    let words = |(at, (count, word)): (usize, (usize, &str))| {
        let what = if at == 0 { words::count(count, "file") } else { count.to_string() };
        format!("{what} {} {word}", if count == 1 { "is" } else { "are" })
    };
    all.into_iter().filter(|(count, _)| *count > 0).enumerate().map(words).collect::<Vec<_>>().join(", ")
}

fn named_files(files: &BTreeMap<String, FileChange>) -> String {
    let of = |wanted, word| {
        let of_kind = files.iter().filter(|(_, kind)| **kind == wanted);
        let names: Vec<String> =
            of_kind.map(|(path, _)| path.rsplit('/').next().unwrap_or(path).to_owned()).collect();
        let verb = if names.len() == 1 { "is" } else { "are" };
        (!names.is_empty()).then(|| format!("{} {verb} {word}", in_words(&names, "and")))
    };
    let all = [
        of(FileChange::Added, "added"),
        of(FileChange::Changed, "changed"),
        of(FileChange::Removed, "removed"),
    ];
    all.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn own(change: &OutsideChange, (folder, files): (&str, &str), most: usize) -> String {
    let from = change.moved.as_ref().map(|from| format!(", which was {from}")).unwrap_or_default();
    let what = format!("own objects in {folder}{from}");
    if change.objects.is_empty() && change.moved.is_some() && change.risk == Risk::Metadata {
        return format!("{what}: only the path of the folder changes");
    }
    if change.objects.is_empty() {
        return format!("{what} change ({files}); they cannot be read one by one");
    }
    let object = |one: &OwnObject| {
        let word = match one.change {
            FileChange::Added => "is new",
            FileChange::Removed if one.stays => "stays unmanaged",
            FileChange::Removed => "is deleted",
            FileChange::Changed | FileChange::Unchanged => "changes",
        };
        let rights = if grants(&one.address) { ", and it grants rights" } else { "" };
        format!("{} {word}{rights}", one.address)
    };
    // What is deleted or abandoned is lost to git, so all of it is named.
    let (deleted, others): (Vec<_>, Vec<_>) =
        change.objects.iter().partition(|one| one.change == FileChange::Removed);
    let words = |objects: &[&OwnObject]| objects.iter().map(|one| object(one)).collect::<Vec<_>>();
    let lists =
        [words::some(&words(&deleted), most.max(OWN), true), words::some(&words(&others), OWN, false)];
    let named: Vec<String> = lists.into_iter().filter(|list| !list.is_empty()).collect();
    format!("{what}: {} ({files})", named.join(", "))
}
