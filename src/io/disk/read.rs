//! Reads the sources: which files exist, and their text. A fault in one of them does not hide the others.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Read as _,
    path::{Path, PathBuf},
};

use rayon::prelude::*;
use walkdir::{DirEntry, WalkDir};

use super::{
    notes::{LIMIT, note_absolute, note_large, note_link_beside, note_loop, note_special, note_unreadable},
    open::open,
    reason, shape,
};
use crate::{
    note::{Fault, Notes, Place},
    world::{
        CHART_VALUES, Input, LOCK, companion_folder, holds_object, is_head_release, is_input, is_yaml,
        release_of,
    },
    yaml::Sources,
};

/// The fleet's file at the root.
const FLEET: &str = "stackloom.yaml";

/// The folder of numbered releases.
const RELEASES: &str = "generated/releases";

/// Reads everything that the flow may see.
pub(in crate::io) fn read(root: &Path, notes: &mut Notes) -> Result<Input, Fault> {
    let entries = fs::read_dir(root)
        .map_err(|error| Fault::because(format!("cannot read the folder `{}`", root.display()), error))?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.collect();
    names.sort();
    shape::note_capitals_at_root(&names, notes);
    let (companions, beside) = (BTreeSet::new(), BTreeMap::new());
    let mut damaged = BTreeMap::new();
    let mut found = FilesToRead { root, files: Vec::new(), companions, beside, notes };
    found.at_root(FLEET);
    found.at_root(LOCK);
    found.folder("stacks");
    found.folder("clusters");
    found.folder("rollouts");
    found.folder(CHART_VALUES);
    found.releases(&mut damaged);
    let FilesToRead { files, companions, beside, .. } = found;

    let texts: Vec<(String, Result<String, Notes>)> =
        files.into_par_iter().map(|(path, file)| (path.clone(), text(&path, &file))).collect();
    let mut sources = BTreeMap::new();
    for (path, text) in texts {
        match text {
            Ok(text) => {
                sources.insert(path, text);
            }
            Err(wrong) => match release_of(&path) {
                Some(release) => damaged.entry(release.to_owned()).or_insert_with(Notes::new).append(wrong),
                None => notes.append(wrong),
            },
        }
    }
    let folder = super::folder_in_repository(root)?;
    let (sources, beside) = (Sources::new(sources), Sources::new(beside));
    Ok(Input { sources, companions, beside, folder, damaged, ..Input::default() })
}

struct FilesToRead<'a> {
    root: &'a Path,
    /// Paths from the root, and the locations of the files.
    files: Vec<(String, PathBuf)>,
    companions: BTreeSet<String>,
    beside: BTreeMap<String, String>,
    notes: &'a mut Notes,
}

impl FilesToRead<'_> {
    fn at_root(&mut self, name: &str) {
        let file = self.root.join(name);
        match fs::symlink_metadata(&file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => self.unreadable(name, &reason(&error)),
            Ok(found) if found.is_symlink() && self.leads_out(name, &file) => {}
            Ok(_) if file.is_dir() => {
                self.notes
                    .error("special-file", Place::file(name), format!("`{name}` is a folder"))
                    .hint("move it away: it must be a file");
            }
            Ok(_) => self.file(name.to_owned(), &file),
        }
    }

    /// Collects everything below a folder of sources.
    fn folder(&mut self, name: &str) {
        let top = self.root.join(name);
        if fs::symlink_metadata(&top).is_err() || self.leads_out(name, &top) {
            return;
        }
        if top.exists() && !top.is_file() && !top.is_dir() {
            note_special(self.notes, name);
            return;
        }
        if top.is_file() {
            self.notes
                .error(
                    "special-file",
                    Place::file(name),
                    format!("`{name}` is a file, and a folder belongs here"),
                )
                .hint("move it away: generated files of everything missing from the folder would be removed");
            return;
        }
        self.walk(&top, true);
    }

    /// Collects the numbered releases. No link is followed below `generated/`: a release is what its folder contains. Faults
    /// of a release are reported separately, because they affect the clusters that use it.
    fn releases(&mut self, damaged: &mut BTreeMap<String, Notes>) {
        let mut folder = self.root.to_path_buf();
        for part in RELEASES.split('/') {
            folder.push(part);
            match fs::symlink_metadata(&folder) {
                Ok(found) if found.is_dir() => {}
                Ok(found) if found.is_symlink() => {
                    let path = self.path_of(&folder);
                    super::scan::note_link(self.notes, &path);
                    return;
                }
                Ok(_) => {
                    let path = self.path_of(&folder);
                    super::scan::note_foreign(self.notes, &path, &format!("`{path}` is a file"));
                    return;
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
                Err(error) => {
                    let path = self.path_of(&folder);
                    self.unreadable(&path, &reason(&error));
                    return;
                }
            }
        }
        let entries = WalkDir::new(&folder).min_depth(1).max_depth(1).sort_by_file_name();
        for entry in entries.into_iter().filter_map(Result::ok) {
            let name = entry.file_name().to_string_lossy().into_owned();
            if !entry.file_type().is_dir() || is_head_release(&name) {
                continue;
            }
            let mut own = Notes::new();
            let (companions, beside) = (BTreeSet::new(), BTreeMap::new());
            let mut found =
                FilesToRead { root: self.root, files: Vec::new(), companions, beside, notes: &mut own };
            found.walk(entry.path(), false);
            self.files.append(&mut found.files);
            if !own.is_empty() {
                damaged.insert(name, own);
            }
        }
    }

    fn walk(&mut self, top: &Path, follow: bool) {
        let mut entries = WalkDir::new(top).follow_links(follow).sort_by_file_name().into_iter();
        while let Some(entry) = entries.next() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    self.broken(&error);
                    continue;
                }
            };
            if !self.take(&entry) && entry.file_type().is_dir() {
                entries.skip_current_dir();
            }
        }
    }

    /// Adds an entry. Returns false for a folder that must not be entered.
    fn take(&mut self, entry: &DirEntry) -> bool {
        let path = self.path_of(entry.path());
        let hidden = entry.depth() > 0 && entry.file_name().as_encoded_bytes().starts_with(b".");
        if hidden && !path.starts_with("generated/") {
            return false;
        }
        if entry.path_is_symlink() {
            if path.starts_with("generated/") {
                super::scan::note_link(self.notes, &path);
                return false;
            }
            if self.leads_out(&path, entry.path()) {
                return false;
            }
        }
        if entry.file_type().is_dir() {
            if !path.starts_with("generated/") && is_yaml(&path.to_lowercase()) {
                self.notes
                    .error("special-file", Place::file(&path), "this is a folder with the name of a file")
                    .hint("rename it: its name is that of a definition");
                return false;
            }
            return !self.is_companion(&path, entry.path());
        }
        let is_wrong = !path.starts_with("generated/")
            && (shape::is_in_the_place_of_a_folder(&path, self.notes)
                || shape::has_capital_ending(&path, self.notes)
                || shape::is_json_definition(&path, self.notes));
        if !is_wrong && is_input(&path) {
            self.file(path, entry.path());
        }
        true
    }

    /// Whether a folder holds the user's own objects; adds them if so. They are applied as they are, and need not be UTF-8.
    fn is_companion(&mut self, path: &str, folder: &Path) -> bool {
        if companion_folder(&format!("{path}/")).is_none() {
            return false;
        }
        let root = self.root.canonicalize().unwrap_or_else(|_| self.root.to_path_buf());
        if folder.canonicalize().is_ok_and(|real| real != root.join(path)) {
            note_link_beside(self.notes, path);
        }
        for entry in WalkDir::new(folder).min_depth(1).sort_by_file_name() {
            match entry {
                Ok(entry) if entry.file_type().is_dir() => {}
                Ok(entry) => self.own_file(path, &entry),
                Err(error) => {
                    self.companions.insert(path.to_owned());
                    self.broken(&error);
                }
            }
        }
        true
    }

    /// Adds a file of the user's own.
    fn own_file(&mut self, folder: &str, entry: &DirEntry) {
        let path = self.path_of(entry.path());
        if entry.path_is_symlink() {
            if !self.leads_out(&path, entry.path()) {
                note_link_beside(self.notes, &path);
            }
            return;
        }
        match fs::metadata(entry.path()) {
            Ok(found) if found.is_dir() => return,
            Ok(found) if !found.is_file() => {
                self.companions.insert(folder.to_owned());
                note_special(self.notes, &path);
                return;
            }
            Ok(found) if found.len() > LIMIT => {
                self.companions.insert(folder.to_owned());
                note_large(self.notes, &path, found.len());
                return;
            }
            _ => {}
        }
        if shape::has_capital_ending(&path, self.notes) {
            self.companions.insert(folder.to_owned());
            return;
        }
        match start_of(entry.path()) {
            Ok(bytes) => {
                if holds_object(&path, &bytes) {
                    self.companions.insert(folder.to_owned());
                }
                self.beside.insert(path, own_text(&bytes));
            }
            Err(error) => {
                self.companions.insert(folder.to_owned());
                self.unreadable(&path, &reason(&error));
            }
        }
    }

    /// Adds a file, if it is a plain one.
    fn file(&mut self, path: String, file: &Path) {
        if path.chars().any(|c| c.is_control() || c == char::REPLACEMENT_CHARACTER || c == '\\') {
            self.notes
                .error(
                    "bad-file-name",
                    Place::file(path.escape_debug().to_string()),
                    "the name of this file is not plain text",
                )
                .hint("rename it: names are UTF-8 without control characters and backslashes");
            return;
        }
        match fs::metadata(file) {
            Err(error) => self.unreadable(&path, &reason(&error)),
            Ok(found) if !found.is_file() => note_special(self.notes, &path),
            Ok(found) if found.len() > LIMIT => note_large(self.notes, &path, found.len()),
            Ok(_) => self.files.push((path, file.to_path_buf())),
        }
    }

    /// Reports a link that leads to a place where no sources may be. Returns whether it does.
    fn leads_out(&mut self, path: &str, link: &Path) -> bool {
        let target = match link.canonicalize() {
            Ok(target) => target,
            Err(error) => {
                self.unreadable(path, &reason(&error));
                return true;
            }
        };
        if link
            .parent()
            .and_then(|folder| folder.canonicalize().ok())
            .is_some_and(|at| at.starts_with(&target))
        {
            note_loop(self.notes, path);
            return true;
        }
        let Ok(inside) = target.strip_prefix(self.root) else {
            self.notes
                .error("link-outside", Place::file(path), "this link leads out of the fleet's folder")
                .hint("copy the file here: the tree must be the same on every machine");
            return true;
        };
        if fs::read_link(link).is_ok_and(|target| target.is_absolute()) {
            note_absolute(self.notes, path);
            return true;
        }
        let output = inside.starts_with("generated") || inside.starts_with(".git");
        if output {
            self.notes
                .error(
                    "link-outside",
                    Place::file(path),
                    format!("this link leads into `{}`", inside.display()),
                )
                .hint("copy the file here: files that stackloom or git writes cannot be sources");
        }
        output
    }

    fn broken(&mut self, error: &walkdir::Error) {
        let path = error.path().map(|path| self.path_of(path)).unwrap_or_default();
        if error.loop_ancestor().is_some() {
            note_loop(self.notes, &path);
            return;
        }
        // A broken link that would be neither a source nor a folder of sources (an editor's lock, say) is ignored.
        let link = error.path().is_some_and(Path::is_symlink);
        if link && !is_input(&path) && !shape::is_reserved(&path) {
            return;
        }
        let reason = error.io_error().map_or_else(|| error.to_string(), reason);
        self.unreadable(&path, &if link { format!("the link leads nowhere: {reason}") } else { reason });
    }

    fn unreadable(&mut self, path: &str, reason: &str) {
        note_unreadable(self.notes, path, reason);
    }

    fn path_of(&self, path: &Path) -> String {
        let inside = path.strip_prefix(self.root).unwrap_or(path);
        let parts: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
        parts.join("/")
    }
}

/// The text of a file of the user's own, up to the size limit of sources. A byte order mark is removed: Kubernetes ignores
/// it.
pub(in crate::io) fn own_text(bytes: &[u8]) -> String {
    let limit = usize::try_from(LIMIT).unwrap_or(usize::MAX).min(bytes.len());
    String::from_utf8_lossy(&bytes[..limit]).trim_start_matches('\u{feff}').to_owned()
}

/// The bytes of a file of the user's own, up to the size limit of sources.
fn start_of(file: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(file)?.take(LIMIT).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The text of a file, or what is wrong with the file.
fn text(path: &str, file: &Path) -> Result<String, Notes> {
    let mut notes = Notes::new();
    let mut bytes = Vec::new();
    let read = open(file).and_then(|file| file.take(LIMIT + 1).read_to_end(&mut bytes));
    match read {
        Err(error) => note_unreadable(&mut notes, path, &reason(&error)),
        Ok(length) if length as u64 > LIMIT => {
            let length = fs::metadata(file).map_or(length as u64, |found| found.len());
            note_large(&mut notes, path, length);
        }
        Ok(_) => match String::from_utf8(bytes) {
            Ok(text) => return Ok(text),
            Err(error) => note_not_utf8(&mut notes, path, error.as_bytes(), error.utf8_error().valid_up_to()),
        },
    }
    Err(notes)
}

fn note_not_utf8(notes: &mut Notes, path: &str, bytes: &[u8], at: usize) {
    let start = bytes[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let end = bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |length| at + length);
    let place = Place {
        file: path.to_owned(),
        line: bytes[..at].split(|byte| *byte == b'\n').count(),
        column: String::from_utf8_lossy(&bytes[start..at]).chars().count() + 1,
        length: 1,
        source: String::from_utf8_lossy(&bytes[start..end])
            .chars()
            .filter(|c| !c.is_control())
            .take(120)
            .collect(),
    };
    notes
        .error("not-utf8", place, "this file is not UTF-8 text")
        .hint("save it as UTF-8; a binary file does not belong here");
}

#[cfg(all(test, unix))]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    /// A file may become something else after the folder was listed. It is neither waited for nor followed.
    #[test]
    fn what_changes_its_type_between_listing_and_reading_is_an_error_of_that_file() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let names = ["folder", "gone", "good", "large", "loop", "pipe"];
        fs::create_dir_all(root.join("clusters")).unwrap();
        for name in names {
            fs::write(root.join(format!("clusters/{name}.yaml")), "a: b\n").unwrap();
        }
        let mut notes = Notes::new();
        let (companions, beside) = (BTreeSet::new(), BTreeMap::new());
        let mut found = FilesToRead { root: &root, files: Vec::new(), companions, beside, notes: &mut notes };
        found.folder("clusters");
        let files = found.files;
        assert_eq!((files.len(), notes.errors()), (names.len(), 0));
        for (path, file) in &files {
            fs::remove_file(file).unwrap();
            match path.as_str() {
                "clusters/folder.yaml" => fs::create_dir(file).unwrap(),
                "clusters/gone.yaml" => {}
                "clusters/large.yaml" => fs::write(file, "#".repeat(5 << 20)).unwrap(),
                "clusters/loop.yaml" => std::os::unix::fs::symlink("loop.yaml", file).unwrap(),
                "clusters/pipe.yaml" => {
                    assert!(std::process::Command::new("mkfifo").arg(file).status().unwrap().success());
                }
                _ => fs::write(file, "c: d\n").unwrap(),
            }
        }
        let mut read = String::new();
        for (path, file) in &files {
            match text(path, file) {
                Ok(text) => write!(read, "{path}: {text}").unwrap(),
                Err(notes) => notes.iter().for_each(|note| {
                    let place = note.place.as_ref().unwrap();
                    writeln!(read, "{place}[{}]: {}", note.code, note.message).unwrap();
                }),
            }
        }
        assert_eq!(
            read,
            "clusters/folder.yaml[unreadable]: cannot read this: this is a folder\n\
             clusters/gone.yaml[unreadable]: cannot read this: there is no such file\n\
             clusters/good.yaml: c: d\n\
             clusters/large.yaml[too-large]: this file has 5242880 bytes, the limit is 4194304\n\
             clusters/loop.yaml[unreadable]: cannot read this: Too many levels of symbolic links (os error 40)\n\
             clusters/pipe.yaml[unreadable]: cannot read this: this is not a regular file or folder\n"
        );
    }
}
