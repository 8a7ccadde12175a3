//! The text from which the ID of a change is derived. Definitions accept risks by ID, and other programs store IDs, so this
//! text must never change: not when a type is renamed, nor when it gets another field.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use super::{
    change::{Effect, Leaving, Subject},
    outside_clusters::OutsidePlace,
};
use crate::{
    compare::Section,
    model::hex,
    note::About,
    topology::Meaning,
    tree::{BlobId, FileChange},
};

/// Derives an ID from a text.
pub(super) fn hashed(text: &str) -> String {
    hex(&Sha256::digest(text)[..8])
}

/// Identifies what happens to the subject of a change, without the number of machines.
pub(super) fn effect(effect: &Effect) -> String {
    match effect {
        Effect::Created => "Created".to_owned(),
        Effect::Returned { commit, is_same } => {
            format!("Returned {{ commit: {commit:?}, is_same: {is_same} }}")
        }
        Effect::Gone(leaving) => format!("Gone({})", text_of_leaving(*leaving)),
        Effect::Moved { from, paused } => {
            format!("moved from {}/{} {paused}", from.management, from.namespace)
        }
        Effect::Detached => "Detached".to_owned(),
        Effect::Attached => "Attached".to_owned(),
        Effect::Paused => "Paused".to_owned(),
        Effect::Resumed => "Resumed".to_owned(),
        Effect::Verdict(meaning) => text_of_meaning(meaning),
        Effect::Refused => "Refused".to_owned(),
        Effect::Unknown => "Unknown".to_owned(),
        Effect::Ignored => "Ignored".to_owned(),
        Effect::Addon { before, after, needed } => {
            format!("Addon {{ before: {before:?}, after: {after:?}, needed: {needed:?} }}")
        }
        Effect::AddonLeft { version } => format!("AddonLeft {{ version: {version:?} }}"),
        Effect::Needed => "Needed".to_owned(),
        Effect::Added => "Added".to_owned(),
        Effect::Removed => "Removed".to_owned(),
        Effect::Changed => "Changed".to_owned(),
    }
}

fn text_of_leaving(leaving: Leaving) -> &'static str {
    match leaving {
        Leaving::Announced => "Announced",
        Leaving::Finished => "Finished",
        Leaving::Abandoned => "Abandoned",
        Leaving::Unannounced => "Unannounced",
        Leaving::Unproven => "Unproven",
    }
}

fn text_of_meaning(meaning: &Meaning) -> String {
    let name = match meaning {
        Meaning::Rollout { on_delete, .. } => return format!("rollout {on_delete}"),
        Meaning::Upgrade { from, to, times, on_delete, .. } => {
            return format!("upgrade from {from} to {to}, {times} {on_delete}");
        }
        Meaning::Scale { from, to } => return format!("Verdict(Scale {{ from: {from}, to: {to} }})"),
        Meaning::NoChange => "NoChange",
        Meaning::MetadataOnly => "MetadataOnly",
        Meaning::InPlace => "InPlace",
        Meaning::Create => "Create",
        Meaning::Delete => "Delete",
        Meaning::Rejected => "Rejected",
        Meaning::Wedged => "Wedged",
        Meaning::ProviderDependent => "ProviderDependent",
        Meaning::Opaque => "Opaque",
    };
    format!("Verdict({name})")
}

/// Identifies the subject of a change within its cluster.
pub(super) fn subject(subject: &Subject) -> String {
    match subject {
        Subject::Whole => "cluster".to_owned(),
        Subject::Part(part) => part.to_string(),
        Subject::Cluster => "object/Cluster".to_owned(),
        Subject::Addon(name) => format!("addon/{name}"),
        Subject::Object(section, address) => format!("object/{}/{address}", text_of_section(section)),
    }
}

fn text_of_section(section: &Section) -> String {
    match section {
        Section::Cluster => "Cluster".to_owned(),
        Section::Installers => "Installers".to_owned(),
        Section::Manifests(addon) => format!("Manifests({addon:?})"),
        Section::Values(addon) => format!("Values({addon:?})"),
        Section::Ready => "Ready".to_owned(),
        Section::Engine => "Engine".to_owned(),
    }
}

/// Identifies what a guard refuses.
pub(super) fn about(about: Option<&About>) -> String {
    let Some(about) = about else { return "None".to_owned() };
    let text = match about {
        About::Cluster => "Cluster".to_owned(),
        About::Pool(name) => format!("Pool({name:?})"),
        About::Addon(name) => format!("Addon({name:?})"),
        About::AddonVersion(name) => format!("AddonVersion({name:?})"),
        About::Release => "Release".to_owned(),
        About::Kubernetes => "Kubernetes".to_owned(),
        About::Patch(version) => format!("Patch({version:?})"),
        About::Network(name) => format!("Network({name:?})"),
        About::ManagementCluster => "ManagementCluster".to_owned(),
        About::Engine => "Engine".to_owned(),
        About::Delivery => "Delivery".to_owned(),
        About::Setting { management, path } => {
            format!("Setting {{ management: {management:?}, path: {path:?} }}")
        }
        About::Heir { namespace, name } => format!("Heir {{ namespace: {namespace:?}, name: {name:?} }}"),
    };
    format!("Some({text})")
}

/// The ID of a change outside clusters. It is derived from the place, and from the files before and after.
pub(super) fn of_files<'a>(
    place: &OutsidePlace,
    paths: impl IntoIterator<Item = &'a String>,
    sides: [&BTreeMap<String, BlobId>; 2],
) -> String {
    let content = |path: &String| {
        let [before, after] = sides.map(|side| side.get(path).map_or("None".to_owned(), text_of_blob));
        format!("({path:?}, [{before}, {after}])")
    };
    let files: Vec<_> = paths.into_iter().map(content).collect();
    hashed(&format!("{} [{}]", text_of_place(place), files.join(", ")))
}

fn text_of_blob(BlobId(bytes): &BlobId) -> String {
    format!("Some(BlobId({bytes:?}))")
}

fn text_of_place(place: &OutsidePlace) -> String {
    match place {
        OutsidePlace::Release(name) => format!("Release({name:?})"),
        OutsidePlace::Namespace { management, namespace } => {
            format!("Namespace {{ management: {management:?}, namespace: {namespace:?} }}")
        }
        OutsidePlace::Engine(management) => format!("Engine({management:?})"),
        OutsidePlace::Own(folder) => format!("Own({folder:?})"),
        OutsidePlace::NodeImage(name) => format!("NodeImage({name:?})"),
        OutsidePlace::Tree => "Tree".to_owned(),
    }
}

/// The ID of a node image that appears or is no longer used.
pub(super) fn of_node_image(name: &str, change: FileChange) -> String {
    let change = match change {
        FileChange::Added => "Added",
        FileChange::Changed => "Changed",
        FileChange::Removed => "Removed",
        FileChange::Unchanged => "Unchanged",
    };
    hashed(&format!("node image {name} {change}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_never_change() {
        let effects = [
            Effect::Returned { commit: "c0ffee".to_owned(), is_same: true },
            Effect::Gone(Leaving::Unannounced),
            Effect::Verdict(Meaning::Scale { from: 3, to: 5 }),
            Effect::Verdict(Meaning::Wedged),
            Effect::Addon { before: Some("1.0".to_owned()), after: None, needed: Some(true) },
            Effect::AddonLeft { version: "1".to_owned() },
            Effect::Ignored,
        ];
        let texts = [
            "Returned { commit: \"c0ffee\", is_same: true }",
            "Gone(Unannounced)",
            "Verdict(Scale { from: 3, to: 5 })",
            "Verdict(Wedged)",
            "Addon { before: Some(\"1.0\"), after: None, needed: Some(true) }",
            "AddonLeft { version: \"1\" }",
            "Ignored",
        ];
        assert_eq!(effects.each_ref().map(effect), texts);
        assert_eq!(text_of_section(&Section::Manifests("cilium".to_owned())), "Manifests(\"cilium\")");
        assert_eq!(about(Some(&About::Network("pods"))), "Some(Network(\"pods\"))");
        assert_eq!(about(None), "None");
    }

    #[test]
    fn ids_outside_clusters_never_change() {
        let place = OutsidePlace::Namespace { management: "mgmt".to_owned(), namespace: "team-a".to_owned() };
        let path = "namespace.yaml".to_owned();
        let after = BTreeMap::from([(path.clone(), BlobId([7; 20]))]);
        assert_eq!(of_files(&place, [&path], [&BTreeMap::new(), &after]), "3b3ef2ea73331ffa");
        assert_eq!(of_node_image("ubuntu-2404", FileChange::Added), "115bcb98c4990932");
    }
}
