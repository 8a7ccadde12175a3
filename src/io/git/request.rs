//! The git part of a proposal: the remote and its branches, and a push that overwrites nothing unseen.
//! All network access goes through the user's own `git`, which has their credentials and proxies.

use std::process::{Command, Output};

use git2::Oid;

use super::{Repository, base::WHOLE};
use crate::{
    io::program,
    note::Fault,
    pull_request::{Branch, Commit},
};

/// A git remote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    pub name: String,
    /// The address. It may contain a credential, and is never printed.
    pub url: String,
}

/// The outcome of a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushEnd {
    /// The branch was updated.
    Done,
    /// Someone else has changed the branch in the meantime.
    Moved,
}

/// The maximum number of commits to read from a branch.
const COMMITS: usize = 200;

impl Repository {
    /// The remote for proposals: the upstream of the current branch, or `origin`, or the only one.
    pub fn remote(&self) -> Result<Remote, Fault> {
        let failed = |error| Fault::because("cannot list the remotes", error);
        let names = self.inner.remotes().map_err(failed)?;
        let names: Vec<&str> = names.iter().filter_map(|name| name.ok().flatten()).collect();
        let upstream = self.upstream_remote();
        let name = match (upstream.as_deref(), names.as_slice()) {
            (_, []) => {
                return Err(Fault::new(
                    "this repository has no remote, so there is nowhere to propose a change",
                )
                .hint("add one with `git remote add origin <address>`, and push the branch that the engine reads"));
            }
            (Some(upstream), names) if names.contains(&upstream) => upstream,
            (_, [only]) => only,
            (_, names) if names.contains(&"origin") => "origin",
            (_, names) => {
                let list = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
                return Err(Fault::new(format!("this repository has several remotes: {list}"))
                    .hint("check out a branch that tracks one of them, or name it `origin`"));
            }
        };
        let remote = self.inner.find_remote(name).map_err(failed)?;
        let url = remote
            .url()
            .map_err(|error| Fault::because(format!("the address of `{name}` is not text"), error))?;
        Ok(Remote { name: name.to_owned(), url: url.to_owned() })
    }

    /// Fetches a branch, and returns its commit.
    pub fn fetch_base(&self, remote: &Remote, base: &str) -> Result<String, Fault> {
        self.listed(remote, base)?.ok_or_else(|| {
            Fault::new(format!("`{}` has no branch `{base}`, which the engine reads", remote.name))
                .hint("push it first, or check `source.branch` in stackloom.yaml")
        })?;
        Ok(self.fetched(remote, base)?.to_string())
    }

    /// Fetches the branch of a proposal, if the remote has it.
    pub fn fetch_branch(&self, remote: &Remote, base: &str, branch: &str) -> Result<Option<Branch>, Fault> {
        if self.listed(remote, branch)?.is_none() {
            return Ok(None);
        }
        let tip = self.fetched(remote, branch)?;
        let id = Oid::from_str(base)
            .map_err(|error| Fault::because(format!("cannot read the commit {base}"), error))?;
        let found = self.branch(id, tip)?;
        if self.is_shallow() && !self.begins_in_base(&found)? {
            return Err(Fault::new(format!(
                "this clone is shallow, and lacks the commits of the base up to where `{branch}` begins"
            ))
            .hint(format!("fetch the history: `git fetch --unshallow`; {WHOLE}")));
        }
        Ok(Some(found))
    }

    /// Whether the commits of a branch follow one of the base. In a shallow clone, the base's own commits may seem to be the
    /// branch's: then, the oldest has no parent, or one that the clone lacks.
    fn begins_in_base(&self, branch: &Branch) -> Result<bool, Fault> {
        for commit in &branch.commits {
            let parents =
                self.parents(Oid::from_str(&commit.id).map_err(|error| {
                    Fault::because(format!("cannot read the commit {}", commit.id), error)
                })?)?;
            if parents.is_empty() || !parents.iter().all(|parent| self.has_commit(&parent.to_string())) {
                return Ok(false);
            }
        }
        Ok(branch.commits.len() < COMMITS)
    }

    /// The commit of a remote's branch, if the branch exists.
    fn listed(&self, remote: &Remote, branch: &str) -> Result<Option<String>, Fault> {
        let reference = format!("refs/heads/{branch}");
        let what = format!("cannot list the branches of `{}`", remote.name);
        let listed = self.git(&["ls-remote", "--quiet", "--", &remote.name, &reference], &what)?;
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        let mut named = listed.lines().filter_map(|line| line.split_once('\t'));
        Ok(named.find(|(_, name)| *name == reference).map(|(id, _)| id.to_owned()))
    }

    fn fetched(&self, remote: &Remote, branch: &str) -> Result<Oid, Fault> {
        let refspec = format!("+refs/heads/{branch}:refs/remotes/{}/{branch}", remote.name);
        let what = format!("cannot fetch `{branch}` from `{}`", remote.name);
        self.git(&["fetch", "--quiet", "--no-tags", "--", &remote.name, &refspec], &what)?;
        self.tracked_commit(&remote.name, branch)
    }

    pub(super) fn tracked_commit(&self, remote: &str, branch: &str) -> Result<Oid, Fault> {
        let name = format!("refs/remotes/{remote}/{branch}");
        let found = self.inner.find_reference(&name).and_then(|found| found.peel_to_commit());
        found
            .map(|commit| commit.id())
            .map_err(|error| Fault::because(format!("cannot read `{name}`"), error))
    }

    fn branch(&self, base: Oid, tip: Oid) -> Result<Branch, Fault> {
        let failed = |error| Fault::because("cannot read the commits of the branch", error);
        let mut walk = self.inner.revwalk().map_err(failed)?;
        walk.push(tip).map_err(failed)?;
        walk.hide(base).map_err(failed)?;
        let ids = walk.take(COMMITS).collect::<Result<Vec<_>, _>>().map_err(failed)?;
        let commits = ids.into_iter().map(|id| self.commit_of(&id.to_string())).collect::<Result<_, _>>()?;
        Ok(Branch { tip: tip.to_string(), commits })
    }

    /// Reads the metadata of a commit.
    pub fn commit_of(&self, id: &str) -> Result<Commit, Fault> {
        let failed = |error| Fault::because(format!("cannot read the commit {id}"), error);
        let oid = Oid::from_str(id).map_err(failed)?;
        let commit = self.inner.find_commit(oid).map_err(failed)?;
        let name = |who: &git2::Signature<'_>| String::from_utf8_lossy(who.name_bytes()).into_owned();
        Ok(Commit {
            id: id.to_owned(),
            tree: commit.tree_id().to_string(),
            parents: commit.parent_ids().map(|id| id.to_string()).collect(),
            message: String::from_utf8_lossy(commit.message_bytes()).into_owned(),
            author: name(&commit.author()),
            committer: name(&commit.committer()),
        })
    }

    /// Points a remote branch to a commit, or deletes it, if it still points to `old`.
    pub fn push_branch(
        &self,
        remote: &Remote,
        branch: &str,
        old: Option<&str>,
        new: Option<&str>,
    ) -> Result<PushEnd, Fault> {
        let lease = format!("--force-with-lease=refs/heads/{branch}:{}", old.unwrap_or_default());
        let refspec = format!("{}:refs/heads/{branch}", new.unwrap_or_default());
        let output = self.run(&["push", "--porcelain", &lease, "--", &remote.name, &refspec])?;
        if output.status.success() {
            return Ok(PushEnd::Done);
        }
        let reported =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        // The messages of git and servers for a reference that has changed:
        // <https://git-scm.com/docs/git-push#Documentation/git-push.txt---porcelain>.
        let moved = [
            "stale info",
            "cannot lock ref",
            "reference already exists",
            "failed to update ref",
            "(fetch first)",
        ];
        if moved.iter().any(|words| reported.contains(words)) {
            return Ok(PushEnd::Moved);
        }
        let reported = self.without_credentials(&program::words(&output));
        Err(Fault::new(format!("cannot push `{branch}` to `{}`: {reported}", remote.name))
            .hint("git uses your own configuration for this: check that the account may push branches"))
    }

    pub(super) fn git(&self, arguments: &[&str], what: &str) -> Result<Output, Fault> {
        let output = self.run(arguments)?;
        if output.status.success() {
            return Ok(output);
        }
        let reported = self.without_credentials(&program::words(&output));
        Err(Fault::new(format!("{what}: {reported}"))
            .hint("git uses your own configuration for this: try `git fetch`"))
    }

    /// Removes the credentials in the addresses of remotes from git's output.
    fn without_credentials(&self, text: &str) -> String {
        let Ok(names) = self.inner.remotes() else { return text.to_owned() };
        let mut text = text.to_owned();
        for name in names.iter().filter_map(|name| name.ok().flatten()) {
            let Ok(remote) = self.inner.find_remote(name) else { continue };
            let url = remote.url().unwrap_or_default();
            let authority = url.split_once("://").and_then(|(_, rest)| rest.split('/').next());
            if let Some((credential, _)) = authority.and_then(|authority| authority.rsplit_once('@')) {
                text = text.replace(&format!("{credential}@"), "");
                if let Some((_, password)) =
                    credential.split_once(':').filter(|(_, password)| !password.is_empty())
                {
                    text = text.replace(password, "***");
                }
            }
        }
        text
    }

    fn run(&self, arguments: &[&str]) -> Result<Output, Fault> {
        let mut command = Command::new("git");
        command.current_dir(&self.work_tree).args(arguments).env("GIT_ALLOW_PROTOCOL", "file:http:https:ssh");
        // Its output is parsed.
        command.env("LC_ALL", "C");
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_NAMESPACE"] {
            command.env_remove(name);
        }
        program::run_prepared(command, b"")
            .map_err(|fault| fault.hint("install git: it fetches and pushes proposals"))
    }
}
