//! The commits since a base, along the first parents of HEAD.

use std::collections::{BTreeMap, BTreeSet};

use git2::{ObjectType, Oid, Tree};

use super::{
    Repository,
    trees::{FILE, RUNNABLE},
};
use crate::{
    compare::{BlobId, cluster_folder},
    io::known_to_git::LostClusters,
    note::{Fault, MissingCommit},
    report::{BaseCommit, CommitSinceBase, CommitsSinceBase, LostFile},
};

/// The folder of everything that is generated.
const GENERATED: &str = "generated";
/// At this depth below the folder, all files are listed if any differs: those of a whole cluster or release.
const WHOLE: usize = 5;

/// The commits since a base that change the generated tree, oldest first.
pub struct Since<'a> {
    repository: &'a Repository,
    commits: Vec<(Oid, Oid)>,
    steps: Vec<CommitSinceBase>,
    missing: Option<MissingCommit>,
    base: Oid,
    tip: Oid,
    /// The commit where HEAD left the base, if it lacks later commits of the base.
    fork: Option<Oid>,
}

impl std::fmt::Debug for Since<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Since").field("steps", &self.steps).finish_non_exhaustive()
    }
}

impl Repository {
    /// The first-parent commits of `head` (default: HEAD) since `base`. If the only one is a merge commit that CI made for a
    /// pull request, the commits of the pull request instead.
    pub fn since(&self, base: &str, head: Option<&str>) -> Result<Since<'_>, Fault> {
        let named = |name: &str| -> Result<Oid, Fault> {
            let found = self.inner.revparse_single(name).and_then(|found| found.peel_to_commit());
            found.map(|commit| commit.id()).map_err(|error| failed(name, error))
        };
        let (base, tip) = (named(base)?, named(head.unwrap_or("HEAD"))?);
        let mut since = Since {
            repository: self,
            commits: Vec::new(),
            steps: Vec::new(),
            missing: None,
            base,
            tip,
            fork: None,
        };
        since.fork = self.inner.merge_base(base, tip).ok().filter(|fork| *fork != base);
        let mut chain = since.chain(base, tip)?;
        if let [only] = chain.as_slice()
            && let [_, second] = self.parents(*only)?.as_slice()
        {
            if !self.has_commit(&second.to_string()) {
                // The commits of the branch are not here.
                since.missing = Some(MissingCommit { commit: second.to_string(), child: only.to_string() });
                since.add(*only)?;
                return Ok(since);
            }
            let of_branch = since.chain(base, *second)?;
            if !of_branch.is_empty() {
                (chain, since.tip) = (of_branch, *second);
            }
        }
        for commit in chain {
            since.add(commit)?;
        }
        Ok(since)
    }

    /// The parents of a commit, including those that a shallow clone hides.
    pub(super) fn parents(&self, commit: Oid) -> Result<Vec<Oid>, Fault> {
        let name = commit.to_string();
        let found = self.inner.find_commit(commit).map_err(|error| failed(&name, error))?;
        let header = found.raw_header().map_err(|error| failed(&name, error))?;
        let parents = header.lines().filter_map(|line| line.strip_prefix("parent "));
        Ok(parents.filter_map(|id| Oid::from_str(id.trim()).ok()).collect())
    }
}

fn failed(name: &str, error: git2::Error) -> Fault {
    Fault::because(format!("cannot read the commit {name}"), error)
}

impl Since<'_> {
    /// The commits after `base` up to `tip`, along first parents, oldest first.
    fn chain(&mut self, base: Oid, tip: Oid) -> Result<Vec<Oid>, Fault> {
        let inner = &self.repository.inner;
        let mut chain = Vec::new();
        let mut next = Some(tip);
        while let Some(commit) = next {
            if commit == base || inner.graph_descendant_of(base, commit).unwrap_or(false) {
                break;
            }
            let parent = self.repository.parents(commit)?.first().copied();
            chain.push(commit);
            next = parent.filter(|parent| self.repository.has_commit(&parent.to_string()));
            if let (Some(parent), None) = (parent, next) {
                self.missing = Some(MissingCommit { commit: parent.to_string(), child: commit.to_string() });
            }
        }
        chain.reverse();
        Ok(chain)
    }

    fn add(&mut self, commit: Oid) -> Result<(), Fault> {
        let parents = self.repository.parents(commit)?;
        let Some(parent) = parents.first().copied() else { return Ok(()) };
        if !self.repository.has_commit(&parent.to_string())
            || self.generated(parent)? == self.generated(commit)?
        {
            return Ok(());
        }
        let name = commit.to_string();
        let found = self.repository.inner.find_commit(commit).map_err(|error| failed(&name, error))?;
        let title = found.summary().ok().flatten().unwrap_or_default().to_owned();
        self.commits.push((parent, commit));
        self.steps.push(CommitSinceBase { commit: name, title, is_merge: parents.len() > 1 });
        Ok(())
    }

    /// The tree of the generated folder in a commit.
    fn generated(&self, commit: Oid) -> Result<Option<Oid>, Fault> {
        let read = || -> Result<Option<Oid>, git2::Error> {
            let tree = self.repository.inner.find_commit(commit)?.tree()?;
            let path = format!("{}{GENERATED}", self.repository.prefix);
            match tree.get_path(path.as_ref()) {
                Ok(entry) if entry.kind() == Some(ObjectType::Tree) => Ok(Some(entry.id())),
                Ok(_) => Ok(None),
                Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
                Err(error) => Err(error),
            }
        };
        read().map_err(|error| {
            failed(&commit.to_string(), error)
                .hint("in a partial clone, get missing files with `git fetch --refetch --no-filter`")
        })
    }

    /// The files of two commits, without folders that do not differ.
    fn between(&self, parent: Oid, commit: Oid) -> Result<[BTreeMap<String, BlobId>; 2], Fault> {
        let [old, new] = [self.generated(parent)?, self.generated(commit)?];
        Ok([self.listing(parent, new)?, self.listing(commit, old)?])
    }

    /// The text of a file in a commit; none if there is no such file, or if a partial clone lacks it.
    fn text(&self, commit: Oid, path: &str) -> Result<Option<String>, Fault> {
        let inner = &self.repository.inner;
        let read = || -> Result<Option<String>, git2::Error> {
            let tree = inner.find_commit(commit)?.tree()?;
            let entry = tree.get_path(format!("{}{path}", self.repository.prefix).as_ref())?;
            if entry.kind() != Some(ObjectType::Blob) {
                return Ok(None);
            }
            Ok(Some(String::from_utf8_lossy(inner.find_blob(entry.id())?.content()).into_owned()))
        };
        match read() {
            Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
            read => read.map_err(|error| failed(&commit.to_string(), error)),
        }
    }

    fn listing(&self, commit: Oid, other: Option<Oid>) -> Result<BTreeMap<String, BlobId>, Fault> {
        let mut files = BTreeMap::new();
        let Some(own) = self.generated(commit)? else { return Ok(files) };
        let inner = &self.repository.inner;
        let mut read = || -> Result<(), git2::Error> {
            let other = other.map(|id| inner.find_tree(id)).transpose()?;
            collect(inner, &inner.find_tree(own)?, other.as_ref(), (GENERATED, 0), &mut files)
        };
        read().map_err(|error| failed(&commit.to_string(), error))?;
        Ok(files)
    }
}

/// The files of a folder that differ from another folder. From the depth [`WHOLE`] on, also the unchanged files beside them.
fn collect(
    repository: &git2::Repository,
    tree: &Tree<'_>,
    other: Option<&Tree<'_>>,
    (path, depth): (&str, usize),
    files: &mut BTreeMap<String, BlobId>,
) -> Result<(), git2::Error> {
    for entry in tree {
        let twin = other.and_then(|other| other.get_name_bytes(entry.name_bytes()));
        if depth < WHOLE && twin.as_ref().is_some_and(|twin| twin.id() == entry.id()) {
            continue;
        }
        let path = format!("{path}/{}", String::from_utf8_lossy(entry.name_bytes()));
        match (entry.kind(), entry.filemode()) {
            (Some(ObjectType::Tree), _) => {
                let twin = twin.filter(|twin| depth < WHOLE && twin.kind() == Some(ObjectType::Tree));
                let twin = twin.map(|twin| repository.find_tree(twin.id())).transpose()?;
                let own = repository.find_tree(entry.id())?;
                collect(repository, &own, twin.as_ref(), (&path, depth + 1), files)?;
            }
            (Some(ObjectType::Blob), FILE | RUNNABLE) => {
                if let Ok(id) = entry.id().as_bytes().try_into() {
                    files.insert(path, BlobId(id));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

impl CommitsSinceBase for Since<'_> {
    fn steps(&self) -> &[CommitSinceBase] {
        &self.steps
    }

    fn missing(&self) -> Option<&MissingCommit> {
        self.missing.as_ref()
    }

    fn listings(&self, step: usize) -> Result<[BTreeMap<String, BlobId>; 2], Fault> {
        let (parent, commit) = self.commits[step];
        self.between(parent, commit)
    }

    fn whole(&self) -> Result<[BTreeMap<String, BlobId>; 2], Fault> {
        self.between(self.base, self.tip)
    }

    fn lost(&self, paths: &BTreeSet<String>) -> Result<BTreeMap<String, LostFile>, Fault> {
        let inner = &self.repository.inner;
        let lost = LostClusters::find(inner, self.repository.prefix.as_ref(), self.base);
        let mut found = BTreeMap::new();
        for path in paths {
            let removal = cluster_folder(path).and_then(|folder| lost.removal(inner, folder));
            let Some(removal) = removal else { continue };
            if let Some(text) = self.text(removal.before, path)? {
                found.insert(path.clone(), LostFile { commit: removal.commit.to_string(), text });
            }
        }
        Ok(found)
    }

    fn base(&self) -> BaseCommit {
        BaseCommit { commit: self.base.to_string(), fork: self.fork.map(|fork| fork.to_string()) }
    }

    fn id_at_fork(&self, path: &str) -> Result<Option<BlobId>, Fault> {
        let commit = self.fork.unwrap_or(self.base);
        let read = || -> Result<Option<BlobId>, git2::Error> {
            let tree = self.repository.inner.find_commit(commit)?.tree()?;
            let entry = tree.get_path(format!("{}{path}", self.repository.prefix).as_ref())?;
            Ok(entry.id().as_bytes().try_into().ok().map(BlobId))
        };
        match read() {
            Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
            read => read.map_err(|error| failed(&commit.to_string(), error)),
        }
    }
}
