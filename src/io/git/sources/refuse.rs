//! Refuses sources that cannot be committed.

use std::{collections::BTreeMap, path::Path};

use git2::{AttrCheckFlags, ErrorCode, Oid};

use super::{Bytes, Read, Sources};
use crate::{
    io::git::{
        Repository,
        trees::{Entry, FOLDER, LINK, RELEASES, SUBMODULE},
    },
    note::{Fault, Notes, Place},
    world::{Input, companion_folder, holds_object, is_input, look_again, numbered_releases},
};

impl Repository {
    /// Refuses a file that a git filter would convert: libgit2 runs no filters of the configuration.
    pub(super) fn refuse_filter(&self, path: &str, notes: &mut Notes) -> Result<(), Fault> {
        let failed = |error| Fault::because(format!("cannot read the attributes of `{path}`"), error);
        let whole = format!("{}{path}", self.prefix);
        let of = |name: &str| {
            let found = self.inner.get_attr(Path::new(&whole), name, AttrCheckFlags::default());
            found.map(|value| value.map(str::to_owned)).map_err(failed)
        };
        let config = self.inner.config().and_then(|mut config| config.snapshot()).map_err(failed)?;
        let runs = |filter: &str| {
            ["clean", "process"].iter().any(|key| config.get_str(&format!("filter.{filter}.{key}")).is_ok())
        };
        let filter = of("filter")?.filter(|filter| runs(filter));
        let encoding = of("working-tree-encoding")?;
        let what = match (filter, encoding) {
            (Some(filter), _) => format!("the filter `{filter}`"),
            (None, Some(encoding)) => format!("the encoding `{encoding}`"),
            (None, None) => return Ok(()),
        };
        notes
            .error(
                "filtered-source",
                Place::file(path),
                format!("`.gitattributes` makes git convert this file with {what}, which stackloom does not support"),
            )
            .hint("commit the sources with git, then run `stackloom generate --commit`");
        Ok(())
    }

    /// Refuses changed sources that git ignores or was told to skip. An ignored file beside a cluster that contains no
    /// objects is left out of the commit instead.
    pub(super) fn refuse_unseen(
        &self,
        sources: &mut Sources,
        contents: &BTreeMap<String, Bytes>,
        head: &BTreeMap<String, Entry>,
        notes: &mut Notes,
    ) -> Result<(), Fault> {
        let index = self.inner.index().map_err(|error| Fault::because("cannot read the index", error))?;
        let overlooked = self.overlooked(&super::PLACES.map(str::to_owned))?;
        let changed: Vec<String> = sources.changes.keys().cloned().collect();
        for path in changed {
            let whole = format!("{}{path}", self.prefix);
            if overlooked.contains(&path) {
                notes
                    .error(
                        "unseen-source",
                        Place::file(&path),
                        "this source differs from HEAD, but git is set to ignore its changes",
                    )
                    .hint(look_again(&path));
            }
            let is_known = head.contains_key(&path) || index.get_path(Path::new(&whole), 0).is_some();
            let is_ignored = !is_known
                && self.inner.is_path_ignored(&whole).map_err(|error| {
                    Fault::because(format!("cannot tell whether git ignores `{path}`"), error)
                })?;
            if !is_ignored {
                continue;
            }
            let applied = contents.get(&path).is_none_or(|bytes| holds_object(&path, bytes));
            if companion_folder(&path).is_some() && !applied {
                sources.forget(&path);
                continue;
            }
            notes
                .error(
                    "ignored-source",
                    Place::file(&path),
                    "git ignores this file, but `generated/` is made from it",
                )
                .hint(format!(
                    "add it with `git add --force {path}`, move it out of the fleet, or change `.gitignore`"
                ));
        }
        Ok(())
    }

    /// Refuses numbered releases that the commit does not have: clusters may be made from them.
    pub(super) fn refuse_releases(
        &self,
        commit: Option<Oid>,
        input: &Input,
        notes: &mut Notes,
    ) -> Result<(), Fault> {
        for name in numbered_releases(&input.sources) {
            let is_committed = match commit {
                Some(commit) => self.folder_of(commit, &name)?.is_some(),
                None => false,
            };
            if !is_committed {
                notes
                    .error(
                        "uncommitted-release",
                        Place::file(format!("{RELEASES}/{name}")),
                        format!("HEAD does not have the release `{name}`"),
                    )
                    .hint("`stackloom release` and `stackloom pull` commit the releases that they make; otherwise, commit this folder with git");
            }
        }
        Ok(())
    }
}

/// Refuses sources in a nested repository, unless it is a submodule and matches the commit that HEAD records for it.
pub(super) fn nested(
    root: &Path,
    read: &Read,
    head: &BTreeMap<String, Entry>,
    sources: &Sources,
    notes: &mut Notes,
) -> Result<(), Fault> {
    let submodules = || head.iter().filter(|(_, entry)| entry.mode == SUBMODULE);
    for (folder, files) in &read.nested {
        let known = submodules().find(|(path, _)| *path == folder).map(|(_, entry)| entry.id);
        let Some(commit) = known else {
            notes
                .error(
                    "nested-repository",
                    Place::file(folder),
                    "this folder is a git repository of its own, but not a submodule in HEAD",
                )
                .hint("add it with `git submodule add` and commit that, or remove its `.git`");
            continue;
        };
        let is_same = is_as_committed(&root.join(folder), commit, folder, files)
            .map_err(|error| Fault::because(format!("cannot read the submodule `{folder}`"), error))?;
        if !is_same {
            notes
                .error("changed-submodule", Place::file(folder), "the sources in this submodule differ from the commit that HEAD has for it")
                .hint(format!("commit in the submodule, then here with `git add {folder}` and `git commit`; `stackloom generate --commit` does the rest"));
        }
    }
    for (folder, _) in submodules() {
        let within = format!("{folder}/");
        if !read.nested.contains_key(folder) && sources.changes.keys().any(|path| path.starts_with(&within)) {
            notes
                .error("changed-submodule", Place::file(folder), "HEAD has a submodule here, but this folder is not one")
                .hint(format!("restore it with `git submodule update --init {folder}`, or remove it with `git rm --cached {folder}` and a commit"));
        }
    }
    Ok(())
}

/// Whether a commit of a submodule has exactly these sources.
fn is_as_committed(
    folder: &Path,
    commit: Oid,
    name: &str,
    files: &BTreeMap<String, Bytes>,
) -> Result<bool, git2::Error> {
    let inner = git2::Repository::open(folder)?;
    let tree = match inner.find_commit(commit) {
        Ok(commit) => commit.tree()?,
        Err(error) if error.code() == ErrorCode::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let mut committed = BTreeMap::new();
    let top = Entry { id: tree.id(), mode: FOLDER };
    super::list(&inner, top, name, &mut committed)?;
    let prefix = format!("{name}/");
    committed.retain(|path, entry| entry.is_file() && (is_input(path) || companion_folder(path).is_some()));
    for (path, bytes) in files {
        let is_same = match committed.remove(&format!("{prefix}{path}")) {
            None => false,
            Some(entry) => {
                inner.find_blob(entry.id)?.content() == &**bytes
                    || hash_with(&inner, path, bytes)? == entry.id
            }
        };
        if !is_same {
            return Ok(false);
        }
    }
    // A link is not read as a file, but its target is.
    Ok(committed.values().all(|entry| entry.mode == LINK))
}

/// The blob ID of a content after git's conversion of line endings.
fn hash_with(repository: &git2::Repository, path: &str, bytes: &[u8]) -> Result<Oid, git2::Error> {
    let mut writer = repository.blob_writer(Some(Path::new(path)))?;
    std::io::Write::write_all(&mut writer, bytes)
        .map_err(|error| git2::Error::from_str(&error.to_string()))?;
    writer.commit()
}
