//! A tree, with exports that show what runs.

use std::sync::Arc;

use super::{
    state::{BlobId, ByAddress, ClassName, ClusterFiles, FolderId, State, Unread},
    user_files::UserFiles,
};
use crate::{
    model::{ClusterId, Label, ManagementCluster},
    note::Fault,
    topology::{SharedClass, import::Objects},
};

/// The objects that were exported from a management cluster.
#[derive(Debug)]
pub struct Export {
    pub management: Arc<ManagementCluster>,
    /// What runs in it.
    pub objects: Objects,
}

/// A state whose clusters are judged by their exports, if there are any: what runs may differ from what was written.
pub struct Live<'a> {
    written: &'a dyn State,
    exports: Vec<UserFiles<'a>>,
}

impl std::fmt::Debug for Live<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Live").field("exports", &self.exports).finish_non_exhaustive()
    }
}

impl<'a> Live<'a> {
    /// A state with exports; objects and fields are still compared with the state.
    pub fn new(written: &'a dyn State, exports: &'a [Export]) -> Self {
        let given = |one: &'a Export| UserFiles::new(&one.objects, one.management.clone());
        Self { written, exports: exports.iter().map(given).collect() }
    }

    /// Whether a cluster was exported.
    pub fn is_exported(&self, cluster: &ClusterId) -> bool {
        self.exports.iter().any(|one| one.has(cluster))
    }
}

impl State for Live<'_> {
    fn clusters(&self) -> Result<Vec<ClusterId>, Fault> {
        self.written.clusters()
    }

    fn files(&self, cluster: &ClusterId) -> Result<ClusterFiles, Fault> {
        self.written.files(cluster)
    }

    fn content(&self, cluster: &ClusterId) -> Result<Option<FolderId>, Fault> {
        self.written.content(cluster)
    }

    fn text(&self, id: &BlobId) -> Result<String, Fault> {
        self.written.text(id)
    }

    fn releases(&self) -> Result<Vec<String>, Fault> {
        self.written.releases()
    }

    fn class_objects(&self, release: &str) -> Result<Result<ByAddress, Unread>, Fault> {
        self.written.class_objects(release)
    }

    fn class(
        &self,
        class: &ClassName,
        management: &ManagementCluster,
    ) -> Result<Result<SharedClass, Unread>, Fault> {
        self.written.class(class, management)
    }

    fn management(&self, name: &Label) -> Option<Arc<ManagementCluster>> {
        self.written.management(name)
    }

    fn exported(&self, cluster: &ClusterId) -> Option<&dyn State> {
        self.exports.iter().find(|one| one.has(cluster)).map(|one| one as &dyn State)
    }
}
