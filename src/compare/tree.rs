//! A tree generated earlier: `generated/` at a revision, on disk, or in memory.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use k8s_schema::value::text;

use super::{
    address::Address,
    definitions::applied,
    state::{BlobId, ByAddress, ClassName, Classes, File, Files, State, Unread, read},
};
use crate::{
    model::{ClusterId, Label, ManagementCluster},
    note::Fault,
    render,
    topology::{SharedClass, import::Objects},
    tree::{PartId, TreePath},
};

/// Stores the files of a tree.
pub trait Archive: Sync {
    /// Lists the files below a folder, by their paths relative to the fleet's root. Empty if the folder does not exist.
    fn list(&self, folder: &str) -> Result<BTreeMap<String, BlobId>, Fault>;

    /// Reads the text of a listed file.
    fn read(&self, id: &BlobId) -> Result<String, Fault>;
}

/// A generated tree.
pub struct Tree<'a> {
    archive: &'a dyn Archive,
    management: Vec<Arc<ManagementCluster>>,
    listed: OnceLock<BTreeMap<ClusterId, Vec<File>>>,
    classes: Classes,
}

impl<'a> Tree<'a> {
    /// The tree of an archive. The management clusters are passed in, because a tree does not record what they run.
    pub fn new(archive: &'a dyn Archive, management: &[Arc<ManagementCluster>]) -> Self {
        Self {
            archive,
            management: management.to_vec(),
            listed: OnceLock::new(),
            classes: Classes::default(),
        }
    }

    fn listed(&self) -> Result<&BTreeMap<ClusterId, Vec<File>>, Fault> {
        if let Some(listed) = self.listed.get() {
            return Ok(listed);
        }
        let mut found: BTreeMap<ClusterId, Vec<File>> = BTreeMap::new();
        for (path, id) in self.archive.list("generated/management")? {
            if let Some((cluster, inside)) = place(&path) {
                found.entry(cluster).or_default().push(File::stored(inside, id));
            }
        }
        Ok(self.listed.get_or_init(|| found))
    }

    /// Reads the class of a release, with its templates.
    fn read_class(
        &self,
        release: &str,
        management: &ManagementCluster,
    ) -> Result<Result<SharedClass, Unread>, Fault> {
        let folder = class_folder(release);
        let mut objects = Objects::default();
        for (path, id) in self.archive.list(&folder)? {
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

impl State for Tree<'_> {
    fn clusters(&self) -> Result<Vec<ClusterId>, Fault> {
        Ok(self.listed()?.keys().cloned().collect())
    }

    fn files(&self, cluster: &ClusterId) -> Result<Files, Fault> {
        if let Some(listed) = self.listed.get() {
            return Ok(Files::Known(listed.get(cluster).cloned().unwrap_or_default()));
        }
        // The full listing was never requested.
        let folder = render::folder_of_cluster(cluster);
        let files = self.archive.list(folder.as_str())?.into_iter();
        let file = |(path, id): (String, BlobId)| Some(File::stored(place(&path)?.1, id));
        Ok(Files::Known(files.filter_map(file).collect()))
    }

    fn text(&self, id: &BlobId) -> Result<String, Fault> {
        self.archive.read(id)
    }

    fn releases(&self) -> Result<Vec<String>, Fault> {
        let files = self.archive.list("generated/releases")?;
        let mut names: Vec<String> =
            files.keys().filter_map(|path| Some(path.split('/').nth(2)?.to_owned())).collect();
        names.dedup();
        Ok(names)
    }

    fn class_objects(&self, release: &str) -> Result<Result<ByAddress, Unread>, Fault> {
        let mut objects = BTreeMap::new();
        for (path, id) in self.archive.list(&class_folder(release))? {
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

fn class_folder(release: &str) -> String {
    format!("{}/cluster-class", render::release_folder(release))
}

/// The cluster whose folder contains a file, and the file's path within that folder.
fn place(path: &str) -> Option<(ClusterId, String)> {
    let PartId::Cluster { management, namespace, cluster } = PartId::of_path(&TreePath::parse(path)?)? else {
        return None;
    };
    let label = |text: &str| Label::new(text).ok();
    let id =
        ClusterId { management: label(&management)?, namespace: label(&namespace)?, name: label(&cluster)? };
    let inside = path.splitn(7, '/').nth(6)?.to_owned();
    let is_object = std::path::Path::new(&inside).extension().is_some_and(|one| one == "yaml");
    is_object.then_some((id, inside))
}

/// A tree in memory, for tests and for parts that were just rendered.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    files: BTreeMap<String, BlobId>,
    texts: BTreeMap<BlobId, String>,
}

impl Memory {
    /// Adds a file.
    pub fn add(&mut self, path: &str, text: &str) {
        let id = BlobId::of(text.as_bytes());
        self.files.insert(path.to_owned(), id);
        self.texts.insert(id, text.to_owned());
    }
}

impl Archive for Memory {
    fn list(&self, folder: &str) -> Result<BTreeMap<String, BlobId>, Fault> {
        let inside = |path: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        Ok(self.files.iter().filter(|(path, _)| inside(path)).map(|(path, id)| (path.clone(), *id)).collect())
    }

    fn read(&self, id: &BlobId) -> Result<String, Fault> {
        self.texts.get(id).cloned().ok_or_else(|| Fault::new("there is no such file"))
    }
}
