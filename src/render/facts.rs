//! Facts about an object that its text does not say. They are recorded while it is drawn, so that `explain` need not take names
//! and paths apart.

use super::Object;
use crate::plan::Unit;

/// Facts about an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The addon that it belongs to.
    pub addon: Option<AddonPart>,
    /// Whether a template rendered it.
    pub rendered: bool,
    /// Whether its name contains the fleet's name.
    pub named_after_fleet: bool,
    /// What it is for.
    pub purpose: Purpose,
}

/// The part of an addon that an object installs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddonPart {
    /// The name of the addon.
    pub addon: String,
    pub installs: Installs,
}

/// What an object of an addon installs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Installs {
    /// The addon's chart.
    Chart,
    /// The addon's manifests.
    Manifests,
}

/// What an object is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Purpose {
    /// Its kind says so.
    #[default]
    Itself,
    /// The engine applies a folder through it.
    Applies {
        what: AppliedFolder,
        /// The units that it waits for, in the order of the object.
        after: Vec<Unit>,
        /// Whether it is in the project of a tenant namespace.
        in_tenant_project: bool,
    },
    /// It restricts what the engine's objects of a namespace may apply to the management cluster.
    ManagementProject,
    /// It restricts which addons the engine's objects of a namespace may install.
    AddonProject,
    /// The repository of the fleet.
    Source,
    /// A chart, or a repository of charts, that clusters share: its name.
    Chart(String),
    /// A file with the values of a chart, not a Kubernetes object.
    Values,
    /// What a cluster should have, next to a gate for the cluster.
    ReadyMarker,
    /// Information about a cluster, for a folder that must not be empty.
    Marker,
}

/// What is in a folder that the engine applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AppliedFolder {
    /// The objects of the engine for a whole management cluster.
    Fleet,
    /// A unit of the plan.
    Unit(Unit),
    /// The objects of the engine for the clusters of this namespace.
    ClustersOf(String),
    /// The sources of another engine, which only installs addons.
    Sources,
}

impl AppliedFolder {
    /// The unit, if it is one.
    pub fn unit(&self) -> Option<&Unit> {
        match self {
            Self::Unit(unit) => Some(unit),
            Self::Fleet | Self::ClustersOf(_) | Self::Sources => None,
        }
    }
}

impl Facts {
    /// The facts about a template of an addon, or of none.
    pub fn of_addon(addon: Option<&str>) -> Self {
        let part = |addon: &str| AddonPart { addon: addon.to_owned(), installs: Installs::Manifests };
        Self { addon: addon.map(part), ..Self::default() }
    }

    /// The name of the addon that the object belongs to.
    pub fn addon(&self) -> Option<&str> {
        self.addon.as_ref().map(|part| part.addon.as_str())
    }

    /// What the engine applies through the object.
    pub fn applied(&self) -> Option<&AppliedFolder> {
        match &self.purpose {
            Purpose::Applies { what, .. } => Some(what),
            _ => None,
        }
    }

    /// The release that the engine applies through the object.
    pub fn release(&self) -> Option<&str> {
        match self.applied()?.unit()? {
            Unit::Release { release } => Some(release),
            Unit::Namespace { .. } | Unit::Cluster { .. } => None,
        }
    }
}

impl Object {
    /// Records the addon that the object belongs to.
    pub(super) fn of_addon(&mut self, addon: &str, installs: Installs) -> &mut Self {
        self.facts.addon = Some(AddonPart { addon: addon.to_owned(), installs });
        self
    }

    /// Records that the name of the object contains the fleet's name.
    pub(super) fn named_after_fleet(&mut self) {
        self.facts.named_after_fleet = true;
    }

    /// Records what the object is for.
    pub(super) fn with(&mut self, purpose: Purpose) -> &mut Self {
        self.facts.purpose = purpose;
        self
    }
}
