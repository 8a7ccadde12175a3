//! `release`: creates one commit for numbered releases, and one annotated tag for each.
//!
//! The order is: the lock of the index, objects, the [`Journal`], the branch, the tags, the work tree, the index. The lock
//! comes before the sources are read, so that of two runs, the second sees what the first did. Nothing is visible until the
//! branch moves. What a killed run leaves undone after that, the next run completes first.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use git2::{ErrorCode, ObjectType, Oid};

mod recover;

use super::{
    Repository, Tip,
    branch::{commit, left_behind, move_reference},
    folders::files_in,
    index::{IntendedEntries, LockedIndex},
    journal::Journal,
    objects::Objects,
    tag,
    trees::{Entry, FILE, Listing, with_file},
};
use crate::{
    io::disk::{Milestone, Workspace, place_file, place_release, read_file, remove_release},
    note::Fault,
    render::GITATTRIBUTES,
    tree::TreePath,
    world::LOCK,
};

/// A release to add.
#[derive(Clone, Debug)]
pub struct NewRelease {
    /// The name of the release and of its tag.
    pub name: String,
    /// The files, by their paths in the release's folder.
    pub files: BTreeMap<String, String>,
    /// The message of the tag; None for no tag.
    pub tag: Option<String>,
}

/// The result of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Released {
    /// The ID of the new commit.
    pub commit: Option<String>,
    /// The names of the new tags.
    pub tags: Vec<String>,
}

/// Called after each milestone.
type OnMilestone = Box<dyn FnMut(Milestone) -> Result<(), Fault> + Send>;

/// A run that adds or removes releases.
pub struct ReleaseRun {
    workspace: Workspace,
    repository: Repository,
    index: LockedIndex,
    tip: Tip,
    /// The new text of `stackloom.lock`, if the commit changes it.
    lock: Option<String>,
    on_milestone: Option<OnMilestone>,
}

impl std::fmt::Debug for ReleaseRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReleaseRun").field("repository", &self.repository).finish_non_exhaustive()
    }
}

impl ReleaseRun {
    /// Locks the index, and completes what a killed run has begun.
    pub fn begin(workspace: &Workspace) -> Result<Self, Fault> {
        let repository = Repository::discover(workspace)?;
        repository.refuse_unfinished()?;
        repository.identity()?;
        let index = LockedIndex::take(&repository)?;
        let tip = repository.tip()?;
        let mut run =
            Self { workspace: workspace.clone(), repository, index, tip, lock: None, on_milestone: None };
        run.recover()?;
        Ok(run)
    }

    /// Completes what a killed run has begun, if there is one: the next change of the index would otherwise revert it.
    pub(super) fn finish(workspace: &Workspace, repository: &Repository) -> Result<(), Fault> {
        if Journal::is_left(repository) { Self::begin(workspace).map(drop) } else { Ok(()) }
    }

    /// Calls `tell` after each milestone. An error ends the run there, as the end of the process would.
    #[must_use]
    pub fn on_milestone(mut self, tell: impl FnMut(Milestone) -> Result<(), Fault> + Send + 'static) -> Self {
        self.on_milestone = Some(Box::new(tell));
        self
    }

    /// Adds a new `stackloom.lock` to the commit. Fails if the file differs from HEAD: an uncommitted change would be
    /// committed with it, or lost.
    pub fn with_lock(mut self, text: String) -> Result<Self, Fault> {
        if let Some(one) = self.repository.uncommitted(&[LOCK.to_owned()])?.first() {
            let fault = format!("`{}` differs from HEAD, and the release must be added to it", one.path);
            let fault = Fault::new(fault)
                .hint("commit it first, or restore it: `git checkout HEAD -- stackloom.lock`");
            return Err(one.how_to_see().into_iter().fold(fault, Fault::hint));
        }
        self.lock = Some(text);
        Ok(self)
    }

    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Commits added and removed releases, and creates the tags.
    pub fn commit(
        mut self,
        added: &[NewRelease],
        removed: &[String],
        message: &str,
    ) -> Result<Released, Fault> {
        let head = Listing::read(&self.repository, self.tip.commit())?;
        if let Some(path) = head.strange.first() {
            return Err(Fault::new(format!("HEAD has `{path}`, a path that stackloom does not support"))
                .hint("commit its removal first"));
        }
        let mut objects = Objects::new(&self.repository);
        let attributes = !added.is_empty() && self.lacks_attributes(&head)?;
        let mut tree = self.tree(&head, added, removed, attributes, &mut objects)?;
        if let Some(text) = self.lock.take() {
            let id = hash(&text)?;
            objects.add(ObjectType::Blob, id, LOCK, text.into_bytes())?;
            tree = with_file(&self.repository, tree, LOCK, id, &mut objects)?;
            objects.flush()?;
        }
        let lock = self.blob_of(Some(tree), LOCK)? != self.blob_of(head.root, LOCK)?;
        let id = commit(&self.repository, &self.tip, &objects, tree, message)?;
        let mut tags = Vec::new();
        for release in added {
            if let Some(text) = &release.tag {
                tags.push((release.name.clone(), tag::object(&self.repository, &release.name, id, text)?));
            }
        }
        self.tell(Milestone::Objects)?;
        let names = added.iter().map(|one| one.name.clone()).collect();
        let removed = removed.to_vec();
        let branch = match &self.tip {
            Tip::Branch(name, _) => Some(name.clone()),
            Tip::Detached(_) => None,
        };
        let journal = Journal { commit: Some(id), branch, added: names, removed, tags, lock, attributes };
        journal.write(&self.repository)?;
        self.tell(Milestone::Staged)?;
        let subject = message.lines().next().unwrap_or_default();
        if let Err(fault) = move_reference(&self.repository, &self.tip, id, subject) {
            Journal::remove(&self.repository);
            return Err(fault);
        }
        self.tell(Milestone::Reference)?;
        self.follow(&journal).map_err(|fault| left_behind(Some(id), fault))?;
        Journal::remove(&self.repository);
        Ok(Released {
            commit: Some(id.to_string()),
            tags: journal.tags.into_iter().map(|(name, _)| name).collect(),
        })
    }

    /// Whether the commit must add `generated/.gitattributes`. Without it, git may change line endings on checkout, and a
    /// release would no longer be what it was when it was cut.
    fn lacks_attributes(&self, head: &Listing) -> Result<bool, Fault> {
        let path = attributes();
        if head.entries.contains_key(&path) {
            return Ok(false);
        }
        let file = self.workspace.root().join(path.as_str());
        if file.is_symlink() {
            return Err(Fault::new(format!("`{path}` is a symbolic link"))
                .hint("remove the link: stackloom writes only to real files below `generated/`"));
        }
        match read_file(&file)? {
            Some(bytes) if bytes != GITATTRIBUTES.as_bytes() => {
                Err(Fault::new(format!("`{path}` was not written by stackloom, and HEAD has none"))
                    .hint("move it out of `generated/`: a release needs stackloom's own, which keeps git from changing line endings"))
            }
            _ => Ok(true),
        }
    }

    /// The tree of the new commit: HEAD's, with folders of releases added and removed.
    fn tree(
        &self,
        head: &Listing,
        added: &[NewRelease],
        removed: &[String],
        with_attributes: bool,
        objects: &mut Objects,
    ) -> Result<Oid, Fault> {
        let mut entries = head.entries.clone();
        if with_attributes {
            let id = hash(GITATTRIBUTES)?;
            objects.add(ObjectType::Blob, id, ".gitattributes", GITATTRIBUTES.into())?;
            entries.insert(attributes(), Entry { id, mode: FILE });
        }
        for name in removed {
            entries.remove(&folder(name));
        }
        for release in added {
            if entries.contains_key(&folder(&release.name)) {
                return Err(Fault::new(format!("HEAD already has a release `{}`", release.name)).hint(
                    "it is missing from the work tree: run `git checkout HEAD -- generated/releases`, then run this again",
                ));
            }
            for (path, text) in &release.files {
                let path = file(&release.name, path);
                let id = hash(text)?;
                objects.add(ObjectType::Blob, id, path.as_str(), text.clone().into_bytes())?;
                entries.insert(path, Entry { id, mode: FILE });
            }
        }
        let tree = head.write(&self.repository, head.root, &entries, objects)?;
        objects.flush()?;
        tree.ok_or_else(|| {
            Fault::new("there is nothing to commit").hint("this is a bug of stackloom; please report it")
        })
    }

    fn make_tags(&mut self, journal: &Journal) -> Result<(), Fault> {
        for (name, id) in &journal.tags {
            tag::create(&self.repository, name, *id)?;
            self.tell(Milestone::Tagged)?;
        }
        Ok(())
    }

    /// Updates the tags, the work tree and the index to match the commit.
    fn follow(&mut self, journal: &Journal) -> Result<(), Fault> {
        self.make_tags(journal)?;
        let root = self.workspace.root().to_path_buf();
        let mut files = BTreeMap::new();
        for name in &journal.added {
            let (blobs, ids) = self.files_of(journal.commit, name)?;
            place_release(&root, name, &blobs)?;
            files.extend(ids);
            self.tell(Milestone::File)?;
        }
        for name in &journal.removed {
            remove_release(&root, name)?;
            self.tell(Milestone::File)?;
        }
        let lock = if journal.lock { self.place(LOCK, journal.commit, &root)? } else { None };
        let mut touched: Vec<TreePath> =
            journal.added.iter().chain(&journal.removed).map(|name| folder(name)).collect();
        if journal.attributes
            && let Some(id) = self.place(attributes().as_str(), journal.commit, &root)?
        {
            files.insert(attributes(), id);
            touched.push(attributes());
        }
        self.tell(Milestone::WorkTree)?;
        let fresh: BTreeSet<TreePath> = files.keys().cloned().collect();
        let mut unlike = BTreeSet::new();
        for (path, id) in &files {
            let found = read_file(&root.join(path.as_str()))?.map(|bytes| hash_bytes(&bytes)).transpose()?;
            if found != Some(*id) {
                unlike.insert(path.clone());
            }
        }
        let leave = |path: &TreePath| !touched.iter().any(|folder| path.is_within(folder));
        let beside = lock.map(|id| (LOCK, id));
        self.index.update(
            &IntendedEntries {
                files: &files,
                fresh: &fresh,
                unlike: &unlike,
                leave: &leave,
                beside,
                sources: None,
            },
            &root,
        )?;
        self.tell(Milestone::Index)
    }

    /// Updates a file of the work tree to match a commit, if it still matches the commit's parent. Otherwise someone has
    /// changed it, and it is left alone. Returns its blob if the work tree now has it.
    fn place(&self, path: &str, commit: Option<Oid>, root: &Path) -> Result<Option<Oid>, Fault> {
        let failed = |error| Fault::because(format!("cannot read `{path}` of the commit"), error);
        let Some(id) = commit else { return Ok(None) };
        let commit = self.repository.inner.find_commit(id).map_err(failed)?;
        let before = commit.parent(0).ok().map(|parent| parent.tree_id());
        let (Some(meant), before) =
            (self.blob_of(Some(commit.tree_id()), path)?, self.blob_of(before, path)?)
        else {
            return Ok(None);
        };
        let file = root.join(path);
        let found = read_file(&file)?.map(|bytes| hash_bytes(&bytes)).transpose()?;
        if found == before {
            let blob = self.repository.inner.find_blob(meant).map_err(failed)?;
            place_file(&file, blob.content())?;
        } else if found != Some(meant) {
            return Ok(None);
        }
        Ok(Some(meant))
    }

    /// The blob of a fleet's file in a tree of the repository.
    fn blob_of(&self, tree: Option<Oid>, path: &str) -> Result<Option<Oid>, Fault> {
        let failed = |error| Fault::because(format!("cannot look for `{path}` in a commit"), error);
        let Some(tree) = tree else { return Ok(None) };
        let tree = self.repository.inner.find_tree(tree).map_err(failed)?;
        match tree.get_path(format!("{}{path}", self.repository.prefix).as_ref()) {
            Ok(entry) => Ok((entry.kind() == Some(ObjectType::Blob)).then(|| entry.id())),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    /// The files of a release in a commit: contents by path in the release's folder, and blob IDs by path in the tree.
    #[expect(clippy::type_complexity, reason = "two views of the same files, used in one place")]
    fn files_of(
        &self,
        commit: Option<Oid>,
        name: &str,
    ) -> Result<(BTreeMap<String, Vec<u8>>, BTreeMap<TreePath, Oid>), Fault> {
        let failed = |error| Fault::because(format!("cannot read the release `{name}`"), error);
        let inner = &self.repository.inner;
        let (mut blobs, mut ids) = (BTreeMap::new(), BTreeMap::new());
        let Some(tree) = commit.map(|id| self.repository.folder_of(id, name)).transpose()?.flatten() else {
            return Ok((blobs, ids));
        };
        let tree = inner.find_tree(tree).map_err(failed)?;
        for (path, (id, _)) in files_in(inner, &tree, "").map_err(failed)? {
            blobs.insert(path.clone(), inner.find_blob(id).map_err(failed)?.content().to_vec());
            ids.insert(file(name, &path), id);
        }
        Ok((blobs, ids))
    }

    fn tell(&mut self, step: Milestone) -> Result<(), Fault> {
        self.on_milestone.as_mut().map_or(Ok(()), |tell| tell(step))
    }
}

fn hash(text: &str) -> Result<Oid, Fault> {
    hash_bytes(text.as_bytes())
}

fn hash_bytes(bytes: &[u8]) -> Result<Oid, Fault> {
    Oid::hash_object(ObjectType::Blob, bytes).map_err(|error| Fault::because("cannot hash a file", error))
}

fn folder(name: &str) -> TreePath {
    TreePath::root().join("releases").join(name)
}

/// The file that prevents git from changing the bytes of releases.
fn attributes() -> TreePath {
    TreePath::root().join(".gitattributes")
}

fn file(name: &str, path: &str) -> TreePath {
    path.split('/').fold(folder(name), |folder, part| folder.join(part))
}
