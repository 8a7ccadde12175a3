//! A tree generated earlier: `generated/` at a revision, on disk, or in memory.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use k8s_schema::value::text;

use super::{
    address::Address,
    definitions::applied,
    state::{
        BlobId, ByAddress, ClassCache, ClassName, ClusterFile, ClusterFiles, FolderId, State, Unread, read,
    },
};
use crate::{
    model::{ClusterId, Label, ManagementCluster},
    note::Fault,
    render,
    topology::{SharedClass, import::Objects},
    tree::TreePath,
};

/// Stores the files of a tree.
pub trait Archive: Sync {
    /// Lists the files below a folder, by their paths relative to the fleet's root. Empty if the folder does not exist.
    fn list(&self, folder: &str) -> Result<BTreeMap<String, BlobId>, Fault>;

    /// The ID of a file; none if it does not exist.
    fn id(&self, path: &str) -> Result<Option<BlobId>, Fault>;

    /// Reads the text of a listed file.
    fn read(&self, id: &BlobId) -> Result<String, Fault>;

    /// Outlines `generated/`, so that equal clusters need not be listed.
    fn outline(&self) -> Result<Outline, Fault> {
        Ok(Outline::of(&self.list("generated")?))
    }

    /// Lists a cluster's folder of the outline. An archive may know a shorter way to it than its path.
    fn list_cluster(&self, folder: &str, _id: &FolderId) -> Result<BTreeMap<String, BlobId>, Fault> {
        self.list(folder)
    }
}

/// The generated files of an archive. The folder of each cluster is an ID instead of its files: a large fleet has ten times
/// more files than clusters, and most clusters are equal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// The files outside the folders of clusters, by path.
    pub files: BTreeMap<String, BlobId>,
    /// The folders of clusters, by path.
    pub clusters: BTreeMap<String, FolderId>,
}

impl Outline {
    /// The outline of a full listing.
    pub fn of(listing: &BTreeMap<String, BlobId>) -> Self {
        let mut found = Self::default();
        let mut clusters: BTreeMap<&str, Vec<(&str, BlobId)>> = BTreeMap::new();
        for (path, id) in listing {
            match cluster_folder(path) {
                Some(folder) => {
                    let inside = &path[folder.len() + 1..];
                    clusters.entry(folder).or_default().push((inside, *id));
                }
                None => drop(found.files.insert(path.clone(), *id)),
            }
        }
        found.clusters =
            clusters.iter().map(|(folder, files)| ((*folder).to_owned(), FolderId::of(files))).collect();
        found
    }
}

/// The folder of the cluster that a file belongs to: `generated/management/<management>/clusters/<namespace>/<cluster>`.
pub fn cluster_folder(path: &str) -> Option<&str> {
    let mut ends = path.match_indices('/').map(|(at, _)| at);
    let end = ends.nth(5)?;
    let folder = &path[..end];
    is_cluster_folder(folder).then_some(folder)
}

pub fn is_cluster_folder(path: &str) -> bool {
    let mut steps = path.split('/');
    let known = [steps.next(), steps.next(), steps.next().map(|_| ""), steps.next()];
    known == [Some("generated"), Some("management"), Some(""), Some("clusters")] && steps.count() == 2
}

/// A generated tree.
pub struct GeneratedTree<'a> {
    archive: &'a dyn Archive,
    management: Vec<Arc<ManagementCluster>>,
    clusters: OnceLock<BTreeMap<ClusterId, FolderId>>,
    classes: ClassCache,
}

impl<'a> GeneratedTree<'a> {
    /// The tree of an archive. The management clusters are passed in, because a tree does not record what they run.
    pub fn new(archive: &'a dyn Archive, management: &[Arc<ManagementCluster>]) -> Self {
        Self {
            archive,
            management: management.to_vec(),
            clusters: OnceLock::new(),
            classes: ClassCache::default(),
        }
    }

    fn outlined(&self) -> Result<&BTreeMap<ClusterId, FolderId>, Fault> {
        if let Some(known) = self.clusters.get() {
            return Ok(known);
        }
        let folders = self.archive.outline()?.clusters.into_iter();
        let found = folders.filter_map(|(folder, id)| Some((owner(&folder)?, id))).collect();
        Ok(self.clusters.get_or_init(|| found))
    }

    /// The files of a class. A tree may be edited by hand, so a Cluster may refer to a name that no file can have.
    fn list_class(&self, release: &str) -> Result<BTreeMap<String, BlobId>, Fault> {
        let folder = TreePath::parse(&class_folder(release));
        folder.map_or_else(|| Ok(BTreeMap::new()), |folder| self.archive.list(folder.as_str()))
    }

    /// Reads the class of a release, with its templates.
    fn read_class(
        &self,
        release: &str,
        management: &ManagementCluster,
    ) -> Result<Result<SharedClass, Unread>, Fault> {
        let folder = class_folder(release);
        let mut objects = Objects::default();
        for (path, id) in self.list_class(release)? {
            if let Err(unread) = objects.read(&path, &self.archive.read(&id)?) {
                return Ok(Err(Unread { path, line: Some(unread.line), message: unread.message }));
            }
        }
        let class = objects.classes().find(|one| text(&one.object, &["metadata", "name"]) == release);
        let Some(mut files) = class.map(|class| objects.files_of(&class.object)) else {
            let message = format!("it does not have the class `{release}`");
            return Ok(Err(Unread { path: folder, line: None, message }));
        };
        applied(&mut files.objects, management);
        Ok(Ok(files.into()))
    }
}

impl State for GeneratedTree<'_> {
    fn clusters(&self) -> Result<Vec<ClusterId>, Fault> {
        Ok(self.outlined()?.keys().cloned().collect())
    }

    fn files(&self, cluster: &ClusterId) -> Result<ClusterFiles, Fault> {
        let folder = render::folder_of_cluster(cluster);
        let files = match self.clusters.get().map(|known| known.get(cluster)) {
            Some(None) => BTreeMap::new(),
            Some(Some(id)) => self.archive.list_cluster(folder.as_str(), id)?,
            None => self.archive.list(folder.as_str())?,
        };
        let file = |(path, id): (String, BlobId)| {
            let inside = path.strip_prefix(folder.as_str())?.strip_prefix('/')?;
            is_yaml_file(inside).then(|| ClusterFile::stored(inside.to_owned(), id))
        };
        Ok(ClusterFiles::Known(files.into_iter().filter_map(file).collect()))
    }

    fn content(&self, cluster: &ClusterId) -> Result<Option<FolderId>, Fault> {
        Ok(self.outlined()?.get(cluster).copied())
    }

    fn text(&self, id: &BlobId) -> Result<String, Fault> {
        self.archive.read(id)
    }

    fn releases(&self) -> Result<Vec<String>, Fault> {
        let files = self.archive.list(RELEASES)?;
        let mut names: Vec<String> =
            files.keys().filter_map(|path| Some(path.split('/').nth(2)?.to_owned())).collect();
        names.dedup();
        Ok(names)
    }

    fn class_objects(&self, release: &str) -> Result<Result<ByAddress, Unread>, Fault> {
        let mut objects = BTreeMap::new();
        for (path, id) in self.list_class(release)? {
            match read(&path, self.archive.read(&id)?) {
                Ok(object) => drop(objects.insert(Address::of(&object), object)),
                Err(unread) => return Ok(Err(unread)),
            }
        }
        Ok(Ok(objects))
    }

    fn class(
        &self,
        class: &ClassName,
        management: &ManagementCluster,
    ) -> Result<Result<SharedClass, Unread>, Fault> {
        self.classes.get(class, management, || self.read_class(&class.name, management))
    }

    fn management(&self, name: &Label) -> Option<Arc<ManagementCluster>> {
        self.management.iter().find(|one| one.name == *name).cloned()
    }
}

/// The folder of all releases.
const RELEASES: &str = "generated/releases";

fn class_folder(release: &str) -> String {
    format!("{RELEASES}/{release}/cluster-class")
}

/// The cluster that a folder belongs to.
fn owner(folder: &str) -> Option<ClusterId> {
    let mut names = folder.split('/').skip(2);
    let mut label = |step| Label::new(names.nth(step)?).ok();
    Some(ClusterId { management: label(0)?, namespace: label(1)?, name: label(0)? })
}

fn is_yaml_file(path: &str) -> bool {
    std::path::Path::new(path).extension().is_some_and(|extension| extension == "yaml")
}

/// A tree in memory, for tests and for parts that were just rendered.
#[derive(Clone, Debug, Default)]
pub struct MemoryArchive {
    files: BTreeMap<String, BlobId>,
    texts: BTreeMap<BlobId, String>,
}

impl MemoryArchive {
    /// Adds a file.
    pub fn add(&mut self, path: &str, text: &str) {
        let id = BlobId::of(text.as_bytes());
        self.files.insert(path.to_owned(), id);
        self.texts.insert(id, text.to_owned());
    }
}

impl Archive for MemoryArchive {
    fn list(&self, folder: &str) -> Result<BTreeMap<String, BlobId>, Fault> {
        let inside = |path: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        Ok(self.files.iter().filter(|(path, _)| inside(path)).map(|(path, id)| (path.clone(), *id)).collect())
    }

    fn id(&self, path: &str) -> Result<Option<BlobId>, Fault> {
        Ok(self.files.get(path).copied())
    }

    fn read(&self, id: &BlobId) -> Result<String, Fault> {
        self.texts.get(id).cloned().ok_or_else(|| Fault::new("there is no such file"))
    }
}
