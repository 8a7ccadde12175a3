//! Finds the commit to compare a change with, if the user names none.

use std::collections::{BTreeMap, BTreeSet};

use git2::{ErrorCode, Oid};

use super::{Repository, Tip};
use crate::note::Fault;

/// The commit to compare a change with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    /// The ID of the commit.
    pub commit: String,
    /// How it was found, for a message.
    pub why: String,
    /// Whether it was found by the branch that the definitions of the change name.
    pub is_by_branch: bool,
}

/// The hint if no commit can be found.
const NAME_IT: &str =
    "name the commit to compare with: `stackloom diff <BASE>`, such as `stackloom diff origin/main`";

/// The hint if history is missing.
pub(super) const WHOLE: &str =
    "in CI, clone all of it: `fetch-depth: 0` with actions/checkout, `GIT_DEPTH: \"0\"` with GitLab";

impl Repository {
    /// Whether two commits have a commit in common. In a shallow clone, it may be one that is missing.
    pub fn is_related(&self, one: &str, other: &str) -> Result<bool, Fault> {
        let failed =
            |error| Fault::because(format!("cannot find the merge base of {one} and {other}"), error);
        let named = |name: &str| self.inner.revparse_single(name).and_then(|found| found.peel_to_commit());
        let (one, other) = (named(one).map_err(failed)?.id(), named(other).map_err(failed)?.id());
        match self.inner.merge_base(one, other) {
            Ok(_) => Ok(true),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(self.is_shallow()),
            Err(error) => Err(failed(error)),
        }
    }

    /// The commit before the checked-out change. If CI merged it into the branch that engines read and checked out the merge
    /// commit, the first parent of that; otherwise the merge base with that branch, as last fetched.
    pub fn base(&self, branches: &BTreeSet<String>) -> Result<Base, Fault> {
        let head = match self.tip()? {
            Tip::Detached(commit) if self.updates_branch(commit, branches)? => commit,
            Tip::Detached(commit) => match self.first_parent(commit)? {
                Some(base) => return Ok(base),
                None => commit,
            },
            Tip::Branch(_, Some(commit)) => commit,
            Tip::Branch(_, None) => {
                return Err(Fault::new("there is no commit yet, so there is nothing to compare with")
                    .hint("commit the fleet first: `git add . && git commit`"));
            }
        };
        let (name, tip) = self.read_by_engines(branches)?;
        match self.inner.merge_base(head, tip) {
            Ok(base) => Ok(Base {
                commit: base.to_string(),
                why: format!("merge base with {name}"),
                is_by_branch: true,
            }),
            Err(error) if error.code() == ErrorCode::NotFound && self.is_shallow() => Err(Fault::new(
                format!("this clone is shallow, and lacks the merge base of HEAD and `{name}`"),
            )
            .hint(format!("fetch the history: `git fetch --unshallow`; {WHOLE}"))
            .hint(NAME_IT)),
            Err(error) if error.code() == ErrorCode::NotFound => {
                Err(Fault::new(format!("HEAD and `{name}` have no commit in common")).hint(NAME_IT))
            }
            Err(error) => {
                Err(Fault::because(format!("cannot find the merge base of HEAD and `{name}`"), error)
                    .hint(NAME_IT))
            }
        }
    }

    /// The name of the branch that engines read, if this clone knows commits of it that HEAD lacks.
    pub fn branch_ahead(&self, branches: &BTreeSet<String>) -> Result<Option<String>, Fault> {
        let (Some(head), Ok((name, tip))) = (self.head()?, self.read_by_engines(branches)) else {
            return Ok(None);
        };
        Ok((!self.contains(&head, &tip.to_string())?).then_some(name))
    }

    /// The newest commit of HEAD's history on the branch that engines read, and the name of that branch; none if this clone
    /// does not know it.
    pub fn last_published(&self, branches: &BTreeSet<String>) -> Result<Option<(String, String)>, Fault> {
        let (Some(head), Ok((name, tip))) = (self.head()?, self.read_by_engines(branches)) else {
            return Ok(None);
        };
        let failed =
            |error| Fault::because(format!("cannot find the merge base of HEAD and `{name}`"), error);
        let head = Oid::from_str(&head).map_err(failed)?;
        match self.inner.merge_base(head, tip) {
            Ok(base) => Ok(Some((base.to_string(), name))),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    /// Whether a commit merges the branch that engines read into another, as the button "Update branch" of forges does. CI
    /// merges the other way: the first parent of its commit is on the branch that engines read.
    fn updates_branch(&self, commit: Oid, branches: &BTreeSet<String>) -> Result<bool, Fault> {
        let parents = self.parents(commit)?;
        let [first, others @ ..] = parents.as_slice() else { return Ok(false) };
        let Ok((_, tip)) = self.read_by_engines(branches) else { return Ok(false) };
        let is_published = |parent: &Oid| -> Result<bool, Fault> {
            let parent = parent.to_string();
            Ok(self.has_commit(&parent) && self.contains(&tip.to_string(), &parent)?)
        };
        if others.is_empty() || is_published(first)? {
            return Ok(false);
        }
        others.iter().try_fold(false, |found, parent| Ok(found || is_published(parent)?))
    }

    /// The first parent of a merge commit, which CI creates and checks out without a branch.
    fn first_parent(&self, commit: Oid) -> Result<Option<Base>, Fault> {
        // A shallow clone hides parents that it lacks.
        let parents = self.parents(commit)?;
        let [parent, _, ..] = parents.as_slice() else { return Ok(None) };
        if !self.has_commit(&parent.to_string()) {
            return Err(Fault::new(format!(
                "HEAD is a merge commit, and its first parent {parent} is not in this shallow clone"
            ))
            .hint(format!("fetch it: `git fetch --deepen=1`; {WHOLE}")));
        }
        let why = "first parent of the merge commit".to_owned();
        Ok(Some(Base { commit: parent.to_string(), why, is_by_branch: false }))
    }

    /// The remote-tracking reference of the branch that engines read.
    fn read_by_engines(&self, branches: &BTreeSet<String>) -> Result<(String, Oid), Fault> {
        let branch = match branches.iter().collect::<Vec<_>>().as_slice() {
            [branch] => (*branch).clone(),
            [] => {
                return Err(Fault::new(
                    "no branch is known that the engine reads, so there is no commit to compare with",
                )
                .hint(NAME_IT)
                .hint("or set the branch as `source.branch` in stackloom.yaml"));
            }
            several => {
                let names: Vec<_> = several.iter().map(|name| format!("`{name}`")).collect();
                return Err(
                    Fault::new(format!("engines read several branches: {}", names.join(", "))).hint(NAME_IT)
                );
            }
        };
        if !self.has_remotes()? {
            return Err(Fault::new(format!(
                "this repository has no remote, so it is not known what of the branch `{branch}` is published"
            ))
            .hint("compare with the last commit: `stackloom diff HEAD`")
            .hint(
                "or add the remote that the engine reads: `git remote add origin URL && git fetch origin`",
            ));
        }
        let mut remotes = self.tracked(&branch)?;
        if remotes.len() > 1 {
            let preferred = self.upstream_remote().unwrap_or_else(|| "origin".to_owned());
            if let Some(found) = remotes.remove(&preferred) {
                return Ok((format!("{preferred}/{branch}"), found));
            }
            let names: Vec<_> = remotes.keys().map(|remote| format!("`{remote}/{branch}`")).collect();
            return Err(
                Fault::new(format!("several remotes have the branch: {}", names.join(", "))).hint(NAME_IT)
            );
        }
        remotes.into_iter().next().map(|(remote, commit)| (format!("{remote}/{branch}"), commit)).ok_or_else(|| {
            let fault = Fault::new(format!(
                "the engine reads the branch `{branch}`, and this clone has no remote-tracking branch of this name"
            ));
            let fetch = self.a_remote().map(|remote| {
                format!("fetch it: `git fetch {remote} {branch}:refs/remotes/{remote}/{branch}`")
            });
            match fetch {
                Some(hint) => fault.hint(hint),
                None => fault,
            }
            .hint(NAME_IT)
        })
    }

    pub fn has_remotes(&self) -> Result<bool, Fault> {
        let remotes =
            self.inner.remotes().map_err(|error| Fault::because("cannot list the remotes", error))?;
        Ok(!remotes.is_empty())
    }

    /// The default branch of a remote, if it has one.
    pub fn default_branch(&self, remote: &super::Remote) -> Result<Option<String>, Fault> {
        let what = format!("cannot list the branches of `{}`", remote.name);
        let listed = self.git(&["ls-remote", "--quiet", "--symref", "--", &remote.name, "HEAD"], &what)?;
        let listed = String::from_utf8_lossy(&listed.stdout);
        let name = |line: &str| line.strip_prefix("ref: refs/heads/")?.split('\t').next().map(str::to_owned);
        Ok(listed.lines().find_map(name))
    }

    /// Whether a text can be the name of a branch.
    pub fn is_branch_name(text: &str) -> bool {
        git2::Branch::name_is_valid(text).unwrap_or(false) && !text.starts_with('-')
    }

    pub fn has_remote(&self, name: &str) -> bool {
        self.inner.find_remote(name).is_ok()
    }

    /// The remote to fetch from: that of the branch, else `origin`, else the first one.
    pub fn a_remote(&self) -> Option<String> {
        let remotes = self.inner.remotes().ok()?;
        let names: Vec<String> = remotes.iter().filter_map(|name| Some(name.ok()??.to_owned())).collect();
        let upstream = self.upstream_remote();
        let origin = || names.iter().find(|name| *name == "origin").or(names.first()).cloned();
        upstream.or_else(origin)
    }

    /// The commits of a remote-tracking branch, by remote.
    fn tracked(&self, branch: &str) -> Result<BTreeMap<String, Oid>, Fault> {
        let failed = |error| Fault::because("cannot list the remote-tracking branches", error);
        let mut found = BTreeMap::new();
        let remotes = self.inner.remotes().map_err(failed)?;
        for remote in remotes.iter().filter_map(|name| name.ok().flatten()) {
            let name = format!("refs/remotes/{remote}/{branch}");
            match self.inner.find_reference(&name).and_then(|found| found.peel_to_commit()) {
                Ok(commit) => drop(found.insert(remote.to_owned(), commit.id())),
                Err(error) if error.code() == ErrorCode::NotFound => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(found)
    }

    pub(super) fn upstream_remote(&self) -> Option<String> {
        let head = self.inner.head().ok()?;
        let remote = self.inner.branch_upstream_remote(head.name().ok()?).ok()?;
        Some(remote.as_str().ok()?.to_owned())
    }
}
