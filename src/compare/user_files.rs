//! Files supplied by the user: exports of running objects, or manifests. They need not belong to a fleet.

use std::sync::Arc;

use k8s_schema::value::text;
use serde_json::{Value as Json, json};

use super::{
    address::Address,
    answers::Running,
    state::{BlobId, ByAddress, ClassCache, ClassName, ClusterFile, ClusterFiles, State, Unread},
};
use crate::{
    model::{ClusterId, Label, ManagementCluster},
    note::Fault,
    render,
    topology::{
        Observed, SharedClass, admission,
        import::{ClassFiles, Imported, Objects, identity},
    },
    yaml::{Node, Origin, from_json},
};

/// The Clusters in the supplied files, with their classes and what was observed of their running objects.
#[derive(Debug)]
pub struct UserFiles<'a> {
    objects: &'a Objects,
    management: Arc<ManagementCluster>,
    all: Arc<[Json]>,
    classes: ClassCache,
}

impl<'a> UserFiles<'a> {
    /// Files of one management cluster. Compare them with [`super::DefinedState::clusters_alone`], because exports contain no
    /// addons.
    pub fn new(objects: &'a Objects, management: Arc<ManagementCluster>) -> Self {
        Self { objects, management, all: all_running(objects), classes: ClassCache::default() }
    }

    /// Whether a Cluster is among the files.
    pub(super) fn has(&self, cluster: &ClusterId) -> bool {
        self.imported(cluster).is_some()
    }

    fn imported(&self, cluster: &ClusterId) -> Option<&'a Imported> {
        let is_here = cluster.management == self.management.name;
        let found = self.objects.cluster(cluster.namespace.as_str(), cluster.name.as_str());
        found.filter(|_| is_here)
    }
}

impl State for UserFiles<'_> {
    fn clusters(&self) -> Result<Vec<ClusterId>, Fault> {
        let named = self.objects.clusters().into_iter().filter_map(|one| {
            let (namespace, name) = identity(&one.object);
            let (namespace, name) = (Label::new(namespace).ok()?, Label::new(name).ok()?);
            Some(ClusterId { management: self.management.name.clone(), namespace, name })
        });
        Ok(named.collect())
    }

    fn files(&self, cluster: &ClusterId) -> Result<ClusterFiles, Fault> {
        let file = |one: &Imported| {
            let node = from_json(&one.object, Origin::NOWHERE);
            ClusterFile::drawn(render::CLUSTER_FILE.to_owned(), node, Arc::from(""))
        };
        Ok(ClusterFiles::Known(self.imported(cluster).map(file).into_iter().collect()))
    }

    fn text(&self, _: &BlobId) -> Result<String, Fault> {
        Err(Fault::new("files that were given are not stored"))
    }

    fn releases(&self) -> Result<Vec<String>, Fault> {
        let names = self.objects.classes().map(|one| text(&one.object, &["metadata", "name"]).to_owned());
        Ok(names.collect())
    }

    fn class_objects(&self, release: &str) -> Result<Result<ByAddress, Unread>, Fault> {
        let files = self.objects.classes().find(|one| text(&one.object, &["metadata", "name"]) == release);
        let files = files.map(|one| self.objects.files_of(&one.object).objects).unwrap_or_default();
        let node = |object: &Json| from_json(object, Origin::NOWHERE);
        Ok(Ok(files.iter().map(node).map(|node: Node| (Address::of(&node), node)).collect()))
    }

    fn class(
        &self,
        class: &ClassName,
        management: &ManagementCluster,
    ) -> Result<Result<SharedClass, Unread>, Fault> {
        self.classes.get(class, management, || {
            let cluster = json!({
                "metadata": { "namespace": class.namespace },
                "spec": { "topology": { "classRef": { "namespace": class.namespace, "name": class.name } } },
            });
            // Objects missing from the class are unknown; the topology library reports that.
            let missing = || ClassFiles::absent(format!("ClusterClass/{}", class.name));
            Ok(Ok(self.objects.class_of(&cluster).unwrap_or_else(missing).into()))
        })
    }

    fn management(&self, name: &Label) -> Option<Arc<ManagementCluster>> {
        (*name == self.management.name).then(|| self.management.clone())
    }

    fn running(&self, cluster: &ClusterId) -> Option<Running> {
        let one = self.imported(cluster)?;
        let observed = Observed::of(one, self.objects).beside(self.all.clone());
        Some(Running { applied: one.applied.clone(), observed })
    }
}

/// All running Clusters as the API server stores them. They share one copy of each class.
pub fn all_running(before: &Objects) -> Arc<[Json]> {
    let stored = |one: &Imported| {
        let mut cluster = one.object.clone();
        admission::cluster::default(&mut cluster, None, None, true);
        cluster
    };
    before.clusters().into_iter().map(stored).collect()
}
