//! The kinds that Argo CD leaves out unless its settings say otherwise.

/// Their groups and kinds.
///
/// Source: `resource.exclusions` in `manifests/base/config/argocd-cm.yaml` of 3.5.1.
const EXCLUDED: [(&[&str], &[&str]); 7] = [
    (&["", "discovery.k8s.io"], &["Endpoints", "EndpointSlice"]),
    (&["coordination.k8s.io"], &["Lease"]),
    (
        &["authentication.k8s.io", "authorization.k8s.io"],
        &[
            "SelfSubjectReview",
            "TokenReview",
            "LocalSubjectAccessReview",
            "SelfSubjectAccessReview",
            "SelfSubjectRulesReview",
            "SubjectAccessReview",
        ],
    ),
    (&["certificates.k8s.io"], &["CertificateSigningRequest"]),
    (&["cert-manager.io"], &["CertificateRequest"]),
    (&["cilium.io"], &["CiliumIdentity", "CiliumEndpoint", "CiliumEndpointSlice"]),
    (
        &["kyverno.io", "reports.kyverno.io", "wgpolicyk8s.io"],
        &[
            "PolicyReport",
            "ClusterPolicyReport",
            "EphemeralReport",
            "ClusterEphemeralReport",
            "AdmissionReport",
            "ClusterAdmissionReport",
            "BackgroundScanReport",
            "ClusterBackgroundScanReport",
            "UpdateRequest",
        ],
    ),
];

/// Whether Argo CD, as it is installed, applies no object of a kind.
pub(in crate::render) fn is_excluded(group: &str, kind: &str) -> bool {
    EXCLUDED.iter().any(|(groups, kinds)| groups.contains(&group) && kinds.contains(&kind))
}
