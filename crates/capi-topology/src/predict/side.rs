//! What is compared: a Cluster with its class, before and after a change.

use serde_json::Value;

use super::observed::Observed;
use super::shared::SharedClass;
use crate::import::{Applied, Imported, Objects};

/// A Cluster with its class, before or after a change: [`Side::new`] is one that is written as a file, and of which nothing
/// is known to run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Side {
    /// The Cluster.
    pub cluster: Value,
    /// Its class, and the templates that the class names.
    pub class: SharedClass,
    /// What is known of who wrote the Cluster.
    pub applied: Applied,
    /// Whether the Cluster is written; else only its class is, and it stays as it is.
    pub written: bool,
    /// What is known of what runs.
    pub observed: Observed,
}

impl Side {
    /// A Cluster that is written as a file.
    pub fn new(cluster: Value, class: impl Into<SharedClass>) -> Self {
        Self {
            cluster,
            class: class.into(),
            applied: Applied::File,
            written: true,
            observed: Observed::default(),
        }
    }

    /// A Cluster of files or of an export, with what the objects beside it say of it.
    pub fn imported(cluster: &Imported, class: impl Into<SharedClass>, objects: &Objects) -> Self {
        Self {
            applied: cluster.applied.clone(),
            observed: Observed::of(cluster, objects),
            ..Self::new(cluster.object.clone(), class)
        }
    }

    /// The same Cluster, written by somebody else.
    #[must_use]
    pub fn with_applied(self, applied: Applied) -> Self {
        Self { applied, ..self }
    }

    /// The same Cluster, with what is known of what runs.
    #[must_use]
    pub fn with_observed(self, observed: Observed) -> Self {
        Self { observed, ..self }
    }

    /// The same Cluster, which is written only if `written` is true.
    #[must_use]
    pub fn with_written(self, written: bool) -> Self {
        Self { written, ..self }
    }
}
