//! Provenance: where the fields of a renderer's objects come from.
//!
//! A renderer knows the fields of its engine's objects, and names what it composes each of them from. `explain` knows where
//! that is written.

use super::{AppliedFolder, Facts, Purpose};
use crate::{
    plan::Unit,
    yaml::{Node, Path, Segment},
};

/// A field that the program composes.
#[derive(Clone, Copy, Debug)]
pub struct ComposedField<'a> {
    pub object: &'a Node,
    pub path: &'a Path,
    /// The value of the field.
    pub node: &'a Node,
    /// What is known about the object.
    pub facts: &'a Facts,
}

impl<'a> ComposedField<'a> {
    /// The kind of the object.
    pub(super) fn kind(&self) -> &'a str {
        self.object.get("kind").and_then(Node::as_str).unwrap_or_default()
    }

    /// The name of the addon that the object belongs to.
    pub(super) fn addon(&self) -> Option<&'a str> {
        self.facts.addon()
    }

    /// The unit that the object waits for at the index in its path.
    pub(super) fn awaited(&self) -> Option<&'a Unit> {
        let Purpose::Applies { after, .. } = &self.facts.purpose else { return None };
        let index = self.path.segments().iter().find_map(|segment| match segment {
            Segment::Item(index) => Some(*index),
            Segment::Key(_) => None,
        });
        after.get(index?)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Provenance<'a> {
    /// A key of the cluster's definition.
    Definition(&'static [&'static str]),
    /// The namespace that the object belongs to.
    Namespace,
    /// The management cluster.
    Management,
    FleetName,
    /// A key of the management cluster, in the fleet file.
    Fleet(Vec<&'a str>),
    /// A key of the object that tells the engine where to read the tree.
    Source(&'a str),
    /// The branch or the tag that the engine reads.
    SourceReference,
    /// The name of a unit that the object waits for.
    Unit(&'a Unit),
    /// The name of what the object applies.
    Applied(&'a AppliedFolder),
    /// The folder of what the object applies.
    Folder(&'a AppliedFolder),
    /// The dependencies of the addon.
    Dependencies {
        /// Whether only those with charts are meant; otherwise those with manifests.
        charts: bool,
        /// Whether all addons of an earlier stage are meant, too.
        of_stages: bool,
    },
    /// The name of the object that installs a dependency of the addon.
    Installer(&'a str),
    /// Whether the cluster or addon is suspended.
    Suspension,
    /// The reason for the removal of the addon.
    AddonRemoval,
    /// The selection of the cluster's release.
    ReleaseChoice,
    /// A key of the addon's definition.
    Addon(&'static [&'static str]),
    AddonVersion,
    /// The addon's chart repository, or the mirror used instead.
    AddonRepository,
    /// A repository that a project allows, by its URL: the fleet's, or that of a chart.
    Repository(&'a str),
    AddonValues,
    /// A key of an entry of the addon's `valuesFrom`.
    AddonValuesFrom(&'a str),
    /// A chart that all clusters share, by the name of its object.
    Chart(&'a str, ChartProvenance),
    /// Nothing: the program always writes this value, for the given reason.
    Program(&'static str),
}

/// What a field of a shared chart is composed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChartProvenance {
    /// The chart, its repository and its version.
    Identity,
    Version,
    /// The name of the chart within its repository.
    Name,
    Repository,
}
