//! The current definitions, or the definitions with another release for some clusters: drawn in memory, never written.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value as Json, json};

use super::address::Address;
use super::state::{BlobId, ByAddress, ClassCache, ClassName, ClusterFile, ClusterFiles, State, Unread};
use crate::{
    definition::Model,
    model::{Cluster, ClusterId, Label, ManagementCluster, ReleaseRef},
    note::{Fault, Notes, Severity},
    plan::{self, ClusterPlan, Phase},
    release::{Release, Releases},
    render,
    topology::{SharedClass, import::ClassFiles},
    yaml::to_json,
};

/// The current definitions, or the definitions with another release for some clusters.
#[derive(Clone, Debug)]
pub struct DefinedState<'a> {
    model: &'a Model,
    releases: &'a Releases,
    clusters: BTreeMap<ClusterId, &'a Cluster>,
    moved: Option<ReleaseRef>,
    /// Whether to draw only the Cluster objects.
    alone: bool,
    classes: Arc<ClassCache>,
}

impl<'a> DefinedState<'a> {
    /// All clusters as currently defined.
    pub fn new(model: &'a Model, releases: &'a Releases) -> Self {
        let clusters = model.clusters.iter().map(|cluster| (cluster.id(), cluster)).collect();
        Self { model, releases, clusters, moved: None, alone: false, classes: Arc::default() }
    }

    /// Keeps only some of the clusters.
    #[must_use]
    pub fn only(mut self, is_meant: impl Fn(&Cluster) -> bool) -> Self {
        self.clusters.retain(|_, cluster| is_meant(cluster));
        self
    }

    /// The same clusters with another release. Classes are shared with the original.
    #[must_use]
    pub fn moved(&self, release: ReleaseRef) -> Self {
        Self { moved: Some(release), ..self.clone() }
    }

    /// Draws only the Cluster objects, without addons and other objects.
    #[must_use]
    pub fn clusters_alone(mut self) -> Self {
        self.alone = true;
        self
    }

    pub(super) fn releases(&self) -> &Releases {
        self.releases
    }

    pub(super) fn classes(&self) -> &ClassCache {
        &self.classes
    }

    /// Whether a cluster is valid and stays.
    pub fn is_sound(&self, cluster: &Cluster) -> bool {
        self.sound_plan(cluster).is_ok()
    }

    /// The plan of a cluster that is valid and stays; otherwise the reason why there is none.
    pub(super) fn sound_plan(&self, cluster: &Cluster) -> Result<ClusterPlan, String> {
        let mut notes = Notes::new();
        let plan = match &self.moved {
            None => plan::plan_cluster(cluster, self.model, self.releases, &mut notes),
            Some(release) => {
                let cluster = Cluster { release: release.clone(), ..cluster.clone() };
                plan::plan_cluster(&cluster, self.model, self.releases, &mut notes)
            }
        };
        if self.alone && plan.as_ref().is_some_and(|plan| plan.phase == Phase::Deleted) {
            return Err("it is being removed".to_owned());
        }
        plan.filter(|_| notes.errors() == 0).ok_or_else(|| first_error(&notes))
    }
}

impl State for DefinedState<'_> {
    fn clusters(&self) -> Result<Vec<ClusterId>, Fault> {
        Ok(self.clusters.keys().cloned().collect())
    }

    fn files(&self, cluster: &ClusterId) -> Result<ClusterFiles, Fault> {
        let Some(cluster) = self.clusters.get(cluster) else { return Ok(ClusterFiles::Known(Vec::new())) };
        Ok(match self.sound_plan(cluster).and_then(|plan| known(&plan, self.alone)) {
            Ok(files) => ClusterFiles::Known(files),
            Err(why) => ClusterFiles::Refused(why),
        })
    }

    fn text(&self, _: &BlobId) -> Result<String, Fault> {
        Err(Fault::new("definitions have no stored files"))
    }

    fn releases(&self) -> Result<Vec<String>, Fault> {
        Ok(self.releases.names().into_iter().map(str::to_owned).collect())
    }

    fn class_objects(&self, release: &str) -> Result<Result<ByAddress, Unread>, Fault> {
        let objects =
            |release: &Release| release.objects.iter().map(|one| (Address::of(one), one.clone())).collect();
        Ok(self.releases.by_name(release).map(objects).ok_or_else(|| unknown(release, self.releases)))
    }

    fn class(
        &self,
        class: &ClassName,
        management: &ManagementCluster,
    ) -> Result<Result<SharedClass, Unread>, Fault> {
        // The class of a release is the same in every namespace.
        let class = ClassName { namespace: String::new(), name: class.name.clone() };
        self.classes.get(&class, management, || {
            Ok(match self.releases.by_name(&class.name) {
                Some(release) => Ok(with_templates(release, management)),
                None => Err(unknown(&class.name, self.releases)),
            })
        })
    }

    fn management(&self, name: &Label) -> Option<Arc<ManagementCluster>> {
        self.model.fleet.management_clusters.iter().find(|one| one.name == *name).cloned()
    }
}

fn unknown(release: &str, releases: &Releases) -> Unread {
    let message = releases.why_missing(release);
    // The reference may be edited by hand, and no path.
    Unread { path: format!("generated/releases/{release}"), line: None, message }
}

fn first_error(notes: &Notes) -> String {
    let first = notes.iter().find(|note| note.severity == Severity::Error);
    first.map(|note| note.message.clone()).unwrap_or_default()
}

/// The files of a plan, by their paths in the folder of the cluster; otherwise the reason why there are none. The engine's
/// own objects are in other folders.
fn known(plan: &ClusterPlan, alone: bool) -> Result<Vec<ClusterFile>, String> {
    let first_line: Arc<str> = render::first_line(plan).into();
    if alone {
        let object = render::cluster_object(plan);
        let file = |object| ClusterFile::drawn(render::CLUSTER_FILE.to_owned(), object, first_line.clone());
        return Ok(object.map(file).into_iter().collect());
    }
    let mut notes = Notes::new();
    let folder = render::cluster_folder(plan);
    let drawn = render::draw(render::PartSubject::Cluster(plan), &mut notes);
    if notes.errors() > 0 {
        return Err(first_error(&notes));
    }
    let objects = drawn.objects.into_iter().map(|object| (object.path, object.node));
    let values = drawn.values_files.into_iter().map(|file| (file.path, file.values));
    let mut files: Vec<ClusterFile> = objects
        .chain(values)
        .filter_map(|(path, node)| {
            let path = path.as_str().strip_prefix(folder.as_str())?.strip_prefix('/')?.to_owned();
            Some(ClusterFile::drawn(path, node, first_line.clone()))
        })
        .collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// The class of a release with its templates, as applied by the engine of a management cluster.
pub(super) fn with_templates(release: &Release, management: &ManagementCluster) -> SharedClass {
    let objects = render::applied_class(release, management);
    let (classes, templates): (Vec<Json>, Vec<_>) =
        objects.iter().map(to_json).partition(|object| object["kind"] == "ClusterClass");
    ClassFiles::new(classes.into_iter().chain(templates).collect()).into()
}

/// Adds to the objects of a class what the engine of a management cluster adds when it applies them.
pub(super) fn applied(objects: &mut [Json], management: &ManagementCluster) {
    for object in objects {
        let Some(metadata) = object.get_mut("metadata").and_then(Json::as_object_mut) else { continue };
        let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
        if let Some(annotations) = annotations.as_object_mut() {
            for (name, value) in render::class_annotations(management) {
                annotations.entry(name).or_insert_with(|| json!(value));
            }
        }
    }
}
