//! Whether the generated files of a commit are what its definitions generate.
//!
//! The report shows what the definitions generate. If the commit has something else, because someone edited a generated file or
//! forgot to generate, merging it does something else.

use std::collections::{BTreeMap, BTreeSet};

use super::new_tree::After;
use crate::{
    compare::{Archive, BlobId},
    note::{Fault, Notes},
    tree::{PartId, TreePath},
    world::{Input, companion_folder, is_input},
};

/// The maximum number of names in the message.
const NAMED: usize = 5;

/// Warns if a commit has other generated files than the run. Says nothing if the definitions of the run are not those of the
/// commit: then it is still to be generated. The result is the message.
pub(super) fn note(
    after: &After<'_>,
    head: &dyn Archive,
    input: &Input,
    notes: &mut Notes,
) -> Result<Option<String>, Fault> {
    let (mine, theirs) = (after.outline()?, head.outline()?);
    let both: BTreeSet<&String> = mine.clusters.keys().chain(theirs.clusters.keys()).collect();
    let differ = |folder: &&&String| mine.clusters.get(**folder) != theirs.clusters.get(**folder);
    let differing: Vec<&&String> = both.iter().filter(differ).collect();
    let is_shared = |folder: &str| {
        both.iter().filter(|other| cluster_name(other, false) == cluster_name(folder, false)).count() > 1
    };
    // Few names are shown, and only those need to be compared with all others.
    let clusters: Vec<String> = differing
        .iter()
        .enumerate()
        .map(|(at, folder)| cluster_name(folder, at < NAMED && is_shared(folder)))
        .collect();
    let all: BTreeSet<&String> = mine.files.keys().chain(theirs.files.keys()).collect();
    let files: Vec<String> = all
        .into_iter()
        .filter(|path| mine.files.get(*path) != theirs.files.get(*path))
        .map(|path| format!("`{path}`"))
        .collect();
    if clusters.is_empty() && files.is_empty() || !has_definitions(head, input)? {
        return Ok(None);
    }
    let named = [("clusters", some_of(&clusters)), ("files", some_of(&files))];
    let differ: Vec<String> = named
        .into_iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(what, names)| format!("{what} that differ: {names}"))
        .collect();
    let message = format!(
        "`generated/` of HEAD does not match its definitions, and this report shows what the definitions generate; {}",
        differ.join("; ")
    );
    notes
        .warning("stale-tree", None, message.clone())
        .hint("run `stackloom generate --commit`, so that merging does what the report shows");
    Ok(Some(message))
}

/// The first of some names, and how many there are beyond them.
fn some_of(names: &[String]) -> String {
    let shown = names.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The namespace and name of the cluster of a folder; with `is_whole`, also its management cluster.
fn cluster_name(folder: &str, is_whole: bool) -> String {
    let inside = TreePath::parse(&format!("{folder}/cluster"));
    match inside.and_then(|path| PartId::of_path(&path)) {
        Some(PartId::Cluster { management, namespace, cluster }) if is_whole => {
            format!("`{management}/{namespace}/{cluster}`")
        }
        Some(PartId::Cluster { namespace, cluster, .. }) => format!("`{namespace}/{cluster}`"),
        _ => format!("`{folder}`"),
    }
}

/// The folders of sources that the fleet alone fills.
const FOLDERS: [&str; 3] = ["clusters", "rollouts", "stacks"];

/// Whether a commit has the sources of the run, and no others.
fn has_definitions(head: &dyn Archive, input: &Input) -> Result<bool, Fault> {
    let mut there = BTreeMap::new();
    for folder in FOLDERS {
        there.extend(head.list(folder)?);
    }
    let is_listed = |path: &str| path.split('/').next().is_some_and(|folder| FOLDERS.contains(&folder));
    for source in input.sources.iter() {
        let id =
            if is_listed(&source.path) { there.get(&*source.path).copied() } else { head.id(&source.path)? };
        if id != Some(BlobId::of(source.text.as_bytes())) {
            return Ok(false);
        }
    }
    let is_source = |path: &&String| is_input(path) && companion_folder(path).is_none();
    Ok(there.keys().filter(is_source).all(|path| input.sources.at(path).is_some()))
}
