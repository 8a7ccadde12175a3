//! Cluster-scoped kinds: those of Kubernetes, and those of tools that fleets often use. The scope of
//! other kinds is unknown without a cluster.

/// Cluster-scoped kinds, each with its group, ordered by group.
const CLUSTER_WIDE: [(&str, &str); 51] = [
    ("", "Namespace"),
    ("", "Node"),
    ("", "PersistentVolume"),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    ("apiregistration.k8s.io", "APIService"),
    ("cert-manager.io", "ClusterIssuer"),
    ("certificates.k8s.io", "CertificateSigningRequest"),
    ("certificates.k8s.io", "ClusterTrustBundle"),
    ("cilium.io", "CiliumClusterwideNetworkPolicy"),
    ("cilium.io", "CiliumLoadBalancerIPPool"),
    ("external-secrets.io", "ClusterExternalSecret"),
    ("external-secrets.io", "ClusterSecretStore"),
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"),
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"),
    ("gateway.networking.k8s.io", "GatewayClass"),
    ("infrastructure.cluster.x-k8s.io", "AWSClusterControllerIdentity"),
    ("infrastructure.cluster.x-k8s.io", "AWSClusterRoleIdentity"),
    ("infrastructure.cluster.x-k8s.io", "AWSClusterStaticIdentity"),
    ("infrastructure.cluster.x-k8s.io", "OpenStackClusterIdentity"),
    ("infrastructure.cluster.x-k8s.io", "VSphereClusterIdentity"),
    ("infrastructure.cluster.x-k8s.io", "VSphereDeploymentZone"),
    ("infrastructure.cluster.x-k8s.io", "VSphereFailureDomain"),
    ("internal.apiserver.k8s.io", "StorageVersion"),
    ("ipam.cluster.x-k8s.io", "GlobalInClusterIPPool"),
    ("kyverno.io", "ClusterCleanupPolicy"),
    ("kyverno.io", "ClusterPolicy"),
    ("networking.k8s.io", "IngressClass"),
    ("networking.k8s.io", "IPAddress"),
    ("networking.k8s.io", "ServiceCIDR"),
    ("node.k8s.io", "RuntimeClass"),
    ("rbac.authorization.k8s.io", "ClusterRole"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
    ("resource.k8s.io", "DeviceClass"),
    ("resource.k8s.io", "DeviceTaintRule"),
    ("resource.k8s.io", "ResourceSlice"),
    ("runtime.cluster.x-k8s.io", "ExtensionConfig"),
    ("scheduling.k8s.io", "PriorityClass"),
    ("snapshot.storage.k8s.io", "VolumeSnapshotClass"),
    ("snapshot.storage.k8s.io", "VolumeSnapshotContent"),
    ("storage.k8s.io", "CSIDriver"),
    ("storage.k8s.io", "CSINode"),
    ("storage.k8s.io", "StorageClass"),
    ("storage.k8s.io", "VolumeAttachment"),
    ("storage.k8s.io", "VolumeAttributesClass"),
    ("storagemigration.k8s.io", "StorageVersionMigration"),
];

/// Whether a kind is cluster-scoped.
pub fn is_cluster_wide(group: &str, kind: &str) -> bool {
    cluster_wide_kinds(group).any(|known| known == kind)
}

/// The known cluster-scoped kinds of a group.
pub fn cluster_wide_kinds(group: &str) -> impl Iterator<Item = &'static str> + use<> {
    let from = &CLUSTER_WIDE[CLUSTER_WIDE.partition_point(|(known, _)| *known < group)..];
    from[..from.partition_point(|(known, _)| *known == group)].iter().map(|(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::CLUSTER_WIDE;

    #[test]
    fn the_kinds_are_ordered_by_group() {
        assert!(CLUSTER_WIDE.is_sorted_by_key(|(group, _)| *group));
    }
}
