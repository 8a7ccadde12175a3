//! Finds where a definition chooses the origin of a cluster. Cluster API's messages about a version or a class concern
//! fields that the program generated from the release; the line to change is the one that chose the release.

use crate::{
    definition::{self, Definitions},
    model::Cluster,
    note::Place,
    topology::Refusal,
    world::Input,
    yaml::Node,
};

/// The choice of a cluster's release.
pub(super) enum Choice {
    /// The cluster's definition, with the defaults of its folders.
    Written(Node),
    /// The option `--release`.
    Option(String),
}

impl Choice {
    pub(super) fn of(cluster: &Cluster, definitions: &Definitions) -> Option<Self> {
        let layer = definitions.clusters.iter().find(|layer| *layer.source.path == *cluster.file)?;
        Some(Self::Written(definition::merged(definitions, layer)))
    }

    /// The place to change for a refusal; `None` if the definition does not choose it.
    pub(super) fn place(&self, fault: &Refusal, is_head: bool, input: &Input) -> Option<Place> {
        let Self::Written(definition) = self else { return None };
        let keys: &[&str] = match (is_head, fault.error.path() == VERSION) {
            (true, true) => &["kubernetes", "stack", "release"],
            (true, false) => &["stack", "release"],
            (false, _) => &["release"],
        };
        let node = keys.iter().find_map(|key| definition.at(&["spec", key]))?;
        input.sources.place(node.origin)
    }

    /// The option, as the prefix of a message.
    pub(super) fn option(&self) -> String {
        match self {
            Self::Written(_) => String::new(),
            Self::Option(release) => format!("`--release {release}`: "),
        }
    }
}

/// The field of a Cluster with its Kubernetes version.
const VERSION: &str = "spec.topology.version";

/// Whether a refusal is about something that the release determines: the version, or the templates of the class.
pub(super) fn is_of_release(fault: &Refusal) -> bool {
    let path = fault.error.path();
    fault.object.starts_with("Cluster/") && (path == VERSION || path.contains("templateRef"))
}
