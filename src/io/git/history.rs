//! Finds when folders changed on a branch.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use git2::{Commit, ErrorCode, Oid};

use super::Repository;
use crate::note::Fault;

/// A commit that changed something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The ID of the commit.
    pub commit: String,
    /// The time of the commit.
    pub time: DateTime<Utc>,
}

impl Repository {
    /// Whether a revision is a commit of this repository that has another commit in its history.
    pub fn contains(&self, revision: &str, commit: &str) -> Result<bool, Fault> {
        let named = |name: &str| self.inner.revparse_single(name).and_then(|found| found.peel_to_commit());
        let (Ok(one), Ok(other)) = (named(revision), named(commit)) else { return Ok(false) };
        Ok(self.descends(one.id(), other.id()))
    }

    /// The commit that last changed each folder, among the first-parent commits up to `tip`. The search ends at the first
    /// commit whose `file` does not satisfy `is_begun`. Folders without a change are left out.
    pub fn changed_since(
        &self,
        tip: &str,
        file: &str,
        is_begun: &dyn Fn(&str) -> bool,
        folders: &BTreeMap<String, String>,
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
                Err(error) if error.code() == ErrorCode::NotFound => None,
                Err(error) => return Err(failed(error)),
            };
            for (name, folder) in folders {
                if found.contains_key(name) {
                    continue;
                }
                let before = parent
                    .as_ref()
                    .map(|parent| self.entry_in(parent, folder))
                    .transpose()
                    .map_err(failed)?;
                if before.flatten() != self.entry_in(&commit, folder).map_err(failed)? {
                    let time = DateTime::from_timestamp(commit.time().seconds(), 0).unwrap_or_default();
                    found.insert(name.clone(), Changed { commit: commit.id().to_string(), time });
                }
            }
            next = parent;
        }
        Ok(found)
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
