//! Folders of numbered releases: put into the tree whole, and taken out whole.

use std::{collections::BTreeMap, fs, path::Path};

use super::{
    scaffold::staged_beside,
    stage::{STAGE, Stage},
};
use crate::note::Fault;

/// Puts the folder of a release in its place atomically. One that is there already stays.
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

/// Puts a file in its place atomically.
pub(in crate::io) fn place_file(path: &Path, bytes: &[u8]) -> Result<(), Fault> {
    let staged = staged_beside(path);
    let done = fs::write(&staged, bytes).and_then(|()| fs::rename(&staged, path));
    if done.is_err() {
        fs::remove_file(&staged).ok();
    }
    done.map_err(|error| Fault::because(format!("cannot write `{}`", path.display()), error))
}

/// Takes the folder of a release out of the tree atomically.
pub(in crate::io) fn remove_release(root: &Path, name: &str) -> Result<(), Fault> {
    let target = root.join("generated/releases").join(name);
    if !target.exists() {
        return Ok(());
    }
    let mut stage = Stage::new(root)?;
    stage.open()?;
    // What was staged goes when the stage is dropped.
    fs::rename(&target, root.join(STAGE).join(name))
        .map_err(|error| Fault::because(format!("cannot remove the release `{name}`"), error))
}

/// Removes what a killed run has staged: folders of releases, and copies beside these files. Nothing reads it again.
pub(in crate::io) fn remove_staged(root: &Path, files: &[&str]) -> Result<(), Fault> {
    // It takes the tree for itself, so that it is no other run's.
    let _stage = Stage::new(root)?;
    for file in files {
        let staged = staged_beside(&root.join(file));
        match fs::remove_file(&staged) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                let what = format!("cannot remove `{}`, which a killed run left", staged.display());
                return Err(Fault::because(what, error).hint("delete it, and run this again"));
            }
            _ => {}
        }
    }
    Ok(())
}
