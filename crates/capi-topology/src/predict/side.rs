//! The two sides of a comparison: a Cluster with its class, before and after a change.

use serde_json::Value;

use super::observed::Observed;
use super::shared::SharedClass;
use crate::import::{Applied, Imported, Objects};

/// A Cluster with its class, before or after a change. [`Side::new`] creates one that is written as a file, with no known
/// running objects.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Side {
    /// The Cluster.
    pub cluster: Value,
    /// Its class, and the templates that the class references.
    pub class: SharedClass,
    /// What is known about who applied the Cluster.
    pub applied: Applied,
    /// Whether the Cluster is written. If not, only its class is written, and the Cluster stays as it is.
    pub written: bool,
    /// What is known about the running objects.
    pub observed: Observed,
}

impl Side {
    /// Creates a side from a Cluster that is written as a file.
    pub fn new(cluster: Value, class: impl Into<SharedClass>) -> Self {
        Self {
            cluster,
            class: class.into(),
            applied: Applied::File,
            written: true,
            observed: Observed::default(),
        }
    }

    /// Creates a side from a Cluster in files or an export, with what the other objects there reveal about it.
    pub fn imported(cluster: &Imported, class: impl Into<SharedClass>, objects: &Objects) -> Self {
        Self {
            applied: cluster.applied.clone(),
            observed: Observed::of(cluster, objects),
            ..Self::new(cluster.object.clone(), class)
        }
    }

    /// Returns the same Cluster, applied by someone else.
    #[must_use]
    pub fn with_applied(self, applied: Applied) -> Self {
        Self { applied, ..self }
    }

    /// Returns the same Cluster with these observations of running objects.
    #[must_use]
    pub fn with_observed(self, observed: Observed) -> Self {
        Self { observed, ..self }
    }

    /// Returns the same Cluster, which is written only if `written` is true.
    #[must_use]
    pub fn with_written(self, written: bool) -> Self {
        Self { written, ..self }
    }
}
