//! Files that the user requested with a command: initial definitions, schemas. Nothing is overwritten without a request.

use std::{
    collections::BTreeMap,
    fs,
    io::Read as _,
    path::{Path, PathBuf},
};

use crate::note::Fault;

/// Whether anything exists at a path, including a dangling link.
pub fn exists(path: &Path) -> Result<bool, Fault> {
    match path.symlink_metadata() {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Fault::because(format!("cannot access `{}`", path.display()), error)),
    }
}

/// Whether a path is a regular file, or nothing yet. A pipe or a device takes what is written to it at once.
pub fn is_plain_or_missing(path: &Path) -> bool {
    path.metadata().map_or(true, |found| found.is_file())
}

/// Writes a file and creates its parent folders. An existing file is replaced.
pub fn write(path: &Path, text: &str) -> Result<(), Fault> {
    write_bytes(path, text.as_bytes())
}

/// Writes bytes to a file and creates its parent folders. An existing file is replaced.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), Fault> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| {
            Fault::because(format!("cannot create the folder `{}`", folder.display()), error)
        })?;
    }
    fs::write(path, bytes)
        .map_err(|error| Fault::because(format!("cannot write `{}`", path.display()), error))
}

/// The content of a file; None if it does not exist.
pub fn read_file(path: &Path) -> Result<Option<Vec<u8>>, Fault> {
    match super::open::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Fault::because(format!("cannot read `{}`", path.display()), error)),
    }
}

/// The path of a file's staged content: beside the file, so that a rename is enough.
pub(super) fn staged_beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.stackloom-staged"))
}

/// Replaces a file atomically, so that no reader sees half of it. A link stays a link, and the permissions are kept.
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

/// Writes a file atomically, whether or not it exists.
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

/// Moves a file or folder to a path that does not exist yet, and creates its parent folders.
pub(super) fn move_to(from: &Path, to: &Path) -> Result<(), Fault> {
    let what = || format!("cannot move `{}` to `{}`", from.display(), to.display());
    if exists(to)? {
        return Err(Fault::new(format!("{}: the target already exists", what())));
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(|error| Fault::because(what(), error))?;
    }
    fs::rename(from, to).map_err(|error| Fault::because(what(), error))
}

/// The first symbolic link at a path or below it.
pub fn link_in(path: &Path) -> Result<Option<PathBuf>, Fault> {
    for entry in walkdir::WalkDir::new(path).sort_by_file_name() {
        let entry =
            entry.map_err(|error| Fault::because(format!("cannot access `{}`", path.display()), error))?;
        if entry.path_is_symlink() {
            return Ok(Some(entry.into_path()));
        }
    }
    Ok(None)
}

/// Writes files below a folder, by their relative paths.
pub fn write_all(root: &Path, files: &BTreeMap<String, String>) -> Result<(), Fault> {
    files.iter().try_for_each(|(path, text)| write(&root.join(path), text))
}

/// The name of a folder, which need not exist.
pub fn folder_name(path: &Path) -> Result<String, Fault> {
    let whole = std::path::absolute(path)
        .map_err(|error| Fault::because(format!("cannot find the folder `{}`", path.display()), error))?;
    let last = whole.components().next_back().map(|last| last.as_os_str().to_string_lossy().into_owned());
    Ok(last.unwrap_or_default())
}

/// The largest file that a user may name, in bytes. An export of a whole cluster is one file.
const EXPORT_LIMIT: u64 = 64 * 1024 * 1024;

/// Reads a file named on the command line; `-` is standard input.
pub fn named(path: &Path) -> Result<String, Fault> {
    let shown = path.display();
    let failed = |error| {
        Fault::because(format!("cannot read `{shown}`"), error)
            .hint("name a file that exists, or `-` for standard input")
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

/// The path of a folder, which need not exist, in the git repository around it. The repository is found by the nearest
/// `.git` above, as git itself does it. None outside a repository.
pub fn folder_in_repository(path: &Path) -> Result<Option<String>, Fault> {
    let whole = without_links(path)?;
    let Some(top) = whole.ancestors().find(|folder| folder.join(".git").exists()) else { return Ok(None) };
    let inside = whole.strip_prefix(top).unwrap_or(Path::new(""));
    let parts: Option<Vec<_>> = inside.iter().map(|part| part.to_str()).collect();
    Ok(parts.map(|parts| parts.join("/")))
}

/// The root of the fleet around a folder, which need not exist. The search ends at the top of a repository, as in
/// [`super::Workspace::find`].
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

/// Resolves all links in the existing part of a path. The path itself need not exist.
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
