//! Files that git tracks, and which of them are missing from the work tree on purpose.

use std::{
    collections::BTreeSet,
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};

use git2::{Index, IndexEntry, IndexEntryExtendedFlag, Repository};

use crate::{note::Fault, world::is_input};

/// The file that selects the files of a sparse checkout, in the folder of its repository.
const SPARSE: &str = "info/sparse-checkout";

/// The index of the repository around a folder.
struct FolderIndex {
    index: Index,
    /// The folder's path in the repository, with a slash at its end; empty at the top.
    prefix: String,
}

impl FolderIndex {
    /// Finds the index. None if there is no repository that libgit2 can read: then git confirms nothing. The error is the
    /// folder of a repository whose index cannot be read.
    fn find(root: &Path) -> Result<Option<Self>, PathBuf> {
        let Some((repository, prefix)) = repository_around(root) else { return Ok(None) };
        let index = repository.index().map_err(|_| repository.path().to_path_buf())?;
        Ok(Some(Self { index, prefix }))
    }

    fn path(&self, entry: &IndexEntry) -> Option<String> {
        Some(std::str::from_utf8(&entry.path).ok()?.strip_prefix(&self.prefix)?.to_owned())
    }
}

/// The repository around a folder, and the folder's path in it, as in [`FolderIndex`].
fn repository_around(root: &Path) -> Option<(Repository, String)> {
    let repository = Repository::discover(root).ok()?;
    let top = repository.workdir()?.canonicalize().ok()?;
    let inside = root.canonicalize().ok()?.strip_prefix(top).ok()?.to_str()?.to_owned();
    Some((repository, if inside.is_empty() { inside } else { format!("{inside}/") }))
}

/// Whether the index of a repository cannot say of any file that it is left out of the work tree: the format's second version
/// has no such flags. To read and verify an index of a hundred thousand files takes a fifth of a second.
fn hides_nothing(repository: &Repository) -> bool {
    const START: &[u8] = b"DIRC\0\0\0\x02";
    let mut start = Vec::with_capacity(START.len());
    let read = File::open(repository.path().join("index"))
        .and_then(|index| index.take(START.len() as u64).read_to_end(&mut start));
    read.is_ok() && start == START && !repository.path().join(SPARSE).exists()
}

/// The files below a folder that git tracks, by their paths from `root`.
pub(in crate::io) fn tracked(root: &Path, folder: &str) -> BTreeSet<String> {
    let Ok(Some(around)) = FolderIndex::find(root) else { return BTreeSet::new() };
    let paths = around.index.iter().filter_map(|entry| around.path(&entry));
    paths.filter(|path| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))).collect()
}

/// Refuses a sparse checkout that leaves sources out of the work tree, because they would look deleted.
pub(in crate::io) fn refuse_hidden_sources(root: &Path) -> Result<(), Fault> {
    if repository_around(root).is_some_and(|(repository, _)| hides_nothing(&repository)) {
        return Ok(());
    }
    let found = match FolderIndex::find(root) {
        Ok(found) => found,
        Err(folder) if folder.join(SPARSE).exists() => {
            return Err(Fault::new(
                "the index of this sparse checkout cannot be read, so sources may be left out",
            )
            .hint("turn off what libgit2 cannot read: `git sparse-checkout reapply --no-sparse-index`"));
        }
        Err(_) => None,
    };
    let Some(around) = found else { return Ok(()) };
    let flag = IndexEntryExtendedFlag::SKIP_WORKTREE.bits();
    let mut hidden = around.index.iter().filter(|entry| entry.flags_extended & flag != 0);
    let source = hidden.find_map(|entry| {
        let path = around.path(&entry).filter(|path| is_input(path))?;
        // A file that exists despite the flag is not hidden.
        (!root.join(&path).exists()).then_some(path)
    });
    match source {
        None => Ok(()),
        Some(path) => Err(Fault::new(format!("a sparse checkout leaves out the source `{path}`"))
            .hint("add the whole fleet: `git sparse-checkout add` with its folders, or `git sparse-checkout disable`")),
    }
}
