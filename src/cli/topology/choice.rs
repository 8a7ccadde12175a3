//! Where a definition chooses what a cluster is made from. What Cluster API says of a version or of a class was written by the
//! program, in the words of the release; the line to change is the one that chose the release.

use crate::{
    definition::{self, Definitions},
    model::Cluster,
    note::Place,
    topology::Refusal,
    world::Input,
    yaml::Node,
};

/// What chose the release of a cluster.
pub(super) enum Choice {
    /// Its definition, with the defaults of its folders.
    Written(Node),
    /// The option `--release`.
    Option(String),
}

impl Choice {
    /// What the definition of a cluster says.
    pub(super) fn of(cluster: &Cluster, definitions: &Definitions) -> Option<Self> {
        let layer = definitions.clusters.iter().find(|layer| *layer.source.path == *cluster.file)?;
        Some(Self::Written(definition::merged(definitions, layer)))
    }

    /// Where to change what a fault is about; `None` if that is not for the definition to say.
    pub(super) fn place(&self, fault: &Refusal, is_head: bool, input: &Input) -> Option<Place> {
        let Self::Written(definition) = self else { return None };
        let keys: &[&str] = match (is_head, fault.error.path() == VERSION) {
            (true, true) => &["kubernetes", "stack", "release"],
            (true, false) => &["stack", "release"],
            (false, _) => &["release"],
        };
        let said = keys.iter().find_map(|key| definition.at(&["spec", key]))?;
        input.sources.place(said.origin)
    }

    /// The option, to begin a message with.
    pub(super) fn option(&self) -> String {
        match self {
            Self::Written(_) => String::new(),
            Self::Option(release) => format!("`--release {release}`: "),
        }
    }
}

/// The field of a Cluster with its Kubernetes version.
const VERSION: &str = "spec.topology.version";

/// Whether a fault is about what the release brings: the version, or the templates of the class.
pub(super) fn is_of_release(fault: &Refusal) -> bool {
    let path = fault.error.path();
    fault.object.starts_with("Cluster/") && (path == VERSION || path.contains("templateRef"))
}
