//! Finds clusters without a pod network.

use super::{Check, Finder, Rule};
use crate::{
    plan::ClusterPlan,
    release::Release,
    yaml::{Node, Value},
};

pub(super) static RULE: Rule = Rule {
    name: "pod-network",
    docs: "The cluster has no pod network: neither its definition, nor the defaults of its folders, nor its class set one. \
           Kubernetes then assigns no pod CIDRs, most CNIs wait for them forever, and no node becomes ready.",
    check: Check::Cluster(check),
};

fn check(plan: &ClusterPlan, cluster: &Node, finder: &mut Finder<'_>) {
    let pods = cluster.at(&["spec", "clusterNetwork", "pods", "cidrBlocks"]);
    let is_set = pods.is_some_and(|pods| !pods.is_empty_collection());
    if is_set || plan.phase.leaves() || sets_pod_network(&plan.release) {
        return;
    }
    let cluster = &plan.cluster;
    finder
        .notes
        .warning(
            "pod-network",
            cluster.origin,
            format!("`{}` has no pod network: its nodes may never become ready", cluster.id()),
        )
        .hint("add `network: { pods: [192.168.0.0/16], services: [10.128.0.0/12] }` to its spec or to the `_defaults.yaml` of its folder")
        .hint("an existing cluster keeps the network it was created with");
}

/// Whether the class affects the pod network: in a template, or in a patch that may set it.
fn sets_pod_network(release: &Release) -> bool {
    release.objects.iter().any(mentions)
}

fn mentions(node: &Node) -> bool {
    const WORDS: [&str; 3] = ["podSubnet", "podCIDR", "cluster-cidr"];
    let is_named = |text: &str| WORDS.iter().any(|word| text.contains(word));
    match &node.value {
        Value::Mapping(mapping) => {
            mapping.iter().any(|entry| is_named(&entry.key.name) || mentions(&entry.value))
        }
        Value::Sequence(items) => items.iter().any(mentions),
        _ => node.as_str().is_some_and(is_named),
    }
}
