//! The definitions of the last commit.

use std::{io, path::Path};

use git2::{ObjectType, Repository, TreeWalkMode, TreeWalkResult};

use crate::{remove::Former, world::is_yaml};

/// The definitions of the last commit whose files still exist in a folder. None if git has no commit, or cannot read it: then
/// nothing is known of them. `read` reads a file of the disk.
pub(in crate::io) fn former_definitions(root: &Path, read: fn(&Path) -> io::Result<Vec<u8>>) -> Vec<Former> {
    found(root, read).unwrap_or_default()
}

fn found(root: &Path, read: fn(&Path) -> io::Result<Vec<u8>>) -> Option<Vec<Former>> {
    let repository = Repository::discover(root).ok()?;
    let top = repository.workdir()?.canonicalize().ok()?;
    let prefix = root.canonicalize().ok()?.strip_prefix(top).ok()?.to_path_buf();
    let head = repository.head().ok()?.peel_to_tree().ok()?;
    let folder =
        head.get_path(&prefix.join("clusters")).ok()?.to_object(&repository).ok()?.into_tree().ok()?;
    let mut found = Vec::new();
    let walked = folder.walk(TreeWalkMode::PreOrder, |parent, entry| {
        if entry.kind() == Some(ObjectType::Tree) {
            // The objects beside a cluster are no definitions.
            let is_beside = entry.name().is_ok_and(|name| name.strip_suffix(".d").is_some());
            return if is_beside { TreeWalkResult::Skip } else { TreeWalkResult::Ok };
        }
        let Ok(name) = entry.name() else { return TreeWalkResult::Ok };
        let path = format!("clusters/{parent}{name}");
        if is_yaml(&path)
            && let Some(text) = repository.find_blob(entry.id()).ok().map(|blob| blob.content().to_vec())
            && let Ok(now) = read(&root.join(&path))
            && let (Ok(text), Ok(now)) = (String::from_utf8(text), String::from_utf8(now))
        {
            found.push(Former { path, text, now });
        }
        TreeWalkResult::Ok
    });
    walked.ok()?;
    Some(found)
}
