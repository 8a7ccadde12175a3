//! `generate --commit`: commits the tree, with `--all` also the sources, and updates the work tree and the index.
//!
//! The order is: the lock of the index, objects, the reference, the work tree, the index. Nothing is visible until the
//! reference moves. What a killed run leaves undone after that, the next run completes.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use git2::{ObjectType, Oid};
use rayon::prelude::*;

use super::{
    Repository, Tip,
    branch::{commit, left_behind, move_reference},
    index::{IntendedEntries, LockedIndex},
    objects::Objects,
    release::ReleaseRun,
    sources::Sources,
    trees::{Entry, FILE, Listing, note_foreign_in_head, with_files},
};
use crate::{
    io::disk::{
        DiskSink, Milestone, Workspace, begun, is_in_numbered_release, is_numbered_release, note_foreign,
        read_plain,
    },
    io::known_to_git::former_definitions,
    note::{Fault, Notes, Severity},
    pull_request,
    remove::{Before, Guard},
    tree::{Changes, File, FileChange, Part, Sink, TreePath},
    world::Input,
};

/// A sink that commits `generated/`: either alone, or with the sources that it is made from.
pub struct CommitSink {
    workspace: Workspace,
    repository: Repository,
    disk: DiskSink,
    open: Option<Open>,
    /// The input, if the sources are committed too.
    input: Option<Input>,
    /// The subject of the commit, if it is given.
    subject: Option<String>,
    /// Whether the message ends with trailers that show later whether someone changed the commit.
    claims: bool,
    guard: Option<ChangeGuard>,
}

/// Judges the changes of a run before the commit. Reports what must not be committed, and returns whether all may be.
type ChangeGuard = Box<dyn Fn(&Changes, &mut Notes) -> bool>;

/// The state of a run.
struct Open {
    index: LockedIndex,
    tip: Tip,
    head: Listing,
    objects: Objects,
    meant: BTreeMap<TreePath, Oid>,
    guard: Guard,
    changes: Changes,
    sources: Option<Sources>,
}

impl Open {
    /// Compares the files of a part with HEAD, and adds those that differ.
    fn take(&mut self, part: &Part, ids: Vec<Oid>) -> Result<(), Fault> {
        let mut changes = Vec::with_capacity(ids.len());
        for (file, id) in part.files.iter().zip(ids) {
            let change = match self.head.entries.get(&file.path) {
                None => FileChange::Added,
                Some(entry) if *entry == (Entry { id, mode: FILE }) => FileChange::Unchanged,
                Some(_) => FileChange::Changed,
            };
            if change != FileChange::Unchanged {
                self.objects.add(ObjectType::Blob, id, file.path.as_str(), file.bytes().to_vec())?;
            }
            changes.push((&file.path, change));
            self.meant.insert(file.path.clone(), id);
        }
        self.changes.record_part(&part.id, changes);
        self.guard.see(part, &self.changes);
        Ok(())
    }
}

impl fmt::Debug for CommitSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommitSink").field("repository", &self.repository).finish_non_exhaustive()
    }
}

impl CommitSink {
    /// Creates a sink for the repository that contains the fleet.
    pub fn open(workspace: &Workspace) -> Result<Self, Fault> {
        let repository = Repository::discover(workspace)?;
        // The definitions may refer to a release that this completes, so it comes before they are read.
        ReleaseRun::finish(workspace, &repository)?;
        let disk = DiskSink::new(workspace);
        Ok(Self {
            workspace: workspace.clone(),
            repository,
            disk,
            open: None,
            input: None,
            subject: None,
            claims: false,
            guard: None,
        })
    }

    /// Also commits the sources of this input: the bytes that were read, even if a file was saved since.
    #[must_use]
    pub fn with_sources(mut self, input: &Input) -> Self {
        self.input = Some(input.clone());
        self
    }

    /// Replaces the subject of the message with this text.
    #[must_use]
    pub fn with_subject(mut self, subject: &str) -> Self {
        self.subject = Some(subject.trim().to_owned());
        self
    }

    /// Ends the message with trailers that show later whether someone changed the commit: [`pull_request::with_claim`].
    #[must_use]
    pub fn with_claim(mut self) -> Self {
        self.claims = true;
        self
    }

    /// Commits only if this function returns true. It gets the changes, and reports what must not be committed.
    #[must_use]
    pub fn with_guard(mut self, guard: impl Fn(&Changes, &mut Notes) -> bool + 'static) -> Self {
        self.guard = Some(Box::new(guard));
        self
    }

    /// Calls `tell` after each milestone. An error ends the run there, as the end of the process would.
    #[must_use]
    pub fn on_milestone(mut self, tell: impl FnMut(Milestone) -> Result<(), Fault> + Send + 'static) -> Self {
        self.disk = self.disk.on_milestone(tell);
        self
    }

    /// Drops all files of HEAD that no part contains. Returns false if HEAD or the index has files that the program did not
    /// write.
    fn drop_stale(&mut self, notes: &mut Notes) -> Result<bool, Fault> {
        let Self { workspace, repository, disk, open, .. } = self;
        let open = begun(open.as_mut())?;
        let mut found = Notes::new();
        let stays = |path: &TreePath| disk.is_written(path) || disk.is_kept(path);
        for path in &open.head.strange {
            note_foreign_in_head(&mut found, path);
        }
        for (path, entry) in &open.head.entries {
            if entry.is_folder() || stays(path) {
                continue;
            }
            // The files on disk have already been checked.
            let known =
                disk.is_on_disk(path) || entry.is_file() && repository.has_ours(entry.id, path.as_str())?;
            if !known {
                note_foreign_in_head(&mut found, path.as_str());
            }
            open.changes.record_removed(path.clone());
        }
        let old = |path: &TreePath| {
            let Some(entry) = open.head.entries.get(path) else { return Ok(None) };
            let blob = repository.inner.find_blob(entry.id);
            let blob =
                blob.map_err(|error| Fault::because(format!("cannot read `{path}` of HEAD"), error))?;
            Ok(Some(blob.content().to_vec()))
        };
        open.guard.judge(
            &open.changes,
            Before {
                text: &old,
                facts: &|_| None,
                published: &|_| true,
                definitions: &|| former_definitions(workspace.root(), read_plain),
                lost: Severity::Warning,
            },
            &mut found,
        )?;
        for (path, id) in open.index.entries()? {
            let known = TreePath::parse(&path).is_some_and(|path| {
                stays(&path)
                    || is_in_numbered_release(&path)
                    || open.head.entries.contains_key(&path)
                    || disk.is_on_disk(&path)
            });
            if !known && !repository.has_ours(id, &path)? {
                note_foreign(&mut found, &path, "the index has this file, but stackloom did not write it");
            }
        }
        let clear = found.errors() == 0;
        notes.append(found);
        Ok(clear)
    }

    /// Compares the sources with HEAD. Returns whether they can be committed.
    fn compare_sources(&mut self, notes: &mut Notes) -> Result<bool, Fault> {
        let Self { workspace, repository, open, input, .. } = self;
        let (Some(input), open) = (input, begun(open.as_mut())?) else { return Ok(true) };
        let mut found = Notes::new();
        let sources =
            Sources::compare(workspace, repository, open.tip.commit(), input, &mut open.objects, &mut found)?;
        open.changes.sources.clone_from(&sources.fates);
        open.sources = Some(sources);
        let clear = found.errors() == 0;
        notes.append(found);
        Ok(clear)
    }

    fn may_commit(&self, notes: &mut Notes) -> Result<bool, Fault> {
        let changes = &begun(self.open.as_ref())?.changes;
        Ok(self.guard.as_ref().is_none_or(|guard| guard(changes, notes)))
    }

    /// Writes the trees. Returns the tree of the new commit, if it differs from that of HEAD.
    fn write_trees(&mut self) -> Result<Option<Oid>, Fault> {
        let Self { repository, disk, open, .. } = self;
        let open = begun(open.as_mut())?;
        let kept = open.head.entries.iter().filter(|(path, entry)| {
            is_numbered_release(path) && entry.is_folder()
                || disk.is_kept(path) && !open.meant.contains_key(*path)
        });
        let mut entries: BTreeMap<TreePath, Entry> =
            kept.map(|(path, entry)| (path.clone(), *entry)).collect();
        entries.extend(open.meant.iter().map(|(path, id)| (path.clone(), Entry { id: *id, mode: FILE })));
        let root = match &open.sources {
            Some(sources) => with_files(repository, open.head.root, &sources.changes, &mut open.objects)?,
            None => open.head.root,
        };
        let tree = open.head.write(repository, root, &entries, &mut open.objects)?;
        if tree == open.head.root {
            return Ok(None);
        }
        open.objects.flush()?;
        Ok(tree)
    }

    /// Writes the commit, and points the branch to it.
    fn write_commit(&mut self, tree: Oid, message: &str) -> Result<Oid, Fault> {
        let open = begun(self.open.as_mut())?;
        let commit = commit(&self.repository, &open.tip, &open.objects, tree, message)?;
        self.disk.tell(Milestone::Objects)?;
        let subject = message.lines().next().unwrap_or_default();
        move_reference(&self.repository, &open.tip, commit, subject)?;
        self.disk.tell(Milestone::Reference)?;
        Ok(commit)
    }

    /// Ends the run and releases its locks. Returns the changes that it found.
    fn end(&mut self) -> Changes {
        self.disk.abandon();
        self.open.take().map(|open| open.changes).unwrap_or_default()
    }

    /// Updates the work tree and the index to match the commit.
    fn follow(&mut self, removed: &[TreePath]) -> Result<BTreeSet<TreePath>, Fault> {
        let on_disk = self.disk.publish(removed)?;
        let fresh: BTreeSet<TreePath> = on_disk.files.into_keys().collect();
        let open = begun(self.open.as_mut())?;
        open.changes.left = on_disk.left;
        let disk = &self.disk;
        let meant = IntendedEntries {
            files: &open.meant,
            fresh: &fresh,
            unlike: &BTreeSet::new(),
            leave: &|path| is_in_numbered_release(path) || disk.is_kept(path),
            beside: None,
            sources: open.sources.as_ref(),
        };
        open.index.update(&meant, self.workspace.root())?;
        self.disk.tell(Milestone::Index)?;
        Ok(fresh)
    }
}

impl Sink for CommitSink {
    fn begin(&mut self, notes: &mut Notes) -> Result<(), Fault> {
        self.open = None;
        let repository = &self.repository;
        Repository::refuse_other_index()?;
        repository.refuse_unfinished()?;
        repository.identity()?;
        ReleaseRun::finish(&self.workspace, repository)?;
        let index = LockedIndex::take(repository)?;
        self.disk.tell(Milestone::Locked)?;
        let tip = repository.tip()?;
        let head = Listing::read(repository, tip.commit())?;
        let objects = Objects::new(repository);
        let (meant, changes) = (BTreeMap::new(), Changes::default());
        let guard = Guard::default();
        self.open = Some(Open { index, tip, head, objects, meant, guard, changes, sources: None });
        self.disk.begin(notes)
    }

    fn parts(&mut self, parts: Vec<Part>) -> Result<(), Fault> {
        let open = begun(self.open.as_mut())?;
        // Twice as fast as libgit2, which also looks for attempts to forge a hash: nobody forges what the program writes.
        let hash = |file: &File| Oid::from_bytes(&file.id().0);
        let ids: Vec<Vec<Oid>> = parts
            .par_iter()
            .map(|part| part.files.iter().map(hash).collect())
            .collect::<Result<_, _>>()
            .map_err(|error| Fault::because("cannot hash a file", error))?;
        for (part, ids) in parts.iter().zip(ids) {
            open.take(part, ids)?;
        }
        self.disk.parts(parts)
    }

    fn current(&self, path: &TreePath) -> Result<Option<String>, Fault> {
        self.disk.current(path)
    }

    fn keep(&mut self, folder: TreePath) {
        self.disk.keep(folder);
    }

    fn sweep(&mut self, folder: TreePath) {
        self.disk.sweep(folder);
    }

    fn commit(&mut self, notes: &mut Notes, message: &dyn Fn(&Changes) -> String) -> Result<Changes, Fault> {
        let removed = match self.disk.finish(notes)? {
            Some(removed)
                if self.drop_stale(notes)? & self.compare_sources(notes)? && self.may_commit(notes)? =>
            {
                removed
            }
            _ => return Ok(self.end()),
        };
        let tree = self.write_trees()?;
        let text = message(&begun(self.open.as_ref())?.changes);
        let text = match (&self.subject, text.split_once('\n')) {
            (Some(subject), Some((_, rest))) => format!("{subject}\n{rest}"),
            (Some(_), None) | (None, _) => text,
        };
        let text = match tree.filter(|_| self.claims) {
            Some(tree) => pull_request::with_claim(&text, &tree.to_string()),
            None => text,
        };
        let commit = tree.map(|tree| self.write_commit(tree, &text)).transpose()?;
        let fresh = self.follow(&removed).map_err(|fault| left_behind(commit, fault))?;
        let mut changes = self.end();
        changes.commit = commit.map(|id| id.to_string());
        changes.repaired = fresh.into_iter().filter(|path| !changes.files.contains_key(path)).collect();
        Ok(changes)
    }
}
