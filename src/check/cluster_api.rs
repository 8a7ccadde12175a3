//! What the management cluster's Cluster API supports.

use super::{Check, Finder, Rule};
use crate::{model::Minor, plan::ClusterPlan, yaml::Node};

pub(super) static RULE: Rule = Rule {
    name: "cluster-api",
    docs: "A cluster asks for a Kubernetes version or a field that the management cluster's Cluster API does not have. \
           Supported versions are those of Cluster API's own table (docs/book/src/reference/versions.md).",
    check: Check::Cluster(check),
};

/// The Kubernetes minors of workload clusters that a minor of Cluster API supports.
fn supported(cluster_api: Minor) -> (u64, u64) {
    match cluster_api.minor {
        ..=11 => (28, 34),
        12 => (29, 35),
        13 => (30, 36),
        _ => (31, 36),
    }
}

/// Fields of the topology, and the minor of Cluster API that they came with.
const FIELDS: [(&[&str], u64); 3] = [
    (&["taints"], 13),
    (&["rollout", "after"], 13),
    (&["healthCheck", "checks", "unhealthyMachineConditions"], 12),
];

fn check(plan: &ClusterPlan, drawn: &Node, finder: &mut Finder<'_>) {
    let cluster = &plan.cluster;
    let cluster_api = cluster.management.cluster_api;
    let kubernetes = plan.release.kubernetes.minor();
    let (first, last) = supported(cluster_api);
    if kubernetes.major != 1 || !(first..=last).contains(&kubernetes.minor) {
        let place = finder.input.sources.place(cluster.release_origin);
        finder
            .notes
            .error("cluster-api", place, format!("Cluster API {cluster_api} does not support Kubernetes {kubernetes}"))
            .hint(format!("it supports 1.{first} to 1.{last}; `clusterApi` of the management cluster says which one runs there"));
    }
    let topology = |path: &[&str]| drawn.at(&[&["spec", "topology"], path].concat());
    let pools = |kind| topology(&["workers", kind]).and_then(Node::as_sequence).unwrap_or_default();
    let owners = pools("machineDeployments").iter().chain(pools("machinePools"));
    for owner in topology(&["controlPlane"]).into_iter().chain(owners) {
        check_fields(owner, cluster_api, finder);
    }
}

fn check_fields(settings: &Node, cluster_api: Minor, finder: &mut Finder<'_>) {
    for (path, since) in FIELDS {
        let Some(found) = settings.at(path) else { continue };
        let place = finder.input.sources.place(found.origin);
        if cluster_api.minor < since {
            finder
                .notes
                .error(
                    "cluster-api",
                    place,
                    format!(
                        "`{}` came with Cluster API 1.{since}, and {cluster_api} runs there",
                        path.join(".")
                    ),
                )
                .hint("upgrade Cluster API and say so in `clusterApi`, or remove the field");
        } else if path == ["taints"] {
            finder
                .notes
                .warning(
                    "cluster-api",
                    place,
                    "Cluster API refuses `taints` unless its feature gate `MachineTaintPropagation` is on",
                )
                .hint("it is alpha and off by default: see that the management cluster has it on");
        }
    }
}
