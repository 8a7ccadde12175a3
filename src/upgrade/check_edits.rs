//! Checks what edits of definitions mean.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::edits::{ChosenVersion, ClusterStep, Edits, INTERIM, chosen};
use crate::{
    definition::{self, Layer},
    generate::Understood,
    model::{Cluster, ClusterId, ReleaseRef},
    note::{Notes, Place},
    yaml::{Mapping, Node},
};

/// Checks that the edited definitions mean what the steps require and nothing else, and that all other clusters stay the same.
/// The result is the clusters of the edits that fail.
pub fn check(
    fleet: &Understood,
    taken: &[ClusterStep<'_>],
    edits: &Edits,
    edited: &Understood,
    notes: &mut Notes,
) -> BTreeSet<ClusterId> {
    let mut due: BTreeMap<ClusterId, &Cluster> =
        fleet.model.clusters.iter().map(|cluster| (cluster.id(), cluster)).collect();
    due.extend(taken.iter().map(|one| (one.before.id(), &one.after)));
    let files = edits.files.iter().map(|one| &*one.file).collect();
    let others = Others { before: by_file(fleet), after: by_file(edited), fleet, edited, files };
    let change_more: BTreeSet<&str> = edited
        .model
        .clusters
        .par_iter()
        .map(|cluster| &*cluster.file)
        .filter(|file| others.change(file))
        .collect();
    let mut failed = BTreeSet::new();
    for cluster in &edited.model.clusters {
        let id = cluster.id();
        let changes_more = change_more.contains(&*cluster.file);
        if due.remove(&id).is_some_and(|due| versions(due) == versions(cluster)) && !changes_more {
            continue;
        }
        let is_taken = taken.iter().any(|one| one.before.id() == id);
        let what = if is_taken && changes_more {
            format!(
                "the edits would change more of {id} than the step asks for: a `null` there keeps values of a folder away"
            )
        } else if is_taken {
            format!("the edits would not give {id} what the step asks for")
        } else {
            format!("the edits for other clusters would change {id}, too")
        };
        notes.error("edit", Place::file(&*cluster.file), what).hint("make this step by hand");
        if is_taken {
            failed.insert(id);
        } else {
            let above = edits.files.iter().filter(|one| is_above(&one.file, &cluster.file));
            failed.extend(above.flat_map(|one| one.clusters.iter().cloned()));
        }
    }
    failed
}

/// Reports whether a file is a definition, or the defaults of a folder that contains it.
fn is_above(file: &str, definition: &str) -> bool {
    let folder = file.rsplit_once("_defaults.").map(|(folder, _)| folder);
    file == definition || folder.is_some_and(|folder| definition.starts_with(folder))
}

/// The release and the addon versions that a definition sets.
fn versions(cluster: &Cluster) -> (&ReleaseRef, Vec<(&str, ChosenVersion)>) {
    let addons = cluster.addons.iter().map(|(name, choice)| (name.as_str(), chosen(choice)));
    (&cluster.release, addons.filter(|(_, chosen)| *chosen != ChosenVersion::default()).collect())
}

/// What definitions say besides the release and the versions of addons, before and after edits.
struct Others<'a> {
    before: BTreeMap<&'a str, &'a Layer>,
    after: BTreeMap<&'a str, &'a Layer>,
    fleet: &'a Understood,
    edited: &'a Understood,
    /// The edited files.
    files: BTreeSet<&'a str>,
}

impl Others<'_> {
    /// Whether the edits change it for a definition.
    fn change(&self, file: &str) -> bool {
        let (Some(before), Some(after)) = (self.before.get(file), self.after.get(file)) else { return false };
        let is_edited = |layer: &&Layer| self.files.contains(&*layer.source.path);
        let layers = definition::layers(&self.edited.definitions, after);
        layers.iter().any(is_edited)
            && others(definition::merged(&self.fleet.definitions, before))
                != others(definition::merged(&self.edited.definitions, after))
    }
}

fn by_file(fleet: &Understood) -> BTreeMap<&str, &Layer> {
    fleet.definitions.clusters.iter().map(|layer| (&*layer.source.path, layer)).collect()
}

/// A definition without its release and without the versions of its addons.
fn others(mut definition: Node) -> Node {
    let Some(spec) = definition.as_mapping_mut().and_then(|root| root.get_mut("spec")?.as_mapping_mut())
    else {
        return definition;
    };
    for key in ["release"].iter().chain(&definition::OF_HEAD) {
        spec.remove(key);
    }
    let names: Vec<String> = spec
        .get("addons")
        .and_then(Node::as_mapping)
        .into_iter()
        .flat_map(Mapping::iter)
        .map(|entry| entry.key.name.to_string())
        .collect();
    let Some(addons) = spec.get_mut("addons").and_then(Node::as_mapping_mut) else { return definition };
    for name in &names {
        let addon = addons.get_mut(name).and_then(Node::as_mapping_mut);
        let is_empty = addon.is_none_or(|addon| {
            for key in ["version", INTERIM, "release", "unlisted"] {
                addon.remove(key);
            }
            // Values that are empty change nothing.
            if addon.get("values").and_then(Node::as_mapping).is_some_and(Mapping::is_empty) {
                addon.remove("values");
            }
            addon.is_empty()
        });
        if is_empty {
            addons.remove(name);
        }
    }
    if addons.is_empty() {
        spec.remove("addons");
    }
    definition
}
