//! Files that the user asked for by a command: definitions to begin with, schemas. Nothing is overwritten unasked.

use std::{
    collections::BTreeMap,
    fs,
    io::Read as _,
    path::{Path, PathBuf},
};

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
    write_bytes(path, text.as_bytes())
}

/// The same, of bytes.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), Fault> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| {
            Fault::because(format!("cannot make the folder `{}`", folder.display()), error)
        })?;
    }
    fs::write(path, bytes)
        .map_err(|error| Fault::because(format!("cannot write `{}`", path.display()), error))
}

/// What a file holds; none if there is none.
pub fn read_file(path: &Path) -> Result<Option<Vec<u8>>, Fault> {
    match super::open::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Fault::because(format!("cannot read `{}`", path.display()), error)),
    }
}

/// Where the next content of a file waits: beside it, so that a rename is enough.
pub(super) fn staged_beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.stackloom-staged"))
}

/// Replaces a file in one step, so that nobody finds half of it. A link to it stays one, and so do its permissions.
pub fn replace(path: &Path, text: &str) -> Result<(), Fault> {
    let failed = |error| Fault::because(format!("cannot write `{}`", path.display()), error);
    let target = path.canonicalize().map_err(failed)?;
    let staged = staged_beside(&target);
    let written = fs::write(&staged, text)
        .and_then(|()| fs::set_permissions(&staged, fs::metadata(&target)?.permissions()))
        .and_then(|()| fs::rename(&staged, &target));
    if written.is_err() {
        fs::remove_file(&staged).ok();
    }
    written.map_err(failed)
}

/// Writes a file in one step, whether it is there or not.
pub fn put(path: &Path, text: &str) -> Result<(), Fault> {
    if exists(path)? {
        return replace(path, text);
    }
    let failed = |error| Fault::because(format!("cannot write `{}`", path.display()), error);
    let staged = staged_beside(path);
    let written = fs::write(&staged, text).and_then(|()| fs::rename(&staged, path));
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

/// Moves a file or folder to where nothing is yet, and makes the folders that lead there.
pub fn move_to(from: &Path, to: &Path) -> Result<(), Fault> {
    let what = || format!("cannot move `{}` to `{}`", from.display(), to.display());
    if exists(to)? {
        return Err(Fault::new(format!("{}: something is there", what())));
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(|error| Fault::because(what(), error))?;
    }
    fs::rename(from, to).map_err(|error| Fault::because(what(), error))
}

/// The first link at a path or below it.
pub fn link_in(path: &Path) -> Result<Option<PathBuf>, Fault> {
    for entry in walkdir::WalkDir::new(path).sort_by_file_name() {
        let entry =
            entry.map_err(|error| Fault::because(format!("cannot look at `{}`", path.display()), error))?;
        if entry.path_is_symlink() {
            return Ok(Some(entry.into_path()));
        }
    }
    Ok(None)
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

/// The longest file that a user names to be looked at: whole clusters are exported as one.
const EXPORT_LIMIT: u64 = 64 * 1024 * 1024;

/// A file that the user named on the command line; `-` is standard input.
pub fn named(path: &Path) -> Result<String, Fault> {
    let shown = path.display();
    let failed = |error| {
        Fault::because(format!("cannot read `{shown}`"), error)
            .hint("give a file that is there, or `-` for standard input")
    };
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        std::io::stdin().lock().take(EXPORT_LIMIT + 1).read_to_end(&mut bytes)
    } else {
        fs::File::open(path).and_then(|file| file.take(EXPORT_LIMIT + 1).read_to_end(&mut bytes))
    };
    if read.map_err(failed)? as u64 > EXPORT_LIMIT {
        return Err(Fault::new(format!("`{shown}` is longer than {EXPORT_LIMIT} bytes"))
            .hint("export fewer objects at a time"));
    }
    String::from_utf8(bytes).map_err(|error| {
        Fault::because(format!("`{shown}` is not UTF-8 text"), error).hint("save it as UTF-8")
    })
}

/// Where a folder, which may not be there yet, lies in the git repository around it: by the nearest `.git` above it, as
/// git itself looks for one. None outside of a repository.
pub fn folder_in_repository(path: &Path) -> Result<Option<String>, Fault> {
    let whole = without_links(path)?;
    let Some(top) = whole.ancestors().find(|folder| folder.join(".git").exists()) else { return Ok(None) };
    let inside = whole.strip_prefix(top).unwrap_or(Path::new(""));
    let parts: Option<Vec<_>> = inside.iter().map(|part| part.to_str()).collect();
    Ok(parts.map(|parts| parts.join("/")))
}

/// The root of the fleet that a folder, which need not be there yet, lies in. The search ends at the top of a repository, as
/// in [`super::Workspace::find`].
pub fn fleet_around(path: &Path) -> Result<Option<PathBuf>, Fault> {
    let whole = without_links(path)?;
    let mut around = whole.ancestors();
    while let Some(folder) = around.next().filter(|folder| !folder.join(".git").exists()) {
        if let Some(above) =
            folder.parent().filter(|above| above.join(super::FLEET).symlink_metadata().is_ok())
        {
            return Ok(Some(above.to_owned()));
        }
    }
    Ok(None)
}

/// A path as it is once all links on the way to it are resolved, whether or not anything is there.
fn without_links(path: &Path) -> Result<PathBuf, Fault> {
    let whole = std::path::absolute(path)
        .map_err(|error| Fault::because(format!("cannot find the folder `{}`", path.display()), error))?;
    let there = whole.ancestors().find(|folder| folder.is_dir()).unwrap_or(&whole);
    let rest = whole.strip_prefix(there).unwrap_or(Path::new(""));
    let there = there
        .canonicalize()
        .map_err(|error| Fault::because(format!("cannot open the folder `{}`", there.display()), error))?;
    Ok(there.join(rest))
}
