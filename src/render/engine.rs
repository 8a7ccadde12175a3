//! The interface to the engines: everything that a renderer must implement.
//!
//! The plan contains units, their order, waits and protection. A renderer turns these into the engine's own objects,
//! annotations and names. An engine is a folder with an [`Engine`] and one line in `engine_table.rs`.

use super::{ComposedField, Drawn, Provenance};
use crate::{
    model,
    plan::{ClusterPart, ClusterPlan, ManagementPlan, NamespacePlan},
    tree::TreePath,
    yaml::{Mapping, Node},
};

/// The renderer of an engine.
pub(super) trait Engine: Sync {
    fn engine(&self) -> model::Engine;

    /// Draws the engine's objects for a management cluster.
    fn management(&self, fleet: &model::Label, plan: &ManagementPlan, drawn: &mut Drawn);

    /// Draws the objects that apply a namespace. `delivered` lists the groups and kinds of the objects that addon deliveries can
    /// add to it.
    fn namespace(&self, plan: &NamespacePlan, delivered: &[(&str, &str)], drawn: &mut Drawn);

    /// Draws the objects that apply a cluster.
    fn cluster(&self, plan: &ClusterPlan, drawn: &mut Drawn);

    /// The folder of the objects that apply a cluster.
    fn cluster_folder(&self, plan: &ClusterPlan) -> TreePath;

    /// The annotations that make the engine apply an object unchanged and, if it is `kept`, never delete it when it leaves
    /// git.
    fn annotations(&self, object: &Node, kept: bool) -> Vec<(&'static str, &'static str)>;

    /// The annotations on every object of a release once the engine has applied it. The object's file has none of them.
    fn release_annotations(&self) -> Vec<(&'static str, &'static str)>;

    /// The annotations that control how the engine treats an object. Only renderers may write them.
    fn reserved_annotations(&self) -> &'static [&'static str];

    /// The annotations of hooks: whenever the engine applies such an object, it deletes the current one and creates it anew, even
    /// if it is kept.
    fn hook_annotations(&self) -> &'static [&'static str] {
        &[]
    }

    /// The text that makes the engine leave out a file, wherever it is in the file.
    fn skipping_text(&self) -> Option<&'static str> {
        None
    }

    /// What to do about an object of a kind that the engine, as it is installed, does not apply; none if it does.
    fn excludes(&self, _group: &str, _kind: &str) -> Option<&'static str> {
        None
    }

    /// Whether a file of this name changes how the engine builds the folder that it is in.
    fn is_setting(&self, _file_name: &str) -> bool {
        false
    }

    /// The labels and annotations that the engine itself adds to what it applies, for its own bookkeeping.
    fn bookkeeping(&self) -> &'static [&'static str];

    /// The API groups of the engine whose objects apply or install others.
    fn applying_groups(&self) -> &'static [&'static str];

    /// Whether the engine reads objects with this `apiVersion`.
    fn reads(&self, api_version: &str) -> bool;

    /// Where a field that the engine reads comes from; none if the field's own origin is enough.
    fn provenance<'a>(&self, field: &ComposedField<'a>) -> Option<Vec<Provenance<'a>>>;

    /// Whether the text of a generated file protects its object from deletion by the engine.
    fn is_kept(&self, text: &str) -> bool;

    /// What the annotation that protects an object contains, as a person sees it in the object.
    fn sign_of_protection(&self) -> &'static str;

    /// The arguments for `kubectl` that select the classes of some releases in a management cluster.
    fn classes_of(&self, releases: &[String]) -> String;

    /// What to add so that the engine decrypts files next to clusters; none if it already does.
    fn decryption_missing(&self, management: &model::ManagementCluster) -> Option<&'static str>;

    /// Whether the engine refuses the objects beside a cluster if one of a namespaced kind has no namespace.
    fn needs_namespaces(&self) -> bool;

    /// Why the engine does not apply an object of a kind beside a cluster; none if it does.
    fn refused_beside(&self, _group: &str, _kind: &str) -> Option<&'static str> {
        None
    }

    /// The field that stops the engine from looking at what an object applies or installs, and its value then; without a value,
    /// the engine stops if the field is missing.
    fn suspension_at(&self) -> (&'static [&'static str], Option<bool>);

    /// The field that decides what the deletion of such an object does.
    fn deletion_at(&self) -> &'static [&'static str];

    /// The engine's word for the objects that apply a cluster.
    fn appliers(&self) -> &'static str;

    /// The text of an object that lists what clusters need, with what the current one lists as well; none for other objects.
    fn merged(&self, _current: &str, _made: &str) -> Option<String> {
        None
    }

    /// What a person has to do so that a change of these parts of a cluster is applied; of the cluster as a whole, if there are
    /// none. Nothing if the engine does it. `deletes` says whether the change deletes objects.
    fn by_hand(&self, _plan: &ClusterPlan, _parts: &[ClusterPart], _deletes: bool) -> Vec<String> {
        Vec::new()
    }

    /// Why the engine does not read the fleet's repository with the Secret that the source names; none if it does.
    fn unread_secret(&self) -> Option<UnreadSecret> {
        None
    }

    /// The names under which a management cluster is registered, which no workload cluster may have, each with its registry.
    fn taken_names(&self, _management: &model::ManagementCluster) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Whether two registries of workload clusters may be one.
    fn may_be_one(&self, registry: &str, other: &str) -> bool {
        registry == other
    }

    /// The names of the clusters that the project for the addons of a namespace allows, with `*` for any text; none if it has no
    /// such project, or excludes management clusters by name.
    fn allowed_names(&self, _management: &model::ManagementCluster, _namespace: &str) -> Option<String> {
        None
    }

    /// The setting that decides under which names workload clusters are registered; none if the engine has no registry of its
    /// own.
    fn cluster_names(&self, _management: &model::ManagementCluster) -> Option<NamesSetting> {
        None
    }

    /// Whether a file has an object that applies others to the management cluster, and in which a guard looks for its target.
    fn names_target(&self, _path: &str) -> bool {
        false
    }

    /// The management cluster to which the object of such a file applies others.
    fn target(&self, _text: &str) -> Option<EngineTarget> {
        None
    }

    /// The files that hand a fleet to the engine, below the folder of its management cluster, in the order in which a person
    /// applies them.
    fn entry_files(&self) -> &'static [&'static str];

    /// The settings of a management cluster in a new fleet, as text of its definition.
    fn first_settings(&self) -> &'static str {
        ""
    }

    /// The command that lists what the engine applies, with its state.
    fn list_command(&self) -> &'static str;

    /// The name of the object that is healthy once a cluster is as its definition says.
    fn health_of(&self, cluster: &model::Cluster) -> String;
}

/// Why an engine does not read the Secret that a source names.
#[derive(Clone, Copy, Debug)]
pub struct UnreadSecret {
    /// What the engine cannot do, as a sentence.
    pub reason: &'static str,
    /// What to do instead.
    pub hint: &'static str,
}

/// The management cluster to which an object of an engine applies others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineTarget {
    /// Its name or address.
    pub cluster: String,
    /// The namespace of the engine's object.
    pub namespace: String,
    /// The settings that decide the cluster and the namespace: paths in the definition of the management cluster.
    pub settings: [&'static str; 2],
    /// Whether the engine applies them by itself.
    pub runs: bool,
}

/// The name of a workload cluster with which an engine registers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisteredName {
    pub name: String,
    /// The setting of the management cluster that decides the name.
    pub setting: &'static str,
}

/// The setting for the names under which an engine knows workload clusters.
#[derive(Clone, Debug)]
pub struct NamesSetting {
    /// Its path in the definition of a management cluster.
    pub path: &'static str,
    /// Its value: a pattern with placeholders.
    pub pattern: String,
    /// The setting that makes a management cluster known as the one that the engine of others runs in.
    pub of_hub: &'static str,
}

/// Adds annotations to an object, unless it already has them. Existing values stay, so that the checks see them.
pub(super) fn annotated(mut object: Node, annotations: &[(&str, &str)]) -> Node {
    let origin = object.origin;
    let empty = || Node::from(Mapping::new()).with_origin(origin);
    let Some(root) = object.as_mapping_mut().filter(|_| !annotations.is_empty()) else { return object };
    if root.get("metadata").is_none() {
        root.set("metadata", empty());
    }
    if let Some(metadata) = root.get_mut("metadata").and_then(Node::as_mapping_mut) {
        if metadata.get("annotations").is_none_or(Node::is_null) {
            metadata.set("annotations", empty());
        }
        if let Some(there) = metadata.get_mut("annotations").and_then(Node::as_mapping_mut) {
            for (name, value) in annotations {
                if there.get(name).is_none() {
                    there.set(name, *value);
                }
            }
        }
    }
    object
}
