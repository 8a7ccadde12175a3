//! Checks whether a step may start: its starting point must be committed, and on the branch that the engine reads.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    cli::printer::counted,
    compare::{Archive as _, BlobId},
    generate::{Failure, Understood},
    io::git::Repository,
    model::ClusterId,
    note::{Notes, Place},
    render,
    upgrade::Edits,
    world::Input,
};

/// A step, and the repository that it starts from.
pub(in crate::cli) struct Preconditions<'a> {
    pub(in crate::cli) repository: &'a Repository,
    pub(in crate::cli) input: &'a Input,
    pub(in crate::cli) edits: &'a Edits,
    /// Whether the step will be committed.
    pub(in crate::cli) is_commit: bool,
}

impl Preconditions<'_> {
    /// Refuses uncommitted changes: the step before must be committed, and a commit may contain nothing but its step.
    pub(in crate::cli) fn refuse_uncommitted(&self, notes: &mut Notes) -> Result<(), Failure> {
        let before = notes.errors();
        let edited: BTreeSet<&str> = self.edits.files.iter().map(|one| &*one.file).collect();
        let is_edited = |path: &str| edited.contains(path);
        let Some(head) = self.repository.head()? else {
            if self.edits.files.is_empty() {
                return Ok(());
            }
            notes
                .error(
                    "uncommitted",
                    None,
                    "the repository has no commit yet, but a step must be a commit of its own",
                )
                .hint("commit the fleet first with `stackloom generate --commit --all`");
            return Err(Failure::Input);
        };
        let head = self.repository.revision(&head)?;
        for source in self.input.sources.iter() {
            let is_meant =
                is_edited(&source.path) || self.is_commit && !source.path.starts_with("generated/");
            if !is_meant
                || head.id(&source.path)? == Some(BlobId::of(source.text.as_bytes()))
                || self.repository.is_unchanged(&source.path)
            {
                continue;
            }
            let note = notes.error(
                "uncommitted",
                Place::file(&*source.path),
                "this file differs from the last commit, but a step must be a commit of its own",
            );
            if is_edited(&source.path) {
                note.hint("if it is the step before: commit and push it, and wait until it is rolled out");
                note.hint("run `stackloom generate --commit --all` to commit it, or `git restore` to discard the change");
            } else {
                note.hint("commit it first with `stackloom generate --commit --all`, or discard the change");
            }
        }
        if notes.errors() > before { Err(Failure::Input) } else { Ok(()) }
    }

    /// Refuses a step before the previous one is on the branch that the engine reads: the engine would apply both at once.
    pub(in crate::cli) fn refuse_unpushed(
        &self,
        fleet: &Understood,
        notes: &mut Notes,
    ) -> Result<(), Failure> {
        if self.edits.files.is_empty() || !self.repository.has_remotes()? {
            return Ok(());
        }
        let all = &fleet.model.clusters;
        let taken: BTreeSet<&ClusterId> = self.edits.files.iter().flat_map(|one| &one.clusters).collect();
        let chosen = all.iter().filter(|cluster| taken.contains(&cluster.id()));
        let branches: BTreeSet<String> =
            chosen.filter_map(|cluster| cluster.management.branch().map(str::to_owned)).collect();
        let base = match self.repository.base(&branches) {
            Ok(base) => base,
            Err(fault) => {
                notes
                    .warning(
                        "step-before",
                        None,
                        format!("cannot tell whether earlier steps have been pushed: {fault}"),
                    )
                    .hint("make sure that each of these clusters has rolled out its last commit");
                return Ok(());
            }
        };
        let (pushed, here) = (self.repository.revision(&base.commit)?, self.repository.revision("HEAD")?);
        let mut waiting: BTreeMap<&str, Vec<&ClusterId>> = BTreeMap::new();
        for file in &self.edits.files {
            for cluster in &file.clusters {
                let folder = render::folder_of_cluster(cluster);
                if pushed.folder(folder.as_str())? != here.folder(folder.as_str())? {
                    waiting.entry(&file.file).or_default().push(cluster);
                }
            }
        }
        for (file, clusters) in &waiting {
            let who = match clusters.as_slice() {
                [one] => one.to_string(),
                several => counted(several.len(), "cluster"),
            };
            notes
                .error(
                    "unpushed",
                    Place::file(*file),
                    format!(
                        "committed changes of {who} are not on the branch that the engine reads ({}): with another \
                         step, the engine would apply both at once",
                        base.why
                    ),
                )
                .hint("push it, get it merged, and wait until it is rolled out; then run this command again")
                .hint("if it is merged already: `git fetch`, and rebase this branch");
        }
        if waiting.is_empty() { Ok(()) } else { Err(Failure::Input) }
    }
}
