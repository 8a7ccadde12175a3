//! What is compared: a Cluster with its class, before and after a change.

use serde_json::Value;

use super::observed::Observed;
use super::shared::SharedClass;
use crate::import::Applied;

/// A Cluster with its class, before or after a change: [`Side::new`] is one that is written as a file, and of which nothing
/// is known to run.
#[derive(Debug, Clone)]
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
}
