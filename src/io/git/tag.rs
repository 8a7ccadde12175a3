//! Annotated tags of releases.

use std::{collections::BTreeMap, fs, io::ErrorKind, path::PathBuf};

use git2::{ErrorCode, ObjectType, Oid};

use super::{
    Repository,
    sign::{Signed, sign},
    trees::RELEASES,
};
use crate::{note::Fault, world::is_head_release};

/// The content of a release's tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tagged {
    /// The tag does not exist.
    Missing,
    /// The tag points to something without the release's folder.
    Elsewhere,
    /// The tag points to a commit whose folder of the release is this tree.
    Tree(Oid),
}

/// Writes a tag object; no reference points to it yet.
pub(super) fn object(repository: &Repository, name: &str, commit: Oid, message: &str) -> Result<Oid, Fault> {
    let failed = |error| Fault::because(format!("cannot write the tag `{name}`"), error);
    let inner = &repository.inner;
    let (author, committer) = repository.identity()?;
    let tree = inner.find_commit(commit).and_then(|commit| commit.tree()).map_err(failed)?;
    // libgit2 formats a person and a time as git does, but only for commits.
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

/// Creates a tag for an object. An existing tag stays; it is a fault if it points to another object.
pub(super) fn create(repository: &Repository, name: &str, id: Oid) -> Result<(), Fault> {
    let reference = format!("refs/tags/{name}");
    // Its absence is checked under the lock: a tag created in the meantime stays.
    match repository.inner.reference_matching(&reference, id, false, Oid::ZERO_SHA1, "") {
        Ok(_) => Ok(()),
        Err(error) if matches!(error.code(), ErrorCode::Exists | ErrorCode::Modified) => {
            let found = repository.inner.find_reference(&reference).ok().and_then(|found| found.target());
            if found == Some(id) {
                return Ok(());
            }
            Err(Fault::new(format!("the tag `{name}` already exists, and points to something else")).hint(
                format!("run `git show {name}` to see it, and `stackloom check` for what to do about it"),
            ))
        }
        Err(error) if error.code() == ErrorCode::Locked => Err(Fault::because(
            format!("cannot create the tag `{name}`"),
            error,
        )
        .hint(format!(
            "another git command is running, or a killed one left its lock: if none is running, delete `{}`",
            lock_of(repository, name).display()
        ))),
        Err(error) => Err(Fault::because(format!("cannot create the tag `{name}`"), error)),
    }
}

fn lock_of(repository: &Repository, name: &str) -> PathBuf {
    repository.inner.commondir().join(format!("refs/tags/{name}.lock"))
}

/// Removes the lock of a tag that a killed run of this program left. While the index is locked, no other process creates
/// tags of this name.
pub(super) fn release_lock(repository: &Repository, name: &str) -> Result<(), Fault> {
    match fs::remove_file(lock_of(repository, name)) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(Fault::because(format!("cannot remove the leftover lock of the tag `{name}`"), error))
        }
        _ => Ok(()),
    }
}

/// Reads the tag of a release.
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
                "in a partial clone, get missing trees with `git fetch --refetch --filter=blob:none`",
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

/// The commit that the tag of a release points to.
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

/// The result of tagging the releases in HEAD.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tagging {
    /// The tags that were created, or would be in a dry run.
    pub made: Vec<String>,
    /// Releases whose tag has a different content.
    pub elsewhere: Vec<String>,
    /// Releases without a tag that are missing or incomplete in the work tree.
    pub absent: Vec<String>,
}

impl Repository {
    /// The `metadata.yaml` of each release in the tag of its name.
    pub fn tagged_metadata(&self) -> Result<BTreeMap<String, String>, Fault> {
        let mut found = BTreeMap::new();
        for name in names(self)?.into_iter().filter(|name| !name.contains('/')) {
            // An unreadable tag is ignored here: verification reports it if a release of the tree needs it.
            let Ok(Tagged::Tree(tree)) = tagged(self, &name) else { continue };
            let text = || {
                let entry = self.inner.find_tree(tree).ok()?.get_name("metadata.yaml")?.id();
                Some(String::from_utf8_lossy(self.inner.find_blob(entry).ok()?.content()).into_owned())
            };
            // In a partial clone the file may be missing; then only the tag's name is known.
            found.extend(text().map(|text| (name, text)));
        }
        Ok(found)
    }

    /// Creates the missing tags of releases in HEAD. Each tag points to the oldest commit of the branch that has the release
    /// as HEAD has it. A dry run creates none.
    pub fn tag_releases(&self, messages: &BTreeMap<String, String>, dry_run: bool) -> Result<Tagging, Fault> {
        if !dry_run {
            self.identity()?;
        }
        if self.is_shallow() {
            return Err(Fault::new("this clone is shallow, and may lack tags and commits")
                .hint("run `git fetch --unshallow --tags`, then run this again"));
        }
        let mut tagging = Tagging::default();
        let committed = self.committed_releases()?;
        for (name, tree) in committed.into_iter().filter(|(name, _)| !is_head_release(name)) {
            // An unreadable tag was reported when the release was verified.
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

    /// The oldest commit along the first parents of HEAD in which the release's folder is this tree.
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
