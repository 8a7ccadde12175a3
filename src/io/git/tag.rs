//! Annotated tags of releases.

use std::{collections::BTreeMap, fs, io::ErrorKind, path::PathBuf};

use git2::{ErrorCode, ObjectType, Oid};

use super::{
    Repository,
    sign::{Signed, sign},
    trees::RELEASES,
};
use crate::{note::Fault, world::is_head_release};

/// What a tag says of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tagged {
    /// There is no such tag.
    Missing,
    /// It names something that has no such folder.
    Elsewhere,
    /// It names a commit that has the folder, which is this tree.
    Tree(Oid),
}

/// Writes the object of a tag; nothing names it yet.
pub(super) fn object(repository: &Repository, name: &str, commit: Oid, message: &str) -> Result<Oid, Fault> {
    let failed = |error| Fault::because(format!("cannot write the tag `{name}`"), error);
    let inner = &repository.inner;
    let (author, committer) = repository.identity()?;
    let tree = inner.find_commit(commit).and_then(|commit| commit.tree()).map_err(failed)?;
    // libgit2 writes a person and a time as git does, in commits alone.
    let buffer = inner.commit_create_buffer(&author, &committer, "", &tree, &[]).map_err(failed)?;
    let header = String::from_utf8_lossy(&buffer);
    let tagger = header.lines().find_map(|line| line.strip_prefix("committer ")).unwrap_or_default();
    let message = message.trim_end();
    let mut text = format!("object {commit}\ntype commit\ntag {name}\ntagger {tagger}\n\n{message}\n");
    if let Some(signature) = sign(repository, Signed::Tag, &committer, &text)? {
        text.push_str(signature.trim_end());
        text.push('\n');
    }
    let id = inner.odb().and_then(|odb| odb.write(ObjectType::Tag, text.as_bytes())).map_err(failed)?;
    super::objects::Objects::new(repository).sync(id)?;
    Ok(id)
}

/// Has a tag name an object; one that is there already stays, and is a fault if it names another.
pub(super) fn create(repository: &Repository, name: &str, id: Oid) -> Result<(), Fault> {
    let reference = format!("refs/tags/{name}");
    // That there is none is looked at under the lock: one that comes meanwhile stays.
    match repository.inner.reference_matching(&reference, id, false, Oid::ZERO_SHA1, "") {
        Ok(_) => Ok(()),
        Err(error) if matches!(error.code(), ErrorCode::Exists | ErrorCode::Modified) => {
            let found = repository.inner.find_reference(&reference).ok().and_then(|found| found.target());
            if found == Some(id) {
                return Ok(());
            }
            Err(Fault::new(format!("there is a tag `{name}` already, and it names something else"))
                .hint(format!("look at it: `git show {name}`; `stackloom check` says what to do about it")))
        }
        Err(error) if error.code() == ErrorCode::Locked => Err(Fault::because(
            format!("cannot make the tag `{name}`"),
            error,
        )
        .hint(format!(
            "another git command is at it, or one that was killed left its lock: if none runs, delete `{}`",
            lock_of(repository, name).display()
        ))),
        Err(error) => Err(Fault::because(format!("cannot make the tag `{name}`"), error)),
    }
}

fn lock_of(repository: &Repository, name: &str) -> PathBuf {
    repository.inner.commondir().join(format!("refs/tags/{name}.lock"))
}

/// Takes away the lock of a tag that a killed run of this program left; nobody else makes tags of this name while the
/// lock of the index is held.
pub(super) fn release_lock(repository: &Repository, name: &str) -> Result<(), Fault> {
    match fs::remove_file(lock_of(repository, name)) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(Fault::because(format!("cannot remove the lock that was left of the tag `{name}`"), error))
        }
        _ => Ok(()),
    }
}

/// What the tag of a release says of its folder.
pub(super) fn tagged(repository: &Repository, name: &str) -> Result<Tagged, Fault> {
    let failed = |error| Fault::because(format!("cannot read the tag `{name}`"), error);
    let reference = match repository.inner.find_reference(&format!("refs/tags/{name}")) {
        Ok(reference) => reference,
        Err(error) if error.code() == ErrorCode::NotFound => return Ok(Tagged::Missing),
        Err(error) => return Err(failed(error)),
    };
    let tree = match reference.peel_to_tree() {
        Ok(tree) => tree,
        Err(error) if matches!(error.code(), ErrorCode::Peel | ErrorCode::InvalidSpec) => {
            return Ok(Tagged::Elsewhere);
        }
        Err(error) => {
            return Err(failed(error).hint(
                "in a partial clone its trees may be missing: `git fetch --refetch --filter=blob:none`",
            ));
        }
    };
    let path = format!("{}{RELEASES}/{name}", repository.prefix);
    match tree.get_path(path.as_ref()) {
        Ok(entry) if entry.kind() == Some(ObjectType::Tree) => Ok(Tagged::Tree(entry.id())),
        Ok(_) => Ok(Tagged::Elsewhere),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(Tagged::Elsewhere),
        Err(error) => Err(failed(error)),
    }
}

/// The commit that the tag of a release names.
pub(super) fn commit_of(repository: &Repository, name: &str) -> Option<Oid> {
    let found = repository.inner.find_reference(&format!("refs/tags/{name}")).ok()?;
    found.peel_to_commit().ok().map(|commit| commit.id())
}

/// The names of all tags.
pub(super) fn names(repository: &Repository) -> Result<Vec<String>, Fault> {
    let failed = |error| Fault::because("cannot list the tags", error);
    let mut names = Vec::new();
    for reference in repository.inner.references_glob("refs/tags/*").map_err(failed)? {
        let reference = reference.map_err(failed)?;
        names.extend(
            reference.name().ok().and_then(|name| name.strip_prefix("refs/tags/")).map(str::to_owned),
        );
    }
    Ok(names)
}

/// What became of the tags of the releases that HEAD has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tagging {
    /// The tags that were made, or would be.
    pub made: Vec<String>,
    /// Releases whose tag names another content.
    pub elsewhere: Vec<String>,
    /// Releases without a tag that the work tree does not have, or not whole.
    pub absent: Vec<String>,
}

impl Repository {
    /// The `metadata.yaml` of every release that a tag of its name has, by name.
    pub fn tagged_metadata(&self) -> Result<BTreeMap<String, String>, Fault> {
        let mut found = BTreeMap::new();
        for name in names(self)?.into_iter().filter(|name| !name.contains('/')) {
            // One that cannot be read is ignored here: verification reports it if a release of the tree needs it.
            let Ok(Tagged::Tree(tree)) = tagged(self, &name) else { continue };
            let text = || {
                let entry = self.inner.find_tree(tree).ok()?.get_name("metadata.yaml")?.id();
                Some(String::from_utf8_lossy(self.inner.find_blob(entry).ok()?.content()).into_owned())
            };
            // In a partial clone it may be missing; then the tag's name is all that is known.
            found.extend(text().map(|text| (name, text)));
        }
        Ok(found)
    }

    /// Makes the tags that releases of HEAD lack, each on the oldest commit of the branch that has the release as it
    /// is; a dry run makes none.
    pub fn tag_releases(&self, messages: &BTreeMap<String, String>, dry_run: bool) -> Result<Tagging, Fault> {
        if !dry_run {
            self.identity()?;
        }
        if self.inner.is_shallow() {
            return Err(Fault::new("this clone is shallow: tags and commits that others have are not here")
                .hint("`git fetch --unshallow --tags`, and run this again"));
        }
        let mut tagging = Tagging::default();
        let committed = self.committed_releases()?;
        for (name, tree) in committed.into_iter().filter(|(name, _)| !is_head_release(name)) {
            // What cannot be read was reported where the release was verified.
            let Ok(tagged) = tagged(self, &name) else { continue };
            match tagged {
                Tagged::Tree(found) if found == tree => {}
                Tagged::Tree(_) | Tagged::Elsewhere => tagging.elsewhere.push(name),
                Tagged::Missing => {
                    let Some(message) = messages.get(&name) else {
                        tagging.absent.push(name);
                        continue;
                    };
                    if !dry_run {
                        let commit = self.oldest_with(&name, tree)?;
                        let id = object(self, &name, commit, message)?;
                        create(self, &name, id)?;
                    }
                    tagging.made.push(name);
                }
            }
        }
        Ok(tagging)
    }

    /// The oldest commit on the branch's own line that has a folder as this tree.
    fn oldest_with(&self, name: &str, tree: Oid) -> Result<Oid, Fault> {
        let missing = || Fault::new("there is no commit yet");
        let failed = |error| Fault::because("cannot read a commit", error);
        let mut found = self.tip()?.commit().ok_or_else(missing)?;
        let mut at = self.inner.find_commit(found).map_err(failed)?;
        while at.parent_count() > 0 {
            at = at.parent(0).map_err(failed)?;
            if self.folder_of(at.id(), name)? == Some(tree) {
                found = at.id();
            }
        }
        Ok(found)
    }
}
