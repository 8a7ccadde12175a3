//! The changed clusters of each owner.

use std::collections::BTreeMap;

use super::{Report, cluster::ClusterReport, risk::Risk};

/// An owner with changed clusters.
#[derive(Clone, Debug)]
pub(super) struct Owner<'a> {
    /// The owner; empty for clusters without one.
    name: &'a str,
    /// The clusters, ordered by name.
    pub(super) clusters: Vec<&'a ClusterReport>,
}

impl<'a> Owner<'a> {
    /// The name of the owner; none for clusters without one.
    pub(super) fn name(&self) -> Option<&'a str> {
        (!self.name.is_empty()).then_some(self.name)
    }

    /// The clusters of each risk class, worst first.
    pub(super) fn classes(&self) -> Vec<(Risk, Vec<&'a ClusterReport>)> {
        let of = |risk: Risk| {
            let found = self.clusters.iter().filter(|one| one.risk == risk);
            (risk, found.copied().collect::<Vec<_>>())
        };
        Risk::ALL.into_iter().map(of).filter(|(_, found)| !found.is_empty()).collect()
    }
}

/// Lists the owners by name, and clusters without an owner first; nothing if no cluster has an owner.
pub(super) fn owners(report: &Report) -> Vec<Owner<'_>> {
    let mut found: BTreeMap<&str, Vec<&ClusterReport>> = BTreeMap::new();
    for cluster in &report.clusters {
        if cluster.owners.is_empty() {
            found.entry("").or_default().push(cluster);
        }
        for owner in &cluster.owners {
            found.entry(owner).or_default().push(cluster);
        }
    }
    if found.keys().all(|owner| owner.is_empty()) {
        return Vec::new();
    }
    found.into_iter().map(|(name, clusters)| Owner { name, clusters }).collect()
}
