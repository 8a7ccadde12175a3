//! A state of the fleet: its clusters, the files of each, and the classes they use.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, OnceLock, PoisonError, RwLock},
};

use sha1::{Digest as _, Sha1};

use super::{address::Address, answers::Running, definitions::with_templates};
use crate::{
    model::{ClusterId, Label, ManagementCluster},
    note::{Fault, Notes},
    release::Release,
    topology::SharedClass,
    yaml::{self, FileId, Node, Source, emit},
};

pub use crate::tree::BlobId;

/// One side of a comparison.
pub trait State: Sync {
    /// Lists the clusters.
    fn clusters(&self) -> Result<Vec<ClusterId>, Fault>;

    /// The files of a cluster, ordered by path.
    fn files(&self, cluster: &ClusterId) -> Result<ClusterFiles, Fault>;

    /// An ID of a cluster's files, if it is known without listing them. Equal IDs mean equal files.
    fn content(&self, _cluster: &ClusterId) -> Result<Option<FolderId>, Fault> {
        Ok(None)
    }

    /// The text of a stored file.
    fn text(&self, id: &BlobId) -> Result<String, Fault>;

    /// The names of the releases whose classes are present.
    fn releases(&self) -> Result<Vec<String>, Fault>;

    /// The objects of a release's class, as stored in its files.
    fn class_objects(&self, release: &str) -> Result<Result<ByAddress, Unread>, Fault>;

    /// A class with its templates, as present in a management cluster; otherwise the reason why it is unknown.
    fn class(
        &self,
        class: &ClassName,
        management: &ManagementCluster,
    ) -> Result<Result<SharedClass, Unread>, Fault>;

    fn management(&self, name: &Label) -> Option<Arc<ManagementCluster>>;

    /// What is known about a running Cluster; none if the state consists of files only.
    fn running(&self, _cluster: &ClusterId) -> Option<Running> {
        None
    }

    /// The state that shows what runs of a cluster; none if the cluster is judged by what was written.
    fn exported(&self, _cluster: &ClusterId) -> Option<&dyn State> {
        None
    }
}

/// Objects by address.
pub type ByAddress = BTreeMap<Address, Node>;

/// Identifies the class of a Cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClassName {
    pub namespace: String,
    /// Its name, which is also the name of its release.
    pub name: String,
}

impl ClassName {
    /// Reads the class reference of a Cluster.
    pub fn of(cluster: &Node) -> Self {
        let text = |path: &[&str]| cluster.at(path).and_then(Node::as_str).map(str::to_owned);
        let namespace = text(&["spec", "topology", "classRef", "namespace"]);
        Self {
            namespace: namespace.or_else(|| text(&["metadata", "namespace"])).unwrap_or_default(),
            name: text(&["spec", "topology", "classRef", "name"]).unwrap_or_default(),
        }
    }
}

/// The files of a cluster.
#[derive(Clone, Debug)]
pub enum ClusterFiles {
    /// The files as they are, or as they would be generated.
    Known(Vec<ClusterFile>),
    /// No files would be generated, for this reason.
    Refused(String),
}

/// A file of a cluster.
#[derive(Clone, Debug)]
pub struct ClusterFile {
    /// Its path relative to the folder of the cluster.
    pub path: String,
    id: OnceLock<BlobId>,
    body: Body,
}

#[derive(Clone, Debug)]
enum Body {
    /// The object is known, along with the first line of its file.
    Drawn(Node, Arc<str>),
    /// The object is read on demand.
    Stored,
}

/// Git's object ID of a folder's content: equal IDs mean equal files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FolderId(pub [u8; 20]);

impl FolderId {
    /// Computes the ID of a folder of plain files, by their paths relative to the folder. They are sorted, which is the order
    /// of git: there, a folder is sorted as if its name ended with a slash.
    pub fn of(files: &[(&str, BlobId)]) -> Self {
        Self::of_below(files, 0)
    }

    /// The same for files whose paths are the same up to a byte.
    fn of_below(mut files: &[(&str, BlobId)], start: usize) -> Self {
        let mut body = Vec::new();
        let mut entry = |mode: &str, name: &str, id: &[u8]| {
            for piece in [mode.as_bytes(), name.as_bytes(), b"\0", id] {
                body.extend_from_slice(piece);
            }
        };
        while let Some((path, id)) = files.first() {
            let Some(slash) = path[start..].find('/') else {
                entry("100644 ", &path[start..], &id.0);
                files = &files[1..];
                continue;
            };
            let inner = start + slash + 1;
            let inside = files.partition_point(|(other, _)| other.starts_with(&path[..inner]));
            let (below, rest) = files.split_at(inside);
            entry("40000 ", &path[start..inner - 1], &Self::of_below(below, inner).0);
            files = rest;
        }
        let mut hash = Sha1::new();
        hash.update(format!("tree {}\0", body.len()));
        hash.update(body);
        Self(hash.finalize().into())
    }
}

/// Why a file of a state cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// The file or folder.
    pub path: String,
    /// The line, counted from 1; none if the file or folder is not there.
    pub line: Option<usize>,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

impl ClusterFile {
    /// A file that would be generated.
    pub fn drawn(path: String, node: Node, first_line: Arc<str>) -> Self {
        Self { path, id: OnceLock::new(), body: Body::Drawn(node, first_line) }
    }

    pub fn stored(path: String, id: BlobId) -> Self {
        Self { path, id: id.into(), body: Body::Stored }
    }

    fn id(&self) -> BlobId {
        *self.id.get_or_init(|| match &self.body {
            Body::Drawn(node, first_line) => {
                let mut text = format!("{first_line}\n");
                emit(node, &mut text);
                BlobId::of(text.as_bytes())
            }
            Body::Stored => unreachable!("what is stored has a name"),
        })
    }

    /// Whether two files have the same content. Reads nothing.
    pub fn is_same(&self, other: &Self) -> bool {
        match (&self.body, &other.body) {
            (Body::Drawn(one, _), Body::Drawn(other, _)) => one == other,
            _ => self.id() == other.id(),
        }
    }

    /// Its object. `known` are files that were read before, to which this one may be added.
    pub(super) fn object(&self, state: &dyn State, known: &ReadFiles) -> Result<Result<Node, Unread>, Fault> {
        match &self.body {
            Body::Drawn(node, _) => Ok(Ok(node.clone())),
            Body::Stored => Ok(known.read(&self.path, state.text(&self.id())?)),
        }
    }
}

/// One file of each shape that was read, in either state. Others of the shape differ from it in few values.
#[derive(Debug, Default)]
pub struct ReadFiles(RwLock<BTreeMap<u64, Arc<(String, Node)>>>);

impl ReadFiles {
    /// The number of shapes at which all are forgotten, so that they do not fill the memory.
    const SHAPES: usize = 1000;

    /// Reads a file. The result may have the origins of another file of the shape.
    pub fn read(&self, path: &str, text: String) -> Result<Node, Unread> {
        let shape = yaml::shape(&text);
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner).get(&shape).cloned();
        if let Some(node) = known.as_deref().and_then(|(former, node)| yaml::read_like((former, node), &text))
        {
            return Ok(node);
        }
        let node = read(path, text.clone())?;
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= Self::SHAPES {
            all.clear();
        }
        all.insert(shape, Arc::new((text, node.clone())));
        Ok(node)
    }
}

pub(super) fn read(path: &str, text: String) -> Result<Node, Unread> {
    let mut notes = Notes::new();
    yaml::read(&Source::new(FileId(0), path, text), &mut notes).ok_or_else(|| {
        let first = notes.iter().next();
        let line = first.and_then(|note| note.place.as_ref()).map_or(1, |place| place.line);
        let message =
            first.map_or_else(|| "there is no object in it".to_owned(), |note| note.message.clone());
        Unread { path: path.to_owned(), line: Some(line), message }
    })
}

/// A cache of classes by name and management cluster. Each is made once.
#[derive(Debug, Default)]
pub struct ClassCache(RwLock<BTreeMap<(ClassName, Label), Result<SharedClass, Unread>>>);

impl ClassCache {
    /// The class of a release, as present in a management cluster.
    pub fn of_release(&self, release: &Release, management: &ManagementCluster) -> SharedClass {
        let class = ClassName { namespace: String::new(), name: release.name.clone() };
        let make = || with_templates(release, management);
        self.get(&class, management, || Ok(Ok(make()))).ok().and_then(Result::ok).unwrap_or_else(make)
    }

    /// Looks up a class; makes it on the first request.
    pub(super) fn get(
        &self,
        class: &ClassName,
        management: &ManagementCluster,
        make: impl FnOnce() -> Result<Result<SharedClass, Unread>, Fault>,
    ) -> Result<Result<SharedClass, Unread>, Fault> {
        let key = (class.clone(), management.name.clone());
        if let Some(known) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(known.clone());
        }
        let made = make()?;
        // Another thread may have been faster. All threads must share one class.
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        Ok(known.entry(key).or_insert(made).clone())
    }
}
