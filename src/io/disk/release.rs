//! Folders of numbered releases, added to the tree and removed from it as a whole.

use std::{collections::BTreeMap, fs, path::Path};

use super::{
    scaffold::staged_beside,
    stage::{STAGE, Stage},
};
use crate::note::Fault;

/// Puts the folder of a release in place atomically. An existing folder stays as it is.
pub(in crate::io) fn place_release(
    root: &Path,
    name: &str,
    files: &BTreeMap<String, Vec<u8>>,
) -> Result<(), Fault> {
    let target = root.join("generated/releases").join(name);
    let failed = |error| Fault::because(format!("cannot write the release `{name}`"), error);
    if target.exists() {
        return Ok(());
    }
    let mut stage = Stage::new(root)?;
    stage.open()?;
    let staged = root.join(STAGE).join(name);
    for (path, bytes) in files {
        let file = staged.join(path);
        file.parent().map_or(Ok(()), fs::create_dir_all).map_err(failed)?;
        fs::write(&file, bytes).map_err(failed)?;
    }
    fs::create_dir_all(root.join("generated/releases")).map_err(failed)?;
    fs::rename(&staged, &target).map_err(failed)
}

/// Puts a file in place atomically.
pub(in crate::io) fn place_file(path: &Path, bytes: &[u8]) -> Result<(), Fault> {
    let staged = staged_beside(path);
    let done = fs::write(&staged, bytes).and_then(|()| fs::rename(&staged, path));
    if done.is_err() {
        fs::remove_file(&staged).ok();
    }
    done.map_err(|error| Fault::because(format!("cannot write `{}`", path.display()), error))
}

/// Removes the folder of a release from the tree atomically.
pub(in crate::io) fn remove_release(root: &Path, name: &str) -> Result<(), Fault> {
    let target = root.join("generated/releases").join(name);
    if !target.exists() {
        return Ok(());
    }
    let mut stage = Stage::new(root)?;
    stage.open()?;
    // Staged files are deleted when the stage is dropped.
    fs::rename(&target, root.join(STAGE).join(name))
        .map_err(|error| Fault::because(format!("cannot remove the release `{name}`"), error))
}

/// Removes what a killed run has staged: folders of releases, and copies beside these files. They are never used again.
pub(in crate::io) fn remove_staged(root: &Path, files: &[&str]) -> Result<(), Fault> {
    // This locks the tree, so no running process owns the staged files.
    let _stage = Stage::new(root)?;
    for file in files {
        let staged = staged_beside(&root.join(file));
        match fs::remove_file(&staged) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                let what = format!("cannot remove `{}`, which a killed run left", staged.display());
                return Err(Fault::because(what, error).hint("delete it, then run this again"));
            }
            _ => {}
        }
    }
    Ok(())
}
