//! The git repository around a fleet. Local work uses libgit2; the `git` process is used only for access to other
//! repositories, as in [`fetch_release`].
//!
//! Hooks are not run: they check sources, and run when someone commits those.

mod added;
mod base;
mod branch;
mod commit;
mod fetch;
mod folders;
mod handles;
mod history;
mod identity;
mod index;
mod journal;
mod lock;
mod modes;
mod objects;
mod release;
mod request;
mod released;
mod revision;
mod sign;
mod since;
mod sources;
mod stat;
mod step_record;
mod tag;
mod trees;
mod uncommitted;
mod usage;
mod work_tree;

use std::{
    env,
    path::{Path, PathBuf},
};

use git2::{Config, ConfigLevel, ErrorCode, Oid, RepositoryOpenFlags, RepositoryState, Signature};

use super::disk::Workspace;
use crate::{note::Fault, tree::is_ours};

pub use base::Base;
pub use commit::CommitSink;
pub use fetch::{Fetched, fetch_release, list_tags};
pub use history::{Changed, CommitEdit, Dated, EditJudge, Event, HistoryRange, Side};
pub use release::{NewRelease, ReleaseRun, Released};
pub use released::TaggedCommit;
pub use request::{PushEnd, Remote};
pub use revision::Revision;
pub use since::Since;
pub use step_record::{InterruptedStep, RecordedEdit, StepRecord};
pub use tag::Tagging;
pub use uncommitted::Uncommitted;
pub use usage::Unused;
pub use work_tree::WorkTree;

/// The repository whose work tree contains the fleet.
pub struct Repository {
    inner: git2::Repository,
    work_tree: PathBuf,
    /// The fleet's path in the work tree: empty, or with a `/` at its end.
    prefix: String,
}

/// What HEAD points to.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Tip {
    /// A branch, with its newest commit if it has one.
    Branch(String, Option<Oid>),
    /// A commit without a branch.
    Detached(Oid),
}

impl Tip {
    fn commit(&self) -> Option<Oid> {
        match self {
            Self::Branch(_, commit) => *commit,
            Self::Detached(commit) => Some(*commit),
        }
    }
}

impl std::fmt::Debug for Repository {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Repository").field("work_tree", &self.work_tree).finish_non_exhaustive()
    }
}

impl Repository {
    /// Opens the repository that contains the fleet; fails if there is none.
    pub fn discover(workspace: &Workspace) -> Result<Self, Fault> {
        Self::find(workspace)?.ok_or_else(|| {
            Fault::new(format!("`{}` is not in a git repository", workspace.root().display()))
                .hint("create one with `git init`, or run `stackloom init`")
        })
    }

    /// Opens the repository that contains the fleet, if there is one.
    pub fn find(workspace: &Workspace) -> Result<Option<Self>, Fault> {
        let none: [&str; 0] = [];
        match git2::Repository::open_ext(workspace.root(), RepositoryOpenFlags::empty(), none) {
            Ok(inner) => Self::around(inner, workspace).map(Some),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(cannot_open(workspace.root(), error)),
        }
    }

    /// Creates a repository in the fleet's folder. Its branch is the one that git's configuration names, or `main`.
    pub fn init(workspace: &Workspace) -> Result<Self, Fault> {
        let failed = |error| Fault::because("cannot create a git repository", error);
        let mut config = Config::open_default().map_err(failed)?;
        heed_environment(&mut config).map_err(failed)?;
        let branch = config.get_string("init.defaultBranch").unwrap_or_else(|_| "main".to_owned());
        let mut options = git2::RepositoryInitOptions::new();
        options.initial_head(&branch).no_reinit(true);
        let inner = git2::Repository::init_opts(workspace.root(), &options).map_err(failed)?;
        Self::around(inner, workspace)
    }

    /// The top of the work tree.
    pub fn work_tree(&self) -> &Path {
        &self.work_tree
    }

    /// The content of a fleet's file in HEAD; None if there is no such file, or no commit.
    pub fn committed(&self, path: &str) -> Result<Option<Vec<u8>>, Fault> {
        let Some(commit) = self.tip()?.commit() else { return Ok(None) };
        let whole = format!("{}{path}", self.prefix);
        let read = || {
            let entry = self.inner.find_commit(commit)?.tree()?.get_path(Path::new(&whole))?;
            Ok::<_, git2::Error>(self.inner.find_blob(entry.id())?.content().to_vec())
        };
        match read() {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(Fault::because(format!("cannot read `{path}` in HEAD"), error)),
        }
    }

    /// Whether a file of the work tree is as in HEAD and in the index, after git's conversions of line ends.
    pub fn is_unchanged(&self, path: &str) -> bool {
        let status = self.inner.status_file(Path::new(&format!("{}{path}", self.prefix)));
        status.is_ok_and(|status| status == git2::Status::CURRENT)
    }

    /// The author and the committer of new commits.
    pub fn identity(&self) -> Result<(Signature<'static>, Signature<'static>), Fault> {
        let config = self.inner.config().and_then(|mut config| config.snapshot());
        let config = config.map_err(|error| Fault::because("cannot read git's configuration", error))?;
        let of = |person, role| identity::configured(person, role, &config).map_err(identity::missing);
        let author = of(self.inner.author_from_env(), "author")?;
        Ok((author, of(self.inner.committer_from_env(), "committer")?))
    }

    /// Whether a blob begins with the program's own header.
    fn has_ours(&self, id: Oid, path: &str) -> Result<bool, Fault> {
        match self.inner.find_blob(id) {
            Ok(blob) => Ok(is_ours(blob.content())),
            Err(error) if error.code() == ErrorCode::NotFound && self.is_partial() => Err(Fault::because(
                format!("cannot remove `{path}`: HEAD's copy, which shows who wrote it, is missing from this partial clone"),
                error,
            )
            .hint("get it with `git sparse-checkout add generated`, or `git checkout HEAD -- generated`")),
            Err(_) => Ok(false),
        }
    }

    /// Whether this clone is shallow. In a separate work tree, libgit2 does not know: the list of missing parents is in the
    /// main one's git folder.
    pub fn is_shallow(&self) -> bool {
        self.inner.commondir().join("shallow").metadata().is_ok_and(|list| list.len() > 0)
    }

    /// Whether this clone is partial: git would fetch missing objects on demand, but libgit2 does not.
    fn is_partial(&self) -> bool {
        let config = self.inner.config().and_then(|mut config| config.snapshot());
        let found = config.and_then(|config| {
            let mut entries = config.entries(Some("^remote\\..*\\.promisor$"))?;
            Ok(entries.next().is_some())
        });
        found.unwrap_or(false)
    }

    fn around(inner: git2::Repository, workspace: &Workspace) -> Result<Self, Fault> {
        let Some(work_tree) = inner.workdir() else {
            return Err(Fault::new(format!("the repository `{}` has no work tree", inner.path().display()))
                .hint("commit from a clone that has one, or add one with `git worktree add`"));
        };
        let work_tree = work_tree
            .canonicalize()
            .map_err(|error| Fault::because("cannot open the work tree of the repository", error))?;
        let prefix = prefix(workspace.root(), &work_tree).ok_or_else(|| {
            let (root, tree) = (workspace.root().display(), work_tree.display());
            Fault::new(format!("`{root}` is not inside the repository's work tree `{tree}`"))
                .hint("check `core.worktree` in the repository's configuration")
        })?;
        inner
            .config()
            .and_then(|mut config| heed_environment(&mut config))
            .map_err(|error| Fault::because("cannot read git's configuration", error))?;
        Ok(Self { inner, work_tree, prefix })
    }

    /// Refuses to commit from within another git commit, or with another index than the repository's.
    fn refuse_other_index() -> Result<(), Fault> {
        if env::var_os("GIT_INDEX_FILE").is_none() {
            return Ok(());
        }
        Err(Fault::new("`GIT_INDEX_FILE` is set, as git does for its hooks, so nothing is committed")
            .hint("a commit inside `pre-commit` makes git's own commit fail: use `stackloom generate --check` in this hook")
            .hint("if no commit is in progress, as in `post-commit`, run `env -u GIT_INDEX_FILE stackloom generate --commit`"))
    }

    /// Refuses a repository in which an operation is in progress that a commit would disturb.
    fn refuse_unfinished(&self) -> Result<(), Fault> {
        let (what, end) = match self.inner.state() {
            RepositoryState::Clean => return Ok(()),
            RepositoryState::Merge => ("a merge", "git merge --continue"),
            RepositoryState::Revert | RepositoryState::RevertSequence => {
                ("a revert", "git revert --continue")
            }
            RepositoryState::CherryPick | RepositoryState::CherryPickSequence => {
                ("a cherry-pick", "git cherry-pick --continue")
            }
            RepositoryState::Bisect => ("a bisection", "git bisect reset"),
            RepositoryState::Rebase
            | RepositoryState::RebaseInteractive
            | RepositoryState::RebaseMerge
            | RepositoryState::ApplyMailboxOrRebase => ("a rebase", "git rebase --continue"),
            RepositoryState::ApplyMailbox => ("`git am`", "git am --continue"),
        };
        Err(Fault::new(format!("{what} is in progress, so nothing is committed"))
            .hint(format!("finish it first, for example with `{end}`"))
            .hint("or run `stackloom generate` without `--commit`, and include the files with `git add generated`"))
    }

    /// The commit that HEAD points to.
    pub fn head(&self) -> Result<Option<String>, Fault> {
        Ok(self.tip()?.commit().map(|id| id.to_string()))
    }

    /// The branch that is checked out; none if HEAD is detached.
    pub fn current_branch(&self) -> Result<Option<String>, Fault> {
        let tip = self.tip()?;
        let short = |name: String| name.strip_prefix("refs/heads/").map(str::to_owned);
        Ok(if let Tip::Branch(name, _) = tip { short(name) } else { None })
    }

    /// Whether HEAD is detached.
    pub fn is_detached(&self) -> Result<bool, Fault> {
        Ok(matches!(self.tip()?, Tip::Detached(_)))
    }

    /// Whether a commit exists locally.
    pub fn has_commit(&self, id: &str) -> bool {
        Oid::from_str(id).is_ok_and(|id| self.inner.find_commit(id).is_ok())
    }

    /// Whether `one` is the same commit as `other` or a descendant of it.
    pub(super) fn descends(&self, one: Oid, other: Oid) -> bool {
        one == other || self.inner.graph_descendant_of(one, other).unwrap_or(false)
    }

    fn tip(&self) -> Result<Tip, Fault> {
        let failed = |error| Fault::because("cannot resolve HEAD", error);
        let mut name = "HEAD".to_owned();
        // A branch may be an alias of another one; no chain is longer than this in practice.
        for _ in 0..5 {
            let reference = match self.inner.find_reference(&name) {
                Ok(reference) => reference,
                Err(error) if error.code() == ErrorCode::NotFound => return Ok(Tip::Branch(name, None)),
                Err(error) => return Err(failed(error)),
            };
            let Some(target) = reference.symbolic_target().map_err(failed)? else {
                let commit = reference.peel_to_commit().map_err(failed)?.id();
                let detached = name == "HEAD";
                return Ok(if detached { Tip::Detached(commit) } else { Tip::Branch(name, Some(commit)) });
            };
            target.clone_into(&mut name);
        }
        Err(Fault::new("HEAD is a chain of symbolic references without end")
            .hint("check `git symbolic-ref HEAD`"))
    }
}

/// The fleet's path in the work tree.
fn prefix(root: &Path, work_tree: &Path) -> Option<String> {
    let parts: Option<Vec<&str>> =
        root.strip_prefix(work_tree).ok()?.iter().map(|part| part.to_str()).collect();
    Some(parts?.into_iter().flat_map(|part| [part, "/"]).collect())
}

/// Reads the file that `GIT_CONFIG_GLOBAL` names, as git does; libgit2 ignores the variable.
fn heed_environment(config: &mut Config) -> Result<(), git2::Error> {
    let Some(file) = env::var_os("GIT_CONFIG_GLOBAL") else { return Ok(()) };
    for level in [ConfigLevel::XDG, ConfigLevel::Global] {
        config.add_file(Path::new(&file), level, true)?;
    }
    Ok(())
}

/// The pager in git's configuration: of the repository here if there is one, else of the user.
pub(in crate::io) fn pager() -> Option<String> {
    let here = git2::Repository::discover(".").and_then(|repository| repository.config());
    let mut config = here.or_else(|_| Config::open_default()).ok()?;
    heed_environment(&mut config).ok()?;
    config.get_string("core.pager").ok()
}

fn cannot_open(root: &Path, error: git2::Error) -> Fault {
    let text = error.message().to_lowercase();
    let hint = if error.code() == ErrorCode::Owner {
        // The message contains the path that git also compares.
        let path =
            error.message().split('\'').nth(1).map_or_else(|| root.display().to_string(), str::to_owned);
        let elsewhere =
            ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_COUNT"].iter().any(|name| env::var_os(name).is_some());
        let note = if elsewhere {
            "; only `~/.gitconfig` and the system's configuration count for this"
        } else {
            ""
        };
        format!(
            "it belongs to someone else; if you trust it: `git config --global --add safe.directory {path}`{note}"
        )
    } else if text.contains("object format") || text.contains("objectformat") {
        "repositories with sha256 objects are not supported; create one with `git init --object-format=sha1`"
            .to_owned()
    } else if text.contains("extension") {
        "the repository uses a format that libgit2 does not know; check `git config --get-regexp extensions`"
            .to_owned()
    } else {
        "`git status` may tell more".to_owned()
    };
    Fault::because(format!("cannot open the git repository of `{}`", root.display()), error).hint(hint)
}
