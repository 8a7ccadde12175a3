//! The projects of a tenant namespace, which restrict what its Applications may apply, and where.

use super::application::{destination, name_in, repository};
use crate::{
    model::{AddonDelivery, ManagementCluster},
    plan::{ChartReference, ChartSource, NamespacePlan},
    yaml::{Mapping, Node},
};

/// The project for objects in the management cluster.
pub(super) fn of_objects(plan: &NamespacePlan) -> Node {
    let management = &plan.management;
    let mut blocked = Mapping::new();
    blocked.set("group", "argoproj.io");
    blocked.set("kind", "*");
    let mut spec = Mapping::new();
    spec.set(
        "description",
        format!("Objects in the namespace {} of the management cluster {}", plan.name, management.name),
    );
    spec.set("sourceRepos", vec![Node::from(repository(management).0)]);
    spec.set("destinations", vec![one(destination(&management.argocd.destination), plan.name.as_str())]);
    // Without a list of cluster-scoped kinds, none are allowed.
    spec.set("namespaceResourceBlacklist", vec![blocked.into()]);
    project(management, &objects_name(plan.name.as_str()), spec)
}

/// The project for addons in the workload clusters.
pub(super) fn of_addons(plan: &NamespacePlan) -> Node {
    let management = &plan.management;
    let mut sources = vec![repository(management).0.to_owned()];
    sources
        .extend(plan.charts.get(&AddonDelivery::ArgoCdApplication).into_iter().flatten().map(chart_address));
    sources.sort();
    sources.dedup();
    let clusters = management.argocd.cluster_names.of(management.name.as_str(), plan.name.as_str(), "*");
    let mut all = Mapping::new();
    all.set("group", "*");
    all.set("kind", "*");
    let mut spec = Mapping::new();
    spec.set(
        "description",
        format!("Addons of the clusters in the namespace {} of {}", plan.name, management.name),
    );
    spec.set("sourceRepos", sources.into_iter().map(Node::from).collect::<Vec<_>>());
    spec.set("destinations", vec![one(("name", clusters), "*")]);
    spec.set("clusterResourceWhitelist", vec![all.into()]);
    project(management, &addons_name(plan.name.as_str()), spec)
}

/// The name of the project for a namespace's objects in the management cluster.
pub(in crate::render) fn objects_name(namespace: &str) -> String {
    format!("namespace.{namespace}")
}

/// The name of the project for the addons of a namespace's clusters.
pub(in crate::render) fn addons_name(namespace: &str) -> String {
    format!("namespace.{namespace}.addons")
}

/// The URL of a chart's repository. In an OCI registry, each artifact is a repository of its own.
pub(in crate::render) fn chart_address(chart: &ChartSource) -> String {
    match chart.kind() {
        ChartReference::HelmChart => chart.repository.clone(),
        ChartReference::OciRepository => format!("{}/{}", chart.repository, chart.chart),
    }
}

fn one((key, cluster): (&'static str, String), namespace: &str) -> Node {
    let mut destination = Mapping::new();
    destination.set(key, cluster);
    destination.set("namespace", namespace);
    destination.into()
}

fn project(management: &ManagementCluster, name: &str, spec: Mapping) -> Node {
    let mut annotations = Mapping::new();
    // Sync before the Applications in the project.
    annotations.set("argocd.argoproj.io/sync-wave", "-1");
    let mut metadata = Mapping::new();
    metadata.set("name", name_in(management, name));
    metadata.set("namespace", management.argocd.namespace.as_str());
    metadata.set("annotations", annotations);
    let mut root = Mapping::new();
    root.set("apiVersion", "argoproj.io/v1alpha1");
    root.set("kind", "AppProject");
    root.set("metadata", metadata);
    root.set("spec", spec);
    root.into()
}
