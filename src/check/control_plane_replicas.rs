//! Checks the number of control plane machines.

use super::{Check, Finder, Rule};
use crate::{plan::ClusterPlan, release::Release, yaml::Node};

pub(super) static RULE: Rule = Rule {
    name: "control-plane-replicas",
    docs: "A kubeadm control plane with stacked etcd needs an odd number of machines. Cluster API silently accepts an \
           even number, and the cluster's topology then gets stuck.",
    check: Check::Cluster(check),
};

fn check(plan: &ClusterPlan, cluster: &Node, finder: &mut Finder<'_>) {
    let Some(node) = cluster.at(&["spec", "topology", "controlPlane", "replicas"]) else { return };
    let Some(replicas) = node.as_int() else { return };
    let odd = replicas > 0 && replicas % 2 == 1;
    if odd || !has_stacked_etcd(&plan.release) {
        return;
    }
    finder
        .notes
        .error(
            "control-plane-replicas",
            finder.place(node, &plan.cluster.file),
            format!("a control plane of {replicas} machines"),
        )
        .hint("use 1, 3 or 5 machines with stacked etcd: an even number tolerates no more failures than the odd number below it");
}

fn has_stacked_etcd(release: &Release) -> bool {
    let kubeadm =
        |object: &&Node| object.get("kind").and_then(Node::as_str) == Some("KubeadmControlPlaneTemplate");
    let external =
        ["spec", "template", "spec", "kubeadmConfigSpec", "clusterConfiguration", "etcd", "external"];
    release.objects.iter().find(kubeadm).is_some_and(|object| object.at(&external).is_none())
}
