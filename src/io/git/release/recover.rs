//! What a killed run has left undone.

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
    /// Finishes what a killed run has begun, if a branch has its commit; else forgets it. Where HEAD no longer has what the
    /// commit brought, git or a person has moved the work tree and the index since: only the tags are left to make.
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
                // One that was made since is compared with the release like any other.
                let names: BTreeSet<String> = tag::names(&self.repository)?.into_iter().collect();
                journal.tags.retain(|(name, _)| !names.contains(name));
                match self.tip.commit() {
                    Some(head) if self.still_has(head, commit, &journal)? => self.follow(&journal)?,
                    _ => self.make_tags(&journal)?,
                }
            }
        }
        // Whoever looks at the tree next may be refused before anything is staged, and `git add` would take it.
        remove_staged(self.workspace.root(), &[LOCK, attributes().as_str()])?;
        Journal::remove(&self.repository);
        Ok(())
    }

    /// Whether HEAD or a branch has a commit.
    fn is_on_a_branch(&self, commit: Oid) -> Result<bool, Fault> {
        let failed = |error| Fault::because("cannot list the branches", error);
        let mut tips: Vec<Oid> = self.tip.commit().into_iter().collect();
        for branch in self.repository.inner.branches(Some(BranchType::Local)).map_err(failed)? {
            tips.extend(branch.map_err(failed)?.0.get().target());
        }
        Ok(tips.into_iter().any(|tip| self.repository.descends(tip, commit)))
    }

    /// Whether HEAD has what a commit before it brought.
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

    /// Takes away the lock of the branch, or of a HEAD without one, that a killed run of this program left: it holds the
    /// very commit of the journal, or nothing yet.
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
