//! Whether the generated files of a commit are what its definitions generate.
//!
//! The report shows what the definitions generate. If the commit has something else, because someone edited a generated file or
//! forgot to generate, merging it does something else.

use std::collections::{BTreeMap, BTreeSet};

use super::{CommitsSinceBase, commits_since_base, new_tree::After};
use crate::{
    compare::{Archive, BlobId},
    note::{Fault, Notes, short_commit},
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
    past: Option<&dyn CommitsSinceBase>,
    input: &Input,
    notes: &mut Notes,
) -> Result<Option<String>, Fault> {
    let (mine, theirs) = (after.outline()?, head.outline()?);
    let both: BTreeSet<&String> = mine.clusters.keys().chain(theirs.clusters.keys()).collect();
    let differ = |folder: &&&String| mine.clusters.get(**folder) != theirs.clusters.get(**folder);
    let differing: Vec<&&String> = both.iter().filter(differ).collect();
    let all: BTreeSet<&String> = mine.files.keys().chain(theirs.files.keys()).collect();
    let files: Vec<String> = all
        .into_iter()
        .filter(|path| mine.files.get(*path) != theirs.files.get(*path))
        .map(|path| format!("`{path}`"))
        .collect();
    if differing.is_empty() && files.is_empty() || !has_definitions(head, input)? {
        return Ok(None);
    }
    let is_shared = |folder: &str| {
        both.iter().filter(|other| cluster_name(other, false) == cluster_name(folder, false)).count() > 1
    };
    // Few names are shown, and only those need to be compared with all others.
    let clusters: Vec<String> = differing
        .iter()
        .enumerate()
        .map(|(at, folder)| cluster_name(folder, at < NAMED && is_shared(folder)))
        .collect();
    let named = [("clusters", some_of(&clusters)), ("files", some_of(&files))];
    let differ: Vec<String> = named
        .into_iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(what, names)| format!("{what} that differ: {names}"))
        .collect();
    let refused = past.map(|past| restore(past, after, &differing)).transpose()?.flatten();
    let merging = if refused.is_some() {
        ", while merging HEAD does what its `generated/` has, and `generate` refuses to undo that"
    } else {
        ""
    };
    let message = format!(
        "`generated/` of HEAD does not match its definitions, and this report shows what the definitions generate{merging}; {}",
        differ.join("; ")
    );
    let hint = refused.unwrap_or_else(|| {
        "run `stackloom generate --commit`, so that merging does what the report shows".to_owned()
    });
    notes.warning("stale-tree", None, message.clone()).hint(hint);
    Ok(Some(message))
}

/// How to get what the definitions generate where `generate` refuses to replace what the last commit has, such as a later
/// Kubernetes version; none if it does not refuse that.
fn restore(
    past: &dyn CommitsSinceBase,
    after: &After<'_>,
    differing: &[&&String],
) -> Result<Option<String>, Fault> {
    let mut refused = commits_since_base::refused_in_last(past, after)?;
    refused.retain(|folder, _| differing.iter().any(|one| **one == folder));
    let Some(reason) = refused.values().next() else { return Ok(None) };
    let in_base = |folder: &&String| after.folders_before().contains_key(*folder);
    if !refused.keys().all(|folder| in_base(&folder)) {
        return Ok(Some(format!(
            "`stackloom generate` refuses to replace it ({reason}): let the definitions ask for what HEAD has, or take the \
             commits back that generated it"
        )));
    }
    let folders: Vec<&str> = refused.keys().map(String::as_str).collect();
    let folders = if folders.len() > NAMED { "generated".to_owned() } else { folders.join(" ") };
    Ok(Some(format!(
        "`stackloom generate` refuses to replace it ({reason}): restore and commit what the base has: `git checkout {} -- \
         {folders} && git commit`, then run `stackloom generate --commit`",
        short_commit(&past.base().commit)
    )))
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
