//! The name of a cluster in documents for machines. It has the same shape in every command; docs/output.md describes it.
//!
//! Other data about a cluster is placed beside the name, never inside it. So a script can find the same cluster in another
//! command's output by comparing whole objects.
//!
//! Every command that accepts a cluster's name uses the messages below if no cluster, or more than one, has the name.

use std::fmt;

use serde::Serialize;

use crate::{
    definition::closest,
    model::{Cluster, ClusterId},
    note::Notes,
};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClusterName {
    /// `null` for a Cluster that was read from a file and belongs to no fleet.
    management_cluster: Option<String>,
    namespace: String,
    name: String,
}

impl ClusterName {
    /// The name of a Cluster outside any fleet.
    pub(super) fn outside(namespace: &str, name: &str) -> Self {
        Self { management_cluster: None, namespace: namespace.to_owned(), name: name.to_owned() }
    }

    /// The names of several clusters, in the same order.
    pub(super) fn all<'a>(clusters: impl IntoIterator<Item = &'a ClusterId>) -> Vec<Self> {
        clusters.into_iter().map(Self::from).collect()
    }
}

impl fmt::Display for ClusterName {
    /// The form for people: `<namespace>/<name>`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

impl From<&ClusterId> for ClusterName {
    fn from(id: &ClusterId) -> Self {
        Self {
            management_cluster: Some(id.management.to_string()),
            namespace: id.namespace.to_string(),
            name: id.name.to_string(),
        }
    }
}

impl From<&Cluster> for ClusterName {
    fn from(cluster: &Cluster) -> Self {
        Self::from(&cluster.id())
    }
}

/// Reports that no cluster has the name; `known` are names to suggest.
pub(super) fn note_unknown<'a>(name: &str, known: impl Iterator<Item = &'a str>, notes: &mut Notes) {
    let note = notes.error("unknown-cluster", None, format!("there is no cluster `{name}`"));
    match closest(name, known) {
        Some(similar) => note.hint(format!("did you mean `{similar}`?")),
        None => note.hint("run `stackloom clusters` for a list"),
    };
}

/// Reports that several clusters have the name, and lists unambiguous names.
pub(super) fn note_several<'a>(name: &str, known: impl Iterator<Item = &'a Cluster>, notes: &mut Notes) {
    let known: Vec<_> = known.map(|cluster| format!("`{}`", cluster.id().whole())).collect();
    notes
        .error("several-clusters", None, format!("there are several clusters `{name}`"))
        .hint(format!("use one of {}", known.join(", ")));
}
