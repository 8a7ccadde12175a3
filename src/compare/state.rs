//! A state of the fleet: which clusters there are, the files of each, and the classes that they name.

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

/// One side of a comparison.
pub trait State: Sync {
    /// The clusters that there are.
    fn clusters(&self) -> Result<Vec<ClusterId>, Fault>;

    /// The files of a cluster, in order of their paths.
    fn files(&self, cluster: &ClusterId) -> Result<Files, Fault>;

    /// The text of a file that is stored.
    fn text(&self, id: &BlobId) -> Result<String, Fault>;

    /// The releases whose classes are there, by name.
    fn releases(&self) -> Result<Vec<String>, Fault>;

    /// The objects of a release's class, as its files have them.
    fn class_objects(&self, release: &str) -> Result<Result<ByAddress, Unread>, Fault>;

    /// A class with its templates, as a management cluster has it; else why it is not known.
    fn class(
        &self,
        class: &ClassName,
        management: &ManagementCluster,
    ) -> Result<Result<SharedClass, Unread>, Fault>;

    /// A management cluster.
    fn management(&self, name: &Label) -> Option<Arc<ManagementCluster>>;

    /// What is known of a Cluster that runs; none where the state knows only files.
    fn running(&self, _cluster: &ClusterId) -> Option<Running> {
        None
    }
}

/// Objects by what they are called.
pub type ByAddress = BTreeMap<Address, Node>;

/// The class that a Cluster names.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClassName {
    /// Its namespace.
    pub namespace: String,
    /// Its name, which is that of its release.
    pub name: String,
}

impl ClassName {
    /// The class that a Cluster names.
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
pub enum Files {
    /// As they are, or as they would be.
    Known(Vec<File>),
    /// None would be written, and why.
    Refused(String),
}

/// A file of a cluster.
#[derive(Clone, Debug)]
pub struct File {
    /// Its path in the folder of the cluster.
    pub path: String,
    id: OnceLock<BlobId>,
    body: Body,
}

#[derive(Clone, Debug)]
enum Body {
    /// The object is known, with the first line of its file.
    Drawn(Node, Arc<str>),
    /// It is read when it is needed.
    Stored,
}

/// Git's name for the content of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlobId(pub [u8; 20]);

impl BlobId {
    /// The name of a content.
    pub fn of(bytes: &[u8]) -> Self {
        let mut hash = Sha1::new();
        hash.update(format!("blob {}\0", bytes.len()));
        hash.update(bytes);
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

impl File {
    /// A file that would be written.
    pub fn drawn(path: String, node: Node, first_line: Arc<str>) -> Self {
        Self { path, id: OnceLock::new(), body: Body::Drawn(node, first_line) }
    }

    /// A file that is stored somewhere.
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

    /// Whether two files have the same content. Nothing is read for that.
    pub fn is_same(&self, other: &Self) -> bool {
        match (&self.body, &other.body) {
            (Body::Drawn(one, _), Body::Drawn(other, _)) => one == other,
            _ => self.id() == other.id(),
        }
    }

    /// The object in the file.
    pub(super) fn object(&self, state: &dyn State) -> Result<Result<Node, Unread>, Fault> {
        match &self.body {
            Body::Drawn(node, _) => Ok(Ok(node.clone())),
            Body::Stored => Ok(read(&self.path, state.text(&self.id())?)),
        }
    }
}

/// Reads the object of a file.
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

/// Classes by name and management cluster, each made once.
#[derive(Debug, Default)]
pub struct Classes(RwLock<BTreeMap<(ClassName, Label), Result<SharedClass, Unread>>>);

impl Classes {
    /// The class of a release, as a management cluster has it.
    pub fn of_release(&self, release: &Release, management: &ManagementCluster) -> SharedClass {
        let class = ClassName { namespace: String::new(), name: release.name.clone() };
        let make = || with_templates(release, management);
        self.get(&class, management, || Ok(Ok(make()))).ok().and_then(Result::ok).unwrap_or_else(make)
    }

    /// A class, made if it is new.
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
        // Another thread may have been faster: all are to share one.
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        Ok(known.entry(key).or_insert(made).clone())
    }
}
