//! The output: files in parts, and where they go.
//!
//! A tree of 10,000 clusters does not fit in memory, so it is never one value: it is made in parts, each handed to a
//! [`Sink`] and dropped. Parts have disjoint folders. Nothing that a sink was given is visible before it commits.

mod change;
mod nowhere;
mod own;
mod path;

use crate::note::{Fault, Notes};

pub use change::{Changes, FileChange, PartChange};
pub use nowhere::Nowhere;
pub use own::{GITATTRIBUTES, HEADER, HTML_HEADER, is_ours};
pub use path::TreePath;

/// A generated file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Where it goes.
    pub path: TreePath,
    /// What it holds.
    pub bytes: Vec<u8>,
}

/// What a part is of. The order is that in which parts are made.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PartId {
    /// What the tree as a whole has: `.gitattributes`.
    Root,
    /// A head release, frozen for as long as a cluster uses it.
    Release(String),
    /// What a management cluster has of its own: the engine's entry, sources, chart sources.
    Management(String),
    /// A namespace of a management cluster.
    Namespace {
        /// The management cluster.
        management: String,
        /// The namespace.
        namespace: String,
    },
    /// A cluster.
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
    /// The part whose own folder a path lies in: how a removed file tells what was removed. What lies elsewhere in
    /// the folder of a management cluster, such as the engine's objects, counts as the management cluster's own.
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
    /// What they are of.
    pub id: PartId,
    /// The files, in order of their paths.
    pub files: Vec<File>,
}

/// Where a tree goes: the disk, a git commit, a comparison, memory. Each compares with its own target.
pub trait Sink {
    /// Looks at the target: what stands in the way there (foreign files, links) goes to `notes` as errors.
    fn begin(&mut self, notes: &mut Notes) -> Result<(), Fault>;

    /// Takes parts, which it may look at side by side; still nothing is visible.
    fn parts(&mut self, parts: Vec<Part>) -> Result<(), Fault>;

    /// Files below this folder belong to no part of this run and stay as they are.
    fn keep(&mut self, folder: TreePath);

    /// Files below this folder that no part has go all the same, though it lies in a folder that is kept.
    fn sweep(&mut self, _folder: TreePath) {}

    /// Makes everything visible, and removes the program's own files that no part has any more.
    /// `message` describes the changes, for a sink that records them.
    ///
    /// Only now is it known which files no part has. One of them that the program did not write goes to `notes` as
    /// an error, and then nothing is made visible; the changes are those that would have been made.
    fn commit(&mut self, notes: &mut Notes, message: &dyn Fn(&Changes) -> String) -> Result<Changes, Fault>;
}

/// A sink in memory, for tests and for looking at a tree without writing it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// The parts that were committed.
    pub parts: Vec<Part>,
    staged: Vec<Part>,
}

impl Memory {
    /// Every committed file.
    pub fn files(&self) -> impl Iterator<Item = &File> {
        self.parts.iter().flat_map(|part| &part.files)
    }

    /// The text of a committed file.
    pub fn text(&self, path: &str) -> Option<&str> {
        let file = self.files().find(|file| file.path.as_str() == path)?;
        std::str::from_utf8(&file.bytes).ok()
    }
}

impl Sink for Memory {
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
