//! `generate --commit --all`: prepares the sources that a run has read for the commit and the index.
//!
//! The commit gets exactly the bytes that were read, even if the files have changed since. Git's conversions of line endings
//! are applied, as by `git add`. Sources that cannot be committed this way are refused: files that git ignores or was told
//! to skip, files that an external filter converts, and files in submodules that differ from their commit.

mod read;
mod refuse;

use std::{collections::BTreeMap, fs, path::Path};

use git2::{ErrorCode, IndexEntry, ObjectType, Oid};

use self::read::{Bytes, Read, changed};
use super::{
    Repository,
    objects::Objects,
    stat::looked_at,
    trees::{Entry, FILE, LINK, RUNNABLE, SUBMODULE},
};
use crate::{
    io::disk::{Workspace, read_plain},
    note::{Fault, Notes},
    tree::FileChange,
    world::{CHART_VALUES, Input, LOCK, companion_folder, is_input, release_of},
};

/// The paths of sources in a fleet.
const PLACES: [&str; 6] = ["stackloom.yaml", LOCK, "stacks", "clusters", "rollouts", CHART_VALUES];

/// The sources of a run, compared with a commit.
#[derive(Default)]
pub(super) struct Sources {
    /// The changes of the commit: new contents, or None for removed files.
    pub(super) changes: BTreeMap<String, Option<Entry>>,
    pub(super) fates: BTreeMap<String, FileChange>,
    /// Every file and link that was read, as the commit will have it.
    pub(super) meant: BTreeMap<String, Entry>,
    /// Index entries of the files that still are as they were read. The metadata is read before the content is compared, so
    /// that git notices any later change.
    pub(super) as_read: BTreeMap<String, IndexEntry>,
}

impl Sources {
    /// Compares the read files with a commit. Refusals go to `notes`, blobs to `objects`.
    pub(super) fn compare(
        workspace: &Workspace,
        repository: &Repository,
        commit: Option<Oid>,
        input: &Input,
        objects: &mut Objects,
        notes: &mut Notes,
    ) -> Result<Self, Fault> {
        let root = workspace.root();
        let read = Read::of(input, root)?;
        let head = listed(repository, commit, &read)?;
        let mut sources = Self::default();
        let modes = Modes::of(repository)?;
        for (path, bytes) in &read.files {
            let old = head.get(path).copied();
            let mode = modes.mode(&root.join(path), old);
            let raw = hash(bytes)?;
            let id = match old {
                Some(old) if old.id == raw => raw,
                old => {
                    let id = repository.blob(path, bytes, raw, objects)?;
                    if old.is_none_or(|old| old.id != id) {
                        repository.refuse_filter(path, notes)?;
                    }
                    id
                }
            };
            sources.mean(path, Entry { id, mode }, old);
            let looked = looked_at(path, root).ok();
            if let Some(looked) = looked
                && read_plain(&root.join(path)).ok().as_deref() == Some(&**bytes)
            {
                sources.as_read.insert(path.clone(), looked);
            }
        }
        for (path, target) in &read.links {
            let id = hash(target)?;
            objects.add(ObjectType::Blob, id, path, target.clone())?;
            sources.mean(path, Entry { id, mode: LINK }, head.get(path).copied());
        }
        sources.remove(root, &read, &head)?;
        repository.refuse_unseen(&mut sources, &read.files, &head, notes)?;
        repository.refuse_releases(commit, input, notes)?;
        refuse::nested(root, &read, &head, &sources, notes)?;
        Ok(sources)
    }

    fn mean(&mut self, path: &str, entry: Entry, old: Option<Entry>) {
        self.meant.insert(path.to_owned(), entry);
        if old != Some(entry) {
            self.changes.insert(path.to_owned(), Some(entry));
            let fate = if old.is_some() { FileChange::Changed } else { FileChange::Added };
            self.fates.insert(path.to_owned(), fate);
        }
    }

    /// Whether the index must drop a path: the commit removes it, or a killed run has already removed it.
    pub(super) fn is_gone(&self, path: &str, root: &Path) -> bool {
        match self.changes.get(path) {
            Some(change) => change.is_none(),
            None => {
                let is_source =
                    companion_folder(path).is_some() || is_input(path) && release_of(path).is_none();
                is_source && !self.meant.contains_key(path) && root.join(path).symlink_metadata().is_err()
            }
        }
    }

    /// Excludes a file from the commit.
    fn forget(&mut self, path: &str) {
        self.changes.remove(path);
        self.fates.remove(path);
        self.meant.remove(path);
    }

    /// Records the removal of files that the commit has and that no longer exist.
    fn remove(&mut self, root: &Path, read: &Read, head: &BTreeMap<String, Entry>) -> Result<(), Fault> {
        for (path, entry) in head {
            let known = read.name_of(path);
            let is_own = companion_folder(&known).is_some();
            if self.meant.contains_key(path) || entry.mode == SUBMODULE || !(is_own || is_input(&known)) {
                continue;
            }
            let is_behind_a_link =
                path.match_indices('/').any(|(at, _)| read.links.contains_key(&path[..at]));
            match fs::symlink_metadata(root.join(path)) {
                _ if is_behind_a_link => {}
                Ok(found) if found.is_dir() => {}
                // A link that no source was read through, such as one to an empty folder.
                Ok(found) if found.is_symlink() && (entry.mode == LINK || is_own) => continue,
                Ok(_) => return Err(changed(path)),
                Err(_) => {}
            }
            self.changes.insert(path.clone(), None);
            self.fates.insert(path.clone(), FileChange::Removed);
        }
        Ok(())
    }
}

impl Read {
    /// The path by which a file would be read: behind a link, it begins with the link's path.
    fn name_of(&self, path: &str) -> String {
        let behind = self.folders.iter().find_map(|(folder, alias)| {
            let rest = path.strip_prefix(folder.as_str())?.strip_prefix('/')?;
            Some(format!("{alias}/{rest}"))
        });
        behind.unwrap_or_else(|| path.to_owned())
    }
}

/// What a commit has at the paths of sources, including links and submodules.
fn listed(
    repository: &Repository,
    commit: Option<Oid>,
    read: &Read,
) -> Result<BTreeMap<String, Entry>, Fault> {
    let mut found = BTreeMap::new();
    let Some(commit) = commit else { return Ok(found) };
    let failed = |error| Fault::because(format!("cannot read the trees of the commit {commit}"), error);
    let tree = repository.inner.find_commit(commit).and_then(|commit| commit.tree()).map_err(failed)?;
    let places = PLACES.into_iter().chain(read.folders.keys().map(String::as_str));
    let files = read.files.keys().chain(read.links.keys()).map(String::as_str);
    let others = files.filter(|path| !PLACES.contains(&path.split('/').next().unwrap_or_default()));
    for place in places.chain(others) {
        // A submodule on the path hides everything below it.
        let ends = place.match_indices('/').map(|(at, _)| at).chain([place.len()]);
        for end in ends {
            let whole = format!("{}{}", repository.prefix, &place[..end]);
            match tree.get_path(Path::new(&whole)) {
                Ok(entry) if end < place.len() && entry.kind() == Some(ObjectType::Tree) => {}
                Ok(entry) => {
                    let entry = Entry { id: entry.id(), mode: entry.filemode_raw() };
                    list(&repository.inner, entry, &place[..end], &mut found).map_err(failed)?;
                    break;
                }
                Err(error) if error.code() == ErrorCode::NotFound => break,
                Err(error) => return Err(failed(error)),
            }
        }
    }
    Ok(found)
}

fn list(
    repository: &git2::Repository,
    entry: Entry,
    path: &str,
    found: &mut BTreeMap<String, Entry>,
) -> Result<(), git2::Error> {
    if !entry.is_folder() {
        found.insert(path.to_owned(), entry);
        return Ok(());
    }
    for entry in &repository.find_tree(entry.id)? {
        // A name that is not UTF-8 cannot be that of a source.
        let Ok(name) = std::str::from_utf8(entry.name_bytes()) else { continue };
        let entry = Entry { id: entry.id(), mode: entry.filemode_raw() };
        list(repository, entry, &format!("{path}/{name}"), found)?;
    }
    Ok(())
}

fn hash(bytes: &[u8]) -> Result<Oid, Fault> {
    Oid::hash_object(ObjectType::Blob, bytes).map_err(|error| Fault::because("cannot hash a file", error))
}

impl Repository {
    /// The blob that `git add` would create for a file with this content.
    fn blob(&self, path: &str, bytes: &Bytes, raw: Oid, objects: &mut Objects) -> Result<Oid, Fault> {
        // Git itself converts only line endings and `$Id$`.
        let may_convert = bytes.contains(&b'\r') || bytes.windows(4).any(|window| window == b"$Id:");
        if !may_convert {
            objects.add(ObjectType::Blob, raw, path, bytes.to_vec())?;
            return Ok(raw);
        }
        let failed = |error: &dyn std::fmt::Display| {
            Fault::new(format!("cannot store `{path}` in the repository: {error}"))
        };
        let whole = format!("{}{path}", self.prefix);
        let mut writer = self.inner.blob_writer(Some(Path::new(&whole))).map_err(|error| failed(&error))?;
        std::io::Write::write_all(&mut writer, bytes).map_err(|error| failed(&error))?;
        let id = writer.commit().map_err(|error| failed(&error))?;
        objects.sync(id)?;
        Ok(id)
    }
}

/// Which file modes the file system supports.
struct Modes {
    trusted: bool,
    links: bool,
}

impl Modes {
    fn of(repository: &Repository) -> Result<Self, Fault> {
        let failed = |error| Fault::because("cannot read git's configuration", error);
        let trusted = repository.trusts_modes().map_err(failed)?;
        let links = match repository.inner.config().and_then(|config| config.get_bool("core.symlinks")) {
            Err(error) if error.code() == ErrorCode::NotFound => true,
            found => found.map_err(failed)?,
        };
        Ok(Self { trusted, links })
    }

    /// The mode of a file: that of the file system, if git trusts it.
    fn mode(&self, file: &Path, old: Option<Entry>) -> i32 {
        let old = old.map(|old| old.mode);
        if old == Some(LINK) && !self.links {
            return LINK;
        }
        let known = if self.trusted { super::modes::is_runnable(file).ok().flatten() } else { None };
        match known {
            Some(true) => RUNNABLE,
            Some(false) => FILE,
            None => old.filter(|mode| *mode == RUNNABLE).unwrap_or(FILE),
        }
    }
}
