//! Finds the commits of a branch that changed the state of folders.

use std::{cell::Cell, collections::BTreeMap};

use chrono::{DateTime, Utc};
use git2::{Commit, ErrorCode, Oid};

use super::{Repository, base::WHOLE};
use crate::note::Fault;

/// A commit that changed something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The ID of the commit.
    pub commit: String,
    /// The time of the commit.
    pub time: DateTime<Utc>,
}

/// A part of the first-parent history.
#[derive(Clone, Copy, Debug)]
pub struct Stretch<'a> {
    /// Its newest commit.
    pub tip: &'a str,
    /// The commit before its oldest one; none if it goes back to the first commit.
    pub start: Option<&'a str>,
    /// It ends before the first commit that is older than this.
    pub oldest: Option<DateTime<Utc>>,
}

/// Reads a file below a folder; none if it does not exist.
pub type Read<'a> = &'a dyn Fn(&str) -> Option<String>;

impl Repository {
    /// Whether a revision is a commit of this repository that has another commit in its history.
    pub fn contains(&self, revision: &str, commit: &str) -> Result<bool, Fault> {
        let named = |name: &str| self.inner.revparse_single(name).and_then(|found| found.peel_to_commit());
        let (Ok(one), Ok(other)) = (named(revision), named(commit)) else { return Ok(false) };
        Ok(self.descends(one.id(), other.id()))
    }

    /// The newest first-parent commit up to `tip` without a file directly in `folder` that satisfies `is_meant`, which gets the
    /// path and the text of a file; none if all commits have one. A shallow clone that ends before is an error.
    pub fn before(
        &self,
        tip: &str,
        folder: &str,
        is_meant: &dyn Fn(&str, &str) -> bool,
    ) -> Result<Option<String>, Fault> {
        let failed = |error| Fault::because(format!("cannot read the history of {tip}"), error);
        let mut commit = self.commit_at(tip).map_err(failed)?;
        let mut known = BTreeMap::new();
        loop {
            let id = self.entry_in(&commit, folder).map_err(failed)?;
            let has_it = match known.get(&id) {
                Some(has_it) => *has_it,
                None => {
                    let has_it = self.has_file(&commit, folder, is_meant).map_err(failed)?;
                    known.insert(id, has_it);
                    has_it
                }
            };
            if !has_it {
                return Ok(Some(commit.id().to_string()));
            }
            match self.first_parent_of(&commit)? {
                Some(parent) => commit = parent,
                None => return Ok(None),
            }
        }
    }

    fn has_file(
        &self,
        commit: &Commit<'_>,
        folder: &str,
        is_meant: &dyn Fn(&str, &str) -> bool,
    ) -> Result<bool, git2::Error> {
        let Some(id) = self.entry_in(commit, folder)? else { return Ok(false) };
        for entry in &self.inner.find_tree(id)? {
            let (Ok(name), Ok(blob)) = (entry.name(), self.inner.find_blob(entry.id())) else { continue };
            if is_meant(&format!("{folder}/{name}"), &String::from_utf8_lossy(blob.content())) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The commit of a stretch that last made a step in each folder. `is_step` compares the files below a folder before and
    /// after a commit. Folders without a step are left out. A shallow clone that ends before is an error.
    pub fn changed_since(
        &self,
        Stretch { tip, start, oldest }: &Stretch<'_>,
        folders: &BTreeMap<String, String>,
        is_step: &dyn Fn(Read<'_>, Read<'_>) -> bool,
    ) -> Result<BTreeMap<String, Changed>, Fault> {
        let failed = |error| Fault::because(format!("cannot read the history of {tip}"), error);
        let time =
            |commit: &Commit<'_>| DateTime::from_timestamp(commit.time().seconds(), 0).unwrap_or_default();
        let names: BTreeMap<&str, &String> = folders.iter().map(|(name, folder)| (&**folder, name)).collect();
        let mut found = BTreeMap::new();
        let mut next = Some(self.commit_at(tip).map_err(failed)?);
        while let Some(commit) = next.filter(|commit| *start != Some(&*commit.id().to_string())) {
            if oldest.is_some_and(|oldest| time(&commit) < oldest) || found.len() == folders.len() {
                break;
            }
            let parent = self.first_parent_of(&commit)?;
            let touched = self.touched(parent.as_ref(), &commit, &names).map_err(failed)?;
            for (name, folder) in touched {
                if !found.contains_key(name)
                    && self.differs(parent.as_ref(), &commit, folder, is_step).map_err(failed)?
                {
                    let changed = Changed { commit: commit.id().to_string(), time: time(&commit) };
                    found.insert(name.clone(), changed);
                }
            }
            next = parent;
        }
        Ok(found)
    }

    /// The first parent of a commit; none if it is the first commit. A commit that a shallow clone lacks is an error.
    fn first_parent_of<'r>(&'r self, commit: &Commit<'r>) -> Result<Option<Commit<'r>>, Fault> {
        match commit.parent(0) {
            Ok(parent) => Ok(Some(parent)),
            Err(error) if error.code() == ErrorCode::NotFound && self.is_shallow() => {
                Err(Fault::new("this clone is shallow, and lacks the beginning of a rollout")
                    .hint(format!("fetch the history: `git fetch --unshallow`; {WHOLE}")))
            }
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(Fault::because(format!("cannot read the history of {}", commit.id()), error)),
        }
    }

    /// Those of some folders with files that a commit changes, by name. `names` are the names of all, by folder.
    fn touched<'n>(
        &self,
        before: Option<&Commit<'_>>,
        after: &Commit<'_>,
        names: &BTreeMap<&'n str, &'n String>,
    ) -> Result<BTreeMap<&'n String, &'n str>, git2::Error> {
        let before = before.map(Commit::tree).transpose()?;
        let changes = self.inner.diff_tree_to_tree(before.as_ref(), Some(&after.tree()?), None)?;
        let mut found = BTreeMap::new();
        for delta in changes.deltas() {
            for file in [delta.old_file(), delta.new_file()] {
                let path = file.path().and_then(std::path::Path::to_str);
                let Some(path) = path.and_then(|path| path.strip_prefix(&*self.prefix)) else { continue };
                let above = path.match_indices('/').map(|(at, _)| &path[..at]);
                for (folder, name) in above.filter_map(|folder| names.get_key_value(folder)) {
                    found.insert(*name, *folder);
                }
            }
        }
        Ok(found)
    }

    /// Whether there is a step in a folder between two commits.
    pub fn has_step(
        &self,
        (before, after): (&str, &str),
        folder: &str,
        is_step: &dyn Fn(Read<'_>, Read<'_>) -> bool,
    ) -> Result<bool, Fault> {
        let done = || self.differs(Some(&self.commit_at(before)?), &self.commit_at(after)?, folder, is_step);
        done().map_err(|error| Fault::because(format!("cannot compare {folder} in two commits"), error))
    }

    fn commit_at(&self, id: &str) -> Result<Commit<'_>, git2::Error> {
        self.inner.find_commit(Oid::from_str(id)?)
    }

    /// Whether a commit makes a step in a folder. Equal folders are not read.
    fn differs(
        &self,
        before: Option<&Commit<'_>>,
        after: &Commit<'_>,
        folder: &str,
        is_step: &dyn Fn(Read<'_>, Read<'_>) -> bool,
    ) -> Result<bool, git2::Error> {
        let old = before.map(|before| self.entry_in(before, folder)).transpose()?.flatten();
        if old == self.entry_in(after, folder)? {
            return Ok(false);
        }
        let fault = Cell::new(None);
        let read = |commit: Option<&Commit<'_>>, path: &str| {
            let text = commit.map(|commit| self.text_in(commit, &format!("{folder}/{path}"))).transpose();
            let text = text.unwrap_or_else(|error| {
                fault.set(Some(error));
                None
            });
            text.flatten()
        };
        let is_step = is_step(&|path| read(before, path), &|path| read(Some(after), path));
        fault.into_inner().map_or(Ok(is_step), Err)
    }

    /// The first-parent commits from `tip` back, at most so many.
    pub fn first_parents(&self, tip: &str, most: usize) -> Result<Vec<String>, Fault> {
        let failed = |error| Fault::because(format!("cannot read the history of {tip}"), error);
        let mut walk = self.inner.revwalk().map_err(failed)?;
        walk.simplify_first_parent().map_err(failed)?;
        walk.push(Oid::from_str(tip).map_err(failed)?).map_err(failed)?;
        walk.take(most).map(|id| id.map(|id| id.to_string()).map_err(failed)).collect()
    }

    fn entry_in(&self, commit: &Commit<'_>, path: &str) -> Result<Option<Oid>, git2::Error> {
        let whole = format!("{}{path}", self.prefix);
        match commit.tree()?.get_path(whole.as_ref()) {
            Ok(entry) => Ok(Some(entry.id())),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn text_in(&self, commit: &Commit<'_>, path: &str) -> Result<Option<String>, git2::Error> {
        let Some(id) = self.entry_in(commit, path)? else { return Ok(None) };
        Ok(Some(String::from_utf8_lossy(self.inner.find_blob(id)?.content()).into_owned()))
    }
}
