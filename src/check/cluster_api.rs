//! Checks whether the management cluster's Cluster API supports what a cluster asks for.

use super::{Check, Finder, Rule};
use crate::{model::ManagementCluster, plan::ClusterPlan, yaml::Node};

pub(super) static RULE: Rule = Rule {
    name: "cluster-api",
    docs: "A cluster uses a Kubernetes version or a field that the management cluster's Cluster API does not support. \
           The supported versions are those of Cluster API's own table, unless the fleet overrides them.",
    check: Check::Cluster(check),
};

/// Fields of the topology, each with the Cluster API minor that introduced it.
const FIELDS: [(&[&str], u64); 3] = [
    (&["taints"], 13),
    (&["rollout", "after"], 13),
    (&["healthCheck", "checks", "unhealthyMachineConditions"], 12),
];

fn check(plan: &ClusterPlan, drawn: &Node, finder: &mut Finder<'_>) {
    let cluster = &plan.cluster;
    check_kubernetes(plan, finder);
    let topology = |path: &[&str]| drawn.at(&[&["spec", "topology"], path].concat());
    let pools = |kind| topology(&["workers", kind]).and_then(Node::as_sequence).unwrap_or_default();
    let owners = pools("machineDeployments").iter().chain(pools("machinePools"));
    for owner in topology(&["controlPlane"]).into_iter().chain(owners) {
        check_fields(owner, &cluster.management, finder);
    }
}

/// Checks whether Cluster API supports the Kubernetes version.
fn check_kubernetes(plan: &ClusterPlan, finder: &mut Finder<'_>) {
    let management = &plan.cluster.management;
    if let Some((since, source)) = plan.release.supported_since(management) {
        let minor = plan.release.kubernetes.minor();
        finder
            .notes
            .warning(
                "cluster-api",
                plan.cluster.release_origin,
                format!("Cluster API supports Kubernetes {minor} from version {since} on, and stackloom.yaml declares only its minor"),
            )
            .hint(format!("declare the version that `{}` has, such as `providers: {{ cluster-api: \"{since}\" }}`, in stackloom.yaml", management.name))
            .hint(format!("source: {source}"));
    }
    let Some(unsupported) = plan.release.unsupported(management) else { return };
    finder
        .notes
        .error("cluster-api", plan.cluster.release_origin, unsupported.message)
        .hint(unsupported.why)
        .hint(format!("{}, or choose a release with a Kubernetes version that it supports", unsupported.way));
}

fn check_fields(settings: &Node, management: &ManagementCluster, finder: &mut Finder<'_>) {
    let cluster_api = management.cluster_api;
    for (path, since) in FIELDS {
        let Some(found) = settings.at(path) else { continue };
        let place = found.origin;
        if cluster_api.minor < since {
            finder
                .notes
                .error(
                    "cluster-api",
                    place,
                    format!(
                        "`{}` requires Cluster API 1.{since}, but the management cluster has {cluster_api}",
                        path.join(".")
                    ),
                )
                .hint("upgrade Cluster API and change `clusterApi`, or remove the field");
        } else if path == ["taints"] && management.gate("MachineTaintPropagation").is_none() {
            finder
                .notes
                .warning(
                    "cluster-api",
                    place,
                    "Cluster API refuses `taints` unless its feature gate `MachineTaintPropagation` is on",
                )
                .hint("it is alpha and off by default: turn it on in the management cluster, and add `featureGates: { MachineTaintPropagation: true }` to it in stackloom.yaml");
        }
    }
}
