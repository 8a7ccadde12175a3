//! The folders of releases in commits, and the names that are taken.

use std::collections::{BTreeMap, BTreeSet};

use git2::{ErrorCode, ObjectType, Oid, RepositoryState};

use super::{Repository, tag, trees::RELEASES};
use crate::{note::Fault, world::is_head_release};

impl Repository {
    /// Names that a new release cannot have: those of tags, and of folders that the branch has or had.
    pub fn taken_names(&self) -> Result<BTreeSet<String>, Fault> {
        let mut names = self.tag_names()?;
        names.extend(self.additions().0.into_keys());
        names.extend(self.committed_releases()?.into_keys());
        Ok(names)
    }

    pub fn tag_names(&self) -> Result<BTreeSet<String>, Fault> {
        Ok(tag::names(self)?.into_iter().collect())
    }

    /// The names of branches, including remote ones, and of tags.
    pub fn revisions(&self) -> Result<BTreeSet<String>, Fault> {
        let failed = |error| Fault::because("cannot list the branches", error);
        let branches = self.inner.branches(None).map_err(failed)?.filter_map(Result::ok);
        let names = branches.filter_map(|(branch, _)| branch.name().ok().flatten().map(str::to_owned));
        Ok(names.chain(self.tag_names()?).collect())
    }

    /// The names of the releases in HEAD.
    pub fn committed_names(&self) -> Result<BTreeSet<String>, Fault> {
        Ok(self.committed_releases()?.into_keys().collect())
    }

    /// The numbered releases of HEAD that are not in the work tree although they should be there. During a merge or the like,
    /// HEAD does not say what should be there.
    pub(in crate::io) fn deleted_releases(
        &self,
        is_there: impl Fn(&str) -> bool,
    ) -> Result<BTreeSet<String>, Fault> {
        if self.inner.state() != RepositoryState::Clean {
            return Ok(BTreeSet::new());
        }
        let mut lost = self.committed_releases()?;
        lost.retain(|name, tree| !is_head_release(name) && !is_there(name) && self.has_release_file(*tree));
        Ok(lost.into_keys().collect())
    }

    fn has_release_file(&self, tree: Oid) -> bool {
        self.inner.find_tree(tree).is_ok_and(|tree| tree.get_name("release.yaml").is_some())
    }

    /// The folders of releases in HEAD, with their trees.
    pub(super) fn committed_releases(&self) -> Result<BTreeMap<String, Oid>, Fault> {
        let Some(head) = self.tip()?.commit() else { return Ok(BTreeMap::new()) };
        let failed = |error| Fault::because("cannot read the releases of HEAD", error);
        let tree = self.inner.find_commit(head).and_then(|commit| commit.tree()).map_err(failed)?;
        let path = format!("{}{RELEASES}", self.prefix);
        let folder = match tree.get_path(path.as_ref()) {
            Ok(entry) => entry.id(),
            Err(error) if error.code() == ErrorCode::NotFound => return Ok(BTreeMap::new()),
            Err(error) => return Err(failed(error)),
        };
        let tree = self.inner.find_tree(folder).map_err(failed)?;
        let folders = tree.iter().filter(|entry| entry.kind() == Some(ObjectType::Tree));
        Ok(folders
            .map(|entry| (String::from_utf8_lossy(entry.name_bytes()).into_owned(), entry.id()))
            .collect())
    }

    /// The tree of a release's folder in a commit.
    pub(super) fn folder_of(&self, commit: Oid, name: &str) -> Result<Option<Oid>, Fault> {
        let failed =
            |error| Fault::because(format!("cannot look for `{name}` in the commit {commit}"), error);
        let tree = self.inner.find_commit(commit).and_then(|commit| commit.tree()).map_err(failed)?;
        match tree.get_path(format!("{}{RELEASES}/{name}", self.prefix).as_ref()) {
            Ok(entry) => Ok((entry.kind() == Some(ObjectType::Tree)).then(|| entry.id())),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }
}

/// All files of a tree, with their modes.
pub(super) fn files_in(
    repository: &git2::Repository,
    tree: &git2::Tree<'_>,
    prefix: &str,
) -> Result<BTreeMap<String, (Oid, i32)>, git2::Error> {
    let mut found = BTreeMap::new();
    for entry in tree {
        let path = format!("{prefix}{}", String::from_utf8_lossy(entry.name_bytes()));
        if entry.kind() == Some(ObjectType::Tree) {
            let inner = repository.find_tree(entry.id())?;
            found.extend(files_in(repository, &inner, &format!("{path}/"))?);
        } else {
            found.insert(path, (entry.id(), entry.filemode()));
        }
    }
    Ok(found)
}
