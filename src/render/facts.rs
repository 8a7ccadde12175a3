//! Facts: what the fields of a renderer's objects are made of.
//!
//! A renderer knows its engine's fields, and names the facts behind each. `explain` knows where facts are written.

use crate::yaml::{Node, Path};

/// A field of an object that the program composes.
#[derive(Clone, Copy, Debug)]
pub struct Composed<'a> {
    /// The object.
    pub object: &'a Node,
    /// Where the field is.
    pub path: &'a Path,
    /// What stands there.
    pub node: &'a Node,
    /// The addon that the object's file belongs to.
    pub addon: Option<&'a str>,
}

impl<'a> Composed<'a> {
    /// The kind of the object.
    pub(super) fn kind(&self) -> &'a str {
        self.object.get("kind").and_then(Node::as_str).unwrap_or_default()
    }

    /// The name of the object.
    pub(super) fn name(&self) -> &'a str {
        self.object.at(&["metadata", "name"]).and_then(Node::as_str).unwrap_or_default()
    }

    /// What stands at the first steps of the path.
    pub(super) fn above(&self, steps: usize) -> Option<&'a Node> {
        let path = self.path.segments().iter().take(steps).cloned();
        path.fold(Path::default(), |path, segment| path.to(segment)).find(self.object)
    }
}

/// What a field is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact<'a> {
    /// A key of the cluster's definition.
    Definition(&'static [&'static str]),
    /// The namespace that the object is for.
    Namespace,
    /// The management cluster.
    Management,
    /// The name of the fleet.
    FleetName,
    /// A key of the management cluster, in the fleet's definition.
    Fleet(Vec<&'a str>),
    /// A key of the object from which the engine reads the tree.
    Source(&'a str),
    /// The name of a unit of the plan.
    Unit(&'a str),
    /// The folder of a unit.
    Folder(&'a str),
    /// The addons that this one waits for.
    Dependencies {
        /// Those that are charts; else those with manifests.
        charts: bool,
    },
    /// The name of what installs an addon that this one waits for.
    Installer(&'a str),
    /// Whether it is suspended.
    Suspension,
    /// What decides on the release of the cluster.
    ReleaseChoice,
    /// A key of the addon's definition.
    Addon(&'static [&'static str]),
    /// The version of the addon.
    AddonVersion,
    /// The addon's chart repository, or the mirror that stands in its place.
    AddonRepository,
    /// A repository that a project allows: the fleet's, or that of a chart, by its address.
    Repository(&'a str),
    /// The addon's values.
    AddonValues,
    /// A key of an entry of the addon's `valuesFrom`.
    AddonValuesFrom(&'a str),
    /// A chart that all clusters share, by the name of its object.
    Chart(&'a str, ChartFact),
    /// None: the program always writes it, for this reason.
    Program(&'static str),
}

/// What a field of a shared chart is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChartFact {
    /// The chart, its repository and its version.
    Identity,
    /// The version.
    Version,
    /// The chart's name, in its repository.
    Name,
    /// The repository.
    Repository,
}
