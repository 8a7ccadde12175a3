//! Finds when the state of folders changed on a branch.

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

/// Reads a file below a folder; none if it does not exist.
pub type Read<'a> = &'a dyn Fn(&str) -> Option<String>;

impl Repository {
    /// Whether a revision is a commit of this repository that has another commit in its history.
    pub fn contains(&self, revision: &str, commit: &str) -> Result<bool, Fault> {
        let named = |name: &str| self.inner.revparse_single(name).and_then(|found| found.peel_to_commit());
        let (Ok(one), Ok(other)) = (named(revision), named(commit)) else { return Ok(false) };
        Ok(self.descends(one.id(), other.id()))
    }

    /// The commit that last changed the state of each folder, among the first-parent commits up to `tip`. `state` computes it
    /// from files below a folder. The search ends at the first commit whose `file` does not satisfy `is_begun`. Folders
    /// without a change are left out. A shallow clone that ends before is an error.
    pub fn changed_since<T: PartialEq>(
        &self,
        tip: &str,
        (file, is_begun): (&str, &dyn Fn(&str) -> bool),
        folders: &BTreeMap<String, String>,
        state: &dyn Fn(Read<'_>) -> T,
    ) -> Result<BTreeMap<String, Changed>, Fault> {
        let failed = |error| Fault::because(format!("cannot read the history of {tip}"), error);
        let mut found = BTreeMap::new();
        let mut next = Some(Oid::from_str(tip).and_then(|id| self.inner.find_commit(id)).map_err(failed)?);
        while let Some(commit) = next {
            if !self.text_in(&commit, file).map_err(failed)?.is_some_and(|text| is_begun(&text)) {
                break;
            }
            let parent = match commit.parent(0) {
                Ok(parent) => Some(parent),
                Err(error) if error.code() == ErrorCode::NotFound && self.is_shallow() => {
                    return Err(Fault::new(format!(
                        "this clone is shallow, and lacks the beginning of {file}"
                    ))
                    .hint(format!("fetch the history: `git fetch --unshallow`; {WHOLE}")));
                }
                Err(error) if error.code() == ErrorCode::NotFound => None,
                Err(error) => return Err(failed(error)),
            };
            for (name, folder) in folders {
                if found.contains_key(name) {
                    continue;
                }
                if self.differs(parent.as_ref(), &commit, folder, state).map_err(failed)? {
                    let time = DateTime::from_timestamp(commit.time().seconds(), 0).unwrap_or_default();
                    found.insert(name.clone(), Changed { commit: commit.id().to_string(), time });
                }
            }
            next = parent;
        }
        Ok(found)
    }

    /// Whether the state of a folder differs between two commits. Equal folders are not read.
    fn differs<T: PartialEq>(
        &self,
        before: Option<&Commit<'_>>,
        after: &Commit<'_>,
        folder: &str,
        state: &dyn Fn(Read<'_>) -> T,
    ) -> Result<bool, git2::Error> {
        let old = before.map(|before| self.entry_in(before, folder)).transpose()?.flatten();
        if old == self.entry_in(after, folder)? {
            return Ok(false);
        }
        let fault = Cell::new(None);
        let of = |commit: Option<&Commit<'_>>| {
            let read = |path: &str| {
                let text = commit.map(|commit| self.text_in(commit, &format!("{folder}/{path}"))).transpose();
                text.unwrap_or_else(|error| {
                    fault.set(Some(error));
                    None
                })
            };
            state(&|path| read(path).flatten())
        };
        let differs = of(before) != of(Some(after));
        fault.into_inner().map_or(Ok(differs), Err)
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
