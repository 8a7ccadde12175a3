//! Kinds that are known to be namespaced. For custom resources, only their definitions say that.

use super::group_of;
use crate::yaml::Node;

/// The namespaced kinds of Kubernetes, ordered by API group.
const NAMESPACED: [(&str, &[&str]); 12] = [
    (
        "",
        &[
            "ConfigMap",
            "Endpoints",
            "Event",
            "LimitRange",
            "PersistentVolumeClaim",
            "Pod",
            "PodTemplate",
            "ReplicationController",
            "ResourceQuota",
            "Secret",
            "Service",
            "ServiceAccount",
        ],
    ),
    ("apps", &["ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"]),
    ("autoscaling", &["HorizontalPodAutoscaler"]),
    ("batch", &["CronJob", "Job"]),
    ("coordination.k8s.io", &["Lease", "LeaseCandidate"]),
    ("discovery.k8s.io", &["EndpointSlice"]),
    ("events.k8s.io", &["Event"]),
    ("networking.k8s.io", &["Ingress", "NetworkPolicy"]),
    ("policy", &["PodDisruptionBudget"]),
    ("rbac.authorization.k8s.io", &["Role", "RoleBinding"]),
    ("resource.k8s.io", &["ResourceClaim", "ResourceClaimTemplate"]),
    ("storage.k8s.io", &["CSIStorageCapacity"]),
];

/// Kinds of other projects that often stand beside clusters, by API group.
const OF_OTHERS: [(&str, &[&str]); 5] = [
    ("bitnami.com", &["SealedSecret"]),
    ("cert-manager.io", &["Certificate", "CertificateRequest", "Issuer"]),
    ("external-secrets.io", &["ExternalSecret", "PushSecret", "SecretStore"]),
    ("ipam.cluster.x-k8s.io", &["IPAddress", "IPAddressClaim", "InClusterIPPool"]),
    ("openstack.k-orc.cloud", &["Image", "Network", "Router", "SecurityGroup", "Subnet"]),
];

/// Whether an object is of a namespaced kind. This is known only for Kubernetes' built-in kinds.
pub(super) fn is_namespaced_object(object: &Node) -> bool {
    let text = |key: &str| object.get(key).and_then(Node::as_str).unwrap_or_default();
    has(&NAMESPACED, group_of(text("apiVersion")), text("kind"))
}

/// Whether a kind is known to be namespaced: one of Kubernetes, or a common one of another project.
pub fn is_namespaced(group: &str, kind: &str) -> bool {
    has(&NAMESPACED, group, kind) || has(&OF_OTHERS, group, kind)
}

/// The namespaced kinds of a group of Kubernetes.
pub fn namespaced_kinds(group: &str) -> impl Iterator<Item = &'static str> + use<> {
    let found = NAMESPACED.binary_search_by_key(&group, |(known, _)| *known).ok();
    found.into_iter().flat_map(|at| NAMESPACED[at].1).copied()
}

fn has(table: &[(&str, &[&str])], group: &str, kind: &str) -> bool {
    table.iter().any(|(known, kinds)| group == *known && kinds.contains(&kind))
}

#[cfg(test)]
mod tests {
    use super::NAMESPACED;

    #[test]
    fn the_groups_are_ordered() {
        assert!(NAMESPACED.is_sorted_by_key(|(group, _)| *group));
    }
}
