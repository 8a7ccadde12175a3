//! Files that the user asked for by a command: definitions to begin with, schemas. Nothing is overwritten unasked.

use std::{collections::BTreeMap, fs, path::Path};

use crate::note::Fault;

/// Whether something is at a path, a dangling link included.
pub fn exists(path: &Path) -> Result<bool, Fault> {
    match path.symlink_metadata() {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Fault::because(format!("cannot look at `{}`", path.display()), error)),
    }
}

/// Writes a file, and the folders that lead to it; a file of that name is replaced.
pub fn write(path: &Path, text: &str) -> Result<(), Fault> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| {
            Fault::because(format!("cannot make the folder `{}`", folder.display()), error)
        })?;
    }
    fs::write(path, text).map_err(|error| Fault::because(format!("cannot write `{}`", path.display()), error))
}

/// What a file holds; none if there is none.
pub fn read_file(path: &Path) -> Result<Option<Vec<u8>>, Fault> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Fault::because(format!("cannot read `{}`", path.display()), error)),
    }
}

/// Replaces a file in one step, so that nobody finds half of it. A link to it stays one, and so do its permissions.
pub fn replace(path: &Path, text: &str) -> Result<(), Fault> {
    let failed = |error| Fault::because(format!("cannot write `{}`", path.display()), error);
    let target = path.canonicalize().map_err(failed)?;
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let staged = target.with_file_name(format!(".{name}.stackloom-staged"));
    let written = fs::write(&staged, text)
        .and_then(|()| fs::set_permissions(&staged, fs::metadata(&target)?.permissions()))
        .and_then(|()| fs::rename(&staged, &target));
    if written.is_err() {
        fs::remove_file(&staged).ok();
    }
    written.map_err(failed)
}

/// Removes a file.
pub fn remove(path: &Path) -> Result<(), Fault> {
    fs::remove_file(path)
        .map_err(|error| Fault::because(format!("cannot remove `{}`", path.display()), error))
}

/// Writes files below a folder, by their paths in it.
pub fn write_all(root: &Path, files: &BTreeMap<String, String>) -> Result<(), Fault> {
    files.iter().try_for_each(|(path, text)| write(&root.join(path), text))
}

/// The name of a folder that may not be there yet.
pub fn folder_name(path: &Path) -> Result<String, Fault> {
    let whole = std::path::absolute(path)
        .map_err(|error| Fault::because(format!("cannot find the folder `{}`", path.display()), error))?;
    let last = whole.components().next_back().map(|last| last.as_os_str().to_string_lossy().into_owned());
    Ok(last.unwrap_or_default())
}
