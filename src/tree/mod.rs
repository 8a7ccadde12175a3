//! The output: files in parts, and their destinations.
//!
//! A tree of 10,000 clusters doesn't fit in memory, so it never exists as a whole. It is made in parts; each is passed to a
//! [`Sink`] and dropped. Parts have disjoint folders. Nothing passed to a sink is visible before the sink commits.

mod change;
mod file;
mod nowhere;
mod own;
mod path;

use crate::note::{Fault, Notes};

pub use change::{Changes, FileChange, PartChange};
pub use file::{BlobId, File};
pub use nowhere::NullSink;
pub use own::{HEADER, HTML_HEADER, is_ours};
pub use path::TreePath;

/// The identity of a part. A run of the whole tree makes parts in this order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PartId {
    /// The files of the tree as a whole: `.gitattributes`.
    Root,
    /// A head release. It exists as long as a cluster uses it.
    Release(String),
    /// The files of a management cluster itself: the engine's entry point, sources, chart sources.
    Management(String),
    /// A namespace of a management cluster.
    Namespace {
        /// The management cluster.
        management: String,
        namespace: String,
    },
    Cluster {
        /// The management cluster.
        management: String,
        /// The cluster's namespace.
        namespace: String,
        /// The cluster's name.
        cluster: String,
    },
}

impl PartId {
    /// Identifies the part whose own folder contains a path, so that a removed file reveals which part was removed. Other
    /// paths in the folder of a management cluster, such as the engine's objects, belong to the management cluster.
    pub fn of_path(path: &TreePath) -> Option<Self> {
        let parts: Vec<&str> = path.as_str().split('/').skip(1).collect();
        match *parts.as_slice() {
            ["releases", release, _, ..] => Some(Self::Release(release.to_owned())),
            ["management", management, "namespaces", namespace, _, ..] => {
                Some(Self::Namespace { management: management.to_owned(), namespace: namespace.to_owned() })
            }
            ["management", management, "clusters", namespace, cluster, _, ..] => Some(Self::Cluster {
                management: management.to_owned(),
                namespace: namespace.to_owned(),
                cluster: cluster.to_owned(),
            }),
            ["management", management, _, ..] => Some(Self::Management(management.to_owned())),
            _ => None,
        }
    }
}

/// Files that are made, checked and written together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The identity of the part.
    pub id: PartId,
    /// The files, sorted by path.
    pub files: Vec<File>,
}

/// The destination of a tree: the disk, a git commit, a comparison, memory. Each compares the new tree with its own current
/// state.
pub trait Sink {
    /// Inspects the destination. Obstacles there (foreign files, links) go to `notes` as errors.
    fn begin(&mut self, notes: &mut Notes) -> Result<(), Fault>;

    /// Accepts parts, which the sink may process in parallel. Nothing becomes visible yet.
    fn parts(&mut self, parts: Vec<Part>) -> Result<(), Fault>;

    /// The text that a file has at the destination now; none if there is no such file, or the sink has none.
    fn current(&self, _path: &TreePath) -> Result<Option<String>, Fault> {
        Ok(None)
    }

    /// Declares that files below this folder belong to no part of this run and must stay as they are.
    fn keep(&mut self, folder: TreePath);

    /// Declares that files below this folder that no part has must be removed, even within a folder to keep.
    fn sweep(&mut self, _folder: TreePath) {}

    /// Makes everything visible, and removes those of the program's own files that no part has any more. `message` describes
    /// the changes, for a sink that records them.
    ///
    /// Only at this point is it known which files no part has. If the program didn't write one of them, it is reported to
    /// `notes` as an error. Then nothing becomes visible; the returned changes are those that would have been made.
    fn commit(&mut self, notes: &mut Notes, message: &dyn Fn(&Changes) -> String) -> Result<Changes, Fault>;
}

/// An in-memory sink, for tests and for examining a tree without writing it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemorySink {
    /// The committed parts.
    pub parts: Vec<Part>,
    staged: Vec<Part>,
}

impl MemorySink {
    /// Iterates over all committed files.
    pub fn files(&self) -> impl Iterator<Item = &File> {
        self.parts.iter().flat_map(|part| &part.files)
    }

    /// The text of a committed file.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files().find(|file| file.path.as_str() == path).map(|file| &**file.text())
    }
}

impl Sink for MemorySink {
    fn begin(&mut self, _notes: &mut Notes) -> Result<(), Fault> {
        self.staged.clear();
        Ok(())
    }

    fn parts(&mut self, parts: Vec<Part>) -> Result<(), Fault> {
        self.staged.extend(parts);
        Ok(())
    }

    fn keep(&mut self, _folder: TreePath) {}

    fn commit(
        &mut self,
        _notes: &mut Notes,
        _message: &dyn Fn(&Changes) -> String,
    ) -> Result<Changes, Fault> {
        let mut changes = Changes::default();
        for part in &self.staged {
            for file in &part.files {
                changes.record(&part.id, &file.path, FileChange::Added);
            }
        }
        self.parts = std::mem::take(&mut self.staged);
        Ok(changes)
    }
}
