//! Finds the commits of a branch that changed the state of folders.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
    sync::Arc,
};

use chrono::{DateTime, Utc};
use git2::{Commit, ErrorCode, Oid};
use rayon::prelude::*;

use super::{Repository, Revision, base::WHOLE, handles::Handles};
use crate::{
    compare::{Archive as _, BlobId},
    note::Fault,
};

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
pub struct HistoryRange<'a> {
    /// Its newest commit.
    pub tip: &'a str,
    /// The commit where it begins; none if all commits belong to it.
    pub start: Option<&'a str>,
    /// How far back commits before the start matter.
    pub oldest: Option<DateTime<Utc>>,
}

/// So many commits in a row must be older than a time for it to have passed: the clocks of machines differ.
const SLOP: usize = 16;

/// What a commit means for a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Nothing.
    None,
    Step,
    /// Steps stop taking effect.
    Paused,
    /// Steps take effect again.
    Resumed,
    /// A part that was left behind follows.
    Released,
}

/// An event, and the commit that brought it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dated {
    pub event: Event,
    /// The commit.
    pub changed: Changed,
    /// Whether the commit is newer than the start of the stretch.
    pub is_since_start: bool,
}

/// Which side of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Its parent.
    Before,
    /// The commit itself.
    After,
}

/// What a commit changes in a folder.
pub struct CommitEdit<'a> {
    folder: &'a str,
    /// The IDs of the changed files before and after, by their path in the folder.
    files: Files,
    /// The commit.
    after: &'a Revision,
}

type Files = BTreeMap<String, [Option<BlobId>; 2]>;

/// Tells what an edit means.
pub type EditJudge<'a> = &'a (dyn Fn(&CommitEdit<'_>) -> Result<Event, Fault> + Sync);

impl CommitEdit<'_> {
    pub fn folder(&self) -> &str {
        self.folder
    }

    /// The paths of the changed files in the folder.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// The text of a file of the folder; none if it does not exist.
    pub fn file(&self, side: Side, path: &str) -> Result<Option<String>, Fault> {
        match self.files.get(path) {
            Some([before, after]) => {
                let id = if side == Side::Before { before } else { after };
                id.as_ref().map(|id| self.after.read(id)).transpose()
            }
            None => self.after.file(&format!("{}/{path}", self.folder)),
        }
    }
}

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

    /// The events of each folder, newest first, back to its last step. Folders without an event are left out. Steps older than
    /// `oldest` count only in folders that are `halted`, or that have a newer event. A shallow clone that ends before is an error.
    pub fn events_since_step(
        &self,
        HistoryRange { tip, start, oldest }: &HistoryRange<'_>,
        folders: &BTreeMap<String, String>,
        halted: &BTreeSet<String>,
        judge: EditJudge<'_>,
    ) -> Result<BTreeMap<String, Vec<Dated>>, Fault> {
        let failed = |error| Fault::because(format!("cannot read the history of {tip}"), error);
        let time =
            |commit: &Commit<'_>| DateTime::from_timestamp(commit.time().seconds(), 0).unwrap_or_default();
        let names: BTreeMap<&str, &String> = folders.iter().map(|(name, folder)| (&**folder, name)).collect();
        let mut open: BTreeSet<&str> = names.keys().copied().collect();
        let mut found: BTreeMap<String, Vec<Dated>> = BTreeMap::new();
        let handles = Arc::new(self.handles());
        let (mut is_since_start, mut old) = (true, 0);
        let mut next = Some(self.commit_at(tip).map_err(failed)?);
        while let Some(commit) = next {
            let id = commit.id().to_string();
            is_since_start &= *start != Some(&*id);
            let is_old = !is_since_start && oldest.is_some_and(|oldest| time(&commit) < oldest);
            old = if is_old { old + 1 } else { 0 };
            if old == SLOP {
                open.retain(|folder| halted.contains(names[folder]) || found.contains_key(names[folder]));
            }
            if open.is_empty() {
                break;
            }
            let parent = self.first_parent_of(&commit)?;
            let changed = Changed { commit: id, time: time(&commit) };
            for (folder, event) in self.events((parent.as_ref(), &commit), &open, &handles, judge)? {
                if event == Event::None {
                    continue;
                }
                let name = names[folder];
                let counts = !is_old || halted.contains(name) || found.contains_key(name);
                if counts {
                    let dated = Dated { event, changed: changed.clone(), is_since_start };
                    found.entry(name.clone()).or_default().push(dated);
                }
                if event == Event::Step || !counts {
                    open.remove(folder);
                }
            }
            next = parent;
        }
        Ok(found)
    }

    /// Visits each first-parent commit from `tip` back that changes one of some folders, until `visit` has seen enough of each
    /// folder. Ends early where the history of a shallow clone ends.
    pub fn visit_changes(
        &self,
        tip: &str,
        mut folders: BTreeSet<&str>,
        visit: &mut dyn FnMut(&CommitEdit<'_>) -> Result<ControlFlow<()>, Fault>,
    ) -> Result<(), Fault> {
        let failed = |error| Fault::because(format!("cannot read the history of {tip}"), error);
        let handles = Arc::new(self.handles());
        let mut next = Some(self.commit_at(tip).map_err(failed)?);
        while let Some(commit) = next.filter(|_| !folders.is_empty()) {
            let parent = match commit.parent(0) {
                Ok(parent) => Some(parent),
                Err(error) if error.code() == ErrorCode::NotFound && self.is_shallow() => return Ok(()),
                Err(error) if error.code() == ErrorCode::NotFound => None,
                Err(error) => return Err(failed(error)),
            };
            let edits = self.edits(parent.as_ref(), &commit, &folders).map_err(failed)?;
            let after = self.revision_of(tip, &commit, &handles);
            for (folder, files) in edits {
                if visit(&CommitEdit { folder, files, after: &after })?.is_break() {
                    folders.remove(folder);
                }
            }
            next = parent;
        }
        Ok(())
    }

    /// Those of some folders in which there is a step between two commits.
    pub fn steps_between<'f>(
        &self,
        (before, after): (&str, &str),
        folders: impl Iterator<Item = &'f str>,
        judge: EditJudge<'_>,
    ) -> Result<BTreeSet<&'f str>, Fault> {
        let failed = |error| Fault::because(format!("cannot compare {before} and {after}"), error);
        let commits = [before, after].map(|id| self.commit_at(id).map_err(failed));
        let [before, after] = commits;
        let folders = folders.collect();
        let events = self.events((Some(&before?), &after?), &folders, &Arc::new(self.handles()), judge)?;
        Ok(events.into_iter().filter(|(_, event)| *event == Event::Step).map(|(folder, _)| folder).collect())
    }

    /// What the way from one commit to another means for each folder that it changes.
    fn events<'f>(
        &self,
        (before, after): (Option<&Commit<'_>>, &Commit<'_>),
        folders: &BTreeSet<&'f str>,
        handles: &Arc<Handles>,
        judge: EditJudge<'_>,
    ) -> Result<Vec<(&'f str, Event)>, Fault> {
        let name = after.id().to_string();
        let failed = |error| Fault::because(format!("cannot read the history of {name}"), error);
        let edits = self.edits(before, after, folders).map_err(failed)?;
        let after = self.revision_of(&name, after, handles);
        let judged = edits
            .into_par_iter()
            .map(|(folder, files)| Ok((folder, judge(&CommitEdit { folder, files, after: &after })?)));
        judged.collect()
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

    /// The files of some folders that differ between two commits, by folder and by their path in it, with their IDs.
    fn edits<'f>(
        &self,
        before: Option<&Commit<'_>>,
        after: &Commit<'_>,
        folders: &BTreeSet<&'f str>,
    ) -> Result<BTreeMap<&'f str, Files>, git2::Error> {
        let before = before.map(Commit::tree).transpose()?;
        let changes = self.inner.diff_tree_to_tree(before.as_ref(), Some(&after.tree()?), None)?;
        let mut found: BTreeMap<&str, Files> = BTreeMap::new();
        for delta in changes.deltas() {
            let path = delta.new_file().path().and_then(std::path::Path::to_str);
            let Some(path) = path.and_then(|path| path.strip_prefix(&*self.prefix)) else { continue };
            let ids = [delta.old_file().id(), delta.new_file().id()].map(blob_id);
            for (at, _) in path.match_indices('/') {
                if let Some(folder) = folders.get(&path[..at]) {
                    found.entry(*folder).or_default().insert(path[at + 1..].to_owned(), ids);
                }
            }
        }
        Ok(found)
    }

    fn commit_at(&self, id: &str) -> Result<Commit<'_>, git2::Error> {
        self.inner.find_commit(Oid::from_str(id)?)
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
}

/// The ID of a file in a comparison; none if the file does not exist.
fn blob_id(id: Oid) -> Option<BlobId> {
    (!id.is_zero()).then(|| id.as_bytes().try_into().ok().map(BlobId)).flatten()
}
