//! Completes or discards what a killed run has begun.

use std::{collections::BTreeSet, fs};

use git2::{BranchType, Oid};

use super::{ReleaseRun, attributes};
use crate::{
    io::{
        disk::{read_plain, remove_staged},
        git::{journal::Journal, tag},
    },
    note::Fault,
    world::LOCK,
};

impl ReleaseRun {
    /// Completes the run if a branch has its commit; otherwise discards it. If HEAD no longer has what the commit added, git
    /// or a person has changed the work tree and the index since: then only the tags are created.
    pub(super) fn recover(&mut self) -> Result<(), Fault> {
        if !Journal::is_left(&self.repository) {
            return Ok(());
        }
        let mut journal = Journal::read(&self.repository).unwrap_or_default();
        if let Some(commit) = journal.commit {
            self.release_branch_lock(commit, journal.branch.as_deref())?;
            if self.is_on_a_branch(commit)? {
                for (name, _) in &journal.tags {
                    tag::release_lock(&self.repository, name)?;
                }
                // A tag created since then is verified against the release like any other.
                let names: BTreeSet<String> = tag::names(&self.repository)?.into_iter().collect();
                journal.tags.retain(|(name, _)| !names.contains(name));
                match self.tip.commit() {
                    Some(head) if self.still_has(head, commit, &journal)? => self.follow(&journal)?,
                    _ => self.make_tags(&journal)?,
                }
            }
        }
        // Staged leftovers may make a later run refuse the tree before it stages anything, and `git add` would include them.
        remove_staged(self.workspace.root(), &[LOCK, attributes().as_str()])?;
        Journal::remove(&self.repository);
        Ok(())
    }

    /// Whether HEAD or a local branch contains a commit.
    fn is_on_a_branch(&self, commit: Oid) -> Result<bool, Fault> {
        let failed = |error| Fault::because("cannot list the branches", error);
        let mut tips: Vec<Oid> = self.tip.commit().into_iter().collect();
        for branch in self.repository.inner.branches(Some(BranchType::Local)).map_err(failed)? {
            tips.extend(branch.map_err(failed)?.0.get().target());
        }
        Ok(tips.into_iter().any(|tip| self.repository.descends(tip, commit)))
    }

    /// Whether HEAD still has what an earlier commit changed.
    fn still_has(&self, head: Oid, commit: Oid, journal: &Journal) -> Result<bool, Fault> {
        let mut same = self.repository.descends(head, commit);
        for name in journal.added.iter().chain(&journal.removed) {
            same =
                same && self.repository.folder_of(head, name)? == self.repository.folder_of(commit, name)?;
        }
        let tree = |id| self.repository.inner.find_commit(id).ok().map(|commit| commit.tree_id());
        for (is_written, path) in [(journal.lock, LOCK), (journal.attributes, attributes().as_str())] {
            same = same
                && (!is_written || self.blob_of(tree(head), path)? == self.blob_of(tree(commit), path)?);
        }
        Ok(same)
    }

    /// Removes the lock of the branch, or of a detached HEAD, that a killed run of this program left. Such a lock contains
    /// the journal's commit, or nothing yet.
    fn release_branch_lock(&self, commit: Oid, branch: Option<&str>) -> Result<(), Fault> {
        let inner = &self.repository.inner;
        let lock = match branch {
            Some(name) => inner.commondir().join(format!("{name}.lock")),
            None => inner.path().join("HEAD.lock"),
        };
        let is_ours =
            |text: Vec<u8>| text.is_empty() || text.trim_ascii_end() == commit.to_string().as_bytes();
        if read_plain(&lock).is_ok_and(is_ours) {
            fs::remove_file(&lock).map_err(|error| {
                Fault::because(format!("cannot remove {}, which a killed run left", lock.display()), error)
            })?;
        }
        Ok(())
    }
}
